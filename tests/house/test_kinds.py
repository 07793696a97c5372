"""The table of review kinds is whole, and nobody asks for a kind by its name where the table has an answer."""

from __future__ import annotations

import ast
from typing import get_args

from retro.kinds import CALENDAR, KINDS, MAILED, KindName
from retro.periods import Horizon
from tests.worlds.places import ROOT

NAMED_KINDS = {
    "daily",
    "weekly",
    "epoch",
    "loss",
    "death",
}  # "position" and "custom" are words of other tables too
THE_CALENDAR_ITSELF = {"retro/periods.py"}


def test_every_name_has_its_row() -> None:
    assert list(KINDS) == ["daily", "weekly", "epoch", "position", "loss", "death", "custom", "life"]
    assert set(KINDS) == set(get_args(KindName))
    assert all(kind.name == name for name, kind in KINDS.items())
    assert get_args(Horizon) == CALENDAR
    assert MAILED == ("weekly", "epoch", "loss", "death")


def test_a_length_belongs_to_a_calendar() -> None:
    for kind in KINDS.values():
        assert not (kind.from_birth and kind.days), "a period has one length"
        assert not kind.calendar or kind.scope == "period"


def test_nobody_compares_the_name_of_a_kind() -> None:
    asked = []
    for path in sorted((ROOT / "retro").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name in THE_CALENDAR_ITSELF:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                words = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
                asked += [f"{name}:{node.lineno}"] * bool(words & NAMED_KINDS)
    assert not asked, "ask the table: retro.kinds.KINDS[kind]"

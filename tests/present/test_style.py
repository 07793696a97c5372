"""Every class that a block names has its rule in the style sheet, and is drawn where the block stands."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import pytest

from retro.present.formats import page_of, render
from retro.present.page import blocks
from retro.present.page.blocks import TableRow, Tone
from tests.present.test_html import DOCUMENTS
from tests.worlds.places import ROOT

CSS = (ROOT / "retro" / "present" / "templates" / "page.css").read_text(encoding="utf-8")
RULES = set(re.findall(r"\.([a-z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", CSS)))
UNSTYLED = {"plain", "avg", "name", "top"} - RULES
"""Of the tones, `plain` is ink as it is."""


def drawn(name: str) -> set[str]:
    """The classes of a document's page, the drawings' own among them."""
    page = render(DOCUMENTS[name], "html")
    return {word for group in re.findall(r'class="([^"]*)"', page) for word in group.split()}


def tones_of(block: Any) -> set[str]:
    """Every tone that stands anywhere in a page."""
    if isinstance(block, list | tuple):
        return set().union(*map(tones_of, block))
    if not is_dataclass(block) or (isinstance(block, TableRow) and block.heads):
        return set()  # a row that heads others is drawn as a group, whatever its cells are
    own = {block.tone} if hasattr(block, "tone") else set()
    return own.union(*(tones_of(getattr(block, field.name)) for field in fields(block)))


@pytest.mark.parametrize("tone", sorted({*get_args(Tone)} - {"plain"}))
def test_every_tone_has_its_rule(tone: str) -> None:
    assert tone in RULES


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_class_that_is_drawn_has_its_rule(name: str) -> None:
    assert drawn(name) - RULES == UNSTYLED & drawn(name)


def test_every_tone_that_a_block_has_is_drawn() -> None:
    wanted, seen = set(), set()
    for name, document in DOCUMENTS.items():
        wanted |= tones_of(page_of(document))
        seen |= drawn(name)
    assert wanted <= {*get_args(Tone)}
    assert wanted - seen - {"plain"} == set()
    assert len(wanted) >= 5, "the samples hold nearly every tone"


def test_a_tone_nobody_draws_is_no_tone() -> None:
    """What the type allows, some page uses: else the rule and the word would be dead."""
    source = "".join(path.read_text() for path in (ROOT / "retro" / "present" / "page").glob("*.py"))
    unused = [tone for tone in get_args(Tone) if f'"{tone}"' not in source.replace(str(blocks.__doc__), "")]
    assert unused == []

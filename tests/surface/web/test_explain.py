"""Where a figure comes from: its value as stored, its definition, and exactly the lines it rests on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retro.app.questions.reviews import stored
from retro.app.questions.screens.explain import explain, figures_of
from retro.periods import parse_instant
from retro.store.database import open_store
from tests.surface.web.test_door import Browser, browser, house
from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["browser", "house", "retro"]

WEEK = "harbor-3.weekly.2026-W10"
LINES = (ROOT / "examples" / "agent.jsonl").read_text(encoding="utf-8").splitlines()


def events(**wanted: str) -> list[str]:
    """The journal's lines with these values, in order of time, type and id."""
    rows = [(json.loads(line), line) for line in LINES]
    chosen = [
        (parse_instant(row["at"]), row["type"], row["id"], line)
        for row, line in rows
        if wanted.items() <= row.items()
    ]
    return [line for *_, line in sorted(chosen)]


def compact(lines: list[str]) -> list[Any]:
    return [json.loads(line) for line in lines]


def test_a_cost_rests_on_the_costs_that_were_told(retro: Retro, reviewed_db: Any) -> None:
    answer = retro("--db", reviewed_db, "--json", "explain", WEEK, "pnl.gas_costs").data
    week = retro("--db", reviewed_db, "--json", "show", WEEK).data
    assert answer["figure"] == {"name": "pnl.gas_costs", "value": week["pnl"]["gas_costs"], "reason": ""}
    assert answer["definition"]["unit"] == "money, magnitudes, deducted"
    assert answer["definition"]["section"].startswith("docs/numbers.md, section 1")
    wanted = [line for line in compact(events(type="cost")) if "2026-03-02" <= line["at"] < "2026-03-09"]
    assert compact([row["line"] for row in answer["lines"]]) == wanted
    assert answer["count"] == len(wanted) > 0
    assert {"name": "pnl.total", "value": week["pnl"]["total"], "reason": ""} in answer["beside"]


def test_a_life_rests_on_what_names_it_page_by_page(retro: Retro, reviewed_db: Any) -> None:
    wanted = compact(events(position="p-1"))
    lines: list[Any] = []
    after: tuple[str, ...] = ()
    while True:
        words = ("explain", "harbor-3.position.p-1", "regret", "--limit", "2", *after)
        answer = retro("--db", reviewed_db, "--json", *words).data
        assert len(answer["lines"]) <= 2
        lines += compact([row["line"] for row in answer["lines"]])
        if answer["next"] is None:
            break
        after = ("--after", answer["next"])
    assert lines == wanted
    assert answer["count"] == len(wanted)


def test_every_figure_of_a_review_leads_to_itself(reviewed_db: Any) -> None:
    store = open_store(str(reviewed_db))
    for review in (WEEK, "harbor-3.position.p-1"):
        figures = figures_of(stored(store, review).document)
        for figure in figures[:: max(1, len(figures) // 60)]:
            assert explain(store, review, figure.name, limit=1).figure == figure
        undefined = [
            f.name for f in figures[:40] if explain(store, review, f.name, limit=1).definition is None
        ]
        assert undefined == []
    store.close()


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("pnl.nothing", "there is no 'nothing'"),
        ("pnl", "pnl is not one figure but several; name one: pnl.total"),
        ("positions.none.regret", "none of that name; there are"),
    ],
)
def test_what_is_no_figure_is_refused_by_name(
    retro: Retro, reviewed_db: Any, figure: str, words: str
) -> None:
    answer = retro("--db", reviewed_db, "explain", WEEK, figure)
    assert answer.code != 0
    assert words in answer.err
    assert answer.out == ""


def test_the_screen_has_the_same_bytes_and_every_name_leads_to_it(
    retro: Retro, reviewed_db: Any, browser: Browser
) -> None:
    printed = retro("--db", reviewed_db, "--json", "explain", WEEK, "risk.sharpe").out
    assert browser(f"/r/{WEEK}/explain.json?figure=risk.sharpe").text == printed.removesuffix("\n")
    assert f'href="/r/{WEEK}/explain?figure=risk.sharpe"' in browser(f"/r/{WEEK}").text
    assert browser(f"/r/{WEEK}/explain?figure=risk.nothing").status == 404
    assert browser(f"/r/{WEEK}/others").status == 404

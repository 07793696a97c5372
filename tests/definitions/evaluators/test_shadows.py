"""Shadows beside a life worked by hand: rules run forward, and what an agent tells of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from retro.app.questions.evaluators.shadows import ShadowQuestion, shadows
from retro.errors import UsageError
from retro.report.evaluators.shadows import ShadowRow
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, report, settings_for

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms; Monday, 25 March 2024
TIGHT = {"name": "tight", "agent": "a", "rule": "stop -3%", "since": date(2024, 3, 26)}


def event(type_: str, name: str, hour: float, **fields: Any) -> Event:
    return {"type": type_, "id": name, "agent": "a", "at": START + round(hour * HOUR), **fields}


def trade(name: str, entry: float, exit_: float | None, prices: tuple[float, float]) -> list[Event]:
    """A unit of ETH, bought and sold at these prices."""
    rows = [
        event("position", name, entry, position=name, kind="spot", instrument="ETH/USDC", side="long"),
        event("fill", f"{name}a", entry, position=name, side="buy", quantity=1, price=prices[0]),
    ]
    if exit_ is not None:
        rows.append(event("fill", f"{name}b", exit_, position=name, side="sell", quantity=1, price=prices[1]))
    return rows


LIFE = [
    event("equity", "e", 0, value=1000),
    *trade("before", 20, 30, (100, 90)),  # entered the day before the shadow begins
    *trade("across", 30, 54, (100, 104)),  # stopped at 96 in hour 40, on the day before its real exit
    *trade("alike", 56, 60, (104, 106)),
    *trade("open", 74, None, (106, 0)),  # stopped at 100 in hour 80
    *trade("late", 98, 99, (100, 103)),  # on the day that is not over
    *(
        event("mark", f"m{hour}", hour, instrument="ETH/USDC", price=price)
        for hour, price in {19: 100, 31: 99, 40: 96, 50: 103, 58: 105, 70: 106, 80: 100, 99: 103}.items()
    ),
]


def tell(store: Store, *parts: Sequence[Event], configuration: dict[str, Any] | None = None) -> Store:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in part)
        assert live(store, lines, name=f"{n}.jsonl", configuration=configuration).clean
    return store


def ask(store: Store, *tables: dict[str, Any], as_of: int | None = None, **review: Any) -> list[ShadowRow]:
    configuration = {"shadow": list(tables), "retrospective": {"max_shadow_strategies": 9, **review}}
    return shadows(ShadowQuestion(store, "a", settings_for(configuration)(agent_of(store, "a")), as_of))


def test_a_rule_runs_forward_from_its_day_and_books_on_the_day_of_each_exit(tmp_path: Path) -> None:
    [row] = ask(tell(open_store(str(tmp_path / "x.db")), LIFE), TIGHT)
    # 26 March: the shadow left `across` at 96; 27: the real one at 104, and both `alike`; 28: the shadow left `open`
    assert (row.name, row.rule, row.since, row.days, row.paired) == ("tight", "stop -3%", "2024-03-26", 3, 3)
    assert (row.real, row.shadow) == (4 + 2, -4 + 2 - 6)
    assert (row.verdict, row.reasons["verdict"]) == (
        "insufficient",
        "3 of 7 days and 3 of 7 days with a difference",
    )
    [judged] = ask(tell(open_store(str(tmp_path / "x.db")), []), TIGHT, shadow_min_duration_days=3)
    assert judged.outperformance == pytest.approx((-8 - 6) / 6)
    assert judged.bound is not None
    assert judged.verdict in {"keep_running", "reject"}


def test_a_rule_that_touches_nothing_differs_on_no_day(tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), LIFE)
    [row] = ask(store, {**TIGHT, "rule": "stop -90%"})
    assert (row.paired, row.real, row.shadow) == (0, 6, 6)
    [row] = ask(store, {**TIGHT, "since": date(2024, 4, 1)})
    assert (row.days, row.paired, row.real) == (0, 0, 0)


def told_days(name: str, pnl: dict[int, float]) -> list[Event]:
    return [
        event("shadow", f"{name}{day}", 24 * day + 24.1, shadow=name, day=f"2024-03-{25 + day}", pnl=value)
        for day, value in pnl.items()
    ]


def test_what_an_agent_tells_stands_beside_the_positions_closed_on_the_same_days(tmp_path: Path) -> None:
    words = told_days("wider", {1: -8, 2: 6, 4: 1.5})
    again = event("shadow", "again", 200, shadow="wider", day="2024-03-26", pnl=99)  # the first word counts
    store = tell(open_store(str(tmp_path / "x.db")), LIFE, words, [again])
    [row] = ask(store)
    # `before` lost 10 on the 26th, the 27th made 6, nothing was closed on the 28th, 3 on the 29th
    assert (row.rule, row.since, row.days, row.paired) == (None, "2024-03-26", 4, 2)
    assert (row.real, row.shadow) == (-10 + 6 + 3, -8 + 6 + 1.5)
    both = ask(store, {**TIGHT, "name": "wider"}, TIGHT)
    assert [(row.name, row.rule) for row in both] == [("tight", "stop -3%"), ("wider", None)]


def test_a_day_that_had_not_begun_when_it_was_told_is_no_track(tmp_path: Path) -> None:
    honest = told_days("wide", {0: 1.0, 1: 2.0})
    foretold = event("shadow", "far", 40, shadow="wide", day="9999-12-30", pnl=500)
    rows = [
        ask(tell(open_store(str(tmp_path / f"{n}.db")), [*LIFE, *honest, *extra]))
        for n, extra in enumerate(([], [foretold]))
    ]
    assert rows[0] == rows[1] != []


def test_shadows_of_other_agents_do_not_run_here_and_of_none_named_do(tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), LIFE)
    everyone = {key: value for key, value in TIGHT.items() if key != "agent"}
    tables = [{**TIGHT, "agent": "b"}, {**everyone, "name": "all"}]
    assert [row.name for row in ask(store, *tables)] == ["all"]
    with pytest.raises(UsageError, match=r"\[\[shadow\]\] tight does not run: 'stop 3%' is no rule"):
        ask(store, {**TIGHT, "rule": "stop 3%"})


def test_a_life_cut_at_an_instant_answers_what_the_whole_answers_as_of_it(tmp_path: Path) -> None:
    events = [*LIFE, *told_days("wider", {1: -8, 2: 6, 4: 1.5})]
    whole = tell(open_store(str(tmp_path / "whole.db")), events)
    for hour in (31, 55, 75, 97):
        cut = START + hour * HOUR + 1
        ended = tell(open_store(str(tmp_path / f"{hour}.db")), [row for row in events if row["at"] < cut])
        assert ask(whole, TIGHT, as_of=cut * 1000) == ask(ended, TIGHT)


def test_any_order_of_the_telling_answers_the_same_on_both_databases(store: Store, tmp_path: Path) -> None:
    events = [*LIFE, *told_days("wider", {1: -8, 2: 6, 4: 1.5})]
    expected = ask(tell(open_store(str(tmp_path / "whole.db")), events), TIGHT, shadow_min_duration_days=2)
    shuffled = random.Random(1).sample(events, len(events))
    tell(store, shuffled[:9])
    ask(store, TIGHT)
    tell(store, shuffled[9:])
    assert ask(store, TIGHT, shadow_min_duration_days=2) == expected


def test_a_shadow_without_a_rule_is_told_in_the_review_beside_those_that_run_and_keeps_none_from_running(
    tmp_path: Path,
) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), LIFE)
    wrong = {**TIGHT, "name": "wrong", "rule": "stop 3%"}
    foreign = {**wrong, "name": "foreign", "agent": "b"}
    tables = {"shadow": [TIGHT, wrong, foreign]}
    document = report(store, "a", at=START * 1000, configuration=tables)
    assert document.evaluators is not None
    assert [row.name for row in document.evaluators.shadows] == ["tight"]
    [warning] = [text for text in document.data_quality.warnings if "shadow" in text]
    assert warning.startswith("[[shadow]] wrong does not run: 'stop 3%' is no rule of a what-if; there are: ")
    day = report(store, "a", "daily", at=START * 1000, configuration=tables)
    assert not any("shadow" in text for text in day.data_quality.warnings)
    with pytest.raises(UsageError, match=r"wrong does not run: 'stop 3%' is no rule"):
        ask(store, TIGHT, wrong)
    assert [row.name for row in ask(store, TIGHT, foreign)] == ["tight"]

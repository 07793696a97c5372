"""Live against backtest through both databases, by journals: what each figure of a trade goes into, and nothing looks ahead."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from retro.app.questions.evaluators.drift import DriftQuestion, drift
from retro.app.reviews.drift import ComparedAgent
from retro.report.evaluators.drift import DriftReport
from retro.store.database import Store
from tests.worlds.lives import agent_of, live, settings_for

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_711_324_800_000  # ms, a Monday
PAIR = "ETH/USDC"


def trade(
    agent: str,
    name: str,
    hour: float,
    prices: Sequence[float] = (100.0, 101.0),
    side: str = "long",
    extra: Sequence[Event] = (),
    **fill: Any,
) -> list[Event]:
    """Two units of a perp, held for two hours; `extra` events are its own."""
    own: Event = {"agent": agent, "position": name}
    first = START + round(hour * HOUR)
    sides = ("buy", "sell") if side == "long" else ("sell", "buy")
    about = {
        "type": "position",
        "id": name,
        **own,
        "at": first,
        "kind": "perp",
        "instrument": PAIR,
        "side": side,
    }
    entry = {"type": "decision", "id": name, **own, "at": first, "action": "enter", "cites": ["H-1", "dip"]}
    fills = [
        {
            "type": "fill",
            "id": f"{name}{n}",
            **own,
            "at": first + 2 * n * HOUR,
            "side": sides[n],
            "quantity": 2,
        }
        | {"price": prices[n], "instrument": PAIR, **fill}
        for n in (0, 1)
    ]
    own_extra = [{**event, **own, "id": f"{name}x{n}", "at": first + HOUR} for n, event in enumerate(extra)]
    return [
        about,
        entry,
        fills[0],
        *own_extra,
        fills[1],
        {**about, "type": "exit", "at": first + 2 * HOUR, "reason": "r"},
    ]


def marks(agent: str, instrument: str, price: float, hours: int = 100) -> list[Event]:
    return [
        {"type": "mark", "id": f"{instrument}{n}", "agent": agent, "at": START + n * HOUR}
        | {"instrument": instrument, "price": price}
        for n in range(hours)
    ]


def exits(events: list[Event]) -> list[Event]:
    """An exit says no more than when and why."""
    keep = ("type", "id", "agent", "position", "at", "reason")
    return [{k: v for k, v in e.items() if e["type"] != "exit" or k in keep} for e in events]


def tell(store: Store, *parts: Sequence[Event]) -> None:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in exits(list(part)))
        done = live(store, lines, name=f"{n}.jsonl")
        assert done.clean, done


def answer(store: Store, **question: Any) -> DriftReport:
    ours, theirs = (
        ComparedAgent(agent_of(store, name), settings_for()(agent_of(store, name))) for name in "ab"
    )
    return drift(store, ours, theirs, DriftQuestion(**question))


def lines(report: DriftReport) -> dict[str, float]:
    assert report.lines is not None
    return {name: round(amount, 9) for name, amount in report.lines if round(amount, 9)}


def days(agent: str, count: int = 5) -> list[Event]:
    return [event for n in range(count) for event in trade(agent, f"{agent}{n}", 8 + 10 * n)]


def test_funding_gas_and_a_fee_in_a_third_asset_have_their_lines(store: Store) -> None:
    flow = {"type": "flow", "kind": "funding_paid", "asset": "USDC", "quantity": 3, "value": 3}
    gas = {"type": "cost", "kind": "gas", "amount": 0.5}
    ours = [
        *days("a"),
        *trade("a", "f", 60, extra=[flow, gas]),
        *trade("a", "g", 70, fee=0.01, fee_asset="BNB"),
    ]
    theirs = [*days("b"), *trade("b", "f", 60), *trade("b", "g", 70)]
    tell(store, [*marks("a", "BNB/USDC", 400.0), *ours], theirs)
    report = answer(store)
    assert lines(report) == {"funding": -3.0, "fees": -0.5 - 2 * 0.01 * 400}
    assert report.matched == 7
    assert {pair.tag for pair in report.pairs} == {"H-1, dip"}


def test_a_short_entered_higher_gains_and_a_rebate_is_a_fee_below_0(store: Store) -> None:
    tell(
        store,
        [*days("a"), *trade("a", "s", 60, (100.5, 99.0), "short", fee=-0.25, fee_asset="USDC")],
        [*days("b"), *trade("b", "s", 60, (100.0, 99.0), "short")],
    )
    assert lines(answer(store)) == {"entry_price": 1.0, "fees": 0.5}


def test_what_nothing_prices_is_said(store: Store) -> None:
    tell(
        store,
        [*days("a"), *trade("a", "g", 70, fee=0.01, fee_asset="XYZ")],
        [*days("b"), *trade("b", "g", 70)],
    )
    report = answer(store)
    assert lines(report) == {}
    assert "no fresh mark prices XYZ, in 1 trade" in report.reasons["prices"]


def test_the_window_is_in_candles_of_the_marks(store: Store) -> None:
    ours, theirs = trade("a", "late", 62.5), trade("b", "late", 60)
    ends = trade("a", "end", 90), trade("b", "end", 90)
    tell(store, [*marks("a", PAIR, 100.0), *days("a"), *ours, *ends[0]], [*days("b"), *theirs, *ends[1]])
    report = answer(store, within=2.0)
    assert (report.matched, len(report.unmatched)) == (6, 2)
    assert [row.matched for row in report.sensitivity] == [6, 6, 7]
    wider = answer(store, within=2.5)
    assert wider.matched == 7
    assert wider.pairs[-2].entry_delay_s == 9000
    assert "within" not in wider.reasons


def test_a_decision_to_skip_may_say_that_its_order_was_not_filled(store: Store) -> None:
    skip = {"type": "decision", "id": "k", "agent": "a", "at": START + 60 * HOUR, "action": "skip"}
    skip |= {"instrument": PAIR, "context": {"order": "not_filled"}}
    late = trade("a", "z", 80)
    tell(store, [*days("a"), skip, *late], [*days("b"), *trade("b", "m", 60), *trade("b", "z", 80)])
    [row] = answer(store).unmatched
    assert (row.trade, row.cause) == ("m", "order_not_filled")


@pytest.mark.parametrize("split", [1, 3])
def test_what_is_told_later_changes_no_answer_of_before(store: Store, split: int) -> None:
    ours = sorted([*days("a", 8), *trade("a", "own", 45)], key=lambda event: event["at"])
    theirs = sorted(days("b", 8), key=lambda event: event["at"])
    until = START + 60 * HOUR
    before = ([e for e in ours if e["at"] < until], [e for e in theirs if e["at"] < until])
    tell(store, *(part[n::split] for part in before for n in range(split)))
    then = answer(store).model_dump_json()
    tell(store, ours, theirs)
    assert answer(store, as_of=until * 1000).model_dump_json() == then
    assert answer(store).model_dump_json() != then

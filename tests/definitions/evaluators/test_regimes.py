"""Regimes through the store: which reviews say them, from stated words or marks, in any order of telling."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from retro.present.formats import render
from retro.report import RetrospectiveReport, dump
from retro.store.database import Store, open_store
from tests.worlds.lives import live, report

Event = dict[str, Any]
HOUR, START = 3_600_000, 1_704_067_200_000  # ms, a Monday
DAY = 24 * HOUR
PAIR = "ETH/USDC"
WHOLE = (START * 1000, (START + 140 * DAY) * 1000)


def price_at(hour: int) -> float:
    return 100 * math.exp(0.2 * math.sin(hour / 400) + 0.02 * math.sin(hour / 5))


def life(regimes: Sequence[str | None] = ("ranging", "trending"), seed: int = 1) -> list[Event]:
    """A position every two days for 140 days, with six-hourly marks; regimes as the entries state them."""
    rng = random.Random(seed)
    events: list[Event] = [{"type": "equity", "id": "e", "agent": "a", "at": START, "value": 10_000}]
    events += [
        {"type": "mark", "id": f"m{hour}", "agent": "a", "at": START + hour * HOUR, "instrument": PAIR}
        | {"price": price_at(hour)}
        for hour in range(0, 140 * 24, 6)
    ]
    for n in range(65):
        hour, held, regime = 48 * n + 6, rng.choice([6, 24, 40]), regimes[n % len(regimes)]
        own: Event = {"agent": "a", "position": f"p{n}"}
        fill: Event = {"type": "fill", **own, "instrument": PAIR, "quantity": 1}
        at, end = START + hour * HOUR, START + (hour + held) * HOUR
        entry: Event = {"type": "decision", "id": f"D{n}", **own, "at": at, "action": "enter"}
        entry |= {"cites": [f"H-{1 + n % 3}"], "instrument": PAIR}
        events += [
            {
                "type": "position",
                "id": f"P{n}",
                **own,
                "at": at,
                "kind": "spot",
                "instrument": PAIR,
                "side": "long",
            },
            entry | ({} if regime is None else {"context": {"regime": regime}}),
            fill | {"id": f"F{n}", "at": at, "side": "buy", "price": price_at(hour)},
            fill | {"id": f"G{n}", "at": end, "side": "sell", "price": price_at(hour + held)},
            {"type": "exit", "id": f"X{n}", **own, "at": end},
        ]
    return events


def tell(store: Store, *parts: Sequence[Event]) -> Store:
    for n, part in enumerate(parts):
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{n}.jsonl").clean
    return store


def reviewed(store: Store, **asked: Any) -> RetrospectiveReport:
    return report(store, "a", **(asked or {"span": WHOLE}))


def test_epochs_and_stretches_say_it_and_no_other_review_does(tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), life())
    at = WHOLE[0] + 100 * DAY * 1000
    for asked in ({"horizon": "epoch", "at": at}, {"span": WHOLE}):
        analysis = reviewed(store, **asked).regimes
        assert (analysis.source, [row.regime for row in analysis.regimes]) == (
            "stated",
            ["ranging", "trending"],
        )
    for horizon in ("daily", "weekly"):
        document = reviewed(store, horizon=horizon, at=at)
        assert document.regimes is None
        assert "regimes" not in json.loads(dump(document))


def test_rows_hold_every_closed_position_of_the_period_once(tmp_path: Path) -> None:
    document = reviewed(tell(open_store(str(tmp_path / "x.db")), life(("ranging", "trending", None))))
    analysis = document.regimes
    by_regime = {bucket.key: bucket for bucket in document.breakdowns.by_regime}
    for row in analysis.regimes:
        assert (row.n, row.pnl, row.win_rate) == (
            by_regime[row.regime].n,
            pytest.approx(by_regime[row.regime].pnl),
            by_regime[row.regime].win_rate,
        )
    assert math.fsum(row.n for row in analysis.regimes) + analysis.unlabelled == 65
    assert (analysis.unlabelled, "up to the entry" in analysis.reasons["unlabelled"]) == (21, True)
    assert math.fsum(row.share_of_time or 0.0 for row in analysis.regimes) == pytest.approx(1)


def test_who_learns_the_regime_while_it_holds_has_not_entered_in_it(tmp_path: Path) -> None:
    """Every third position: a `hold` names a regime two hours after the entry, two hours before it, or an `increase` does."""
    words = [
        {
            "type": "decision",
            "id": f"L{n}",
            "agent": "a",
            "position": f"p{n}",
            "context": {"regime": "learned"},
        }
        | {"at": START + (48 * n + 6 + hours) * HOUR, "action": action}
        for n in range(65)
        for hours, action in [((2, "hold"), (-2, "hold"), (2, "increase"))[n % 3]]
    ]
    document = reviewed(tell(open_store(str(tmp_path / "x.db")), life((None,)), words))
    by_regime = {bucket.key: bucket.n for bucket in document.breakdowns.by_regime}
    assert by_regime["learned"] == 22
    assert {row.regime: row.n for row in document.regimes.regimes}["learned"] == 22


def test_without_a_stated_regime_marks_before_the_entry_say_it_and_are_named(tmp_path: Path) -> None:
    store = tell(open_store(str(tmp_path / "x.db")), life((None,)))
    analysis = reviewed(store).regimes
    assert analysis.source == "from marks"
    assert {word for row in analysis.regimes for word in row.regime.split()} == {
        *("falling", "flat", "rising"),
        *("calm", "volatile"),
    }
    # the first 37 days of marks are needed before any label: 18 positions were entered in them
    assert analysis.unlabelled == pytest.approx(19, abs=1)
    assert "37 days" in analysis.reasons["unlabelled"]
    assert "from marks" in render(reviewed(store), "text")
    # what came later moves no label: a review of the first 100 days says of each position what the whole says
    early = {"span": (WHOLE[0], WHOLE[0] + 100 * DAY * 1000)}
    cut = [event for event in life((None,)) if event["at"] < START + 100 * DAY]
    ended = tell(open_store(str(tmp_path / "cut.db")), cut)
    for row, other in zip(
        reviewed(store, **early).regimes.regimes, reviewed(ended, **early).regimes.regimes, strict=True
    ):
        # only the time since the last decision, up to K, is longer in the whole
        assert row.model_copy(update={"share_of_time": None}) == other.model_copy(
            update={"share_of_time": None}
        )


def test_any_order_and_split_of_the_telling_says_the_same_on_both_databases(
    store: Store, tmp_path: Path
) -> None:
    for regimes in (("ranging", "trending"), (None,)):
        expected = reviewed(tell(open_store(str(tmp_path / f"{len(regimes)}.db")), life(regimes))).regimes
        events = life(regimes)
        if regimes[0] is None:
            events = [event | {"agent": "b"} for event in events]
        shuffled = random.Random(4).sample(events, len(events))
        for first in range(0, len(shuffled), 300):
            tell(store, shuffled[first : first + 300])
        assert report(store, events[0]["agent"], span=WHOLE).regimes == expected
        assert expected.heuristics


def test_what_an_agent_calls_a_regime_is_shown_as_words_and_nothing_more(tmp_path: Path) -> None:
    wild = "<script>alert(1)</script>\x1b[31m**bold**"
    document = reviewed(tell(open_store(str(tmp_path / "x.db")), life((wild, "calm"))))
    assert [row.regime for row in document.regimes.regimes] == [wild, "calm"]
    for form in ("text", "md", "html", "json"):
        page = render(document, form)
        assert "\x1b" not in page
        assert form in {"text", "json"} or "<script>alert" not in page
    plain = reviewed(tell(open_store(str(tmp_path / "y.db")), life(("aaaa", "calm"))))
    for told, other in zip(document.regimes.regimes, plain.regimes.regimes, strict=True):
        assert told.model_copy(update={"regime": other.regime}) == other

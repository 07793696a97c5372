"""Drawn paths: in a period's document those that its page draws, of every other position on demand."""

from __future__ import annotations

import gc
import json

import pytest

from retro.accounting.track import PositionHistory
from retro.app.reviews.build import inputs_of, review_period
from retro.app.reviews.window import Window, grid_of
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settle import settled_book
from retro.evaluate.lives import lives_of
from retro.evaluate.position.costs import slips_of
from retro.periods import DAY
from retro.present.formats import render
from retro.report.extremes import movers
from retro.store.database import Store
from tests.worlds import lives

MONDAY = 1_767_571_200_000  # 2026-01-05, milliseconds
HOUR = 3_600_000
WEDNESDAY = (MONDAY + 48 * HOUR) * 1000


def traded(count: int) -> bytes:
    """Positions p1, p2, ...: pn bought n units at 100 and sold at 101, held for three hours on a mark each half an hour."""
    events = [{"type": "equity", "id": "e", "at": MONDAY - HOUR, "balances": {"USDC": 100_000}}]
    for number in range(1, count + 1):
        at, name = MONDAY + number * HOUR, f"p{number}"
        told = {"position": name, "quantity": number}
        events += [
            {
                "type": "position",
                "id": name,
                "at": at,
                "position": name,
                "kind": "spot",
                "instrument": "X/USDC",
            },
            {"type": "fill", "id": f"{name}-in", "at": at, "side": "buy", "price": 100, **told},
            {"type": "fill", "id": f"{name}-out", "at": at + 3 * HOUR, "side": "sell", "price": 101, **told},
        ]
    for half in range(-4, 2 * 24 * 3):
        at = MONDAY + half * HOUR // 2 + 1
        events.append(
            {"type": "mark", "id": f"m{half}", "at": at, "instrument": "X/USDC", "price": 100 + half % 3}
        )
    return b"".join(json.dumps({"agent": "bot", **event}).encode() + b"\n" for event in events)


@pytest.mark.parametrize("count", [5, 15])
def test_a_period_has_the_paths_of_the_twelve_that_moved_most_and_each_position_its_own(
    store: Store, count: int
) -> None:
    lives.live(store, traded(count))
    report = lives.report(store, "bot", "weekly", at=WEDNESDAY)
    largest = [f"p{number}" for number in range(count, 0, -1)]
    assert [position.position_id for position in movers(report.positions)] == largest
    assert {position.position_id for position in report.positions if position.path} == {*largest[:12]}
    for position in report.positions:
        alone = lives.position(store, "bot", position.position_id)
        assert len(alone.path) > 2
        assert position.path in ([], alone.path)
        assert position.model_copy(update={"path": alone.path}) == alone
    assert render(report, "html").count("<svg") >= min(count, 12)


def test_the_bytes_of_a_period_grow_by_no_path_beyond_those_drawn(store: Store) -> None:
    lives.live(store, traded(40))
    positions = lives.report(store, "bot", "weekly", at=WEDNESDAY).positions
    sizes = [len(position.model_dump_json()) for position in positions if not position.path]
    assert len(sizes) == 28
    assert max(sizes) < 4_000


def test_a_day_draws_no_path_of_what_was_only_held_and_its_week_does(store: Store) -> None:
    """p1 is bought on Monday and kept; p2 is bought and sold on Wednesday."""
    wednesday, told = MONDAY + 48 * HOUR, {"quantity": 1, "price": 100}
    kept = [
        {
            "type": "position",
            "id": "p1",
            "at": MONDAY,
            "position": "p1",
            "kind": "spot",
            "instrument": "X/USDC",
        },
        {"type": "fill", "id": "p1-in", "at": MONDAY, "side": "buy", "position": "p1", **told},
        {
            "type": "position",
            "id": "p2",
            "at": wednesday,
            "position": "p2",
            "kind": "spot",
            "instrument": "X/USDC",
        },
        {"type": "fill", "id": "p2-in", "at": wednesday, "side": "buy", "position": "p2", **told},
        {
            "type": "fill",
            "id": "p2-out",
            "at": wednesday + 5 * HOUR,
            "side": "sell",
            "position": "p2",
            **told,
        },
    ]
    lines = b"".join(json.dumps({"agent": "bot", **event}).encode() + b"\n" for event in kept)
    lives.live(store, traded(0) + lines)
    day = lives.report(store, "bot", "daily", at=WEDNESDAY).positions
    week = lives.report(store, "bot", "weekly", at=WEDNESDAY).positions
    assert [(p.position_id, bool(p.path)) for p in day] == [("p1", False), ("p2", True)]
    assert [(p.position_id, bool(p.path)) for p in week] == [("p1", True), ("p2", True)]
    assert day[0].mfe is not None


def histories_in_memory() -> int:
    gc.collect()
    return sum(type(thing) is PositionHistory for thing in gc.get_objects())


@pytest.mark.parametrize("together", [4, 100])
def test_however_many_positions_are_written_down_at_once_their_documents_are_the_same_and_none_stays_in_memory(
    store: Store, together: int
) -> None:
    lives.live(store, traded(30))
    gc.collect()
    gc.freeze()  # what a million objects of other tests are is not asked
    agent = lives.agent_of(store, "bot")
    settings = lives.settings_for()(agent)
    period = choose_period(agent, settings, "weekly", at=WEDNESDAY)
    window = Window(
        period, grid_of(period, settings), WEDNESDAY + 30 * DAY, period.end + settings.options.settle_lag
    )
    with settled_book(store, "bot", settings) as book:
        expected = review_period(book, period, as_of=window.known_until).positions
        inputs = inputs_of(book, window, [row.position for row in book.positions()], at_marks=True)
    tracks = [inputs.tracks[position.position_id] for position in expected]
    assert len(tracks) == 30
    slips = {track.position.position: slips_of(track, inputs.prices) for track in tracks}
    assert lives_of(inputs, tracks, slips, together=together) == expected
    assert (tracks, inputs.tracks) == ([], {})
    assert histories_in_memory() == 0

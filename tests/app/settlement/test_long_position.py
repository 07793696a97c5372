"""A position of ten thousand fills is not replayed with each that is told: whoever asks first settles what waits."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from retro.app.settlement.book import is_stale
from retro.report import dump
from retro.store.database import open_store
from tests.worlds.lives import agent_of, live, position, report, settings_for
from tests.worlds.steps import steps_of

if TYPE_CHECKING:
    from pathlib import Path

    from retro.store.database import Store

MONDAY = 1_772_409_600_000  # 2026-03-02
MINUTE = 60_000
LONG, SHORT = 10_010, 400


def fills(first: int, last: int) -> bytes:
    """A position that buys one and sells it again, a fill a minute; declared with the first."""
    key = {"agent": "bot", "position": "p"}
    opening = {"type": "position", "id": "o", "at": MONDAY, "kind": "spot", "instrument": "E/U", **key}
    events = [opening] if first == 0 else []
    for n in range(first, last):
        side, price = ("sell", 11) if n % 2 else ("buy", 10 + n % 3)
        at = MONDAY + n * MINUTE
        events.append(
            {"type": "fill", "id": f"f{n}", "at": at, "side": side, "quantity": 1, "price": price, **key}
        )
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def is_behind(store: Store) -> bool:
    agent = agent_of(store, "bot")
    with store.read() as conn:
        return is_stale(conn, "bot", settings_for()(agent))


@pytest.mark.parametrize(("length", "waits"), [(SHORT, False), (LONG, True)])
def test_one_more_fill_of_a_long_position_waits_for_the_first_who_asks(
    store: Store, length: int, *, waits: bool
) -> None:
    is_shared = store.dialect == "postgresql"  # of a server everything waits for the next knock
    live(store, fills(0, length))
    assert is_behind(store) == is_shared
    report(store, "bot", "weekly")
    live(store, fills(length, length + 1), name="next.jsonl")
    assert is_behind(store) == (waits or is_shared)
    report(store, "bot", "weekly")
    assert not is_behind(store)


def test_what_waited_is_settled_as_if_it_had_not(store: Store, tmp_path: Path) -> None:
    """Told in one go, and with three fills told one by one that nobody asked about: these cost next to nothing."""
    live(store, fills(0, LONG + 3))
    in_parts = open_store(str(tmp_path / "parts.db"))
    live(in_parts, fills(0, LONG))
    for n in range(LONG, LONG + 3):
        tell = partial(live, in_parts, fills(n, n + 1), name=f"{n}.jsonl")
        assert steps_of(tell) < 5 * LONG
    assert dump(report(in_parts, "bot", "weekly")) == dump(report(store, "bot", "weekly"))
    assert dump(position(in_parts, "bot", "p")) == dump(position(store, "bot", "p"))
    in_parts.close()

"""A life by its days, and a journal that is read in parts: what both say is held to what is worked by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.worlds.lives import live, report
from tests.worlds.oracle import DAY, approx, instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.store.database import Store
    from tests.worlds.oracle import Life


def totals(life: Life, days: int = 4) -> list[float]:
    """What each day from Monday on made."""
    return [life.day(day).pnl.total for day in range(days)]


def check_parts(
    store: Store, lines: Sequence[dict[str, Any]], parts: Iterable[Sequence[int]], made: Sequence[float]
) -> None:
    """Told to one agent at once and to another in parts, with a review after each: the days say the same, and right."""
    live(store, _journal(lines, "once"), name="once.jsonl")
    for number, part in enumerate(parts):
        live(store, _journal([lines[i] for i in part], "a"), name=f"{number}.jsonl")
        report(store, "a")  # settles what is known so far
    for day, total in enumerate(made):
        mine, once = (report(store, name, "daily", at=instant(day * DAY + 12)) for name in ("a", "once"))
        assert (mine.pnl, mine.equity) == (once.pnl, once.equity)
        assert mine.pnl.total == approx(total)


def _journal(lines: Sequence[dict[str, Any]], agent: str) -> bytes:
    return b"".join(json.dumps({"agent": agent, **line}).encode() + b"\n" for line in lines)

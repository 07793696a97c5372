"""What a shadow made, day by day: told as journal lines, read as facts by their window."""

from __future__ import annotations

import json

from retro.model import Shadow
from retro.periods import DAY, parse_instant
from retro.store.database import Store
from retro.store.facts import events as facts
from tests.worlds.lives import live

FIRST = parse_instant("2026-03-01T00:05:00Z")
DAYS = {"2026-02-28": "-3.10", "2026-03-01": "0", "2026-03-02": "7.25"}


def test_the_days_of_a_shadow_are_read_by_the_window_in_which_they_were_told(store: Store) -> None:
    lines = [
        {"type": "shadow", "id": f"{name}-{day}", "agent": agent, "at": (FIRST + n * DAY) // 1000}
        | {"shadow": name, "day": day, "pnl": pnl, "note": "12 %"}
        for n, (day, pnl) in enumerate(DAYS.items())
        for name in ("wide", "币安")
        for agent in ("bot", "other")
    ]
    lines.append(
        {"type": "cost", "id": "c", "agent": "bot", "at": FIRST // 1000, "kind": "data", "amount": 1}
    )
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    assert live(store, text).clean
    assert live(store, text, name="again.jsonl").stored == 0
    with store.read() as conn:
        read = facts.between(conn, "bot", FIRST, FIRST + 2 * DAY, types=[Shadow])
        assert facts.positions_touched(conn, "bot", 0, FIRST + 9 * DAY) == []
    assert sorted((fact.shadow, fact.day, str(fact.pnl), fact.at) for fact in read) == [
        ("wide", "2026-02-28", "-3.10", FIRST),
        ("wide", "2026-03-01", "0", FIRST + DAY),
        ("币安", "2026-02-28", "-3.10", FIRST),
        ("币安", "2026-03-01", "0", FIRST + DAY),
    ]

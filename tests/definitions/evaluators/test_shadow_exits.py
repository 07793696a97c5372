"""What the book keeps of shadows says at every instant what a replay of the whole life says, and costs what is open."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from retro.app.questions.evaluators.shadows import ShadowQuestion, shadows
from retro.app.settlement.settings import AgentSettings
from retro.app.settlement.settle import settled_book
from retro.report.evaluators.shadows import ShadowRow
from retro.store.books.positions import forget_book
from retro.store.books.shadow_exits import book_shadow_exits, shadow_exits_since
from retro.store.database import Store, open_store
from tests.definitions.evaluators.test_shadows import Event, event, tell
from tests.worlds.lives import agent_of, settings_for

RULES = {
    "tight": "stop -2%",
    "late": "stop -2%",
    "small": "size-cap 150",
    "never": "without tag:dip",
    "early": "take 1R",
}
SINCE = {"late": date(2024, 5, 20)}
CONFIGURATION: dict[str, Any] = {
    "shadow": [
        {"name": name, "agent": "a", "rule": rule, "since": SINCE.get(name, date(2024, 3, 28))}
        for name, rule in RULES.items()
    ],
    "retrospective": {"max_shadow_strategies": 9},
}


def life(seed: int, positions: int = 60) -> list[Event]:
    """Positions of hours or weeks over five months, some added to, some never left, some with gas paid after the exit."""
    rng = random.Random(seed)
    hours = positions * 60
    prices = [100.0]
    for _ in range(hours):
        prices.append(round(prices[-1] * (1 + rng.gauss(0, 0.006)), 4))
    rows = [event("equity", "e", 0, value=1000)]
    rows += [event("mark", f"m{h}", h, instrument="ETH/USDC", price=prices[h]) for h in range(0, hours, 4)]
    for n in range(positions):
        start, length, name = n * 60, rng.choice([3, 30, 30, 400]), f"p{n}"
        cites = {"cites": ["dip"]} if rng.random() < 0.5 else {}
        common = {"position": name}
        instrument = {
            "instrument": "UNI/USDC" if n == 7 else "ETH/USDC"
        }  # of the one nothing tells a price but its fills
        opening = event("position", name, start, **common, kind="spot", side="long", **instrument)
        rows.append(opening | ({"risk": 2} if n % 3 else {}))
        rows.append(event("decision", f"d{n}", start, **common, action="enter", **cites))
        rows.append(event("fill", f"{name}a", start, **common, side="buy", quantity=1, price=prices[start]))
        size, end = 1, start + length
        if length > 20 and n % 2:
            size, middle = 2, start + length // 2
            if middle < hours:
                rows.append(
                    event("fill", f"{name}b", middle, **common, side="buy", quantity=1, price=prices[middle])
                )
        if end < hours:
            rows.append(
                event("fill", f"{name}c", end, **common, side="sell", quantity=size, price=prices[end])
            )
            if n % 5 == 0:
                rows.append(event("cost", f"g{n}", end + 50, **common, kind="gas", amount=0.5))
    return rows


def settings(store: Store, *, with_rules: bool = True) -> AgentSettings:
    return settings_for(CONFIGURATION if with_rules else {})(agent_of(store, "a"))


def ask(store: Store, as_of: int | None = None, *, with_rules: bool = True) -> list[ShadowRow]:
    """By the book, or, where the settings have no shadows, by a replay of every position."""
    strategies = settings(store).shadows
    return shadows(ShadowQuestion(store, "a", settings(store, with_rules=with_rules), as_of, strategies))


def rows_of(store: Store) -> list[tuple[Any, ...]]:
    ask(store)
    c = book_shadow_exits.c
    with store.read() as conn:
        query = select(c.rule, c.block, c.names, c.records).order_by(c.rule, c.block)
        return [tuple(row) for row in conn.execute(query)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_book_says_at_every_instant_what_a_replay_of_the_life_says(seed: int, tmp_path: Path) -> None:
    events = life(seed)
    store, other = (
        tell(open_store(str(tmp_path / f"{name}.db")), events, configuration=configuration)
        for name, configuration in (("book", CONFIGURATION), ("replayed", {}))
    )
    instants = [None, *((events[0]["at"] + hour * 3_600_000) * 1000 for hour in (90, 451, 1217, 2003, 3333))]
    for as_of in instants:
        said = ask(store, as_of)
        assert said == ask(other, as_of, with_rules=False)
    assert {row.name for row in said} == RULES.keys()
    assert all(row.paired for row in said)


def test_any_order_and_split_and_a_book_made_anew_have_the_same_bytes(store: Store, tmp_path: Path) -> None:
    events = life(4)
    expected = rows_of(tell(open_store(str(tmp_path / "whole.db")), events, configuration=CONFIGURATION))
    assert len({row[1] for row in expected}) == 2
    shuffled = random.Random(4).sample(events, len(events))
    for first in range(0, len(shuffled), 300):
        tell(store, shuffled[first : first + 300], configuration=CONFIGURATION)
        rows_of(store)
    assert rows_of(store) == expected
    with store.write() as conn:
        forget_book(conn, "a")
    assert rows_of(store) == expected


def test_a_late_fill_moves_the_exits_it_touches(store: Store, tmp_path: Path) -> None:
    events = life(5)
    late = next(row for row in events if row["id"] == "p9c")
    tell(store, [row for row in events if row is not late], configuration=CONFIGURATION)
    before = rows_of(store)
    tell(store, [late], configuration=CONFIGURATION)
    whole = tell(open_store(str(tmp_path / "whole.db")), events, configuration=CONFIGURATION)
    assert rows_of(store) == rows_of(whole) != before


def test_only_what_is_open_is_replayed_however_long_the_life_is(tmp_path: Path) -> None:
    running = []
    for positions in (40, 80, 160):
        events = [row for row in life(6, positions) if row.get("position") != "p7"]
        store = tell(open_store(str(tmp_path / f"{positions}.db")), events, configuration=CONFIGURATION)
        with settled_book(store, "a", settings(store)) as book:
            exits = shadow_exits_since(book.conn, "a", "stop -2%", 0)
            running.append(len(exits.running(book.known_until)))
            assert len(exits.names) > positions * 0.9
    assert 0 < max(running) <= 400 // 60 + 2

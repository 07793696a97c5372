"""What the book keeps of claims and of what tiers cost: the same bytes of the same facts, and a few blocks to read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from retro.evaluate.claims.totals import totals_of
from retro.kernels.sums import exact_parts
from retro.model import Cost
from retro.periods import FOREVER
from retro.store.books.claims import book_claims, claims_of, claims_since, claims_with_judged_before
from retro.store.books.positions import forget_book
from retro.store.books.tier_costs import TierCosts, book_tier_costs, tier_costs_at
from retro.store.database import Store, open_store
from retro.store.facts import events as facts
from tests.definitions.evaluators.test_claims import DAY, START, Event, life, question, tell

RING = 12


def paid(seed: int, count: int = 120) -> list[Event]:
    """Inference of every tier and of none, paid in money and in kind over four months, and a fee that is none."""
    rng = random.Random(seed)
    return [
        {"type": "cost", "id": f"c{n}", "agent": "a", "at": START + n * DAY, "tier": rng.choice(["T0", "T1", "T2", None])}
        | {"kind": rng.choice(["inference", "inference", "gas"])}
        | rng.choice([{"amount": rng.choice([0.1, 0.2, 0.3])}, {"asset": "ETH", "quantity": "0.001"}])
        for n in range(count)
    ]  # fmt: skip


def summed(costs: Sequence[Cost]) -> TierCosts:
    """By tier, from the facts themselves: only inference that names one."""
    named = [cost for cost in costs if cost.kind == "inference" and cost.tier is not None]
    paid: dict[str, list[float]] = {}
    for cost in named:
        if cost.amount is not None:
            paid.setdefault(str(cost.tier), []).append(float(cost.amount))
    in_kind = sorted(cost.id for cost in named if cost.amount is None)
    return TierCosts({tier: exact_parts(paid[tier]) for tier in sorted(paid)}, tuple(in_kind))


def told(seed: int) -> list[Event]:
    return [*life(seed, 300), *paid(seed)]


def rows_of(store: Store) -> list[tuple[Any, ...]]:
    question(store).history()
    with store.read() as conn:
        totals = select(book_claims.c.block, book_claims.c.names, book_claims.c.totals)
        c = book_tier_costs.c
        costs = select(c.block, c.earlier, c.records, c.in_kind)
        return [
            tuple(row)
            for query in (totals.order_by("block"), costs.order_by("block"))
            for row in conn.execute(query)
        ]


def test_any_order_and_split_and_a_book_made_anew_have_the_same_bytes(store: Store, tmp_path: Path) -> None:
    events = told(3)
    expected = rows_of(tell(open_store(str(tmp_path / "whole.db")), events))
    assert len(expected) >= 8
    shuffled = random.Random(4).sample(events, len(events))
    for first in range(0, len(shuffled), 170):
        tell(store, shuffled[first : first + 170])
        rows_of(store)
    assert rows_of(store) == expected
    with store.write() as conn:
        forget_book(conn, "a")
    assert rows_of(store) == expected


@pytest.mark.parametrize("kind", ["resolution", "cost"])
def test_a_late_fact_reaches_every_later_block_and_no_earlier_one(
    kind: str, store: Store, tmp_path: Path
) -> None:
    events = told(5)
    wanted = (event for event in events if event["type"] == kind and event["at"] > START + 40 * DAY)
    late = next(
        event
        for event in wanted
        if kind == "resolution" or ("amount" in event and event["kind"] != "gas" and event["tier"])
    )
    before = rows_of(tell(store, [event for event in events if event is not late]))
    tell(store, [late])
    after = rows_of(store)
    assert after == rows_of(tell(open_store(str(tmp_path / "whole.db")), events)) != before
    assert after[:1] == before[:1]


@pytest.mark.parametrize("day", [0, 3, 31, 32, 33, 60.5, 95, 400])
def test_how_things_stood_is_what_all_that_had_resolved_comes_to(day: float, tmp_path: Path) -> None:
    store, at = tell(open_store(str(tmp_path / "x.db")), told(7)), (START + int(day * DAY)) * 1000
    question(store).history()
    with store.read() as conn:
        whole = claims_of(conn, "a")
        for start in (at, at - 7 * DAY * 1000):
            assert claims_since(conn, "a", start, at).at(at, RING) == totals_of(whole.before(at), RING)
        costs, all_costs = (
            summed(facts.between(conn, "a", -FOREVER, end, types=[Cost])) for end in (at, FOREVER)
        )
        assert tier_costs_at(conn, "a", [at]) == [costs]
        assert tier_costs_at(conn, "a", [at, FOREVER]) == [costs, all_costs]


def test_what_is_read_of_the_newest_claims_is_the_end_of_them_all_and_no_more_than_is_asked_for(
    store: Store,
) -> None:
    question(tell(store, life(8, 600))).history()
    with store.read() as conn:
        whole = claims_of(conn, "a").records["prediction"].tolist()
        read = []
        for day in (-1, 40, 190):
            since = (START + day * DAY) * 1000
            for least in (1, 30, 1000):
                claims = claims_with_judged_before(conn, "a", since, least)
                read.append(len(claims))
                assert claims.records["prediction"].tolist() == whole[-len(claims) :]
                judged = np.count_nonzero(~np.isnan(claims.before(since).records["verdict"]))
                assert judged >= least or len(claims) == len(whole)
        assert read[-3:-1] == sorted(read[-3:-1])
        assert read[-2] < len(whole) / 4 < read[-1] == len(whole)


def test_a_week_reads_as_many_claims_of_a_long_life_as_of_a_short_one(tmp_path: Path) -> None:
    read = []
    for claims in (200, 400, 800):
        store = tell(open_store(str(tmp_path / f"{claims}.db")), life(2, claims))
        end = (START + claims * DAY // 3) * 1000
        question(store).history()
        with store.read() as conn:
            read.append(len(claims_since(conn, "a", end - 7 * DAY * 1000, end).claims))
            assert len(claims_of(conn, "a")) > claims / 2
    assert max(read) <= 39 * 3  # a block of 32 days and a week, three claims a day

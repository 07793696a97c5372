"""The spend ledger: what was reserved counts, caps hold for any number of processes, and a dead one's money is spent."""

from __future__ import annotations

import json
import multiprocessing
import os
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from retro.app.reviews.model_costs import costs_of_reviewing
from retro.periods import format_instant
from retro.store import spend
from retro.store.database import Store, open_store
from retro.store.facts.agents import Agent
from retro.store.spend import Caps, Order, Tokens
from tests.worlds.lives import live, settings_for

AGENT = Agent("a", 0, 1, None, None, None, 1)
FORK = multiprocessing.get_context("fork")
DAY = 86_400_000_000
NOW = 20_000 * DAY + 5
CENT = Decimal("0.01")
CAPS = Caps(Decimal("0.05"), Decimal("0.20"), Decimal("0.50"), day=20_000 * DAY, month=19_990 * DAY)
ORDER = Order("a", "a.weekly.2026-W10", 1, NOW, "T1", "m", CENT, "d1", "report.v1.md sha256:0", '{"x":1}')
TOKENS = Tokens(fresh=100, cache_read=20, cache_write=3, out=7)


def reserve(store: Store, order: Order = ORDER, caps: Caps = CAPS) -> int | str:
    with store.write() as conn:
        return spend.reserve(conn, order, caps)


def settle(store: Store, receipt: int | str, cost: str | None, tokens: Tokens | None = TOKENS) -> None:
    assert isinstance(receipt, int)
    with store.write() as conn:
        spend.settle(
            conn,
            receipt,
            cost=None if cost is None else Decimal(cost),
            tokens=tokens,
            answer="{}",
            status=200,
            outcome="end_turn",
            request_id="req_1",
        )


def total(store: Store) -> spend.Spent:
    with store.read() as conn:
        return spend.spent(conn)


def test_a_reservation_counts_at_its_worst_until_it_is_settled(store: Store) -> None:
    receipt = reserve(store)
    assert total(store) == spend.Spent(CENT, 1, {"T1": CENT}, 0, 0)
    settle(store, receipt, "0.0012345678901")
    exact = Decimal("0.0012345678901")
    assert total(store) == spend.Spent(exact, 1, {"T1": exact}, 123, 7)


def test_a_cost_that_nobody_learned_stays_at_the_reservation(store: Store) -> None:
    settle(store, reserve(store), None, None)
    assert total(store).usd == CENT
    with store.read() as conn:
        assert [exchange.outcome for exchange in spend.exchanges(conn, ORDER.review)] == ["end_turn"]


def test_settling_twice_changes_nothing(store: Store) -> None:
    receipt = reserve(store)
    settle(store, receipt, "0.001")
    settle(store, receipt, "0.009")
    assert total(store).usd == Decimal("0.001")


@pytest.mark.parametrize(
    ("vary", "fits", "name"),
    [
        (lambda n: {}, 5, "0.05 USD a review"),
        (lambda n: {"review": f"r{n}"}, 20, "0.2 USD a day"),
        (
            lambda n: {"review": f"r{n}", "agent": f"a{n}", "at": CAPS.month + n * DAY // 8},
            50,
            "0.5 USD a month",
        ),
    ],
    ids=["review", "day", "month"],
)
def test_a_cap_is_filled_to_its_last_cent_and_not_beyond(
    store: Store, vary: Any, fits: int, name: str
) -> None:
    receipts = [reserve(store, replace(ORDER, **vary(n))) for n in range(fits + 1)]
    assert all(isinstance(receipt, int) for receipt in receipts[:fits])
    assert str(receipts[fits]).startswith(f"the cap of {name} leaves no room")


def test_another_revision_and_another_day_have_their_own_room(store: Store) -> None:
    for _ in range(5):
        reserve(store)
    assert isinstance(reserve(store), str)
    assert isinstance(reserve(store, replace(ORDER, revision=2)), int)
    tomorrow = replace(CAPS, day=CAPS.day + DAY, a_day=CENT)
    assert isinstance(reserve(store, replace(ORDER, review="r", at=NOW + DAY), tomorrow), int)


def test_a_refused_reservation_leaves_nothing_behind(store: Store) -> None:
    assert isinstance(reserve(store, replace(ORDER, worst=Decimal(1))), str)
    assert total(store).calls == 0


def test_calls_are_those_of_one_agent_in_one_span(store: Store) -> None:
    for agent, at in [("a", 10), ("a", 20), ("b", 10)]:
        reserve(store, replace(ORDER, agent=agent, at=at, tier=f"T{at // 10}"))
    with store.read() as conn:
        assert [(call.at, call.usd) for call in spend.calls_of(conn, "a", 10, 20)] == [(10, CENT)]
        assert [(call.at, call.usd) for call in spend.calls_of(conn, "a", 0, 99)] == [(10, CENT), (20, CENT)]
        assert spend.spent(conn).usd == 3 * CENT


def test_calls_are_inference_costs_of_an_agent_that_counts_in_dollars(store: Store) -> None:
    reserve(store, replace(ORDER, at=10))
    settle(store, reserve(store, replace(ORDER, at=20, tier="T2")), "0.002")
    settle(store, reserve(store, replace(ORDER, at=30)), "0", None)
    settings = settings_for({"owner": {"base_currency": "USDC"}})(AGENT)
    with store.read() as conn:
        (first, second), unpriced = costs_of_reviewing(conn, "a", settings, 10, 40)
        assert costs_of_reviewing(conn, "a", settings, 11, 20).costs == []
    assert unpriced == []
    assert (first.kind, first.at, first.amount, first.tier) == ("inference", 10, CENT, "T1")
    assert (second.amount, second.tier, second.tokens_in, second.tokens_out) == (
        Decimal("0.002"),
        "T2",
        123,
        7,
    )


@pytest.mark.parametrize(
    ("mark", "worth"),
    [
        ({"instrument": "USDC/EUR", "price": 0.8}, "0.008"),
        ({"asset": "USDT", "price": 0.8}, "0.008"),
        ({"instrument": "EUR/USD", "price": 1.25}, "0.008"),
        ({"instrument": "EUR/BTC", "price": 1.25}, None),
        ({"instrument": "EUR/USD", "price": 1.25, "at": NOW - 2 * DAY}, None),
    ],
)
def test_an_agent_that_counts_in_something_else_has_them_at_the_mark_of_the_day_or_is_told(
    store: Store, mark: dict[str, Any], worth: str | None
) -> None:
    mark_event = {"type": "mark", "id": "m", "agent": "a", "at": NOW - DAY // 2} | mark
    mark_event |= {"at": format_instant(mark_event["at"] // 1_000_000 * 1_000_000)}
    assert live(store, json.dumps(mark_event).encode() + b"\n").clean
    reserve(store)
    settings = replace(settings_for()(AGENT), base_currency="EUR")
    with store.read() as conn:
        reviewing_costs = costs_of_reviewing(conn, "a", settings, 0, NOW + 1)
    assert [cost.amount for cost in reviewing_costs.costs] == ([] if worth is None else [Decimal(worth)])
    assert reviewing_costs.warnings(0, "EUR") == (
        []
        if worth is not None
        else ["reviewing cost 0.0100 USD that is in no figure here: no mark says what a dollar was in EUR"]
    )
    assert reviewing_costs.warnings(NOW + 1, "EUR") == []


def test_an_exchange_is_kept_to_the_byte(store: Store) -> None:
    request = '{"text":"Ünï\\u0000 \U0001f600"}'
    receipt = reserve(store, replace(ORDER, request=request))
    settle(store, receipt, "0.001")
    with store.read() as conn:
        [exchange] = spend.exchanges(conn, ORDER.review, 1)
        assert spend.exchanges(conn, ORDER.review, 2) == []
    assert (exchange.request, exchange.answer, exchange.status, exchange.prompt) == (
        request,
        "{}",
        200,
        ORDER.prompt,
    )


def test_only_a_paid_answer_to_the_same_request_is_used_again(store: Store) -> None:
    def again(digest: str) -> bool:
        with store.read() as conn:
            return spend.answered(conn, ORDER.review, 1, digest) is not None

    receipt = reserve(store)
    assert not again("d1")
    settle(store, receipt, "0.001")
    assert again("d1")
    assert not again("d2")


def test_eight_processes_cannot_overdraw_one_budget(store: Store, database_url: str) -> None:
    """Eight at once want three times what there is: what they get together is the cap, to the cent."""

    def spends(worker: int) -> None:
        own = open_store(database_url)
        got = 0
        for n in range(12):
            receipt = reserve(
                own, replace(ORDER, review=f"{worker}.{n}"), replace(CAPS, a_day=Decimal("0.32"))
            )
            if isinstance(receipt, int):
                got += 1
                if n % 2:
                    settle(own, receipt, "0.01")
        os._exit(got)

    processes = [FORK.Process(target=spends, args=(worker,)) for worker in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert sum(process.exitcode or 0 for process in processes) == 32
    assert total(store).usd == Decimal("0.32")


def test_the_reservation_of_a_process_that_died_stays_spent(store: Store, database_url: str) -> None:
    def dies() -> None:
        own = open_store(database_url)
        reserve(own)
        os.kill(os.getpid(), 9)

    for _ in range(7):
        process = FORK.Process(target=dies)
        process.start()
        process.join(60)
        assert process.exitcode == -9
    assert total(store).usd == CAPS.review
    assert isinstance(reserve(store), str)

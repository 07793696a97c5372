"""Facts: each stored once, kept to the letter, and read by the window a question needs."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from retro.model import Cost, Equity, EventRow, Fact, Fill
from retro.periods import DAY, SECOND
from retro.store import schema as tables
from retro.store.database import Store, open_store
from retro.store.facts import events as facts

T0 = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
FORK = multiprocessing.get_context("fork")
QUICK = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
LIVES = count()


def event(kind: str, id_: str, at: int, position: str | None, agent: str, /, **fields: Any) -> EventRow:
    """A row as an adapter hands it on."""
    body = {"type": kind, "id": id_, "agent": agent, "at": at // 1000, **fields}
    if position is not None:
        body["position"] = position
    return EventRow(agent, kind, id_, at, position, json.dumps(body))


def fill(
    id_: str, at: int, position: str = "p1", price: Any = "10", agent: str = "bot", **fields: Any
) -> EventRow:
    return event("fill", id_, at, position, agent, side="buy", quantity="1", price=price, **fields)


def cost(id_: str, at: int, agent: str = "bot", **fields: Any) -> EventRow:
    return event("cost", id_, at, None, agent, kind="gas", amount="0.01", **fields)


def add(store: Store, rows: Sequence[EventRow], **options: Any) -> facts.Added:
    with store.write() as conn:
        return facts.add(conn, rows, where="life.jsonl", lines=options.pop("lines", None), **options)


def ids(batch: Sequence[Fact]) -> list[str]:
    return sorted(fact.id for fact in batch)


def everything(store: Store, agent: str = "bot") -> list[Fact]:
    with store.read() as conn:
        return sorted(
            facts.between(conn, agent, 0, 1 << 62, types=facts.TYPES),
            key=lambda fact: (type(fact).__name__, fact.id),
        )


# adding


def test_what_is_told_is_stored_to_the_letter(store: Store) -> None:
    body = (
        '{"type": "fill",  "id":"f1","agent":"bot","at":"2026-03-01T00:00:00Z","position":"p1","side":"buy",'
        '"quantity":0.100000000000000000000000000001,"price":"3012.440","note":"\\u0000 \\ud83d\\ude80 ü\\n\t"}'
    ).replace("\t", "\\t")
    add(store, [EventRow("bot", "fill", "f1", T0, "p1", body)])
    with store.read() as conn:
        assert conn.execute(select(tables.events.c.body)).scalar_one() == body
        (fact,) = facts.of_positions(conn, "bot", ["p1"])
    assert isinstance(fact, Fill)
    assert (fact.at, fact.price) == (T0, Decimal("3012.44"))
    assert fact.quantity == Decimal("0.100000000000000000000000000001")


def test_adding_twice_changes_nothing(store: Store) -> None:
    rows = [fill(f"f{i}", T0 + i) for i in range(5)]
    first, second = add(store, rows), add(store, rows)
    assert (first.stored, first.unchanged, first.conflicts) == (5, 0, [])
    assert (second.stored, second.unchanged, second.conflicts) == (0, 5, [])
    assert (first.first_at, second.first_at) == ({"bot": T0}, {})


def test_overlapping_batches_store_each_event_once(store: Store) -> None:
    rows = [fill(f"f{i}", T0 + i) for i in range(10)]
    add(store, rows[:6])
    added = add(store, rows[3:])
    assert (added.stored, added.unchanged, added.first_at) == (4, 3, {"bot": T0 + 6})
    assert ids(everything(store)) == [f"f{i}" for i in range(10)]


@pytest.mark.parametrize("spread", ["one batch", "two batches"])
def test_other_content_is_a_conflict_with_its_line_and_is_kept_back(store: Store, spread: str) -> None:
    rows, lines = [fill("f1", T0), fill("f2", T0), fill("f1", T0, price="11")], [4, 5, 9]
    if spread == "one batch":
        added = add(store, rows, lines=lines)
    else:
        add(store, rows[:2], lines=lines[:2])
        added = add(store, rows[2:], lines=lines[2:])
    (conflict,) = added.conflicts
    assert (conflict.where, conflict.line) == ("life.jsonl", 9)
    assert conflict.reason == "fill 'f1' of bot is known with another price"
    assert [fact.price for fact in everything(store) if isinstance(fact, Fill)] == [10, 10]


def test_the_same_id_under_another_type_or_agent_is_another_event(store: Store) -> None:
    added = add(store, [fill("1", T0), cost("1", T0), fill("1", T0, agent="other", price="12")])
    assert (added.stored, added.conflicts, added.first_at) == (3, [], {"bot": T0, "other": T0})


def test_the_same_event_twice_in_one_batch_is_stored_once(store: Store) -> None:
    added = add(store, [fill("f1", T0), fill("f1", T0, price="10.00")])
    assert (added.stored, added.unchanged, added.conflicts) == (1, 1, [])


def test_a_replacement_keeps_what_was_said_before(store: Store) -> None:
    add(store, [fill("f1", T0 + DAY), fill("f2", T0 + 2 * DAY)])
    added = add(
        store, [fill("f1", T0 + 3 * DAY, "p2", price="11"), fill("f2", T0 + 2 * DAY)], replace="bot fixed it"
    )
    assert (added.stored, added.unchanged, added.replaced, added.conflicts) == (0, 1, 1, [])
    assert added.first_at == {"bot": T0 + DAY}, "both the old and the new day need another look"
    with store.read() as conn:
        assert ids(facts.of_positions(conn, "bot", ["p2"])) == ["f1"]
        assert ids(facts.between(conn, "bot", T0 + 3 * DAY, T0 + 4 * DAY, types=facts.TYPES)) == ["f1"]
        (correction,) = conn.execute(select(tables.corrections))
        assert (correction.id, correction.at, correction.position, correction.reason, correction.place) == (
            "f1", T0 + DAY, "p1", "bot fixed it", "life.jsonl",
        )  # fmt: skip
        assert json.loads(correction.body)["price"] == "10"
        (agent,) = facts.agents(conn)
        assert (agent.first_at, agent.last_at, agent.events) == (T0 + 2 * DAY, T0 + 3 * DAY, 2)


def test_nothing_is_nothing(store: Store) -> None:
    added = add(store, [])
    assert (added.stored, added.first_at) == (0, {})


def test_a_batch_is_stored_whole_or_not_at_all(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as conn:
        facts.add(conn, [fill("f1", T0)], where="x", lines=None)
        raise ZeroDivisionError
    assert everything(store) == []
    assert add(store, [fill("f1", T0)]).stored == 1


@pytest.mark.parametrize(
    "name", ["a\0b", "n" * 5000, "é" * 3000, "\0" * 500, "'; DROP TABLE events; --", "%s {x} \\"]
)
def test_no_id_is_too_odd(store: Store, name: str) -> None:
    """PostgreSQL takes no NUL and no key beyond 2.7 kB; an id of either kind is still an id."""
    rows = [fill(name, T0, name), fill(name + "!", T0, name)]
    assert (add(store, rows).stored, add(store, rows).unchanged) == (2, 2)
    with store.read() as conn:
        assert ids(facts.of_positions(conn, "bot", [name])) == sorted([name, name + "!"])
        assert ids(facts.by_ids(conn, "bot", Fill, [name])) == [name]
        touched = facts.positions_touched(conn, "bot", T0, T0 + 1)
        assert len(touched) == 1
        assert ids(facts.of_positions(conn, "bot", touched)) == sorted([name, name + "!"])


# agents


def test_an_agents_life_spans_its_facts(store: Store) -> None:
    add(store, [fill("f1", T0 + DAY), fill("f2", T0), cost("c1", T0 + 3 * DAY, "other")])
    add(store, [fill("f3", T0 + 2 * DAY)])
    with store.read() as conn:
        bot, other = facts.agents(conn)
    assert (bot.name, bot.first_at, bot.last_at, bot.events) == ("bot", T0, T0 + 2 * DAY, 3)
    assert (other.name, other.first_at, other.last_at, other.events) == (
        "other",
        T0 + 3 * DAY,
        T0 + 3 * DAY,
        1,
    )


def test_what_a_source_says_of_an_agent_is_kept_and_as_of_only_grows(store: Store) -> None:
    for fields in (
        {"as_of": 5, "capital": Decimal("100.10")},
        {"as_of": 3, "base_currency": "USDT"},
        {"as_of": 9},
        {},
    ):
        with store.write() as conn:
            facts.note_agent(conn, "bot", **fields)
    with store.read() as conn:
        assert facts.agents(conn) == [facts.Agent("bot", None, None, 9, Decimal("100.1"), "USDT", 0)]


# reading


@pytest.fixture
def ten_days(store: Store) -> Store:
    """Ten days: each opens a position, costs once, and touches the position of the day before."""
    rows: list[EventRow] = []
    for day in range(10):
        at = T0 + day * DAY
        rows += [fill(f"f{day}", at, f"p{day}"), cost(f"c{day}", at + SECOND)]
        rows += [fill(f"g{day}", at + 2 * SECOND, f"p{day - 1}")] if day else []
    add(store, rows[::-1])
    return store


def test_a_window_is_half_open(ten_days: Store) -> None:
    with ten_days.read() as conn:
        assert ids(facts.between(conn, "bot", T0 + DAY, T0 + 2 * DAY, types=facts.TYPES)) == [
            "c1",
            "f1",
            "g1",
        ]
        assert ids(facts.between(conn, "bot", T0, T0, types=facts.TYPES)) == []
        assert ids(facts.between(conn, "bot", T0, T0 + 1, types=[Fill])) == ["f0"]
        assert ids(facts.between(conn, "bot", T0, T0 + DAY, wallet=True, types=facts.TYPES)) == ["c0"]
        assert ids(facts.between(conn, "bot", T0, T0 + DAY, wallet=True, types=[Fill])) == []
        assert ids(facts.between(conn, "nobody", 0, 1 << 62, types=facts.TYPES)) == []


def test_positions_are_found_by_name_and_by_window(ten_days: Store) -> None:
    with ten_days.read() as conn:
        assert ids(facts.of_positions(conn, "bot", ["p0", "p5", "absent"])) == ["f0", "f5", "g1", "g6"]
        assert ids(facts.of_positions(conn, "bot", ["p0"], until=T0 + DAY)) == ["f0"]
        assert ids(facts.of_positions(conn, "bot", ["p0"], until=T0 + DAY + 2 * SECOND)) == ["f0", "g1"]
        assert facts.of_positions(conn, "bot", []) == []
        assert facts.positions_touched(conn, "bot", T0 + 4 * DAY, T0 + 5 * DAY) == ["p3", "p4"]


def test_the_oldest_of_a_type(ten_days: Store) -> None:
    add(ten_days, [cost("x10", T0 - SECOND), cost("x9", T0 - SECOND)])
    with ten_days.read() as conn:
        first = facts.first_of(conn, "bot", Cost)
        assert first is not None
        assert first.id == "x9", "x10 comes after x9"
        assert facts.first_of(conn, "bot", Equity) is None
        assert facts.first_instant(conn, "bot") == T0 - SECOND
        assert facts.first_instant(conn, "nobody") is None


def test_facts_are_found_by_id(ten_days: Store) -> None:
    with ten_days.read() as conn:
        assert ids(facts.by_ids(conn, "bot", Fill, ["f1", "f9", "c1", "absent"])) == ["f1", "f9"]


def test_the_instants_of_a_type_by_id(ten_days: Store) -> None:
    with ten_days.read() as conn:
        assert facts.instants(conn, "bot", Cost) == {f"c{day}": T0 + day * DAY + SECOND for day in range(10)}
        assert facts.instants(conn, "bot", Equity) == facts.instants(conn, "nobody", Cost) == {}


def test_what_a_question_costs_follows_its_window_not_the_history(tmp_path: Path) -> None:
    """Counted in steps of SQLite's own machine, which no other load disturbs."""
    steps = {}
    two: tuple[type[Fact], ...] = (Fill, Cost)
    questions: dict[str, Callable[[Connection], object]] = {
        "between": lambda c: facts.between(c, "bot", T0 - DAY, T0, types=facts.TYPES),
        "wallet": lambda c: facts.between(c, "bot", T0 - DAY, T0, wallet=True, types=facts.TYPES),
        "types": lambda c: facts.between(c, "bot", T0 - DAY, T0, types=two),
        "positions": lambda c: facts.of_positions(c, "bot", facts.positions_touched(c, "bot", T0 - DAY, T0)),
        "first": lambda c: [facts.first_of(c, "bot", Fill)],
        "birth": lambda c: facts.first_instant(c, "bot"),
        "ids": lambda c: facts.by_ids(c, "bot", Fill, ["e5", "e6"]),
        "agents": facts.agents,
    }  # fmt: skip
    for days in (30, 300):
        store = open_store(str(tmp_path / f"{days}.db"))
        instants = enumerate(range(T0 - days * DAY, T0, DAY // 20))
        rows = [fill(f"e{i}", at, f"p{i // 8}") if i % 4 else cost(f"e{i}", at) for i, at in instants]
        add(store, rows)
        with store.read() as conn:
            driver: Any = conn.connection.driver_connection
            for name, question in questions.items():
                ticks = [0]
                driver.set_progress_handler(lambda t=ticks: t.append(0), 10)
                assert question(conn)
                driver.set_progress_handler(None, 0)
                steps[name, days] = 10 * len(ticks)
    for (name, days), step_count in steps.items():
        assert step_count < 1.2 * steps[name, 30] + 50, f"{name} over {days} days: {steps}"


# laws

EVENTS = st.builds(
    lambda kind, number, content, day: (kind, number, content, day),
    st.sampled_from(["fill", "cost"]), st.integers(0, 6), st.sampled_from(["1", "1.00", 1, "2"]), st.integers(0, 2),
)  # fmt: skip


def as_row(agent: str, kind: str, number: int, content: Any, day: int) -> EventRow:
    at = T0 + day * DAY
    if kind == "fill":
        return fill(f"e{number}", at, price=content, agent=agent)
    return cost(f"e{number}", at, agent, extra={"b": content, "a": [content, True]})


@QUICK
@given(st.lists(st.lists(EVENTS, max_size=8), max_size=5))
def test_add_agrees_with_a_dictionary(store: Store, batches: list[list[tuple[str, int, Any, int]]]) -> None:
    """The model: the first telling stands, the same content again is unchanged, anything else a conflict."""
    agent = f"life-{next(LIVES)}"
    first_meanings: dict[tuple[str, int], tuple[Any, int]] = {}
    for batch in batches:
        outcomes: list[str] = []
        for kind, number, content, day in batch:
            # a price is a decimal however it is spelled; in a field nobody knows a text is not a number
            meaning = (Decimal(content) if kind == "fill" else content, day)
            first_meaning = first_meanings.setdefault((kind, number), meaning)
            new = first_meaning is meaning
            outcomes.append("stored" if new else "unchanged" if first_meaning == meaning else "conflict")
        added = add(store, [as_row(agent, *event) for event in batch], lines=range(1, len(batch) + 1))
        assert added.stored == outcomes.count("stored")
        assert added.unchanged == outcomes.count("unchanged")
        assert [c.line for c in added.conflicts] == [i for i, o in enumerate(outcomes, 1) if o == "conflict"]
        fresh = [
            T0 + day * DAY for (*_, day), outcome in zip(batch, outcomes, strict=True) if outcome == "stored"
        ]
        assert added.first_at == ({agent: min(fresh)} if fresh else {})
    stored = everything(store, agent)
    assert {(fact.__struct_config__.tag, int(fact.id[1:])): fact.at for fact in stored} == {
        key: T0 + day * DAY for key, (_, day) in first_meanings.items()
    }


@QUICK
@given(st.data())
def test_the_order_of_arrival_leaves_no_trace(store: Store, data: st.DataObject) -> None:
    """Any order, any batches, any repetition: what is read back is the same."""
    agents = [f"life-{next(LIVES)}" for _ in range(2)]
    events = [(kind, number, "1.5", number % 3) for kind in ("fill", "cost") for number in range(5)]
    with store.write() as conn:
        for agent in agents:
            arrivals = data.draw(
                st.permutations(events + data.draw(st.lists(st.sampled_from(events), max_size=5)))
            )
            size = data.draw(st.integers(1, len(arrivals)))
            for start in range(0, len(arrivals), size):
                facts.add(
                    conn,
                    [as_row(agent, *event) for event in arrivals[start : start + size]],
                    where="x",
                    lines=None,
                )
    first, second = ([(f.id, f.at, type(f)) for f in everything(store, agent)] for agent in agents)
    assert first == second
    with store.read() as conn:
        lives = [(a.first_at, a.last_at, a.events) for a in facts.agents(conn) if a.name in agents]
    assert lives[0] == lives[1]


# several at once


def writes(database_url: str, numbers: range) -> None:
    store = open_store(database_url)
    for start in range(0, len(numbers), 10):
        add(store, [fill(f"f{i}", T0 + i) for i in numbers[start : start + 10]])
    store.close()


def test_two_processes_that_add_at_once_lose_and_double_nothing(store: Store, database_url: str) -> None:
    started = [
        FORK.Process(target=writes, args=(database_url, span)) for span in (range(120), range(200, 60, -1))
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0]
    assert len(everything(store)) == 201
    with store.read() as conn:
        (agent,) = facts.agents(conn)
        assert conn.execute(select(func.count()).select_from(tables.events)).scalar_one() == 201
    assert (agent.first_at, agent.last_at, agent.events) == (T0, T0 + 200, 201)


def test_a_process_killed_while_adding_leaves_whole_batches(store: Store, database_url: str) -> None:
    def dies() -> None:
        writes(database_url, range(30))
        with open_store(database_url).write() as conn:
            facts.add(conn, [fill("late", T0)], where="x", lines=None)
            os._exit(9)

    process = FORK.Process(target=dies)
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert len(everything(store)) == 30

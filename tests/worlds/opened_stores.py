"""What tests do with an open store: note an agent, list the agents, list the tables; and do so in many processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable

from sqlalchemy import inspect

from retro.store.database import Store
from retro.store.facts import events as facts

FORK = multiprocessing.get_context("fork")


def run_in_processes(*tasks: Callable[[], object]) -> list[int | None]:
    """Run each task in a process of its own, all at once; their exit codes."""
    started = [FORK.Process(target=task) for task in tasks]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    return [process.exitcode for process in started]


def tables_of(store: Store) -> set[str]:
    with store.read() as conn:
        return set(inspect(conn).get_table_names())


def note(store: Store, agent: str) -> None:
    with store.write() as conn:
        facts.note_agent(conn, agent, as_of=1)


def names(store: Store) -> list[str]:
    with store.read() as conn:
        return [agent.name for agent in facts.agents(conn)]

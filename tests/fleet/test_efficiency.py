"""Workers stand in nobody's way: F10 of the fleet's test plan as far as counting shows it, whatever else the machine does.

By the clock, with reviews that sleep, it is `benchmarks/fleet.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from retro.app.context import Knock
from retro.app.engine.knocks import answer
from retro.app.narration.narrators import plain_words
from retro.store.database import open_store
from retro.store.locks import bucket_of
from tests.fleet_sweep import SETTINGS, WHEN, documents, tell
from tests.worlds.service_world import World
from tests.worlds.steps import statements_of

WORKERS = 8
ALONE = ("ash",)
AGENTS = tuple(f"agent-{number}" for number in range(WORKERS))
PATIENCE_S = 120.0
"""Of a busy machine; who waits for another worker waits for good."""
BAR = 1.1
"""Statements of a review beside others, to those of one alone."""


def answered(url: str, folder: Path, agent: str, words: Callable[..., Any]) -> int:
    """Answer an agent's knock as a worker of its own; how many statements that took."""
    store = open_store(url)
    bench = World(store, folder, at=WHEN, configuration=SETTINGS).bench(alone=False, owner=agent, words=words)
    count = statements_of(store, lambda: answer(bench, Knock("stream", bucket_of(agent))))
    store.close()
    return count


def test_f10_eight_workers_are_at_a_review_at_the_same_instant_and_ask_no_more_than_one(
    postgres_url: str, tmp_path: Path
) -> None:
    """Each waits in its review for all others to be in theirs: a lock, a claim or a commit that one waited for would end it."""
    assert len({bucket_of(agent) for agent in AGENTS}) == WORKERS
    store = open_store(postgres_url)
    tell(World(store, tmp_path, at=WHEN, configuration=SETTINGS), [*ALONE, *AGENTS])
    alone = answered(postgres_url, tmp_path, ALONE[0], plain_words)
    everybody = threading.Barrier(WORKERS)

    def words(*review: Any) -> Any:
        everybody.wait(PATIENCE_S)
        return plain_words(*review)

    with ThreadPoolExecutor(WORKERS) as workers:
        together = list(workers.map(lambda agent: answered(postgres_url, tmp_path, agent, words), AGENTS))
    texts = documents(store)
    store.close()
    assert {name.partition(".")[0] for name in texts} == {*ALONE, *AGENTS}
    assert len(texts) == 2 * (1 + WORKERS)
    assert max(together) <= BAR * alone

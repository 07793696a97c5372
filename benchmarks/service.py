"""What waiting costs: a knock with nothing due beside ten thousand past reviews, and the size of the idle service.

    python benchmarks/service.py [--reviews 10000] [--rounds 50]

Three figures: the light look that a waiting service takes (bar: under 10 ms), a whole knock that looks at everything
although nothing is due, and the resident memory and processor time of `retro run` at rest (bars: 60 MB, 0.1 % of a
core).
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from retro.app.context import WorkContext, policy_of
from retro.app.engine.backlog import has_pending_work
from retro.app.engine.obligations import enqueue_due
from retro.app.engine.worker import run_pass
from retro.app.intake.ingest import ingest
from retro.app.narration.narrators import plain_words
from retro.app.settlement.settings import settings_of
from retro.config import Config
from retro.deliver.file import Files
from retro.ingest.journal.parallel import read_path
from retro.periods import DAY
from retro.store.database import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.settlement.settings import AgentSettings
    from retro.store.facts.agents import Agent

CONFIG = Config.model_validate({"retrospective": {"epoch_review_enabled": False}})
DONE = (
    "UPDATE reviews SET state = 'done', done_at = period_end",
    "INSERT INTO review_documents SELECT key, 1, 'x', NULL, hex(zeroblob(4000)), done_at FROM reviews",
    """INSERT INTO outbox
       (review, revision, channel, recipient, state, digest, attempts, not_before, written_at)
       SELECT key, 1, 'file', 'reviews', 'sent', 0, 1, 0, done_at FROM reviews""",
)


def settings_for(agent: Agent) -> AgentSettings:
    return settings_of(CONFIG, agent, None)


def history(path: Path, reviews: int, now: int) -> Store:
    """A database with so many past reviews, all done: days and weeks of one agent's long life."""
    store = open_store(str(path))
    start = now - (reviews * 7 // 8) * DAY
    source = path.with_suffix(".jsonl")
    source.write_text(
        "".join(
            f'{{"type":"equity","id":"e{n}","agent":"bench","at":{(start + n * 30 * DAY) // 1000},"value":1000}}\n'
            for n in range((now - start) // DAY // 30 + 1)
        )
    )
    batches = read_path(str(source), now=now, ahead=False)
    ingest(store, "bench", batches, settings_for, now=now)
    enqueue_due(store, settings_for, policy_of(CONFIG), now, all_agents=True)
    with store.write() as conn:
        for statement in DONE:
            conn.exec_driver_sql(statement)
    return store


def best(work: Callable[[], object], rounds: int) -> float:
    """Milliseconds of one call when nothing else is in its way."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def at_rest(folder: Path) -> tuple[float, float]:
    """Megabytes and per cent of a core of a service that has been idle for a while."""
    settings = folder / "config.toml"
    settings.write_text(
        '[store]\nurl = "bench.db"\n[retrospective]\nepoch_review_enabled = false\n[service]\nknock_seconds = 1\n'
    )
    command = [sys.executable, "-m", "retro", "-q", "--config", str(settings), "run"]
    service = subprocess.Popen(command, cwd=folder)
    try:
        line = Path(f"/proc/{service.pid}/cmdline")
        until = time.monotonic() + 60
        while b"retro.daemon" not in line.read_bytes() and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(3)
        before = _spent(service.pid)
        time.sleep(20)
        share = (
            (_spent(service.pid) - before) / 20 / 60 * 100
        )  # it knocks every second here, every minute in life
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{service.pid}/status").read_text())
        return int(match[1]) / 1000 if match else 0.0, share
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the figures beside their bars."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--reviews", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=50)
    arguments = options.parse_args()
    now = time.time_ns() // 1000 // DAY * DAY
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = history(folder / "bench.db", arguments.reviews, now)
        with store.read() as conn:
            count = conn.exec_driver_sql("SELECT count(*) FROM reviews WHERE state = 'done'").scalar_one()
        bench = WorkContext(
            store=store,
            config=CONFIG,
            terms=policy_of(CONFIG),
            settings_for=settings_for,
            channels={"file": Files(folder / "reviews")},
            clock=lambda: now,
            words=plain_words,
            owner="bench",
        )
        assert not has_pending_work(store, (), "", now)
        print(f"{count:,} past reviews")
        print(
            f"a look when nothing is due   {best(lambda: has_pending_work(store, (), '', now), arguments.rounds):8.2f} ms  (bar 10)"
        )
        print(
            f"a knock when nothing is due  {best(lambda: run_pass(bench), arguments.rounds):8.2f} ms  (bar 10)"
        )
        print(f"a knock that looks at all    {best(lambda: run_pass(bench, all_agents=True), 5):8.2f} ms")
        store.close()
        size, share = at_rest(folder)
        print(f"the service at rest          {size:8.1f} MB  (bar 60), {share:.3f} % of a core (bar 0.1)")


if __name__ == "__main__":
    main()

"""How long a fleet takes on a Monday: a simulation fed with what one agent costs, held against measured runs.

    python -m benchmarks.fleet_simulation units     what an agent costs: CPU of a worker and of PostgreSQL
    python -m benchmarks.fleet_simulation check     measured runs of 1, 2, 8 and 16 workers beside the simulation (bar: 15 %)
    python -m benchmarks.fleet_simulation table     1,000, 100,000 and 1,000,000 agents

Workers take buckets, and of a bucket one review after another. A review is a wait (of a worker's own) and then a turn at a
station with so many cores, first come, first served. In `check` the wait is the sleep, and the station is this machine: the
workers and PostgreSQL share its cores. In `table` the wait is what a worker computes, on a core of its own, and the station
is PostgreSQL. A turn is drawn, exponentially: served first come, first served that gives the rates of cores that an operating
system deals out in slices, whatever the turns are (both have a product form). A tenth of the workers may die for good; what
they left of a bucket comes back after 50 s (20 s of silence, a sweep each 30 s). Everything that is told to the simulation is measured with one worker, or with none.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import fleet
from retro.app.engine.worker import run_pass
from retro.periods import DAY, HOUR, parse_instant
from retro.store.database import open_store
from tests.worlds.places import ROOT
from tests.worlds.service_world import World

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 0.15
BUCKETS = 1024
AWAY_S = 50.0
SLEEP_S = 0.040
MONDAY = parse_instant("2026-03-02T00:00:00Z")


@dataclass(frozen=True)
class Cost:
    """Seconds of one piece of work: `own` of a worker's, `turn` of a core of the station."""

    own: float
    turn: float


def makespan(
    pieces: int, workers: int, cost: Cost, cores: int, *, dying: float = 0.0, grain: int = 1, seed: int = 1
) -> float:
    """Seconds until all pieces of all buckets are done; in a piece so many (`grain`) turns follow each other."""
    dice = random.Random(seed)
    sizes = np.bincount(np.random.default_rng(seed).integers(0, BUCKETS, pieces), minlength=BUCKETS)
    waiting = [(0.0, int(size)) for size in sizes if size]  # (from when on, pieces)
    heapq.heapify(waiting)
    free = [0.0] * cores  # when each core of the station is free again
    heapq.heapify(free)
    dead = set(range(round(dying * workers)))
    span = pieces * (cost.own + cost.turn) / workers
    dies = {worker: dice.uniform(0, span) for worker in dead}
    ready = [
        (0.0, worker, 0, False) for worker in range(workers)
    ]  # (at, worker, pieces left, at the station)
    heapq.heapify(ready)
    end = 0.0
    while ready:
        at, worker, left, computed = heapq.heappop(ready)
        if at >= dies.get(worker, np.inf):
            if left:
                heapq.heappush(waiting, (at + AWAY_S, left))
                _wake(ready, at + AWAY_S, workers, dead)
            continue
        if not left:
            if not waiting:
                continue
            since, left = heapq.heappop(waiting)
            at = max(at, since)
        if not computed:
            heapq.heappush(ready, (at + cost.own, worker, left, True))
            continue
        core = heapq.heappop(free)
        until = max(at, core) + dice.gammavariate(grain, cost.turn / grain)
        heapq.heappush(free, until)
        end = max(end, until)
        heapq.heappush(ready, (until, worker, left - 1, False))
    return end


def _wake(ready: list[tuple[float, int, int, bool]], at: float, workers: int, dead: set[int]) -> None:
    """A bucket that comes back finds somebody, also where all had gone home."""
    busy = {worker for _, worker, _, _ in ready}
    for worker in range(workers):
        if worker not in busy and worker not in dead:
            heapq.heappush(ready, (at, worker, 0, False))
            return


# measured


def check(runs: tuple[int, ...], seconds: float) -> bool:
    """Runs of sleeping reviews beside what the simulation says of them from the first; whether all are near enough.

    What other processes use of the machine meanwhile is no part of the station: its turns are as much longer.
    """
    with fleet.server() as server:
        store = fleet.crowded(server)
        passed, cost, cores = True, None, os.cpu_count() or 1
        for workers in runs:
            run = fleet.fleet(server, store, workers, SLEEP_S, seconds)
            if cost is None:
                turn = (run.cpu_ms + run.server_ms) / 1000
                cost = Cost(max(SLEEP_S, 1 / run.rate - turn / run.share), turn)
                print(
                    f" 1 worker:  {run.rate:6.1f} reviews/s, {1000 * cost.own:.1f} ms of waits,"
                    f" {1000 * turn:.1f} ms of CPU, {run.share:.0%} of the machine ours",
                    flush=True,
                )
                continue
            pieces = round(run.rate * 30)
            said = pieces / makespan(pieces, workers, replace(cost, turn=cost.turn / run.share), cores)
            apart = said / run.rate - 1
            passed &= abs(apart) <= BAR
            print(
                f"{workers:2} workers: {run.rate:6.1f} reviews/s measured, {said:6.1f} simulated, {apart:+.1%},"
                f" {run.cpu_ms + run.server_ms:.1f} ms of CPU, {run.share:.0%} of the machine ours",
                flush=True,
            )
        store.close()
    return passed


def units(copies: int) -> dict[str, float]:
    """CPU seconds of an agent's week and of its Monday, of a worker and of PostgreSQL: copies of the sample agent."""
    lines = [json.loads(line) for line in (ROOT / "examples/sample/agent.jsonl").read_text().splitlines()]
    first = min(parse_instant(line["at"]) for line in lines)
    week = [line for line in lines if MONDAY <= parse_instant(line["at"]) < MONDAY + 7 * DAY]
    earlier = [line for line in lines if parse_instant(line["at"]) < MONDAY]
    names = [f"sample-{number}" for number in range(copies)]
    print(f"{copies} agents, {len(week)} lines in the week, {(MONDAY - first) / DAY / 7:.0f} weeks before it")
    with fleet.server() as server:
        store = open_store(server.url)
        world = World(store, server.folder, at=MONDAY + HOUR)
        for name in names:
            world.tell([{**line, "agent": name} for line in earlier])
        run_pass(world.bench(alone=False), all_agents=True)

        def spent(what: Callable[[], object]) -> tuple[float, float]:
            own, theirs = time.process_time(), fleet.server_cpu_s(server)
            what()
            return (time.process_time() - own) / copies, (fleet.server_cpu_s(server) - theirs) / copies

        world.clock.set(MONDAY + 7 * DAY - HOUR)
        told = spent(lambda: [world.tell([{**line, "agent": name} for line in week]) for name in names])
        knocked = spent(lambda: run_pass(world.bench(alone=False)))
        count = len([review for review in world.reviews() if review.state == "done"])
        world.clock.set(MONDAY + 7 * DAY + 2 * HOUR)
        burst = spent(lambda: run_pass(world.bench(alone=False), all_agents=True))
        made = (len([review for review in world.reviews() if review.state == "done"]) - count) / copies
        store.close()
    rows = {"a week told": told, "the six days' reviews": knocked, f"Monday, {made:.1f} reviews": burst}
    for name, (own, theirs) in rows.items():
        print(f"{name:24} worker {1000 * own:7.0f} ms   PostgreSQL {1000 * theirs:7.0f} ms", flush=True)
    return {"own": burst[0], "turn": burst[1]}


def table(cost: Cost) -> None:
    """Minutes until every agent is reviewed on a Monday."""
    print(f"an agent's Monday: {1000 * cost.own:.0f} ms of a worker, {1000 * cost.turn:.0f} ms of PostgreSQL")
    for agents, runs in {
        1_000: ((1, 1), (2, 2)),
        100_000: ((8, 4), (16, 8), (32, 8)),
        1_000_000: ((64, 16), (128, 16), (128, 32), (128, 64)),
    }.items():
        grain = max(1, agents // 100_000)  # agents of a bucket that are one piece: the heap stays small
        piece = replace(cost, own=cost.own * grain, turn=cost.turn * grain)
        for workers, cores in runs:
            whole, tenth = (
                makespan(agents // grain, workers, piece, cores, dying=dying, grain=grain) / 60
                for dying in (0.0, 0.1)
            )
            print(
                f"{agents:9,} agents, {workers:3} workers, PostgreSQL of {cores:2} cores: {whole:6.1f} min,"
                f" {tenth:6.1f} with a tenth of the workers dead",
                flush=True,
            )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=["units", "check", "table"])
    options.add_argument("--workers", default="1,2,8,16")
    options.add_argument("--seconds", type=float, default=12.0)
    options.add_argument("--copies", type=int, default=6)
    options.add_argument("--worker-ms", type=float, default=160.0)
    options.add_argument("--postgres-ms", type=float, default=40.0)
    given = options.parse_args()
    if given.what == "units":
        units(given.copies)
    elif given.what == "check":
        sys.exit(not check(tuple(map(int, given.workers.split(","))), given.seconds))
    else:
        table(Cost(given.worker_ms / 1000, given.postgres_ms / 1000))


if __name__ == "__main__":
    main()

"""How fast the memory is and what it finds: python benchmarks/recall.py [--episodes N] [--peer PYTHON].

PYTHON is an interpreter in whose environment the registry's `tradememory-protocol` is installed. It is then measured on
the same history, through its own functions, at equal recall@10: ranking everything it has stored.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.store.database import Store

# This file bears the package's name: its own folder must not come first on the path.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

DAY_MS = 86_400_000
START_MS = 1_700_000_000_000
DAYS = 730
REGIMES = ("trending_up", "trending_down", "ranging", "volatile")
BATCH = 1000


def history(count: int) -> list[dict[str, Any]]:
    """Two years of trades, evenly spaced: regimes in long runs with 15 % noise, four strategies, one symbol."""
    import numpy as np

    rng = np.random.default_rng(5)
    episodes = []
    for i in range(count):
        run = REGIMES[(i // max(1, count // 20)) % 4]
        regime = run if rng.random() > 0.15 else REGIMES[int(rng.integers(4))]
        r = round(float(rng.normal(0.05, 1.2)), 3)
        episodes.append(
            {
                "id": f"e{i:06d}",
                "agent": "bench",
                "at": START_MS + i * DAYS * DAY_MS // count,
                "strategy": f"s{i % 4}",
                "symbol": "XAUUSD",
                "direction": ("long", "short")[i % 2],
                "entry_price": 2000.0,
                "size": 1.0 + i % 5,
                "exit_price": 2000.0 + r,
                "pnl": 100 * r,
                "pnl_r": r,
                "held_for_s": 600 + i % 7200,
                "mae": -abs(r),
                "confidence": round(float(rng.random()), 3),
                "tags": ["bench"],
                "reflection": "as planned",
                "context": {
                    "regime": regime,
                    "volatility_regime": ("low", "normal", "high")[int(rng.integers(3))],
                    "session": ("asia", "london", "newyork")[i % 3],
                    "atr_d1": round(20 * math.exp(rng.normal(0, 0.5)), 3),
                    "atr_h1": round(4 * math.exp(rng.normal(0, 0.5)), 3),
                    "price": round(2000 * math.exp(rng.normal(0, 0.2)), 2),
                    "spread_as_atr_pct": 0.05,
                },
            }
        )
    return episodes


def timed(run: Callable[[int], object], times: int) -> tuple[float, float]:
    """(median, 95th percentile) milliseconds of calls of `run(i)`."""
    durations = []
    for i in range(times):
        started = time.perf_counter()
        run(i)
        durations.append(1000 * (time.perf_counter() - started))
    durations.sort()
    return statistics.median(durations), durations[int(0.95 * (len(durations) - 1))]


def exhaustive(
    episodes: list[dict[str, Any]], query: dict[str, Any], as_of_ms: int, k: int = 10
) -> list[str]:
    """The k best ids by the formula of the design, one episode at a time."""
    weights = {"regime": 0.25, "volatility_regime": 0.15, "session": 0.10}
    ratios = {
        "atr_d1": (0.15, 0.3),
        "atr_h1": (0.10, 0.3),
        "price": (0.10, 0.2),
        "spread_as_atr_pct": (0.05, 0.5),
    }
    candidates = [episode for episode in episodes if episode["at"] <= as_of_ms]
    last = [episode["pnl_r"] for episode in candidates[-100:]]
    sigma = max(0.5, math.sqrt((sum(r * r for r in last) + 22.5) / (len(last) + 10)))
    losing = 0
    while losing < len(last) and last[-1 - losing] < 0:
        losing += 1
    ranked = []
    for episode in candidates:
        context = episode["context"]
        sim = sum(weight for name, weight in weights.items() if context[name] == query[name])
        for name, (weight, width) in ratios.items():
            sim += weight * math.exp(
                -0.5 * (math.log(context[name] / query[name]) / math.log(1 + width)) ** 2
            )
        aff = 1.09 if losing >= 3 and episode["pnl_r"] > 0 else 1.0
        age = (as_of_ms - episode["at"]) / DAY_MS
        score = sim / 0.9 / (1 + math.exp(-2 * episode["pnl_r"] / sigma)) * (1 + age / 30) ** -0.5
        ranked.append((-score * (0.5 + 0.5 * episode["confidence"]) * aff, -episode["at"], episode["id"]))
    return [identity for _, _, identity in sorted(ranked)[:k]]


def ours(episodes: list[dict[str, Any]], folder: Path) -> dict[str, float]:
    """Measure this package on a SQLite file with the store's own settings."""
    import memory
    from retro.store.database import open_store

    steps = {"memory": tuple(step for _, step in memory.MIGRATIONS)}
    store = open_store(str(folder / "memory.db"), components=steps)
    remember = remembering(store, episodes)
    with store.read() as conn:
        cold = first_recall(conn, episodes)
        warm = later_recalls(conn, episodes)
        same_as_exhaustive(conn, episodes)
        other_questions(conn, episodes)
    store.close()
    return {"remember": remember, "warm": warm, "cold": cold}


def remembering(store: Store, episodes: list[dict[str, Any]]) -> float:
    """Episodes a second of the last batches; prints those of the first too, and what one trade alone takes."""
    import memory

    rates = []
    for start in range(0, len(episodes), BATCH):
        begun = time.perf_counter()
        with store.write() as conn:
            memory.remember(conn, episodes[start : start + BATCH])
        rates.append(BATCH / (time.perf_counter() - begun))
    tenth = max(1, len(rates) // 10)
    first, last = statistics.median(rates[:tenth]), statistics.median(rates[-tenth:])
    print(f"remember, batches of {BATCH}, SQLite synchronous=FULL")
    print(
        f"  first tenth {first:9,.0f}/s    last tenth {last:9,.0f}/s    ratio {first / last:.2f} (flat within 1.3)"
    )
    single = memory.Settings(capital=100_000.0)

    def one_trade(i: int) -> None:
        with store.write() as conn:
            memory.remember(conn, [episodes[-1] | {"id": f"x{i}", "at": episodes[-1]["at"] + i + 1}])
            memory.state(conn, "bench", settings=single)

    median, high = timed(one_trade, 20)
    print(f"  one trade in its own transaction, state read back: {median:.1f} ms (p95 {high:.1f})")
    return last


def first_recall(conn: Connection, episodes: list[dict[str, Any]]) -> float:
    """Median milliseconds of a recall that has to read everything first."""
    import memory
    from memory.episodic import cache

    def cold(_: int) -> None:
        memory.forget(conn)
        memory.recall(conn, "bench", episodes[-1]["context"])

    median, high = timed(cold, 9)
    columns = cache.columns(conn, "bench", memory.DEFAULT)
    size = columns.nbytes + sum(
        part.nbytes
        for value in columns.memo.values()
        for part in (value if isinstance(value, tuple) else (value,))
        if hasattr(part, "nbytes")
    )
    print(f"recall of 10 among {len(columns):,}")
    print(f"  cold, cache built from SQLite  {median:7.1f} ms (p95 {high:.1f})   < 150")
    print(f"  held in memory                 {size / len(columns):7.1f} bytes an episode   < 200")
    return median


def questions(episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """About a hundred situations of the history."""
    return [episode["context"] for episode in episodes[:: max(1, len(episodes) // 101)]]


def later_recalls(conn: Connection, episodes: list[dict[str, Any]]) -> float:
    """Median milliseconds of a recall once everything is read."""
    import memory

    queries, ends = questions(episodes), episodes[-1]["at"]
    warm, high = timed(lambda i: memory.recall(conn, "bench", queries[i % len(queries)]), 101)
    print(f"  warm                           {warm:7.2f} ms (p95 {high:.2f})   < 5")
    median, high = timed(
        lambda i: memory.recall(conn, "bench", queries[i % 99], as_of=1000 * (ends - i * DAY_MS)), 101
    )
    print(f"  warm, another as-of each time  {median:7.2f} ms (p95 {high:.2f})")
    median, high = timed(
        lambda i: memory.recall(conn, "bench", queries[i % 99], types=("episode", "belief", "plan")), 21
    )
    print(f"  warm, with beliefs and plans   {median:7.2f} ms (p95 {high:.2f})")
    return warm


def same_as_exhaustive(conn: Connection, episodes: list[dict[str, Any]]) -> None:
    """Print the share of the exhaustive answer that is found."""
    import memory

    ends, matches, total = episodes[-1]["at"], 0, 0
    for query in questions(episodes)[::10]:
        expected = exhaustive(episodes, query, ends)
        ids = [hit.id for hit in memory.recall(conn, "bench", query, as_of=1000 * ends)]
        matches, total = matches + len(set(expected) & set(ids)), total + len(expected)
    print(f"  recall@10 against exhaustive   {matches / total:7.3f}")


def other_questions(conn: Connection, episodes: list[dict[str, Any]]) -> None:
    """Print how long the rest takes."""
    import memory

    for name in ("state", "habits", "beliefs", "kelly"):
        call = getattr(memory, name)
        extra = (episodes[-1]["context"],) if name == "kelly" else ()
        ask = partial(call, conn, "bench", *extra)
        median, high = timed(lambda _, ask=ask: ask(), 9)  # type: ignore[misc]
        print(f"  {name:<30} {median:7.2f} ms (p95 {high:.2f})")


PEER = r"""
import asyncio, json, os, statistics, sys, time
from datetime import datetime, timezone
episodes = [json.loads(line) for line in open(sys.argv[1])]
folder, writes = sys.argv[2], int(sys.argv[3])
os.environ["TRADEMEMORY_DB"] = folder + "/tools.db"
from tradememory.db import Database
from tradememory.owm.context import ContextVector
from tradememory.owm.recall import outcome_weighted_recall
import tradememory.mcp_server as tools

db = Database(folder + "/rows.db")
def when(episode):
    return datetime.fromtimestamp(episode["at"] / 1000, timezone.utc).isoformat()
def row(episode):
    c = episode["context"]
    return {"id": episode["id"], "timestamp": when(episode), "context_json": json.dumps(c | {"symbol": episode["symbol"]}),
            "context_regime": c["regime"], "context_volatility_regime": c["volatility_regime"],
            "context_session": c["session"], "context_atr_d1": c["atr_d1"], "context_atr_h1": c["atr_h1"],
            "strategy": episode["strategy"], "direction": episode["direction"], "entry_price": episode["entry_price"],
            "lot_size": episode["size"], "exit_price": episode["exit_price"], "pnl": episode["pnl"], "pnl_r": episode["pnl_r"],
            "hold_duration_seconds": episode["held_for_s"], "max_adverse_excursion": episode["mae"],
            "reflection": episode["reflection"], "confidence": episode["confidence"], "tags": "[]",
            "retrieval_strength": 1.0, "retrieval_count": 0, "last_retrieved": None, "created_at": when(episode)}
begun = time.perf_counter()
for episode in episodes[:500]:
    db.insert_episodic(row(episode))
inserted = 500 / (time.perf_counter() - begun)
import sqlite3
raw = sqlite3.connect(folder + "/rows.db")
rows = [row(episode) for episode in episodes[500:]]
if rows:
    names = list(rows[0])
    raw.executemany(f"INSERT INTO episodic_memory ({','.join(names)}) VALUES ({','.join(':' + n for n in names)})", rows)
raw.commit()
def candidates(limit):
    return [{"id": e["id"], "memory_type": "episodic", "timestamp": e["timestamp"], "confidence": e["confidence"],
             "context": e["context_json"] if isinstance(e["context_json"], dict) else json.loads(e["context_json"]),
             "pnl_r": e["pnl_r"], "pnl": e["pnl"]} for e in db.query_episodic(symbol="XAUUSD", limit=limit)]
def ask(episode, limit):
    c = episode["context"]
    query = ContextVector(symbol="XAUUSD", regime=c["regime"], atr_d1=c["atr_d1"], session=c["session"])
    return [hit.memory_id for hit in outcome_weighted_recall(query, candidates(limit), None, 10)]
asked = episodes[:: max(1, len(episodes) // 5)][:5]
own, whole, matches = [], [], 0
for episode in asked:
    begun = time.perf_counter(); few = ask(episode, 50); own.append(time.perf_counter() - begun)
    begun = time.perf_counter(); best = ask(episode, len(episodes)); whole.append(time.perf_counter() - begun)
    matches += len(set(few) & set(best))
async def trades():
    for episode in episodes[:writes]:
        await tools.remember_trade("XAUUSD", episode["direction"], episode["entry_price"], episode["exit_price"], episode["pnl"],
                                   episode["strategy"], "bench", pnl_r=episode["pnl_r"],
                                   context_regime=episode["context"]["regime"], context_atr_d1=episode["context"]["atr_d1"],
                                   confidence=episode["confidence"], trade_id=episode["id"], timestamp=when(episode))
begun = time.perf_counter(); asyncio.run(trades()); full = writes / (time.perf_counter() - begun)
print("\n" + json.dumps({"insert": inserted, "own_ms": 1000 * statistics.median(own),
      "whole_ms": 1000 * statistics.median(whole), "recall_at_10": matches / (10 * len(asked)), "remember": full}))
"""


def peer(python: str, episodes: list[dict[str, Any]], folder: Path, mine: dict[str, float]) -> None:
    """Measure the other package in its own interpreter on the same history, and print the ratios."""
    lines, script = folder / "episodes.jsonl", folder / "peer.py"
    lines.write_text("".join(json.dumps(episode) + "\n" for episode in episodes), encoding="utf-8")
    script.write_text(PEER, encoding="utf-8")
    done = subprocess.run(
        [python, str(script), str(lines), str(folder), "200"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
    )
    if done.returncode:
        print(f"the peer could not be measured: {done.stderr.strip().splitlines()[-1:]}")
        return
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    print(f"tradememory-protocol on the same {len(episodes):,} episodes")
    print(
        f"  its recall of 10               {figures['own_ms']:9.1f} ms at recall@10 {figures['recall_at_10']:.3f}"
    )
    print(f"  ranking all it has stored      {figures['whole_ms']:9.1f} ms at recall@10 1.000")
    print(
        f"  at equal recall@10 ours is     {figures['whole_ms'] / mine['warm']:9,.0f} times as fast (warm),"
    )
    print(f"                                 {figures['whole_ms'] / mine['cold']:9,.0f} times cold")
    print(
        f"  its remember_trade, all layers {figures['remember']:9.1f}/s; its bare insert {figures['insert']:,.0f}/s"
    )
    print(f"  ours, everything updated, is   {mine['remember'] / figures['remember']:9,.0f} times as fast")


def main() -> int:
    """Run the measurements and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has tradememory-protocol")
    chosen = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    episodes = history(chosen.episodes)
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(episodes, Path(folder))
        if chosen.peer is None:
            print("tradememory-protocol is not compared: no --peer given")
        else:
            peer(chosen.peer, episodes, Path(folder), mine)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Paths of many positions over many marks: our kernels against pandas, polars and DuckDB, the whole job, in one run.

The job, for every position: the mark as of 9 instants (entry, exit, 7 checkpoints), the PnL at each checkpoint, and the
first best and first worst mark strictly inside. Each engine gets the same data in a process of its own and in its native
form, sorted by instrument and time; "prepare" is that conversion and any other sort the engine demands, and is left out
of the ratios. pandas, polars and DuckDB do what their manuals suggest: an as-of join for the instants, and for the
extremes a loop of slices (pandas, polars) or a range join (DuckDB). Answers are compared: our ties have a tolerance and
may name an earlier mark.

    python benchmarks/trajectory.py                          a twentieth of the bar, under a minute
    python benchmarks/trajectory.py --full                   1M positions x 100M marks x 1,000 instruments
    python benchmarks/trajectory.py --full --instruments 20  the same marks in few, long series
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
Run = tuple[float, float, Numbers, Numbers, Numbers]
"""Seconds to prepare and for the job; PnL at the checkpoints (N, 7); index of the best and of the worst mark (N,)."""
HOUR = 3_600_000_000
OFFSETS = np.array([1, 4, 24, 72, 168, 336, 720], dtype=np.int64) * HOUR
BAR_SECONDS, BAR_BYTES, BAR_RATIO = 8.0, 2e9, 4.0


class World(NamedTuple):
    """Marks (t, x, and `offsets` by instrument) and positions; `ids` numbers the marks' instruments one by one."""

    offsets: Numbers
    t: Numbers
    x: Numbers
    instrument: Numbers
    entry: Numbers
    leave: Numbers
    quantity: Numbers
    price: Numbers

    def ids(self) -> Numbers:
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def world(scale: float, instruments: int) -> World:
    """Marks every five minutes or so, and positions that hold for 5 % of the span on average."""
    rng = np.random.default_rng(20261121)
    count = max(1, round(instruments * scale))
    each, n = round(100_000_000 * scale) // count, round(1_000_000 * scale)
    begin, step = 1_700_000_000_000_000, 300_000_000
    t, x = np.empty(count * each, np.int64), np.empty(count * each)
    for i in range(count):
        part = slice(i * each, (i + 1) * each)
        t[part] = begin + np.arange(each) * step + rng.integers(0, step, each)
        x[part] = 100 * np.exp(0.001 * np.cumsum(rng.standard_normal(each)))
    instrument = rng.integers(0, count, n)
    entry = begin + (rng.random(n) * 0.95 * each * step).astype(np.int64)
    duration = 1 + rng.exponential(0.05 * each * step, n).astype(np.int64)
    leave = np.minimum(entry + duration, begin + each * step)
    quantity = rng.choice([-1.0, 1.0], n) * rng.uniform(0.1, 10, n)
    price = x[instrument * each + (entry - begin) // step]  # the fill: near the mark, known to every engine
    return World(np.arange(count + 1) * each, t, x, instrument, entry, leave, quantity, price)


def run_kernels(w: World, workers: int) -> Run:
    from retro.kernels.series import Marks
    from retro.kernels.trajectory import Positions, trajectories

    positions = Positions.filled(w.instrument, w.entry, w.leave, w.quantity, w.price, np.zeros(len(w.entry)))
    begin = perf_counter()
    with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        got = trajectories(Marks(w.offsets, w.t, w.x), positions, OFFSETS, pool.map if pool else map)
    return 0.0, perf_counter() - begin, got.pnl[:, :-1], got.best_index, got.worst_index


def answers(w: World, prices: Numbers, top: Numbers, bottom: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """PnL at the checkpoints before the exit from prices (9, N) as of entry, exit and checkpoints; best and worst by side."""
    pnl = (w.quantity * (prices[2:] - w.price)).T
    pnl[w.entry[:, None] + OFFSETS >= w.leave[:, None]] = np.nan
    long = w.quantity > 0
    return pnl, np.where(long, top, bottom), np.where(long, bottom, top)


def run_pandas(w: World) -> Run:
    import pandas as pd

    begin = perf_counter()
    marks = pd.DataFrame({"instrument": w.ids(), "t": w.t, "x": w.x})
    by_time = marks.sort_values("t", kind="stable")
    positions = pd.DataFrame({"instrument": w.instrument, "entry": w.entry, "exit": w.leave})
    prepared = perf_counter()
    keys = [positions.entry, positions.exit, *(positions.entry + o for o in OFFSETS)]
    lookups = pd.concat(
        [pd.DataFrame({"instrument": positions.instrument, "t": k}) for k in keys], ignore_index=True
    )
    lookups["row"] = np.arange(len(lookups))
    joined = pd.merge_asof(lookups.sort_values("t"), by_time, on="t", by="instrument")
    prices = joined.sort_values("row")["x"].to_numpy().reshape(9, -1)
    top, bottom = np.full(len(positions), -1), np.full(len(positions), -1)
    series = dict(tuple(marks.groupby("instrument")))
    for which, group in positions.groupby("instrument"):
        times, values = series[which]["t"].to_numpy(), series[which]["x"].to_numpy()
        lo, hi = times.searchsorted(group.entry, side="right"), times.searchsorted(group.exit, side="left")
        for row, a, b in zip(group.index, lo, hi, strict=True):
            if b > a:
                begins = w.offsets[which] + a
                top[row], bottom[row] = begins + values[a:b].argmax(), begins + values[a:b].argmin()
    return prepared - begin, perf_counter() - prepared, *answers(w, prices, top, bottom)


def run_polars(w: World) -> Run:
    import polars as pl

    begin = perf_counter()
    marks = pl.DataFrame({"instrument": w.ids(), "t": w.t, "x": w.x})
    positions = pl.DataFrame({"instrument": w.instrument, "entry": w.entry, "exit": w.leave}).with_row_index(
        "row"
    )
    prepared = perf_counter()
    keys = [pl.col("entry"), pl.col("exit"), *(pl.col("entry") + int(o) for o in OFFSETS)]
    lookups = pl.concat(
        positions.select("row", "instrument", k.alias("t"), pl.lit(j).alias("key"))
        for j, k in enumerate(keys)
    ).sort("instrument", "t")
    joined = lookups.join_asof(marks, on="t", by="instrument", check_sortedness=False)
    prices = joined.sort("key", "row")["x"].to_numpy().reshape(9, -1)
    top, bottom = np.full(len(positions), -1), np.full(len(positions), -1)
    for (which,), group in positions.partition_by("instrument", as_dict=True).items():
        series = marks.slice(w.offsets[which], w.offsets[which + 1] - w.offsets[which])
        lo = series["t"].search_sorted(group["entry"], side="right")
        hi = series["t"].search_sorted(group["exit"], side="left")
        for row, a, b in zip(group["row"], lo, hi, strict=True):
            if b > a:
                part, begins = series["x"].slice(a, b - a), w.offsets[which] + a
                top[row], bottom[row] = begins + part.arg_max(), begins + part.arg_min()
    return prepared - begin, perf_counter() - prepared, *answers(w, prices, top, bottom)


def run_duckdb(w: World) -> Run:
    import duckdb
    import polars as pl

    begin = perf_counter()
    mark_frame = pl.DataFrame({"instrument": w.ids(), "t": w.t, "x": w.x}).with_row_index("i")
    position_frame = pl.DataFrame(
        {"instrument": w.instrument, "entry": w.entry, "exit": w.leave}
    ).with_row_index("row")
    db = duckdb.connect()
    db.execute("create table marks as select * from mark_frame")
    db.execute("create table positions as select * from position_frame")
    del mark_frame, position_frame
    prepared = perf_counter()
    keys = enumerate(["entry", "exit", *(f"entry + {o}" for o in OFFSETS)])
    lookups = " union all ".join(
        f"select row, instrument, {key} as t, {j} as key from positions" for j, key in keys
    )
    columns = db.execute(f"""
        select m.x from ({lookups}) k asof left join marks m on k.instrument = m.instrument and k.t >= m.t
        order by k.key, k.row""").fetchnumpy()
    extremes = db.execute("""
        select p.row, arg_max(m.i, m.x) as top, arg_min(m.i, m.x) as bottom
        from positions p join marks m on m.instrument = p.instrument and m.t > p.entry and m.t < p.exit
        group by p.row""").fetchnumpy()
    prices = np.ma.filled(columns["x"], np.nan).reshape(9, -1)
    top, bottom = np.full(len(w.entry), -1), np.full(len(w.entry), -1)
    top[extremes["row"]], bottom[extremes["row"]] = extremes["top"], extremes["bottom"]
    return prepared - begin, perf_counter() - prepared, *answers(w, prices, top, bottom)


RUN = {
    "kernels": lambda w: run_kernels(w, 2),
    "kernels, one thread": lambda w: run_kernels(w, 1),
    "pandas": run_pandas,
    "polars": run_polars,
    "duckdb": run_duckdb,
}


def child(engine: str, scale: float, instruments: int, folder: str) -> None:
    """One engine alone in this process: its figures on stdout, its answers in the folder."""
    prepare, job, pnl, best, worst = RUN[engine](world(scale, instruments))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    np.savez(Path(folder) / f"{engine}.npz", pnl=pnl, best=best, worst=worst)
    print(json.dumps({"prepare": prepare, "job": job, "peak": peak}))


def measure(engine: str, scale: float, instruments: int, folder: str) -> dict[str, float]:
    size = ["--scale", str(scale), "--instruments", str(instruments)]
    words = [sys.executable, __file__, "--child", engine, "--folder", folder, *size]
    figures: dict[str, float] = json.loads(
        subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return figures


def differences(folder: str, engine: str) -> tuple[float, int]:
    """Largest difference of a PnL from ours, and in how many positions best or worst is another mark."""
    ours, theirs = np.load(Path(folder) / "kernels.npz"), np.load(Path(folder) / f"{engine}.npz")
    both = ~np.isnan(ours["pnl"]) & ~np.isnan(theirs["pnl"])
    other = (ours["best"] != theirs["best"]) | (ours["worst"] != theirs["worst"])
    return float(np.abs(ours["pnl"][both] - theirs["pnl"][both]).max(initial=0.0)), int(other.sum())


def report(scale: float, instruments: int, engines: list[str]) -> None:
    sizes = round(1_000_000 * scale), round(100_000_000 * scale), max(1, round(instruments * scale))
    print("{:,} positions x {:,} marks x {:,} instruments".format(*sizes))
    print(f"{'':20}{'prepare s':>10}{'job s':>9}{'peak GB':>9}{'ratio':>8}   answers against ours")
    with tempfile.TemporaryDirectory() as folder:
        ours = measure("kernels", scale, instruments, folder)
        for engine in engines:
            got = ours if engine == "kernels" else measure(engine, scale, instruments, folder)
            pnl, other = differences(folder, engine)
            figures = f"{got['prepare']:10.2f}{got['job']:9.2f}{got['peak'] / 1e9:9.2f}{got['job'] / ours['job']:7.1f}x"
            print(f"{engine:20}{figures}   pnl within {pnl:.0e}, {other} other marks", flush=True)
    print(
        f"the bar, at --full: under {BAR_SECONDS:g} s and {BAR_BYTES / 1e9:g} GB, the others {BAR_RATIO:g}x or more"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=0.05, help="share of the bar's size (default 0.05)")
    parser.add_argument("--full", action="store_true", help="the bar itself: scale 1")
    parser.add_argument("--instruments", type=int, default=1000, help="instruments at scale 1 (default 1000)")
    parser.add_argument(
        "--engines", nargs="+", choices=RUN, default=list(RUN), metavar="ENGINE", help="only these"
    )
    parser.add_argument("--child", choices=RUN, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    scale = 1.0 if options.full else options.scale
    if options.child:
        child(options.child, scale, options.instruments, options.folder)
    else:
        report(scale, options.instruments, options.engines)


if __name__ == "__main__":
    main()

"""Does twice as much cost twice as much? Each family of lives at n, 2n and 4n, in CPU seconds of whole processes.

    python -m benchmarks.growth [--families tags,closes] [--commands ingest,weekly] [--scale 1] [--rounds 2]

For each family (benchmarks/families.py) and each command, the CPU time and the peak memory of a fresh `retro` process at
each size, and the growth per doubling of what lies above the same command on a life of size 1. Linear work prints 2.0. A
growth above 2.3 by more than a tenth of what the larger process costs is a fault: the table marks it and the exit is 1. The
tenth is what CPU seconds of one process move by on a busy machine; a suspicious row is measured again, larger, before it
is believed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.families import FAMILIES

DOUBLINGS = 3
BAR = 2.3
NOISE = 0.1
"""The share of a process's CPU seconds by which two measurements of it may differ."""
FORMATS = ("text", "json", "md", "html")
COMMANDS: dict[str, tuple[str, ...]] = {
    "ingest": (),
    **{f"weekly {form}": ("review", "weekly", "--format", form) for form in FORMATS},
    "audit": ("playbook", "audit", "--json"),
    "positions": ("positions", "--format", "csv"),
    "run": ("run", "--once"),
    "recall": ("recall", "--agent", "bench", "--context", '{"regime":"calm"}', "--json"),
}
"""What is measured of each life, in this order on one database."""


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """CPU seconds (user and system, children of it too) and the largest resident memory, MB."""

    cpu: float
    memory: float


def cost(folder: Path, *words: str) -> ProcessCost:
    """What one `retro` process costs; its standard error is printed if it fails."""
    errors = folder / "errors.txt"
    command = [sys.executable, "-m", "retro", "-q", "--config", str(folder / "config.toml"), *words]
    with errors.open("wb") as sink, open(os.devnull, "wb") as nothing:
        pid = os.posix_spawn(
            sys.executable,
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, sink.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(words)}: {errors.read_text()[-2000:]}")
    return ProcessCost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def costs(family: str, size: int, commands: list[str]) -> dict[str, ProcessCost]:
    """Every command's cost over a new life of this size."""
    life = FAMILIES[family][0](size)
    measured = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = '[store]\nurl = "life.db"\n'
        (folder / "config.toml").write_text(settings)
        readings = [cost(folder, "ingest", *words) for words in life.write(folder)]
        measured["ingest"] = ProcessCost(sum(r.cpu for r in readings), max(r.memory for r in readings))
        for command, words in COMMANDS.items():
            if words and command in commands:
                measured[command] = cost(folder, *words)
    return {command: measured[command] for command in commands}


def least(rounds: list[dict[str, ProcessCost]], command: str) -> ProcessCost:
    return min((measured[command] for measured in rounds), key=lambda each: each.cpu)


def main() -> int:
    """Print the table; 1 if a command grows faster than its family."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--scale", type=float, default=1, help="times the usual sizes")
    parser.add_argument("--rounds", type=int, default=1, help="the least of so many measurements")
    options = parser.parse_args()
    asked = options.commands.split(",")
    commands = [name for name in COMMANDS if any(name.startswith(word) for word in asked)]
    print(f"{'family':12}{'command':14}{'n':>8}   CPU s at n, 2n, 4n     growth       peak MB at 4n")
    faults = 0
    for family in options.families.split(","):
        first = max(1, int(FAMILIES[family][1] * options.scale))
        sizes = [first * 2**k for k in range(DOUBLINGS)]
        smallest = costs(family, 1, commands)
        rounds = {size: [costs(family, size, commands) for _ in range(options.rounds)] for size in sizes}
        for command in commands:
            row = [least(rounds[size], command) for size in sizes]
            above = [max(each.cpu - smallest[command].cpu, 0.01) for each in row]
            growth = [later / earlier for earlier, later in pairwise(above)]
            excess = [later - BAR * earlier for earlier, later in pairwise(above)]
            fault = any(too_much > NOISE * each.cpu for too_much, each in zip(excess, row[1:], strict=True))
            faults += fault
            seconds = "".join(f"{each.cpu:8.2f}" for each in row)
            ratios = "".join(f"{ratio:6.2f}" for ratio in growth)
            mark = "  FAULT" if fault else ""
            print(
                f"{family:12}{command:14}{first:8,}{seconds}  {ratios}{row[-1].memory:14.0f}{mark}",
                flush=True,
            )
    print(f"\n{faults} above {BAR}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

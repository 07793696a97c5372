"""Does twice as much cost twice as much? Each family of lives at n, 2n and 4n, in CPU seconds of whole processes.

    python -m benchmarks.growth [--families tags,closes] [--commands ingest,weekly] [--scale 1] [--rounds 2]

For each family (benchmarks/families.py) and each command, the CPU time and the peak memory of a fresh `retro` process at
each size, and the growth per doubling of what lies above the same command on a life of size 1. Linear work prints 2.0. A
growth above 2.3 by more than a tenth of what the larger process costs is a fault: the table marks it and the exit is 1. The
tenth is what CPU seconds of one process move by on a busy machine; a suspicious row is measured again, twice at most,
before it is believed.
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
AGAIN = 2
"""How often a suspicious row is measured again."""
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


@dataclass(slots=True)
class Family:
    """What was measured of a family: the least cost of each command at size 1 and at each of its sizes."""

    name: str
    sizes: list[int]
    least: dict[tuple[int, str], ProcessCost]

    def measure(self, commands: list[str]) -> None:
        """Measure these commands once more, at every size."""
        for size in (1, *self.sizes):
            for command, cost in costs(self.name, size, commands).items():
                before = self.least.get((size, command), cost)
                self.least[size, command] = min(before, cost, key=lambda each: each.cpu)

    def above(self, command: str) -> list[float]:
        """CPU seconds above the same command on a life of size 1, at each size."""
        smallest = self.least[1, command].cpu
        return [max(self.least[size, command].cpu - smallest, 0.01) for size in self.sizes]

    def is_fault(self, command: str) -> bool:
        """Whether a doubling costs more than the bar, by more than two measurements may differ."""
        above = self.above(command)
        return any(
            later - BAR * earlier > NOISE * self.least[size, command].cpu
            for (earlier, later), size in zip(pairwise(above), self.sizes[1:], strict=True)
        )


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
    for name in options.families.split(","):
        first = max(1, int(FAMILIES[name][1] * options.scale))
        family = Family(name, [first * 2**k for k in range(DOUBLINGS)], {})
        for _ in range(options.rounds):
            family.measure(commands)
        for command in commands:
            for _ in range(AGAIN):
                if family.is_fault(command):
                    family.measure([command])
            fault = family.is_fault(command)
            faults += fault
            seconds = "".join(f"{family.least[size, command].cpu:8.2f}" for size in family.sizes)
            ratios = "".join(f"{later / earlier:6.2f}" for earlier, later in pairwise(family.above(command)))
            memory = family.least[family.sizes[-1], command].memory
            mark = "  FAULT" if fault else ""
            print(f"{name:12}{command:14}{first:8,}{seconds}  {ratios}{memory:14.0f}{mark}", flush=True)
    print(f"\n{faults} above {BAR}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

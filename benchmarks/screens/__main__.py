"""What the screens cost beside what one would use without them, and what they cost the service that writes meanwhile.

    python -m benchmarks.screens [--positions 100000] [--readers 50] [--seconds 10] [--database postgresql://user@host/empty]

A real `retro web` over a life of so many positions. Without it an owner would open pages that were printed to files
(`--format html`, served by Python's own file server), load the whole list into a spreadsheet (every row, sorted by its
regret), or have the command print what the terminal shows: times are ratios to these, of one run. Bars are the design's
bytes, milliseconds a page, a page of a list at its far end beside its first, a commit of the service that waits at most
100 ms while everybody reads, and a ninth window beside eight that listen. What a commit waits is told beside a control:
the same readers at another database, so that the rest of its wait is what reading this one causes. Run it on a quiet
machine: a page's milliseconds are those of the clock.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.screens.commits import compare_commits
from benchmarks.screens.house import House, built, serving
from benchmarks.screens.pages import compare_lists, compare_pages, compare_windows
from benchmarks.screens.terminals import compare_terminals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.screens.house import Bar


def main() -> int:
    """Print the tables; 1 where a bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--port", type=int, default=8690)
    parser.add_argument("--database", help="an empty PostgreSQL; without it a SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        print(f"{os.cpu_count()} cores; so many had work in the last minute: {os.getloadavg()[0]:.1f}")
        folder = Path(place)
        as_installed(folder)
        url = options.database or str(folder / "mirror.db")
        built(folder, url, options.positions)
        other = elsewhere(folder, url, options.positions)
        bars = []
        with (
            served(folder, url, options.port) as house,
            served(other, "mirror.db", options.port + 2) as control,
        ):
            bars += compare_pages(house, options.positions)
            bars += compare_lists(house, options.positions)
            bars += compare_commits(house, control, options.readers, options.seconds)
            bars += compare_windows(house, 3.0)
        bars += compare_terminals(house)
    return told(bars)


def as_installed(folder: Path) -> None:
    """Have the processes that we start find their modules compiled, as pip leaves them."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")


def elsewhere(folder: Path, url: str, positions: int) -> Path:
    """A folder with a database of its own that holds the same."""
    other = folder / "elsewhere"
    other.mkdir()
    if Path(url).is_file():
        shutil.copy(url, other / "mirror.db")
    else:
        built(other, str(other / "mirror.db"), positions)
    return other


@contextlib.contextmanager
def served(folder: Path, url: str, port: int) -> Iterator[House]:
    """`retro web` over a database."""
    words = [sys.executable, "-m", "retro", "--db", url, "web", "--no-open", "--port", str(port)]
    with serving(words, port, folder) as (first, process):
        print(f"first answer after {first:.2f} s")
        yield House(folder, url, port, (folder / "web.key").read_text().strip(), process)


def told(bars: list[Bar]) -> int:
    """Print what was measured beside what it may be; 1 where a bar is not met."""
    print(f"\n{'bar':44}{'measured':>10}{'at most':>10}")
    for bar in bars:
        verdict = "met" if bar.measured <= bar.most else "NOT MET"
        print(f"{bar.what:44}{bar.measured:10.1f}{bar.most:10.1f} {bar.unit:6}{verdict}")
    return int(any(bar.measured > bar.most for bar in bars))


if __name__ == "__main__":
    sys.exit(main())

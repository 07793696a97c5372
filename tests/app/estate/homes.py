"""Agents with everything an agent can have, made by the service itself: facts, reviews, files, memory, records, letters."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import time_machine
from sqlalchemy import inspect, select

from retro.app.estate.folders import EstateFolders
from retro.periods import DAY, SECOND
from retro.store.database import Store, open_store
from retro.store.jobs.tables import documents, reviews
from retro.surface.cli.main import run
from tests.worlds.service_world import MONDAY, life, line, lines_of

OWNER = """
[owner]
time_zone = "Europe/Berlin"
base_currency = "USDC"

[memory]
directory = "memory_data"

[[source]]
kind = "journal"
path = "{journal}"

[store]
reviews = "reviews"
"""


def told(agent: str, days: int = 8, start: int = MONDAY) -> list[dict[str, Any]]:
    """A life with a gas cost and a bad line's worth of everything: ids are the agent's own."""
    events = [
        {**event, **{key: f"{agent}-{event[key]}" for key in ("id", "position") if key in event}}
        for event in life(days, agent, start)
    ]
    return [*events, line("cost", f"{agent}-gas", start + 1, agent, kind="gas", amount=1.5)]


class Home:
    """A folder with a configuration, a journal and a database; `do` runs a command of the command line on them."""

    def __init__(self, folder: Path, url: str | None = None, journal: str = "journal.jsonl") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.url = url or str(folder / "retro.db")
        self.config = folder / "config.toml"
        self.journal = folder / journal
        self.config.write_text(OWNER.format(journal=journal))
        self.journal.touch()

    def tell(self, *agents: str, days: int = 8) -> None:
        """Append lives to the journal."""
        with self.journal.open("ab") as file:
            for agent in agents:
                file.write(lines_of(told(agent, days)))

    def shared_marks(self, instrument: str = "BTC/USDC", price: float = 60_000) -> Path:
        """A file of candles that several agents may share."""
        path = self.folder / "shared.csv"
        rows = [
            f"2026-03-{day:02}T{hour:02}:00:00Z,{price + hour}" for day in range(1, 12) for hour in (0, 12)
        ]
        path.write_text("timestamp,price\n" + "\n".join(rows) + "\n")
        assert self.do("ingest", "marks", path, "--instrument", instrument) == 0
        return path

    def remember(self, agent: str, name: str) -> None:
        """Tell the memory of an episode by hand."""
        episode = {
            "id": name,
            "agent": agent,
            "at": "2026-03-02T14:00:00Z",
            "pnl_r": -1,
            "context": {"regime": "x"},
        }
        path = self.folder / f"{name}.episodes"
        path.write_text(json.dumps(episode) + "\n")
        assert self.do("remember", path) == 0
        path.unlink()

    def do(self, *words: str | Path) -> int:
        """Run a command on the day after the lives that are told here; its exit code."""
        with time_machine.travel((MONDAY + 10 * DAY) / SECOND, tick=True):
            return run(["--config", str(self.config), "--db", self.url, "-q", *map(str, words)])

    @property
    def folders(self) -> EstateFolders:
        return EstateFolders(
            self.folder / "reviews", self.folder / "memory_data", Path(self.url).parent / "playbook"
        )

    def store(self) -> Store:
        return open_store(self.url)

    def documents(self) -> dict[tuple[str, int], str | None]:
        """(review id, revision) -> the text as it is stored."""
        opened = self.store()
        with opened.read() as conn:
            query = select(reviews.c.id, documents.c.revision, documents.c.document)
            rows = conn.execute(query.join(reviews, reviews.c.key == documents.c.review)).all()
        opened.close()
        return {(id_, revision): text for id_, revision, text in rows}

    def files(self) -> dict[str, bytes]:
        """Every file that is not the database, the journal or the configuration, by its path."""
        own = {
            "retro.db",
            "retro.db.lock",
            "retro.db-journal",
            "config.toml",
            self.journal.name,
            "shared.csv",
        }
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name not in own and path.name != ".records.lock"
        }


class SavedHome:
    """A home that was made once, on SQLite, and is put back as it was: at its own path, by which its sources are known."""

    def __init__(self, home: Home) -> None:
        self._home, self._copy = home, home.folder.with_name("saved")
        shutil.copytree(home.folder, self._copy)

    def restored(self) -> Home:
        shutil.rmtree(self._home.folder)
        shutil.copytree(self._copy, self._home.folder)
        return self._home


def texts(store: Store) -> Iterator[tuple[str, str, str]]:
    """(table, column, value) of every text, number and blob of every table there is, whoever added the table."""
    with store.read() as conn:
        for table in sorted(inspect(conn).get_table_names()):
            rows = conn.exec_driver_sql(f'SELECT * FROM "{table}"')
            columns = [*rows.keys()]
            for row in rows:
                for column, value in zip(columns, row, strict=True):
                    if value is not None:
                        yield (
                            table,
                            column,
                            value.decode("latin-1") if isinstance(value, bytes) else str(value),
                        )


__all__ = ["Home", "SavedHome", "texts", "told"]

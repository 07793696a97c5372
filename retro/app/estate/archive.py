"""An agent as a folder of JSON Lines that any database of ours takes in again, to the byte (docs/operating.md).

No secret and nobody's address goes out: letters stay, and a line that holds the value of a secret is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack, contextmanager
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from memory.records import records_of_agent
from retro.accounting.currencies import DOLLARS
from retro.accounting.prices import base_and_quote
from retro.app.estate.census import known_name
from retro.app.estate.folders import run_errands
from retro.app.estate.manifest import MANIFEST, AgentFacts, ExportFile, Manifest, digest_of_file
from retro.app.settlement.price_lines import symbols_of
from retro.app.settlement.settings import base_currency_of
from retro.errors import RetroError, UsageError
from retro.model import Decision
from retro.periods import DAY
from retro.secret import redact
from retro.store.estate.rows import KeyMap, exported, portable, series_keys
from retro.store.facts import agents, events, faults, marks
from retro.store.migrations.runner import versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from retro.app.estate.folders import EstateFolders
    from retro.config import Config
    from retro.secret import Secret
    from retro.store.database import Store
    from retro.store.facts.blocks import MarkColumns

__all__ = ["EXPERIMENTS", "FAULTS", "HYPOTHESES", "MARKS", "SERIES", "export_agent", "row_file"]

MARKS: Final = "marks.jsonl"
SERIES: Final = "series.jsonl"
FAULTS: Final = "faults.jsonl"
HYPOTHESES: Final = "records/hypotheses.jsonl"
EXPERIMENTS: Final = "records/experiments"
_LOOK_BACK: Final = 10 * DAY
"""Shared marks from so long before the first event on: what a position may begin with."""


def row_file(table: str) -> str:
    """The file of a table's rows."""
    return f"rows/{table}.jsonl"


def export_agent(
    store: Store,
    config: Config,
    folders: EstateFolders,
    name: str,
    target: Path,
    secrets: Iterable[Secret] = (),
) -> Manifest:
    """Write an agent into a folder that is not there yet, whole or not at all; as of one state of the database."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already; name a folder that is not")
    run_errands(store, folders)
    beside = target.with_name(f".{target.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        with _private():
            beside.mkdir(parents=True)
            with store.read() as conn:
                known_name(conn, name)
                manifest = _written(conn, config, folders, name, _Lines(beside, tuple(secrets)))
            _flush(beside / MANIFEST, manifest.text())
        if target.is_dir():
            target.rmdir()
        beside.rename(target)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise RetroError(f"{target} cannot be written: {error.strerror or error}{where}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return manifest


@contextmanager
def _private() -> Iterator[None]:
    """What an agent did is for its owner's eyes: the folder and its files are for nobody else."""
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


def _flush(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


class _Lines:
    """Files of JSON Lines in a folder, none of which holds a secret."""

    def __init__(self, folder: Path, secrets: tuple[Secret, ...]) -> None:
        self._folder = folder
        self._secrets = secrets
        self.files: dict[str, ExportFile] = {}

    def write(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a file; none where there are no rows."""
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        self.write_texts(name, lines)

    def write_texts(self, name: str, texts: Iterable[str]) -> None:
        """Write a file of these texts; none where there are none."""
        path, count = self._folder / name, 0
        with ExitStack() as stack:
            for number, text in enumerate(texts, 1):
                if self._secrets and redact(text, self._secrets) != redact(text):
                    raise RetroError(
                        f"{name} line {number} would hold the value of a secret that is set here: nothing is exported;"
                        " change that secret, and correct the event that tells it"
                    )
                if not count:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    file = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
                file.write(text)
                count += text.count("\n")
            if count:
                file.flush()
                os.fsync(file.fileno())
        if count:
            self.files[name] = ExportFile(*digest_of_file(path), count)


def _written(conn: Connection, config: Config, folders: EstateFolders, name: str, lines: _Lines) -> Manifest:
    agent = agents.agent(conn, name)
    if agent is None:
        raise UsageError(
            f"{name} has a memory and no facts: `retro recall` and its episodes are all there is of it"
        )
    own = series_keys(conn, name)
    lines.write(SERIES, [{"key": n, "instrument": instrument} for n, instrument in enumerate(own, 1)])
    keys: KeyMap = {("mark_series", key): number for number, key in enumerate(own.values(), 1)}
    for holding in portable():
        lines.write(row_file(holding.table.name), exported(conn, holding, name, keys))
    shared = _shared_instruments(conn, name, base_currency_of(config, agent))
    since = None if agent.first_at is None else agent.first_at - _LOOK_BACK
    lines.write(
        MARKS,
        (
            row
            for owner, instruments, start in ((name, own, None), (None, shared, since))
            for instrument in instruments
            for row in _mark_rows(conn, owner, instrument, start)
        ),
    )
    lines.write(FAULTS, (row._asdict() for row in faults.of_agent(conn, name)))
    records = records_of_agent(name, folders.records)
    for identity, text in sorted(records.experiments.items()):
        lines.write_texts(f"{EXPERIMENTS}/{identity}.yaml", [text])
    lines.write(HYPOTHESES, records.hypotheses)
    grid = agent.grid
    facts = AgentFacts(
        agent.first_at,
        agent.last_at,
        agent.as_of,
        None if agent.capital is None else str(agent.capital),
        agent.base_currency,
        agent.events,
        agent.origin,
        *(
            (None, None, 1, 1, None)
            if grid is None
            else (grid.time_zone, grid.epoch_days, grid.days, grid.epochs, grid.since)
        ),
    )
    return Manifest(name, versions(conn), facts, lines.files)


def _mark_rows(
    conn: Connection, owner: str | None, instrument: str, since: int | None
) -> Iterator[dict[str, Any]]:
    """A row a UTC day: instants in microseconds, prices; lows and highs where any is known."""
    for day in marks.by_day(conn, owner, instrument, since):
        yield {"shared": owner is None, "instrument": instrument, **_columns(day)}


def _columns(day: MarkColumns) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"t": day.t.tolist(), "price": day.price.tolist()}
    for side, values in (("low", day.low.tolist()), ("high", day.high.tolist())):
        if not all(map(isnan, values)):
            columns[side] = [None if isnan(value) else value for value in values]
    return columns


def _shared_instruments(conn: Connection, name: str, base_currency: str) -> list[str]:
    """The shared series that may price anything of this agent: those of what its facts name, in whatever quote."""
    named = {base_currency, *DOLLARS}
    for fact in events.every(conn, name):
        symbols = symbols_of(fact)
        if isinstance(fact, Decision) and fact.instrument:
            symbols = [fact.instrument]
        for symbol in symbols:
            named.update(part for part in base_and_quote(symbol) if part)
    return [
        instrument for instrument in marks.instruments(conn, None) if base_and_quote(instrument)[0] in named
    ]

"""Taking in an exported agent: verified, checked line by line, in one transaction; what was written stays as it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from math import nan
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy.exc import IntegrityError

from memory.errors import ExperienceError
from memory.records import import_copies
from retro.app.estate.archive import EXPERIMENTS, FAULTS, HYPOTHESES, MARKS, SERIES, row_file
from retro.app.estate.folders import run_errands
from retro.app.estate.manifest import read_manifest
from retro.errors import InputError, RetroError, UsageError
from retro.journal.values import AGENT_NAME
from retro.model import Fault, MarkSeries, decode
from retro.periods import zone
from retro.report.document import read
from retro.store.estate.holdings import has_rows
from retro.store.estate.rows import KeyMap, imported, portable, series_keys
from retro.store.facts import agents, faults, marks
from retro.store.facts.agents import Grid
from retro.store.facts.damage import UNREADABLE
from retro.store.facts.departures import departure_of
from retro.store.locks import lock_estate
from retro.store.migrations.runner import versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from retro.app.estate.folders import EstateFolders
    from retro.app.estate.manifest import AgentFacts, Manifest
    from retro.store.database import Store

__all__ = ["Arrival", "import_agent"]

_DAYS: Final = 32
"""Days of marks that are stored at once."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An agent that was taken in: how many rows of which table, and marks that all agents share and that were new."""

    agent: str
    rows: dict[str, int]
    shared_marks: int


def import_agent(store: Store, folders: EstateFolders, source: Path) -> Arrival:
    """Take in the agent of a folder, all of it or nothing.

    `InputError` for what is not as it was exported or contradicts what is known of shared marks, `UsageError` for an
    agent that is there already.
    """
    run_errands(store, folders)
    with store.read() as conn:
        schema = versions(conn)
    manifest = read_manifest(source, schema)
    with store.write() as conn:
        arrival = _take_in(conn, source, manifest)
        # last, and before the transaction: what cannot be written as files takes the rows back with it
        _take_in_records(folders, source, manifest)
    return arrival


def _take_in(conn: Connection, source: Path, manifest: Manifest) -> Arrival:
    name = manifest.agent
    if not AGENT_NAME.fullmatch(name):
        raise InputError(f"{source}: the agent's name {name[:80]!r} is not 1 to 64 of A-Z a-z 0-9 . _ -")
    lock_estate(conn)
    if has_rows(conn, name):
        raise UsageError(
            f"there is an agent {name!r} already; forget or rename it, or import into another database"
        )
    if departure_of(conn, name) is not None:
        raise UsageError(
            f"{name!r} was forgotten or renamed here; `retro agents forget {name} --undo` frees a forgotten name"
        )
    agents.key_of(conn, name)
    shared = _take_in_marks(conn, source, manifest)
    here = series_keys(conn, name)
    keys: KeyMap = {
        ("mark_series", row["key"]): here[row["instrument"]] for row in _rows(source, manifest, SERIES)
    }
    sizes = {}
    for holding in portable():
        table = holding.table.name
        rows = _checked(source, manifest, row_file(table), table)
        try:
            if size := imported(conn, holding, name, rows, keys):
                sizes[table] = size
        except (LookupError, TypeError, ValueError, ArithmeticError, IntegrityError) as error:
            reason = getattr(error, "orig", None) or error
            raise InputError(f"{source / row_file(table)}: a row cannot be taken in: {reason}") from error
    for row in _rows(source, manifest, FAULTS):
        faults.add(conn, row["source"], [Fault(row["place"], row["line"], row["reason"], row["agent"])])
    _settle(conn, name, manifest.facts)
    return Arrival(name, sizes, shared)


def _settle(conn: Connection, name: str, facts: AgentFacts) -> None:
    """The row of the agent as it was; what follows from the facts is settled by whoever asks first."""
    capital = None if facts.capital is None else Decimal(facts.capital)
    agents.restate(
        conn,
        agents.Agent(
            name,
            facts.first_at,
            facts.last_at,
            facts.as_of,
            capital,
            facts.base_currency,
            facts.events,
            facts.origin,
        ),
    )
    if facts.time_zone is not None and facts.epoch_days is not None:
        zone(facts.time_zone)
        grid = Grid(facts.time_zone, facts.epoch_days, facts.day_grid, facts.epoch_grid, facts.grid_since)
        agents.choose_grid(conn, name, grid)


def _rows(source: Path, manifest: Manifest, name: str) -> Iterator[dict[str, Any]]:
    """The lines of a file as objects; none where the export has no such file."""
    if name not in manifest.files:
        return
    with (source / name).open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(f"{source / name} line {number}: {error}") from error
            if not isinstance(row, dict):
                raise InputError(f"{source / name} line {number}: is no JSON object")
            yield row


def _checked(source: Path, manifest: Manifest, name: str, table: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a table, each event and finished review read as whoever asks for it will."""
    kinds: dict[int, str] = {}
    if table == "review_documents":
        kinds = {row["key"]: row["kind"] for row in _rows(source, manifest, row_file("reviews"))}
    for number, row in enumerate(_rows(source, manifest, name), 1):
        try:
            if table == "events":
                fact = decode(row["body"], row["at"])
                if fact.__struct_config__.tag != row["type"]:
                    raise ValueError(f"is no {row['type']}")
            elif table == "review_documents" and row.get("document") is not None:
                read(row["document"], kinds[row["review"]])
        except (*UNREADABLE, RetroError) as error:
            raise InputError(f"{source / name} line {number}: cannot be read: {error}") from error
        yield row


def _take_in_marks(conn: Connection, source: Path, manifest: Manifest) -> int:
    """Tell the marks; `InputError` where a shared one is known here as another. How many shared ones were new."""
    stored = 0
    rows = _rows(source, manifest, MARKS)
    for (is_shared, instrument), days in groupby(rows, key=itemgetter("shared", "instrument")):
        owner = None if is_shared else manifest.agent
        while chunk := [row for _, row in zip(range(_DAYS), days, strict=False)]:
            series = _series(owner, instrument, chunk)
            added = marks.add(conn, series, where=str(source))
            if added.conflicts:
                raise InputError(
                    f"{source / MARKS}: a shared mark is known here otherwise: {added.conflicts[0].reason};"
                    " reviews would differ, so nothing was imported"
                )
            stored += added.stored if is_shared else 0
    return stored


def _series(owner: str | None, instrument: str, days: list[dict[str, Any]]) -> MarkSeries:
    def column(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        values = [value for day in days for value in day.get(name) or [None] * len(day["t"])]
        return np.array([nan if value is None else value for value in values], np.float64)

    instants = np.array([at for day in days for at in day["t"]], np.int64)
    return MarkSeries(owner, instrument, instants, column("price"), column("low"), column("high"))


def _take_in_records(folders: EstateFolders, source: Path, manifest: Manifest) -> None:
    texts = {
        name.removeprefix(f"{EXPERIMENTS}/").removesuffix(".yaml"): (source / name).read_text(
            encoding="utf-8"
        )
        for name in manifest.files
        if name.startswith(f"{EXPERIMENTS}/")
    }
    try:
        import_copies(texts, list(_rows(source, manifest, HYPOTHESES)), folders.records)
    except (ExperienceError, OSError) as error:
        raise RetroError(
            f"the records cannot be written to {folders.records}: {error}; nothing was imported"
        ) from error

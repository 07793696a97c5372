"""nofx, an LLM trader: its decision logs and its database, as facts.

A log is a folder `decision_logs/<trader>/` of files `decision_<time>_cycle<n>.json`, or the same records as lines of
one .jsonl file. Cycle numbers start again with each start of the program and name nothing: records are told apart by
the time they were written. The database is read by `database`.

Sources: logger/decision_logger.go and store/*.go of NoFxAiOS/nofx; 916 records of one account (research, section 1.1).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.nofx import database
from retro.ingest.nofx.cycles import Follower
from retro.ingest.nofx.names import agent_name, venue_of
from retro.ingest.nofx.record import RecordError, cycle_of
from retro.ingest.sample import sample_of
from retro.ingest.source import SQLITE, magic, open_source, read_lines
from retro.journal import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.nofx.record import Cycle
    from retro.ingest.sample import SourceSample
    from retro.model import Batch

__all__ = ["read", "sniff"]

_LOOKED_AT: Final = 200
"""Records without a readable one among them: this is no decision log."""
_FILE: Final = re.compile(r"decision_\d{8}_\d{6}_cycle\d+\.json")
_TRADER: Final = re.compile(r"[a-z]+_.+_\d{10}")
_MARKS: Final = ('"cycle_number"', '"decision_json"', '"account_state"')


@dataclass(frozen=True, slots=True)
class _Log:
    """The records of one trader: files of one record each in the order of their names, or one file of lines."""

    name: str
    files: tuple[Path, ...]
    lines: bool


def sniff(sample: SourceSample) -> str | None:
    """Why this is nofx's, in a few words; None where it is not."""
    if sample.is_folder:
        if any(_FILE.fullmatch(name) for name in sample.names):
            return "a folder of decision_..._cycleN.json files, as nofx writes them"
        if any(_TRADER.fullmatch(name) for name in sample.names):
            return "a folder of traders named exchange_model_time, as nofx names its decision logs"
        return None
    if (
        "decision_records" in sample.tables
        and {"trader_fills", "trader_equity_snapshots"} & sample.tables.keys()
    ):
        return "a database with decision_records and trader tables, as nofx keeps it"
    if sample.text and sum(mark in sample.text for mark in _MARKS) > 1:
        return "decision records with cycle_number and decision_json, as nofx writes them"
    return None


def read(paths: Sequence[Path], *, agent: str | None, now: int) -> Iterator[Batch]:
    """Facts of every trader these files and folders tell of; `agent` names them where there is one."""
    logs: list[_Log] = []
    for path in paths:
        if path.is_file() and magic(str(path)) == SQLITE:
            if len(paths) > 1:
                raise InputError(f"{path} is a database; ingest it alone, and decision logs by themselves")
            yield from database.read(path, agent=agent, now=now)
            return
        logs += _logs(path)
    by_agent: dict[str, list[_Log]] = {}
    for log in logs:
        by_agent.setdefault(agent or agent_name(log.name), []).append(log)
    for name, parts in sorted(by_agent.items()):
        yield from _follow(name, parts, now)


def _logs(path: Path) -> Iterator[_Log]:
    """The logs a path stands for; a folder is looked through to its bottom."""
    if not path.is_dir():
        if path.suffix == ".json":
            yield _Log(path.absolute().parent.name, (path,), lines=False)
        else:
            magic(str(path))
            yield _Log(path.name.partition(".")[0], (path,), lines=True)
        return
    folders: dict[Path, list[Path]] = {}
    for file in path.rglob("*.json"):
        if _FILE.fullmatch(file.name) and file.is_file():
            folders.setdefault(file.parent, []).append(file)
    tables = [file for file in sorted(path.rglob("*.jsonl")) if file.is_file() and _is_log(file)]
    if not folders and not tables:
        raise InputError(
            f"{path} holds no decision_..._cycleN.json; name nofx's decision_logs folder, or its data.db"
        )
    for folder, files in sorted(folders.items()):
        yield _Log(folder.absolute().name, tuple(sorted(files)), lines=False)
    for file in tables:
        yield _Log(file.name.partition(".")[0], (file,), lines=True)


def _is_log(file: Path) -> bool:
    """Whether a file's beginning looks like decision records."""
    with suppress(InputError):
        return sniff(sample_of(file)) is not None
    return False


def _follow(agent: str, logs: list[_Log], now: int) -> Iterator[Batch]:
    """One trader's life out of its logs, the earliest first. A record that a log repeats is passed over."""
    writer = BatchWriter(str(logs[0].files[0].parent if len(logs[0].files) > 1 else logs[0].files[0]), now)
    begun = sorted((first.written, place) for place, log in enumerate(logs) if (first := _first(log)))
    if not begun:
        raise InputError(
            f"{logs[0].files[0]} holds no decision record of nofx; name its decision_logs folder or data.db"
        )
    follower = Follower(writer, agent, next((venue for log in logs if (venue := venue_of(log.name))), ""))
    writings: set[int] = set()
    latest = 0
    for _, place in begun:
        late = 0
        for cycle, where, line in _records(logs[place], writer):
            if cycle.written in writings:
                continue
            if cycle.written < latest:
                late += 1
                continue
            latest = cycle.written
            writings.add(latest)
            follower.take(cycle, where, line)
            if writer.full:
                yield writer.batch()
        if late:
            writer.fault(
                f"{late} records lie before others already read of {agent}: another trader's, or not in the order of "
                "time; sort the file, and name each trader by itself with --agent",
                where=str(logs[place].files[0]),
                agent=agent,
            )
    follower.end()
    yield writer.batch()


def _first(log: _Log) -> Cycle | None:
    """The earliest record of a log that can be read."""
    texts = chain.from_iterable(_lines(file, None) if log.lines else _whole(file, None) for file in log.files)
    for _, text in islice(texts, _LOOKED_AT):
        with suppress(RecordError):
            return cycle_of(text)
    return None


def _records(log: _Log, writer: BatchWriter) -> Iterator[tuple[Cycle, str, int | None]]:
    """Its records with file and line; what is none becomes a fault of `writer`."""
    for file in log.files:
        where = str(file)
        for line, text in _lines(file, writer) if log.lines else _whole(file, writer):
            try:
                yield cycle_of(text), where, line
            except RecordError as error:
                writer.fault(str(error), line=line, where=where)


def _whole(file: Path, writer: BatchWriter | None) -> Iterator[tuple[int | None, bytes]]:
    with suppress(
        OSError
    ):  # a file that was moved while the folder was read is read where it went, next time
        with file.open("rb") as stream:
            text = stream.read(LONGEST_LINE + 1)
        if len(text) <= LONGEST_LINE:
            yield None, text
        elif writer:
            writer.fault(f"is longer than {LONGEST_LINE >> 20} MiB; leave it out", where=str(file))


def _lines(file: Path, writer: BatchWriter | None) -> Iterator[tuple[int | None, bytes]]:
    with open_source(str(file)) as stream:
        for part in read_lines(stream):
            if part.fault:
                if writer:
                    writer.fault(part.fault, line=part.first, where=str(file))
                continue
            for number, text in enumerate(part.texts, part.first):
                if text.strip():
                    yield number, text

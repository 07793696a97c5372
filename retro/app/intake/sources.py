"""The `[[source]]` tables: each is read on from where it was left, and one that fails keeps nobody waiting."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from retro.app.context import Knock
from retro.app.intake.fingerprints import key_of, signature_of
from retro.app.intake.ingest import IngestTerms, ingest
from retro.app.settlement.settings import lives_of
from retro.errors import InputError, RetroError, StoreError
from retro.ingest.freqtrade.candles import candle_files
from retro.ingest.growth import FileStretch, KnownFile, known_file, last_newline, newlines, unread_from
from retro.ingest.journal.parallel import read_path
from retro.ingest.recognition import recognize
from retro.ingest.registry import ADAPTERS, CORRECTED
from retro.ingest.sample import refuse_special
from retro.secret import redact
from retro.store.jobs import cursors
from retro.store.locks import bucket_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from retro.app.context import PassSummary, WorkContext
    from retro.app.intake.ingest import Ingested
    from retro.config import SourceTable
    from retro.model import Batch

__all__ = ["read_all", "read_journal"]

_GZIP: Final = b"\x1f\x8b"


def read_all(bench: WorkContext, tally: PassSummary) -> None:
    """Read every source that has changed, or that could not be read before."""
    for source in bench.config.source:
        if bench.stopping():
            return
        key = key_of(source, bench.host)
        with bench.store.read() as conn:
            state, alarm = cursors.state_of(conn, key), cursors.alarms(conn).get(key)
        signature = signature_of(source)
        if state.get("signature") == signature and alarm is None:
            continue
        try:
            reached = _READ_AGAIN[ADAPTERS[source.kind].growth](bench, source, state)
        except StoreError:
            raise
        except (RetroError, OSError, ValueError) as error:
            tally.sources_failed += 1
            _alarm(bench, source, key, {**state, "signature": signature}, error)
            continue
        with bench.store.write() as conn:
            ended = cursors.keep(conn, key, {"signature": signature, **reached})
        if ended is not None:
            bench.log("source_is_back", level="info", source=str(source.path))


def _alarm(
    bench: WorkContext, source: SourceTable, key: str, state: dict[str, Any], error: Exception
) -> None:
    """Say once what stands in the way; the same trouble at the next knock is no news."""
    reason = str(redact(str(error), bench.secrets))
    with bench.store.write() as conn:
        news = cursors.raise_alarm(conn, key, reason, state)
    if news:
        bench.log("source_failed", level="error", source=str(source.path), kind=source.kind, reason=reason)


def _ingest_batches(
    bench: WorkContext,
    source: SourceTable,
    batches: Iterable[Batch],
    now: int,
    terms: IngestTerms | None = None,
) -> Ingested:
    done = ingest(
        bench.store,
        str(source.path),
        _with_capital(batches, source),
        bench.settings_for,
        replace(terms or IngestTerms(), lives=lives_of(bench.config)),
        now=now,
        progress=lambda _: bench.beat(),
    )
    if done.stored or done.conflicts or done.faults:
        trouble = {"conflicts": len(done.conflicts), "faults": len(done.faults)}
        level = "warning" if any(trouble.values()) else "info"
        bench.log(
            "source_read", level=level, source=done.source, events=done.events, stored=done.stored, **trouble
        )
    if done.stored:  # a fleet looks at once at those of whom something is new
        for bucket in sorted(set(map(bucket_of, done.agents))):
            bench.ask(Knock("stream", bucket))
    return done


def _with_capital(batches: Iterable[Batch], source: SourceTable) -> Iterator[Batch]:
    for batch in batches:
        if source.capital is not None:
            batch.capital |= dict.fromkeys({row.agent for row in batch.rows}, source.capital)
        yield batch


# journals


def read_journal(bench: WorkContext, source: SourceTable, state: dict[str, Any]) -> dict[str, Any]:
    """Read a journal on from where it was left, whole lines only; from its start when it is not the same file.

    A line that is still being written waits for its newline, so that a live journal has no torn lines. Of one that was
    rotated away the lines that nobody read are read first.
    """
    path, now = source.path, bench.clock()
    with _opened(path) as file:
        if file.read(len(_GZIP)) == _GZIP:
            _ingest_batches(bench, source, read_path(str(path), now=now, ahead=False), now)
            return {}
        known = KnownFile(state.get("offset", 0), state.get("known_by", ""), state.get("inode", 0))
        lies_at, goes_on = unread_from(path, known) if known.offset else (None, False)
        if goes_on:
            return _read_lines(bench, source, file, known.offset, state["lines"])
        if lies_at is not None:
            with _opened(lies_at) as earlier:
                _read_lines(bench, source, earlier, known.offset, state["lines"])
        return _read_lines(bench, source, file, 0, 0)


def _read_lines(
    bench: WorkContext, source: SourceTable, file: BinaryIO, start: int, lines: int
) -> dict[str, Any]:
    """Take in the whole lines from a place on, before which stand so many; what is known of the file after them."""
    end = last_newline(file, start)
    if end > start:
        stream, now = FileStretch(file, start, end), bench.clock()
        read = ADAPTERS[source.kind].load()
        batches = _numbered(read(cast("BinaryIO", stream), str(source.path), now=now), lines)
        _ingest_batches(bench, source, batches, now, IngestTerms(continued=start > 0))
        lines += newlines(file, start, end)
    known = known_file(file, end)
    return {"offset": end, "lines": lines, "known_by": known.digest, "inode": known.inode}


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _numbered(batches: Iterable[Batch], lines: int) -> Iterator[Batch]:
    """Line numbers as they are in the whole file."""
    for batch in batches:
        batch.lines = [line + lines for line in batch.lines]
        batch.faults = [replace(f, line=None if f.line is None else f.line + lines) for f in batch.faults]
        yield batch


# databases and candles


def _read_whole(bench: WorkContext, source: SourceTable, state: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001  read whole
    now, adapter = bench.clock(), ADAPTERS[source.kind]
    batches = adapter.load()(source.path, **adapter.options_of(source), now=now)
    _ingest_batches(bench, source, batches, now, IngestTerms(replace=CORRECTED, dated=adapter.is_dated))
    return {}


def _read_log(bench: WorkContext, source: SourceTable, state: dict[str, Any]) -> dict[str, Any]:
    """A log on from where it was left where its reader can do that, else from its start."""
    now, adapter = bench.clock(), ADAPTERS[source.kind]
    refuse_special([source.path])
    resumption, options = adapter.load_resumption(), adapter.options_of(source)
    if resumption is None:
        _ingest_batches(bench, source, adapter.load()((source.path,), **options, now=now), now)
        return {}
    place, is_waiting = state.get("place", {}), False
    for reading in resumption(source.path, place, **options, now=now):
        _ingest_batches(bench, source, reading.batches, now, IngestTerms(continued=reading.is_continued))
        place, is_waiting = reading.place, reading.is_waiting
    return {"place": place, **({"signature": None} if is_waiting else {})}


def _read_folder(bench: WorkContext, source: SourceTable, state: dict[str, Any]) -> dict[str, Any]:
    """The finest candles of every pair of a folder, or one file; those that have not changed are passed over.

    A file whose name does not tell is read as the marks of the instrument that the source names.
    """
    now, path = bench.clock(), source.path
    if source.instrument is not None:
        if path.is_dir():
            raise InputError(f"{path} is a folder; instrument names what one file holds")
        read_one = ADAPTERS[source.kind].load()(str(path), source.instrument, source.timeframe, now=now)
        _ingest_batches(bench, source, read_one, now)
        return {}
    files = candle_files(path if path.is_dir() else path.parent)
    chosen = {pair: min(candidates) for pair, candidates in files.items()}
    if not path.is_dir():
        chosen = {
            pair: candidate
            for pair, candidates in files.items()
            for candidate in candidates
            if candidate[2] == path
        }
    if not chosen:
        raise InputError(
            f"{path}: no candles; files are named by pair and timeframe, as in ETH_USDC-1h.feather;"
            " of one file under another name say its instrument"
        )
    before, stamps, read = state.get("files", {}), {}, ADAPTERS[source.kind].load()
    for pair, (frame, _, file) in sorted(chosen.items()):
        status = file.stat()
        stamps[pair] = [file.name, status.st_size, status.st_mtime_ns]
        if before.get(pair) != stamps[pair]:
            batches = read(str(file), _instrument(pair), f"{frame // 1_000_000}s", now=now)
            _ingest_batches(bench, source.model_copy(update={"path": file}), batches, now)
    return {"files": stamps}


def _instrument(pair: str) -> str:
    """ETH_USDC is ETH/USDC, ETH_USDC_USDC is the contract ETH/USDC:USDC."""
    base, _, remainder = pair.partition("_")
    quote, _, settle = remainder.partition("_")
    return f"{base}/{quote}:{settle}" if settle else f"{base}/{quote}" if quote else base


def _read_recognized(bench: WorkContext, source: SourceTable, state: dict[str, Any]) -> dict[str, Any]:
    """As what it is seen to be; `UsageError` where that is nothing known, or more than one thing."""
    chosen = recognize([source.path])
    if chosen.adapter.growth == "folder":
        raise InputError(f'{source.path} holds prices; write kind = "marks" and the instrument of one file')
    if source.zone is not None and "zone" not in chosen.adapter.options:
        raise InputError(f"{source.path}: zone says nothing to {chosen.adapter.name}; leave it out")
    named = source.model_copy(update={"kind": chosen.adapter.name})
    return _READ_AGAIN[chosen.adapter.growth](bench, named, state)


_READ_AGAIN: Final[dict[str, Callable[..., dict[str, Any]]]] = {
    "auto": _read_recognized,
    "appended": read_journal,
    "whole": _read_whole,
    "folder": _read_folder,
    "log": _read_log,
}

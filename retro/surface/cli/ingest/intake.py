"""How a source is taken in from the command line, and what is said of it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import InputError, UsageError
from retro.surface.cli.context import call, complain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from retro.app.intake.ingest import Ingested
    from retro.model import Batch, Conflict, Fault
    from retro.store.database import Store

__all__ = [
    "Capital",
    "DryRun",
    "OnConflict",
    "Strict",
    "now",
    "opening_capital",
    "report",
    "take",
    "unread",
    "with_capital",
]

_SHOWN = 20

OnConflict = Annotated[
    str,
    typer.Option("--on-conflict", metavar="keep|replace", help="what to do with corrections of known events"),
]
Strict = Annotated[bool, typer.Option("--strict", help="store nothing if any row is bad")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="read and report, store nothing")]
Capital = Annotated[
    str | None,
    typer.Option("--capital", metavar="X", help="opening capital, where the source states no equity"),
]


def now() -> int:
    """The ingest clock: microseconds since 1970."""
    return time.time_ns() // 1000


def take(
    source: str,
    batches: Iterable[Batch],
    *,
    on_conflict: str = "keep",
    dated: bool = False,
    in_place: bool = False,
    strict: bool = False,
    dry_run: bool = False,
    several: bool = False,
) -> Ingested:
    """Take a source in. One of several that cannot be read keeps no other out, and a script is told of it in JSON."""
    from retro.app.intake.ingest import IngestTerms, ingest
    from retro.app.settlement.settings import lives_of
    from retro.ingest.registry import CORRECTED
    from retro.surface.cli.screen import counter

    if on_conflict not in {"keep", "replace"}:
        raise UsageError("--on-conflict takes keep or replace")
    read = iter(batches)
    try:
        first = list(islice(read, 1))  # a source that cannot be read makes no database
        with _database(dry_run=dry_run) as store, counter(f"reading {source}", quiet=call.quiet) as progress:
            return ingest(
                store,
                source,
                chain(first, read),
                call.settings,
                IngestTerms(
                    replace=CORRECTED if dated or on_conflict == "replace" else None,
                    dated=dated,
                    in_place=in_place,
                    strict=strict,
                    dry_run=dry_run,
                    lives=lives_of(call.config),
                ),
                now=now(),
                progress=progress,
            )
    except InputError as error:
        return unread(source, error, several=several)


def unread(source: str, error: InputError, *, several: bool = False) -> Ingested:
    """What becomes of a source that cannot be read: one fault, for a script and beside others; else the error itself."""
    from retro.app.intake.ingest import Ingested
    from retro.model import Fault

    if not (several or call.json):
        raise error
    complain(f"retro: {error}")
    return Ingested(source, faults=[Fault(source, None, str(error))], unread=True)


@contextmanager
def _database(*, dry_run: bool) -> Iterator[Store]:
    """The database; for a dry run where there is none, one that vanishes afterwards."""
    url = call.config.store.url
    if not dry_run or "://" in url or Path(url).exists():
        yield call.store
        return
    from retro.store.database import open_store

    with TemporaryDirectory() as folder:
        store = open_store(str(Path(folder, "retro.db")))
        try:
            yield store
        finally:
            store.close()


def report(results: list[Ingested], *, several: bool = False, dry_run: bool) -> None:
    """Say what became of sources, what could not be used, and which command to type next; exit 1 unless all was clean."""
    documents = [result.to_json() for result in results]
    if any(not result.clean for result in results):
        call.code = 1
    if call.json:
        call.out_json(documents if several else documents[0])
    results = [result for result in results if not result.unread]
    if not call.json:
        for result in results:
            call.out(_line(result, dry_run=dry_run))
    for result in results:
        for notice in result.notices:
            call.say(f"  {notice}")
        problems: list[Conflict | Fault] = [*result.conflicts[:_SHOWN], *result.faults[:_SHOWN]]
        for problem in problems:
            line = "" if problem.line is None else f":{problem.line}"
            call.say(f"  {problem.where}{line}: {problem.reason}")
        hidden = sum(max(0, len(entries) - _SHOWN) for entries in (result.conflicts, result.faults))
        if hidden:
            call.say(f"  ... and {hidden:,} more; `{call.command('faults')}` lists what could not be used")
        if result.unknown:
            fields = ", ".join(
                f"{name} ({count:,})" for name, count in sorted(result.unknown.items())[:_SHOWN]
            )
            call.say(f"  kept, though nothing reads them yet, fields named {fields}")
    if results and not call.json and not dry_run:
        _say_next(sorted({agent for result in results for agent in result.agents}))


def _line(result: Ingested, *, dry_run: bool) -> str:
    from retro.figures import count
    from retro.safe import plain_text

    parts = [
        count(result.events, "event"),
        f"{result.stored:,} {'new' if dry_run else 'stored'}",
        f"{result.unchanged:,} unchanged",
        count(len(result.conflicts), "conflict"),
        count(len(result.faults), "fault"),
    ]
    return f"{plain_text(result.source)}: {', '.join(parts)}"


def _say_next(touched: list[str]) -> None:
    """The command to type next: a review of an agent that this source told of, else of any."""
    agent_names = call.agents()
    if not agent_names:
        call.say(f"next: {call.command('ingest', 'journal', 'agent.jsonl')}")
        return
    for agent in [agent for agent in touched if agent in agent_names][:3] or agent_names[:1]:
        call.say(
            f"next: {call.command('review', 'weekly', *(['--agent', agent] if len(agent_names) > 1 else []))}"
        )


def opening_capital(text: str | None) -> Decimal | None:
    """What `--capital` says, > 0; `UsageError` where it is no amount."""
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise UsageError(f"--capital {text!r} is not an amount such as 10000") from None
    if not value.is_finite() or value <= 0:
        raise UsageError("--capital must be above 0")
    return value


def with_capital(batches: Iterable[Batch], capital: Decimal | None) -> Iterable[Batch]:
    """The batches, whose agents began with that much; as they are where nobody said."""
    for batch in batches:
        if capital is not None:
            for name in {row.agent for row in batch.rows}:
                batch.capital[name] = capital
        yield batch

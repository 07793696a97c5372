"""`retro ingest`: journals, freqtrade databases, candle files."""

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
from retro.surface.cli.context import call, complain, instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from retro.app.intake.ingest import Ingested
    from retro.model import Batch, Conflict, Fault
    from retro.store.database import Store

__all__ = ["add_to"]

_SHOWN = 20

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Take in what an agent did: idempotent, in any order.",
    epilog="Example: retro ingest journal agent.jsonl",
)

OnConflict = Annotated[
    str,
    typer.Option("--on-conflict", metavar="keep|replace", help="what to do with corrections of known events"),
]
Strict = Annotated[bool, typer.Option("--strict", help="store nothing if any row is bad")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="read and report, store nothing")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(app, name="ingest")


def _now() -> int:
    return time.time_ns() // 1000


def _take(
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
    from retro.app.intake.ingest import Ingested, IngestTerms, ingest
    from retro.ingest.registry import CORRECTED
    from retro.model import Fault
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
                ),
                now=_now(),
                progress=progress,
            )
    except InputError as error:
        if not (several or call.json):
            raise
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


def _report(results: list[Ingested], *, several: bool = False, dry_run: bool) -> None:
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


@app.command("journal")
def journal(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="JSON Lines, .gz too, - for stdin")],
    on_conflict: OnConflict = "keep",
    strict: Strict = False,
    dry_run: DryRun = False,
) -> None:
    """Read an agent's journal (docs/journal.md).

    Example: retro ingest journal agent.jsonl
    """
    from retro.ingest.journal.parallel import read_path

    several = len(files) > 1
    results = [
        _take(
            file,
            read_path(file, now=_now()),
            on_conflict=on_conflict,
            strict=strict,
            dry_run=dry_run,
            several=several,
        )
        for file in files
    ]
    _report(results, several=several, dry_run=dry_run)


@app.command("freqtrade")
def freqtrade(
    database: Annotated[
        Path,
        typer.Argument(
            metavar="DB|ZIP", readable=False, help="tradesv3.sqlite of a bot, or a backtest result"
        ),
    ],
    candles: Annotated[
        Path | None,
        typer.Option(
            "--candles",
            metavar="DIR",
            readable=False,
            help="the bot's candle folder, e.g. user_data/data/binance",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="default: the bot's strategy")
    ] = None,
    capital: Annotated[
        str | None,
        typer.Option("--capital", metavar="X", help="opening capital, when the bot keeps no wallet history"),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="T", help="look at the bot as it was then")
    ] = None,
    replace_source: Annotated[
        bool,
        typer.Option(
            "--replace-source",
            help="take the place of the database or backtest this agent was told from before",
        ),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Read a freqtrade bot's database or backtest result. The bot is never disturbed.

    Example: retro ingest freqtrade tradesv3.sqlite --candles data/binance
    """
    from retro.ingest.freqtrade import reader

    now = _now()
    batches = reader.read(
        database,
        agent=agent,
        candles=candles,
        as_of=None if as_of is None else instant(as_of, "--as-of"),
        now=now,
    )
    opening = _capital(capital)
    result = _take(
        str(database), _with_capital(batches, opening), dated=True, in_place=replace_source, dry_run=dry_run
    )
    _add_notices(result, named=agent is not None)
    _report([result], dry_run=dry_run)


def _add_notices(result: Ingested, *, named: bool) -> None:
    """What the reader of a bot's source should know of where its facts went."""
    if result.withdrawn:
        facts = f"{result.withdrawn:,} facts"
        result.notices.append(f"it takes the place of another source: {facts} of that were withdrawn")
    if result.newcomers and not named:
        result.notices.append(_named_by_strategy(sorted(result.newcomers)))


def _named_by_strategy(names: list[str]) -> str:
    from retro.safe import plain_text

    listed = plain_text(", ".join(names[:6]) + (", ..." if len(names) > 6 else ""))
    if len(names) == 1:
        return f"taken as agent {listed}, the name of its strategy; with --agent NAME it stays one agent when that changes"
    return f"taken as {len(names)} agents, one a strategy and stake: {listed}; --agent NAME takes them as one bot's life"


def _capital(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise UsageError(f"--capital {text!r} is not an amount such as 10000") from None
    if not value.is_finite() or value <= 0:
        raise UsageError("--capital must be above 0")
    return value


def _with_capital(batches: Iterable[Batch], capital: Decimal | None) -> Iterable[Batch]:
    for batch in batches:
        if capital is not None:
            for name in {row.agent for row in batch.rows}:
                batch.capital[name] = capital
        yield batch


@app.command("marks")
def marks(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", readable=False, help="columns timestamp and price, or those of candles"
        ),
    ],
    instrument: Annotated[str, typer.Option("--instrument", metavar="X", help="e.g. ETH/USDC")],
    timeframe: Annotated[
        str | None,
        typer.Option("--timeframe", metavar="1h", help="length of a candle; default: the median gap"),
    ] = None,
    on_conflict: OnConflict = "keep",
    dry_run: DryRun = False,
) -> None:
    """Read prices from CSV, Feather or Parquet. Of a candle the close is the mark, known when the candle ends.

    Example: retro ingest marks ETH_USDC-1h.csv --instrument ETH/USDC
    """
    from retro.ingest import candles

    batches = candles.read(str(file), instrument, timeframe, now=_now())
    _report([_take(str(file), batches, on_conflict=on_conflict, dry_run=dry_run)], dry_run=dry_run)


@app.command("faults")
def kept_faults() -> None:
    """List what could not be used, and why. The same as `retro faults`.

    Example: retro ingest faults
    """
    from retro.surface.cli.lists import show_faults

    show_faults()

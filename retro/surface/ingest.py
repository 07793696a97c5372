"""`retro ingest`: journals, freqtrade databases, candle files."""

from __future__ import annotations

import time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import UsageError
from retro.surface.context import call
from retro.surface.words import instant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.model import Batch, Conflict, Fault
    from retro.pipeline.ingest import Ingested

__all__ = ["add_to"]

_REASON = "replaced by a later reading"
_SHOWN = 20

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Take in what an agent did: idempotent, in any order."
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
    strict: bool = False,
    dry_run: bool = False,
) -> Ingested:
    from retro.pipeline.ingest import ingest
    from retro.surface.progress import counter

    if on_conflict not in {"keep", "replace"}:
        raise UsageError("--on-conflict takes keep or replace")
    with counter(f"reading {source}", quiet=call.quiet) as progress:
        return ingest(
            call.store,
            source,
            batches,
            call.settings,
            replace=_REASON if on_conflict == "replace" else None,
            strict=strict,
            dry_run=dry_run,
            progress=progress,
        )


def _report(results: list[Ingested], *, dry_run: bool) -> None:
    documents = [result.to_json() for result in results]
    if call.json:
        call.out_json(documents[0] if len(documents) == 1 else documents)
    else:
        for result in results:
            call.out(
                f"{result.source}: {result.events:,} events, {result.stored:,} {'new' if dry_run else 'stored'}, {result.unchanged:,} unchanged,"
                f" {len(result.conflicts)} conflicts, {len(result.faults)} faults"
            )
    for result in results:
        problems: list[Conflict | Fault] = [*result.conflicts[:_SHOWN], *result.faults[:_SHOWN]]
        for problem in problems:
            line = "" if problem.line is None else f":{problem.line}"
            call.say(f"  {problem.where}{line}: {problem.reason}")
        hidden = sum(max(0, len(found) - _SHOWN) for found in (result.conflicts, result.faults))
        if hidden:
            call.say(f"  ... and {hidden:,} more; `retro faults` lists what could not be used")
    if any(not result.clean for result in results):
        call.code = 1
    if not call.json and not dry_run:
        agents = sorted({agent for result in results for agent in result.agents})
        for agent in agents[:3]:
            call.say(f"next: retro review weekly{f' --agent {agent}' if len(agents) > 1 else ''}")


@app.command("journal")
def journal(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="JSON Lines, .gz too, - for stdin")],
    on_conflict: OnConflict = "keep",
    strict: Strict = False,
    dry_run: DryRun = False,
) -> None:
    """Read an agent's journal (docs/journal.md).

    Example: retro ingest journal agent.jsonl
    """
    from retro.ingest import journal as adapter
    from retro.ingest.source import open_source

    results = []
    for file in files:
        name = "stdin" if file == "-" else file
        with open_source(file) as stream:
            batches = adapter.read(stream, name, now=_now())
            results.append(_take(name, batches, on_conflict=on_conflict, strict=strict, dry_run=dry_run))
    _report(results, dry_run=dry_run)


@app.command("freqtrade")
def freqtrade(
    database: Annotated[
        Path, typer.Argument(metavar="DB|ZIP", help="tradesv3.sqlite of a bot, or a backtest result")
    ],
    candles: Annotated[
        Path | None,
        typer.Option("--candles", metavar="DIR", help="the bot's candle folder, e.g. user_data/data/binance"),
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
    dry_run: DryRun = False,
) -> None:
    """Read a freqtrade bot's database or backtest result; never disturbs the bot.

    Example: retro ingest freqtrade tradesv3.sqlite --candles user_data/data/binance
    """
    from retro.ingest import freqtrade as adapter

    now = _now()
    batches = adapter.read(
        database,
        agent=agent,
        candles=candles,
        as_of=None if as_of is None else instant(as_of, "--as-of"),
        now=now,
    )
    opening = _capital(capital)
    results = [_take(str(database), _with_capital(batches, opening), on_conflict="replace", dry_run=dry_run)]
    _report(results, dry_run=dry_run)


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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, Feather or Parquet")],
    instrument: Annotated[str, typer.Option("--instrument", metavar="X", help="e.g. ETH/USDC")],
    timeframe: Annotated[
        str | None,
        typer.Option("--timeframe", metavar="1h", help="length of a candle; default: the median gap"),
    ] = None,
    on_conflict: OnConflict = "keep",
    dry_run: DryRun = False,
) -> None:
    """Read prices: `timestamp,price`, or candles (the mark is the close, known when the candle ends).

    Example: retro ingest marks ETH_USDC-1h.feather --instrument ETH/USDC --timeframe 1h
    """
    from retro.ingest import marks as adapter

    batches = adapter.read(str(file), instrument, timeframe, now=_now())
    _report([_take(str(file), batches, on_conflict=on_conflict, dry_run=dry_run)], dry_run=dry_run)


@app.command("faults")
def kept_faults() -> None:
    """List what could not be used, and why (also: retro faults)."""
    from retro.surface.lists import show_faults

    show_faults()

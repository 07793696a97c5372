"""`retro ingest`: journals, freqtrade databases, candle files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import InputError
from retro.surface.cli.context import instant
from retro.surface.cli.ingest import logs
from retro.surface.cli.ingest.intake import (
    Capital,
    DryRun,
    OnConflict,
    Strict,
    now,
    opening_capital,
    report,
    take,
    unread,
    with_capital,
)
from retro.surface.cli.ingest.logs import AgentOption, Files, ZoneOption

if TYPE_CHECKING:
    from retro.app.intake.ingest import Ingested

__all__ = ["add_to"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Take in what an agent did: idempotent, in any order.",
    epilog="Example: retro ingest journal agent.jsonl",
)


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    logs.add_to(app)
    parent.add_typer(app, name="ingest")


@app.command("auto")
def auto(
    files: Files,
    agent: AgentOption = None,
    zone: ZoneOption = None,
    capital: Capital = None,
    on_conflict: OnConflict = "keep",
    strict: Strict = False,
    dry_run: DryRun = False,
) -> None:
    """Find out what files are, say why, and read them; where they may be more than one thing, ask.

    Example: retro ingest auto trades.csv
    """
    from retro.ingest import recognition

    source = ", ".join(map(str, files))
    try:
        chosen = recognition.recognize(files)
    except InputError as error:
        report([unread(source, error)], dry_run=dry_run)
        return
    batches = recognition.read(files, agent=agent, zone=zone, now=now())
    result = take(
        source,
        with_capital(batches, opening_capital(capital)),
        on_conflict=on_conflict,
        dated=chosen.adapter.is_dated,
        strict=strict,
        dry_run=dry_run,
    )
    result.notices.insert(0, chosen.sentence)
    report([result], dry_run=dry_run)


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
        take(
            file,
            read_path(file, now=now()),
            on_conflict=on_conflict,
            strict=strict,
            dry_run=dry_run,
            several=several,
        )
        for file in files
    ]
    report(results, several=several, dry_run=dry_run)


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

    clock = now()
    batches = reader.read(
        database,
        agent=agent,
        candles=candles,
        as_of=None if as_of is None else instant(as_of, "--as-of"),
        now=clock,
    )
    opening = opening_capital(capital)
    result = take(
        str(database), with_capital(batches, opening), dated=True, in_place=replace_source, dry_run=dry_run
    )
    _add_notices(result, named=agent is not None)
    report([result], dry_run=dry_run)


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

    batches = candles.read(str(file), instrument, timeframe, now=now())
    report([take(str(file), batches, on_conflict=on_conflict, dry_run=dry_run)], dry_run=dry_run)


@app.command("faults")
def kept_faults() -> None:
    """List what could not be used, and why. The same as `retro faults`.

    Example: retro ingest faults
    """
    from retro.surface.cli.lists import show_faults

    show_faults()

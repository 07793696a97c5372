"""`retro ingest KIND FILE...` for every reader of logs that others write: one command a row of the registry."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import UsageError
from retro.ingest.registry import ADAPTERS
from retro.surface.cli.ingest.intake import (
    Capital,
    DryRun,
    OnConflict,
    Strict,
    now,
    opening_capital,
    report,
    take,
    with_capital,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.ingest.registry import Adapter

__all__ = ["LOGS", "AgentOption", "Files", "ZoneOption", "add_to"]

LOGS = tuple(adapter for adapter in ADAPTERS.values() if adapter.growth == "log")
"""The readers whose commands are made here."""

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE|FOLDER...", readable=False, help="read together, as one source")
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help="whose life it is; default: what the source names"),
]
ZoneOption = Annotated[
    str | None,
    typer.Option("--zone", metavar="Europe/Paris", help="where the times of the source have no zone"),
]
MapOption = Annotated[
    str | None,
    typer.Option("--map", metavar="MAP.toml|NAME", help="the mapping; default: the shipped one that fits"),
]


def add_to(app: typer.Typer) -> None:
    """Hang a command for each reader below `retro ingest`."""
    for adapter in LOGS:
        app.command(adapter.name, help=f"{adapter.summary}\n\nExample: {adapter.example}")(_command(adapter))


def _command(adapter: Adapter) -> Callable[..., None]:
    def read_log(
        files: Files,
        mapping: MapOption = None,
        agent: AgentOption = None,
        zone: ZoneOption = None,
        capital: Capital = None,
        on_conflict: OnConflict = "keep",
        strict: Strict = False,
        dry_run: DryRun = False,
    ) -> None:
        _take_log(
            adapter,
            files,
            {"agent": agent, "zone": zone, "map": mapping},
            capital=capital,
            on_conflict=on_conflict,
            strict=strict,
            dry_run=dry_run,
        )

    if "map" not in adapter.options:  # of others the help does not speak of mappings
        signature = inspect.signature(read_log, eval_str=True)
        options = [option for name, option in signature.parameters.items() if name != "mapping"]
        vars(read_log)["__signature__"] = signature.replace(parameters=options)
    return read_log


def _take_log(
    adapter: Adapter,
    files: list[Path],
    options: dict[str, str | None],
    *,
    capital: str | None,
    on_conflict: str,
    strict: bool,
    dry_run: bool,
) -> None:
    """Read files and folders as one source, and say what became of it; `UsageError` of an option it has no use for."""
    from retro.ingest.sample import refuse_special

    if unused := [
        name for name, value in options.items() if value is not None and name not in adapter.options
    ]:
        raise UsageError(f"--{unused[0]} says nothing to retro ingest {adapter.name}; leave it out")
    chosen = {name: value for name, value in options.items() if name in adapter.options}
    refuse_special(files)
    batches = adapter.load()(tuple(files), **chosen, now=now())
    result = take(
        ", ".join(map(str, files)),
        with_capital(batches, opening_capital(capital)),
        on_conflict=on_conflict,
        strict=strict,
        dry_run=dry_run,
    )
    report([result], dry_run=dry_run)

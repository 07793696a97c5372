"""`retro backup`, `restore`: the whole database as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.operator.agents import clock

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("backup")(backup)
    parent.command("restore")(restore)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a file that is not there yet")],
) -> None:
    """Copy the database into one file, consistent while the service runs. SQLite; PostgreSQL has pg_dump.

    Example: retro backup retro-backup.db
    """
    from retro.store.backup import back_up

    size = back_up(call.store, file)
    if call.json:
        call.out_json({"file": str(file), "bytes": size})
    else:
        call.out(f"{file}: {size:,} bytes; `{call.command('restore', str(file))}` puts it back")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="what `retro backup` wrote")],
) -> None:
    """Put a backup in the place of the database, never under a running service; the old file is kept beside it.

    Example: retro restore retro-backup.db
    """
    from retro.daemon.restore import restore as put_back

    url = call.config.store.url
    if "://" in url:
        raise UsageError("a PostgreSQL database is restored by pg_restore, with the service stopped")
    aside = put_back(file, Path(url), clock())
    with call.store.read():  # opened once, so that a backup of an older version is brought up to date now
        pass
    if call.json:
        call.out_json({"database": url, "from": str(file), "kept": None if aside is None else str(aside)})
    else:
        kept = "" if aside is None else f"; what was there is kept as {aside}"
        call.out(f"{url} is what {file} holds{kept}")

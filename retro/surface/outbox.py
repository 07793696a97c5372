"""`retro deliver`: what is on its way to people, and sending it again."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import BusyError, RetroError, UnknownError
from retro.surface.context import call
from retro.surface.service import orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.store.outbox import Letter

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("deliver")(deliver)


def deliver(
    resend: Annotated[
        str,
        typer.Option(
            "--resend", metavar="ID", help="a message's number, or a review's id: all of its newest"
        ),
    ] = "",
    preview: Annotated[
        str,
        typer.Option(
            "--preview", metavar="ID", help="write a review's mail as .eml and .html; nothing is sent"
        ),
    ] = "",
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="where a preview goes")
    ] = Path(),
) -> None:
    """List the messages: pending, sending, sent, failed. The service sends; here you look and send again.

    Example: retro deliver --resend my-agent.weekly.2026-W47
    """
    if preview:
        _preview(preview, output)
    elif resend:
        _resend(resend)
    else:
        _list()


def _list() -> None:
    from retro.pipeline.shelf import letters

    found = letters(call.store)
    if call.json:
        names = ("id", "review", "revision", "channel", "recipient", "state")
        rows = [
            (one.key, one.review_id, one.revision, one.channel, one.recipient, one.state) for one in found
        ]
        call.out_json([dict(zip(names, row, strict=True)) for row in rows])
    elif not found:
        call.say("nothing to deliver yet; `retro run --once` makes what is due")
    else:
        _print_letters(found)


def _print_letters(letters: Sequence[Letter]) -> None:
    from retro.deliver.blocks import Cell, Column, Tone
    from retro.surface.screen import print_table

    tones: dict[str, Tone] = {"failed": "down", "pending": "warn", "sending": "warn", "sent": "up"}
    columns = [
        Column("No."),
        Column("Review", right=False, cut=24),
        Column("Rev.", spare=2),
        Column("Channel", right=False),
        Column("To", right=False, cut=10),
        Column("State", right=False),
        Column("Why", right=False, cut=10, spare=1),
    ]
    cells = [
        [
            Cell(f"{one.key}"),
            Cell(one.review_id, "strong"),
            Cell(f"{one.revision}"),
            Cell(one.channel),
            Cell(one.recipient),
            Cell(one.state, tones.get(one.state, "plain")),
            Cell(one.reason or ""),
        ]
        for one in letters
    ]
    print_table(columns, cells)


def _resend(which: str) -> None:
    """Put it on its way: at once when no service runs, else by the service."""
    from retro import daemon
    from retro.store.outbox import resend

    with call.store.write() as conn:
        count = resend(conn, which, time.time_ns() // 1000)
    if not count:
        raise UnknownError(
            f"there is no message or review {which!r} to send again; `retro deliver` lists them"
        )
    try:
        tally = daemon.send(orders())
    except BusyError:
        call.say(f"{count} message{'s' if count > 1 else ''} to send again; the running service does it")
        return
    call.out(f"{tally.sent} sent, {tally.postponed} postponed, {tally.refused} failed")
    call.code = 1 if tally.refused else 0


def _preview(review: str, directory: Path) -> None:
    from retro.deliver.file import safe_name
    from retro.deliver.mail import mail_channel
    from retro.pipeline.shelf import message, stored

    found = stored(call.store, review)
    recipient = next(iter(call.config.mail.recipients), "you@example.org")
    whole, html = mail_channel(call.config, os.environ).preview(message(call.store, found, recipient))
    stem = safe_name(found.review.id if found.revision == 1 else f"{found.review.id}.r{found.revision}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for suffix, content in ((".eml", whole), (".html", html.encode())):
            path = directory / f"{stem}{suffix}"
            path.write_bytes(content)
            call.out(str(path))
    except OSError as error:
        raise RetroError(f"{directory} cannot be written: {error.strerror or error}") from error

"""`retro deliver`: what is on its way to people, and sending it again."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import BusyError, RetroError, UnknownError
from retro.surface.cli.context import call
from retro.surface.cli.service import orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.store.jobs.outbox import Delivery

__all__ = ["add_to"]

_FILES = frozenset({"file", "records"})
_SHOWN = 20


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
    from retro.app.questions.reviews import deliveries

    found = deliveries(call.store)
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


def _print_letters(letters: Sequence[Delivery]) -> None:
    """What waits or failed and why, and the newest to people; the rest, files by the thousand, is counted."""
    from retro.present.page.blocks import Cell, Column, Tone
    from retro.surface.cli.screen import print_table

    people = [one for one in letters if one.channel not in _FILES]
    newest = {one.key for one in (people or letters)[-_SHOWN:]}
    shown = [one for one in letters if one.state != "sent" or one.key in newest]
    tones: dict[str, Tone] = {"failed": "down", "pending": "warn", "sending": "warn", "sent": "up"}
    columns = [
        Column("Review", right=False, cut=24),
        Column("To", right=False, cut=10),
        Column("No."),
        Column("Rev.", spare=2),
        Column("Channel", right=False),
        Column("State", right=False),
    ]
    cells = [
        [
            Cell(one.review_id, "strong"),
            Cell(one.recipient),
            Cell(f"{one.key}"),
            Cell(f"{one.revision}"),
            Cell(one.channel),
            Cell(one.state, tones.get(one.state, "plain")),
        ]
        for one in shown
    ]
    print_table(columns, cells, "; ".join(_left_out(letters, shown)))
    _print_reasons(shown)


def _left_out(letters: Sequence[Delivery], shown: Sequence[Delivery]) -> list[str]:
    from collections import Counter

    there = {one.key for one in shown}
    counts = Counter(one.channel for one in letters if one.key not in there)
    told = [f"{n:,} sent to {channel}" for channel, n in sorted(counts.items())]
    return [f"And {', '.join(told)}: --json lists them all."] if told else []


def _print_reasons(letters: Sequence[Delivery]) -> None:
    """Why a message is not there yet, or never will be: whole, for it is what the owner has to act on."""
    from retro.figures import count, moment
    from retro.periods import format_instant
    from retro.present.widths import wrap
    from retro.safe import plain_text

    zone = call.config.owner.time_zone
    for one in letters:
        if one.reason and one.state != "sent":
            told = f"{one.key}, tried {count(one.attempts, 'time')}"
            if one.state == "pending":
                told += f", again at {moment(format_instant(one.not_before), zone)} {zone}"
            first, *rest = wrap(plain_text(f"{told}: {one.reason}"), 78)
            call.out("\n".join([f"  {first}", *(f"    {text}" for text in rest)]))


def _resend(which: str) -> None:
    """Put it on its way: at once when no service runs, else by the service."""
    from retro import daemon
    from retro.store.jobs.outbox import resend

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


def _private(path: str, flags: int) -> int:
    """Open a file that is made for its owner alone."""
    return os.open(path, flags, 0o600)


def _preview(review: str, directory: Path) -> None:
    from retro.app.questions.reviews import message, stored
    from retro.deliver.file import safe_name
    from retro.deliver.mail.channel import mail_channel

    found = stored(call.store, review)
    recipient = next(iter(call.config.mail.recipients), "you@example.org")
    whole, html = mail_channel(call.config, os.environ).preview(
        message(call.store, call.config, found, recipient)
    )
    stem = safe_name(found.review.id if found.revision == 1 else f"{found.review.id}.r{found.revision}")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix, content in ((".eml", whole), (".html", html.encode())):
            path = directory / f"{stem}{suffix}"
            with open(path, "wb", opener=_private) as file:
                file.write(content)
            call.out(str(path))
    except OSError as error:
        raise RetroError(f"{directory} cannot be written: {error.strerror or error}") from error

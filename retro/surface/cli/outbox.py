"""`retro deliver`: what is on its way to people, and sending it again."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.app.questions.bounds import EVERYTHING, ListBounds
from retro.errors import BusyError, RetroError, UnknownError
from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, write_out, write_page
from retro.surface.cli.screen import After, Limit, Newest, RowList, list_text, print_list, screen_rows
from retro.surface.cli.service import orders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retro.present.page.blocks import Page
    from retro.store.jobs.outbox import Delivery

__all__ = ["add_to"]

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
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="the folder of a preview, or the list's file"),
    ] = None,
    limit: Limit = None,
    after: After = None,
    newest: Newest = False,
    form: PageFormat = "text",
) -> None:
    """List the messages: pending, sending, sent, failed. The service sends; here you look and send again.

    Example: retro deliver --resend my-agent.weekly.2026-W47
    """
    if preview:
        _preview(preview, output or Path())
    elif resend:
        _resend(resend)
    else:
        _list(ListBounds(limit, after, newest), form, output)


def _list(bounds: ListBounds, form: str, output: Path | None) -> None:
    from retro.app.questions import deliveries as subject

    counts = subject.count_deliveries(call.store)
    nothing = "nothing to deliver yet; `retro run --once` makes what is due"
    if counts and bounds == EVERYTHING and form != "json" and not call.json:
        letters = _open_letters(counts)
        page = _page(letters, counts, _left_out(counts, letters))
        write_out(list_text(page), output) if form == "text" else write_page(page, form, output)
        return
    listed = RowList(
        "messages",
        lambda part: subject.deliveries(call.store, part),
        lambda: sum(counts.values()),
        lambda letter: str(letter.key),
        subject.delivery_document,
        lambda rows: _page(rows, counts),
    )
    print_list(listed, bounds, form, output, lambda: "no message follows" if counts else nothing)


def _open_letters(counts: Mapping[tuple[str, str], int]) -> Sequence[Delivery]:
    """What waits or failed and why, and the newest to people; the rest are files by the thousand."""
    from retro.app.questions.deliveries import deliveries

    unsent = screen_rows(
        lambda part: deliveries(call.store, part, "unsent"),
        EVERYTHING,
        lambda: sum(number for (_, state), number in counts.items() if state != "sent"),
        "messages that wait or failed",
    )
    newest = ListBounds(_SHOWN, newest=True)
    sent = deliveries(call.store, newest, "people").rows or deliveries(call.store, newest).rows
    letters = {letter.key: letter for letter in (*unsent, *sent)}
    return [letters[key] for key in sorted(letters)]


def _page(listed: Sequence[Delivery], counts: Mapping[tuple[str, str], int], note: str = "") -> Page:
    from retro.app.questions.deliveries import overview_of
    from retro.present.page.screens.pages import letters_page

    return letters_page(
        [overview_of(letter) for letter in listed], sum(counts.values()), _reasons(listed), note
    )


def _left_out(counts: Mapping[tuple[str, str], int], listed: Sequence[Delivery]) -> str:
    """How many of each channel were sent and are not listed."""
    from collections import Counter

    listed_by_channel = Counter(letter.channel for letter in listed if letter.state == "sent")
    sent = {
        channel: number - listed_by_channel[channel]
        for (channel, state), number in counts.items()
        if state == "sent"
    }
    parts = [f"{n:,} sent to {channel}" for channel, n in sorted(sent.items()) if n > 0]
    return f"And {', '.join(parts)}: --json lists them all." if parts else ""


def _reasons(letters: Sequence[Delivery]) -> Sequence[str]:
    """Why a message is not there yet, or never will be: whole, for it is what the owner has to act on."""
    from retro.figures import count, moment
    from retro.periods import format_instant

    zone = call.config.owner.time_zone
    reasons = []
    for letter in letters:
        if letter.reason and letter.state != "sent":
            heading = f"{letter.key}, tried {count(letter.attempts, 'time')}"
            if letter.state == "pending":
                heading += f", again at {moment(format_instant(letter.not_before), zone)} {zone}"
            reasons.append(f"{heading}: {letter.reason}")
    return reasons


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
    from retro.app.questions.deliveries import message
    from retro.app.questions.reviews import stored
    from retro.deliver.file import safe_name
    from retro.deliver.mail.channel import mail_channel

    stored_review = stored(call.store, review)
    recipient = next(iter(call.config.mail.recipients), "you@example.org")
    whole, html = mail_channel(call.config, os.environ).preview(
        message(call.store, call.config, stored_review, recipient)
    )
    stem = safe_name(
        stored_review.review.id
        if stored_review.revision == 1
        else f"{stored_review.review.id}.r{stored_review.revision}"
    )
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix, content in ((".eml", whole), (".html", html.encode())):
            path = directory / f"{stem}{suffix}"
            with open(path, "wb", opener=_private) as file:
                file.write(content)
            call.out(str(path))
    except OSError as error:
        raise RetroError(f"{directory} cannot be written: {error.strerror or error}") from error

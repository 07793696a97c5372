"""Sending what is written: a letter is taken, its transaction ended, and only then handed to its channel.

A crash between the channel's word and our note can repeat one message, under the same identity; nothing else can.

A channel that cannot be reached is asked at every knock with one letter while the others wait longer and longer; the
first that it takes wakes them, so that after an outage they go at the next knock and not an hour later.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy.exc import DBAPIError

from retro.app.context import LONGEST_WAIT, backoff
from retro.app.reviews.fleet_mail import fleet_message_of, is_together
from retro.app.reviews.messages import MessageReader
from retro.deliver.channel import Message, Rejected, Retry, Sent
from retro.errors import InvariantError, LostClaimError, StoreError
from retro.invariant import invariant
from retro.periods import DAY, SECOND
from retro.safe import plain_text
from retro.secret import redact
from retro.store.jobs import outbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from retro.app.context import PassSummary, WorkContext
    from retro.config import Config
    from retro.deliver.channel import Channel, Outcome
    from retro.store.jobs.outbox import Delivery

__all__ = ["ask_again", "channels_of", "send_all"]

_AT_ONCE: Final = {"file": 50}
_QUIET: Final = frozenset({"file", "records"})
_GIVEN_UP_AFTER: Final = 3 * DAY
_TRIED: Final = 10
"""A letter is given up after three days and ten tries, so that a long sleep of ours is nobody's fault."""
_LONGEST_REASON: Final = 500


@dataclass(slots=True)
class _Pass:
    """What one pass has seen of its channels.

    `sent_leases`: what it handed over; `tried` and `woken`: doors; `reached` and `missed`: channels by name.
    """

    sent_leases: set[_Lease] = field(default_factory=set)
    tried: set[_Door] = field(default_factory=set)
    woken: set[_Door] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)


class _Door(NamedTuple):
    """What is open or shut as a whole: a mail server for all recipients, any other channel for each."""

    channel: str
    recipient: str | None


def _door(channel: str, recipient: str) -> _Door:
    return _Door(channel, None if channel == "mail" else recipient)


def _door_of(letter: Delivery) -> _Door:
    return _door(letter.channel, letter.recipient)


class _Lease(NamedTuple):
    """One taking of one delivery: what a person has resent begins anew, at another instant."""

    key: int
    written_at: int
    attempts: int


def channels_of(config: Config, env: Mapping[str, str]) -> dict[str, Channel]:
    """The channels this configuration names: `file` always, the others when they have somebody to tell."""
    from retro.deliver.file import file_channel  # noqa: PLC0415  what mail needs is heavy: only when it is wanted

    channels: dict[str, Channel] = {"file": file_channel(config)}
    if config.mail.host:
        from retro.deliver.mail.channel import mail_channel  # noqa: PLC0415

        channels["mail"] = mail_channel(config, env)
    from retro.deliver.notify import notify_channel  # noqa: PLC0415

    notify = notify_channel(config, env)
    if notify.recipients(config):
        channels["notify"] = notify
    return channels


def send_all(
    bench: WorkContext,
    tally: PassSummary,
    digests: Sequence[int] = (outbox.ALONE, outbox.AGENT, outbox.FLEET),
) -> None:
    """Send what can be sent now: what stands alone first, then what was gathered, one message a recipient.

    Of the bucket at hand, where there is one; what goes out for all agents together is of none.
    """
    if not _fail_unroutable(bench, tally):
        return
    progress = _Pass()
    for digest in digests:
        while not bench.stopping():
            bench.beat()
            letters = _take(bench, digest=digest)
            if not letters:
                break
            parcels = [letters] if digest else [[letter] for letter in letters]
            outcomes = [*_send_each(bench, parcels, progress.sent_leases)]
            _record_outcomes(bench, outcomes, tally, progress)
    tally.unreached += len(progress.missed - progress.reached)


def ask_again(bench: WorkContext) -> None:
    """Let each channel that letters wait for be asked anew, with one of them: a run by hand or from a timer comes rarely.

    Where it is taken the others follow in the same pass.
    """
    with bench.store.read() as conn:
        doors = {_door(channel, recipient) for channel, recipient in outbox.pending_recipients(conn)}
    if doors:
        now = bench.clock()
        with bench.store.write() as conn:
            for door in sorted(doors, key=lambda door: (door.channel, door.recipient or "")):
                outbox.ask_again(conn, now, *door)


def _take(bench: WorkContext, *, digest: int) -> list[Delivery]:
    """A message's letters, or of a channel that minds no repeat as many as fit into one transaction."""
    now, lease = bench.clock(), bench.lease
    with bench.store.read() as conn:
        names = outbox.ripe_channels(conn, now, bench.channels, digest=digest, bucket=bench.bucket)
        if digest == outbox.FLEET:
            names = [name for name in names if is_together(conn, bench.config, name, now)]
    if not names:
        return []
    with bench.store.write() as conn:
        for name in names:
            limit = 1 if digest else _AT_ONCE.get(name, 1)
            letters = outbox.claim(
                conn, bench.owner, now, lease, name, digest=digest, limit=limit, bucket=bench.bucket
            )
            if letters:
                return (
                    [*letters, *outbox.claim_digest_group(conn, letters[0], bench.owner, now, lease)]
                    if digest
                    else letters
                )
    return []


def _send_each(
    bench: WorkContext, parcels: Sequence[list[Delivery]], sent_leases: set[_Lease]
) -> Iterator[tuple[list[Delivery], Outcome]]:
    """Hand over messages one by one; those that are read together are read before the first of them goes.

    A message may speak for several letters; the newest is its head and stands last.
    """
    for letters in parcels:
        letters.sort(key=lambda letter: (letter.period_end, letter.key))
    remaining = [*parcels]
    while remaining:
        messages = _messages(bench, remaining)
        for letters, message in zip(remaining, messages, strict=False):
            yield letters, _send(bench, letters, message, sent_leases)
        remaining = remaining[len(messages) :]


def _messages(bench: WorkContext, parcels: Sequence[list[Delivery]]) -> list[Message | Outcome]:
    """The messages of the first parcels, one at least, or what becomes of letters of which none can be made."""
    try:
        with bench.store.read() as conn:
            reader = MessageReader(conn, bench.config)
            ready = reader.read_ahead([letters[-1] for letters in parcels])
            return [_message(bench, conn, reader, letters) for letters in parcels[: len(ready)]]
    except DBAPIError as error:  # a statement of ours that does not parse
        return [_outcome_of(error)]


def _message(
    bench: WorkContext, conn: Connection, reader: MessageReader, letters: Sequence[Delivery]
) -> Message | Outcome:
    *older, head = letters
    try:
        if head.digest == outbox.FLEET:
            message = fleet_message_of(conn, bench.config, letters)
        else:
            message = reader.message(head, older)
        return replace(message, written_at_us=head.written_at)
    except (StoreError, DBAPIError):
        raise
    except Exception as error:  # noqa: BLE001  one letter must not stop the others
        return _outcome_of(error)


def _send(
    bench: WorkContext, letters: Sequence[Delivery], message: Message | Outcome, sent_leases: set[_Lease]
) -> Outcome:
    """Hand over one message, once under a lease."""
    head = letters[-1]
    leases = {_Lease(letter.key, letter.written_at, letter.attempts) for letter in letters}
    try:
        again = leases & sent_leases
        invariant(not again, "a delivery is sent once under a lease", f"{head.channel} of {head.review_id}")
        sent_leases |= leases
        return bench.channels[head.channel].send(message) if isinstance(message, Message) else message
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  a channel that breaks is tried again like one that cannot be reached
        return _outcome_of(error)


def _outcome_of(error: Exception) -> Outcome:
    why = f"{type(error).__name__}: {error}"
    # after a broken invariant nobody gets it again: a person looks first
    return Rejected(why) if isinstance(error, InvariantError) else Retry(why)


def _record_outcomes(
    bench: WorkContext,
    sent: Sequence[tuple[list[Delivery], Outcome]],
    tally: PassSummary,
    progress: _Pass,
) -> None:
    """Record what became of messages, in one transaction unless one of them is not ours any more, and say it."""
    now = bench.clock()
    fates = [(letters, *_next_state(bench, letters, outcome, now, progress)) for letters, outcome in sent]
    open_doors = {_door_of(letters[-1]) for letters, state, _, _ in fates if state == "sent"} - progress.woken
    progress.woken |= open_doors
    tried = {lease.key for lease in progress.sent_leases} if open_doors else ()
    try:
        with bench.store.write() as conn:
            for door in sorted(open_doors):
                outbox.wake(conn, now, *door, without=tried)
            # all rows first, in the order of their keys, so that nobody deadlocks
            outbox.QUEUE.lock(conn, [letter.key for letters, *_ in fates for letter in letters])
            for (state, noted), letters in _alike(fates):
                outbox.record(conn, letters, state, **dict(noted))
    except LostClaimError as error:
        if len(sent) == 1:
            tally.lost += 1
            bench.log("letter_lost", level="warning", review=sent[0][0][-1].review_id, reason=str(error))
            return
        for message in sent:
            _record_outcomes(bench, [message], tally, progress)
        return
    for letters, state, level, values in fates:
        tally.sent += len(letters) * (state == "sent")
        tally.refused += len(letters) * (state == "failed")
        tally.postponed += len(letters) * (state == "pending")
        (progress.reached if state == "sent" else progress.missed).add(letters[-1].channel)
        event = {"sent": "letter_sent", "failed": "letter_failed", "pending": "letter_postponed"}[state]
        head, why = letters[-1], {"reason": values["reason"]} if "reason" in values else {}
        named = {"agent": head.agent, "review": head.review_id, "channel": head.channel}
        bench.log(event, level=level, **named, letters=len(letters), **why)


def _alike(
    fates: Iterable[tuple[list[Delivery], str, str, dict[str, object]]],
) -> list[tuple[tuple[str, tuple[tuple[str, object], ...]], list[Delivery]]]:
    """The letters of each state and what is noted with it, for one statement each."""
    groups: dict[tuple[str, tuple[tuple[str, object], ...]], list[Delivery]] = {}
    for letters, state, _, values in fates:
        groups.setdefault((state, tuple(values.items())), []).extend(letters)
    return [*groups.items()]


def _next_state(
    bench: WorkContext, letters: Sequence[Delivery], outcome: Outcome, now: int, progress: _Pass
) -> tuple[str, str, dict[str, object]]:
    """The state of letters after an outcome, how loudly that is said, and what is noted with it."""
    head = letters[-1]
    if isinstance(outcome, Sent):
        return "sent", "debug" if head.channel in _QUIET else "info", {"sent_at": now}
    reason = plain_text(str(redact(outcome.reason, bench.secrets)))[:_LONGEST_REASON]
    waited = now - min(letter.written_at for letter in letters)
    if isinstance(outcome, Rejected) or (waited >= _GIVEN_UP_AFTER and head.attempts >= _TRIED):
        return "failed", "error", {"reason": reason}
    wait = backoff(head.attempts, bench.rng)
    if _door_of(head) not in progress.tried:  # the one that asks whether the channel is there again
        wait = min(wait, round(bench.config.service.knock_seconds * SECOND / 2))
    progress.tried.add(_door_of(head))
    asked_until = None
    if outcome.after_s is not None:
        wait = max(wait, min(round(outcome.after_s * SECOND), 6 * LONGEST_WAIT))
        asked_until = now + wait
    return "pending", "warning", {"reason": reason, "not_before": now + wait, "asked_until": asked_until}


def _fail_unroutable(bench: WorkContext, tally: PassSummary) -> bool:
    """Letters of a channel or to a recipient that the configuration no longer names go nowhere; whether any waited."""
    recipients = {name: channel.recipients(bench.config) for name, channel in bench.channels.items()}
    with bench.store.read() as conn:
        waiting = outbox.pending_recipients(conn)
    for name, recipient in waiting:
        if recipient in recipients.get(name, ()):
            continue
        reason = (
            f"the configuration names no {name}" if name not in recipients else "is not a recipient any more"
        )
        with bench.store.write() as conn:
            tally.refused += outbox.fail_all(conn, name, recipient, reason)
        bench.log("letters_without_address", level="error", channel=name, reason=reason)
    return bool(waiting)


# what a message says

"""Can the service do its work: the clock and calendar it goes by, who works on the database, what waits, and the mail."""

from __future__ import annotations

import ctypes
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.app.context import policy_of
from retro.app.doctor.check import Examination, broken, note, ok
from retro.deliver.channel import Sent
from retro.kinds import KINDS
from retro.periods import SECOND, period_at, zone
from retro.store.facts import agents
from retro.store.jobs import claims, outbox, pages, reviews

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from retro.app.doctor.check import Check, Installation
    from retro.store.facts.agents import Agent

__all__ = ["CHECKS", "clock", "letters", "lock", "mail", "owed", "schedule", "time_zone"]

_PATIENCE_S: Final = 5.0
_AHEAD: Final = 120 * SECOND
_YEAR_AND_MORE: Final = 400
_SHOWN: Final = 3
_LOCKS: Final = Path("/proc/locks")
_UNSYNCHRONISED: Final = 5
_TIMEX_BYTES: Final = 256


def clock(house: Installation) -> Iterator[Check]:
    """Whether the clock is kept in step, and not behind what was done already."""
    newest = None
    if house.store is not None:
        with house.store.read() as conn:
            newest = reviews.newest_done(conn)
    if newest is not None and newest > house.now + _AHEAD:
        shows, did = (_moment(at, zone("UTC")) for at in (house.now, newest))
        yield broken(
            "clock", f"it shows {shows} UTC, and a review was made at {did}: set it right, the ledger heals"
        )
        return
    in_step = _in_step()
    if in_step:
        yield ok("clock", "a time server keeps it in step")
    elif in_step is None:
        yield ok("clock", "not behind anything known; whether a time server keeps it cannot be told here")
    else:
        yield note(
            "clock", "no time server keeps it in step; reviews are due by it (timedatectl set-ntp true)"
        )


def _in_step() -> bool | None:
    """What the kernel says of its clock; None where it cannot be asked."""
    ask = getattr(ctypes.CDLL(None, use_errno=True), "adjtimex", None)
    state = -1 if ask is None else ask(ctypes.create_string_buffer(_TIMEX_BYTES))
    return None if state < 0 else state != _UNSYNCHRONISED


def time_zone(house: Installation) -> Iterator[Check]:
    """The owner's zone, and when its clocks change next."""
    name = house.config.owner.time_zone
    tz = zone(name)
    today = datetime.fromtimestamp(house.now / SECOND, UTC).replace(hour=12, minute=0, second=0)
    days = [(today + timedelta(days=n)).astimezone(tz) for n in range(_YEAR_AND_MORE)]
    change = next((day for day in days if day.utcoffset() != days[0].utcoffset()), None)
    after = "its clocks do not change" if change is None else f"its clocks change on {change:%a %Y-%m-%d}"
    yield ok("time zone", f"{name}; {after}")


def lock(house: Installation) -> Iterator[Check]:
    """Who works on the database: on SQLite one process at a time."""
    store = house.store
    if store is None:
        return
    if store.path is None:
        with store.read() as conn:
            lease_count = len(claims.QUEUE.leases_of_others(conn, ""))
        yield ok("lock", f"processes may share this database; reviews held now: {lease_count}")
        return
    holder = _holder(store.path.with_name(f"{store.path.name}.lock"))
    if holder is None:
        yield ok("lock", "no service holds the database")
    else:
        yield ok("lock", f"a service works on the database (process {holder})")
        yield from _configuration(store.path.with_name(f"{store.path.name}.lock"), holder)


def _configuration(lock: Path, holder: str) -> Iterator[Check]:
    """Whether the service that holds the lock goes by its file of configuration as it is now."""
    try:
        process, state, file = lock.read_text(errors="surrogateescape").splitlines()[:3]
    except (OSError, ValueError):  # an older version of this program, which noted nothing
        return
    if process != holder or state == _state_of(Path(file)):
        return
    yield note(
        "configuration",
        f"the service (process {holder}) goes by {file} as it was before: it reads it anew at its next knock, or at"
        f" once after `kill -HUP {holder}`, and keeps the old one where the file is faulty (`configuration_kept` in"
        " its log)",
    )


def _state_of(file: Path) -> str:
    """What the service notes of a file that it has read."""
    try:
        status = file.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"


def _holder(path: Path) -> str | None:
    """Who holds the lock, asked of the kernel: to try the lock would be in the way of a service that starts."""
    try:
        file = path.stat()
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
    except OSError:
        return None
    # an inode is one file of its device alone; the kernel writes MAJOR:MINOR:INODE, the device in hexadecimal
    device = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}"
    for row in rows:
        place, _, inode = row[5].rpartition(":")
        if row[1] == "FLOCK" and inode == str(file.st_ino) and (place == device or _has_open(row[4], file)):
            return row[4]
    return None


def _has_open(process: str, file: os.stat_result) -> bool:
    """Whether a process has a file open: some file systems show the kernel another device than they show us."""
    try:
        return any(os.path.samestat(handle.stat(), file) for handle in Path("/proc", process, "fd").iterdir())
    except OSError:  # it has ended, or is another user's
        return False


def schedule(house: Installation) -> Iterator[Check]:
    """When the next reviews fall due: each at the end of its period, or a little later when its data have settled.

    Agents go by the grid of their reviews; before the first agent the configuration's is told.
    """
    tz, days = zone(house.config.owner.time_zone), house.config.retrospective.epoch_interval_days
    grids: list[tuple[int | None, ZoneInfo, int]] = [(None, tz, days)]
    if house.store is not None:
        with house.store.read() as conn:
            living = [agent for agent in agents.agents(conn) if agent.first_at is not None]
        grids = [(agent.first_at, *_grid(agent, tz, days)) for agent in living] or grids
    for kind in policy_of(house.config).periods:
        ends = [
            (period_at(kind, house.now, own, birth=birth or 0, epoch_days=length).end, own)
            for birth, own, length in grids
            if (birth is not None or not KINDS[kind].from_birth) and (birth or 0) <= house.now
        ]
        if ends:
            end, own = min(ends, key=lambda pair: pair[0])
            yield ok("schedule", f"next {kind} review: {_moment(end, own)} {own.key}")


def _grid(agent: Agent, tz: ZoneInfo, days: int) -> tuple[ZoneInfo, int]:
    return (tz, days) if agent.grid is None else (zone(agent.grid.time_zone), agent.grid.epoch_days)


def owed(house: Installation) -> Iterator[Check]:
    """What the ledger waits for."""
    if house.store is None:
        return
    with house.store.read() as conn:
        counts = pages.counts_by_state(conn)
        parked = pages.reviews_after(conn, None, _SHOWN, state="parked")
        known_agents = agents.agents(conn)
    if parked:
        named = ", ".join(review.id for review in parked) + (", ..." if counts["parked"] > _SHOWN else "")
        yield broken(
            "reviews", f"{counts['parked']} parked: {named}; `retro reviews --state parked` says why"
        )
    if counts["due"]:
        yield note(
            "reviews", f"{counts['due']:,} due; `retro run`, or `retro run --once` from cron, makes them"
        )
    elif not counts and known_agents:
        yield note("reviews", "none is stored yet; `retro run`, or `retro run --once` from cron, makes them")
    elif counts and not parked:
        yield ok("reviews", f"{counts['done']:,} done, {counts['waiting']:,} waiting for their data")


def letters(house: Installation) -> Iterator[Check]:
    """What could not be delivered."""
    if house.store is None:
        return
    with house.store.read() as conn:
        failed, waiting = outbox.count(conn, "failed"), outbox.count(conn, "pending")
    if failed:
        yield note("delivery", f"messages that failed for good: {failed:,}; `retro deliver` says why")
    if waiting:
        yield note("delivery", f"messages that wait to be sent: {waiting:,}")


def mail(house: Installation) -> Iterator[Check]:
    """Whether the mail server can be reached and lets us in; nothing is sent."""
    table = house.config.mail
    if not table.host:
        yield ok("mail", "no [mail] host: reviews are files, and what [notify] names")
        return
    from retro.deliver.mail.channel import mail_channel  # noqa: PLC0415  heavy: only where mail is wanted

    outcome = mail_channel(house.config, house.env, patience_s=_PATIENCE_S).reach()
    place = f"{table.host}:{table.server_port}"
    people = f"{len(table.recipients)} recipient{'' if len(table.recipients) == 1 else 's'}"
    if isinstance(outcome, Sent):
        how = {"none": "in clear", "starttls": "STARTTLS", "tls": "TLS"}[table.security]
        yield ok("mail", f"{place} answers ({how}); {people}: {', '.join(table.kinds)}")
    else:
        yield broken("mail", f"{outcome.reason}; until that is mended mails wait")


def _moment(at: int, tz: ZoneInfo) -> str:
    return f"{datetime.fromtimestamp(at / SECOND, tz):%a %Y-%m-%d %H:%M}"


CHECKS: Final = (
    Examination("clock", clock),
    Examination("time zone", time_zone),
    Examination("schedule", schedule),
    Examination("lock", lock),
    Examination("owed", owed),
    Examination("letters", letters),
    Examination("mail", mail),
)
"""In the order in which they are told."""

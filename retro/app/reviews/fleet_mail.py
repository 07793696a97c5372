"""One mail a week for all agents: when the letters of their weeks are together, and what it says of them.

A letter of each agent's week waits in the outbox as any other does; they go out as one message, and all are sent by it.
What is made again later waits for the next week's, which says what was corrected.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.app.reviews.fleet import FleetQuestion, fleet_report, lines_of_revisions, name_of_week, week_ends
from retro.app.reviews.messages import message_of
from retro.periods import DAY, HOUR, week_of, week_start, zone
from retro.report.fleet import WeekCorrection
from retro.store.jobs import fleet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from retro.config import Config
    from retro.deliver.channel import Message
    from retro.store.jobs.outbox import Delivery

__all__ = ["fleet_message_of", "is_together"]

_PATIENCE: Final = 30 * HOUR
"""For how long one agent's week is waited for: longer than any zone lies behind another."""
_CORRECTIONS_WAIT: Final = 8 * DAY
"""For how long a correction waits for the next week's mail; then it goes by itself."""
_LISTED: Final = 20


def is_together(conn: Connection, config: Config, channel: str, now: int) -> bool:
    """Whether what waits to go out for all agents can: a new week of which nothing is still to come, or old corrections."""
    waiting = fleet.letters_together(conn, channel)
    if waiting is None:
        return False
    if waiting.newest_end is None:
        return now - waiting.written_at >= _CORRECTIONS_WAIT
    if now - waiting.week_written_at >= _PATIENCE:
        return True
    after, until = week_ends(name_of_week(waiting.newest_end))
    lag = round(config.retrospective.settle_lag_hours * HOUR)
    zones = {config.owner.time_zone, *fleet.zones(conn)}
    # half a week back is inside the week in every zone
    inside = waiting.newest_end - 84 * HOUR
    last_end = max(week_start(week_of(inside, zone(name)) + 1, zone(name)) for name in zones)
    return now >= last_end + lag and not fleet.is_week_open(conn, after, until)


def fleet_message_of(conn: Connection, config: Config, letters: Sequence[Delivery]) -> Message:
    """The message of all agents' letters to one recipient; what it says is as of when the newest of them was written.

    Its identity is the letters it speaks for: the same letters are the same mail, whenever they are sent again.
    """
    first = [letter for letter in letters if letter.revision == 1] or list(letters)
    head = max(first, key=lambda letter: (letter.period_end, letter.key))
    week = name_of_week(head.period_end)
    corrected = [letter for letter in letters if letter.revision > 1]
    corrections = _corrections(conn, corrected[-_LISTED:])
    question = FleetQuestion(
        now=max(letter.written_at for letter in letters),
        week=week,
        corrections=corrections,
        corrections_omitted=len(corrected) - len(corrections),
        older=sum(name_of_week(letter.period_end) != week for letter in first),
    )
    spoken_for = sorted((letter.review_id, letter.revision) for letter in letters)
    digest = hashlib.sha256(repr(spoken_for).encode()).hexdigest()[:12]
    return replace(
        message_of(conn, config, head),
        review_id="fleet",
        agent="all agents",
        revision=1,
        period_key=f"{week}.{digest}",
        previous=None,
        generated_at_us=question.now,
        fleet=fleet_report(conn, config, question),
    )


def _corrections(conn: Connection, letters: Sequence[Delivery]) -> tuple[WeekCorrection, ...]:
    """What each review that was made again said before, and says now."""
    corrections = []
    for letter in letters:
        before, now = lines_of_revisions(conn, letter.review, (letter.revision - 1, letter.revision))
        if now is not None:
            corrections.append(
                WeekCorrection(
                    review=letter.review_id,
                    revision=letter.revision,
                    before=None if before is None else before.pnl,
                    pnl=now.pnl,
                    currency=now.currency,
                )
            )
    return tuple(corrections)

"""What the agent did and decided in a period, and what it realised by that."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import groupby
from math import fsum
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from playbook.citation import resolve
from retro.accounting.order import natural_key
from retro.evaluate.position.foresight import ENTRY_ACTIONS, EXIT_ACTIONS, cites_of
from retro.periods import format_instant
from retro.report import Action
from retro.report.slotted import new

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retro.accounting.track import PositionHistory
    from retro.model import Decision
    from retro.periods import Period

__all__ = ["actions", "closed_in", "in_period"]

_instant = attrgetter("at")


def in_period(track: PositionHistory, period: Period) -> bool:
    """Whether a position belongs to a period's list: entered before its end, open or left since its start."""
    return track.opened_at < period.end and (track.closed_at is None or track.closed_at >= period.start)


def closed_in(track: PositionHistory, period: Period) -> bool:
    """Whether a position was closed in a period."""
    return track.closed_at is not None and period.start <= track.closed_at < period.end


def actions(
    decisions: Sequence[Decision],
    tracks: Sequence[PositionHistory],
    period: Period,
    claims: Mapping[str, str],
) -> list[Action]:
    """What the agent decided in the period, and trades no decision tells of."""
    by_name = {track.position.position: track for track in tracks}
    rows: list[tuple[int, str, Action]] = []
    for decision in decisions:
        track = by_name.get(decision.position or "")
        rows.append(
            (
                decision.at,
                decision.id,
                new(
                    Action,
                    at=format_instant(decision.at),
                    action=decision.action,
                    position_id=decision.position,
                    instrument=decision.instrument or (track.position.instrument if track else None),
                    cites=list(resolve(cites_of(decision), claims)),
                    realized_pnl=_realized(track, decision)
                    if track and decision.action in EXIT_ACTIONS
                    else None,
                ),
            )
        )
    for track in tracks:
        rows += _untold(track, period)
    rows.sort(key=itemgetter(0))
    out: list[Action] = []
    for _, group in groupby(rows, key=itemgetter(0)):
        ties = list(group)
        if len(ties) > 1:
            ties.sort(key=lambda row: natural_key(row[1]))
        out += [action for _, _, action in ties]
    return out


def _realized(track: PositionHistory, decision: Decision) -> float | None:
    """What the fills of an exit decision realised: those until the position's next decision."""
    decided, closings = (
        track.decisions,
        track.closings,
    )  # both in order of time: that is how a position is replayed
    later = bisect_right(decided, decision.at, key=_instant)
    first, end = bisect_left(closings, decision.at, key=_instant), len(closings)
    if later < len(decided):
        end = bisect_left(closings, decided[later].at, key=_instant)
    parts = [closing.realized for closing in closings[first:end]]
    return fsum(parts) if parts else None


def _untold(track: PositionHistory, period: Period) -> list[tuple[int, str, Action]]:
    recorded_actions = {d.action for d in track.decisions}
    out: list[tuple[int, str, float | None]] = []
    if not recorded_actions & ENTRY_ACTIONS and period.start <= track.opened_at < period.end:
        out.append((track.opened_at, "enter", None))
    if not recorded_actions & EXIT_ACTIONS and closed_in(track, period) and track.closed_at is not None:
        out.append(
            (track.closed_at, "exit", fsum(c.realized for c in track.closings if c.at == track.closed_at))
        )
    return [
        (
            at,
            track.position.position,
            new(
                Action,
                at=format_instant(at),
                action=action,
                position_id=track.position.position,
                instrument=track.position.instrument,
                cites=[],
                realized_pnl=pnl,
            ),
        )
        for at, action, pnl in out
    ]

"""Which positions turned out otherwise than they felt at first, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from retro.accounting.order import natural_key
from retro.evaluate.position.checkpoints import sampled
from retro.evaluate.position.foresight import foreseen
from retro.periods import HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.evaluate.position.life import PositionPath
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Decision

__all__ = ["CHECKPOINTS", "Likeness", "Reversal", "likeness_of", "reversals"]

CHECKPOINTS: Final = (("1h", HOUR), ("4h", 4 * HOUR))
"""The points by which a position has made its first impression; a path that is judged here has these offsets."""

_FADES: Final = 0.85
"""What a replay leaves of the wish for the next one."""


class Likeness(NamedTuple):
    """What positions have in common that are like one another."""

    strategy: str
    side: str | None
    regime: str | None


class _Impression(NamedTuple):
    """How a position stood, or felt, at first."""

    value: float
    source: Literal["4h", "1h", "valence"]


@dataclass(frozen=True, slots=True)
class Reversal:
    """A position that ended with another sign than it began with; money in base currency.

    `size` is the distance of both as a share of the `notional`, `score` what replays have left of it.
    """

    row: PositionSummary
    decision: Decision
    immediate: float
    source: Literal["4h", "1h", "valence"]
    retrospective: float
    notional: float
    size: float
    replays: int
    score: float


def reversals(
    lives: Iterable[PositionPath], rows: Mapping[str, PositionSummary], replays: Mapping[str, int]
) -> list[Reversal]:
    """The reversals among closed positions that are believed and were decided on, by score, then the earliest entry.

    `lives` have the offsets `CHECKPOINTS`; `rows` and `replays` are by position.
    """
    out = []
    for life in lives:
        row = rows.get(life.track.position.position)
        decision = _entry_decision(life)
        if row is None or decision is None or row.vs_inaction is None or not row.notional:
            continue
        first = _impression(life, decision)
        if row.closed_at is None or row.flagged_at is not None or first is None:
            continue
        if first.value * row.vs_inaction >= 0:
            continue
        felt = 0.0 if first.source == "valence" else first.value
        size = abs(row.vs_inaction - felt) / row.notional
        count = replays.get(row.position, 0)
        out.append(
            Reversal(
                row,
                decision,
                first.value,
                first.source,
                row.vs_inaction,
                row.notional,
                size,
                count,
                size * _FADES**count,
            )
        )
    return sorted(out, key=lambda each: (-each.score, each.row.opened_at, natural_key(each.row.position)))


def likeness_of(life: PositionPath) -> Likeness:
    """What a position is held to be like: its strategy, its side, the regime that its entry decision told."""
    decision = _entry_decision(life)
    regime = (decision.context or {}).get("regime") if decision is not None else None
    position = life.track.position
    return Likeness(position.strategy, position.side, None if regime is None else str(regime))


def _entry_decision(life: PositionPath) -> Decision | None:
    """The first that counts as evidence."""
    return next((decision for decision in foreseen(life.track) if decision.action == "enter"), None)


def _impression(life: PositionPath, decision: Decision) -> _Impression | None:
    """Its pnl at the last checkpoint it lived to see, else the sign of how it felt; None where neither is known."""
    first_hour, fourth = sampled(life).before
    if fourth is not None:
        return _Impression(fourth.pnl, "4h")
    if first_hour is not None:
        return _Impression(first_hour.pnl, "1h")
    if not decision.valence:
        return None
    return _Impression(1.0 if decision.valence > 0 else -1.0, "valence")

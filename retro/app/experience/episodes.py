"""What an agent decided, as the memory is told of it: one episode for each resolved decision. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from retro.evaluate.position.foresight import cites_of
from retro.model import Decision
from retro.periods import SECOND, format_instant, parse_instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.model import Fact
    from retro.report import PositionRetrospective

__all__ = [
    "INACTION",
    "DecisionTrail",
    "episodes_of",
    "inaction_episode",
    "lives_of",
    "name_of",
    "plan_context",
]

INACTION: Final = ("skip", "hold")
"""Decisions to do nothing."""
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class DecisionTrail:
    """What was decided during a position's life, in order, and what was risked on it by its entry."""

    decisions: tuple[Decision, ...] = ()
    risk: float | None = None

    @property
    def entry(self) -> Decision | None:
        """The decision that opened it."""
        entries = [decision for decision in self.decisions if decision.action in ("enter", "increase")]
        return next(
            (decision for decision in entries if decision.action == "enter"), entries[0] if entries else None
        )

    def context_at(self, at: str | None) -> dict[str, Any] | None:
        """The situation as it was stated last before an instant, on top of the one at the entry; None: not since."""
        until = None if at is None else parse_instant(at)
        contexts = [
            decision.context
            for decision in self.decisions
            if decision.context and until is not None and decision.at <= until
        ]
        if len(contexts) < 2:
            return None
        return {name: value for context in contexts for name, value in context.items()}


def lives_of(facts: Iterable[Fact], risks: Mapping[str, float]) -> dict[str, DecisionTrail]:
    """Position -> its life, from the facts that name it; those that say nothing of it have none.

    `risks` are the book's, base currency: what a position says of itself later than its entry is no risk.
    """
    decisions: dict[str, list[Decision]] = {}
    for fact in facts:
        if isinstance(fact, Decision) and fact.position is not None:
            decisions.setdefault(fact.position, []).append(fact)
    return {
        name: DecisionTrail(
            tuple(sorted(decisions.get(name, ()), key=lambda decision: (decision.at, decision.id))),
            risks.get(name),
        )
        for name in decisions.keys() | risks.keys()
    }


def _name(text: str | None) -> str | None:
    """A foreign name as an episode takes it."""
    printable = "".join(c for c in text or "" if c.isprintable())
    return printable[:_LONGEST_NAME] or None


def name_of(decision: Decision) -> str:
    """The id of the episode of a decision that is not a position's."""
    return f"{decision.action}:{decision.id}"


def plan_context(decision: Decision, inside: PositionRetrospective | None) -> dict[str, Any]:
    """The context as a plan sees it: strategy, symbol and direction stand in it beside what the agent stated."""
    side = None if inside is None else inside.side or inside.kind
    return {
        **(decision.context or {}),
        "strategy": decision.strategy or (inside.strategy if inside is not None else None),
        "symbol": decision.instrument or (inside.instrument if inside is not None else None),
        "direction": decision.action if decision.action in INACTION else side,
    }


def episodes_of(position: PositionRetrospective, life: DecisionTrail) -> list[dict[str, Any]]:
    """The episodes of a closed position: itself, and the decisions inside it to do nothing."""
    entry = life.entry
    episode = _decided(entry) | {
        "id": position.position_id,
        "agent": position.agent,
        "at": position.exit_at,
        "strategy": _name(position.strategy) or _name(entry.strategy if entry is not None else None),
        "symbol": _name(position.instrument),
        "direction": position.side or position.kind,
        "entry_price": position.entry_price,
        "size": position.quantity,
        "exit_price": position.exit_price,
        "pnl": position.final_pnl,
        "pnl_r": position.pnl_r,
        "held_for_s": position.duration_s,
        "mae": position.mae,
        "tags": list(dict.fromkeys([*position.cites.entry, *position.cites.exit])),
        "kind": position.kind,
        "venue": position.venue or None,
        "exit_reason": position.exit_reason,
        "risk": life.risk,
    }
    idle = [decision for decision in life.decisions if decision.action in INACTION]
    return [_without_none(episode), *(inaction_episode(decision, position) for decision in idle)]


def inaction_episode(decision: Decision, inside: PositionRetrospective | None) -> dict[str, Any]:
    """The episode of a decision to do nothing. It has no outcome of its own: a position's is told once, by itself."""
    ended = parse_instant(inside.exit_at) if inside is not None and inside.exit_at else decision.at
    ended = max(ended, decision.at)
    return _without_none(
        _decided(decision)
        | {
            "id": name_of(decision),
            "agent": decision.agent,
            "at": format_instant(ended),
            "strategy": _name(decision.strategy or (inside.strategy if inside is not None else None)),
            "symbol": _name(decision.instrument or (inside.instrument if inside is not None else None)),
            "direction": decision.action,
            "held_for_s": (ended - decision.at) / SECOND,
            "tags": list(dict.fromkeys(cites_of(decision))),
            "position": None if inside is None else inside.position_id,
        }
    )


def _decided(decision: Decision | None) -> dict[str, Any]:
    """How it was decided: situation, confidence, feeling and reasons, in the agent's own words."""
    if decision is None:
        return {}
    return {
        "confidence": decision.confidence,
        "valence": decision.valence,
        "context": decision.context,
        "reasoning": decision.reasoning or None,
    }


def _without_none(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}

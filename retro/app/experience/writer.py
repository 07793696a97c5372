"""Writing one review into the memory; nothing but `remember` calls it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from memory import (
    Retrospective,
    amend,
    known_episodes,
    observe_plans,
    plans,
    remember,
    state,
    suggest_plans,
)
from memory.errors import RefusedError
from memory.situation.context import encoded
from retro.app.experience.episodes import (
    INACTION,
    DecisionTrail,
    episodes_of,
    inaction_episode,
    lives_of,
    name_of,
    plan_context,
)
from retro.app.experience.narratives import KINDS_WITH_LESSONS, keep_narrative
from retro.app.experience.settings import capital_of, memory_settings
from retro.app.settlement.book import measured_settings
from retro.kinds import KINDS
from retro.model import Decision
from retro.periods import parse_instant
from retro.report import PositionRetrospective
from retro.store.books.positions import risks
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    import memory
    from memory.experience.hindsight import Unit
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.report.document import Document
    from retro.store.jobs.reviews import Review

__all__ = ["Learned", "write_review"]

_CHUNK: Final = 200


@dataclass(frozen=True, slots=True)
class Learned:
    """What a review left in the memory; `faults` tell of what it could not take."""

    episodes: int = 0
    amended: int = 0
    plans_made: int = 0
    plans_fired: int = 0
    faults: tuple[str, ...] = ()


def write_review(
    conn: Connection, review: Review, document: Document, settings: AgentSettings, config: Config
) -> Learned:
    """Tell the memory of everything a review judged, in the caller's transaction. Doing so again changes nothing."""
    if isinstance(document, PositionRetrospective):
        known_at = parse_instant(document.exit_at or document.entry_at) + settings.options.settle_lag
    else:
        known_at = parse_instant(document.generated_at)
    rules = measured_settings(conn, review.agent, settings).options.rules
    terms = memory_settings(config, capital_of(conn, review.agent, config))
    scribe = _MemoryWriter(conn, review, terms, rules.unit, known_at)
    if isinstance(document, PositionRetrospective):
        scribe.judge([document])
    else:
        closed = [p for p in document.positions if p.closed_in(review.period_start, review.period_end)]
        scribe.judge(closed)
        scribe.period({p.position_id: p for p in document.positions})
        if review.kind in KINDS_WITH_LESSONS and not document.is_uneventful:
            episodes = [p.position_id for p in closed if p.is_believed]
            scribe.faults += keep_narrative(conn, review, document, known_at, episodes)
    return Learned(
        episodes=scribe.episodes,
        amended=scribe.amended,
        plans_made=scribe.plans_made,
        plans_fired=scribe.plans_fired,
        faults=tuple(scribe.faults),
    )


class _MemoryWriter:
    """Writes one review down; `known_at` is when it knew."""

    def __init__(
        self, conn: Connection, review: Review, terms: memory.Settings, unit: Unit, known_at: int
    ) -> None:
        self.conn, self.review, self.agent = conn, review, review.agent
        self.terms, self.unit, self.known_at = terms, unit, known_at
        self.episodes = self.amended = self.plans_made = self.plans_fired = 0
        self.faults: list[str] = []

    def judge(self, positions: Sequence[PositionRetrospective]) -> None:
        """Tell of closed positions nobody told of yet; amend those that the review sees otherwise than was known."""
        closed = [p for p in positions if p.exit_at is not None and p.is_believed]
        for first in range(0, len(closed), _CHUNK):
            some = {p.position_id: p for p in closed[first : first + _CHUNK]}
            episodes = self._episodes(some)
            fresh = [p for name, p in some.items() if name not in episodes]
            news = fresh + [
                p for name, p in some.items() if name in episodes and self._differs(p, *episodes[name])
            ]
            if not news:
                continue
            names = [p.position_id for p in news]
            lives = lives_of(
                events.of_positions(self.conn, self.agent, names), risks(self.conn, self.agent, names)
            )
            if fresh:
                self._tell(
                    row for p in fresh for row in episodes_of(p, lives.get(p.position_id, DecisionTrail()))
                )
                episodes = self._episodes(some)
            for position in news:
                if position.position_id in episodes:  # else it was at fault, which is told of already
                    retrospective = self._retrospective(position, episodes[position.position_id][0])
                    life = lives.get(position.position_id, DecisionTrail())
                    retrospective = replace(
                        retrospective, peak_context=life.context_at(position.optimal_exit_at)
                    )
                    amend(self.conn, self.agent, position.position_id, retrospective)
                    self.amended += 1

    def _episodes(
        self, names: Iterable[str]
    ) -> dict[str, tuple[memory.Episode, memory.Retrospective | None]]:
        return known_episodes(self.conn, self.agent, list(names))

    def _differs(
        self,
        position: PositionRetrospective,
        episode: memory.Episode,
        before: memory.Retrospective | None,
    ) -> bool:
        return before is None or _figures(before) != _figures(self._retrospective(position, episode))

    def _tell(self, episodes: Iterable[dict[str, Any]]) -> None:
        rows = [{**row, "context": self._fitting(row.get("context") or {})} for row in episodes]
        done = remember(self.conn, rows, settings=self.terms, where=self.review.id)
        self.episodes += done.stored
        self.faults += [f"{rows[(fault.line or 1) - 1].get('id')}: {fault.reason}" for fault in done.faults]

    def _fitting(self, context: dict[str, Any]) -> dict[str, Any]:
        """The context without fields whose value is not of their kind: one slip must not cost the whole memory."""
        valid_context = dict(context)
        for field in self.terms.registry.fields:
            try:
                encoded(field, valid_context.get(field.name))
            except RefusedError as error:
                self.faults.append(f"left out: {error}")
                del valid_context[field.name]
        return valid_context

    def _retrospective(
        self, position: PositionRetrospective, episode: memory.Episode
    ) -> memory.Retrospective:
        """What the review found out, in the configured unit; None where a figure cannot be told in it."""
        notional = position.notional
        sizes = {"usd": 1.0, "r": _risk(position, episode), "bps": notional / 1e4 if notional else None}
        size = sizes[self.unit]

        def in_unit(amount: float | None) -> float | None:
            return None if amount is None or not size else amount / size

        return Retrospective(
            review=self.review.id,
            at=self.known_at,
            vs_inaction=in_unit(position.vs_inaction),
            regret=in_unit(position.regret),
            pnl=position.final_pnl,
            unit=self.unit,
        )

    # everything of a period that is no closed position

    def period(self, positions: Mapping[str, PositionRetrospective]) -> None:
        """Decisions to do nothing, what plans saw, and the plans that the agent's state calls for."""
        start, end = self.review.period_start, self.review.period_end
        decision_facts = events.between(self.conn, self.agent, start, end, types=[Decision])
        decisions = sorted(
            (fact for fact in decision_facts if isinstance(fact, Decision)),
            key=lambda decision: (decision.at, decision.id),
        )
        idle = {
            name_of(decision): decision
            for decision in decisions
            if decision.action in INACTION and decision.position is None
        }
        episodes = self._episodes(idle)
        self._tell(
            inaction_episode(decision, None) for name, decision in idle.items() if name not in episodes
        )
        self._observe([decision for decision in decisions if decision.context], positions)
        if KINDS[self.review.kind].plans and (positions or decisions):  # the silent need no defence
            suggested_plans = suggest_plans(
                self.conn, self.agent, as_of=self.known_at, review=self.review.id, settings=self.terms
            )
            self.plans_made += len(suggested_plans)

    def _observe(self, decisions: Sequence[Decision], positions: Mapping[str, PositionRetrospective]) -> None:
        """Let the plans see each situation the agent stated, in order of time."""
        if not decisions or not plans(self.conn, self.agent):
            return
        for decision in decisions:
            context = plan_context(decision, positions.get(decision.position or ""))
            if context.get("drawdown_pct") is None and self.terms.capital is not None:
                context["drawdown_pct"] = state(
                    self.conn, self.agent, as_of=decision.at, settings=self.terms
                ).drawdown
            self.plans_fired += len(observe_plans(self.conn, self.agent, context, at=decision.at))


def _figures(retrospective: memory.Retrospective) -> tuple[float | str | None, ...]:
    return retrospective.vs_inaction, retrospective.regret, retrospective.pnl, retrospective.unit


def _risk(position: PositionRetrospective, episode: memory.Episode) -> float | None:
    """One R of a position: as the episode keeps it, else from the same figure in money and in R.

    None where the review knows of none: what an episode was told then was no risk of the entry.
    """
    if position.pnl_r is None:
        return None
    risk = episode.more.get("risk")
    if isinstance(risk, int | float) and risk > 0:
        return float(risk)
    for amount, multiple in ((position.final_pnl, position.pnl_r), (position.mae, position.mae_r)):
        if amount and multiple:
            return amount / multiple
    return None

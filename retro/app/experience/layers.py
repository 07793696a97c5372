"""The layers of an agent's library take their step with each daily review, in the transaction that finishes it.

Feedback is by what came of the decisions that cited an item or had it in front of them (`feedback`). A
day that is told after a later one moves nothing: a step goes forward. The library is an enhancement: when it is damaged
the review is finished without it and the log says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from retro.app.context import Consequence
from retro.figures import count, money_of
from retro.kinds import DAILY
from retro.model import Decision
from retro.periods import DAY, format_instant
from retro.report import RetrospectiveReport
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from memory.library.condensation import CondensedGroup
    from memory.library.embedder import Embedded
    from memory.library.layers.preset import LayerPreset
    from retro.config import Config
    from retro.report import PositionRetrospective
    from retro.report.document import Document
    from retro.store.jobs.reviews import Review

__all__ = ["stepping", "take_day"]

_LOOK_BACK = 7 * DAY


def stepping(
    config: Config, log: Callable[..., None], words: Callable[[str], str | None] = lambda _: None
) -> Consequence:
    """What the layers do when a daily review is finished, as the service calls it; `words` are a model's of a group."""

    def take(conn: Connection, review: Review, document: Document) -> None:
        if review.kind == DAILY.name and isinstance(document, RetrospectiveReport):
            fault = take_day(conn, review, document, config, words)
            if fault is not None:
                log("layers_not_stepped", level="warning", review=review.id, reason=fault)

    return Consequence("layers", take)


def take_day(
    conn: Connection,
    review: Review,
    document: RetrospectiveReport,
    config: Config,
    words: Callable[[str], str | None],
) -> str | None:
    """Step every symbol in whose layers the agent has items, in the caller's transaction; gives what kept it from that."""
    try:
        from memory.library.layers.preset import layer_preset  # noqa: PLC0415  another package may have the memory's name

        with conn.begin_nested():
            _Day(conn, review, document, layer_preset(config.memory.layers), config, words).take()
    except DBAPIError:
        raise
    except Exception as error:  # noqa: BLE001  a review is worth more than its library; the log tells of it
        return f"{type(error).__name__}: {error}"
    return None


class _Day:
    """One day of one agent's layers."""

    def __init__(
        self,
        conn: Connection,
        review: Review,
        document: RetrospectiveReport,
        preset: LayerPreset,
        config: Config,
        words: Callable[[str], str | None],
    ) -> None:
        self.conn, self.review, self.document, self.preset = conn, review, document, preset
        self.config, self.words = config, words
        self.agent, self.at = review.agent, review.period_end
        closed = [p for p in document.positions if p.closed_in(review.period_start, review.period_end)]
        self.closed = [position for position in closed if position.is_believed]

    def take(self) -> None:
        """Step, condense, and look back where that is due, symbol by symbol."""
        from memory.library.condensation import condensable  # noqa: PLC0415  as above
        from memory.library.steps import step_layers  # noqa: PLC0415
        from memory.store import layers as rows  # noqa: PLC0415
        from retro.app.experience.feedback import by_positions, by_prices  # noqa: PLC0415

        symbols, look_back = rows.symbols(self.conn, self.agent), self.preset.look_back
        results = {position.position_id: position.final_pnl or 0.0 for position in self.closed}
        feedback = by_positions(self.conn, self.agent, results) if symbols else {}
        for symbol in symbols:
            last = rows.latest(self.conn, self.agent, symbol, "step")
            if last is not None and last.at >= self.at:
                continue
            mentions = feedback.get(symbol, [])
            if look_back is not None:
                base = self.document.base_currency
                mentions = [*mentions, *by_prices(self.conn, self.agent, symbol, self.at, look_back, base)]
            step_layers(self.conn, self.agent, symbol, at=self.at, preset=self.preset, feedback=mentions)
            for group in condensable(self.conn, self.agent, symbol, at=self.at):
                self._condense(symbol, group)
            self._look_back(symbol, [mention.id for mention in mentions])

    def _condense(self, symbol: str, group: CondensedGroup) -> None:
        """Make one item of a group: in a model's words, where there are any, else in those of the one in its middle."""
        from memory.library.condensation import condense, condensed_id  # noqa: PLC0415  as above

        identity = condensed_id(group)
        words = self.words(identity)
        embedded = None if words is None else self._meaning(identity, words)
        condense(
            self.conn,
            self.agent,
            symbol,
            group,
            at=self.at,
            preset=self.preset,
            words=words,
            embedded=embedded,
        )

    # looking back

    def _look_back(self, symbol: str, named_items: Sequence[str]) -> None:
        """Store a reflection where one is due: code's sentence, with its figures."""
        from memory.library.condensation import ReflectionNote, reflect, reflection_id  # noqa: PLC0415
        from memory.library.layers.reflections import ReflectionFacts, reflection_triggers  # noqa: PLC0415
        from retro.app.experience.equity import week_return  # noqa: PLC0415

        strategies, regimes = self._changes(symbol)
        triggers = reflection_triggers(
            ReflectionFacts(
                at=self.at,
                since=self._since(symbol),
                week_return=week_return(self.conn, self.agent, self.at),
                strategies=strategies,
                regimes=regimes,
            )
        )
        if not triggers:
            return
        closed = [p for p in self.closed if not symbol or p.instrument == symbol]
        note = ReflectionNote(
            symbol,
            self.at,
            self._sentence(symbol, "; ".join(trigger.words for trigger in triggers), closed),
            parents=tuple(sorted({self.review.id, *named_items, *(p.position_id for p in closed)})),
            metadata={"asked_by": [trigger.kind for trigger in triggers], "review": self.review.id},
        )
        reflect(self.conn, self.agent, note, self._meaning(reflection_id(note), note.text))

    def _meaning(self, identity: str, text: str) -> Embedded | None:
        """The vector of one sentence by the model that the library is searched by, where that is on this machine."""
        from memory.library.embedder import embed_texts  # noqa: PLC0415
        from memory.store import library  # noqa: PLC0415
        from retro.app.experience.models import local_model  # noqa: PLC0415

        model = local_model(self.config, library.head(self.conn, self.agent).model)
        return None if model is None else embed_texts(model, {(self.agent, identity): text})

    def _sentence(self, symbol: str, why: str, closed: Sequence[PositionRetrospective]) -> str:
        day = format_instant(self.review.period_start)[:10]
        amounts = [p.final_pnl or 0.0 for p in closed]
        total = money_of(self.document.base_currency, amounts).change(sum(amounts))
        came = f"{count(len(closed), 'position')} closed for {total}" if closed else "no position closed"
        return f"{symbol or 'All symbols'} on {day}: {why}. That day {came}."

    def _since(self, symbol: str) -> int | None:
        """When the agent last reflected on the symbol, else when the first item of its layers is of."""
        from memory.store import layers as rows  # noqa: PLC0415

        last = rows.latest(self.conn, self.agent, symbol, "reflection")
        if last is not None:
            return last.at
        return min((row.at for row in rows.states_of(self.conn, self.agent, symbol)), default=None)

    def _changes(self, symbol: str) -> tuple[tuple[str | None, str | None], tuple[str | None, str | None]]:
        """(strategy now, before), (regime now, before): of the day's last decision on the symbol and the one before it."""
        instruments = {p.position_id: p.instrument for p in self.document.positions}
        decisions = [
            decision
            for decision in events.between(
                self.conn, self.agent, self.at - _LOOK_BACK, self.at, types=[Decision]
            )
            if not symbol or symbol in (decision.instrument, instruments.get(decision.position or ""))
        ]
        decisions.sort(key=lambda decision: (decision.at, str(decision.id)))
        if len(decisions) < 2 or decisions[-1].at < self.review.period_start:
            return (None, None), (None, None)
        now, before = decisions[-1], decisions[-2]
        return (now.strategy, before.strategy), (_regime(now), _regime(before))


def _regime(decision: Decision) -> str | None:
    value = (decision.context or {}).get("regime")
    return value if isinstance(value, str) else None

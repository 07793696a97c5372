"""What is most worth replaying: positions that felt otherwise at first than they turned out, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.settle import settled_book
from retro.app.settlement.tracks import Extent, load_tracks
from retro.errors import UnknownError, UsageError
from retro.evaluate.claims.dreams import CHECKPOINTS, likeness_of, reversals
from retro.evaluate.position.life import Lookahead, PositionPath
from retro.evaluate.predictions import PredictionIndex, first_resolutions, words_of
from retro.evaluate.whatif.entered import entered_lives
from retro.evaluate.whatif.rule import GRID, parse_rule
from retro.evaluate.whatif.search import what_if
from retro.model import Prediction, Resolution
from retro.periods import FOREVER, format_instant
from retro.report.evaluators.dreams import BetterRule, Dream
from retro.store.facts import events
from retro.store.facts.replays import record_replay, replay_counts
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.claims.dreams import Likeness, Reversal
    from retro.report.position import EntryPrediction
    from retro.store.database import Store

__all__ = ["DreamQuestion", "dreams", "mark_replayed"]

_LEAST_ALIKE: Final = 10
_Chances = dict["Likeness", tuple[BetterRule | None, str]]


@dataclass(frozen=True, slots=True)
class DreamQuestion:
    """Whose positions, how many at most, and what was told before when (microseconds; None: all)."""

    store: Store
    agent: str
    settings: AgentSettings
    limit: int = 50
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class _Remembered:
    """Everything that the dreams of a question rest on."""

    lives: dict[str, PositionPath]
    reversals: list[Reversal]
    predictions: dict[str, list[EntryPrediction]]


def dreams(question: DreamQuestion) -> list[Dream]:
    """The reversals that are most worth replaying, best first; `UsageError` for none asked for."""
    if question.limit < 1:
        raise UsageError(f"-n: {question.limit} is less than 1")
    settings = question.settings
    with settled_book(question.store, question.agent, settings, measured=False) as book:
        remembered = _remembered(book, question)
    chances: _Chances = {}
    out = []
    for reversal in remembered.reversals:
        name = reversal.row.position
        like = likeness_of(remembered.lives[name])
        if like not in chances:
            alike = [life for life in remembered.lives.values() if likeness_of(life) == like]
            chances[like] = _better_rule(alike, settings, seed_of_life(question.agent))
        better, why = chances[like]
        out.append(_dream(reversal, remembered.predictions.get(name, []), better, why))
    return out


def mark_replayed(store: Store, agent: str, settings: AgentSettings, position: str, at: int) -> int:
    """Note that a position was replayed at an instant of the clock; how often it was by then, this time counted.

    `UnknownError` without the position.
    """
    key = name_of(position)
    with settled_book(store, agent, settings, measured=False) as book:
        if all(row.position != key for row in book.positions()):
            raise UnknownError(f"agent {agent} has no position {position!r}; `retro positions` lists them")
    with store.write() as conn:
        record_replay(conn, agent, position, at)
        return replay_counts(conn, agent, FOREVER)[key]


def _remembered(book: SettledBook, question: DreamQuestion) -> _Remembered:
    before = FOREVER if question.as_of is None else question.as_of
    until = book.known_at(question.as_of)
    rows = {row.position: row for row in book.positions_known(before - 1) if row.closed_at is not None}
    extent = Extent(until, until + 1, until, until)
    loaded = load_tracks(book.life, book.settings, sorted(rows), extent)
    horizon = Lookahead(until + 1, until, None, CHECKPOINTS)
    lives = {
        name_of(name): PositionPath(track, horizon, loaded.prices) for name, track in loaded.tracks.items()
    }
    counts = replay_counts(book.conn, book.name, before)
    ranked = reversals(lives.values(), rows, counts)[: question.limit]
    forecasts = events.between(book.conn, book.name, -FOREVER, before, types=[Prediction]) if ranked else []
    resolutions = events.between(book.conn, book.name, -FOREVER, before, types=[Resolution]) if ranked else []
    first = first_resolutions(resolutions)
    index, claims = PredictionIndex(forecasts), book.settings.options.rules.claims
    names = [reversal.row.position for reversal in ranked]
    predictions = {name: words_of(lives[name].track, index, first, claims).predictions for name in names}
    return _Remembered(lives, ranked, predictions)


def _better_rule(
    alike: Sequence[PositionPath], settings: AgentSettings, seed: int
) -> tuple[BetterRule | None, str]:
    """The best of the grid over positions that are alike; None, and why, where no such thing can be said."""
    plain = [life for life in alike if life.track.position.kind in {"spot", "perp"}]
    entered = entered_lives(plain, settings.options.rules.claims, settings.zone)
    if len(entered) < _LEAST_ALIKE:
        return None, f"insufficient: {len(entered)} spot and perp positions like it, of {_LEAST_ALIKE}"
    report = what_if(entered, [parse_rule(text) for text in GRID], seed, with_rows=False)
    best = max(report.rules, key=lambda row: row.difference)
    if best.difference <= 0:
        return None, f"no way to leave of {len(GRID)} would have made more of the {len(entered)} like it"
    better = BetterRule(
        rule=best.rule,
        n=len(entered),
        touched=best.touched,
        difference=best.difference,
        interval=best.interval,
        p_max=report.search.p_max,
    )
    return better, ""


def _dream(
    reversal: Reversal, predictions: list[EntryPrediction], better: BetterRule | None, why: str
) -> Dream:
    row, decision = reversal.row, reversal.decision
    reasons: dict[str, str] = {} if better is not None else {"counterfactual": why}
    if row.regret is None:
        reasons["regret"] = "its marks do not tell"
    return Dream(
        position=row.position,
        at=format_instant(row.opened_at),
        immediate=reversal.immediate,
        immediate_from=reversal.source,
        retrospective=reversal.retrospective,
        reversal=reversal.size,
        notional=reversal.notional,
        context=decision.context or {},
        reasoning=decision.reasoning or None,
        predictions=predictions,
        final_pnl=row.final_pnl,
        exit_reason=row.exit_reason,
        regret=row.regret,
        replays=reversal.replays,
        score=reversal.score,
        counterfactual=better,
        reasons=reasons,
    )

"""What a review reads: the facts and marks of its window, the wallet it began with, and what the book remembers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retro.accounting.books import step, steps
from retro.accounting.wallet import Wallet
from retro.app.settlement.book import WALLET_TYPES, history_of, opening_of, read_rows
from retro.app.settlement.tracks import load_tracks
from retro.evaluate.audit.history import history_from
from retro.kinds import KINDS
from retro.model import Decision, Prediction, Resolution
from retro.periods import DAY, day_starts, period_at, period_before
from retro.store.books import positions
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.tracks import Loaded
    from retro.evaluate.audit.history import History
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Fact
    from retro.periods import Period

__all__ = [
    "PredictionSet",
    "WindowMoney",
    "grid_of",
    "load_predictions",
    "money_of",
    "rolling_week",
    "rows_since",
    "week_before",
]


def rolling_week(period: Period, settings: AgentSettings) -> int:
    """The start of the day 7 days before the period's end."""
    day = period_at("daily", max(period.end - 6 * DAY - DAY // 2, 0), settings.zone)
    return period_before(day, settings.zone).end


def grid_of(period: Period, settings: AgentSettings) -> list[int]:
    """Day boundaries from 7 days before the period's end or from its start, whichever is earlier, to its end."""
    first = min(rolling_week(period, settings), period.start)
    return sorted({*day_starts(first, period.end, settings.zone), period.start})


def week_before(period: Period, settings: AgentSettings) -> tuple[int, int] | None:
    """The week before a weekly review's own, whatever the clocks did; None for every other review."""
    if not KINDS[period.horizon].compares:
        return None
    before = period_before(period, settings.zone)
    return before.start, before.end


@dataclass(frozen=True, slots=True)
class WindowMoney:
    """The wallet before the first boundary, what moved it since besides positions, and the positions."""

    wallet: Wallet
    facts: list[Fact]
    loaded: Loaded


def money_of(
    conn: Connection,
    agent: str,
    settings: AgentSettings,
    names: Iterable[str],
    *,
    start: int,
    until: int,
    known_until: int,
    marks_until: int,
    costs: Sequence[Fact],
) -> WindowMoney:
    """Replay these positions and all that facts since `start` touch; the wallet is its last stored day, moved on."""
    stored = positions.days_before(conn, agent, start)
    since = start if stored is None else stored[0]
    wallet = Wallet(settings.base_currency, settings.lot_method)
    if stored is not None:
        wallet = Wallet.from_json(settings.base_currency, settings.lot_method, stored[1])
    opening = opening_of(conn, agent)
    moved = events.between(conn, agent, since, until, types=WALLET_TYPES, wallet=True)
    moved += opening.facts(agent) if opening.birth >= since else []
    loaded = load_tracks(
        conn,
        agent,
        settings,
        sorted({*names, *events.positions_touched(conn, agent, since, until)}),
        until=until,
        known_until=known_until,
        marks_until=marks_until,
        extra_facts=[*moved, *costs],
        assets=wallet.assets,
        since=start,
    )
    moved += loaded.costs_of_orphans(since)
    effects = [(name, effect) for name, track in loaded.tracks.items() for effect in track.effects]
    for _, movement in steps(effects, moved, since, start):
        step(wallet, movement, loaded.prices)
    return WindowMoney(wallet, [fact for fact in moved if fact.at >= start], loaded)


@dataclass(frozen=True, slots=True)
class PredictionSet:
    """Predictions by id, those resolved in the period, and the last known outcome of each."""

    predictions: dict[str, Prediction]
    resolutions: list[Resolution]
    outcomes: dict[str, Resolution]


def load_predictions(
    conn: Connection, agent: str, facts: Iterable[Fact], start: int, until: int
) -> PredictionSet:
    """Predictions resolved in [start, until), or made for the positions of `facts` or their decisions."""
    facts = list(facts)
    decided = {fact.id: fact.at for fact in facts if isinstance(fact, Decision)}
    predictions = {fact.id: fact for fact in facts if isinstance(fact, Prediction)}
    if decided:  # what justified a decision was predicted shortly before it
        near = _predictions(
            events.between(conn, agent, min(decided.values()) - DAY, until, types=["prediction"])
        )
        predictions |= {fact.id: fact for fact in near if fact.decision in decided}
    resolved = _resolutions(events.between(conn, agent, start, until, types=["resolution"]))
    first = min((fact.at for fact in predictions.values()), default=start)
    earlier = events.between(conn, agent, first, start, types=["resolution"]) if first < start else []
    outcomes = sorted([*_resolutions(earlier), *resolved], key=lambda fact: fact.at)
    wanted = {fact.prediction for fact in resolved} - predictions.keys()
    predictions |= {
        fact.id: fact for fact in _predictions(events.by_ids(conn, agent, "prediction", sorted(wanted)))
    }
    return PredictionSet(predictions, resolved, {fact.prediction: fact for fact in outcomes})


def _predictions(facts: Iterable[Fact]) -> list[Prediction]:
    return [fact for fact in facts if isinstance(fact, Prediction)]


def _resolutions(facts: Iterable[Fact]) -> list[Resolution]:
    return [fact for fact in facts if isinstance(fact, Resolution)]


def rows_since(
    conn: Connection, agent: str, settings: AgentSettings, period: Period, since: int, known_until: int | None
) -> tuple[list[PositionSummary], History]:
    """The book's positions that matter from `since` on, and all citations that resolved before the period's end.

    `known_until` None: everything told is known; else what the book has learned after it is forgotten again.
    """
    if known_until is None:
        rows = read_rows(conn, agent, opened_before=period.end, since=since)
        return rows, history_of(conn, agent, settings, period.end)
    opened = read_rows(conn, agent, opened_before=min(period.end, known_until + 1))
    rows = [_as_known(row, known_until) for row in opened]
    return rows, history_from(rows, settings.options.rules).before(period.end)


def _as_known(row: PositionSummary, known_until: int) -> PositionSummary:
    decisions = tuple(cited for cited in row.decisions if cited.at <= known_until)
    flagged = row.flagged_at if row.flagged_at is None or row.flagged_at <= known_until else None
    row = replace(row, decisions=decisions, flagged_at=flagged)
    if row.closed_at is None or row.closed_at <= known_until:
        return row
    return replace(
        row,
        closed_at=None,
        final_pnl=None,
        vs_inaction=None,
        exit_outcome=None,
        exit_resolved_at=None,
        increases=(),
    )

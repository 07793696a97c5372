"""From the store to a report: which period, which facts, which marks; then `assemble` does the rest."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from retro.accounting.books import keep_books
from retro.app.proposals.evidence import proposed_by
from retro.app.reviews.model_costs import costs_of_reviewing
from retro.app.reviews.window import (
    grid_of,
    load_predictions,
    money_of,
    rolling_week,
    rows_since,
    week_before,
)
from retro.app.settlement.audit import _seed
from retro.app.settlement.book import known_until, opening_of
from retro.app.settlement.settle import ensure_settled
from retro.app.settlement.tracks import load_tracks
from retro.errors import UnknownError
from retro.evaluate.position.life import Lookahead
from retro.evaluate.report import Inputs, build, retrospective_of
from retro.periods import FOREVER, Period, day_of, midnight
from retro.store.books import positions
from retro.store.facts import events, faults
from retro.store.facts.last_told import last_told
from retro.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from retro.accounting.prices import Prices
    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.tracks import Loaded
    from retro.model import Fact
    from retro.report import PositionRetrospective, RetrospectiveReport
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["inputs_of", "review_period", "review_position"]


def _digest(facts: Iterable[Fact], prices: Prices, symbols: Iterable[str]) -> str:
    """A digest of the facts and marks a report rests on, the same in every database and order."""
    digest = hashlib.sha256()
    lines = sorted((type(fact).__name__, fact.id, _canonical(msgspec.structs.asdict(fact))) for fact in facts)
    for line in lines:
        digest.update(repr(line).encode("utf-8", "surrogatepass"))
    for symbol in sorted(symbols):
        line_ = prices.line(symbol)
        digest.update(
            symbol.encode()
            + np.ascontiguousarray(line_.t).tobytes()
            + np.ascontiguousarray(line_.price).tobytes()
        )
    return digest.hexdigest()[:16]


def _canonical(value: Any) -> str:
    """A spelling that is the same however a number was written: 1.0 is "1.00"."""
    match value:
        case Decimal():
            return str(value.normalize())
        case dict():
            return repr([(str(name), _canonical(part)) for name, part in sorted(value.items())])
        case list() | tuple():
            return repr([_canonical(part) for part in value])
        case _:
            return repr(value)


def inputs_of(
    conn: Connection,
    agent: Agent,
    settings: AgentSettings,
    period: Period,
    grid: list[int],
    names: list[str],
    now: int,
    marks_until: int,
) -> Inputs:
    """Everything a report on a period is made of: `names` and all positions touched, valued on `grid`, known `now`."""
    name, until = agent.name, min(period.end, now + 1)
    costs = events.between(conn, name, period.start, until, types=["cost"])
    money = money_of(
        conn,
        name,
        settings,
        names,
        start=grid[0],
        until=until,
        known_until=now,
        marks_until=marks_until,
        costs=costs,
    )
    loaded = money.loaded
    decisions = events.between(conn, name, period.start, until, types=["decision"])
    prediction_set = load_predictions(conn, name, loaded.facts, period.start, until)
    reviewing = costs_of_reviewing(conn, name, settings, grid[0], until)
    moved = sorted([*money.facts, *reviewing.costs], key=lambda fact: fact.at)
    facts_read = [*loaded.facts, *money.facts, *decisions, *prediction_set.resolutions]
    return Inputs(
        agent=name,
        base_currency=settings.base_currency,
        zone=settings.zone,
        period=period,
        week_before=week_before(period, settings),
        week_start=next((at for at in grid if at >= rolling_week(period, settings)), grid[0]),
        known_until=now,
        told_until=last_told(conn, agent, min(period.end - 1, now)) or now,
        capital_known=opening_of(conn, name).capital_known,
        tracks=loaded.tracks,
        books=keep_books(loaded.tracks, money.wallet, moved, grid, now, loaded.prices),
        prices=loaded.prices,
        **_from_the_book(conn, agent, settings, period, grid[0], now, loaded),
        decisions=decisions,  # type: ignore[arg-type]
        costs=[*costs, *(cost for cost in reviewing.costs if cost.at >= period.start)],  # type: ignore[list-item]
        predictions=prediction_set.predictions,
        resolutions=prediction_set.resolutions,
        last_resolutions=prediction_set.outcomes,
        warnings=_warnings(loaded.orphans) + reviewing.warnings(period.start, settings.base_currency),
        quarantined=faults.count(conn),
        digest=_digest(
            {(type(f), f.id): f for f in [*facts_read, *prediction_set.predictions.values()]}.values(),
            loaded.prices,
            {t.position.instrument for t in loaded.tracks.values()},
        ),
        seed=_seed(name, period),
        version=__version__,
        options=settings.options,
    )


def _from_the_book(
    conn: Connection,
    agent: Agent,
    settings: AgentSettings,
    period: Period,
    start: int,
    now: int,
    loaded: Loaded,
) -> dict[str, Any]:
    """What is remembered of settled positions and of statements, as known `now`."""
    before = week_before(period, settings)
    since = min(start, period.start if before is None else before[0])
    cutoff = None if now >= known_until(agent) else now
    rows, history = rows_since(conn, agent.name, settings, period, since, cutoff)
    return {
        "rows": rows,
        "history": history,
        "implausible_before": _implausible_pnl_before(conn, agent.name, loaded, settings, start, now),
        "discrepancies": positions.discrepancies(conn, agent.name, min(period.end, now)),
    }


def _implausible_pnl_before(
    conn: Connection, agent: str, loaded: Loaded, settings: AgentSettings, start: int, now: int
) -> tuple[float, ...]:
    """What flagged positions, closed or open at an instant, had made by then since the day that flagged them."""
    amounts = positions.implausible(conn, agent, start)
    for track in loaded.tracks.values():
        is_closed = track.closed_at is not None and track.closed_at < start
        if track.flagged_at is None or track.flagged_at >= start or is_closed:
            continue
        day = midnight(day_of(track.flagged_at, settings.zone), settings.zone)
        before, after = (track.state(at, now, loaded.prices).pnl for at in (day, start))
        amounts.append(after - before)
    return tuple(amounts)


def _warnings(orphans: Iterable[str]) -> list[str]:
    return [
        f"{name}: facts name this position, but no `position` event says what it is; only its costs are counted"
        for name in sorted(orphans)
    ]


def review_period(
    store: Store,
    agent: Agent,
    settings: AgentSettings,
    period: Period,
    *,
    as_of: int | None = None,
    ended: bool = False,
) -> RetrospectiveReport:
    """The report of a period; stores nothing but the derived book.

    `as_of` is now, in place of K. `ended`: the wall clock says that the period is over, so what is open is valued at
    its end even where the agent has been silent since; periods then add up, whenever each was reviewed.
    """
    ensure_settled(store, agent, settings)
    grid = grid_of(period, settings)
    now = known_until(agent) if as_of is None else as_of
    now = max(now, period.end) if ended else now
    with store.read() as conn:
        alive = positions.positions(conn, agent.name, opened_before=period.end, alive_at=grid[0])
        inputs = inputs_of(
            conn,
            agent,
            settings,
            period,
            grid,
            [row.position for row in alive],
            now,
            period.end + settings.options.settle_lag,
        )
        report = build(inputs)
        proposed = proposed_by(conn, report, settings, inputs.history)
    return report.model_copy(update={"playbook_proposals": proposed})


def review_position(
    store: Store, agent: Agent, settings: AgentSettings, position: str, *, after_until: int | None = None
) -> PositionRetrospective:
    """The whole life of one position; what came after it is read up to `after_until`, or with all marks there are."""
    ensure_settled(store, agent, settings)
    now = known_until(agent)
    with store.read() as conn:
        facts = events.of_positions(conn, agent.name, [position])
        if not any(type(fact).__name__ == "Position" for fact in facts):
            raise UnknownError(
                f"agent {agent.name} has no position {position!r}; `retro positions` lists them"
            )
        loaded = load_tracks(
            conn,
            agent.name,
            settings,
            [position],
            until=now + 1,
            known_until=now,
            marks_until=FOREVER,
        )
        start = min(fact.at for fact in facts)
        prediction_set = load_predictions(conn, agent.name, loaded.facts, start, now + 1)
        return retrospective_of(
            loaded.tracks[position],
            loaded.prices,
            settings.options,
            agent=agent.name,
            horizon=Lookahead(
                now + 1, now, after_until, settings.options.offsets, settings.options.use_highs_lows
            ),
            predictions=prediction_set.predictions,
            outcomes=prediction_set.outcomes,
        )

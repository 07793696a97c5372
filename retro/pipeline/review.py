"""From the store to a report: which period, which facts, which marks; then `assemble` does the rest."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from retro import __version__
from retro.assemble.citations import audit_period, items_of
from retro.assemble.document import Inputs, build, retrospective_of
from retro.assemble.ledger import keep_books, step, steps
from retro.assemble.wallet import Wallet
from retro.errors import UnknownError, UsageError
from retro.periods import DAY, Period, day_starts, format_instant, period_at, period_before
from retro.pipeline.load import load_tracks
from retro.pipeline.settle import (
    WALLET_TYPES,
    history_of,
    is_stale,
    known_until,
    opening_of,
    read_rows,
    settle,
)
from retro.store import agents as shelf_agents
from retro.store import book as shelf
from retro.store import facts, faults
from retro.store.horizon import last_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from retro.assemble.prices import Prices
    from retro.assemble.track import Track
    from retro.model import Fact, Prediction, Resolution
    from retro.periods import Horizon
    from retro.pipeline.settings import Settings
    from retro.report import HeuristicReport, PositionRetrospective, RetrospectiveReport
    from retro.store.agents import Agent
    from retro.store.engine import Store

__all__ = [
    "audit_life",
    "choose_period",
    "inputs_of",
    "named_agent",
    "review_period",
    "review_position",
    "settled",
]

_WEEK: Final = 7 * DAY
_AFTERWARDS: Final = 31 * DAY
_FOREVER: Final = 1 << 62


def named_agent(conn: Connection, name: str | None) -> Agent:
    """The agent of that name, or the only one there is; `UsageError` lists them where one has to be chosen."""
    known = shelf_agents.agents(conn)
    if name is not None:
        found = [agent for agent in known if agent.name == name]
        if not found:
            names = ", ".join(agent.name for agent in known) or "none yet; see `retro ingest --help`"
            raise UsageError(f"there is no agent {name!r}; known: {names}")
        return found[0]
    if not known:
        raise UsageError(
            "the database holds no agent yet; start with `retro ingest journal FILE` or `retro ingest freqtrade DB`"
        )
    if len(known) > 1:
        raise UsageError(
            "several agents; choose one with --agent: " + ", ".join(agent.name for agent in known)
        )
    return known[0]


def settled(store: Store, agent: Agent, settings: Settings) -> None:
    """Make sure the agent's book speaks for its facts."""
    with store.read() as conn:
        if not is_stale(conn, agent.name, settings):
            return
    with store.write() as conn:
        settle(conn, agent, settings)


def choose_period(
    agent: Agent,
    settings: Settings,
    horizon: Horizon,
    *,
    at: int | None = None,
    span: tuple[int, int] | None = None,
    as_of: int | None = None,
) -> Period:
    """The period asked for: exactly `span`, the one that contains `at`, or the last one complete by the newest fact.

    An agent younger than one period gets the period it lives in.
    """
    if agent.first_at is None:
        raise UnknownError(f"agent {agent.name} has no events yet")
    if span is not None:
        start, end = span
        if start >= end:
            raise UsageError(f"--from {format_instant(start)} is not before --to {format_instant(end)}")
        return Period("custom", start, end, f"{format_instant(start)}_{format_instant(end)}")
    now = min(known_until(agent), as_of) if as_of is not None else known_until(agent)
    epoch = {"birth": agent.first_at, "epoch_days": settings.epoch_days}
    current = period_at(horizon, now if at is None else at, settings.zone, **epoch)
    if at is not None or current.end <= now:
        return current
    before = period_before(current, settings.zone, **epoch)
    return before if before.end > agent.first_at else current


def _grid(period: Period, settings: Settings) -> list[int]:
    """Day boundaries from 7 days before the period's end (for the rolling week) or its start, to its end."""
    start = period_before(
        period_at("daily", max(period.end - 6 * DAY - DAY // 2, 0), settings.zone), settings.zone
    ).end
    first = min(start, period.start)
    return sorted({*day_starts(first, period.end, settings.zone), period.start})


def _digest(told: Iterable[Fact], prices: Prices, symbols: Iterable[str]) -> str:
    """A digest of the facts and marks a report rests on, the same in every database and order."""
    digest = hashlib.sha256()
    lines = sorted((type(fact).__name__, fact.id, _canonical(msgspec.structs.asdict(fact))) for fact in told)
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


def _seed(agent: str, period: Period) -> int:
    text = f"{agent}|{period.horizon}|{period.start}|{period.end}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _wallet_at(
    conn: Connection, agent: str, settings: Settings, at: int, tracks: Mapping[str, Track], prices: Prices
) -> Wallet:
    """The wallet before the events at an instant: the last stored day, moved on."""
    found = shelf.days_before(conn, agent, at)
    if found is None:
        return Wallet(settings.base_currency, settings.lot_method)
    wallet = Wallet.from_json(settings.base_currency, settings.lot_method, found[1])
    told = [
        *opening_of(conn, agent).facts(agent),
        *facts.between(conn, agent, found[0], at, types=WALLET_TYPES, wallet=True),
    ]
    effects = [(name, effect) for name, track in tracks.items() for effect in track.effects]
    for _, what in steps(effects, told, found[0], at):
        step(wallet, what, prices)
    return wallet


def _predictions(
    conn: Connection, agent: str, told: list[Fact], period: Period
) -> tuple[dict[str, Prediction], list[Resolution], dict[str, Resolution]]:
    """Predictions resolved in the period or made for its positions, with their resolutions."""
    resolutions: list[Resolution] = facts.between(conn, agent, period.start, period.end, types=["resolution"])  # type: ignore[assignment]
    made: dict[str, Prediction] = {f.id: f for f in told if type(f).__name__ == "Prediction"}  # type: ignore[misc]
    decisions = [f.id for f in told if type(f).__name__ == "Decision"]
    wanted = {r.prediction for r in resolutions} - made.keys()
    made |= {f.id: f for f in facts.by_ids(conn, agent, "prediction", sorted(wanted))}  # type: ignore[misc]
    lived = [f.at for f in told if f.id in decisions]
    if lived:
        near = facts.between(conn, agent, min(lived), period.end, types=["prediction"])
        made |= {f.id: f for f in near if getattr(f, "decision", None) in set(decisions)}  # type: ignore[misc]
    return made, resolutions, {r.prediction: r for r in sorted(resolutions, key=lambda r: r.at)}


def inputs_of(
    conn: Connection,
    agent: Agent,
    settings: Settings,
    period: Period,
    grid: list[int],
    names: list[str],
    now: int,
    marks_until: int,
) -> Inputs:
    """Everything a report of a period is made of: positions by name, books on a grid, marks up to an instant."""
    until = min(period.end, now + 1)
    wallet_from = shelf.days_before(conn, agent.name, grid[0])
    since = grid[0] if wallet_from is None else wallet_from[0]
    names = sorted({*names, *facts.positions_touched(conn, agent.name, since, until)})
    opening = opening_of(conn, agent.name)
    wallet_facts = [
        *(opening.facts(agent.name) if opening.birth >= grid[0] else ()),
        *facts.between(conn, agent.name, grid[0], until, types=WALLET_TYPES, wallet=True),
    ]
    costs = facts.between(conn, agent.name, period.start, until, types=["cost"])
    tracks, prices, told, orphans = load_tracks(
        conn, agent.name, settings, names, until=until, marks_until=marks_until, more=[*wallet_facts, *costs]
    )
    wallet = _wallet_at(conn, agent.name, settings, grid[0], tracks, prices)
    books = keep_books(tracks, wallet, wallet_facts, grid, now, prices)
    decisions = facts.between(conn, agent.name, period.start, until, types=["decision"])
    predictions, resolutions, last = _predictions(conn, agent.name, told, period)
    warnings = [
        f"{name}: facts name this position, but no `position` event says what it is; they are left out"
        for name in orphans
    ]
    first_of_all = [*told, *wallet_facts, *decisions, *resolutions, *predictions.values()]
    # the alarm compares with the period before, and exits are judged up to 7 days after they were made
    rows = read_rows(
        conn, agent.name, opened_before=period.end, since=min(grid[0], 2 * period.start - period.end)
    )
    return Inputs(
        agent=agent.name,
        base_currency=settings.base_currency,
        zone=settings.zone,
        period=period,
        known_until=now,
        told_until=last_told(conn, agent, min(marks_until, now)),
        capital_known=opening.capital_known,
        tracks=tracks,
        books=books,
        prices=prices,
        rows=rows,
        history=history_of(conn, agent.name, settings, period.end),
        implausible_before=tuple(shelf.implausible(conn, agent.name, grid[0])),
        decisions=decisions,  # type: ignore[arg-type]
        costs=costs,  # type: ignore[arg-type]
        predictions=predictions,
        resolutions=resolutions,
        last_resolutions=last,
        discrepancies=shelf.discrepancies(conn, agent.name, period.end),
        warnings=warnings,
        quarantined=faults.count(conn),
        digest=_digest(
            {(type(f), f.id): f for f in first_of_all}.values(),
            prices,
            {t.position.instrument for t in tracks.values()},
        ),
        seed=_seed(agent.name, period),
        version=__version__,
        options=settings.options,
    )


def review_period(
    store: Store,
    agent: Agent,
    settings: Settings,
    period: Period,
    *,
    as_of: int | None = None,
    ended: bool = False,
) -> RetrospectiveReport:
    """The report of a period; stores nothing but the derived book.

    `ended`: the wall clock says that the period is over, so what is open is valued at its end even where the agent
    has been silent since; periods then add up, whenever each was reviewed.
    """
    settled(store, agent, settings)
    grid = _grid(period, settings)
    now = known_until(agent) if as_of is None else min(as_of, known_until(agent))
    now = max(now, period.end) if ended else now
    with store.read() as conn:
        alive = shelf.positions(conn, agent.name, opened_before=period.end, alive_at=grid[0])
        return build(
            inputs_of(
                conn,
                agent,
                settings,
                period,
                grid,
                [row.position for row in alive],
                now,
                period.end + settings.options.settle_lag,
            )
        )


def review_position(store: Store, agent: Agent, settings: Settings, position: str) -> PositionRetrospective:
    """The whole life of one position, read with all marks there are."""
    settled(store, agent, settings)
    now = known_until(agent)
    with store.read() as conn:
        told = facts.of_positions(conn, agent.name, [position])
        if not any(type(fact).__name__ == "Position" for fact in told):
            raise UnknownError(
                f"agent {agent.name} has no position {position!r}; `retro positions` lists them"
            )
        start = min(fact.at for fact in told)
        period = Period("custom", start, now + 1, "")
        inputs = inputs_of(conn, agent, settings, period, [start, now + 1], [position], now, _FOREVER)
        return retrospective_of(inputs, inputs.tracks[position], whole=True)


def audit_life(store: Store, agent: Agent, settings: Settings) -> list[HeuristicReport]:
    """The citation audit over everything the agent ever did."""
    settled(store, agent, settings)
    end = known_until(agent) + 1
    period = Period("custom", agent.first_at or 0, max(end, (agent.first_at or 0) + 1), "life")
    rules = settings.options.rules
    with store.read() as conn:
        rows = read_rows(conn, agent.name, opened_before=_FOREVER)
        history = history_of(conn, agent.name, settings, _FOREVER)
    items = [item for row in rows for item in items_of(row, rules, rules.claims)]
    # marks may reach beyond the agent's last event: an exit they can judge is judged
    return audit_period(items, history, rules, period.start, _FOREVER, _seed(agent.name, period))

"""What a review reads: the facts and marks of its window, the wallet it began with, and what the book remembers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.books import step, steps
from retro.accounting.coins import coins_inside
from retro.accounting.wallet import Wallet
from retro.app.settlement.book import WALLET_TYPES
from retro.app.settlement.price_lines import PriceDemand
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.audit.history import history_from, joined
from retro.invariant import invariant
from retro.kinds import KINDS
from retro.model import Decision, Prediction, Resolution
from retro.periods import DAY, day_starts, format_instant, period_at, period_before
from retro.store.books import positions
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.tracks import Loaded
    from retro.evaluate.audit.history import History
    from retro.evaluate.position.summary import PositionSummary
    from retro.model import Fact
    from retro.periods import Period
    from retro.store.life import LifeReader

__all__ = [
    "PredictionSet",
    "Remembrance",
    "Week",
    "Window",
    "WindowMoney",
    "grid_of",
    "load_predictions",
    "money_of",
    "rolling_week",
    "rows_since",
    "week_before",
]


@dataclass(frozen=True, slots=True)
class Window:
    """What a report looks at: its period, the day boundaries it is valued on (`grid_of`), and what is known.

    Facts after `known_until` are as if nobody had told them yet, marks are read up to `marks_until`: a path goes on
    after the period for as long as its checkpoints ask for it. Microseconds.
    """

    period: Period
    grid: list[int]
    known_until: int
    marks_until: int

    def __post_init__(self) -> None:
        """A day that is missing, or that lies in the window twice, would be a wrong sum of right days."""
        ascends = all(day < following for day, following in pairwise(self.grid))
        ends = {self.period.start, self.period.end} <= {*self.grid}
        if not (ascends and ends):
            detail = ", ".join(map(format_instant, self.grid))
            invariant(
                holds=False, name="a window's days ascend and hold both ends of its period", detail=detail
            )

    @property
    def start(self) -> int:
        """The first boundary: the days of the rolling week before a short period belong to the window too."""
        return self.grid[0]

    @property
    def until(self) -> int:
        """Before which facts count: the period's end, or just after the last known instant."""
        return min(self.period.end, self.known_until + 1)


def rolling_week(period: Period, settings: AgentSettings) -> int:
    """The start of the day 7 days before the period's end."""
    day = period_at("daily", max(period.end - 6 * DAY - DAY // 2, 0), settings.zone)
    return period_before(day, settings.zone).end


def grid_of(period: Period, settings: AgentSettings) -> list[int]:
    """Day boundaries from 7 days before the period's end or from its start, whichever is earlier, to its end."""
    first = min(rolling_week(period, settings), period.start)
    return sorted({*day_starts(first, period.end, settings.zone), period.start})


class Week(NamedTuple):
    """A week of the owner's calendar, half-open, in microseconds."""

    start: int
    end: int


def week_before(period: Period, settings: AgentSettings) -> Week | None:
    """The week before a weekly review's own, whatever the clocks did; None for every other review."""
    if not KINDS[period.horizon].compares:
        return None
    before = period_before(period, settings.zone)
    return Week(before.start, before.end)


@dataclass(frozen=True, slots=True)
class WindowMoney:
    """The wallet before the first boundary, what moved it since besides positions, and the positions."""

    wallet: Wallet
    facts: list[Fact]
    loaded: Loaded


def money_of(book: SettledBook, window: Window, names: Iterable[str], costs: Sequence[Fact]) -> WindowMoney:
    """Replay these positions and all that the window's facts touch; the wallet is its last stored day, moved on."""
    life, agent, settings = book.life, book.name, book.settings
    start, until = window.start, window.until
    stored = positions.day_before(book.conn, agent, start)
    since = start if stored is None else stored.at
    wallet = Wallet(settings.base_currency, settings.lot_method)
    if stored is not None:
        wallet = Wallet.from_json(settings.base_currency, settings.lot_method, stored.wallet)
    opening = book.opening()
    moved = life.between(since, until, types=WALLET_TYPES, wallet=True)
    moved += opening.facts(agent) if opening.birth >= since else []  # else the stored day holds it already
    loaded = load_tracks(
        life,
        settings,
        sorted({*names, *life.positions_touched(since, until)}),
        Extent(min(window.known_until, book.known_until), until, window.known_until, window.marks_until),
        PriceDemand([*moved, *costs], wallet.assets.keys(), start, never_told=opening.never_told()),
    )
    moved += loaded.costs_of_orphans(since)
    effects = [(name, effect) for name, track in loaded.tracks.items() for effect in track.effects]
    inside = coins_inside(loaded.tracks, loaded.prices)
    for _, movement in steps(effects, moved, since, start):
        step(wallet, movement, loaded.prices, inside)
    return WindowMoney(wallet, [fact for fact in moved if fact.at >= start], loaded)


@dataclass(frozen=True, slots=True)
class PredictionSet:
    """Predictions by id, those resolved in the period, and the last known outcome of each."""

    predictions: dict[str, Prediction]
    resolutions: list[Resolution]
    outcomes: dict[str, Resolution]


def load_predictions(life: LifeReader, facts: Iterable[Fact], start: int, until: int) -> PredictionSet:
    """Predictions resolved in [start, until), or made for the positions of `facts` or their decisions."""
    facts = list(facts)
    decided = {fact.id: fact.at for fact in facts if isinstance(fact, Decision)}
    predictions = {fact.id: fact for fact in facts if isinstance(fact, Prediction)}
    if decided:  # what justified a decision was predicted shortly before it
        near = life.between(min(decided.values()) - DAY, until, types=[Prediction])
        predictions |= {fact.id: fact for fact in near if fact.decision in decided}
    resolved = life.between(start, until, types=[Resolution])
    first = min((fact.at for fact in predictions.values()), default=start)
    earlier = life.between(first, start, types=[Resolution]) if first < start else []
    outcomes = sorted([*earlier, *resolved], key=lambda fact: fact.at)
    wanted = {fact.prediction for fact in resolved} - predictions.keys()
    predictions |= {
        fact.id: fact for fact in events.by_ids(life.conn, life.agent, Prediction, sorted(wanted))
    }
    return PredictionSet(predictions, resolved, {fact.prediction: fact for fact in outcomes})


class Remembrance(NamedTuple):
    """What the settled book knows of positions: those that matter to a window, and every outcome before its end."""

    rows: list[PositionSummary]
    history: History


def rows_since(book: SettledBook, window: Window, since: int) -> Remembrance:
    """The book's positions that matter from `since` on, and all citations that resolved before the period's end.

    Seen from an instant before K, what the book has learned after it is forgotten again.
    """
    end, known_until = window.period.end, window.known_until
    if known_until >= book.known_until:
        return Remembrance(book.positions(opened_before=end, since=since), book.history(end))
    rows = book.positions_known(known_until, opened_before=end)
    # the stored outcomes know too much: these are computed anew from what was known; weeks are facts of their own time
    outcomes, weeks = (
        history_from(rows, book.settings.options.rules).before(end),
        book.history().weeks_told_by(known_until),
    )
    return Remembrance(rows, joined([outcomes, weeks]))

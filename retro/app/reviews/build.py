"""From the store to a report: which period, which facts, which marks; then `assemble` does the rest."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from functools import cache
from itertools import chain
from math import fsum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from playbook import to_json
from retro.accounting.books import keep_books, worth_before
from retro.app.proposals.justification import proposed_by
from retro.app.reviews.evaluators import evaluators_of
from retro.app.reviews.model_costs import costs_of_reviewing
from retro.app.reviews.regimes import regimes_of
from retro.app.reviews.window import (
    Window,
    grid_of,
    load_predictions,
    money_of,
    rolling_week,
    rows_since,
    week_before,
)
from retro.app.settlement.audit import seed_of
from retro.app.settlement.price_lines import MarkReach, load_marks
from retro.app.settlement.tracks import Extent, load_tracks
from retro.errors import UnknownError
from retro.evaluate.audit.bets import bets_of
from retro.evaluate.lives import life_of
from retro.evaluate.position.after_exit import funding_told, holding_terms
from retro.evaluate.position.life import HoldingTerms, Lookahead
from retro.evaluate.report import Inputs, build
from retro.kinds import KINDS
from retro.model import Cost, Decision, Position
from retro.periods import DAY, FOREVER, WEEK, period_at
from retro.store.books import positions
from retro.store.facts.last_told import last_told
from retro.version import DEFINITIONS, __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retro.accounting.books import DailyBooks
    from retro.accounting.prices import Prices
    from retro.accounting.track import PositionHistory
    from retro.app.reviews.window import WindowMoney
    from retro.app.settlement.book import SettledBook
    from retro.app.settlement.settings import AgentSettings
    from retro.app.settlement.tracks import Loaded
    from retro.model import Fact
    from retro.periods import Period
    from retro.report import PositionRetrospective, RetrospectiveReport

__all__ = ["equity_before", "inputs_of", "review_period", "review_position"]


def _digest(facts: Iterable[Fact], tracks: Mapping[str, PositionHistory], prices: Prices) -> str:
    """A digest of the facts (each once), marks and rulings a report rests on, the same in every database and order."""
    digest = hashlib.sha256()
    ordered = sorted(facts, key=attrgetter("id"))
    ordered.sort(key=lambda fact: type(fact).__name__)
    lines = (
        (type(fact).__name__, fact.id, _spelled(fact)) for fact in ordered
    )  # one at a time: they are long
    rulings = (("Ruling", name, track.ruling) for name, track in sorted(tracks.items()) if track.ruling)
    for line in chain(lines, rulings):
        digest.update(repr(line).encode("utf-8", "surrogatepass"))
    for symbol in sorted({track.position.instrument for track in tracks.values()}):
        line_ = prices.line(symbol)
        digest.update(
            symbol.encode()
            + np.ascontiguousarray(line_.t).tobytes()
            + np.ascontiguousarray(line_.price).tobytes()
        )
    return digest.hexdigest()[:16]


def _spelled(fact: Fact) -> str:
    """All of a fact: as `repr` shows the list of its fields' names and spelled values, by name."""
    values_of, spellings = _fields_of(type(fact))
    spelled = [
        absent if value is None else f"{head}{repr(value) if type(value) in _PLAIN else _canonical(value)!r})"
        for (head, absent), value in zip(spellings, values_of(fact), strict=True)
    ]
    return f"[{', '.join(filter(None, spelled))}]"


_PLAIN: Final = frozenset({str, int})
"""Of nearly every field: what is spelled as Python shows it."""

_LATER_FIELDS: Final = frozenset({"context_items", "difficulty"})
"""What came after the first release says something only where it was told: older digests stand."""


@cache
def _fields_of(form: type[Fact]) -> tuple[attrgetter[tuple[Any, ...]], list[tuple[str, str]]]:
    """What gives a form's fields, by name; how the spelling of each begins, and what it is where nothing was told."""
    names = sorted(form.__struct_fields__)
    spellings = [(f"({name!r}, ", "" if name in _LATER_FIELDS else f"({name!r}, 'None')") for name in names]
    return attrgetter(*names), spellings


def _canonical(value: Any) -> str:
    """A spelling that is the same however a number was written: 1.0 is "1.00"."""
    if isinstance(value, (str, int)):
        return repr(value)
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, dict):
        return repr([(str(name), _canonical(part)) for name, part in sorted(value.items())])
    if isinstance(value, list | tuple):
        return repr([_canonical(part) for part in value])
    return repr(value)


def inputs_of(book: SettledBook, window: Window, names: Iterable[str], *, at_marks: bool = False) -> Inputs:
    """Everything a report on a window is made of: the positions `names`, and all that its facts touch.

    `at_marks`: its books value the agent within the days too.
    """
    conn, name, settings, life = book.conn, book.name, book.settings, book.life
    period, now, until = window.period, window.known_until, window.until
    costs = life.between(period.start, until, types=[Cost])
    money = money_of(book, window, names, costs)
    loaded = money.loaded
    decided = {fact.id: fact for fact in loaded.facts if isinstance(fact, Decision)}  # read once, kept once
    between = life.between(period.start, until, types=[Decision])
    decisions = [decided.get(fact.id, fact) for fact in between]
    prediction_set = load_predictions(life, loaded.facts, period.start, until)
    reviewing = costs_of_reviewing(conn, name, settings, window.start, until)
    facts_read = [*loaded.facts, *money.facts, *decisions, *prediction_set.resolutions]
    before = week_before(period, settings)
    remembrance = rows_since(
        book, window, min(window.start, period.start if before is None else before.start)
    )
    return Inputs(
        agent=name,
        base_currency=settings.base_currency,
        zone=settings.zone,
        period=period,
        week_before=before,
        week_start=next((at for at in window.grid if at >= rolling_week(period, settings)), window.start),
        known_until=now,
        told_until=last_told(conn, book.agent, min(period.end - 1, now)) or now,
        capital_known=book.opening().capital_known,
        born_at=book.agent.first_at or 0,
        tracks=loaded.tracks,
        books=_books(book, window, money, reviewing.costs, at_marks=at_marks),
        prices=loaded.prices,
        watched=_watched(book, window, loaded, decisions),
        benchmark=_benchmark(book, window),
        rows=remembrance.rows,
        history=remembrance.history,
        bets=bets_of(remembrance.history, settings.options.rules, min(period.end, now)),
        discrepancies=positions.discrepancies(conn, name, min(period.end, now)),
        decisions=decisions,
        costs=[*costs, *(cost for cost in reviewing.costs if cost.at >= period.start)],
        predictions=prediction_set.predictions,
        resolutions=prediction_set.resolutions,
        last_resolutions=prediction_set.outcomes,
        warnings=[
            *_warnings(loaded.orphans, settings, period),
            *reviewing.warnings(period.start, settings.base_currency),
        ],
        quarantined=life.quarantined,
        digest=_digest(
            {(type(f), f.id): f for f in [*facts_read, *prediction_set.predictions.values()]}.values(),
            loaded.tracks,
            loaded.prices,
        ),
        seed=seed_of(name, period),
        version=__version__,
        definitions=DEFINITIONS,
        options=settings.options,
    )


def equity_before(
    book: SettledBook, window: Window, names: Iterable[str], instants: Sequence[int]
) -> list[float]:
    """Equity just before the events at each of ascending instants of a window, the positions `names` among it."""
    money = money_of(book, window, names, ())
    reviewing = costs_of_reviewing(book.conn, book.name, book.settings, window.start, window.until)
    facts = sorted([*money.facts, *reviewing.costs], key=lambda fact: fact.at)
    ends, prices = (window.start, window.until), money.loaded.prices
    equity: list[float] = worth_before(
        money.loaded.tracks, money.wallet, facts, ends, instants, prices
    ).tolist()
    return equity


def _watched(book: SettledBook, window: Window, loaded: Loaded, decisions: Iterable[Decision]) -> Prices:
    """The prices of instruments that decisions of the period name and no position of it trades."""
    traded = {track.position.instrument for track in loaded.tracks.values()}
    watched = {decision.instrument for decision in decisions if decision.instrument} - traded
    if not watched:
        return loaded.prices
    start, end = window.period.start - 2 * DAY, min(window.period.end, window.known_until)
    reach = MarkReach(start, end, window.known_until)
    return load_marks(book.life, book.settings, watched, reach)


def _benchmark(book: SettledBook, window: Window) -> Prices | None:
    """The prices of the owner's benchmark; None without one."""
    terms = book.settings.options.benchmark
    if terms is None:
        return None
    start, end = window.period.start - 2 * DAY, min(window.period.end, window.known_until)
    reach = MarkReach(start, end, window.known_until)
    return load_marks(book.life, book.settings, [terms.instrument], reach)


def _books(
    book: SettledBook, window: Window, money: WindowMoney, reviewing: Sequence[Cost], *, at_marks: bool
) -> DailyBooks:
    """The window's books; what reviewing cost moves the wallet like any cost, but nobody told it: it is in no digest."""
    return keep_books(
        money.loaded.tracks,
        money.wallet,
        sorted([*money.facts, *reviewing], key=lambda fact: fact.at),
        window.grid,
        window.known_until,
        money.loaded.prices,
        unbelieved_before=_unbelieved_before(book, window, money.loaded),
        at_marks=at_marks,
    )


def _unbelieved_before(book: SettledBook, window: Window, loaded: Loaded) -> float:
    """What flagged positions that the window does not touch had gained by its start, since the day that flagged them."""
    amounts = positions.unbelieved(book.conn, book.name, window.start)
    return fsum(made for name, made in amounts.items() if name not in loaded.tracks)


def _warnings(orphans: Mapping[str, list[Fact]], settings: AgentSettings, period: Period) -> list[str]:
    """Of facts of positions that nobody declared, and of shadows that cannot run where reviews speak of shadows."""
    return [
        f"{name}: facts name this position, but no `position` event says what it is; only its costs are counted"
        for name, facts in sorted(orphans.items())
        if not any(isinstance(fact, Position) for fact in facts)
    ] + list(settings.shadow_faults if KINDS[period.horizon].weighs_claims else ())


def review_period(
    book: SettledBook, period: Period, *, as_of: int | None = None, ended: bool = False
) -> RetrospectiveReport:
    """The report of a period; stores nothing.

    `as_of` is now, in place of K. `ended`: the wall clock says that the period is over, so what is open is valued at
    its end even where the agent has been silent since; periods then add up, whenever each was reviewed.
    """
    settings = book.settings
    now = book.known_until if as_of is None else as_of
    now = max(now, period.end) if ended else now
    window = Window(period, grid_of(period, settings), now, period.end + settings.options.settle_lag)
    names = positions.alive(book.conn, book.name, window.start, period.end)
    inputs = inputs_of(book, window, names, at_marks=True)
    report = build(inputs)
    proposed = proposed_by(book.conn, report, settings, inputs.history, inputs.bets)
    additions = {
        "playbook_proposals": [to_json(amendment) for amendment in proposed],
        "evaluators": evaluators_of(book, window, inputs),
        "regimes": regimes_of(book, window, inputs, report),
    }
    return report.model_copy(update=additions)


def review_position(
    book: SettledBook, position: str, *, after_until: int | None = None
) -> PositionRetrospective:
    """The whole life of one position; what came after it is read up to `after_until`, or with all marks there are."""
    life, name, options, now = book.life, book.name, book.settings.options, book.known_until
    facts = life.of_positions([position], until=FOREVER)
    if not any(isinstance(fact, Position) for fact in facts):
        raise UnknownError(f"agent {name} has no position {position!r}; `retro positions` lists them")
    loaded = load_tracks(life, book.settings, [position], Extent(now, now + 1, now))
    start = min(fact.at for fact in facts)
    prediction_set = load_predictions(life, loaded.facts, start, now + 1)
    track, horizon = (
        loaded.tracks[position],
        Lookahead(now + 1, now, after_until, options.offsets, options.use_highs_lows),
    )
    return life_of(
        track,
        loaded.prices,
        options,
        agent=name,
        horizon=horizon,
        predictions=prediction_set.predictions,
        outcomes=prediction_set.outcomes,
        terms=_holding_terms(book, track, loaded.prices),
    )


def _holding_terms(book: SettledBook, track: PositionHistory, prices: Prices) -> HoldingTerms:
    """What keeping a closed perp would have met: equity on the day of its exit, funding that its neighbours told since."""
    if track.position.kind != "perp" or track.closed_at is None:
        return HoldingTerms()
    day, now = period_at("daily", track.closed_at, book.settings.zone), book.known_until
    rows = positions.positions(
        book.conn, book.name, opened_before=max(day.end, track.closed_at + WEEK), alive_at=day.start
    )
    equity = None
    if book.opening().capital_known:
        window = Window(day, [day.start, day.end], now, day.end)
        money = money_of(book, window, [row.position for row in rows if row.opened_at < day.end], ())
        reviewing = costs_of_reviewing(book.conn, book.name, book.settings, day.start, window.until)
        equity = _books(book, window, money, reviewing.costs, at_marks=True).equity_by(track.closed_at)
    instrument = track.position.instrument
    kin = [row.position for row in rows if row.instrument == instrument]
    neighbours = load_tracks(book.life, book.settings, kin, Extent(now, now + 1, now)).tracks
    told = funding_told(neighbours.values()).get(instrument, ())
    return holding_terms(track, equity, told, prices)

"""Our figures beside those that sources computed themselves: worked out when they are asked for, from the settled book."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from retro.accounting.balances import AccountState, account_states
from retro.accounting.books import steps
from retro.accounting.coins import coins_inside
from retro.accounting.fills import terms_of
from retro.accounting.results import fill_results, is_counted_at_par, paid_parts
from retro.app.reviews.window import Window, money_of
from retro.app.settlement.tracks import Extent, load_tracks
from retro.evaluate.position.alternatives import outcome_of
from retro.model import Fill
from retro.periods import DAY, Period, format_instant
from retro.store import checks as stored_checks
from retro.store.books import positions
from retro.store.facts import events
from retro.store.schema import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.results import FillResult
    from retro.accounting.track import PositionHistory
    from retro.app.settlement.book import SettledBook
    from retro.checks import SourceCheck

__all__ = ["ComparedCheck", "compare"]

_ROUNDING: Final = 1e-9
_APART: Final = 7 * DAY
"""Instants farther apart are replayed by themselves."""
_Figure = float | str
"""What we compute, or the reason why it cannot be computed."""
_OPENS: Final = "what was there before the log begins is not told: this statement opens it, and later ones are compared with it"


@dataclass(frozen=True, slots=True)
class ComparedCheck:
    """A figure that a source states, and ours; None where it cannot be computed, and `reason` says why."""

    check: SourceCheck
    ours: float | None
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less theirs, in the unit of what is stated; None without ours."""
        return None if self.ours is None else self.ours - float(self.check.stated)

    @property
    def within(self) -> bool | None:
        """Whether the rounding of the source explains the difference; None without ours."""
        if self.ours is None or self.difference is None:
            return None
        # the floats of a sum are off by a billionth of its size at most
        size = max(1.0, abs(self.ours), abs(float(self.check.stated)))
        return abs(self.difference) <= float(self.check.tolerance) + _ROUNDING * size

    def document(self) -> dict[str, Any]:
        """What `retro checks --json` prints of it; the subject of a fill's result is the fill."""
        check = self.check
        return {
            "agent": check.agent,
            "what": check.what,
            "subject": check.fill or check.subject,
            "at": format_instant(check.at),
            "stated": float(check.stated),
            "ours": self.ours,
            "difference": self.difference,
            "tolerance": float(check.tolerance),
            "within": self.within,
            "reasons": {"ours": self.reason} if self.reason else {},
        }


def compare(book: SettledBook, stated: Sequence[SourceCheck]) -> list[ComparedCheck]:
    """Each of these figures of an agent beside ours, in their order."""
    results = [check for check in stated if check.what == "realized_pnl"]
    states = [check for check in stated if check.what != "realized_pnl"]
    figures: dict[SourceCheck, _Figure] = {**_results(book, results), **_states(book, states)}
    return [
        ComparedCheck(check, None, figure)
        if isinstance(figure := figures[check], str)
        else ComparedCheck(check, figure - float(check.booked) + 0.0)
        for check in stated
    ]


# results


def _results(book: SettledBook, stated: Sequence[SourceCheck]) -> dict[SourceCheck, _Figure]:
    if not stated:
        return {}
    names = sorted({check.subject for check in stated})
    loaded = load_tracks(book.life, book.settings, names, Extent(book.known_until))
    tracks = {name_of(name): track for name, track in loaded.tracks.items()}
    with_fills = {check.subject for check in stated if check.fill is not None} & tracks.keys()
    fills = {
        name: {name_of(result.id): result for result in fill_results(tracks[name], loaded.prices)}
        for name in with_fills
    }
    crossings = _crossings(book, stated)
    figures: dict[SourceCheck, _Figure] = {}
    for check in stated:
        track = tracks.get(check.subject)
        if track is None:
            figures[check] = "no fact tells of this position"
        elif not track.is_quoted or not is_counted_at_par(track, loaded.prices):
            currency = loaded.prices.base_currency
            figures[check] = f"its result is stated in another currency than {currency}, which we count in"
        elif check.fill is None:
            figures[check] = _position_result(check, track, loaded.prices, book.known_until)
        else:
            crossing = crossings.get(f"{check.fill}+")
            fee = 0.0 if crossing is None else _fee_of(crossing, track, loaded.prices)
            figures[check] = _fill_result(check, fills[check.subject].get(check.fill), fee)
    return figures


def _crossings(book: SettledBook, stated: Iterable[SourceCheck]) -> dict[str, Fill]:
    """The second halves of fills that crossed zero: of one name but for a `+`, and with a part of the fee."""
    names = {f"{check.fill}+" for check in stated if check.fill is not None and "fees" in check.net_of}
    return {fact.id: fact for fact in events.by_ids(book.conn, book.name, Fill, names)}


def _fee_of(fill: Fill, track: PositionHistory, prices: Prices) -> float:
    return terms_of(fill, fill.instrument or track.position.instrument, prices).paid


def _position_result(check: SourceCheck, track: PositionHistory, prices: Prices, known_until: int) -> _Figure:
    if track.closed_at is None:
        return "the position is still open: what it made is not known yet"
    paid = paid_parts(track)
    result = outcome_of(track, prices, known_until).final_pnl
    result += 0.0 if "fees" in check.net_of else paid.fees
    return result - (0.0 if "funding" in check.net_of else paid.funding)


def _fill_result(check: SourceCheck, result: FillResult | None, crossing_fee: float) -> _Figure:
    if result is None:
        return "no fact tells of this fill"
    if "funding" in check.net_of:
        return "funding belongs to a position, and is not divided among its fills"
    if "fees" not in check.net_of:
        return result.gross
    if not result.is_fee_priced:
        return "its fee was taken in an asset that nothing prices"
    return result.gross - result.fee - crossing_fee


# states


def _states(book: SettledBook, stated: Sequence[SourceCheck]) -> dict[SourceCheck, _Figure]:
    if not stated:
        return {}
    subjects = {(check.what, check.subject) for check in stated if not _is_opening_told(book, check)}
    first = {
        (check.what, check.subject): check for check in stored_checks.firsts(book.conn, book.name, subjects)
    }
    states = _account(book, [*stated, *first.values()])
    figures: dict[SourceCheck, _Figure] = {}
    for check in stated:
        opens = first.get((check.what, check.subject))
        figure = _state_figure(check, states)
        gap = None if opens is None else _gap(opens, states)
        if isinstance(figure, str) or gap is None:
            figures[check] = figure
        elif isinstance(gap, str):
            figures[check] = gap
        elif gap and check == opens:
            figures[check] = _OPENS
        else:
            figures[check] = figure + gap
    return figures


def _is_opening_told(book: SettledBook, check: SourceCheck) -> bool:
    """Whether it is told what the account began with: by balances of everything, by a capital of money alone."""
    opening = book.opening()
    if check.what == "equity":
        return opening.capital_known
    by_capital = book.settings.capital is not None and check.subject == book.settings.base_currency
    return opening.told_at is not None or by_capital


def _gap(first: SourceCheck, states: dict[int, AccountState]) -> _Figure:
    """What the first statement shows beyond the facts; 0 where rounding explains it, the reason where nothing is known."""
    figure = _state_figure(first, states)
    if isinstance(figure, str):
        return figure
    gap = float(first.stated) - figure
    return gap if abs(gap) > float(first.tolerance) + _ROUNDING * max(1.0, abs(figure)) else 0.0


def _state_figure(check: SourceCheck, states: dict[int, AccountState]) -> _Figure:
    state = states[check.at]
    if check.what == "equity":
        return "something that was held has no price then" if state.equity is None else state.equity
    quantities = state.balances if check.what == "balance" else state.holdings
    return quantities.get(check.subject, 0.0)


def _account(book: SettledBook, stated: Iterable[SourceCheck]) -> dict[int, AccountState]:
    """The account at the instants of these figures."""
    stretches: list[list[int]] = []
    for at in sorted({check.at for check in stated}):
        if stretches and at - stretches[-1][-1] <= _APART:
            stretches[-1].append(at)
        else:
            stretches.append([at])
    states: dict[int, AccountState] = {}
    for instants in stretches:
        states |= _stretch(book, instants)
    return states


def _stretch(book: SettledBook, instants: Sequence[int]) -> dict[int, AccountState]:
    start = min(instants[0], book.known_until) // DAY * DAY
    end = instants[-1] + 1
    window = Window(Period("custom", start, end, "checks"), [start, end], book.known_until, end)
    names = positions.alive(book.conn, book.name, start, end)
    money = money_of(book, window, names, ())
    tracks, prices = money.loaded.tracks, money.loaded.prices
    effects = [(name, effect) for name, track in tracks.items() for effect in track.effects]
    moves = steps(effects, money.facts, start, end)
    return account_states(tracks, money.wallet, moves, instants, prices, coins_inside(tracks, prices))

"""Single actions that lost more than the owner's threshold of everything the agent had just before them."""

from __future__ import annotations

from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.accounting.replay import natural_key
from retro.app.reviews.build import equity_before
from retro.app.reviews.window import Window, money_of
from retro.evaluate.position.foresight import EXIT_ACTIONS
from retro.periods import DAY, Period
from retro.store.books import positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.accounting.movements import Closing
    from retro.accounting.track import PositionHistory
    from retro.app.settlement.book import SettledBook

__all__ = ["Loss", "actions_of", "losses"]

_WINDOW: Final = 7 * DAY
_LOOK_BACK: Final = DAY
_EXACT: Final = 1e-9


class Loss(NamedTuple):
    """One action: what it is called, when it began and ended, what it lost, and the equity just before it."""

    name: str
    position: str
    start: int
    end: int
    amount: float
    equity: float = 0.0


def losses(book: SettledBook, since: int, until: int, threshold_pct: float) -> list[Loss]:
    """The actions of [since, until) whose realised loss is above the threshold, strictly, oldest first.

    None without a known capital. A position with an impossible fill loses like any other: a flag never flatters.
    """
    agent = book.agent
    if agent.first_at is None or not book.opening().capital_known:
        return []
    first = max(since - _LOOK_BACK, agent.first_at) // DAY * DAY
    last = min(until, (agent.last_at or 0) + 1)
    great_losses: list[Loss] = []
    for start, end in pairwise([*range(first, last, _WINDOW), last]):
        great_losses += [loss for loss in _in_window(book, start, end, threshold_pct) if loss.end >= since]
    return great_losses


def _in_window(book: SettledBook, start: int, end: int, threshold_pct: float) -> Iterator[Loss]:
    names = positions.alive(book.conn, book.name, start, end)
    if not names:
        return
    after = end + _LOOK_BACK  # an exit that began in the window may go on after it
    look = Window(Period("custom", start, after, ""), [start, after], known_until=after, marks_until=after)
    tracks = money_of(book, look, names, ()).loaded.tracks
    losing = [
        action
        for track in tracks.values()
        for action in actions_of(track)
        if action.amount > 0 and start <= action.start < end
    ]
    if not losing:
        return
    window = Window(Period("custom", start, end, ""), [start, end], known_until=end, marks_until=end)
    instants = sorted({action.start for action in losing})
    worth = dict(zip(instants, equity_before(book, window, names, instants), strict=True))
    for action in sorted(losing, key=lambda action: (action.start, action.position)):
        equity = worth[action.start]
        if _beyond(action.amount, equity, threshold_pct):
            yield action._replace(equity=equity)


def _beyond(amount: float, equity: float, threshold_pct: float) -> bool:
    """Strictly more than the share; a difference that only rounding made is none."""
    bound = equity * threshold_pct / 100.0
    return amount - bound > _EXACT * max(amount, abs(bound))


def actions_of(track: PositionHistory) -> list[Loss]:
    """What each action realised as a loss (> 0), or as a gain (< 0).

    An exit decision is one action with all it closed until the position's next decision; what no decision tells of is
    one for each order, or instant.
    """
    decisions = sorted(track.decisions, key=lambda d: (d.at, natural_key(d.id)))
    groups: dict[tuple[str, str], list[Closing]] = {}
    for closing in track.closings:
        before = [d for d in decisions if d.at <= closing.at]
        exit_decision = before[-1] if before and before[-1].action in EXIT_ACTIONS else None
        key = ("decision", exit_decision.id) if exit_decision is not None else _undecided_key(track, closing)
        groups.setdefault(key, []).append(closing)
    return [
        Loss(
            name,
            track.position.position,
            closings[0].at,
            closings[-1].at,
            -fsum(closing.realized for closing in closings),
        )
        for (_, name), closings in groups.items()
    ]


def _undecided_key(track: PositionHistory, closing: Closing) -> tuple[str, str]:
    """The order, fill or withdrawal that a closing belongs to."""
    against = "buy" if track.sign < 0 else "sell"
    fills = [fill for fill in track.fills if fill.at == closing.at and fill.side == against]
    if fills:
        first = min(fills, key=lambda fill: natural_key(fill.id))
        if first.order is not None:
            order_fills = [fill for fill in track.fills if fill.order == first.order and fill.side == against]
            first = min(order_fills, key=lambda fill: (fill.at, natural_key(fill.id)))
        return "fill", first.id
    flows = [flow.id for flow in track.flows if flow.at == closing.at and flow.kind == "withdrawal"]
    return "flow", min(flows, key=natural_key, default=f"{track.position.position}-exit")

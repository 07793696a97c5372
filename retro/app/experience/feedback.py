"""What items of the library are worth by what came of the decisions that named them.

A decision on a position is judged by the position's result on the day it closes. One that led to none is judged by the
price some steps later, where the preset of the layers looks back so: who wanted to be in was right when it rose, who
stayed away when it fell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memory.library.layers.step import Feedback
from memory.store import layers as rows
from retro.accounting.prices import MAX_AGE, base_and_quote
from retro.model import Decision
from retro.periods import DAY
from retro.store.facts import events, marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

__all__ = ["by_positions", "by_prices"]

_STAYS_OUT: Final = ("skip", "exit", "reduce")


def by_positions(conn: Connection, agent: str, pnl_of: Mapping[str, float]) -> dict[str, list[Feedback]]:
    """Symbol -> its items that decisions on these positions (id -> result) name, by the sign of the money they share."""
    money: dict[str, float] = {}
    facts = events.of_positions(conn, agent, list(pnl_of)) if pnl_of else []
    for name, pnl in pnl_of.items():
        own = [fact for fact in facts if isinstance(fact, Decision) and fact.position == name]
        for item in {item for decision in own for item in _items(decision)}:
            money[item] = money.get(item, 0.0) + pnl
    feedback: dict[str, list[Feedback]] = {}
    for item, symbol in sorted(rows.symbols_of(conn, agent, sorted(money)).items()):
        if money[item]:
            feedback.setdefault(symbol, []).append(Feedback(item, 1 if money[item] > 0 else -1))
    return feedback


def by_prices(
    conn: Connection, agent: str, symbol: str, until: int, look_back: int, base_currency: str
) -> list[Feedback]:
    """The items named by decisions on the symbol that led to no position, by its price since: of the day so many steps ago.

    Where no mark prices the symbol at both instants, nothing is judged. The caller has not taken the step of `until` yet.
    """
    steps = [event.at for event in rows.newest(conn, agent, symbol, "step", look_back + 1)]
    if len(steps) < look_back:
        return []
    end = steps[look_back - 1]
    start = steps[look_back] if len(steps) > look_back else end - DAY
    gains: dict[str, float] = {}
    for decision in events.between(conn, agent, start, end, types=[Decision], wallet=True):
        if decision.instrument != symbol or not (named_items := _items(decision)):
            continue
        change = _change(conn, agent, symbol, int(decision.at), until, base_currency) or 0.0
        for item in named_items:
            gains[item] = gains.get(item, 0.0) + (-change if decision.action in _STAYS_OUT else change)
    symbols = rows.symbols_of(conn, agent, sorted(gains))
    return [
        Feedback(item, 1 if gain > 0 else -1)
        for item, gain in sorted(gains.items())
        if gain and symbols.get(item) == symbol
    ]


def _items(decision: Decision) -> set[str]:
    return {*(decision.cites or ()), *(decision.context_items or ())}


def _change(
    conn: Connection, agent: str, symbol: str, then: int, until: int, base_currency: str
) -> float | None:
    """What the symbol's price did between two instants, as a share, by the first series that is fresh at both."""
    base, quote = base_and_quote(symbol)
    names = dict.fromkeys((symbol, f"{base}/{quote or base_currency}", base))
    for owner, name in ((owner, name) for owner in (agent, None) for name in names):
        first, last = (_price(conn, owner, name, at) for at in (then, until))
        if first and last:
            return last / first - 1.0
    return None


def _price(conn: Connection, owner: str | None, name: str, at: int) -> float | None:
    mark = marks.last_at_or_before(conn, owner, name, at)
    return mark[1] if mark is not None and at - mark[0] <= MAX_AGE else None

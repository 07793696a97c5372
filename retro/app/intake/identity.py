"""Whose life a source tells: a freqtrade database or backtest that contradicts what is known of its agent is another bot's.

freqtrade counts its trades from 1 in every database and names an agent by its strategy. So a reset, a second bot and a
backtest beside a live bot all tell of an `ft-1` of the same agent, and taken together they would make trades that never
happened. A trade is known by its pair, its exchange and the instant of its first fill; a backtest, which never grows, by
a digest of all its trades. Where no trade is told twice the numbers speak: one database counts its trades as they open,
so that a higher number never opened before a lower one. A few trades among hundreds that are told otherwise by orders of the very same names are
corrections (somebody mended the database): they replace what was known whole, and nothing mixes.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec import structs

from retro.app.settlement.invalidation import invalidate_for_facts
from retro.errors import OtherBotError
from retro.model import Fill, Position, decode
from retro.periods import DAY, SECOND, format_instant
from retro.store import checks
from retro.store.books import positions
from retro.store.facts import agents, events, withdrawals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from retro.model import Batch, EventRow

__all__ = ["BotIdentity", "take_the_place"]

_PREFIX: Final = "ft-"
_CORRECTION: Final = 600 * SECOND
"""How far the time of one order can have been wrong before it was corrected."""
_OVERTAKEN: Final = DAY
"""How much later than the next trade one can open: its first order waited, in 90 real bots ten minutes at most.

Simulated lives number some trades days out of order; so most of those told must run against the times, not one.
"""
_NEIGHBOURS: Final = 9
"""Of so many known trades just below a number, and just above it, the middle one in time is looked at."""
_RENUMBERED: Final = 100
"""Corrected trades are fewer than one in so many."""
_UNSAID: Final = "freqtrade"
"""The origin of an agent that was taken in before origins were kept: any fits."""
_REPLACED: Final = "another source took its place"


@dataclass(slots=True)
class BotIdentity:
    """What a reading has shown so far of whose life it tells: trades known before, and those told otherwise now."""

    where: str
    known_positions: int = 0
    doubtful: int = 0
    opened: dict[str, dict[int, int]] = field(default_factory=dict)
    """Agent -> number of each trade known before this reading -> when it opened."""

    def check(self, conn: Connection, batch: Batch) -> None:
        """Raise `OtherBotError` where the batch tells otherwise of what is known of its agents."""
        for agent, origin in sorted(batch.origin.items()):
            stored = agents.agent(conn, agent)
            if stored is not None and stored.origin not in {None, origin, _UNSAID}:
                words = f"that is a {_kind(stored.origin)}, this is {_other(stored.origin, origin)}"
                raise _refusal(self.where, agent, words)
        for agent, rows in sorted(_by_agent(batch.rows).items()):
            self._compare(conn, agent, rows)

    def _compare(self, conn: Connection, agent: str, rows: list[EventRow]) -> None:
        """Hold the trades of one agent against those known under their numbers."""
        told_positions = {row.id: row for row in rows if row.type == "position"}
        known_positions = sorted(
            events.by_ids(conn, agent, Position, told_positions), key=lambda fact: (fact.at, fact.id)
        )
        self.known_positions += len(known_positions)
        if not self.known_positions:
            self._in_order(conn, agent, told_positions.values())
        first = ""
        for before in known_positions:
            row = told_positions[before.id]
            after = decode(row.body, row.at)
            if not isinstance(after, Position) or _agree(before, after):
                continue
            orders, orders_now = _orders_known(conn, agent, before.id), _orders_told(rows, before.id)
            if orders & orders_now and _same_but_for_a_clock(before, after):
                continue
            number = before.id.removeprefix(_PREFIX)
            words = f"its trade {number} is {_trade(before)}, this one's is {_trade(after)}"
            one_holds_the_other = orders <= orders_now or orders_now <= orders
            if not orders or not orders_now or not one_holds_the_other:
                raise _refusal(self.where, agent, words)
            self.doubtful += 1
            first = first or words
        if first and self.doubtful * _RENUMBERED > self.known_positions:
            raise _refusal(self.where, agent, first)

    def _in_order(self, conn: Connection, agent: str, told_positions: Collection[EventRow]) -> None:
        """Hold trades whose numbers are all new against those known before this reading, just below and just above."""
        opened = self.opened.get(agent)
        if opened is None:
            instants = events.instants(conn, agent, Position)
            opened = {number: at for id_, at in instants.items() if (number := _number(id_)) is not None}
            self.opened[agent] = opened
        numbers, astray = sorted(opened), []
        for row in told_positions if opened else ():
            number = _number(row.id)
            if number is None:
                continue
            place = bisect(numbers, number)
            below = _usual(numbers[max(0, place - _NEIGHBOURS) : place], opened)
            above = _usual(numbers[place : place + _NEIGHBOURS], opened)
            if below is not None and row.at < opened[below] - _OVERTAKEN:
                astray.append((number, row.at, below))
            elif above is not None and row.at > opened[above] + _OVERTAKEN:
                astray.append((number, row.at, above))
        if 2 * len(astray) > len(told_positions):
            number, at, other = astray[0]
            words = (
                f"its trade {other} opened {format_instant(opened[other])}, this one's {number} opened "
                f"{format_instant(at)}: a bot numbers its trades as they open"
            )
            raise _refusal(self.where, agent, words)


def take_the_place(conn: Connection, names: Iterable[str], where: str, now: int | None) -> int:
    """Withdraw what freqtrade sources told of these agents, so that another can tell it; how many facts that was."""
    count = 0
    for name in sorted(names):
        if agents.agent(conn, name) is None:
            continue
        gone = withdrawals.withdraw(conn, name, _PREFIX, where=where, reason=_REPLACED)
        if gone is not None:
            count += gone.facts
            positions.forget_book(conn, name)
            checks.forget(conn, name, _PREFIX)
            invalidate_for_facts(conn, name, gone.first_at, gone.last_at, now)
    return count


def _number(id_: str) -> int | None:
    """The number of the trade that a position's id names; None of a position that is no trade of freqtrade's."""
    digits = id_.removeprefix(_PREFIX)
    return int(digits) if digits != id_ and digits.isdecimal() and len(digits) < 20 else None


def _usual(numbers: list[int], opened: dict[int, int]) -> int | None:
    """The trade that opened in the middle of these; None where there are none."""
    in_time = sorted(numbers, key=opened.__getitem__)
    return in_time[(len(in_time) - 1) // 2] if in_time else None


def _by_agent(rows: Iterable[EventRow]) -> dict[str, list[EventRow]]:
    """Agent -> what a batch tells of its positions and their fills."""
    told_positions: dict[str, list[EventRow]] = {}
    for row in rows:
        if row.type in {"position", "fill"}:
            told_positions.setdefault(row.agent, []).append(row)
    return told_positions


def _agree(before: Position, after: Position) -> bool:
    venues = {before.venue, after.venue} - {""}
    return before.at == after.at and before.instrument == after.instrument and len(venues) < 2


def _same_but_for_a_clock(before: Position, after: Position) -> bool:
    """Whether nothing but a time was corrected, and by little."""
    return abs(before.at - after.at) <= _CORRECTION and _agree(before, structs.replace(after, at=before.at))


def _orders_known(conn: Connection, agent: str, position: str) -> set[str]:
    """The orders by which a trade is known, under the exchange's names for them."""
    facts = events.of_positions(conn, agent, [position])
    return {str(fact.order) for fact in facts if isinstance(fact, Fill) and fact.order is not None}


def _orders_told(rows: list[EventRow], position: str) -> set[str]:
    fills = (decode(row.body, row.at) for row in rows if row.type == "fill" and row.position == position)
    return {str(fill.order) for fill in fills if isinstance(fill, Fill) and fill.order is not None}


def _trade(fact: Position) -> str:
    venue = f" on {fact.venue}" if fact.venue else ""
    return f"{fact.instrument}{venue}, opened {format_instant(fact.at)}"


def _kind(origin: str | None) -> str:
    return " ".join((origin or _UNSAID).split()[:2])


def _other(stored: str | None, origin: str) -> str:
    return f"another {_kind(origin)}" if _kind(stored) == _kind(origin) else f"a {_kind(origin)}"


def _refusal(where: str, agent: str, contradiction: str) -> OtherBotError:
    return OtherBotError(
        f"{where} tells of another bot than the one known as {agent} ({contradiction}), so nothing of it was stored: "
        f'give this bot a name of its own with --agent NAME (agent = "NAME" in a [[source]]), or let it take the '
        "other's place with --replace-source"
    )

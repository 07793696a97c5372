"""What reviewing an agent cost, as costs of that agent: an inference cost like its own, at the instant of the call.

These are no facts: nobody told them, they move no K, they are in no digest, and a review that is made again because of
late facts finds the same ones. Calls are paid in dollars; an agent that counts in anything else has them at the mark of
that day, and where there is none they are left out and said to be.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from retro.accounting.prices import MAX_AGE
from retro.app.settlement.price_lines import exchange_symbols
from retro.model import Cost
from retro.store.facts import marks
from retro.store.spend import calls_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.store.spend import ModelCall

__all__ = ["Reviewing", "costs_of_reviewing"]

_TIERS: Final = frozenset({"T0", "T1", "T2"})


class Reviewing(NamedTuple):
    """What reviewing cost, in base currency, and the dollars of calls for which no mark says what a dollar was."""

    costs: list[Cost]
    unpriced: list[tuple[int, Decimal]]

    def warnings(self, start: int, base: str) -> list[str]:
        """What is missing from the costs since `start`."""
        missing = sum((usd for at, usd in self.unpriced if at >= start), Decimal(0))
        if not missing:
            return []
        return [
            f"reviewing cost {missing:.4f} USD that is in no figure here: no mark says what a dollar was in {base}"
        ]


def costs_of_reviewing(
    conn: Connection, agent: str, settings: AgentSettings, start: int, until: int
) -> Reviewing:
    """The model calls of [start, until) about an agent, in order of time."""
    base = settings.base_currency
    reviewing = Reviewing([], [])
    calls = [call for call in calls_of(conn, agent, start, until) if call.usd]
    names = exchange_symbols(base)
    quotes = _quotes(conn, agent, names) if calls and names else None
    for call in calls:
        amount = call.usd if quotes is None else _exchanged(conn, quotes, call)
        if amount is None:
            reviewing.unpriced.append((call.at, call.usd))
        else:
            reviewing.costs.append(_cost(agent, call, amount))
    return reviewing


def _cost(agent: str, call: ModelCall, amount: Decimal) -> Cost:
    return Cost(
        id=f"reviewing-{call.key}",
        agent=agent,
        at=call.at,
        kind="inference",
        amount=amount,
        tier=cast("Literal['T0', 'T1', 'T2']", call.tier) if call.tier in _TIERS else None,
        model=call.model,
        tokens_in=call.tokens_in,
        tokens_out=call.tokens_out,
    )


class _Quote(NamedTuple):
    """A series that prices dollars in the base, or, `inverse`, the base in dollars."""

    owner: str | None
    name: str
    inverse: bool


def _quotes(conn: Connection, agent: str, names: Sequence[tuple[str, bool]]) -> list[_Quote]:
    """Those of these series that there are, the agent's own first."""
    quotes = []
    for owner in (agent, None):
        instruments = marks.instruments(conn, owner)
        quotes += [_Quote(owner, name, inverse) for name, inverse in names if name in instruments]
    return quotes


def _exchanged(conn: Connection, quotes: list[_Quote], call: ModelCall) -> Decimal | None:
    """What a call cost in base, by the first series with a mark of the day before it."""
    for quote in quotes:
        mark = marks.last_at_or_before(conn, quote.owner, quote.name, call.at)
        if mark is not None and call.at - mark[0] <= MAX_AGE and mark[1] > 0:
            rate = Decimal(str(mark[1]))
            return call.usd / rate if quote.inverse else call.usd * rate
    return None

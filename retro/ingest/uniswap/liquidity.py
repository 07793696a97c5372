"""The life of one position out of its events: what was put in, what came out, and how much of that was earned.

A collect pays out principal and fees together: first what decreases have set free, the rest was earned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from retro.ingest.uniswap.ticks import human, human_liquidity, is_full_range, pool_price, tick_price
from retro.ingest.uniswap.tokens import CHAINS

if TYPE_CHECKING:
    from retro.ingest.batches import BatchWriter
    from retro.ingest.uniswap.files import PoolFacts, PoolPair, PositionEvent

__all__ = ["Liquidity"]

_VENUE: Final = "uniswap-v3"


@dataclass(slots=True)
class _Stay:
    """One time that a position held something, from its first liquidity to its last collect."""

    position: str
    pool: PoolPair
    ticks: tuple[int, int]
    liquidity: int = 0
    owed: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def decimals(self) -> tuple[int, int]:
        return (self.pool.tokens[0].decimals, self.pool.tokens[1].decimals)


@dataclass(slots=True)
class Liquidity:
    """Takes the events of one position after another, each in order, and writes them."""

    agent: str
    base: str
    writer: BatchWriter
    facts: PoolFacts
    _token: str = ""
    _stays: int = 0
    _stay: _Stay | None = None
    _ended: _Stay | None = None
    """The one before, for fees that are collected after its end."""

    def take(self, event: PositionEvent) -> None:
        """The next event; `ValueError` where what it needs is in no file."""
        key = f"{event.manager}-{event.position}"
        if key != self._token:
            self._token, self._stays, self._stay, self._ended = key, 0, None, None
        if event.kind == "increase":
            self._increase(event)
            return
        stay = self._stay or (self._ended if event.kind == "collect" else None)
        if stay is None:
            raise ValueError(
                f"position {event.position} was opened before the files begin; export its earlier events, too"
            )
        if event.kind == "decrease":
            self._decrease(event, stay)
        else:
            self._collect(event, stay)

    def _increase(self, event: PositionEvent) -> None:
        if not any(event.amounts) and not event.liquidity:
            return
        if self._stay is None:
            self._open(event)
        stay = self._stay
        assert stay is not None  # noqa: S101 - just opened
        self._mark(event, stay)
        stay.liquidity += event.liquidity
        for side in (0, 1):
            self._flow(event, stay, "deposit", side, event.amounts[side])

    def _open(self, event: PositionEvent) -> None:
        facts = self.facts.range_of(event)
        if facts is None:
            raise ValueError(
                f"the range of position {event.position} is in no file; export the pool's Mint and PoolCreated events, too"
            )
        pool, lower, upper = facts
        self._stays += 1
        name = f"uni-{CHAINS.get(event.manager, event.manager[2:8] or 'v3')}-{event.position}"
        name = name if self._stays == 1 else f"{name}+{self._stays}"
        self._stay = stay = _Stay(name, pool, (lower, upper))
        first, second = pool.tokens
        funds = {
            token.symbol: human(units, token.decimals)
            for token, units in zip(pool.tokens, event.amounts, strict=True)
            if units
        }
        is_full = is_full_range(lower, upper)
        self.writer.event(
            "position", name, self.agent, event.at, line=event.line,
            position=name, kind="lp", instrument=f"{first.symbol}/{second.symbol}", venue=_VENUE,
            token0=first.symbol, token1=second.symbol, funded_with=funds or None,
            lower=None if is_full else tick_price(lower, stay.decimals),
            upper=None if is_full else tick_price(upper, stay.decimals),
            liquidity=human_liquidity(event.liquidity, stay.decimals) if event.liquidity > 0 else None,
        )  # fmt: skip

    def _decrease(self, event: PositionEvent, stay: _Stay) -> None:
        self._mark(event, stay)
        stay.liquidity -= event.liquidity
        for side in (0, 1):
            stay.owed[side] += event.amounts[side]

    def _collect(self, event: PositionEvent, stay: _Stay) -> None:
        for side in (0, 1):
            principal = min(stay.owed[side], event.amounts[side])
            stay.owed[side] -= principal
            self._flow(event, stay, "lp_fee", side, event.amounts[side] - principal)
            self._flow(event, stay, "withdrawal", side, event.amounts[side])
        if stay is self._stay and stay.liquidity <= 0 and not any(stay.owed):
            self.writer.event(
                "exit", f"{event.name}-exit", self.agent, event.at, line=event.line, position=stay.position
            )
            self._stay, self._ended = None, stay

    def _flow(self, event: PositionEvent, stay: _Stay, kind: str, side: int, units: int) -> None:
        if units > 0:
            token = stay.pool.tokens[side]
            self.writer.event(
                "flow", f"{event.name}-{kind}-{side}", self.agent, event.at, line=event.line,
                position=stay.position, kind=kind, asset=token.symbol, quantity=human(units, token.decimals),
            )  # fmt: skip

    def _mark(self, event: PositionEvent, stay: _Stay) -> None:
        """What the pool's amounts say its price was, of the token that is not the base."""
        price = pool_price(event.liquidity, event.amounts, stay.ticks, stay.decimals)
        first, second = (token.symbol for token in stay.pool.tokens)
        if price is None or self.base not in {first, second}:
            return
        if second == self.base:
            self.writer.mark(self.agent, first, event.at, price, line=event.line)
        else:
            self.writer.mark(self.agent, second, event.at, 1 / price, line=event.line)

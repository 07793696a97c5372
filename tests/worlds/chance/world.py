"""Random worlds: a market, and the life of an agent in it, told as a journal. Seeds make them; nothing else does.

A world leans to a few kinds of acts, so that small ones hold what large ones mix. What is inside a position is asked of
the ledger of balances, so that a sale can be of all there is.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from retro.model import MarkSeries
from retro.periods import format_instant
from tests.worlds.chance.ledger import Ledger
from tests.worlds.chance.lifetime import PositionLedger
from tests.worlds.chance.market import Event, Market, micros

if TYPE_CHECKING:
    from tests.worlds.chance.inside import Inside

HOUR = 3_600_000_000
MINUTE = HOUR // 60
ZONES = (
    ("UTC", "2026-02-05"),
    ("Asia/Kolkata", "2026-02-05"),
    ("Australia/Lord_Howe", "2026-03-30"),  # half an hour back on 5 April
    ("Europe/Berlin", "2026-03-24"),
    ("America/New_York", "2026-10-27"),
    ("Asia/Kathmandu", "2026-07-14"),
)
START = {"ETH": 2000.0, "BTC": 60000.0, "ARB": 1.2, "BNB": 500.0, "GNO": 180.0}


@dataclass
class WorldFacts:
    """What a database is told of a world, and how it is asked: enough to judge it, and to make it smaller."""

    seed: int
    agent: str
    zone: str
    base: str
    method: str
    capital: str | None
    days: list[int]
    events: list[Event]
    shared: list[MarkSeries] = field(default_factory=list)
    neighbours: list[Event] = field(default_factory=list)

    @property
    def configuration(self) -> dict[str, Any]:
        """The tables of config.toml."""
        own = {"base_currency": self.base} | ({} if self.capital is None else {"capital": self.capital})
        return {
            "owner": {"time_zone": self.zone},
            "retrospective": {"lot_method": self.method, "epoch_interval_days": 5},
            "agent": {self.agent: own},
        }

    @property
    def ledger(self) -> Ledger:
        """What it comes to."""
        market = Market(self.base, self.events, self.shared)
        capital = None if self.capital is None else Decimal(self.capital)
        return Ledger(self.events, market, self.base, capital)


def lines_of(events: list[Event]) -> bytes:
    """A journal."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


class World:
    """A life of 7 to 14 days in the making: `now` moves on, `tell` writes an event there."""

    def __init__(self, seed: int, days: int | None = None, without: frozenset[str] = frozenset()) -> None:
        self.rng = rng = random.Random(seed)
        self.without = without
        self.zone, first = rng.choice(ZONES)
        count = days or rng.randint(7, 14)
        self.days = midnights(first, count, self.zone)
        self.base = rng.choice(("USDC", "USDC", "USDC", "EUR"))
        self.now = self.days[0] + rng.choice((0, rng.randint(0, 20) * HOUR, rng.randint(0, 10**11)))
        self.end = self.days[-1] - rng.choice((0, 0, 1, rng.randint(1, 10**11)))
        self.count = 0
        self.events: list[Event] = []
        self.facts = WorldFacts(
            seed=seed,
            agent="w",
            zone=self.zone,
            base=self.base,
            method=rng.choice(("fifo", "average")),
            capital=None,
            days=self.days,
            events=self.events,
        )
        self.paths = {asset: path_of(rng, start) for asset, start in START.items()}
        self.facts.shared = tell_marks(self)
        self.market = Market(self.base, self.events, self.facts.shared)
        self.market.until = self.end

    # time and names

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self, kind: str) -> str:
        """A name nobody has yet."""
        self.count += 1
        return f"{kind}-{self.count}"

    def step(self) -> bool:
        """Let time pass: often to a midnight of the owner or to a mark, never twice to one instant. False at the end."""
        gap = int(math.exp(self.rng.uniform(math.log(MINUTE), math.log(30 * HOUR))))
        now = self.now + max(gap, 1)
        if self.chance(0.2):
            now = next((day for day in self.days if day > now), now)
        elif self.chance(0.2):
            now = -(-now // HOUR) * HOUR
        elif self.chance(0.7):
            now = now // 1000 * 1000 + 1000
        self.now = now
        return now < self.end

    def tell(self, event_type: str, **fields: Any) -> Event:
        """An event of this instant; what is None is left out, decimals are written as they are."""
        self.count += 1
        event: Event = {
            "type": event_type,
            "id": f"e{self.count}",
            "agent": "w",
            "at": format_instant(self.now),
        }
        event |= {name: plain(value) for name, value in fields.items() if value is not None}
        self.events.append(event)
        return event

    # the market

    def price(self, asset: str) -> float:
        """What an asset trades at now, marked or not."""
        hours = (self.now - self.days[0]) / HOUR + 48
        return 1.0 if asset == self.base else self.paths[asset][int(hours * 4)]

    def marked(self, asset: str) -> bool:
        """Whether its marks have begun."""
        return self.market.times.get(asset, [self.end])[0] < self.now

    def quantity(self, asset: str, worth: float) -> Decimal:
        """So much of an asset as is worth an amount, with few digits."""
        return Decimal(f"{worth / self.price(asset):.6g}")

    # what it holds

    def book(self, name: str) -> PositionLedger:
        """A position so far."""
        return PositionLedger(name, [e for e in self.events if e.get("position") == name], self.market)

    def inside(self, name: str) -> Inside:
        """What is inside a position now."""
        return self.book(name).inside

    def open_positions(self, *kinds: str) -> list[str]:
        """Names of what is open of some kinds."""
        ours = [e for e in self.events if e["type"] == "position" and e["kind"] in kinds]
        names = [e["position"] for e in ours]
        closed = {e["position"] for e in self.events if e["type"] == "exit"}
        return [name for name in names if name not in closed and not self.inside(name).is_empty]

    def ledger(self) -> Ledger:
        """What it comes to so far."""
        capital = None if self.facts.capital is None else Decimal(self.facts.capital)
        return Ledger(self.events, self.market, self.base, capital)

    def position_of(self, name: str) -> Event:
        return next(e for e in self.events if e["type"] == "position" and e["position"] == name)


def plain(value: Any) -> Any:
    """Decimals as text, so that no digit is lost."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return value


def midnights(first: str, count: int, zone: str) -> list[int]:
    """The owner's midnights of `count` days, and the one that ends the last."""
    start = datetime.fromisoformat(first)
    days = [start + timedelta(days=n) for n in range(count + 1)]
    return [round(day.replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000_000 for day in days]


def path_of(rng: random.Random, start: float) -> list[float]:
    """Prices every quarter of an hour from two days before until a week after, now and then a jump."""
    path, price = [], start
    for _ in range(24 * 4 * 25):
        path.append(float(f"{price:.6g}"))
        price *= math.exp(rng.gauss(0, 0.003) + (rng.gauss(0, 0.05) if rng.random() < 0.004 else 0.0))
    return path


def tell_marks(world: World) -> list[MarkSeries]:
    """Marks of every asset: the agent's own, shared ones or both; late, with holes, to the microsecond."""
    rng, shared = world.rng, []
    first, last = world.days[0] - 4 * HOUR, world.days[-1] + 24 * HOUR
    for asset, path in world.paths.items():
        step = rng.choice((MINUTE * 45, HOUR, HOUR * 2, HOUR * 4))
        begins = first if rng.random() < 0.75 else first + rng.randint(5, 80) * HOUR
        hole = rng.randint(0, 200) * HOUR + first if rng.random() < 0.3 else 0
        times = [at for at in range(begins // HOUR * HOUR, last, step) if not hole <= at < hole + 30 * HOUR]
        prices = [path[(at - world.days[0]) * 4 // HOUR + 192] for at in times]
        owner = rng.choice(("own", "shared", "shared", "both"))
        if "late" in world.without:
            times, prices = every(world, path, first, last, step)
        if "both" in world.without and owner == "both":
            owner = "own"
        if owner != "own":
            some = [
                (at, p)
                for at, p in zip(times, prices, strict=True)
                if owner == "shared" or rng.random() < 0.7
            ]
            t = np.array([at for at, _ in some], np.int64)
            shared.append(MarkSeries(None, f"{asset}/{world.base}", t, np.array([p for _, p in some], float)))
        if owner != "shared":
            name = rng.choice(("asset", "instrument"))
            symbol = asset if name == "asset" else f"{asset}/{world.base}"
            tell_own(world, {name: symbol}, list(zip(times, prices, strict=True)), beside=owner == "both")
    return shared


def every(world: World, path: list[float], first: int, last: int, step: int) -> tuple[list[int], list[float]]:
    """Marks without holes from the beginning."""
    times = list(range(first // HOUR * HOUR, last, step))
    return times, [path[(at - world.days[0]) * 4 // HOUR + 192] for at in times]


def tell_own(world: World, name: dict[str, str], marks: list[tuple[int, float]], *, beside: bool) -> None:
    """The agent's own marks; beside shared ones some of them, a little off, at instants of their own."""
    rng, now = world.rng, world.now
    for at, price in marks:
        if beside and rng.random() < 0.6:
            continue
        world.now = at + (
            rng.choice((0, rng.randint(0, 2 * MINUTE), rng.randint(0, HOUR // 2))) if beside else 0
        )
        if world.now <= world.end:
            off = rng.choice((1, 1 + rng.uniform(-0.004, 0.004), 1.1)) if beside else 1
            world.tell("mark", **name, price=float(f"{price * off:.6g}"))
    world.now = now


def last_instant(events: list[Event]) -> int:
    return max(micros(event) for event in events)

"""A life told by hand and the arithmetic to check its reviews: written from the definitions, not from the code.

`Life` tells events at hours after a Monday. The functions below it are the slow, plain form of each definition.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from math import atan, cos, exp, fsum, lgamma, pi, sqrt
from statistics import median, stdev
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from retro.app.intake.ingest import ingest
from retro.app.reviews import build as review
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settle import settled_book
from retro.model import Batch, MarkSeries
from retro.periods import format_instant, parse_instant
from retro.report import PositionRetrospective, RetrospectiveReport, dump
from retro.store.database import Store, open_store
from tests.worlds.lives import agent_of, live, position, report, settings_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from retro.periods import Horizon

Prices: TypeAlias = "Mapping[int, float] | Mapping[float, float] | Sequence[float]"
"""By hour, or one after another."""
MONDAY = 1_767_571_200_000_000  # 2026-01-05T00:00Z
HOUR = 3_600_000_000
DAY = 24
WEEK = 7 * DAY
ADDED = (
    "lp_fees_earned",
    "lending_interest_earned",
    "staking_rewards",
    "funding",
    "trading_gains",
    "unrealized_pnl",
    "wallet_pnl",
    "implausible_pnl",
)
TAKEN = (
    "borrow_interest",
    "trading_losses",
    "impermanent_loss",
    "gas_costs",
    "inference_costs",
    "data_costs",
)


def instant(hours: float) -> int:
    """Microseconds of an hour of the life."""
    return MONDAY + round(hours * HOUR)


def clock(hours: float) -> str:
    """The same, as reports write it."""
    return format_instant(instant(hours))


class Life:
    """Events told by hand, then reviewed."""

    def __init__(self, path: Path, name: str = "a", **configuration: Any) -> None:
        self.path, self.name = path, name
        self.configuration: Mapping[str, object] = configuration
        self.events: list[dict[str, Any]] = []
        self.shared: list[MarkSeries] = []
        self._store: Store | None = None

    def tell(self, hours: float, type_: str, **fields: Any) -> None:
        """One event; its id counts up."""
        event = {"type": type_, "id": f"e{len(self.events) + 1}", "agent": self.name, "at": clock(hours)}
        self.events.append({**event, **fields})

    def marks(self, name: str, prices: Prices, step: float = 1.0) -> None:
        """Marks of an asset (no slash) or an instrument: by hour, or one every `step` hours from 0."""
        points: Iterable[tuple[float, float]] = (
            prices.items() if isinstance(prices, Mapping) else [(i * step, p) for i, p in enumerate(prices)]
        )
        for hours, price in points:
            self.tell(hours, "mark", **{"instrument" if "/" in name else "asset": name}, price=price)

    def market(
        self,
        instrument: str,
        prices: Prices,
        ranges: Mapping[Any, tuple[float, float]] | None = None,
    ) -> None:
        """Shared marks, in the instrument's own quote; `ranges` are lows and highs of candles. They move no clock."""
        price_at: dict[Any, float] = dict(
            prices.items() if isinstance(prices, Mapping) else enumerate(prices)
        )
        hours = sorted(price_at)
        low, high = (
            np.array([ranges[h][side] for h in hours], float) if ranges is not None else None
            for side in (0, 1)
        )
        t = np.array([instant(h) for h in hours], np.int64)
        price = np.array([price_at[h] for h in hours], float)
        self.shared.append(MarkSeries(None, instrument, t, price, low, high))

    def open(self, hours: float, name: str, kind: str = "spot", **fields: Any) -> None:
        """A position; spot and perp are ETH/USDC, long, unless told."""
        if kind in {"spot", "perp"}:
            fields = {
                "instrument": "ETH/USDC" if kind == "spot" else "ETH/USDC:USDC",
                "side": "long",
                **fields,
            }
        self.tell(hours, "position", position=name, kind=kind, **fields)

    def fill(
        self, hours: float, name: str, side: str, quantity: float | str, price: float, **fields: Any
    ) -> None:
        """A trade of a position."""
        self.tell(hours, "fill", position=name, side=side, quantity=quantity, price=price, **fields)

    def flow(
        self, hours: float, name: str | None, kind: str, asset: str, quantity: float | str, **fields: Any
    ) -> None:
        """Value in or out of a position, or of the wallet."""
        where = {} if name is None else {"position": name}
        self.tell(hours, "flow", kind=kind, asset=asset, quantity=quantity, **where, **fields)

    def trade(
        self,
        name: str,
        enter: tuple[float, float],
        leave: tuple[float, float],
        quantity: float = 1,
        side: str = "long",
        cites: Iterable[str] = (),
        exit_cites: Iterable[str] = (),
        **fields: Any,
    ) -> None:
        """A whole life of a position: (hour, price) in and out, decisions where heuristics are cited."""
        self.open(enter[0], name, side=side, **fields)
        entry_side, exit_side = ("buy", "sell") if side == "long" else ("sell", "buy")
        self.fill(enter[0], name, entry_side, quantity, enter[1])
        if cites:
            self.tell(enter[0], "decision", action="enter", position=name, cites=list(cites))
        self.fill(leave[0], name, exit_side, quantity, leave[1])
        if exit_cites:
            self.tell(leave[0], "decision", action="exit", position=name, cites=list(exit_cites))

    def until(self, hours: float) -> None:
        """Everything before this hour is known."""
        self.tell(hours, "decision", action="hold", reasoning="the clock")

    def lines(self) -> bytes:
        """The journal."""
        return b"".join(json.dumps(event).encode() + b"\n" for event in self.events)

    @property
    def store(self) -> Store:
        """The store with everything told, made when first asked for."""
        if self._store is None:
            self._store = open_store(str(self.path / f"{self.name}.db"))
            ingest(self._store, "candles", [Batch(marks=self.shared)], settings_for(self.configuration))
            done = live(self._store, self.lines(), configuration=self.configuration)
            assert done.clean, (done.faults, done.conflicts)
        return self._store

    def day(self, day: int) -> RetrospectiveReport:
        """The daily review of a day counted from the Monday."""
        return report(
            self.store, self.name, "daily", at=instant(day * DAY + 12), configuration=self.configuration
        )

    def at(self, horizon: Horizon, hours: float) -> RetrospectiveReport:
        """The review of a horizon that contains an hour."""
        return report(self.store, self.name, horizon, at=instant(hours), configuration=self.configuration)

    def as_of(self, start: float, end: float, cutoff: float) -> RetrospectiveReport:
        """A review of [start, end) that knows nothing after an hour."""
        agent = agent_of(self.store, self.name)
        settings = settings_for(self.configuration)(agent)
        period = choose_period(agent, settings, "weekly", span=(instant(start), instant(end)))
        with settled_book(self.store, self.name, settings) as book:
            return review.review_period(book, period, as_of=instant(cutoff))

    def week(self, week: int = 0) -> RetrospectiveReport:
        """A weekly review."""
        return report(
            self.store, self.name, "weekly", at=instant(week * WEEK + 84), configuration=self.configuration
        )

    def span(self, start: float, end: float) -> RetrospectiveReport:
        """A review of [start, end), in hours."""
        return report(
            self.store, self.name, span=(instant(start), instant(end)), configuration=self.configuration
        )

    def position(self, name: str) -> PositionRetrospective:
        """The whole life of a position."""
        return position(self.store, self.name, name, configuration=self.configuration)


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A life of which nothing is told yet."""
    return Life(tmp_path)


def told_in_parts(
    path: Path, name: str, *parts: Sequence[Mapping[str, Any]], table: Mapping[str, object] | None = None
) -> Store:
    """A database that is told a life part by part, with a review after each; `table` configures it."""
    store = open_store(str(path / f"{name}.db"))
    for i, part in enumerate(parts):
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in part)
        assert live(store, lines, name=f"{i}.jsonl", configuration=table).clean
        report(store, "a", "weekly", at=instant(12), configuration=table)
    return store


def documents(store: Store, days: int = 4) -> list[str]:
    """The first days and all of them together, as the bytes that their reviews print."""
    spans = [(DAY * d, DAY * (d + 1)) for d in range(days)] + [(0, DAY * days)]
    return [dump(report(store, "a", span=(instant(a), instant(b)))) for a, b in spans]


def approx(value: Any) -> Any:
    """What differs from a value by rounding alone."""
    return pytest.approx(value, abs=1e-9, rel=1e-12)


def components(pnl: Any) -> dict[str, float]:
    """The fields of an attribution that are not 0, as reported."""
    figures = {name: getattr(pnl, name) for name in (*ADDED, *TAKEN)}
    return {name: value for name, value in figures.items() if abs(value) > 1e-12}


def closes(pnl: Any) -> float:
    """total less the sum of the components: 0 within 1e-9 of their size."""
    parts = [getattr(pnl, n) for n in ADDED] + [-getattr(pnl, n) for n in TAKEN] + [pnl.unattributed or 0.0]
    return float(pnl.total - math.fsum(parts)) / max(1.0, math.fsum(map(abs, parts)))


def row_of(document: Any, heuristic: str, role: str = "entry") -> Any:
    """One row of the audit."""
    return next(r for r in document.heuristic_performance if (r.heuristic_id, r.role) == (heuristic, role))


def life_of(document: Any, name: str) -> Any:
    """One position of a report."""
    return next(p for p in document.positions if p.position_id == name)


# The definitions, slowly


def pool(liquidity: float, price: float, lower: float | None, upper: float | None) -> tuple[float, float]:
    """x and y of a concentrated position, each bound None where the range has no end."""
    a, b = math.sqrt(lower or 0.0), math.inf if upper is None else math.sqrt(upper)
    s = min(max(math.sqrt(price), a), b)
    return liquidity * (1 / s - (0.0 if math.isinf(b) else 1 / b)), liquidity * (s - a)


def as_of(marks: Mapping[float, float], hours: float) -> tuple[float, float] | None:
    """(hour, price) of the last mark at or before an hour."""
    past = [h for h in marks if h <= hours]
    return (max(past), marks[max(past)]) if past else None


def median_gap(marks: Iterable[float], entry: float, leave: float) -> float:
    """Median hours between marks in [entry - 24 h, exit]; 0 with fewer than two."""
    inside = sorted(h for h in marks if entry - 24 <= h <= leave)
    return median(b - a for a, b in pairwise(inside)) if len(inside) > 1 else 0.0


def luck(steps: Sequence[float]) -> float:
    """Expected regret of a driftless walk over n candidates: s * sum_{i<n} 1/sqrt(2 pi i)."""
    s = math.sqrt(math.fsum(x * x for x in steps) / len(steps))
    return s * math.fsum(1 / math.sqrt(2 * math.pi * i) for i in range(1, len(steps)))


def fifo(trades: Iterable[tuple[float, float, float]]) -> list[float]:
    """Realised pnl of each closing fill; trades are (signed quantity, price, fee in base currency).

    A fill that crosses zero closes, with its share of the fee, then opens.
    """
    lots: list[list[float]] = []
    realised: list[float] = []
    for quantity, price, fee in trades:
        remaining, unit = quantity, fee / abs(quantity)
        result, closed = 0.0, False
        while remaining and lots and lots[0][0] * remaining < 0:
            part = min(abs(lots[0][0]), abs(remaining))
            sign = math.copysign(1, lots[0][0])
            result += sign * part * (price - lots[0][1]) - part * (unit + lots[0][2])
            lots[0][0] -= sign * part
            remaining += sign * part
            closed = True
            if abs(lots[0][0]) < 1e-15:
                lots.pop(0)
        if remaining:
            lots.append([remaining, price, unit])
        if closed:
            realised.append(result)
    return realised


def hours_of(text: str | None) -> float | None:
    """The hour of the life of a reported instant."""
    return None if text is None else (parse_instant(text) - MONDAY) / HOUR


def clustered_error(outcomes: Sequence[tuple[float, int]]) -> float:
    """Standard error of the mean of (value, day): sqrt of G/(G-1) * sum of squared day residual sums / n^2."""
    mean = fsum(value for value, _ in outcomes) / len(outcomes)
    sums: dict[int, list[float]] = {}
    for value, day in outcomes:
        sums.setdefault(day, []).append(value - mean)
    g = len(sums)
    return sqrt(g / (g - 1) * fsum(fsum(part) ** 2 for part in sums.values())) / len(outcomes)


def role_error(role: Sequence[tuple[float, int]], days: Sequence[int]) -> float:
    """What a role's outcomes, (value, day), say of the mean of others on these days: sd / sqrt(n / design effect)."""

    def size(counts: Iterable[int]) -> float:
        listed = list(counts)
        return sum(c * c for c in listed) / sum(listed)

    deviation, each = stdev(value for value, _ in role), Counter(day for _, day in role)
    effect = clustered_error(role) ** 2 * len(role) / deviation**2
    alike = min(1.0, max(0.0, (effect - 1) / (size(each.values()) - 1))) if size(each.values()) > 1 else 0.0
    own = 1 + alike * (size(Counter(days).values()) - 1)
    return deviation * sqrt(own / len(days))


def student_p(t: float, df: float) -> float:
    """Two-sided p of Student's t: with t = sqrt(df) tan x the density is a power of the cosine, added up by Simpson."""
    start, n = atan(abs(t) / sqrt(df)), 2000
    h = (pi / 2 - start) / n
    f: list[float] = [cos(start + i * h) ** (df - 1) for i in range(n + 1)]
    area = h / 3 * (f[0] + f[-1] + 4 * fsum(f[1:-1:2]) + 2 * fsum(f[2:-1:2]))
    return 2 * area * exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(pi)

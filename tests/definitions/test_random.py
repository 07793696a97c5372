"""Random trades among random marks, every figure of their lives against a slow reading of the definitions."""

from __future__ import annotations

import random
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.oracle import Life, as_of, clock, fifo, luck, median_gap

OFFSETS = {"1h": 1, "4h": 4, "1d": 24, "3d": 72, "7d": 168, "14d": 336, "30d": 720}
DAY = 24


class Slow:
    """One closed position: fills (hour, signed quantity, price, fee) in order, marks by hour."""

    def __init__(
        self, fills: list[tuple[float, float, float, float]], marks: dict[float, float], risk: float | None
    ) -> None:
        self.fills, self.marks, self.risk = fills, marks, risk
        self.entry, self.exit = fills[0][0], fills[-1][0]
        self.duration = self.exit - self.entry
        self.gap = median_gap(marks, self.entry, self.exit)
        self.final = self._cash(float("inf"))
        self.closing_fees = fsum(fee for h, _, _, fee in fills if h == self.exit)
        self.opening_fees = fsum(fee for h, _, _, fee in fills if h == self.entry)
        side = 1 if fills[0][1] > 0 else -1
        self.notional = fsum(abs(q) * p for _, q, p, _ in fills if q * side > 0)

    def _cash(self, before: float) -> float:
        return fsum(-q * p - fee for h, q, p, fee in self.fills if h < before)

    def gross(self, at: float) -> float:
        quantity = fsum(q for h, q, _, _ in self.fills if h < at)
        return self._cash(at) + quantity * as_of(self.marks, at)[1]

    def if_held(self, at: float) -> float:
        quantity = fsum(q for h, q, _, _ in self.fills if h < self.exit)
        return self._cash(self.exit) + quantity * as_of(self.marks, at)[1]

    def fresh(self, span: float) -> float:
        return max(3 * self.gap, span / 10)

    def checkpoints(self) -> list[tuple[str, float | None, float | None, bool]]:
        rows: list[tuple[str, float | None, float | None, bool]] = []
        for name, offset in OFFSETS.items():
            if self.entry + offset < self.exit:
                at = self.entry + offset
                mark = as_of(self.marks, at)
                age = None if mark is None else at - mark[0]
                if age is None or age > 24:
                    rows.append((name, None, None, True))
                else:
                    rows.append((name, self.gross(at), age * 3600, age > self.fresh(offset)))
        return [*rows, ("exit", self.final, 0, False)]

    def coverage(self) -> float:
        """Share of [entry, exit] in which the as-of mark is fresh, piece by piece."""
        edges = sorted({self.entry, self.exit, *(h for h in self.marks if self.entry < h < self.exit)})
        limit, covered = self.fresh(self.duration), 0.0
        for a, b in pairwise(edges):
            mark = as_of(self.marks, a)
            if mark is not None:
                covered += max(0.0, min(b, mark[0] + limit) - a)
        return covered / self.duration

    def timing(self) -> dict[str, Any]:
        inside = sorted(h for h in self.marks if self.entry < h < self.exit)
        path = [(h, self.gross(h)) for h in inside] + [(self.exit, self.final + self.closing_fees)]
        best, worst = max(g for _, g in path), min(g for _, g in path)
        extremes: dict[str, float | None] = {"mfe": max(0.0, best), "mae": min(0.0, worst)}
        if not inside:
            extremes = {"mfe": None, "mae": None}
        if not inside or self.coverage() < 0.5:
            return {**extremes, "regret": None, "optimal_exit_at": None, "regret_ratio": None}
        tie = 1e-9 * max(1.0, self.notional)
        first = next(h for h, g in path if g >= best - tie)
        values = [g for _, g in path]
        steps = [b - a for a, b in pairwise([-self.opening_fees, *values])]
        regret = best - self.closing_fees - self.final
        return {
            **extremes,
            "regret": regret,
            "optimal_exit_at": clock(first),
            "regret_ratio": regret / luck(steps),
        }

    def after(self) -> tuple[Any, Any, Any]:
        span = min(self.duration, 7 * DAY)
        until = self.exit + span
        marks = [h for h in sorted(self.marks) if self.exit < h <= until]
        if not marks or not self.gap or until - marks[-1] > 3 * self.gap:
            return None, None, None
        known_loss = max(0.0, -(self.final + self.closing_fees))
        floor = -max(self.risk or 0.0, known_loss, abs(self.timing()["mae"] or 0.0))
        path = [self.if_held(h) for h in marks]
        above_floor = []
        for gross in path:
            if gross < floor - 1e-9 * max(1.0, self.notional):
                break
            above_floor.append(gross)
        final = self.final + self.closing_fees
        return (
            max(0.0, max(path) - final),
            max([0.0, *(gross - final for gross in above_floor)]),
            path[-1] - final,
        )


def random_marks(rng: random.Random) -> dict[float, float]:
    """Irregular marks over 40 days: hourly, with holes of up to two days."""
    at, price, marks = -30.0, 100.0, {}
    while at < 900:
        marks[round(at, 2)] = round(price, 4)
        at += rng.choice((1, 1, 1, 1, 0.5, 2, rng.choice((1, 1, 1, 30, 50))))
        price *= 1 + rng.gauss(0, 0.01)
    return marks


def random_fills(rng: random.Random, marks: dict[float, float]) -> list[tuple[float, float, float, float]]:
    start = round(rng.uniform(0, 100), 2)
    life = rng.choice((3, 8, 30, 100, 300))
    side = rng.choice((1, -1))
    hours = sorted({start, *(round(start + rng.random() * life, 2) for _ in range(rng.randint(1, 4)))})
    holding, fills = 0.0, []
    for i, h in enumerate(hours):
        price = round(as_of(marks, h)[1] * rng.uniform(0.99, 1.01), 4)
        if i == 0:
            quantity = float(rng.randint(2, 8))
        elif i == len(hours) - 1:
            quantity = -holding
        else:
            quantity = rng.choice((1.0, -1.0)) if holding > 1 else 1.0
        holding += quantity
        fills.append((h, side * quantity, price, round(abs(quantity) * price * 0.001, 6)))
    return fills


@pytest.mark.parametrize("seed", range(6))
def test_lives_of_random_trades(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    life, slow = Life(tmp_path), {}
    marks = random_marks(rng)
    life.market("ETH/USDC:USDC", marks)
    for i in range(12):
        fills, name = random_fills(rng, marks), f"p{i}"
        if len(fills) < 2:
            continue
        risk = rng.choice((None, 5.0, 40.0))
        slow[name] = Slow(fills, marks, risk)
        fields = {} if risk is None else {"risk": risk}
        life.open(fills[0][0], name, "perp", side="long" if fills[0][1] > 0 else "short", **fields)
        for h, quantity, price, fee in fills:
            life.fill(h, name, "buy" if quantity > 0 else "sell", abs(quantity), price, fee=fee)
    life.until(500)
    for name, want in slow.items():
        position = life.position(name)
        near: dict[str, Any] = {"abs": 1e-9 * max(1.0, want.notional), "rel": 1e-12}
        assert position.final_pnl == pytest.approx(want.final, **near)
        realised = fifo((q, p, fee) for _, q, p, fee in want.fills)
        gains = position.attribution.trading_gains
        assert gains == pytest.approx(fsum(r for r in realised if r > 0), **near)
        assert gains - position.attribution.trading_losses == pytest.approx(want.final, **near)
        points = [(c.offset, c.pnl, c.mark_age_s, c.stale) for c in position.pnl_trajectory]
        for got, expected in zip(points, want.checkpoints(), strict=True):
            assert (got[0], got[3]) == (expected[0], expected[3]), (name, got, expected)
            assert got[1] == (None if expected[1] is None else pytest.approx(expected[1], **near)), name
            assert got[2] == (None if expected[2] is None else pytest.approx(expected[2], abs=1e-3)), name
        for field, value in want.timing().items():
            figure = pytest.approx(value, **near) if isinstance(value, float) else value
            assert getattr(position, field) == figure, (name, field)
        after = (position.left_on_table, position.left_on_table_capped, position.hold_on)
        for left, value in zip(after, want.after(), strict=True):
            assert left == (None if value is None else pytest.approx(value, **near)), (name, after)

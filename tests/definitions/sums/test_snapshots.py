"""Random pots told by snapshots (holdings, claimable, growth nobody tells), whose equity is known from balances."""

from __future__ import annotations

import json
import math
import random
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from retro.store.database import open_store
from tests.worlds.lives import live, report
from tests.worlds.oracle import ADDED, DAY, TAKEN, clock, closes, instant


class Pots:
    """LP, lending and staking positions; every pot is told by a snapshot before each act and at 23 o'clock.

    So what is inside at midnight has been told, and equity then is balances times prices.
    """

    def __init__(self, seed: int, days: int = 4) -> None:
        self.rng, self.days = random.Random(seed), days
        self.events: list[dict[str, Any]] = []
        self.price = {name: self._walk(start) for name, start in (("ETH", 2000.0), ("LDO", 2.0))}
        for name, path in self.price.items():
            for hour, price in enumerate(path):
                self.tell(hour, "mark", asset=name, price=price)
        self.wallet = {"USDC": 50_000.0, "ETH": 3.0}
        self.tell(0, "equity", balances=dict(self.wallet), value=self.worth(0))
        self.opening = self.worth(0)
        self.pots: dict[str, dict[str, Any]] = {}
        self.equity: dict[int, float] = {}
        for hour in range(1, days * DAY):
            if hour % DAY == DAY - 1:
                for name, pot in self.pots.items():
                    if pot["open"]:
                        self.snapshot(hour, name)
                self.equity[hour + 1] = self.worth(hour + 1)
            elif hour % DAY:
                for i in range(self.rng.choice((0, 1, 1, 2))):
                    self.act(hour + i / 10)
        self.tell(days * DAY, "decision", action="hold", reasoning="the end")

    def _walk(self, price: float) -> list[float]:
        path = []
        for _ in range(self.days * DAY + 1):
            path.append(round(price, 6))
            price *= math.exp(self.rng.gauss(0, 0.005))
        return path

    def tell(self, hours: float, type_: str, **fields: Any) -> None:
        event = {"type": type_, "id": f"e{len(self.events)}", "agent": "w", "at": clock(hours)}
        self.events.append({**event, **fields})

    def of(self, asset: str, hours: float) -> float:
        return 1.0 if asset == "USDC" else self.price[asset][int(hours)]

    def worth(self, hours: float) -> float:
        holdings = [self.wallet]
        holdings += [
            part for pot in getattr(self, "pots", {}).values() for part in (pot["held"], pot["claim"])
        ]
        return fsum(quantity * self.of(asset, hours) for part in holdings for asset, quantity in part.items())

    def snapshot(self, hours: float, name: str) -> None:
        pot = self.pots[name]
        fields = {"claimable": dict(pot["claim"])} if pot["claims"] else {}
        self.tell(hours, "snapshot", position=name, holdings=dict(pot["held"]), **fields)

    def act(self, hours: float) -> None:
        open_pots = [name for name, pot in self.pots.items() if pot["open"]]
        if not open_pots or self.rng.random() < 0.2:
            self.enter(hours)
            return
        name = self.rng.choice(open_pots)
        pot, asset = self.pots[name], self.rng.choice(list(self.pots[name]["held"]))
        price = self.of(asset, hours)
        self.snapshot(hours, name)
        act, later = self.rng.random(), hours + 0.02
        if act < 0.4:
            self._grow(later, name, pot, asset, round(self.rng.uniform(0.1, 5) / price, 9))
        elif act < 0.55:
            quantity = round(self.rng.uniform(10, 300) / price, 9)
            pot["held"][asset] = round(pot["held"][asset] + quantity, 9)
            self.wallet["USDC"] -= quantity * price
            self.tell(later, "flow", position=name, kind="deposit", asset=asset, quantity=quantity)
        elif act < 0.85:
            inside = pot["claim"].get(asset, 0.0) + pot["held"][asset]
            self._take(later, name, pot, asset, round(inside * self.rng.uniform(0.1, 0.9), 9))
        else:
            for asset_ in list(pot["held"]):
                self._take(
                    later, name, pot, asset_, round(pot["held"][asset_] + pot["claim"].get(asset_, 0.0), 9)
                )
            self.tell(later, "exit", position=name, reason="done")
            pot.update(held={}, claim={}, open=False)

    def _grow(self, hours: float, name: str, pot: dict[str, Any], asset: str, quantity: float) -> None:
        """Tellers tell every accrual; the others let the next snapshot show it, in the holdings or claimable."""
        where = "claim" if pot["tells"] or (pot["claims"] and self.rng.random() < 0.5) else "held"
        pot[where][asset] = round(pot[where].get(asset, 0.0) + quantity, 9)
        if pot["tells"]:
            kind = {"lp": "lp_fee", "lending": "interest", "staking": "reward"}[pot["kind"]]
            self.tell(hours, "flow", position=name, kind=kind, asset=asset, quantity=quantity)

    def _take(self, hours: float, name: str, pot: dict[str, Any], asset: str, quantity: float) -> None:
        if quantity <= 0:
            return
        claimed = min(quantity, pot["claim"].get(asset, 0.0))
        pot["claim"][asset] = round(pot["claim"].get(asset, 0.0) - claimed, 9)
        pot["held"][asset] = round(pot["held"][asset] - (quantity - claimed), 9)
        self.wallet["USDC"] += quantity * self.of(asset, hours)
        self.tell(hours, "flow", position=name, kind="withdrawal", asset=asset, quantity=quantity)

    def enter(self, hours: float) -> None:
        kind = self.rng.choice(("lp", "lending", "staking"))
        name = f"{kind}-{len(self.pots)}"
        assets = ["ETH", "USDC"] if kind == "lp" else [self.rng.choice(("ETH", "USDC", "LDO"))]
        fields: dict[str, Any] = (
            {"token0": "ETH", "token1": "USDC", "lower": 1000, "upper": 4000} if kind == "lp" else {}
        )
        holdings = {asset: round(self.rng.uniform(100, 900) / self.of(asset, hours), 9) for asset in assets}
        cost = fsum(quantity * self.of(asset, hours) for asset, quantity in holdings.items())
        funding = self.rng.random()
        if funding < 0.2:
            fields["funded_with"] = {"USDC": round(cost + self.rng.uniform(-2, 5), 6)}
        elif funding < 0.4:
            fields["funded_with"] = {"ETH": round(self.rng.uniform(0.01, 0.2), 6), "USDC": round(cost / 2, 6)}
        for asset, quantity in fields.get("funded_with", {"USDC": cost}).items():
            have = (
                math.inf if asset == "USDC" else self.wallet[asset]
            )  # what is not held is bought at its mark
            self.wallet[asset] -= min(have, quantity)
            self.wallet["USDC"] -= max(0.0, quantity - have) * self.of(asset, hours)
        self.tell(
            hours,
            "position",
            position=name,
            kind=kind,
            instrument=assets[0] if kind != "lp" else "ETH/USDC",
            **fields,
        )
        for asset, quantity in holdings.items():
            self.tell(hours, "flow", position=name, kind="deposit", asset=asset, quantity=quantity)
        claims = self.rng.random() < 0.6
        tells = claims and self.rng.random() < 0.5
        self.pots[name] = {
            "kind": kind,
            "held": holdings,
            "claim": {},
            "open": True,
            "claims": claims,
            "tells": tells,
        }


@pytest.mark.parametrize("seed", range(8))
def test_equity_at_midnight_is_what_the_snapshots_tell(tmp_path: Path, seed: int) -> None:
    world = Pots(seed)
    store = open_store(str(tmp_path / "pots.db"))
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in world.events)
    assert live(store, lines).clean
    before, days = world.opening, []
    for day in range(world.days):
        document = report(store, "w", "daily", at=instant(day * DAY + 12))
        equity = world.equity[(day + 1) * DAY]
        assert document.equity[-1].equity == pytest.approx(equity, abs=1e-6)
        assert document.pnl.total == pytest.approx(equity - before, abs=1e-6)
        assert closes(document.pnl) < 1e-9
        for position in document.positions:
            assert position.attribution.total == pytest.approx(position.final_pnl, abs=1e-7), (
                position.position_id
            )
        days.append(document.pnl)
        before = equity
    whole = report(store, "w", span=(instant(0), instant(world.days * DAY))).pnl
    for name in ("total", *ADDED, *TAKEN):
        assert getattr(whole, name) == fsum(getattr(day, name) for day in days), name

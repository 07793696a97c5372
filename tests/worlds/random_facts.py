"""Random worlds whose equity is known from balances alone, told as journals.

The world keeps its own purse: what lies in the wallet and in each position after every event. Its equity at any hour
is balances times prices; no rule of attribution enters it.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from typing import Any

from retro.periods import format_instant

HOUR = 3_600_000_000
START = 1_767_225_600_000_000  # 2026-01-01T00:00Z, a Thursday


@dataclass
class World:
    """A life of `days` days told in `events`; `equity[h]` and `flows` (hour, value) are known from balances."""

    seed: int
    days: int = 8
    agent: str = "w"
    events: list[dict[str, Any]] = field(default_factory=list)
    equity: list[float] = field(default_factory=list)
    flows: list[tuple[int, float]] = field(default_factory=list)
    final: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        hours = self.days * 24 + 1
        self.price = {a: self._walk(p, hours) for a, p in (("ETH", 2000.0), ("BTC", 50000.0), ("ARB", 1.2))}
        self.wallet = {"USDC": 20000.0, "ETH": 2.0}
        self.inside: dict[str, dict[str, Any]] = {}
        self.spent: dict[str, float] = {}
        self.count = 0
        for hour in range(hours):
            for asset, path in self.price.items():
                self.tell(hour, 0, type="mark", asset=asset, price=path[hour])
        self.tell(0, 0, type="equity", balances=dict(self.wallet), value=self._worth(0))
        self.flows.append((0, self._worth(0)))
        for hour in range(hours):
            self.equity.append(self._worth(hour))  # before the events of the hour
            if hour == hours - 1:
                break
            for _ in range(self.rng.choice((0, 1, 1, 2))):
                self._act(hour)
        # the last event sets the clock: everything before it is known
        self.tell(hours - 1, 0, type="decision", action="hold", reasoning="the end")

    def _walk(self, start: float, hours: int) -> list[float]:
        path, p = [], start
        for _ in range(hours):
            path.append(round(p, 6))
            p *= math.exp(self.rng.gauss(0, 0.006))
        return path

    def tell(self, hour: int, micros: int, **event: Any) -> None:
        self.count += 1
        at = format_instant(START + hour * HOUR + micros)
        self.events.append({"id": f"e{self.count}", "agent": self.agent, "at": at, **event})

    def of(self, asset: str, hour: int) -> float:
        return 1.0 if asset == "USDC" else self.price[asset][hour]

    def _pool(self, p: dict[str, Any], hour: int) -> tuple[float, float]:
        s = math.sqrt(min(max(self.price["ETH"][hour], p["lo"]), p["hi"]))
        return p["L"] * (1 / s - 1 / math.sqrt(p["hi"])), p["L"] * (s - math.sqrt(p["lo"]))

    def _content(self, p: dict[str, Any], hour: int) -> float:
        worth: float = sum(q * self.of(a, hour) for a, q in p["holdings"].items())
        if "L" in p:
            x, y = self._pool(p, hour)
            worth += x * self.of("ETH", hour) + y
        return worth

    def _worth(self, hour: int) -> float:
        wallet = sum(q * self.of(a, hour) for a, q in self.wallet.items())
        return wallet + sum(self._content(p, hour) for p in self.inside.values())

    def _pay(self, amount: float) -> None:
        self.wallet["USDC"] -= amount

    def _new(self, kind: str, hour: int, **fields: Any) -> str:
        name = f"{kind}-{len(self.inside) + 1}"
        self.inside[name] = {"kind": kind, "holdings": {}, "side": fields.get("side"), "open": True}
        self.tell(hour, 0, type="position", position=name, kind=kind, **fields)
        return name

    def _open(self, kind: str) -> list[str]:
        return [n for n, p in self.inside.items() if p["kind"] == kind and p["open"]]

    def _act(self, hour: int) -> None:
        acts = [
            self._trade,
            self._trade,
            self._perp,
            self._lp,
            self._lend,
            self._stake,
            self._cost,
            self._owner,
            self._gift,
        ]
        self.rng.choice(acts)(hour)

    def _fill(self, name: str, hour: int, instrument: str, side: str, quantity: float) -> None:
        asset = instrument.partition("/")[0]
        price = round(self.of(asset, hour) * (1 + self.rng.uniform(-0.002, 0.002)), 6)
        fee = round(quantity * price * 0.001, 6)
        event = {
            "type": "fill",
            "position": name,
            "instrument": instrument,
            "side": side,
            "quantity": quantity,
            "price": price,
        }
        holdings = self.inside[name]["holdings"]
        sign = 1 if side == "buy" else -1
        if side == "buy" and self.inside[name]["side"] == "long" and self.rng.random() < 0.3:
            coin = round(quantity * 0.001, 9)
            event |= {"fee": coin, "fee_asset": asset}
            holdings[asset] = holdings.get(asset, 0.0) + quantity - coin
            self._pay(quantity * price)
        else:
            event |= {"fee": fee}
            holdings[asset] = holdings.get(asset, 0.0) + sign * quantity
            self._pay(sign * quantity * price + fee)
        self.tell(hour, 0, **event)

    def _shrink(self, name: str, hour: int, instrument: str) -> None:
        asset = instrument.partition("/")[0]
        holding = self.inside[name]["holdings"][asset]
        whole = self.rng.random() < 0.6
        quantity = abs(holding) if whole else round(abs(holding) * self.rng.uniform(0.2, 0.7), 6)
        rounded_quantity = float(f"{quantity:.12f}")
        side = "sell" if holding > 0 else "buy"
        price = round(self.of(asset, hour), 6)
        fee = round(rounded_quantity * price * 0.001, 6)
        self.inside[name]["holdings"][asset] = (
            0.0 if whole else holding - math.copysign(rounded_quantity, holding)
        )
        self._pay((-1 if side == "sell" else 1) * rounded_quantity * price + fee)
        self.tell(
            hour,
            0,
            type="fill",
            position=name,
            instrument=instrument,
            side=side,
            quantity=rounded_quantity,
            price=price,
            fee=fee,
        )
        if whole:
            self.inside[name]["holdings"] = {}
            self.inside[name]["open"] = False
            self.tell(hour, 0, type="exit", position=name, reason="done")

    def _trade(self, hour: int) -> None:
        names = self._open("spot")
        if names and self.rng.random() < 0.5:
            name = self.rng.choice(names)
            instrument = self.inside[name]["instrument"]
            if self.rng.random() < 0.3:
                self._fill(name, hour, instrument, "buy", round(self.rng.uniform(0.1, 1.0), 4))
            else:
                self._shrink(name, hour, instrument)
            return
        asset = self.rng.choice(("ETH", "ARB"))
        name = self._new("spot", hour, instrument=f"{asset}/USDC", side="long", strategy="s", risk="25")
        self.inside[name]["instrument"] = f"{asset}/USDC"
        self._fill(name, hour, f"{asset}/USDC", "buy", round(self.rng.uniform(0.1, 1.5), 4))
        cites = self.rng.sample(["H-3", "H-7", "dip"], self.rng.randint(0, 2))
        self.tell(hour, 0, type="decision", action="enter", position=name, cites=cites, reasoning="because")

    def _perp(self, hour: int) -> None:
        names = self._open("perp")
        if names and self.rng.random() < 0.6:
            name = self.rng.choice(names)
            if self.rng.random() < 0.5:
                paid = round(self.rng.uniform(0, 3), 4) + 0.0001
                got = self.rng.random() < 0.5
                self._pay(-paid if got else paid)
                kind = "funding_received" if got else "funding_paid"
                self.tell(hour, 0, type="flow", position=name, kind=kind, asset="USDC", quantity=paid)
            else:
                self._shrink(name, hour, "BTC/USDC:USDC")
            return
        side = self.rng.choice(("long", "short"))
        name = self._new("perp", hour, instrument="BTC/USDC:USDC", side=side, strategy="p")
        self.inside[name]["instrument"] = "BTC/USDC:USDC"
        self._fill(
            name,
            hour,
            "BTC/USDC:USDC",
            "buy" if side == "long" else "sell",
            round(self.rng.uniform(0.01, 0.1), 4),
        )

    def _lp(self, hour: int) -> None:
        names = self._open("lp")
        p = self.of("ETH", hour)
        if names and self.rng.random() < 0.75:
            name = self.rng.choice(names)
            pool = self.inside[name]
            if self.rng.random() < 0.6:
                self._accrue(name, hour, "lp_fee", self.rng.choice(("ETH", "USDC")))
                return
            whole = self.rng.random() < 0.5
            part = 1.0 if whole else self.rng.uniform(0.2, 0.6)
            x, y = self._pool(pool, hour)
            out = {"ETH": x * part, "USDC": y * part}
            pool["L"] *= 1 - part
            if whole:
                for asset, quantity in pool["holdings"].items():
                    out[asset] = out.get(asset, 0.0) + quantity
                pool["holdings"] = {}
                pool["open"] = False
                del pool["L"]
            else:
                # fees are claimed with the removal: claims come first, so all of them leave too
                for asset, quantity in pool["holdings"].items():
                    out[asset] = out.get(asset, 0.0) + quantity
                pool["holdings"] = {}
            for asset, quantity in out.items():
                if quantity > 0:
                    self._pay(-quantity * self.of(asset, hour))
                    self.tell(
                        hour, 0, type="flow", position=name, kind="withdrawal", asset=asset, quantity=quantity
                    )
            if whole:
                self.tell(hour, 0, type="exit", position=name, reason="range")
            return
        lo, hi = round(p * 0.95, 2), round(p * 1.06, 2)
        size = self.rng.uniform(50, 200)
        name = self._new(
            "lp", hour, instrument="ETH/USDC", token0="ETH", token1="USDC", lower=lo, upper=hi, liquidity=size
        )
        self.inside[name] |= {"L": size, "lo": lo, "hi": hi}
        x, y = self._pool(self.inside[name], hour)
        self._pay(x * p + y)
        for asset, quantity in (("ETH", x), ("USDC", y)):
            self.tell(hour, 0, type="flow", position=name, kind="deposit", asset=asset, quantity=quantity)

    def _accrue(self, name: str, hour: int, kind: str, asset: str) -> None:
        quantity = round(self.rng.uniform(0.5, 6) / self.of(asset, hour), 9)
        holdings = self.inside[name]["holdings"]
        holdings[asset] = holdings.get(asset, 0.0) + (-quantity if kind == "slash" else quantity)
        self.tell(hour, 0, type="flow", position=name, kind=kind, asset=asset, quantity=quantity)

    def _pot(self, hour: int, kind: str, accrual: str, asset: str) -> None:
        names = self._open(kind)
        if names and self.rng.random() < 0.7:
            name = self.rng.choice(names)
            holdings = self.inside[name]["holdings"]
            if self.rng.random() < 0.6:
                self._accrue(name, hour, accrual, asset)
                return
            whole = self.rng.random() < 0.5
            quantity = holdings[asset] if whole else holdings[asset] * self.rng.uniform(0.1, 0.6)
            self._pay(-quantity * self.of(asset, hour))
            self.tell(hour, 0, type="flow", position=name, kind="withdrawal", asset=asset, quantity=quantity)
            holdings[asset] -= quantity
            if whole:
                self.inside[name] |= {"holdings": {}, "open": False}
                self.tell(hour, 0, type="exit", position=name, reason="over")
            return
        name = self._new(kind, hour, instrument=asset)
        quantity = round(self.rng.uniform(100, 900) / self.of(asset, hour), 9)
        self._pay(quantity * self.of(asset, hour))
        self.inside[name]["holdings"][asset] = quantity
        self.tell(hour, 0, type="flow", position=name, kind="deposit", asset=asset, quantity=quantity)

    def _lend(self, hour: int) -> None:
        self._pot(
            hour,
            "lending",
            "interest",
            self.rng.choice(("USDC", "ETH")) if not self._open("lending") else self._asset("lending"),
        )

    def _stake(self, hour: int) -> None:
        self._pot(hour, "staking", self.rng.choice(("reward", "reward", "slash")), "ETH")

    def _asset(self, kind: str) -> str:
        holdings: dict[str, float] = self.inside[self._open(kind)[0]]["holdings"]
        return next(iter(holdings))

    def _cost(self, hour: int) -> None:
        kind = self.rng.choice(("gas", "inference", "data"))
        event: dict[str, Any] = {"type": "cost", "kind": kind}
        live = [n for n, p in self.inside.items() if p["open"]]
        if live and kind == "gas" and self.rng.random() < 0.6:
            event["position"] = self.rng.choice(live)
        if kind == "gas" and self.rng.random() < 0.5:
            quantity = round(self.rng.uniform(0.0001, 0.002), 6)
            have = self.wallet.get("ETH", 0.0)
            self.wallet["ETH"] = max(0.0, have - quantity)
            self._pay(max(0.0, quantity - have) * self.of("ETH", hour))
            event |= {"asset": "ETH", "quantity": quantity}
        else:
            amount = round(self.rng.uniform(0.01, 2), 4)
            self._pay(amount)
            event |= {"amount": amount, "tier": "T1"}
        self.tell(hour, 0, **event)

    def _owner(self, hour: int) -> None:
        if self.rng.random() < 0.5:
            amount = round(self.rng.uniform(10, 500), 2) * self.rng.choice((1, -1))
            self.wallet["USDC"] += amount
            self.flows.append((hour, amount))
            self.tell(hour, 0, type="external", quantity=amount)
        else:
            quantity = round(self.rng.uniform(0.01, 0.2), 4)
            value = quantity * self.of("ETH", hour)
            self.wallet["ETH"] = self.wallet.get("ETH", 0.0) + quantity
            self.flows.append((hour, value))
            self.tell(hour, 0, type="external", quantity=quantity, asset="ETH", value=value)

    def _gift(self, hour: int) -> None:
        quantity = round(self.rng.uniform(0.1, 5), 4)
        self.wallet["ARB"] = self.wallet.get("ARB", 0.0) + quantity
        self.tell(hour, 0, type="flow", kind="reward", asset="ARB", quantity=quantity)

    def lines(self) -> bytes:
        """The journal."""
        return b"".join(json.dumps(event).encode() + b"\n" for event in self.events)

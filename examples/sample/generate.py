"""Make the sample agent's two months: examples/sample/agent.jsonl, the same bytes at every run.

A small agent on one wallet: range trades that cite H-3, oversized ones that cite H-7, exits by H-15, BTC perps with
funding, a wide LP that worked, a tight LP that left its range, USDC lent out, predictions that are surer than they are
right, a shadow beside its own strategy, gas, inference and data.
Prices are a seeded walk drawn for this purpose; no market ever traded there.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

SEED = 4
START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
END = datetime(2026, 3, 9, tzinfo=UTC)
LAST_WEEK = datetime(2026, 3, 2, tzinfo=UTC)
FEE = 0.0006  # of a trade's value
HOURS = int((END - START) / timedelta(hours=1))

rng = random.Random(SEED)
lot = random.Random(SEED + 1)  # for what was told later: the trades stay what they were
events: list[dict[str, object]] = []
counts: Counter[str] = Counter()
forecasts: list[tuple[datetime, str, float, str]] = []  # of whole trades: entry, position, what came, regime


def hour_of(when: datetime) -> int:
    """Hours since the start."""
    return int((when - START) / timedelta(hours=1))


def tell(when: datetime, event_type: str, /, **fields: object) -> str:
    """One event; ids count within their type."""
    counts[event_type] += 1
    event_id = f"{event_type}-{counts[event_type]}"
    at = when.isoformat(timespec="seconds").replace("+00:00", "Z")
    events.append({"type": event_type, "id": event_id, "agent": "sample", "at": at, **fields})
    return event_id


def pinned_walk(pins: list[tuple[int, float]], wobble: float, pull: float = 0.04) -> list[float]:
    """An hourly walk that passes near the pins (hour, price)."""
    path: list[float] = []
    noise = 0.0
    for hour in range(HOURS + 1):
        after = next(i for i, (h, _) in enumerate(pins) if h >= hour)
        (h0, p0), (h1, p1) = pins[max(after - 1, 0)], pins[after]
        share = 0.0 if h1 == h0 else (hour - h0) / (h1 - h0)
        noise = noise * (1 - pull) + rng.gauss(0, wobble)
        path.append(round(math.exp(math.log(p0) + share * (math.log(p1) - math.log(p0)) + noise), 2))
    return path


LP_IN, LP_OUT = datetime(2026, 2, 28, 12, tzinfo=UTC), datetime(2026, 3, 7, 17, tzinfo=UTC)
TURN = hour_of(datetime(2026, 3, 4, 6, tzinfo=UTC))
ETH = pinned_walk(
    [
        (0, 2310), (240, 2420), (480, 2290), (700, 2350), (960, 2460), (1180, 2380), (hour_of(LP_IN), 2400),
        (TURN, 2401), (TURN + 10, 2260), (hour_of(LP_OUT), 2212), (HOURS, 2235),
    ],
    0.0022,
)  # fmt: skip
for quiet in range(hour_of(LP_IN) - 2, TURN):  # the week before the fall stays inside the tight range
    ETH[quiet] = round(2400 + (ETH[quiet] - 2400) * 0.35, 2)
BTC = pinned_walk([(0, 61000), (400, 64500), (800, 60200), (1200, 63800), (HOURS, 62100)], 0.0025)
SOL = pinned_walk([(0, 142.0), (300, 151.0), (700, 138.5), (1100, 149.0), (HOURS, 141.5)], 0.0045)
PATHS = {"ETH": ETH, "BTC": BTC, "SOL": SOL}


def price(asset: str, when: datetime) -> float:
    """The mark of the hour."""
    return PATHS[asset][hour_of(when)]


def think(when: datetime, action: str, text: str, position: str | None = None, **fields: object) -> str:
    """A decision and the inference it cost."""
    tier = "T2" if action in {"enter", "exit"} and rng.random() < 0.25 else "T1"
    if action == "hold" and lot.random() < 0.3:
        tier = "T2"
    decision = tell(
        when, "decision", action=action, reasoning=text, tier=tier, confidence=round(rng.uniform(0.55, 0.85), 2),
        valence=round(rng.uniform(-0.2, 0.7), 2), context_items=sight(action, text),
        **({"position": position} if position else {}), **fields,
    )  # fmt: skip
    tokens = rng.randint(1800, 5200)
    cost = tokens * (4e-6 if tier == "T2" else 1.2e-6)
    tell(
        when, "cost", kind="inference", amount=f"{cost:.6f}", tier=tier, decision=decision,
        model="t2" if tier == "T2" else "t1", tokens_in=tokens, tokens_out=tokens // 9,
    )  # fmt: skip
    return decision


def sight(action: str, text: str) -> list[str]:
    """What was in front of it when it decided: the rule it names, and tools and memories by lot."""
    items = ["tool:price-history"]
    items += [f"rule:{name}" for name in ("H-3", "H-7", "H-12", "H-15") if name in text]
    items += ["memory:range-lows-hold"] if action == "enter" and lot.random() < 0.5 else []
    items += ["tool:order-flow"] if lot.random() < 0.35 else []
    return items + (["doc:venue-notes"] if lot.random() < 0.2 else [])


def context(when: datetime, asset: str) -> dict[str, object]:
    """What the agent saw when it decided."""
    hour = hour_of(when)
    path = PATHS[asset][max(0, hour - 168) : hour + 1]
    steps = [math.log(b / a) for a, b in pairwise(path)] or [0.0]
    vol = math.sqrt(sum(s * s for s in steps) / len(steps) * 24 * 365)
    trend = path[-1] / path[0] - 1
    regime = "ranging" if abs(trend) < 0.03 else "trending_up" if trend > 0 else "trending_down"
    return {"regime": regime, "volatility_regime": "low" if vol < 0.4 else "high", "price": path[-1]}


def trade(
    name: str, asset: str, side: str, entry: datetime, exit_: datetime, *, target: float | None, size: float,
    cites: str, why: str, reason: str, exit_cites: str = "", perp: bool = False,
) -> None:  # fmt: skip
    """A round trip; with a `target`, sized so that it makes just that."""
    sign = 1 if side == "long" else -1
    p0 = round(price(asset, entry) * (1 + sign * 0.0002), 4)
    p1 = round(price(asset, exit_) * (1 - sign * 0.0002), 4)
    edge = sign * (p1 - p0) - FEE * (p0 + p1)
    quantity = round(target / edge, 9) if target is not None else round(size / p0, 6)
    instrument = f"{asset}/USDC:USDC" if perp else f"{asset}/USDC"
    tell(
        entry, "position", position=name, kind="perp" if perp else "spot", instrument=instrument,
        venue="hyperliquid" if perp else "uniswap-v3-base", side=side, strategy="range",
        risk=f"{max(1.0, quantity * p0 * 0.03):.2f}",
    )  # fmt: skip
    situation = context(entry, asset)
    text = why + (f" Per heuristic {cites}." if cites else "")
    think(entry, "enter", text, name, instrument=instrument, strategy="range", context=situation)
    buy, sell = ("buy", "sell") if sign > 0 else ("sell", "buy")
    for when, fill_side, at in ((entry, buy, p0), (exit_, sell, p1)):
        tell(
            when, "fill", position=name, instrument=instrument, side=fill_side, quantity=f"{quantity:.9f}", price=f"{at:.4f}",
            fee=f"{quantity * at * FEE:.9f}",
        )  # fmt: skip
        if not perp:
            tell(when, "cost", kind="gas", amount=f"{rng.uniform(0.01, 0.03):.4f}")
    if perp:
        pay = entry + timedelta(hours=8 - entry.hour % 8)
        while pay < exit_:
            flow = round(quantity * price(asset, pay) * rng.uniform(-0.00005, 0.00015), 6) * sign
            kind = "funding_paid" if flow > 0 else "funding_received"
            if flow:
                tell(pay, "flow", position=name, kind=kind, asset="USDC", quantity=f"{abs(flow):.6f}")
            pay += timedelta(hours=8)
    think(
        exit_,
        "exit",
        f"{reason}." + (f" Per heuristic {exit_cites}." if exit_cites else ""),
        name,
        instrument=instrument,
    )
    tell(exit_, "exit", position=name, reason=reason)
    forecasts.append((entry, name, edge / p0, str(situation["regime"])))


def windows(
    asset: str, sign: int, first: datetime, hours: int, length: tuple[int, int], want_up: bool
) -> tuple[datetime, datetime]:
    """A stretch in which the price really moved the wanted way by at least half a percent."""
    for _ in range(4000):
        entry = first + timedelta(hours=rng.randrange(hours))
        exit_ = entry + timedelta(hours=rng.randint(*length))
        move = sign * (price(asset, exit_) / price(asset, entry) - 1) if exit_ < END else 0.0
        if exit_ < END and (move > 0.005 if want_up else move < -0.005) and abs(move) < 0.05:
            return entry, exit_
    raise SystemExit("no such stretch; choose another seed")


def trades() -> None:
    """Eight weeks of ordinary trading, and a last week with a moral."""
    whys = {
        "H-3": "7-day volatility is under 40 % and price sits in the lower half of the range.",
        "H-7": "Prediction accuracy has been above 80 % for two days, so the size goes up.",
        "": "Order flow leans this way and spreads are tight.",
    }
    number = 0
    for week in range(8):
        first = START + timedelta(weeks=week)
        for k in range(6):
            asset = ("ETH", "SOL", "ETH", "BTC", "SOL", "ETH")[k]
            perp = asset == "BTC"
            side = "short" if perp and rng.random() < 0.5 else "long"
            up = rng.random() < 0.56
            entry, exit_ = windows(asset, 1 if side == "long" else -1, first, 130, (5, 38), up)
            cites = rng.choice(("H-3", "H-3", "H-7", "")) if not perp else ""
            size = rng.uniform(90, 180) * (1.6 if cites == "H-7" else 1.0)
            by_rule = rng.random() < 0.35
            number += 1
            trade(
                f"t-{number}", asset, side, entry, exit_, target=None, size=size, cites=cites, why=whys[cites],
                reason="moved away from the centre" if by_rule else "target or time reached",
                exit_cites="H-15" if by_rule else "", perp=perp,
            )  # fmt: skip
    last_week = [(t, "H-3") for t in (3.1, 2.4, 1.9, 2.8, 1.6, 2.2, -1.5, -1.3)] + [
        (t, "H-7") for t in (2.1, -4.8, -3.6)
    ]
    for k, (target, cites) in enumerate(last_week):
        asset = "SOL" if cites == "H-3" and k % 2 else "ETH"
        side = "short" if asset == "ETH" and cites == "H-3" and target > 0 else "long"
        entry, exit_ = windows(asset, 1 if side == "long" else -1, LAST_WEEK, 140, (4, 30), target > 0)
        number += 1
        trade(
            f"t-{number}", asset, side, entry, exit_, target=target, size=0.0, cites=cites, why=whys[cites],
            reason="moved away from the centre" if k % 2 else "target or time reached",
            exit_cites="H-15" if k % 2 else "", perp=side == "short",
        )  # fmt: skip


def pool_amounts(liquidity: float, p: float, low: float, high: float) -> tuple[float, float]:
    """Quantities of ETH and USDC in the pool."""
    s = math.sqrt(min(max(p, low), high))
    return liquidity * (1 / s - 1 / math.sqrt(high)), liquidity * (s - math.sqrt(low))


def liquidity_position(
    name: str, entry: datetime, exit_: datetime, low: float, high: float, capital: float, per_hour: float, why: str, end: str
) -> None:  # fmt: skip
    """An LP with hourly fees while in range, and a snapshot every four hours."""
    p0 = price("ETH", entry)
    x, y = pool_amounts(1.0, p0, low, high)
    liquidity = capital / (x * p0 + y)
    x, y = pool_amounts(liquidity, p0, low, high)
    tell(
        entry, "position", position=name, kind="lp", instrument="ETH/USDC", venue="aerodrome", strategy="liquidity",
        token0="ETH", token1="USDC", lower=f"{low:.2f}", upper=f"{high:.2f}", liquidity=f"{liquidity:.12f}",
        funded_with={"USDC": f"{x * p0 + y:.9f}"},
    )  # fmt: skip
    decision = think(
        entry, "enter", why, name, instrument="ETH/USDC", strategy="liquidity", context=context(entry, "ETH")
    )
    tell(
        entry, "prediction", decision=decision, category="lp_pnl", item="ETH/USDC", predicted=round(per_hour * 4, 4),
        low=round(per_hour * 2, 4), high=round(per_hour * 7, 4), unit="USDC over 4 h", confidence=0.7,
    )  # fmt: skip
    prediction = str(events[-1]["id"])
    for asset, quantity in (("ETH", x), ("USDC", y)):
        tell(entry, "flow", position=name, kind="deposit", asset=asset, quantity=f"{quantity:.12f}")
    tell(entry, "cost", kind="gas", position=name, asset="ETH", quantity="0.00004")
    owed = {"ETH": 0.0, "USDC": 0.0}
    when = entry + timedelta(hours=1)
    while when < exit_:
        p = price("ETH", when)
        if low < p < high:
            fee = per_hour * rng.uniform(0.5, 1.5)
            for asset, quantity in (("ETH", round(fee / 2 / p, 12)), ("USDC", round(fee / 2, 9))):
                owed[asset] = round(owed[asset] + quantity, 12)
                tell(when, "flow", position=name, kind="lp_fee", asset=asset, quantity=f"{quantity:.12f}")
        if (when - entry) == timedelta(hours=4):
            tell(when, "resolution", prediction=prediction, actual=round(per_hour * 4.3, 4))
        if hour_of(when) % 2 == 0:
            x, y = pool_amounts(liquidity, p, low, high)
            tell(
                when, "snapshot", position=name, holdings={"ETH": f"{x:.12f}", "USDC": f"{y:.9f}"},
                claimable={a: f"{q:.12f}" for a, q in owed.items()},
                value=f"{x * p + y + owed['ETH'] * p + owed['USDC']:.9f}",
            )  # fmt: skip
        when += timedelta(hours=1)
    x, y = pool_amounts(liquidity, price("ETH", exit_), low, high)
    for asset, quantity in (("ETH", x + owed["ETH"]), ("USDC", y + owed["USDC"])):
        if quantity > 0:
            tell(exit_, "flow", position=name, kind="withdrawal", asset=asset, quantity=f"{quantity:.12f}")
    tell(exit_, "cost", kind="gas", position=name, asset="ETH", quantity="0.00005")
    think(exit_, "exit", end, name, instrument="ETH/USDC")
    tell(exit_, "exit", position=name, reason="out of range" if low > price("ETH", exit_) else "time_exit")


def lending() -> None:
    """USDC on Aave from the second day on, interest every day."""
    when = START + timedelta(days=1, hours=9)
    place = {"instrument": "USDC", "venue": "aave-v3-base", "strategy": "idle cash"}
    tell(when, "position", position="aave-usdc", kind="lending", **place)
    think(when, "enter", "Idle cash earns at Aave until it is needed.", "aave-usdc")
    tell(when, "flow", position="aave-usdc", kind="deposit", asset="USDC", quantity="600")
    tell(when, "cost", kind="gas", position="aave-usdc", amount="0.04")
    when += timedelta(days=1)
    while when < END:
        tell(
            when,
            "flow",
            position="aave-usdc",
            kind="interest",
            asset="USDC",
            quantity=f"{600 * rng.uniform(0.03, 0.05) / 365:.6f}",
        )
        when += timedelta(days=1)


def predictions() -> None:
    """Direction calls twice a day, resolved four hours later: surer than they are right, and worst in falling markets."""
    holds = [event for event in events if event["type"] == "decision" and event["action"] == "hold"]
    when = START + timedelta(hours=6)
    while when + timedelta(hours=4) < END:
        asset = rng.choice(("ETH", "BTC", "SOL"))
        actual = price(asset, when + timedelta(hours=4)) / price(asset, when) - 1
        right = rng.random() < 0.64
        predicted = abs(actual) * rng.uniform(0.4, 1.6) * (1 if (actual > 0) == right else -1) or 0.001
        wide = 0.012
        regime = str(context(when, asset)["regime"])
        predicted += {"ranging": 0.0006, "trending_up": -0.0004, "trending_down": 0.0019}[regime]
        hold = next(event for event in reversed(holds) if str(event["at"]) < when.isoformat())
        hold["difficulty"] = "hard" if regime == "trending_down" else "easy"
        stated = lot.choice((0.7, 0.8, 0.85, 0.9, 0.95) if right else (0.7, 0.75, 0.8, 0.9, 0.95))
        tell(
            when, "prediction", decision=hold["id"], category="return_4h", item=f"{asset}/USDC", regime=regime,
            predicted=round(predicted, 6), low=round(predicted - wide, 6), high=round(predicted + wide, 6),
            confidence=stated, unit="fraction",
            target_at=(when + timedelta(hours=4)).isoformat().replace("+00:00", "Z"),
        )  # fmt: skip
        prediction = str(events[-1]["id"])
        came = {"actual": round(actual, 6), "correct": (actual > 0) == (predicted > 0)}
        tell(when + timedelta(hours=4), "resolution", prediction=prediction, **came)
        when += timedelta(hours=12)


def hopes() -> None:
    """What each trade was expected to make, as a share of what went in: too much, and more so the less it came to."""
    for entry, position, came, regime in forecasts:
        tell(
            entry, "prediction", position=position, category="position_pnl", regime=regime, unit="fraction",
            predicted=round(0.006 + 0.55 * came + lot.uniform(-0.003, 0.003), 6),
        )  # fmt: skip


def shadows() -> None:
    """A shadow that it runs beside its own strategy since February: smaller, and out of trades sooner."""
    for day in range(28, (END - START).days):
        when = START + timedelta(days=day, hours=23)
        made = lot.gauss(0.12, 0.55)
        tell(
            when, "shadow", shadow="half-risk", day=when.date().isoformat(), pnl=f"{made:.4f}", note="paper, fees within"
        )  # fmt: skip


def cautions() -> None:
    """Two pools left alone because of H-12, in weeks whose queue was long."""
    for days, queue in ((16, 540), (37, 615)):
        when = START + timedelta(days=days, hours=11)
        decision = tell(
            when, "decision", action="skip", instrument="AERO/USDC", strategy="liquidity", tier="T1", confidence=0.7,
            valence=0.1, reasoning=f"The staking queue stands at {queue}. Per heuristic H-12: stay out.",
        )  # fmt: skip
        tell(
            when, "cost", kind="inference", amount="0.003100", tier="T1", decision=decision, model="t1",
            tokens_in=2583, tokens_out=287,
        )  # fmt: skip


def main() -> None:
    """Tell the whole life, in order of time, into agent.jsonl beside this file."""
    tell(START, "equity", value="2115.5", balances={"USDC": "2000", "ETH": "0.05"})
    for hour in range(HOURS + 1):
        when = START + timedelta(hours=hour)
        for asset, path in PATHS.items():
            if asset == "ETH" or hour % 2 == 0:
                tell(when, "mark", asset=asset, price=path[hour])
        if hour % 24 == 5:
            tell(when, "cost", kind="data", amount="0.02")
        if hour % 12 == 3:
            think(when, "hold", "Nothing to do: no rule's condition is met.")
    trades()
    lending()
    predictions()
    liquidity_position(
        "lp-1", START + timedelta(days=20, hours=10), START + timedelta(days=33, hours=4), 2150.0, 2650.0, 300.0, 0.028,
        "Wide range, low volatility: per heuristic H-3 the range is worth its fees.", "The range has earned its keep.",
    )  # fmt: skip
    liquidity_position(
        "lp-2", LP_IN, LP_OUT, 2380.0, 2420.0, 112.0, 0.048,
        "Fee rate is 2.3 times its 7-day average and volatility is low. Per heuristic H-3: concentrate around 2400.",
        "ETH left the range three days ago. Per heuristic H-15: out.",
    )  # fmt: skip
    cautions()
    hopes()
    shadows()
    tell(END, "decision", action="hold", reasoning="A new week.", tier="T0")
    opening = price("ETH", START) * 0.05 + 2000
    events[0]["value"] = f"{opening:.6f}"
    events.sort(key=lambda event: str(event["at"]))
    out = Path(__file__).with_name("agent.jsonl")
    out.write_text(
        "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events), encoding="utf-8"
    )
    print(f"{out.name}: {len(events)} events, {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()

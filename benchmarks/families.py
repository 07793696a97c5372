"""Lives of one kind in any size, for `growth.py`: journals, each as long as its family's n and otherwise alike.

Every family is one week of one agent (the last week of March 2024, UTC), so that a doubled n doubles the work of the
same review. Prices are walks of a fixed seed; nothing depends on the clock.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Event = dict[str, Any]
MINUTE, HOUR = 60_000, 3_600_000  # ms
WEEK = 168 * HOUR
START = 1_711_324_800_000  # Monday, 25 March 2024, 00:00 UTC
INSTRUMENTS = 10


@dataclass(frozen=True, slots=True)
class Life:
    """A journal's events, and minute marks to be read beside it, by instrument."""

    events: Iterator[Event]
    marks: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def write(self, folder: Path) -> list[list[str]]:
        """Write the sources; the arguments of `retro ingest` for each."""
        path = folder / "agent.jsonl"
        lines = (json.dumps({"agent": "bench", **event}, separators=(",", ":")) for event in self.events)
        path.write_text("".join(f"{line}\n" for line in lines))
        commands = [["journal", str(path)]]
        for instrument, series in self.marks.items():
            table = folder / f"{instrument.replace('/', '-')}.csv"
            table.write_text("timestamp,price\n" + "".join(f"{at},{price}\n" for at, price in series))
            commands.append(["marks", str(table), "--instrument", instrument])
        return commands


def walk(instrument: str, step_ms: int) -> list[tuple[int, float]]:
    """Prices of a week and a day before it, one each step."""
    rng = np.random.default_rng(sum(map(ord, instrument)))
    at = range(START - 24 * HOUR, START + WEEK, step_ms)
    price = 100 * np.exp(np.cumsum(rng.normal(0, 0.004 * math.sqrt(step_ms / HOUR), len(at))))
    return list(zip(at, price.round(4).tolist(), strict=True))


def opening() -> Event:
    return {"type": "equity", "id": "equity", "at": START - 12 * HOUR, "balances": {"USDC": 10_000_000}}


def ending() -> Event:
    """The life ends with its week, so that `run` owes this week and no later one."""
    return {"type": "death", "id": "end", "at": START + WEEK}


def entry(n: int, at: int, instrument: str, cites: list[str], price: float = 100.0) -> Iterator[Event]:
    """Position n, opened with a decision."""
    name = f"p{n}"
    yield {
        "type": "position",
        "id": name,
        "at": at,
        "position": name,
        "kind": "spot",
        "instrument": instrument,
        "side": "long",
        "risk": 15,
    }
    yield {
        "type": "decision",
        "id": f"d{n}",
        "at": at,
        "position": name,
        "action": "enter",
        "cites": cites,
        "reasoning": f"reason {n}",
        "context": {"regime": ("calm", "wild")[n % 2]},
    }
    yield fill(f"a{n}", at, name, "buy", 5, price)


def leaving(n: int, at: int, cites: list[str], price: float = 100.5) -> Iterator[Event]:
    yield {
        "type": "decision",
        "id": f"x{n}",
        "at": at,
        "position": f"p{n}",
        "action": "exit",
        "cites": cites,
    }
    yield fill(f"b{n}", at, f"p{n}", "sell", 5, price)


def fill(number: str, at: int, position: str, side: str, quantity: float, price: float) -> Event:
    return {
        "type": "fill",
        "id": number,
        "at": at,
        "position": position,
        "side": side,
        "quantity": quantity,
        "price": price,
        "fee": 0.05,
    }


def spread(n: int, count: int, until: int = WEEK - 48 * HOUR) -> int:
    """The instant of event n of so many, evenly over the week."""
    return START + until * n // count


def coin(n: int) -> str:
    return f"C{n % INSTRUMENTS}/USDC"


def trades(
    count: int, cites: Callable[[int], list[str]], why: Callable[[int], list[str]], step_ms: int = HOUR
) -> Life:
    """Closed positions in ten instruments, at the prices of their marks."""
    marks = {coin(n): walk(coin(n), step_ms) for n in range(INSTRUMENTS)}
    known = {name: np.array(series) for name, series in marks.items()}

    def price(instrument: str, at: int) -> float:
        series = known[instrument]
        return float(series[np.searchsorted(series[:, 0], at, "right") - 1, 1])

    def events() -> Iterator[Event]:
        yield opening()
        for n in range(count):
            at = spread(n, count)
            end = at + (1 + n % 36) * HOUR
            yield from entry(n, at, coin(n), cites(n), price(coin(n), at))
            yield from leaving(n, end, why(n), price(coin(n), end))
        yield ending()

    return Life(events(), marks)


def closed_positions(count: int) -> Life:
    return trades(count, lambda n: [f"H-{n % 7}"], lambda n: [f"X-{n % 3}"], MINUTE)


def distinct_tags(count: int) -> Life:
    return trades(count, lambda n: [f"tag-{n}", "breakout"], lambda n: [f"why-{n}"])


def distinct_rules(count: int) -> Life:
    return trades(count, lambda n: [f"H-{n}"], lambda n: [f"H-{n + count}"])


def open_positions(count: int) -> Life:
    marks = {coin(n): walk(coin(n), HOUR) for n in range(INSTRUMENTS)}

    def events() -> Iterator[Event]:
        yield opening()
        for n in range(count):
            yield from entry(n, spread(n, count), coin(n), [f"H-{n % 7}"])
        yield ending()

    return Life(events(), marks)


def closes_in_turn(count: int) -> Life:
    """One position that grows and shrinks in turn, each with a decision."""

    def events() -> Iterator[Event]:
        yield opening()
        yield from entry(0, START, coin(0), ["H-0"])
        for n in range(count):
            grows = n % 2 == 0
            at = spread(n + 1, count + 1)
            yield {
                "type": "decision",
                "id": f"e{n}",
                "at": at,
                "position": "p0",
                "action": "increase" if grows else "reduce",
                "cites": [f"H-{n % 5}" if grows else f"X-{n % 5}"],
            }
            yield fill(f"f{n}", at, "p0", "buy" if grows else "sell", 3, 100 + n % 7)
        yield from leaving(0, START + WEEK - 24 * HOUR, ["X-0"])
        yield ending()

    return Life(events(), {coin(0): walk(coin(0), HOUR)})


def snapshots(count: int) -> Life:
    """One liquidity position, seen again and again."""

    def events() -> Iterator[Event]:
        yield opening()
        yield {
            "type": "position",
            "id": "lp",
            "at": START,
            "position": "lp",
            "kind": "lp",
            "instrument": "ETH/USDC",
            "token0": "ETH",
            "token1": "USDC",
        }
        for number, asset, quantity in (("in-1", "ETH", 10.0), ("in-2", "USDC", 1000.0)):
            yield {
                "type": "flow",
                "id": number,
                "at": START,
                "position": "lp",
                "kind": "deposit",
                "asset": asset,
                "quantity": quantity,
            }
        for n in range(count):
            yield {
                "type": "snapshot",
                "id": f"s{n}",
                "at": spread(n + 1, count + 1),
                "position": "lp",
                "holdings": {"ETH": 10 - 0.001 * (n % 50), "USDC": 1000 + 0.1 * (n % 50)},
                "claimable": {"USDC": round(0.01 * n, 4)},
            }
        yield {"type": "exit", "id": "out", "at": START + WEEK - HOUR, "position": "lp"}
        yield ending()

    return Life(events(), {"ETH/USDC": walk("ETH/USDC", HOUR)})


def fundings(count: int) -> Life:
    """One perpetual that pays funding again and again."""

    def events() -> Iterator[Event]:
        yield opening()
        yield {
            "type": "position",
            "id": "p0",
            "at": START,
            "position": "p0",
            "kind": "perp",
            "instrument": coin(0),
            "side": "short",
        }
        yield fill("a0", START, "p0", "sell", 5, 100)
        for n in range(count):
            yield {
                "type": "flow",
                "id": f"f{n}",
                "at": spread(n + 1, count + 1),
                "position": "p0",
                "kind": ("funding_paid", "funding_received")[n % 2],
                "asset": "USDC",
                "quantity": 0.1 + 0.01 * (n % 7),
            }
        yield fill("b0", START + WEEK - 24 * HOUR, "p0", "buy", 5, 101)
        yield ending()

    return Life(events(), {coin(0): walk(coin(0), HOUR)})


def instruments(count: int) -> Life:
    """As many instruments, one position and a day of own hourly marks each."""

    def events() -> Iterator[Event]:
        yield opening()
        for n in range(count):
            name, at = f"I{n}/USDC", spread(n, count)
            yield from entry(n, at, name, [f"H-{n % 7}"])
            for hour in range(1, 25):
                yield {
                    "type": "mark",
                    "id": f"m{n}-{hour}",
                    "at": at + hour * HOUR,
                    "instrument": name,
                    "price": 100 + (n * hour) % 11 / 10,
                }
            yield from leaving(n, at + 24 * HOUR, ["X-0"])
        yield ending()

    return Life(events())


def claims(count: int) -> Life:
    """Predictions with what came of them, and decisions to do nothing."""

    def events() -> Iterator[Event]:
        yield opening()
        for n in range(count):
            at = spread(n, count)
            yield {
                "type": "decision",
                "id": f"d{n}",
                "at": at,
                "action": "skip",
                "instrument": coin(n),
                "cites": [f"H-{n % 9}"],
            }
            yield {
                "type": "prediction",
                "id": f"q{n}",
                "at": at,
                "decision": f"d{n}",
                "category": f"c{n % 5}",
                "predicted": 0.01,
                "low": -0.02,
                "high": 0.03,
                "confidence": 0.5 + n % 5 / 10,
            }
            yield {
                "type": "resolution",
                "id": f"r{n}",
                "at": at + 6 * HOUR,
                "prediction": f"q{n}",
                "actual": (n % 11 - 5) / 100,
            }
        yield ending()

    return Life(events(), {coin(n): walk(coin(n), HOUR) for n in range(INSTRUMENTS)})


FAMILIES: dict[str, tuple[Callable[[int], Life], int]] = {
    "closed": (closed_positions, 2000),
    "tags": (distinct_tags, 2000),
    "rules": (distinct_rules, 2000),
    "open": (open_positions, 4000),
    "closes": (closes_in_turn, 2000),
    "snapshots": (snapshots, 8000),
    "fundings": (fundings, 8000),
    "instruments": (instruments, 1000),
    "claims": (claims, 4000),
}
"""Each family by name: how its life of size n is made, and the n to begin with."""

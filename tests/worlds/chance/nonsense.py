"""Lives that make no sense: whatever a journal may say, said at random. No ledger says what they come to; laws hold."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.worlds.chance.world import World, WorldFacts

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ("spot", "perp", "lp", "lending", "staking")
FLOWS = (
    "deposit",
    "withdrawal",
    "lp_fee",
    "interest",
    "reward",
    "borrow_interest",
    "slash",
    "funding_received",
    "funding_paid",
)
ASSETS = ("ETH", "BTC", "BNB", "DUST", "USDC")
NAMES = ("a", "b", "c", "d", "never")


def amount(world: World) -> Decimal:
    """From dust to a fortune."""
    return Decimal(f"{10 ** world.rng.uniform(-9, 4):.6g}")


def assets(world: World) -> dict[str, Decimal]:
    return {asset: amount(world) for asset in world.rng.sample(ASSETS, world.rng.randint(0, 3))}


def position(world: World) -> dict[str, Any]:
    """Of any kind."""
    kind = world.rng.choice(KINDS)
    pool: dict[str, Any] = {}
    if kind == "lp":
        lower, upper = world.rng.choice(((None, None), (500, 2010), (1990, 4000)))
        pool = {"token0": "ETH", "token1": "USDC", "lower": lower, "upper": upper}
        pool["liquidity"] = world.rng.choice((None, 5))
    return {
        "kind": kind,
        "instrument": world.rng.choice(("ETH/USDC", "DUST/USDC", "ETH/BTC", "BTC/USDC:USDC", "ETH")),
        "side": world.rng.choice((None, "long", "short")) if kind in {"spot", "perp"} else None,
        "funded_with": world.rng.choice((None, None, assets(world) or None)),
        **pool,
    }


def fill(world: World) -> dict[str, Any]:
    return {
        "side": world.rng.choice(("buy", "sell")),
        "quantity": amount(world),
        "price": amount(world),
        "instrument": world.rng.choice(("ETH/USDC", "DUST/USDC", "ETH/BTC")),
        "fee": world.rng.choice((None, amount(world), -amount(world))),
        "fee_asset": world.rng.choice((None, *ASSETS)),
    }


def flow(world: World) -> dict[str, Any]:
    kind = world.rng.choice(FLOWS)
    kept = world.rng.choice((None, True, False)) if kind == "withdrawal" else None
    value = world.rng.choice((None, None, amount(world)))
    asset = world.rng.choice(ASSETS)
    return {"kind": kind, "asset": asset, "quantity": amount(world), "value": value, "kept": kept}


def snapshot(world: World) -> dict[str, Any]:
    return {
        "holdings": assets(world),
        "claimable": world.rng.choice((None, assets(world))),
        "debt": world.rng.choice((None, None, assets(world))),
    }


def equity(world: World) -> dict[str, Any]:
    value = world.rng.choice((None, amount(world)))
    return {"value": value, "balances": assets(world) if value is None or world.chance(0.3) else None}


SAID: dict[str, Callable[[World], dict[str, Any]]] = {
    "fill": fill,
    "flow": flow,
    "snapshot": snapshot,
    "exit": lambda _: {},
    "equity": equity,
    "cost": lambda w: {"kind": "gas", "asset": w.rng.choice(ASSETS), "quantity": amount(w)},
    "external": lambda w: {"asset": w.rng.choice(ASSETS), "quantity": w.rng.choice((1, -1)) * amount(w)},
}
ANYWHERE = ("flow", "cost")
NOWHERE = ("equity", "external")


def babble(seed: int, days: int | None = None) -> WorldFacts:
    """The nonsense of a seed."""
    world = World(seed, days)
    for declared in NAMES[:-1]:  # one that is told after its own facts is an orphan until then
        world.tell("position", position=declared, **position(world))
    for _ in range(world.rng.randint(5, 40)):
        if world.chance(0.7) and not world.step():
            break
        said = world.rng.choice(tuple(SAID))
        name: str | None = None if said in NOWHERE else world.rng.choice(NAMES)
        if said in ANYWHERE and world.chance(0.3):
            name = None
        fields = SAID[said](world)
        if fields.get("kind") in {"deposit", "withdrawal"}:
            name = name or "a"
        world.tell(said, position=name, **fields)
    world.now = world.end
    world.tell("decision", action="hold", reasoning="the end")
    return world.facts

"""Liquidity of random worlds: told by L, by what was put in, or by states; fees claimed, parts taken out and kept."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from tests.worlds.chance.inside import pool_amounts

if TYPE_CHECKING:
    from tests.worlds.chance.inside import Balances
    from tests.worlds.chance.world import World

ZERO = Decimal(0)


def pool(world: World) -> None:
    """Open one or go on with one."""
    names = world.open_positions("lp")
    if not names or world.chance(0.25):
        begin(world)
        return
    name = world.rng.choice(names)
    act = world.rng.choice(("fee", "fee", "claim", "part", "all", "exit"))
    if act == "fee":
        earn(world, name)
    elif act == "claim":
        take(world, name, ZERO)
    elif act == "part":
        take(world, name, Decimal(world.rng.randint(1, 8)) / 10)
    elif act == "all":
        take(world, name, Decimal(1))
        if world.chance(0.6):
            world.tell("exit", position=name, reason="range")
    else:
        world.tell("exit", position=name, reason="rest")


def begin(world: World) -> None:
    """In range, out of it or over all prices."""
    name, stated = world.name("lp"), Decimal(world.rng.randint(10, 90))
    price = Decimal(str(world.price("ETH")))
    lower, upper = world.rng.choice(((0.9, 1.1), (0.97, 1.02), (1.01, 1.08), (0.9, 0.99), (None, None)))
    low, high = (None if x is None else round(price * Decimal(str(x)), 2) for x in (lower, upper))
    if lower is None:
        stated /= 20
    form = world.rng.choice(("liquidity", "bare", "deposits", "states"))
    world.tell(
        "position",
        position=name,
        kind="lp",
        instrument=f"ETH/{world.base}",
        token0="ETH",
        token1=world.base,
        lower=low,
        upper=high,
        liquidity=stated if form in {"liquidity", "bare"} else None,
    )
    if form == "bare":
        return
    x, y = pool_amounts(stated, world.market.price("ETH", world.now) or price, low, high)
    put = {a: q for a, q in (("ETH", round(x, 15)), (world.base, round(y, 12))) if q > 0}
    for asset, quantity in put.items():
        world.tell("flow", position=name, kind="deposit", asset=asset, quantity=quantity)
    if form == "states":
        world.tell("snapshot", position=name, holdings=put, claimable={})


def earn(world: World, name: str) -> None:
    """Fees, by flow or by what a state shows as claimable."""
    asset = world.rng.choice(("ETH", world.base))
    quantity = world.quantity(asset, world.rng.uniform(0.5, 8))
    snapshots = [e for e in world.events if e["type"] == "snapshot" and e["position"] == name]
    told = any(e.get("kind") == "lp_fee" and e.get("position") == name for e in world.events)
    if not snapshots or told or world.chance(0.3):
        world.tell("flow", position=name, kind="lp_fee", asset=asset, quantity=quantity)
        return
    inside = world.inside(name)
    claims = {**inside.claims, asset: inside.claims.get(asset, ZERO) + quantity}
    holdings = {
        a: round(q * Decimal(world.rng.randint(98, 102)) / 100, 12) for a, q in inside.principal.items()
    }
    world.tell("snapshot", position=name, holdings=holdings, claimable=claims)


def take(world: World, name: str, part: Decimal) -> None:
    """All that can be claimed, and a part of the liquidity; sold, kept, or not said."""
    inside = world.inside(name)
    balances = inside.held(world.market, world.now)
    out: Balances = {a: q for a, q in inside.claims.items() if q > 0}
    for asset, quantity in balances.items():
        out[asset] = out.get(asset, ZERO) + round(quantity * part, 15)
    kept = world.rng.choice((None, None, True, False))
    for asset, quantity in out.items():
        if quantity > 0:
            world.tell("flow", position=name, kind="withdrawal", asset=asset, quantity=quantity, kept=kept)

"""Lending, borrowing and staking of random worlds: told by flows, by states, or by states first and flows later."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.worlds.chance.world import World

ZERO = Decimal(0)


def share_of(world: World, quantity: Decimal) -> Decimal:
    """A part of a quantity."""
    return Decimal(f"{float(quantity) * world.rng.uniform(0.1, 0.7):.8g}")


def told_by_states(world: World, name: str) -> bool:
    """Whether snapshots tell the position."""
    return any(e["type"] == "snapshot" and e["position"] == name for e in world.events)


def begin(world: World, kind: str, asset: str) -> None:
    """Put something in."""
    name = world.name(kind)
    world.tell("position", position=name, kind=kind, instrument=asset)
    quantity = world.quantity(asset, world.rng.uniform(50, 2000))
    funded = world.chance(0.15)
    if funded:
        world.events[-1]["funded_with"] = {asset: str(quantity)}
    world.tell("flow", position=name, kind="deposit", asset=asset, quantity=quantity)


def go_on(world: World, name: str, accruals: tuple[str, ...]) -> None:
    """Accruals, more of it, some of it out, all of it out with or without an exit."""
    asset = world.position_of(name)["instrument"]
    inside = world.inside(name)
    balance = inside.principal.get(asset, ZERO) + inside.claims.get(asset, ZERO)
    act = world.rng.choice(("accrue", "accrue", "more", "some", "all", "rest"))
    if act == "accrue" or balance <= 0:
        kind = world.rng.choice(accruals)
        quantity = world.quantity(asset, world.rng.uniform(0.2, 6))
        world.tell("flow", position=name, kind=kind, asset=asset, quantity=quantity)
    elif act == "more":
        quantity = world.quantity(asset, world.rng.uniform(10, 500))
        world.tell("flow", position=name, kind="deposit", asset=asset, quantity=quantity)
    elif act == "rest":
        world.tell("exit", position=name, reason="over")
    else:
        kept = world.rng.choice((None, None, True, False))
        quantity = balance if act == "all" else share_of(world, balance)
        world.tell("flow", position=name, kind="withdrawal", asset=asset, quantity=quantity, kept=kept)
        if act == "all" and world.chance(0.6):
            world.tell("exit", position=name, reason="over")


def lend(world: World) -> None:
    """A loan told by flows."""
    names = [n for n in world.open_positions("lending") if not told_by_states(world, n)]
    if names and world.chance(0.7):
        go_on(world, world.rng.choice(names), ("interest", "interest", "reward", "borrow_interest"))
    else:
        begin(world, "lending", world.rng.choice(("ETH", "BTC", world.base)))


def stake(world: World) -> None:
    """A stake: rewards, now and then a slash."""
    names = [n for n in world.open_positions("staking") if not told_by_states(world, n)]
    if names and world.chance(0.7):
        go_on(world, world.rng.choice(names), ("reward", "reward", "slash"))
    else:
        begin(world, "staking", "ETH")


def borrow(world: World) -> None:
    """Take out another asset than was put in, owe interest on it, give it back."""
    names = [
        n
        for n in world.open_positions("lending")
        if not told_by_states(world, n) and world.position_of(n)["instrument"] != "GNO"
    ]
    if not names:
        begin(world, "lending", "ETH")
        return
    name = world.rng.choice(names)
    debt = -world.inside(name).principal.get("GNO", ZERO)
    if debt <= 0:
        quantity = world.quantity("GNO", world.rng.uniform(20, 300))
        world.tell("flow", position=name, kind="withdrawal", asset="GNO", quantity=quantity, kept=False)
    elif world.chance(0.5):
        quantity = world.quantity("GNO", world.rng.uniform(0.1, 3))
        world.tell("flow", position=name, kind="borrow_interest", asset="GNO", quantity=quantity)
    else:
        quantity = world.rng.choice((debt, share_of(world, debt)))
        world.tell("flow", position=name, kind="deposit", asset="GNO", quantity=quantity)


def lend_by_state(world: World) -> None:
    """A loan or stake told by what is inside it; its deposit may be told late, or a second one made."""
    kinds = ("lending", "staking")
    names = [n for n in world.open_positions(*kinds) if told_by_states(world, n)]
    if not names or world.chance(0.25):
        kind, asset = world.rng.choice(kinds), world.rng.choice(("ETH", "BTC"))
        name = world.name(kind)
        world.tell("position", position=name, kind=kind, instrument=asset)
        if world.chance(0.6):
            world.now = next((day for day in world.days if day > world.now), world.now + 1)
        else:
            world.now += 10**8
        quantity = world.quantity(asset, world.rng.uniform(100, 3000))
        world.tell("snapshot", position=name, holdings={asset: quantity}, claimable={})
        return
    name = world.rng.choice(names)
    asset = world.position_of(name)["instrument"]
    inside = world.inside(name)
    balance = inside.principal.get(asset, ZERO)
    act = world.rng.choice(("grow", "grow", "late", "second", "more", "out"))
    deposited = any(
        e.get("kind") == "deposit" and e["position"] == name for e in world.events if "position" in e
    )
    if act in {"late", "second"} and not deposited:
        first = next(e for e in world.events if e["type"] == "snapshot" and e["position"] == name)
        quantity = Decimal(first["holdings"][asset])
        world.tell("flow", position=name, kind="deposit", asset=asset, quantity=quantity)
        if act == "second":
            world.now += 5 * 10**8
            world.tell("snapshot", position=name, holdings={asset: balance + quantity}, claimable={})
    elif act == "more":
        quantity = share_of(world, balance)
        world.tell("flow", position=name, kind="deposit", asset=asset, quantity=quantity)
    elif act == "out":
        world.tell("flow", position=name, kind="withdrawal", asset=asset, quantity=balance)
        world.tell("exit", position=name, reason="over")
    else:
        grown = balance * (1 + Decimal(world.rng.randint(-2, 12)) / 10000)
        claimed = {asset: world.quantity(asset, 2.0)} if world.chance(0.2) else {}
        world.tell("snapshot", position=name, holdings={asset: round(grown, 12)}, claimable=claimed)

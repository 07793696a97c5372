"""What an agent of a random world does: fills, accruals, costs, the owner's money, statements of equity."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.worlds.chance.loans import borrow, lend, lend_by_state, stake
from tests.worlds.chance.pools import pool
from tests.worlds.chance.world import World, WorldFacts

if TYPE_CHECKING:
    from tests.worlds.chance.market import Event

Act = Callable[[World], None]


def fee_of(world: World, asset: str, side: str, quantity: Decimal, worth: float) -> dict[str, Any]:
    """A fee of a tenth of a percent in whatever asset, or a rebate."""
    rate = world.rng.choice((0.001, 0.001, -0.0003))
    form = world.rng.choice(("quote", "quote", "third", "base", "none"))
    if form == "none":
        return {}
    if form == "third":
        coin = world.rng.choice(("BNB", "GNO"))
        return {"fee": world.quantity(coin, worth) * Decimal(str(rate)), "fee_asset": coin}
    if form == "base" and (side == "buy" or world.chance(0.3)):
        return {"fee": quantity * Decimal(str(rate)), "fee_asset": asset}
    return {"fee": Decimal(f"{worth * rate:.6f}"), "fee_asset": world.base}


def fill(world: World, name: str, side: str, quantity: Decimal, **fields: Any) -> None:
    """A fill near the market."""
    instrument = world.position_of(name)["instrument"]
    asset, quote = instrument.partition(":")[0].split("/")
    price = world.price(asset) / world.price(quote) * (1 + world.rng.uniform(-0.002, 0.002))
    worth = float(quantity) * world.price(asset)
    event = {
        "position": name,
        "instrument": instrument,
        "side": side,
        "quantity": quantity,
        "price": Decimal(f"{price:.8g}"),
        **fee_of(world, asset, side, quantity, worth),
    }
    world.tell("fill", **{**event, **fields})


def enter(world: World) -> None:
    """A spot or perp position, long or short; some are paid for in kind, some in two pieces, some in bitcoin."""
    kind = world.rng.choice(("spot", "spot", "perp"))
    asset = world.rng.choice(("ETH", "ARB", "BTC", "GNO"))
    bitcoin = kind == "spot" and asset != "BTC" and world.chance(0.2) and world.marked("BTC")
    quote = "BTC" if bitcoin else world.base
    side = world.rng.choice(("long", "long", "short"))
    name, worth = world.name(kind), world.rng.uniform(50, 3000)
    quantity = world.quantity(asset, worth)
    funded = None
    if kind == "spot" and side == "long" and world.chance(0.3):
        coin = world.rng.choice((world.base, "ETH", "BNB"))
        part = Decimal(f"{worth / 2:.2f}")
        funded = {coin: world.quantity(coin, worth)}
        if coin != world.base and world.chance(0.5):
            funded = {coin: world.quantity(coin, worth / 2), world.base: part}
    world.tell(
        "position",
        position=name,
        kind=kind,
        instrument=f"{asset}/{quote}" + (f":{quote}" if kind == "perp" else ""),
        side=side if funded or world.chance(0.7) else None,
        strategy=world.rng.choice((None, "dip", "trend")),
        risk=world.rng.choice((None, 25)),
        funded_with=funded,
    )
    cites = world.rng.sample(["H-3", "H-7", "dip"], world.rng.randint(0, 2))
    world.tell("decision", action="enter", position=name, cites=cites, reasoning="because")
    first = "sell" if side == "short" else "buy"
    if funded and world.chance(0.5):
        fill(world, name, first, quantity / 2)
        world.now += world.rng.randint(1, 3 * 10**8)
        quantity -= quantity / 2
    fill(world, name, first, quantity)


def change(world: World) -> None:
    """More, less, all of it, or (perps) the other way round."""
    names = world.open_positions("spot", "perp")
    if not names:
        enter(world)
        return
    name = world.rng.choice(names)
    quantity = world.inside(name).quantity
    if not quantity:
        return
    asset = world.position_of(name)["instrument"].partition("/")[0]
    move = world.rng.choice(("more", "less", "all", "all", "flip"))
    grow, shrink = ("buy", "sell") if quantity > 0 else ("sell", "buy")
    if move == "more":
        fill(world, name, grow, world.quantity(asset, world.rng.uniform(20, 1000)))
    elif move == "less":
        fill(world, name, shrink, abs(quantity) * Decimal(world.rng.randint(1, 9)) / 10)
    elif move == "flip" and world.position_of(name)["kind"] == "perp":
        fill(world, name, shrink, abs(quantity) + world.quantity(asset, world.rng.uniform(20, 1000)))
    else:
        leave(world, name, shrink, abs(quantity))


def leave(world: World, name: str, side: str, quantity: Decimal) -> None:
    """The last fill, now and then with funding of its instant, or an exit that leaves some of it to its mark."""
    perp = world.position_of(name)["kind"] == "perp"
    if world.chance(0.15):
        world.tell("exit", position=name, reason="stop_loss")
        return
    if perp and world.chance(0.4):
        fund(world, name)
    bought = {"fee_asset": world.base, "fee": Decimal("0.5")} if side == "buy" else {}
    fill(world, name, side, quantity, **bought)
    if world.chance(0.5):
        world.tell("exit", position=name, reason=world.rng.choice(("stop_loss", "target")))
        world.tell("decision", action="exit", position=name, cites=["X-1"], reasoning="enough")


def fund(world: World, name: str) -> None:
    kind = world.rng.choice(("funding_paid", "funding_received"))
    world.tell(
        "flow", position=name, kind=kind, asset=world.base, quantity=Decimal(world.rng.randint(1, 400)) / 100
    )


def accrue(world: World) -> None:
    """Funding, interest, rewards and interest owed of a trade."""
    names = [n for n in world.open_positions("spot", "perp") if world.inside(n).quantity]
    if not names:
        enter(world)
        return
    name = world.rng.choice(names)
    if world.position_of(name)["kind"] == "perp" and world.chance(0.6):
        fund(world, name)
        return
    asset = world.rng.choice((world.base, world.position_of(name)["instrument"].partition("/")[0]))
    kind = world.rng.choice(("interest", "reward", "borrow_interest"))
    quantity = world.quantity(asset, world.rng.uniform(0.1, 8))
    world.tell("flow", position=name, kind=kind, asset=asset, quantity=quantity)
    if kind != "borrow_interest" and world.chance(0.3):
        world.now += 60_000_000
        world.tell("flow", position=name, kind="withdrawal", asset=asset, quantity=quantity)


def dust(world: World) -> None:
    """Next to nothing at twice the market."""
    names = [n for n in world.open_positions("spot", "perp") if world.inside(n).quantity > 0]
    if not names:
        enter(world)
        return
    name = world.rng.choice(names)
    asset, quote = world.position_of(name)["instrument"].partition(":")[0].split("/")
    price = Decimal(f"{2 * world.price(asset) / world.price(quote):.8g}")
    fill(world, name, "buy", Decimal("1e-12"), price=price, fee=None, fee_asset=None)


def cost(world: World) -> None:
    """Gas in whatever coin, of a position open, closed, never made or none; models and data."""
    kind = world.rng.choice(("gas", "gas", "inference", "data"))
    names = [e["position"] for e in world.events if e["type"] == "position"]
    position = world.rng.choice((None, world.rng.choice(names) if names else None, "never"))
    if kind == "gas" and world.chance(0.7):
        coin = world.rng.choice(("ETH", "BNB", "GNO"))
        paid: dict[str, Any] = {"asset": coin, "quantity": world.quantity(coin, world.rng.uniform(0.05, 9))}
    else:
        paid = {"amount": Decimal(world.rng.randint(1, 500)) / 100}
    world.tell("cost", kind=kind, position=position, **paid)


def owner(world: World) -> None:
    """Money or coins of the owner, in or out, with or without a word on their worth."""
    sign = world.rng.choice((1, 1, -1))
    asset = world.rng.choice((None, None, "ETH", "BNB"))
    worth = world.rng.uniform(5, 900)
    quantity = sign * world.quantity(asset or world.base, worth)
    stated = Decimal(f"{worth * world.rng.uniform(0.98, 1.02):.2f}")
    world.tell("external", asset=asset, quantity=quantity, value=stated if world.chance(0.4) else None)


def windfall(world: World) -> None:
    """Income and charges that no position is told for."""
    kind = world.rng.choice(("reward", "interest", "lp_fee", "slash", "borrow_interest", "funding_paid"))
    asset = world.rng.choice(("ARB", "ETH", world.base, "BNB"))
    quantity = world.quantity(asset, world.rng.uniform(0.5, 30))
    value = Decimal(f"{world.rng.uniform(0.5, 30):.3f}") if world.chance(0.2) else None
    world.tell("flow", kind=kind, asset=asset, quantity=quantity, value=value)


def state(world: World) -> None:
    """What it says it is worth, by value or by balances, truly or off."""
    ledger = world.ledger()
    off = Decimal(world.rng.choice((0, 0, world.rng.randint(-500, 500))))
    if world.chance(0.5):
        world.tell("equity", value=Decimal(f"{ledger.equity(world.now) + off:.6f}"))
        return
    balances = dict(ledger.wallet(world.now))
    for position in ledger.positions.values():
        inside, kind = position.inside, position.position["kind"]
        coins: dict[str, Decimal] = {}
        for asset, quantity in [*inside.held(world.market, world.now).items(), *inside.claims.items()]:
            symbol, amount = world.market.asset(asset), quantity
            if asset == position.position["instrument"] and kind == "perp":
                # it holds no coin: what it is worth is money
                symbol, amount = world.base, quantity * world.market.price(symbol, world.now)
            coins[symbol] = coins.get(symbol, Decimal(0)) + amount
        for symbol, amount in coins.items():
            if amount > 0 or kind in {"lp", "perp"}:  # what is owed is no balance
                balances[symbol] = balances.get(symbol, Decimal(0)) + amount
    balances[world.base] = balances.get(world.base, Decimal(0)) + off
    world.tell("equity", balances={a: round(q, 12) for a, q in balances.items() if q >= 0})


ACTS: dict[str, tuple[Act, ...]] = {
    "trades": (enter, change, change, accrue, dust),
    "pools": (pool,),
    "loans": (lend, lend, borrow),
    "states": (lend_by_state,),
    "stakes": (stake,),
    "overheads": (cost, cost, windfall),
    "owner": (owner,),
    "statements": (state,),
}


def open_wallet(world: World) -> None:
    """How its money is known: by balances, by worth, by both, by configuration, or not at all."""
    form = world.rng.choice(("balances", "balances", "balances", "both", "value", "capital", "unknown"))
    balances = {world.base: Decimal(20000), "ETH": Decimal("1.5"), "BNB": Decimal("0.05")}
    if form in {"balances", "both"}:
        value = Decimal(26000) if form == "both" else None
        world.tell("equity", balances=balances, value=value)
    elif form == "value":
        world.tell("equity", value=Decimal(20000))
    elif form == "capital":
        world.facts.capital = "15000"


def live(seed: int, days: int | None = None, without: frozenset[str] = frozenset()) -> WorldFacts:
    """The world of a seed; `without` leaves causes out."""
    world = World(seed, days, without)
    open_wallet(world)
    kinds = [kind for kind in world.rng.sample(list(ACTS), world.rng.randint(2, 5)) if kind not in without]
    for _ in range(world.rng.randint(8, 40)):
        if not world.step():
            break
        world.rng.choice(ACTS[world.rng.choice(kinds)])(world)
    world.events[:] = [e for e in world.events if e["at"] <= ends(world)]
    world.now = world.end
    world.tell("decision", action="hold", reasoning="the end")
    if world.chance(0.3):
        world.facts.neighbours = neighbours(world)
    return world.facts


def ends(world: World) -> str:
    from retro.periods import format_instant

    return format_instant(world.end)


def neighbours(world: World) -> list[Event]:
    """The same life, told by another agent of the database, with prices of its own."""
    events = []
    for event in world.events:
        other = {**event, "agent": "x"}
        if event["type"] == "mark":
            other["price"] = event["price"] * 1.01
        events.append(other)
    return events

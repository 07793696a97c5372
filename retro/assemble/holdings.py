"""What sits inside a position besides fills: LP liquidity and its bundle, loans, stakes, and unclaimed accruals."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from retro.assemble.track import Pool
from retro.kernels.liquidity import amounts, liquidity_from_amounts
from retro.kernels.lots import LotBook

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.assemble.prices import Prices
    from retro.model import Flow, Position, Snapshot

__all__ = ["Holdings", "LiquidityBook", "LoanBook", "Removal"]

_WHOLE: Final = 1.0 - 1e-9
_NONE: Final = Decimal(0)

View = tuple[dict[str, float], dict[str, float], "dict[str, float] | None", "Pool | None", float]
LotMethod = Literal["fifo", "average"]


class Removal(NamedTuple):
    """What left: its worth, the price result realised, the IL realised, and whether nothing is left."""

    value: float
    realized: float
    il: float
    emptied: bool


class Holdings(Protocol):
    """The mechanics of one kind of position."""

    def foresee(self, facts: Sequence[Flow | Snapshot]) -> None:
        """Learn how this agent tells its story: which accruals are told, whether snapshots are taken."""

    def first_state(self, at: int) -> dict[str, Decimal]:
        """What must have been put in when no deposit says so."""

    def deposit(self, at: int, deposits: Sequence[Flow]) -> tuple[float, list[float]]:
        """Assets put in; gives their cost and what repaying a debt realised."""

    def accrue(self, flow: Flow, value: float) -> list[float]:
        """Income or cost inside the position, at its value; gives price results realised by it."""

    def snapshot(self, told: Snapshot) -> list[tuple[str, float]]:
        """Take over a told state; gives accruals nobody told."""

    def withdraw(self, at: int, withdrawals: Sequence[Flow], *, final: bool) -> Removal:
        """One removal: claims of the asset first, the rest principal."""

    def leave(self, at: int) -> Removal | None:
        """Everything still inside leaves at its marks; None when nothing is inside."""

    def untold(self, at: int) -> list[tuple[str, float]]:
        """What the exit reveals was earned without being told."""

    def view(self) -> View:
        """What a knot needs: held, claims, bundle, pool, basis."""


class _Claims:
    """Accrued and not withdrawn, by asset, with the accrual marks as basis. Debt accrued is a negative claim."""

    def __init__(self, method: LotMethod) -> None:
        self._method = method
        self._books: dict[str, LotBook] = {}

    def add(self, asset: str, quantity: Decimal, value: float) -> float:
        """Change a claim by a quantity worth `value` (> 0); gives what that realised."""
        if not quantity:
            return 0.0
        book = self._books.setdefault(asset, LotBook(self._method))
        return book.trade(quantity, value / float(abs(quantity)), 0.0, 0).pnl

    def move(self, other: _Claims, asset: str, quantity: Decimal, price: float) -> None:
        """Hand units on to another book at their own cost: nothing is realised."""
        value = float(abs(quantity)) * price
        realized = self.add(asset, -quantity, value)
        other.add(asset, quantity, value - realized if quantity > 0 else value + realized)

    def quantity(self, asset: str) -> Decimal:
        """Units of an asset."""
        return self._books[asset].quantity if asset in self._books else _NONE

    def view(self) -> dict[str, float]:
        """Units by asset, zero ones left out."""
        return {asset: float(book.quantity) for asset, book in self._books.items() if book.quantity}

    @property
    def basis(self) -> float:
        """Cost of all units."""
        return sum(book.basis for book in self._books.values())


def _by_asset(flows: Iterable[Flow], prices: Prices) -> dict[str, tuple[Decimal, float]]:
    """Quantity and value of flows, summed by asset."""
    out: dict[str, tuple[Decimal, float]] = {}
    for flow in flows:
        value = (
            float(flow.value)
            if flow.value is not None
            else float(flow.quantity) * prices.price(flow.asset, flow.at)
        )
        quantity, before = out.get(flow.asset, (_NONE, 0.0))
        out[flow.asset] = (quantity + flow.quantity, before + value)
    return out


class LoanBook:
    """Lent, staked and borrowed assets (debt is a negative quantity), and accruals of any other position."""

    def __init__(self, position: Position, prices: Prices, method: LotMethod) -> None:
        self.kind = position.kind
        self.prices = prices
        self.principal = _Claims(method)
        self.claims = _Claims(method)
        self.told: set[str] = set()
        self.ever = False
        self._seen: set[str] = set()
        self._owed: set[str] = set()

    def foresee(self, facts: Sequence[Flow | Snapshot]) -> None:
        """Note which accruals are told; growth nobody told is then interest, rewards or borrowing cost."""
        self.told = {str(getattr(fact, "kind", "snapshot")) for fact in facts}

    def first_state(self, at: int) -> dict[str, Decimal]:  # noqa: ARG002  # only a snapshot can tell
        """Nothing known."""
        return {}

    def deposit(self, at: int, deposits: Sequence[Flow]) -> tuple[float, list[float]]:  # noqa: ARG002  # as for LPs
        """Lend or stake; an asset that is owed is repaid first."""
        total, realized = 0.0, []
        for asset, (quantity, value) in _by_asset(deposits, self.prices).items():
            total += value
            self._seen.add(asset)
            realized.append(self.principal.add(asset, quantity, value))
        self.ever = True
        return total, [pnl for pnl in realized if pnl]

    def accrue(self, flow: Flow, value: float) -> list[float]:
        """Interest and rewards are claimable, borrowing cost is owed, a slash takes from the principal."""
        self._seen.add(flow.asset)
        if flow.kind == "slash":
            return [self.principal.add(flow.asset, -flow.quantity, value)]
        owed = flow.kind == "borrow_interest"
        return [self.claims.add(flow.asset, -flow.quantity if owed else flow.quantity, value)]

    def snapshot(self, told: Snapshot) -> list[tuple[str, float]]:
        """Holdings, claims and debt as told. Growth is an accrual where none was told, else it is price."""
        bookings: list[tuple[str, float]] = []
        assets = {*told.holdings, *(told.claimable or {}), *(told.debt or {})}
        for asset in sorted({*assets, *self.principal.view(), *self.claims.view()}):
            inside, claimed = self.principal.quantity(asset), self.claims.quantity(asset)
            owed = max(_NONE, -inside) if told.debt is None else told.debt.get(asset, _NONE)
            growth = told.holdings.get(asset, _NONE) - owed - inside
            if told.claimable is not None:
                accrued = told.claimable.get(asset, _NONE) - claimed
            else:  # what was accrued may have been capitalised: it then stands in the holdings
                accrued = -min(max(growth, _NONE), max(claimed, _NONE))
            if growth * accrued < 0:
                moved = min(abs(growth), abs(accrued)).copy_sign(growth)
                self.claims.move(self.principal, asset, moved, self.prices.price(asset, told.at))
                growth, accrued = growth - moved, accrued + moved
            bookings += self._grow(self.claims, asset, accrued, told.at)
            bookings += self._grow(self.principal, asset, growth, told.at)
            self._seen.add(asset)
        return bookings

    def _grow(self, book: _Claims, asset: str, growth: Decimal, at: int) -> list[tuple[str, float]]:
        if not growth:
            return []
        value = float(abs(growth)) * self.prices.price(asset, at)
        new = asset not in self._seen
        component = self._component(book.quantity(asset) + growth, growth, new=new)
        signed = value if growth > 0 else -value
        pnl = book.add(asset, growth, value)
        realized = [("trading_gains", pnl) if pnl > 0 else ("trading_losses", -pnl)]
        if component is None:
            return [*realized, ("trading_gains", signed) if signed > 0 else ("trading_losses", -signed)]
        return [*realized, (component, -signed if component == "borrow_interest" else signed)]

    def _component(self, after: Decimal, growth: Decimal, *, new: bool) -> str | None:
        """Which accrual untold growth is; None where such accruals are told or the asset just appeared."""
        if after < 0 or (after == 0 and growth > 0):
            return None if new or "borrow_interest" in self.told else "borrow_interest"
        if self.kind == "staking":
            return None if self.told & {"reward", "slash", "interest"} else "staking_rewards"
        return None if self.told & {"interest", "reward"} else "lending_interest_earned"

    def withdraw(self, at: int, withdrawals: Sequence[Flow], *, final: bool) -> Removal:  # noqa: ARG002  # as for LPs
        """Take assets out; at the end, more than was inside is interest nobody told."""
        total, realized = 0.0, 0.0
        for asset, (quantity, value) in _by_asset(withdrawals, self.prices).items():
            total += value
            claimed = min(quantity, max(self.claims.quantity(asset), _NONE))
            share = value / float(quantity)
            realized += self.claims.add(asset, -claimed, share * float(claimed))
            rest = quantity - claimed
            realized += self.principal.add(asset, -rest, share * float(rest))
            self._seen.add(asset)
            if self.principal.quantity(asset) < 0 and not final:
                self._owed.add(asset)
        emptied = self.ever and not self.principal.view() and not self.claims.view()
        return Removal(total, realized, 0.0, emptied and not final)

    def untold(self, at: int) -> list[tuple[str, float]]:
        """At the exit: more was withdrawn than was inside, and it was no loan, so it was earned."""
        bookings: list[tuple[str, float]] = []
        for asset in sorted(self.principal.view()):
            missing = -self.principal.quantity(asset)
            if missing > 0 and asset not in self._owed:
                value = float(missing) * self.prices.price(asset, at)
                pnl = self.principal.add(asset, missing, value)
                component = self._component(_NONE + 1, missing, new=False) or "trading_gains"
                bookings += [
                    (component, value),
                    ("trading_gains", pnl) if pnl > 0 else ("trading_losses", -pnl),
                ]
        return bookings

    def leave(self, at: int) -> Removal | None:
        """Everything inside at its marks."""
        value = realized = 0.0
        for book in (self.claims, self.principal):
            for asset in sorted(book.view()):
                quantity = book.quantity(asset)
                worth = float(quantity) * self.prices.price(asset, at)
                realized += book.add(asset, -quantity, abs(worth))
                value += worth
        return Removal(value, realized, 0.0, emptied=True) if value or realized else None

    def view(self) -> View:
        """Principal and claims; no bundle, no pool."""
        return self.principal.view(), self.claims.view(), None, None, self.principal.basis + self.claims.basis


class LiquidityBook:
    """An LP position: the deposited bundle, the principal (pool formula or last snapshot) and unclaimed fees."""

    def __init__(self, position: Position, prices: Prices, method: LotMethod) -> None:
        self.position = position
        self.prices = prices
        self.claims = _Claims(method)
        self.bundle: dict[str, float] = defaultdict(float)
        self.held: dict[str, float] = defaultdict(float)
        self.bundle_basis = 0.0
        self.liquidity = 0.0
        self.by_formula = True
        self.fees_told = False

    def foresee(self, facts: Sequence[Flow | Snapshot]) -> None:
        """With snapshots and no stated liquidity, the last snapshot holds; otherwise the pool formula."""
        snapshots = any(not hasattr(fact, "kind") for fact in facts)
        self.by_formula = self.position.liquidity is not None or not snapshots
        self.fees_told = any(getattr(fact, "kind", "") in {"lp_fee", "reward", "interest"} for fact in facts)

    def _range(self) -> tuple[float, float]:
        lower, upper = self.position.lower, self.position.upper
        return (0.0 if lower is None else float(lower), math.inf if upper is None else float(upper))

    def _tokens(self) -> tuple[str, str]:
        return str(self.position.token0), str(self.position.token1)

    def _pool_price(self, at: int) -> float:
        token0, token1 = self._tokens()
        quoted = self.prices.price(token1, at)
        return self.prices.price(token0, at) / quoted if quoted else 0.0

    def first_state(self, at: int) -> dict[str, Decimal]:
        """The tokens that the stated liquidity holds at the entry price."""
        price = self._pool_price(at)
        if self.position.liquidity is None or not price:
            return {}
        token0, token1 = self._tokens()
        x, y = amounts(float(self.position.liquidity), price, *self._range())
        return {token0: Decimal(repr(float(x))), token1: Decimal(repr(float(y)))}

    def deposit(self, at: int, deposits: Sequence[Flow]) -> tuple[float, list[float]]:
        """Enlarge the bundle, and the liquidity by what these amounts make at the current price."""
        first = not self.bundle
        total = 0.0
        put: dict[str, float] = defaultdict(float)
        for asset, (quantity, value) in _by_asset(deposits, self.prices).items():
            put[asset] += float(quantity)
            total += value
        for asset, amount in put.items():
            self.bundle[asset] += amount
            self.held[asset] += amount
        self.bundle_basis += total
        if self.by_formula:
            token0, token1 = self._tokens()
            stated = self.position.liquidity
            if first and stated is not None:
                self.liquidity = float(stated)
            elif price := self._pool_price(at):
                made = liquidity_from_amounts(put[token0], put[token1], price, *self._range())
                self.liquidity += float(made)
        return total, []

    def accrue(self, flow: Flow, value: float) -> list[float]:
        """Fees and rewards are claimable until withdrawn."""
        owed = flow.kind in {"slash", "borrow_interest"}
        return [self.claims.add(flow.asset, -flow.quantity if owed else flow.quantity, value)]

    def snapshot(self, told: Snapshot) -> list[tuple[str, float]]:
        """Principal as told; fees nobody told are the growth of the claimable amounts."""
        self.held = defaultdict(float, {asset: float(quantity) for asset, quantity in told.holdings.items()})
        bookings: list[tuple[str, float]] = []
        if told.claimable is not None and not self.fees_told:
            for asset, quantity in sorted(told.claimable.items()):
                growth = quantity - self.claims.quantity(asset)
                value = float(abs(growth)) * self.prices.price(asset, told.at)
                pnl = self.claims.add(asset, growth, value)
                bookings.append(("trading_gains", pnl) if pnl > 0 else ("trading_losses", -pnl))
                bookings.append(("lp_fees_earned", value if growth > 0 else -value))
        return bookings

    def _principal(self, at: int) -> dict[str, float]:
        price = self._pool_price(at) if self.by_formula else 0.0
        if not price:
            return dict(self.held)
        token0, token1 = self._tokens()
        x, y = amounts(self.liquidity, price, *self._range())
        return {token0: float(x), token1: float(y)}

    def _worth(self, held: dict[str, float], at: int) -> float:
        return sum(quantity * self.prices.price(asset, at) for asset, quantity in held.items() if quantity)

    def withdraw(self, at: int, withdrawals: Sequence[Flow], *, final: bool) -> Removal:
        """Claims first; the principal's share of its worth realises as much of the bundle and of the IL."""
        total = realized = removed = 0.0
        before = self._worth(self._principal(at), at)
        for asset, (quantity, value) in _by_asset(withdrawals, self.prices).items():
            total += value
            claimed = min(quantity, max(self.claims.quantity(asset), _NONE))
            share = value / float(quantity)
            realized += self.claims.add(asset, -claimed, share * float(claimed))
            rest = float(quantity - claimed)
            removed += share * rest
            self.held[asset] -= rest
        fraction = (
            1.0 if final else min(1.0, max(0.0, removed / before)) if before > 0 else float(removed > 0)
        )
        if fraction > _WHOLE:
            fraction = 1.0
        gained, il = self._scale(fraction, removed, at)
        emptied = fraction == 1.0 and not self.claims.view()
        return Removal(total, realized + gained, il, emptied and not final)

    def _scale(self, fraction: float, removed: float, at: int) -> tuple[float, float]:
        """Take a fraction out of bundle, basis and liquidity; gives price result and IL realised."""
        hold = fraction * self._worth(self.bundle, at)
        gained = hold - fraction * self.bundle_basis
        keep = 1.0 - fraction
        self.bundle = defaultdict(
            float, {asset: amount * keep for asset, amount in self.bundle.items() if keep}
        )
        self.bundle_basis *= keep
        self.liquidity *= keep
        if not keep:
            self.held.clear()
        return gained, hold - removed

    def leave(self, at: int) -> Removal | None:
        """Principal and claims at their marks."""
        value = realized = il = 0.0
        for asset in sorted(self.claims.view()):
            quantity = self.claims.quantity(asset)
            worth = float(quantity) * self.prices.price(asset, at)
            realized += self.claims.add(asset, -quantity, abs(worth))
            value += worth
        if self.bundle:
            principal = self._worth(self._principal(at), at)
            gained, il = self._scale(1.0, principal, at)
            value, realized = value + principal, realized + gained
        return Removal(value, realized, il, emptied=True) if value or realized or il else None

    def untold(self, at: int) -> list[tuple[str, float]]:  # noqa: ARG002  # fees withdrawn are principal or told
        """Nothing: an LP's surplus shows as a smaller loss against its bundle."""
        return []

    def view(self) -> View:
        """The bundle beside the principal, by formula or as held."""
        pool = None
        if self.by_formula and self.liquidity:
            pool = Pool(self.liquidity, *self._range(), *self._tokens())
        held = {asset: amount for asset, amount in self.held.items() if amount}
        if self.by_formula and pool is None:
            held = {}
        return held, self.claims.view(), dict(self.bundle), pool, self.bundle_basis + self.claims.basis

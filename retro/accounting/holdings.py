"""What sits inside a position besides fills: what its kinds have in common, first of all accruals not yet taken out."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, Self, TypeAlias

from retro.kernels.lots import LotBook

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.accounting.prices import Prices
    from retro.accounting.track import Pool
    from retro.model import Flow, Snapshot

__all__ = [
    "ACCRUALS",
    "ZERO",
    "Amount",
    "Claims",
    "Holdings",
    "LotMethod",
    "Removal",
    "View",
    "by_asset",
    "realised",
]

ACCRUALS: Final = {
    "lp_fee": "lp_fees_earned",
    "interest": "lending_interest_earned",
    "reward": "staking_rewards",
    "borrow_interest": "borrow_interest",
    "slash": "staking_rewards",
}
"""Kind of flow -> the component it is booked to."""
ZERO: Final = Decimal(0)

Amount = tuple[str, float]
View: TypeAlias = "tuple[dict[str, float], dict[str, float], dict[str, float] | None, Pool | None, float]"
LotMethod = Literal["fifo", "average"]


class Removal(NamedTuple):
    """What left: its worth, the price result realised, the IL realised, and whether nothing is left."""

    value: float
    realized: float
    il: float
    emptied: bool


class Holdings(Protocol):
    """The mechanics of one kind of position."""

    def copy(self) -> Self:
        """The same state, that can move on by itself."""

    def first_state(self, at: int) -> dict[str, Decimal]:
        """What must have been put in when no deposit says so."""

    def deposit(self, at: int, deposits: Sequence[Flow]) -> tuple[float, list[float]]:
        """Assets put in; gives their cost and what repaying a debt realised."""

    def accrue(self, flow: Flow, value: float) -> list[Amount]:
        """Income or cost inside the position, at its value; gives what that books."""

    def snapshot(self, snapshot: Snapshot) -> list[Amount]:
        """Take over a told state; gives accruals nobody told."""

    def withdraw(self, at: int, withdrawals: Sequence[Flow], *, final: bool) -> Removal:
        """One removal: claims of the asset first, the rest principal."""

    def leave(self, at: int) -> Removal | None:
        """Everything still inside leaves at its marks; None when nothing is inside."""

    def untold(self, at: int) -> list[Amount]:
        """What the exit reveals was earned without being told."""

    def inside(self, at: int) -> dict[str, float]:
        """Principal by asset, at the marks of `at` where a pool's formula gives it."""

    def view(self) -> View:
        """What a knot needs: principal, claims, bundle, pool, basis."""


class Claims:
    """Accrued and not withdrawn, by asset, with the accrual marks as basis. Debt accrued is a negative claim."""

    def __init__(self, method: LotMethod) -> None:
        self._method = method
        self._books: dict[str, LotBook] = {}

    def copy(self) -> Claims:
        """The same claims, that can move on by themselves."""
        twin = Claims(self._method)
        twin._books = {asset: book.copy() for asset, book in self._books.items()}
        return twin

    def add(self, asset: str, quantity: Decimal, value: float) -> float:
        """Change a claim by a quantity worth `value` (> 0); gives what that realised."""
        if not float(quantity):
            return 0.0
        book = self._books.setdefault(asset, LotBook(self._method))
        return book.trade(quantity, value / float(abs(quantity)), 0.0, 0).pnl

    def move(self, other: Claims, asset: str, quantity: Decimal, price: float) -> float:
        """Hand units (< 0: take them) to another book at their own cost; gives what ending a debt there realised."""
        if quantity < 0:
            return other.move(self, asset, -quantity, price)
        value = float(quantity) * price
        return other.add(asset, quantity, value - self.add(asset, -quantity, value))

    def quantity(self, asset: str) -> Decimal:
        """Units of an asset."""
        return self._books[asset].quantity if asset in self._books else ZERO

    def view(self) -> dict[str, float]:
        """Units by asset, zero ones left out."""
        return {asset: float(book.quantity) for asset, book in self._books.items() if book.quantity}

    @property
    def basis(self) -> float:
        """Cost of all units."""
        return sum(book.basis for book in self._books.values())


def by_asset(flows: Iterable[Flow], prices: Prices) -> dict[str, tuple[Decimal, float]]:
    """Quantity and value of flows, summed by asset."""
    out: dict[str, tuple[Decimal, float]] = {}
    for flow in flows:
        value = (
            float(flow.value)
            if flow.value is not None
            else float(flow.quantity) * prices.price(flow.asset, flow.at)
        )
        quantity, before = out.get(flow.asset, (ZERO, 0.0))
        out[flow.asset] = (quantity + flow.quantity, before + value)
    return out


def realised(pnl: float) -> list[Amount]:
    """A price result as a component: a gain, a loss, or nothing."""
    if not pnl:
        return []
    return [("trading_gains", pnl) if pnl > 0 else ("trading_losses", -pnl)]

"""Positions out of fills: from flat to flat, of each account and instrument, and of each side where a venue hedges.

Exchanges tell executions and no positions. A fill that crosses zero is two: `<id>` closes, `<id>+` opens the next
position, and its fee goes with the quantities.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.ingest.batches import BatchWriter

__all__ = ["Execution", "FillLeg", "NetHolding", "Netting", "OpeningPolicy", "write_legs"]

ZERO: Final = Decimal(0)
OpeningPolicy = Literal["fault", "cost_basis", "ignore"]


class Execution(NamedTuple):
    """A fill as a venue tells it; `quantity` and `price` > 0, `fee` > 0 was paid, in `fee_asset` (None: the quote).

    `book` is the side of a venue that hedges ("long", "short"), "" where positions net. `effect` says whether it opens or
    closes, where the venue says so. `cost_basis` is the entry price of what it closes and nobody saw opened.
    """

    id: str
    at: int
    instrument: str
    side: Literal["buy", "sell"]
    quantity: Decimal
    price: Decimal
    fee: Decimal = ZERO
    fee_asset: str | None = None
    account: str = ""
    book: Literal["", "long", "short"] = ""
    effect: Literal["open", "close"] | None = None
    cost_basis: Decimal | None = None


class FillLeg(NamedTuple):
    """What one execution does to one position.

    `opens`: the position begins with it; `closes`: it ends flat. `opening`: nobody saw this fill, it stands for what
    was held before the file begins, at its stated cost basis and without a fee.
    """

    position: str
    id: str
    side: Literal["buy", "sell"]
    quantity: Decimal
    price: Decimal
    fee: Decimal
    opens: bool
    closes: bool
    opening: bool = False


@dataclass(frozen=True, slots=True)
class NetHolding:
    """An open position: its name, and its quantity (> 0 long, < 0 short)."""

    position: str
    quantity: Decimal


class Netting:
    """The positions that fills make, told in the order they happened.

    `prefix` begins the names of positions: prefix-instrument-id of the first fill. `opening` is what becomes of a fill that
    closes what nobody saw opened: a fault, an opening at the `cost_basis` it states (a fault without one), or nothing
    ("ignore"). `can_be_short` is False of spot accounts, where whatever is sold was held.
    """

    def __init__(self, prefix: str, *, opening: OpeningPolicy = "fault", can_be_short: bool = True) -> None:
        self._prefix, self._opening, self._can_be_short = prefix, opening, can_be_short
        self.holdings: dict[tuple[str, str, str], NetHolding] = {}
        """By account, instrument and book, what is open now."""

    def take(self, fill: Execution) -> list[FillLeg]:
        """What a fill does: one leg, two where it crosses zero, one more before them for what nobody saw opened.

        `ValueError` where it closes what is not known, and nothing is changed by it; no leg where that is ignored.
        """
        if fill.quantity <= 0:
            raise ValueError(f"a fill of {fill.quantity:f} is none")
        key = (fill.account, fill.instrument, fill.book)
        holding = self.holdings.get(key)
        before = holding.quantity if holding is not None else ZERO
        signed = _received(fill) if fill.side == "buy" else -fill.quantity
        legs: list[FillLeg] = []
        if (lacking := self._lacking(fill, before, signed)) > 0:
            if self._opening == "ignore":
                return self._known_part(fill, key, before, signed)
            if self._opening == "fault" or fill.cost_basis is None:
                raise ValueError(
                    f"it closes {fill.quantity:f} {fill.instrument}, of which {lacking:f} was opened before the file"
                    " begins; ingest the earlier part first"
                )
            legs.append(self._seen_late(fill, holding, lacking))
            holding = NetHolding(legs[0].position, before - lacking.copy_sign(signed))
            before = holding.quantity
        return [*legs, *self._settle(fill, key, holding, before, signed)]

    def _lacking(self, fill: Execution, before: Decimal, signed: Decimal) -> Decimal:
        """How much of a fill closes what nobody saw opened; 0 where it all is known, or opens."""
        closes = fill.effect == "close" or (
            fill.effect is None and (self._only_closes(fill) or (not self._can_be_short and signed < 0))
        )
        if not closes:
            return ZERO
        closable = -before if before * signed < 0 else ZERO
        return max(ZERO, abs(signed) - abs(closable))

    def _only_closes(self, fill: Execution) -> bool:
        """Whether a fill of a hedged book goes against its side."""
        return (fill.book == "long" and fill.side == "sell") or (fill.book == "short" and fill.side == "buy")

    def _known_part(
        self, fill: Execution, key: tuple[str, str, str], before: Decimal, signed: Decimal
    ) -> list[FillLeg]:
        """The part of a fill that closes what is known, its fee by quantity; nothing where nothing is."""
        holding = self.holdings.get(key)
        if holding is None or before * signed >= 0:
            return []
        fee = fill.fee * abs(before) / fill.quantity
        part = fill._replace(quantity=abs(before), fee=fee)
        return self._settle(part, key, holding, before, -before)

    def _seen_late(self, fill: Execution, holding: NetHolding | None, lacking: Decimal) -> FillLeg:
        """The opening nobody saw, just before the fill that shows it."""
        name = self._name(fill, fill.id) if holding is None else holding.position
        assert fill.cost_basis is not None  # noqa: S101 - looked at by the caller
        side: Literal["buy", "sell"] = "sell" if fill.side == "buy" else "buy"
        return FillLeg(
            name, f"{fill.id}-opening", side, lacking, fill.cost_basis, ZERO,
            opens=holding is None, closes=False, opening=True,
        )  # fmt: skip

    def _settle(
        self,
        fill: Execution,
        key: tuple[str, str, str],
        holding: NetHolding | None,
        before: Decimal,
        signed: Decimal,
    ) -> list[FillLeg]:
        """The legs of a fill on what is held, which it changes."""
        after = before + signed
        if holding is None or before * after >= 0:
            name = self._name(fill, fill.id) if holding is None else holding.position
            self._keep(key, name, after)
            return [
                FillLeg(
                    name, fill.id, fill.side, fill.quantity, fill.price, fill.fee,
                    opens=holding is None, closes=after == 0,
                )
            ]  # fmt: skip
        fee = fill.fee * abs(before) / fill.quantity
        opened = self._name(fill, f"{fill.id}+")
        self._keep(key, opened, after)
        closing = FillLeg(
            holding.position, fill.id, fill.side, abs(before), fill.price, fee, opens=False, closes=True
        )
        return [
            closing,
            FillLeg(
                opened, f"{fill.id}+", fill.side, abs(after), fill.price, fill.fee - fee,
                opens=True, closes=False,
            ),
        ]  # fmt: skip

    def _keep(self, key: tuple[str, str, str], name: str, quantity: Decimal) -> None:
        if quantity:
            self.holdings[key] = NetHolding(name, quantity)
        else:
            self.holdings.pop(key, None)

    def _name(self, fill: Execution, name: str) -> str:
        parts = (self._prefix, fill.account, fill.instrument, fill.book, name)
        return "-".join(part for part in parts if part)


def _received(fill: Execution) -> Decimal:
    """What a purchase brings: less its fee where that is taken of what was bought."""
    in_kind = fill.fee_asset is not None and fill.fee_asset == fill.instrument.partition("/")[0]
    return fill.quantity - fill.fee if in_kind else fill.quantity


def write_legs(
    writer: BatchWriter,
    agent: str,
    fill: Execution,
    legs: list[FillLeg],
    *,
    kind: Literal["spot", "perp"],
    venue: str,
    line: int | None = None,
    position_fields: Mapping[str, Any] | None = None,
    fill_fields: Mapping[str, Any] | None = None,
) -> None:
    """Write the events of a fill's legs: a position where one opens, and the fill; further fields as the source has them.

    A position that a fill closes is closed by that alone, without an exit: what its reason was a reader says.
    """
    for leg in legs:
        if leg.opens:
            writer.event(
                "position", leg.position, agent, fill.at, line=line,
                position=leg.position,
                kind=kind,
                instrument=fill.instrument,
                venue=venue,
                side="long" if leg.side == "buy" else "short",
                **({"opening": True} if leg.opening else {}),
                **(position_fields or {}),
            )  # fmt: skip
        writer.event(
            "fill", leg.id, agent, fill.at, line=line,
            position=leg.position,
            instrument=fill.instrument,
            side=leg.side,
            quantity=leg.quantity,
            price=leg.price,
            fee=leg.fee,
            fee_asset=fill.fee_asset if leg.fee else None,
            **(fill_fields or {}),
        )  # fmt: skip

"""What a fill comes to in base currency: quantity, price, money and fee, whichever asset the fee was taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from retro.accounting.prices import base_and_quote

if TYPE_CHECKING:
    from decimal import Decimal

    from retro.accounting.prices import Prices
    from retro.model import Fill

__all__ = ["FillTerms", "terms_of"]


class FillTerms(NamedTuple):
    """A fill in base currency.

    `quantity` is what arrived (> 0) or left (< 0), at `price` a unit; `told_price` is the price as told. `proceeds` is
    the money before the fee (> 0 received). `fee` (> 0 charged) is paid in money, unless `fee_asset` names the third
    asset it was taken in; `paid` is the fee in whatever form, for the memo; `requested` the price asked for, where told.
    """

    quantity: Decimal
    price: float
    told_price: float
    proceeds: float
    fee: float
    fee_asset: str | None
    paid: float
    requested: float | None


def terms_of(fill: Fill, instrument: str, prices: Prices) -> FillTerms:
    """The terms of a fill of an instrument, at the rates of its instant."""
    base, quote = base_and_quote(instrument)
    rate = prices.rate(instrument, fill.at)
    price, quantity, fee, third = float(fill.price) * rate, fill.quantity, 0.0, None
    told_price, gross = price, float(fill.quantity) * price
    if fill.fee and fill.fee_asset == base and fill.side == "buy":
        # a fee in the asset bought is quantity that never arrived: the rest has cost all of the money
        quantity -= fill.fee
        price = gross / float(quantity) if quantity else price
    elif fill.fee and fill.fee_asset in {None, quote, prices.base_currency}:
        fee = float(fill.fee) * (1.0 if fill.fee_asset == prices.base_currency else rate)
    elif fill.fee:
        third = str(fill.fee_asset)
        fee = float(fill.fee) * prices.price(third, fill.at)
    return FillTerms(
        quantity=quantity if fill.side == "buy" else -quantity,
        price=price,
        told_price=told_price,
        proceeds=gross if fill.side == "sell" else -gross,
        fee=fee,
        fee_asset=third,
        paid=fee or float(fill.quantity - quantity) * told_price,
        requested=None if fill.requested is None else float(fill.requested) * rate,
    )

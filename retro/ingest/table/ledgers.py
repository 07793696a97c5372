"""Trades out of ledgers, where every row is one leg: what came in and what went out at one instant, under one key."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.ingest.netting import Execution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.ingest.table.executions import Item
    from retro.ingest.table.grammar.tables import LegsMap
    from retro.ingest.table.readings import Readings

__all__ = ["LedgerTrades"]

ZERO: Final = Decimal(0)
_TWO: Final = 2


class _LedgerLeg(NamedTuple):
    """One asset of a trade: what came in (> 0) or went out, and the fee in it beside that."""

    asset: str
    amount: Decimal
    fee: Decimal


class LedgerTrades:
    """Puts the legs of one instant together into executions."""

    def __init__(self, rules: LegsMap, readings: Readings) -> None:
        self._counts = readings.filter(rules)
        self._key, self._asset = readings.text(rules.key), readings.text(rules.asset)
        self._amount = readings.amount(rules.amount)
        self._fee = readings.fee(rules.fee)[0] if rules.fee is not None else None
        self._quotes, self._includes_fee = rules.quotes, rules.includes_fee
        self._is_fee = readings.filter(rules.model_copy(update={"keep": rules.fee_rows, "drop": {}}))

    def of(self, items: Sequence[Item]) -> list[tuple[Item, Execution | str]]:
        """The trades among the rows of one instant, each with the first of its rows, or the reason why it is none."""
        keyed: dict[tuple[str, str], list[Item]] = {}
        trades: list[tuple[Item, Execution | str]] = []
        for item in items:
            if self._counts is not None and not self._counts(item.cells):
                continue
            if key := self._key(item.cells):
                keyed.setdefault((item.agent, key), []).append(item)
            else:
                trades.append((item, "legs: the row has no key"))
        for (_, key), rows in keyed.items():
            try:
                trades.append((rows[0], self._execution(key, rows)))
            except ValueError as error:
                trades.append((rows[0], str(error)))
        return trades

    def passing(self, items: Sequence[Item]) -> set[str]:
        """The names of rows whose balance is one on the way: a row of their trade follows in the same asset, as its fee does."""
        if self._is_fee is None:
            return set()
        latest: dict[tuple[str, str, str], str] = {}
        passing = set()
        for item in items:
            key, asset = self._key(item.cells), self._asset(item.cells)
            if key and (before := latest.get((item.agent, key, asset))) is not None:
                passing.add(before)
            latest[item.agent, key, asset] = item.name
        return passing

    def _execution(self, key: str, rows: Sequence[Item]) -> Execution:
        sums: dict[str, _LedgerLeg] = {}
        for row in rows:
            asset, amount = self._asset(row.cells), self._amount(row.cells)
            if not asset or amount is None:
                raise ValueError("legs: a leg names no asset or no amount")
            fee = self._fee(row.cells) if self._fee is not None else None
            if self._is_fee is not None and self._is_fee(row.cells):
                amount, fee = ZERO, -amount
            elif self._includes_fee:
                amount += fee or ZERO
            before = sums.get(asset, _LedgerLeg(asset, ZERO, ZERO))
            sums[asset] = _LedgerLeg(asset, before.amount + amount, before.fee + (fee or ZERO))
        incoming = [leg for leg in sums.values() if leg.amount > 0]
        outgoing = [leg for leg in sums.values() if leg.amount < 0]
        fees = [leg for leg in sums.values() if not leg.amount and leg.fee]
        if len(incoming) != 1 or len(outgoing) != 1:
            raise ValueError(
                f"legs: {len(rows)} rows of one trade bring in {len(incoming)} assets and give out {len(outgoing)};"
                " it needs one of each"
            )
        return self._priced(key, rows[0].at, incoming[0], outgoing[0], fees)

    def _priced(
        self, key: str, at: int, incoming: _LedgerLeg, outgoing: _LedgerLeg, fees: Sequence[_LedgerLeg]
    ) -> Execution:
        """The execution of two legs. A fee in the base asset of a sale is sold, too, and paid in the quote."""
        quote, base = self._quote(incoming, outgoing)
        side = "buy" if base is incoming else "sell"
        quantity, price = abs(base.amount), abs(quote.amount) / abs(base.amount)
        fee, asset = quote.fee, None
        if fees:
            fee, asset = fees[0].fee, fees[0].asset
        elif base.fee and side == "sell":
            quantity += base.fee
            fee += base.fee * price
        elif base.fee and not quote.fee:
            fee, asset = base.fee, base.asset
        elif base.fee:
            quantity -= base.fee
            price = abs(quote.amount) / quantity
        instrument = f"{base.asset}/{quote.asset}"
        return Execution(
            key, at, instrument, "buy" if side == "buy" else "sell", quantity, price, fee,
            None if asset == quote.asset else asset,
        )  # fmt: skip

    def _quote(self, incoming: _LedgerLeg, outgoing: _LedgerLeg) -> tuple[_LedgerLeg, _LedgerLeg]:
        """Which of two legs prices are in, and which is traded; where neither is a quote, what was given out is."""
        ranks = {asset: rank for rank, asset in enumerate(self._quotes)}
        last = len(ranks)
        if ranks.get(incoming.asset, last) < ranks.get(outgoing.asset, last):
            return incoming, outgoing
        return outgoing, incoming

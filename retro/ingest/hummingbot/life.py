"""One configuration's records into events: positions by market and pair, or by executor where there are any."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from retro.checks import SourceCheck
from retro.ingest.hummingbot.records import FundingRecord, RangeRecord, TradeRecord
from retro.ingest.netting import Execution, Netting, write_legs

if TYPE_CHECKING:
    from retro.ingest.batches import BatchWriter
    from retro.ingest.hummingbot.database import Executor
    from retro.ingest.hummingbot.records import BotRecord
    from retro.ingest.netting import FillLeg

__all__ = ["BotLife"]

ZERO: Final = Decimal(0)
_CENT: Final = Decimal("0.01")


@dataclass(slots=True)
class _Run:
    """What became of an executor: the positions its fills made, and whether the last of them is flat."""

    positions: list[str]
    is_flat: bool = False


class BotLife:
    """Writes one configuration's life; its records come in the order of time."""

    def __init__(self, writer: BatchWriter, agent: str, currency: str, executors: list[Executor]) -> None:
        self._writer, self._agent, self._currency = writer, agent, currency
        self._netting = Netting("hb")
        self._executors = {executor.name: executor for executor in executors}
        self._by_order = {order: executor.name for executor in executors for order in executor.orders}
        self._latest = max((executor.closed for executor in executors), default=None)
        self._runs: dict[str, _Run] = {}
        self._pools: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._empty: Counter[tuple[str, str]] = Counter()
        self._marked: dict[str, int] = {}
        writer.base_currency(agent, currency)

    def take(self, record: BotRecord) -> None:
        """The next record."""
        self._writer.where = record.where
        if isinstance(record, TradeRecord):
            self._trade(record)
        elif isinstance(record, FundingRecord):
            self._funding(record)
        else:
            self._range(record)

    def end(self) -> None:
        """After the last: what executors say they made, and what whoever reads should know."""
        for name, run in sorted(self._runs.items()):
            executor = self._executors[name]
            if run.is_flat and len(run.positions) == 1:
                self._writer.check(
                    SourceCheck(
                        self._agent, "realized_pnl", run.positions[0], executor.closed, executor.result, _CENT,
                        net_of=("fees",),
                    )
                )  # fmt: skip
        for (where, pair), count in sorted(self._empty.items()):
            self._writer.fault(
                f"{count} fills of {pair} have price or amount 0, for the database keeps six decimals; put trades_....csv "
                "beside it",
                where=where, agent=self._agent,
            )  # fmt: skip
        agent, counts = self._agent, self._counts
        if counts["spot"]:
            self._writer.notice(
                f"{agent}: what the bot held before its first fill is in no file; positions are counted from there, so that "
                "what it sold first and bought back later is a short"
            )
        if counts["waiting"]:
            self._writer.notice(
                f"{agent}: fills that wait until their executor has ended: {counts['waiting']}"
            )
        if counts["fees"]:
            self._writer.notice(f"{agent}: second fees in another asset, left out: {counts['fees']}")

    def _trade(self, record: TradeRecord) -> None:
        if not record.price or not record.quantity:
            self._empty[record.where, f"{record.market} {record.base}-{record.quote}"] += 1
            return
        executor = self._by_order.get(record.order)
        if executor is None and self._latest is not None and record.at > self._latest:
            self._counts["waiting"] += 1
            return
        kind: Literal["spot", "perp"] = "perp" if "perpetual" in record.market else "spot"
        self._counts[kind] += 1
        execution = Execution(
            id=record.name,
            at=record.at,
            instrument=_instrument(record),
            side="buy" if record.is_buy else "sell",
            quantity=record.quantity,
            price=record.price,
            fee=record.fee,
            fee_asset=None if record.fee_asset == record.quote else record.fee_asset,
            account=f"{record.market}-{executor}" if executor else record.market,
        )
        legs = self._netting.take(execution)
        write_legs(
            self._writer, self._agent, execution, legs, kind=kind, venue=record.market, line=record.line,
            position_fields={"strategy": record.strategy or None}, fill_fields={"order": record.order or None},
        )  # fmt: skip
        self._mark(record, execution.instrument)
        if executor:
            for leg in legs:
                self._follow(record, executor, leg)

    def _mark(self, record: TradeRecord | RangeRecord, instrument: str) -> None:
        """The price of a record as a mark, the first of its instant; an agent's marks are in its currency."""
        if record.quote == self._currency and record.price > 0 and self._marked.get(instrument) != record.at:
            self._marked[instrument] = record.at
            self._writer.mark(self._agent, instrument, record.at, record.price, line=record.line)

    def _follow(self, record: TradeRecord, executor: str, leg: FillLeg) -> None:
        """An executor's position: its reason stands with its end."""
        run = self._runs.setdefault(executor, _Run([]))
        if leg.opens:
            run.positions.append(leg.position)
        run.is_flat = leg.closes
        if leg.closes:
            self._writer.event(
                "exit", f"exit-{leg.position}", self._agent, record.at, line=record.line, position=leg.position,
                reason=self._executors[executor].reason,
            )  # fmt: skip

    def _funding(self, record: FundingRecord) -> None:
        instrument = _instrument(record)
        holding = self._netting.holdings.get((record.market, instrument, ""))
        self._flow(
            f"funding-{record.market}-{record.base}-{record.at}", record,
            "funding_received" if record.amount > 0 else "funding_paid", record.quote, abs(record.amount), Decimal(1),
            holding.position if holding else None,
        )  # fmt: skip

    def _range(self, record: RangeRecord) -> None:
        position = f"hb-{record.position}"
        pair = f"{record.base}/{record.quote}"
        self._mark(record, pair)
        if record.adds and position not in self._pools:
            self._pools.add(position)
            self._writer.event(
                "position", position, self._agent, record.at, line=record.line, position=position, kind="lp",
                instrument=pair, venue=record.market, token0=record.base, token1=record.quote, lower=record.lower,
                upper=record.upper,
            )  # fmt: skip
        elif not record.adds and position not in self._pools:
            self._writer.fault(
                f"liquidity of {record.position[:40]} is taken out that was put in before the file begins",
                record.line,
                agent=self._agent,
            )
            return
        sides = (
            (record.base, record.base_quantity, record.base_fee, record.price),
            (record.quote, record.quote_quantity, record.quote_fee, Decimal(1)),
        )
        for asset, quantity, fee, price in sides:
            if record.adds:
                self._flow(f"{record.name}-{asset}", record, "deposit", asset, quantity, price, position)
            else:
                self._flow(f"{record.name}-fee-{asset}", record, "lp_fee", asset, fee, price, position)
                self._flow(
                    f"{record.name}-{asset}", record, "withdrawal", asset, quantity + fee, price, position
                )
        if record.gas > 0 and record.quote == self._currency:
            self._writer.event(
                "cost", f"{record.name}-gas", self._agent, record.at, line=record.line, kind="gas",
                amount=record.gas, position=position,
            )  # fmt: skip
        if not record.adds:
            self._pools.discard(position)
            self._writer.event(
                "exit",
                f"exit-{position}",
                self._agent,
                record.at,
                line=record.line,
                position=position,
                reason="",
            )

    def _flow(
        self,
        name: str,
        record: BotRecord,
        kind: str,
        asset: str,
        quantity: Decimal,
        price: Decimal,
        position: str | None,
    ) -> None:
        """A flow of more than nothing; `price` in the pair's quote."""
        if quantity <= 0:
            return
        self._writer.event(
            "flow", name, self._agent, record.at, line=record.line, kind=kind, asset=asset, quantity=quantity,
            position=position, value=quantity * price if record.quote == self._currency and price > 0 else None,
        )  # fmt: skip


def _instrument(record: BotRecord) -> str:
    pair = f"{record.base}/{record.quote}"
    return f"{pair}:{record.quote}" if "perpetual" in record.market else pair

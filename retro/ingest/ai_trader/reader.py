"""AI-Trader: whole states after each action become fills, positions and decisions of one agent a model and market.

Source: agent_tools/tool_trade.py, tools/price_tools.py and agent/base_agent of HKUDS/AI-Trader; ten of its official
runs (research, section 1.2). Prices are in no row: what was paid is the difference of cash. Undone rows (`chain`)
are told as decisions that were undone, and make no fill.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final

from retro.checks import SourceCheck
from retro.errors import InputError
from retro.ingest.ai_trader.chain import chain
from retro.ingest.ai_trader.prices import instrument_of, is_price_file, write_prices
from retro.ingest.ai_trader.rows import AccountRow, RowError, market_of, row_of, time_of
from retro.ingest.ai_trader.sessions import Sessions
from retro.ingest.batches import BatchWriter
from retro.ingest.netting import Execution, Netting, write_legs
from retro.ingest.row_ids import RowIds
from retro.ingest.sample import sample_of
from retro.ingest.source import open_source, read_lines
from retro.ingest.times import Clock, Steps
from retro.journal import quote
from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.ai_trader.rows import RunMarket
    from retro.ingest.sample import SourceSample
    from retro.model import Action, Batch

__all__ = ["read", "sniff"]

ZERO: Final = Decimal(0)
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_DIGITS: Final = Context(prec=20)
_ROUNDING: Final = Decimal("0.0001")
_KNOWN: Final = frozenset({"buy", "sell", "no_trade", ""})
_LOOKED_AT: Final = 500
"""Lines without a row among them: this is no position.jsonl."""
_WEEKEND: Final = 5
_SETTLED: Final = 4 * DAY
"""After that a weekend's rows stand as they are: the run is over, or has gone on."""


def sniff(sample: SourceSample) -> str | None:
    """Why this is AI-Trader's, in a few words; None where it is not."""
    if sample.is_folder:
        if {"position", "log"} <= set(sample.names):
            return "a run's folder with position and log, as AI-Trader leaves it"
        if any(name.startswith("agent_data") for name in sample.names):
            return "a folder with agent_data, as AI-Trader keeps its runs"
        if any((sample.path / name / "position" / "position.jsonl").is_file() for name in sample.names):
            return "a folder of runs with position.jsonl, as AI-Trader keeps them by model"
        return None
    line = sample.text.partition("\n")[0]
    if '"positions"' in line and '"CASH"' in line and '"date"' in line:
        return "rows with positions and CASH, as AI-Trader's position.jsonl has them"
    if is_price_file(sample):
        return "a symbol's bars a line, as AI-Trader's merged.jsonl has them"
    return None


def read(paths: Sequence[Path], *, agent: str | None, zone: str | None, now: int) -> Iterator[Batch]:
    """Facts of every run these files and folders hold; `zone` instead of the one of each run's market."""
    runs: list[Path] = []
    prices: list[Path] = []
    for path in paths:
        if path.is_dir():
            runs += sorted(file for file in path.rglob("position.jsonl") if file.is_file())
            prices += sorted(file for file in path.rglob("*merged.jsonl") if file.is_file())
        else:
            (prices if is_price_file(sample_of(path)) else runs).append(path)
    if not runs and not prices:
        raise InputError(f"{paths[0]} holds no position.jsonl; name AI-Trader's data folder, or a run in it")
    if agent and len(runs) > 1:
        raise InputError(
            f"{paths[0]} holds {len(runs)} runs; leave out --agent, and each is named by its model"
        )
    for file in runs:
        yield from _Run(file, agent, zone, now).batches()
    for file in prices:
        writer = BatchWriter(str(file), now)
        write_prices(writer, file, _MarketClocks(zone).instant)
        yield writer.batch()


class _MarketClocks:
    """Instants of the times of several markets; `zone` instead of theirs."""

    def __init__(self, zone: str | None) -> None:
        self._zone = zone

    def instant(self, time: datetime, market: RunMarket) -> int:
        """Microseconds of a market's time."""
        return Clock(self._zone or market.zone, "").instant(time)


class _Run:
    """One position.jsonl."""

    def __init__(self, file: Path, agent: str | None, zone: str | None, now: int) -> None:
        self._file, self._now = file, now
        self._writer = BatchWriter(str(file), now)
        self._netting = Netting("ait", can_be_short=False)
        self._positions: dict[str, str] = {}
        self._rows, symbols = _rows(file, self._writer)
        self._weekend = _weekend(self._rows)
        self._market = market_of(symbols)
        self._clock = Clock(zone or self._market.zone, str(file))
        is_run = file.name == "position.jsonl" and file.absolute().parent.name == "position"
        model = file.absolute().parent.parent.name if is_run else file.name.partition(".")[0]
        name = _UNFIT.sub("-", model).strip("-.")[:48] or "ai-trader"
        self._agent = agent or f"{name}{self._market.suffix}"
        self._sessions = Sessions(file.absolute().parent.parent / "log" if is_run else file.parent / "log")

    def batches(self) -> Iterator[Batch]:
        """Its facts, row by row."""
        rows, writer = self._rows, self._writer
        counted, orphans = chain(rows)
        parents = {place: counted[rank - 1] for rank, place in enumerate(counted) if rank}
        writer.base_currency(self._agent, self._market.currency)
        steps, ids = Steps(), RowIds()
        waiting = 0
        for place, row in enumerate(rows):
            try:
                at = steps.of(self._at(row))
            except ValueError as error:  # a time that its zone never had
                writer.fault(str(error), row.number, agent=self._agent)
                continue
            name = ids.of(row.cells)
            if self._may_be_undone(place, at):
                waiting += 1
            elif place == 0:
                self._begin(row, at)
            elif place in orphans:
                self._orphan(row, at, name)
            else:
                before = rows[parents[place]] if place in parents else None
                self._row(row, before, at, name, says_more=self._is_said(place))
            if writer.full:
                yield writer.batch()
        self._sentences(waiting, [row for place, row in enumerate(rows) if place not in parents and place])
        yield writer.batch()

    def _at(self, row: AccountRow) -> int:
        time = time_of(row.date)
        if len(row.date) == len("2025-10-01"):
            time = datetime.combine(time.date(), self._market.opens)
        return self._clock.instant(time)

    def _may_be_undone(self, place: int, at: int) -> bool:
        """Whether a weekend's row is so new, and the last of its file, that Monday may still build on Friday."""
        return place >= max(1, self._weekend) and at > self._now - _SETTLED

    def _is_said(self, place: int) -> bool:
        """Whether the session of a row has its log: of the last date it is written when all is done."""
        row = self._rows[place]
        return (
            row.date != self._rows[-1].date
            or not self._sessions.are_logged
            or bool(self._sessions.text(row.date))
        )

    def _begin(self, row: AccountRow, at: int) -> None:
        """The first row opens the wallet; what it holds besides money was bought before the file begins."""
        money = {self._market.currency: row.cash}
        self._writer.event("equity", "opening", self._agent, at, line=row.number, balances=money)
        if row.holdings:
            self._writer.fault(
                f"{', '.join(sorted(row.holdings))}: was held before the first row, and is left out",
                row.number,
                agent=self._agent,
            )

    def _orphan(self, row: AccountRow, at: int, name: str) -> None:
        """A state that follows from none before: of an account of money alone it is what it is worth."""
        if not row.action and not row.holdings:
            self._writer.event("equity", name, self._agent, at, line=row.number, value=row.cash)
            return
        self._writer.fault(
            "what it holds does not follow from any row before by its action; it makes no fill",
            row.number,
            agent=self._agent,
        )

    def _row(
        self, row: AccountRow, before: AccountRow | None, at: int, name: str, *, says_more: bool
    ) -> None:
        """A row with the state it was built on; None: it was undone."""
        instrument = instrument_of(row.symbol, self._market) if row.symbol else None
        had = before.holdings.get(row.symbol, ZERO) if before else ZERO
        position = self._positions.get(row.symbol)
        if before is not None and row.trades and instrument:
            position = self._fill(row, before, instrument, at, name) or position
        if says_more and row.action in _KNOWN:
            undone = before is None
            self._writer.event(
                "decision", name, self._agent, at, line=row.number, action=_action(row, had),
                position=None if undone else position, instrument=instrument,
                reasoning=self._sessions.text(row.date) or None, trace=self._sessions.trace(row.date) or None,
                context={"undone": True} if undone else None,
            )  # fmt: skip

    def _fill(self, row: AccountRow, before: AccountRow, instrument: str, at: int, name: str) -> str | None:
        """The fill that makes one state of the other, and what the row states after it; its position's name."""
        change = row.holdings.get(row.symbol, ZERO) - before.holdings.get(row.symbol, ZERO)
        paid = before.cash - row.cash
        if not change or paid * change <= 0:
            self._writer.fault(
                "its quantity and its cash do not change as a trade's do", row.number, agent=self._agent
            )
            return None
        quantity = abs(change)
        value = abs(paid) - row.fee if change > 0 else abs(paid) + row.fee
        execution = Execution(
            name,
            at,
            instrument,
            "buy" if change > 0 else "sell",
            quantity,
            _DIGITS.divide(value, quantity),
            row.fee,
        )
        try:
            legs = self._netting.take(execution)
        except ValueError as error:
            self._writer.fault(str(error), row.number, agent=self._agent)
            return None
        write_legs(
            self._writer, self._agent, execution, legs, kind="spot", venue="AI-Trader", line=row.number
        )
        position = legs[-1].position
        if legs[-1].closes:
            self._positions.pop(row.symbol, None)
        else:
            self._positions[row.symbol] = position
        for what, subject, stated in (
            ("balance", self._market.currency, row.cash),
            ("holding", instrument.partition("/")[0], row.holdings.get(row.symbol, ZERO)),
        ):
            self._writer.check(
                SourceCheck(
                    self._agent, "balance" if what == "balance" else "holding", subject, at, stated, _ROUNDING
                )
            )
        return position

    def _sentences(self, waiting: int, undone: list[AccountRow]) -> None:
        agent, writer = self._agent, self._writer
        writer.notice(
            f"{agent}: times are those of the market, {self._market.zone}; prices are what the cash says"
        )
        if trades := sum(row.trades for row in undone):
            writer.notice(
                f"{agent}: {trades} trades are undone by later rows, which build on an earlier state; they are told as "
                "decisions without a fill"
            )
        if waiting:
            writer.notice(
                f"{agent}: {waiting} rows of the last weekend wait: the next weekday's may undo them"
            )
        unknown = Counter(row.action for row in self._rows if row.action not in _KNOWN)
        for word, count in sorted(unknown.items()):
            writer.notice(f"{agent}: unknown actions, left out: {count} x {quote(word)}")


def _weekend(rows: list[AccountRow]) -> int:
    """The place of the first of a file's last rows that all lie at a weekend; their number where none does."""
    place = len(rows)
    while place and time_of(rows[place - 1].date).weekday() >= _WEEKEND:
        place -= 1
    return place


def _rows(file: Path, writer: BatchWriter) -> tuple[list[AccountRow], frozenset[str]]:
    """The rows of a file in its order, and every symbol of its universe; `InputError` where there are none."""
    rows: list[AccountRow] = []
    symbols: frozenset[str] = frozenset()
    reason = ""
    with open_source(str(file)) as stream:
        for part in read_lines(stream):
            for number, text in enumerate(part.texts, part.first):
                if not part.fault and not text.strip():
                    continue
                try:
                    row, universe = row_of(text, number)
                except RowError as error:
                    reason = part.fault or (str(error) if part.ended else f"is torn: {error}")
                    writer.fault(reason, number)
                else:
                    rows.append(row)
                    symbols |= universe
            if not rows and part.first > _LOOKED_AT:
                break
    if not rows:
        raise InputError(
            f"{file} holds no row of AI-Trader's position.jsonl; name that file, or its data folder ({reason or 'it is empty'})"
        )
    return rows, symbols


def _action(row: AccountRow, had: Decimal) -> Action:
    """Our word for a row's action, given what was held of its symbol before."""
    if not row.trades:
        return "hold" if row.holdings else "skip"
    if row.action == "buy":
        return "increase" if had else "enter"
    return "reduce" if row.holdings.get(row.symbol) else "exit"

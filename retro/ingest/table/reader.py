"""A table of trades or decisions, read as a mapping says: rows in, batches of events, checks and faults out."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal  # noqa: TC003 - a struct's fields are decoded by it
from typing import TYPE_CHECKING, Final

import msgspec

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.table.executions import quote_of
from retro.ingest.table.ledgers import LedgerTrades
from retro.ingest.table.maps import mapping_of, shipped_for
from retro.ingest.table.numerals import Numerals
from retro.ingest.table.order import in_chain
from retro.ingest.table.readings import DroppedRowError, Readings
from retro.ingest.table.stamps import ReadSoFar, RowStamps
from retro.ingest.table.states import StateTrades
from retro.ingest.table.tellers import FillTeller, OpenHolding, TripTeller
from retro.ingest.table.words import (
    CostTeller,
    DecisionTeller,
    EquityTeller,
    ExternalTeller,
    FlowTeller,
    MarkTeller,
    OmissionTeller,
    StatedTeller,
    spread,
)
from retro.journal import quote
from retro.model import Batch, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.growth import Stretch
    from retro.ingest.netting import Execution
    from retro.ingest.sample import SourceSample
    from retro.ingest.table.executions import Item
    from retro.ingest.table.maps import Mapping
    from retro.ingest.table.tellers import Deed

__all__ = ["TableReader", "TableStanding", "read", "sniff"]

_STEP: Final = 1_000
_WORDS_SHOWN: Final = 8


def read(
    paths: Sequence[Path],
    *,
    agent: str | None,
    zone: str | None,
    now: int,
    map: str | None = None,  # noqa: A002 - the option's name
) -> Iterator[Batch]:
    """The events of files of one kind, read together; `map` is a mapping's file or shipped name, else found by header.

    `InputError` of a file that is of another kind, of times without a zone, or where no mapping fits.
    """
    opened = [file for path in paths for file in _files(path)]
    if opened:
        mapping = mapping_of(map) if map is not None else shipped_for(opened[0])
        yield from TableReader(mapping, opened, agent=agent, zone=zone, now=now).batches()


def _files(path: Path) -> list[Path]:
    """A file, or the files of a folder by name, hidden ones left out; `InputError` of an empty folder."""
    if not path.is_dir():
        return [path]
    inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not inside:
        raise InputError(f"{path} is a folder without files; name the file to read")
    return inside


def sniff(sample: SourceSample) -> str | None:
    """Which shipped mapping knows the header, in words."""
    from retro.ingest.table.maps import shipped_like  # noqa: PLC0415 - reads the mappings

    names = shipped_like(sample)
    return f"its columns are those of {names[0]} (--map {names[0]})" if names else None


class TableStanding(msgspec.Struct):
    """Where a source stands after the rows that were read: with it the next row means what it does in the whole file.

    `step` is by how much the next row of the last instant follows (microseconds), `bases` what each agent's money is counted
    in, `holdings` what is open, `states` the last state of each agent whose rows are states.
    """

    rows: ReadSoFar
    step: int
    bases: dict[str, str]
    holdings: list[OpenHolding]
    states: dict[str, dict[str, Decimal]]


class TableReader:
    """Reads files by one mapping; of each file `most` rows where that is given.

    One file may be read on: a `stretch` of it, from where it stood; `is_rotated` as `RowStamps` has it.
    """

    def __init__(
        self,
        mapping: Mapping,
        paths: Sequence[Path],
        *,
        agent: str | None,
        zone: str | None,
        now: int,
        most: int | None = None,
        stretch: Stretch | None = None,
        standing: TableStanding | None = None,
        is_rotated: bool = False,
    ) -> None:
        rules, prefix = mapping.rules, mapping.prefix
        self._rules, self._mapping = rules, mapping
        self._writer = BatchWriter(str(paths[0]), now)
        numerals = Numerals(rules.number, is_text=rules.source.format in {"csv", "html"})
        self._readings = readings = Readings(numerals)
        self._stamps = RowStamps(
            mapping, readings, numerals, paths, agent=agent, zone=zone, most=most, stretch=stretch,
            before=standing.rows if standing is not None else None, is_rotated=is_rotated,
        )  # fmt: skip
        self._trips = (
            TripTeller(rules, readings, prefix, self._stamps.instant) if rules.position.by == "row" else None
        )
        nets = rules.position.by != "row" and (rules.fill is not None or rules.legs is not None)
        self._fills = FillTeller(rules, readings, prefix) if nets or rules.position.by == "state" else None
        self._ledger = LedgerTrades(rules.legs, readings) if rules.legs is not None else None
        by_state = rules.position.by == "state"
        self._states = StateTrades(rules, readings, numerals, prefix) if by_state else None
        self._decision = (
            DecisionTeller(rules.decision, readings, prefix) if rules.decision is not None else None
        )
        self._equity = EquityTeller(rules.equity, readings, prefix) if rules.equity is not None else None
        self._marks = [MarkTeller(part, readings) for part in rules.mark]
        self._flows = [FlowTeller(part, readings, _numbered(prefix, n)) for n, part in enumerate(rules.flow)]
        self._externals = [
            ExternalTeller(part, readings, _numbered(prefix, n)) for n, part in enumerate(rules.external)
        ]
        self._costs = [CostTeller(part, readings, _numbered(prefix, n)) for n, part in enumerate(rules.cost)]
        self._omissions = [OmissionTeller(part, readings) for part in rules.omission]
        self._stated = StatedTeller(rules.stated, readings)
        self._chain = readings.amount(rules.source.chain) if rules.source.chain is not None else None
        self._counts = readings.filter(rules.fill) if rules.fill is not None else None
        self._bases: dict[str, str] = {}
        self._quotes: Counter[str] = Counter()
        self._passing: set[str] = set()
        self._last, self._step = 0, 0
        self._rows, self._is_silent = 0, True
        if standing is not None:
            self._go_on_from(standing)

    def batches(self) -> Iterator[Batch]:
        """Everything the files say, by the batch."""
        writer = self._writer
        for group in self._stamps.groups():
            if isinstance(group, Fault):
                writer.fault(group.reason, group.line, where=group.where or None)
            else:
                self._rows += len(group)
                self._tell(group)
            if writer.full:
                self._is_silent = False
                yield writer.batch()
        self._conclude()
        batch = writer.batch()
        if (
            self._rows
            and self._is_silent
            and not (batch.events or batch.checks or batch.faults or batch.notices)
        ):
            batch.notices.append(
                f"no row of {self._rows:,} says anything by the mapping {self._mapping.name}; name columns of theirs in it (docs/mappings.md)"
            )
        yield batch

    def standing(self) -> TableStanding | None:
        """Where the source stands after all of `batches`; None where no row has a time."""
        if self._stamps.read is None:
            return None
        holdings = self._fills.holdings() if self._fills is not None else []
        states = self._states.latest if self._states is not None else {}
        return TableStanding(self._stamps.read, self._step, self._bases, holdings, states)

    def _go_on_from(self, standing: TableStanding) -> None:
        self._last, self._step = standing.rows.at, standing.step
        self._bases = dict(standing.bases)
        if self._fills is not None:
            self._fills.hold(standing.holdings)
        if self._states is not None:
            self._states.latest = dict(standing.states)

    def _tell(self, group: list[Item]) -> None:
        """The rows of one instant, a millisecond apart in their order."""
        if self._chain is not None and self._fills is not None and len(group) > 1:
            group = in_chain(group, self._chain, self._fills.change)
        trades = {}
        if self._ledger is not None:
            trades = {item.name: execution for item, execution in self._ledger.of(group)}
            self._passing = self._ledger.passing(group)
        if group[0].at != self._last:
            self._last, self._step = group[0].at, 0
        for item in group:
            taken = self._row(item._replace(at=item.at + self._step), trades.get(item.name))
            self._step += taken * _STEP

    def _row(self, item: Item, trade: Execution | str | None) -> int:
        """Write what a row says; how many milliseconds it takes up."""
        deeds: list[Deed] = []
        rows = 0
        if self._rules.source.base not in {None, "quote"}:
            self._count_in(item.agent, "")
        if self._rules.fill is not None and trade is None and self._states is None:
            for part in spread(item, self._rules.fill, self._counts):
                deeds += self._attempt(part._replace(at=item.at + rows * _STEP), None)
                rows += 1
        elif self._states is not None or trade is not None:
            deeds = self._attempt(item, trade)
        instrument = deeds[0].instrument if deeds else ""
        try:
            self._say(item, deeds, instrument)
        except ValueError as error:
            self._writer.fault(str(error), item.line, agent=item.agent)
        return max(1, rows)

    def _attempt(self, item: Item, trade: Execution | str | None) -> list[Deed]:
        """Write the fills of a row, or the fault that keeps them out."""
        try:
            deeds = self._fill(item, trade)
        except DroppedRowError:
            return []
        except ValueError as error:
            self._writer.fault(str(error), item.line, agent=item.agent)
            return []
        for deed in deeds:
            self._count_in(item.agent, deed.instrument)
        return deeds

    def _fill(self, item: Item, trade: Execution | str | None) -> list[Deed]:
        if isinstance(trade, str):
            raise ValueError(trade)  # noqa: TRY004 - the reason why there is no trade
        if self._trips is not None:
            return self._trips.tell(item, self._writer)
        assert self._fills is not None  # noqa: S101 - as the mapping has it
        if self._states is not None:
            return [
                deed
                for execution in self._states.of(item, self._writer)
                for deed in self._fills.write(item, execution, self._writer)
            ]
        return (
            self._fills.tell(item, self._writer)
            if trade is None
            else self._fills.write(item, trade._replace(at=item.at), self._writer)
        )

    def _say(self, item: Item, deeds: list[Deed], instrument: str) -> None:
        """What a row says beside its fills."""
        writer = self._writer
        if self._equity is not None:
            self._equity.tell(item, writer)
        for marks in self._marks:
            marks.tell(item, instrument, writer)
        for flows in self._flows:
            flows.tell(item, self._open_position, writer)
        for externals in self._externals:
            externals.tell(item, self._bases.get(item.agent) or self._rules.source.base, writer)
        for costs in self._costs:
            costs.tell(item, deeds[0].position if deeds else None, writer)
        for omissions in self._omissions:
            omissions.tell(item)
        if item.name not in self._passing:
            self._stated.tell(item, instrument, writer)
        if self._decision is not None:
            self._decision.tell(item, deeds, writer)

    def _open_position(self, agent: str, instrument: str) -> str | None:
        return self._fills.open_position(agent, instrument) if self._fills is not None else None

    def _count_in(self, agent: str, instrument: str) -> None:
        """Say what an agent's money is counted in, at its first fill."""
        base = self._rules.source.base
        if not base:
            return
        quoted = quote_of(instrument)
        if agent not in self._bases:
            self._bases[agent] = (quoted if base == "quote" else base) or base
            self._writer.base_currency(agent, self._bases[agent])
        if quoted and quoted != self._bases[agent]:
            self._quotes[quoted] += 1

    def _conclude(self) -> None:
        """Tell what was left out, and which words have no mapping."""
        writer = self._writer
        for omissions in self._omissions:
            omissions.conclude(writer)
        if self._stamps.repeats:
            writer.notice(f"{self._stamps.repeats:,} rows say again what others say and were left out")
        unknown = self._readings.unknown.most_common()
        if unknown:
            listed = ", ".join(f"{quote(word)} ({count:,})" for (_, word), count in unknown[:_WORDS_SHOWN])
            further = (
                f" and {len(unknown) - _WORDS_SHOWN:,} further words" if len(unknown) > _WORDS_SHOWN else ""
            )
            total = sum(count for _, count in unknown)
            writer.notice(
                f"{total:,} rows hold words that the mapping does not know, and say nothing: {listed}{further};"
                " add them to its map"
            )
        if self._quotes:
            listed = ", ".join(
                f"{quote(name)} ({count:,})" for name, count in sorted(self._quotes.items())[:_WORDS_SHOWN]
            )
            base = ", ".join(sorted(set(self._bases.values())))
            writer.notice(f"counted in {base}; fills priced in {listed} need marks of those in it")


def _numbered(prefix: str, number: int) -> str:
    return f"{prefix}{number + 1}" if number else prefix

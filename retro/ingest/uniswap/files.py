"""The tables of a pool and its positions, in the forms that people export them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from retro.ingest.rows import csv, json
from retro.ingest.sample import sample_of
from retro.ingest.times import Clock
from retro.ingest.uniswap.tokens import Token, TokenNames
from retro.journal import quote
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from retro.ingest.sample import SourceSample

__all__ = [
    "EVENT_TABLES",
    "EventKind",
    "PoolFacts",
    "PoolPair",
    "PositionEvent",
    "Table",
    "graph_events",
    "kind_of",
    "learn",
    "table_events",
    "tables_of",
]

Table = Literal["increase", "decrease", "collect", "mint", "pool", "tokens", "graph", "ignored"]
EventKind = Literal["increase", "decrease", "collect"]
_LAYOUT: Final = csv.CsvLayout()
EVENT_TABLES: Final[frozenset[str]] = frozenset({"increase", "decrease", "collect"})
"""The tables of what happened to positions."""
_ENDINGS: Final = (".csv", ".json", ".gz")
_LONGEST: Final = 78
_BLOCK: Final = 1_000_000
_MOST: Final = 10**11
_LAST_INDEX: Final = _BLOCK - 1
"""An event is told as many microseconds after its block's second as stand before it there: their order is kept."""


class PositionEvent(msgspec.Struct, frozen=True):
    """What happened to a position: whole amounts of both tokens, and the liquidity that came or went.

    As text, for they are larger than a machine's integers.
    """

    where: str
    line: int
    position: str
    manager: str
    kind: EventKind
    at: int
    place: int
    name: str
    transaction: str
    amount_texts: tuple[str, str]
    liquidity_text: str

    @property
    def amounts(self) -> tuple[int, int]:
        """Whole amounts of token0 and token1, >= 0."""
        return (int(self.amount_texts[0]), int(self.amount_texts[1]))

    @property
    def liquidity(self) -> int:
        """The pool's measure of what came or went, >= 0."""
        return int(self.liquidity_text)


@dataclass(frozen=True, slots=True)
class PoolPair:
    """A pool's tokens."""

    tokens: tuple[Token, Token]


@dataclass(slots=True)
class PoolFacts:
    """What the files say of pools, and of positions besides their events."""

    tokens: TokenNames = field(default_factory=TokenNames)
    pools: dict[str, tuple[str, str]] = field(default_factory=dict)
    """PoolPair -> the addresses of its tokens."""
    minted: dict[tuple[str, str, str, str], tuple[str, int, int]] = field(default_factory=dict)
    """(Transaction, liquidity, amount0, amount1) -> pool and ticks of liquidity that came."""
    positions: dict[str, tuple[PoolPair, int, int]] = field(default_factory=dict)
    """Position of The Graph -> its pool and ticks."""

    def range_of(self, event: PositionEvent) -> tuple[PoolPair, int, int] | None:
        """PoolPair and ticks of a position by an event that gave it liquidity; None where no file says them."""
        if event.position in self.positions:
            return self.positions[event.position]
        key = (event.transaction, str(event.liquidity), str(event.amounts[0]), str(event.amounts[1]))
        if key not in self.minted:
            return None
        address, lower, upper = self.minted[key]
        if address not in self.pools:
            return None
        first, second = self.pools[address]
        return PoolPair((self.tokens.of(first), self.tokens.of(second))), lower, upper


def kind_of(sample: SourceSample) -> Table | None:
    """Which table the beginning of a file shows, by its columns and, where two events have the same, its name."""
    names = {_plain(column) for column in sample.header}
    if not names:
        text = sample.text
        return (
            "graph"
            if '"depositedToken0"' in text and text.lstrip("\ufeff \r\n\t")[:1] in {"{", "["}
            else None
        )
    file = sample.path.name.lower()
    if {"tokenid", "amount0", "amount1"} <= names:
        if "liquidity" not in names:
            return "collect"
        if "amount0desired" in names or "increase" in file:
            return "increase"
        return "decrease" if "amount0min" in names or "decrease" in file else None
    if {"amount", "amount0", "amount1", "ticklower", "tickupper"} <= names:
        return "mint" if "sender" in names or "mint" in file else "ignored"
    if {"token0", "token1", "pool"} <= names:
        return "pool"
    if {"symbol", "decimals"} <= names and names & {"address", "contractaddress"}:
        return "tokens"
    return "ignored" if "sqrtpricex96" in names or {"ticklower", "recipient"} <= names else None


def tables_of(paths: Sequence[Path]) -> list[tuple[Path, Table]]:
    """The files among these paths and folders that are tables of this kind."""
    tables: list[tuple[Path, Table]] = []
    for path in paths:
        sample = sample_of(path)
        entries = [path]
        if sample.is_folder:
            entries = [
                each for each in sorted(path.iterdir()) if each.suffix.lower() in _ENDINGS and each.is_file()
            ]
        tables += [(entry, kind) for entry in entries if (kind := kind_of(sample_of(entry)))]
    return tables


def learn(path: Path, kind: Table, facts: PoolFacts) -> Iterator[Fault]:
    """Take in what a table says besides events; what cannot be read is a fault."""
    if kind == "graph":
        yield from _learn_positions(path, facts)
        return
    for line, cells in _rows(path):
        if isinstance(cells, Fault):
            yield cells
            continue
        try:
            if kind == "tokens":
                address = cells.get("contractaddress") or cells.get("address", "")
                facts.tokens.name(address, cells["symbol"], cells["decimals"])
            elif kind == "pool":
                facts.pools[cells["pool"].lower()] = (cells["token0"].lower(), cells["token1"].lower())
            elif kind == "mint":
                key = (cells["evttxhash"].lower(), cells["amount"], cells["amount0"], cells["amount1"])
                ticks = (_whole(cells["ticklower"]), _whole(cells["tickupper"]))
                facts.minted[key] = (cells["contractaddress"].lower(), *ticks)
        except (KeyError, ValueError, ArithmeticError) as error:
            yield Fault(str(path), line, f"row: {_reason(error)}")


def table_events(path: Path, kind: EventKind) -> Iterator[PositionEvent | Fault]:
    """The events of one table."""
    clock = Clock(None, str(path))
    for line, cells in _rows(path):
        if isinstance(cells, Fault):
            yield cells
            continue
        try:
            index = _place(cells.get("evtindex", "0"))
            transaction = cells["evttxhash"].lower()
            at = clock.instant(_time(cells.get("evtblocktime") or cells["blocktime"])) + min(
                index, _LAST_INDEX
            )
            yield PositionEvent(
                str(path), line, cells["tokenid"], cells.get("contractaddress", "").lower(), kind, at,
                _place(cells.get("evtblocknumber", "0")) * _BLOCK + index, f"{transaction[-16:]}-{index}", transaction,
                (str(_amount(cells["amount0"])), str(_amount(cells["amount1"]))),
                "0" if kind == "collect" else str(_amount(cells["liquidity"])),
            )  # fmt: skip
        except (KeyError, ValueError, ArithmeticError) as error:
            yield Fault(str(path), line, f"row: {_reason(error)}")


def graph_events(path: Path, facts: PoolFacts) -> Iterator[PositionEvent | Fault]:
    """Events out of the running sums of The Graph's position snapshots, in order of time."""
    entries = sorted(
        _entries(path, "positionSnapshots"), key=lambda entry: str(entry[1].get("timestamp", "")).zfill(20)
    )
    before: dict[str, dict[str, int]] = {}
    for line, entry in entries:
        try:
            position = str(
                entry["position"]["id"] if isinstance(entry.get("position"), dict) else entry["position"]
            )
            if position not in facts.positions:
                reason = f"position {quote(position)} has no tokens and ticks; ask for positions, too"
                yield Fault(str(path), line, f"snapshot: {reason}")
                continue
            decimals = [token.decimals for token in facts.positions[position][0].tokens]
            sums = {
                f"{name}{side}": int(Decimal(str(entry[f"{name}Token{side}"])).scaleb(decimals[side]))
                for name in ("deposited", "withdrawn") for side in (0, 1)
            } | {
                f"collected{side}": int(Decimal(str(entry[_collected(entry, side)])).scaleb(decimals[side])) for side in (0, 1)
            }  # fmt: skip
            sums["liquidity"] = _amount(str(entry["liquidity"]))
            earlier = before.get(position, dict.fromkeys(sums, 0))
            before[position] = sums
            yield from _changes(path, line, entry, position, sums, earlier)
        except (KeyError, ValueError, ArithmeticError) as error:
            yield Fault(str(path), line, f"snapshot: {_reason(error)}")


def _collected(entry: Mapping[str, Any], side: int) -> str:
    """The sum of what was collected, principal with it where the answer has that."""
    return f"collectedToken{side}" if f"collectedToken{side}" in entry else f"collectedFeesToken{side}"


def _changes(
    path: Path, line: int, entry: Mapping[str, Any], position: str, sums: Mapping[str, int], earlier: Mapping[str, int]
) -> Iterator[PositionEvent]:  # fmt: skip
    at = _place(str(entry["timestamp"])) * 1_000_000
    transaction = entry.get("transaction")
    source = transaction.get("id", "") if isinstance(transaction, dict) else str(transaction or "")
    change = {name: sums[name] - earlier[name] for name in sums}
    withdrawn = (change["withdrawn0"], change["withdrawn1"])
    collected = (change["collected0"], change["collected1"])
    if "collectedToken0" not in entry:
        collected = (
            collected[0] + withdrawn[0],
            collected[1] + withdrawn[1],
        )  # fees alone: the principal goes with it
    moves: tuple[tuple[EventKind, tuple[int, int]], ...] = (
        ("increase", (change["deposited0"], change["deposited1"])),
        ("decrease", withdrawn),
        ("collect", collected),
    )
    for place, (kind, amounts) in enumerate(moves):
        if any(amounts) or (kind == "decrease" and change["liquidity"] < 0):
            name = f"{(source or position)[-16:]}-{position}-{at // 1_000_000}-{kind}"
            liquidity = "0" if kind == "collect" else str(abs(change["liquidity"]))
            texts = (str(amounts[0]), str(amounts[1]))
            yield PositionEvent(
                str(path), line, position, "", kind, at + place, place, name, source, texts, liquidity
            )


def _learn_positions(path: Path, facts: PoolFacts) -> Iterator[Fault]:
    for line, entry in _entries(path, "positions"):
        try:
            pair = []
            for name in ("token0", "token1"):
                token = entry[name]
                address = str(token.get("id") or token["symbol"])
                pair.append(facts.tokens.name(address, str(token["symbol"]), str(token["decimals"])))
            ticks = [
                _whole(str(tick["tickIdx"] if isinstance(tick, dict) else tick))
                for tick in (entry["tickLower"], entry["tickUpper"])
            ]
            facts.positions[str(entry["id"])] = (PoolPair((pair[0], pair[1])), ticks[0], ticks[1])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            yield Fault(str(path), line, f"position: {_reason(error)}")


def _entries(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of a list of an answer, wherever in it the list stands."""
    for row in json.rows(str(path)):
        if isinstance(row, Fault):
            continue
        cells: Any = row.cells
        for holder in (cells, cells.get("data")):
            if isinstance(holder, dict) and isinstance(holder.get(name), list):
                for number, entry in enumerate(holder[name], 1):
                    if isinstance(entry, dict):
                        yield number, entry
        is_snapshot = "timestamp" in cells
        if "depositedToken0" in cells and is_snapshot == (name == "positionSnapshots"):
            yield row.line, cells


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str] | Fault]]:
    for row in csv.rows(str(path), _LAYOUT):
        if isinstance(row, Fault):
            yield row.line or 0, row
        else:
            yield row.line, {_plain(name): str(cell).strip() for name, cell in row.cells.items()}


def _plain(column: str) -> str:
    """evt_tx_hash, evtTxHash and EVT_TX_HASH are one column."""
    return column.strip().replace("_", "").lower()


def _whole(text: str) -> int:
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST):
        raise ValueError(f"{quote(text)} is no whole number")
    return int(text)


def _amount(text: str) -> int:
    """A whole amount; a spreadsheet's 1.2E+26 has lost its digits and is refused."""
    amount = _whole(text)
    if amount < 0:
        raise ValueError(f"{quote(text)} is below 0")
    return amount


def _place(text: str) -> int:
    """The number of a block, of an event in it, or of a second."""
    place = _amount(text)
    if place >= _MOST:
        raise ValueError(f"{quote(text)} is no number of a block, an event or a second")
    return place


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text.removesuffix(" UTC") + ("+00:00" if text.endswith(" UTC") else ""))
    except ValueError:
        raise ValueError(f"{quote(text)} is no time") from None
    if time.tzinfo is None:
        raise ValueError(f"{quote(text)} has no zone; times of blocks end in UTC")
    return time


def _reason(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)

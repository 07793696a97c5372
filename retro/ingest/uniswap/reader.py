"""Reads positions of Uniswap v3: the manager's events with the pool's, or positions and snapshots of The Graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.spool import Spool
from retro.ingest.uniswap import files
from retro.ingest.uniswap.files import EVENT_TABLES, EventKind, PoolFacts, PositionEvent
from retro.ingest.uniswap.liquidity import Liquidity
from retro.ingest.uniswap.tokens import base_of
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.sample import SourceSample
    from retro.ingest.uniswap.files import Table
    from retro.model import Batch

__all__ = ["read", "sniff"]

_AGENT: Final = "uniswap-v3"


def sniff(sample: SourceSample) -> str | None:
    """Why a file or folder holds positions of Uniswap v3, in a few words; None where it does not."""
    if sample.is_folder:
        kinds = {kind for _, kind in files.tables_of([sample.path])}
        return "tables of liquidity positions" if kinds & {"graph", *EVENT_TABLES} else None
    kind = files.kind_of(sample)
    if kind == "graph":
        return "positions of Uniswap v3 as The Graph answers them"
    if kind in EVENT_TABLES:
        return f"{kind} events of liquidity positions"
    return "events of a pool of Uniswap v3" if kind and kind != "tokens" else None


def read(paths: Sequence[Path], *, agent: str | None, now: int) -> Iterator[Batch]:
    """Everything these tables tell of positions, whoever's they are: one agent has them all."""
    tables = files.tables_of(paths)
    writer = BatchWriter(", ".join(map(str, paths)), now)
    if not any(kind == "graph" or kind in EVENT_TABLES for _, kind in tables):
        raise InputError(
            f"{writer.where}: there are no events of liquidity positions; export IncreaseLiquidity, DecreaseLiquidity and"
            " Collect of the position manager, named so, or positions and positionSnapshots of The Graph"
        )
    facts = PoolFacts()
    for path, kind in tables:
        if kind in {"tokens", "pool", "mint", "graph"}:
            for fault in files.learn(path, kind, facts):
                writer.fault(fault.reason, fault.line, where=fault.where)
    name = agent or _AGENT
    base = _base(facts)
    _tell_guesses(facts, writer)
    writer.base_currency(name, base)
    writer.origin(name, _AGENT)
    with Spool[PositionEvent](PositionEvent) as spool:
        for path, kind in tables:
            _put_by(path, kind, facts, spool, writer)
        liquidity = Liquidity(name, base, writer, facts)
        for event in spool:
            writer.where = event.where
            try:
                liquidity.take(event)
            except (ValueError, ArithmeticError) as error:
                writer.fault(f"row: {error}", event.line, where=event.where, agent=name)
            if writer.full:
                yield writer.batch()
    yield writer.batch()


def _put_by(
    path: Path, kind: Table, facts: PoolFacts, spool: Spool[PositionEvent], writer: BatchWriter
) -> None:
    if kind == "graph":
        events = files.graph_events(path, facts)
    elif kind in EVENT_TABLES:
        events = files.table_events(path, cast("EventKind", kind))
    else:
        return
    for event in events:
        if isinstance(event, Fault):
            writer.fault(event.reason, event.line, where=event.where)
        else:
            owner = f"{event.manager} {event.position}"
            spool.put(owner, event.at, event.place, f"{event.kind} {event.name}", event)


def _base(facts: PoolFacts) -> str:
    pairs = [
        (facts.tokens.of(first).symbol, facts.tokens.of(second).symbol)
        for first, second in facts.pools.values()
    ]
    for pool, _, _ in facts.positions.values():
        pairs.append((pool.tokens[0].symbol, pool.tokens[1].symbol))
    return base_of(pairs) if pairs else "WETH"


def _tell_guesses(facts: PoolFacts, writer: BatchWriter) -> None:
    """Say of which tokens nobody told the decimals."""
    addresses = {address for pair in facts.pools.values() for address in pair}
    for address in sorted(addresses):
        if facts.tokens.of(address).is_guess:
            writer.notice(
                f"{address}: no file says its decimals, so 18 are taken; put a tokens.csv with contract_address, symbol and"
                " decimals beside the events"
            )

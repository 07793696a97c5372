"""What the tiers of inference have cost, in blocks of days, each beside what all earlier ones come to: written when a book settles."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, bindparam, delete, func, insert, select

from retro.evaluate.claims.record import TIERS
from retro.evaluate.records import TIER_COST_COLUMNS
from retro.kernels.sums import exact_parts
from retro.model import Cost
from retro.periods import DAY, FOREVER
from retro.store.facts import events
from retro.store.facts.agents import KEY_OF_NAMED, key_query, known_key
from retro.store.schema import metadata, name_of, reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

__all__ = ["TIER_COST", "TierCosts", "forget_tier_costs", "settle_tier_costs", "tier_costs_at"]

_DAYS: Final = 8
"""Days a block holds: what a week reads of single costs are those of its own and of the block before."""

TIER_COST: Final = np.dtype(list(TIER_COST_COLUMNS))
"""What inference of a tier, by number, was paid for at an instant, in base currency."""

book_tier_costs: Final = Table(
    "book_tier_costs",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("earlier", Text, nullable=False),
    Column("records", LargeBinary, nullable=False),
    Column("in_kind", Text, nullable=False),
)
"""Costs in money of `TIER_COST` and those in kind as [at, id]; `earlier`: what was paid before the block, and in which
blocks something was paid in kind."""

_OWN = book_tier_costs.c.agent == KEY_OF_NAMED
_FIRST, _LAST = bindparam("first", type_=BigInteger), bindparam("last", type_=BigInteger)
_NEWEST = (
    select(func.max(book_tier_costs.c.block)).where(_OWN, book_tier_costs.c.block <= _FIRST).scalar_subquery()
)
_BLOCKS: Final = (
    select(book_tier_costs.c.earlier, book_tier_costs.c.records, book_tier_costs.c.in_kind)
    .where(_OWN, book_tier_costs.c.block >= func.coalesce(_NEWEST, _FIRST), book_tier_costs.c.block <= _LAST)
    .order_by(book_tier_costs.c.block)
)
"""The block that holds the first instant, or the newest before it, and all after it."""


@dataclass(frozen=True, slots=True)
class TierCosts:
    """By tier: what was paid in money, as floats whose exact sum it is, and the ids of what was paid in kind."""

    paid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    in_kind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """Single costs of a block, and what was paid before it."""

    paid: Mapping[str, tuple[float, ...]]
    in_kind_before: tuple[int, ...]
    records: NDArray[Any]
    in_kind: Sequence[tuple[int, str]]

    @classmethod
    def of(cls, earlier: str, records: bytes, in_kind: str) -> _Block:
        """As it is stored."""
        paid, blocks = json.loads(earlier)
        return cls(
            {tier: tuple(parts) for tier, parts in paid.items()},
            tuple(blocks),
            np.frombuffer(records, TIER_COST),
            [(at, id_) for at, id_ in json.loads(in_kind)],
        )


def tier_costs_at(conn: Connection, agent: str, instants: Sequence[int]) -> list[TierCosts]:
    """What was told before each of some instants, the earliest first; most often one statement."""
    asked = {"its_name": name_of(agent), "first": _number(instants[0]), "last": _number(instants[-1])}
    blocks = [_Block.of(*row) for row in conn.execute(_BLOCKS, asked)]
    if not blocks:
        return [TierCosts() for _ in instants]
    in_kind = [each for block in blocks for each in block.in_kind]
    if blocks[0].in_kind_before:
        c, before = book_tier_costs.c, blocks[0].in_kind_before
        texts = select(c.in_kind).where(c.agent == key_query(agent), c.block.in_(before))
        in_kind += [(at, id_) for text in conn.execute(texts).scalars() for at, id_ in json.loads(text)]
    records = np.concatenate([block.records for block in blocks])
    return [
        TierCosts(
            _paid(blocks[0].paid, records[records["at"] < at]),
            tuple(sorted(id_ for told_at, id_ in in_kind if told_at < at)),
        )
        for at in instants
    ]


def settle_tier_costs(conn: Connection, agent: str, since: int) -> None:
    """Fold the blocks that reach beyond `since` once more."""
    c, key, first = book_tier_costs.c, known_key(conn, agent), _number(since)
    own = c.agent == key
    conn.execute(delete(book_tier_costs).where(own, c.block >= first))
    by_block: dict[int, list[Cost]] = {}
    for cost in events.between(conn, agent, first * _DAYS * DAY, FOREVER, types=[Cost]):
        if cost.kind == "inference" and cost.tier is not None:
            by_block.setdefault(_number(cost.at), []).append(cost)
    if not by_block:
        return
    query = select(c.block, c.earlier, c.records, c.in_kind).where(own).order_by(c.block.desc()).limit(1)
    paid: Mapping[str, tuple[float, ...]] = {}
    in_kind_before: tuple[int, ...] = ()
    for number, *stored in conn.execute(query):
        block = _Block.of(*stored)
        paid = _paid(block.paid, block.records)
        in_kind_before = (*block.in_kind_before, *([number] if block.in_kind else []))
    for number, costs in sorted(by_block.items()):
        in_money = [
            (x.at, TIERS.index(x.tier), float(x.amount)) for x in costs if x.tier and x.amount is not None
        ]
        records = np.array(sorted(in_money), TIER_COST)
        in_kind = sorted((cost.at, cost.id) for cost in costs if cost.amount is None)
        row = {
            "earlier": json.dumps([paid, in_kind_before], separators=(",", ":")),
            "records": records.tobytes(),
            "in_kind": json.dumps(in_kind, separators=(",", ":")),
        }
        conn.execute(insert(book_tier_costs), {"agent": key, "block": number, **row})
        paid = _paid(paid, records)
        in_kind_before = (*in_kind_before, *([number] if in_kind else []))


def forget_tier_costs(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_tier_costs).where(book_tier_costs.c.agent == key_query(agent)))


def _paid(earlier: Mapping[str, tuple[float, ...]], records: NDArray[Any]) -> dict[str, tuple[float, ...]]:
    """By tier, what was paid earlier and these costs together."""
    amounts = {tier: [*parts] for tier, parts in earlier.items()}
    for number in np.flatnonzero(np.bincount(records["tier"])).tolist():
        amounts.setdefault(TIERS[number], []).extend(records["amount"][records["tier"] == number].tolist())
    return {tier: exact_parts(rows) for tier, rows in sorted(amounts.items())}


def _number(at: int) -> int:
    """The block that holds an instant."""
    return at // DAY // _DAYS

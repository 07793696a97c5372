"""What the tiers of inference have cost, in blocks of days: written when a book settles, a few figures a block."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, Column, Table, Text, delete, insert, select

from retro.kernels.sums import exact_parts
from retro.model import Cost
from retro.periods import DAY, FOREVER
from retro.store.facts import events
from retro.store.facts.agents import key_query, known_key
from retro.store.schema import metadata, reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

__all__ = ["TierCosts", "forget_tier_costs", "settle_tier_costs", "tier_costs_at"]

_DAYS: Final = 8
"""Days a block holds: what a week reads of costs themselves are those of its own and the block before."""

book_tier_costs: Final = Table(
    "book_tier_costs",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("costs", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class TierCosts:
    """By tier: what was paid in money, as floats whose exact sum it is, and the ids of what was paid in kind."""

    paid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    in_kind: tuple[str, ...] = ()

    @classmethod
    def of(cls, costs: Iterable[Cost]) -> TierCosts:
        """Those of inference that name a tier; the others cost no tier anything."""
        amounts: dict[str, list[float]] = {}
        in_kind = []
        for cost in costs:
            if cost.kind != "inference" or cost.tier is None:
                continue
            if cost.amount is None:
                in_kind.append(cost.id)
            else:
                amounts.setdefault(cost.tier, []).append(float(cost.amount))
        return cls(
            {tier: exact_parts(rows) for tier, rows in sorted(amounts.items())}, tuple(sorted(in_kind))
        )

    def plus(self, other: TierCosts) -> TierCosts:
        """Both together."""
        paid = dict(self.paid)
        for tier, parts in other.paid.items():
            paid[tier] = exact_parts([*paid.get(tier, ()), *parts])
        return TierCosts(dict(sorted(paid.items())), tuple(sorted({*self.in_kind, *other.in_kind})))


def tier_costs_at(conn: Connection, agent: str, instants: Sequence[int]) -> list[TierCosts]:
    """What was told before each of some instants, the earliest first: whole blocks as they stand, and facts since."""
    c, block = book_tier_costs.c, instants[0] // DAY // _DAYS
    query = select(c.costs).where(c.agent == key_query(agent), c.block < block).order_by(c.block)
    parts: dict[str, list[float]] = {}
    in_kind: list[str] = []
    for text in conn.execute(query).scalars():
        paid, ids = json.loads(text)
        in_kind += ids
        for tier, amounts in paid.items():
            parts.setdefault(tier, []).extend(amounts)
    whole = TierCosts(
        {tier: exact_parts(rows) for tier, rows in sorted(parts.items())}, tuple(sorted(in_kind))
    )
    recent = events.between(conn, agent, block * _DAYS * DAY, instants[-1], types=[Cost])
    return [whole.plus(TierCosts.of(cost for cost in recent if cost.at < at)) for at in instants]


def settle_tier_costs(conn: Connection, agent: str, since: int) -> None:
    """Fold the blocks that reach beyond `since` once more."""
    c, key, first = book_tier_costs.c, known_key(conn, agent), since // DAY // _DAYS
    conn.execute(delete(book_tier_costs).where(c.agent == key, c.block >= first))
    by_block: dict[int, list[Cost]] = {}
    for cost in events.between(conn, agent, first * _DAYS * DAY, FOREVER, types=[Cost]):
        by_block.setdefault(cost.at // DAY // _DAYS, []).append(cost)
    for block, costs in sorted(by_block.items()):
        folded = TierCosts.of(costs)
        if folded != TierCosts():
            text = json.dumps([folded.paid, folded.in_kind], separators=(",", ":"))
            conn.execute(insert(book_tier_costs), {"agent": key, "block": block, "costs": text})


def forget_tier_costs(conn: Connection, agent: str) -> None:
    """Drop everything."""
    conn.execute(delete(book_tier_costs).where(book_tier_costs.c.agent == key_query(agent)))

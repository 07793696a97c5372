"""Tiers of inference over a life: what was right, and what each has cost."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.price_lines import MarkReach, PriceDemand, load_prices
from retro.evaluate.claims.tiers import tier_report
from retro.model import Cost
from retro.periods import FOREVER
from retro.store.books.claims import claims_of
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.claims.tiers import TierTerms
    from retro.report.evaluators.tiers import TierReport

__all__ = ["tiers_of"]


def tiers_of(book: SettledBook, terms: TierTerms, as_of: int | None = None) -> TierReport:
    """Accuracy, gain and price of each tier by category, as told before `as_of` (microseconds; None: ever)."""
    before = FOREVER if as_of is None else as_of
    claims = claims_of(book.conn, book.name).before(before)
    return tier_report(claims, _costs(book, before), terms, seed_of_life(book.name))


def _costs(book: SettledBook, before: int) -> dict[str, float | None]:
    """Tier -> what its inference has cost before an instant; None where a part of it has no price."""
    facts = events.between(book.conn, book.name, -FOREVER, before, types=[Cost])
    facts = [cost for cost in facts if cost.kind == "inference" and cost.tier is not None]
    in_kind = [cost for cost in facts if cost.amount is None]
    prices = None
    if in_kind:
        first, until = min(cost.at for cost in in_kind), min(before - 1, book.known_until)
        demand = PriceDemand(in_kind)
        prices = load_prices(book.life, book.settings, demand, MarkReach(first, until, until))
    parts: dict[str, list[float | None]] = {}
    for cost in facts:
        worth = None if cost.amount is None else float(cost.amount)
        quote = None if prices is None or worth is not None else prices.quote(str(cost.asset), cost.at)
        if quote is not None:
            worth = float(cost.quantity or 0) * quote.price
        parts.setdefault(str(cost.tier), []).append(worth)
    sums: dict[str, float | None] = {}
    for tier, values in sorted(parts.items()):
        known = [value for value in values if value is not None]
        sums[tier] = fsum(known) if len(known) == len(values) else None
    return sums

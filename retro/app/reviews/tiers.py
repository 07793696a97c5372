"""Tiers of inference over a life: what was right, and what each has cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.audit import seed_of_life
from retro.app.settlement.price_lines import MarkReach, PriceDemand, load_prices
from retro.evaluate.claims.tiers import tier_report
from retro.kernels.sums import exact_parts
from retro.model import Cost
from retro.periods import FOREVER
from retro.report import TierChange
from retro.store.books.claims import claims_since
from retro.store.books.tier_costs import tier_costs_at
from retro.store.facts import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.settlement.book import SettledBook
    from retro.evaluate.claims.totals import ClaimTotals
    from retro.evaluate.terms import TierTerms
    from retro.report.evaluators.tiers import TierReport
    from retro.store.books.tier_costs import TierCosts

__all__ = ["tier_changes", "tiers_of"]

_ASKS = frozenset({"use_T0", "shift_to_T1"})


def tiers_of(book: SettledBook, terms: TierTerms, as_of: int | None = None) -> TierReport:
    """Accuracy, gain and price of each tier by category, as told before `as_of` (microseconds; None: ever)."""
    before = FOREVER if as_of is None else as_of
    ring = book.settings.claims.ring.size
    totals = claims_since(book.conn, book.name, before, before).at(before, ring)
    [costs] = tier_costs_at(book.conn, book.name, [before])
    return tier_report(totals.tiers, _prices(book, costs, before), terms, seed_of_life(book.name))


def tier_changes(
    book: SettledBook, then: tuple[int, ClaimTotals], now: tuple[int, ClaimTotals]
) -> list[TierChange]:
    """Verdicts on tiers at the later instant that are others than at the earlier one, or that ask for another tier.

    Each instant with how claims stood before it; nothing is read where no claim names a tier.
    """
    if not now[1].tiers:
        return []
    terms = book.settings.tiers
    costs = tier_costs_at(book.conn, book.name, [then[0], now[0]])
    old, new = (
        tier_report(totals.tiers, _prices(book, paid, at), terms, seed_of_life(book.name)).recommendation
        for (at, totals), paid in zip((then, now), costs, strict=True)
    )
    before = {(advice.category, advice.difficulty): advice.kind for advice in old}
    return [
        TierChange(
            category=advice.category,
            difficulty=advice.difficulty,
            kind=advice.kind,
            kind_before=before.get((advice.category, advice.difficulty)),
            reason=advice.reason,
        )
        for advice in new
        if advice.kind in _ASKS
        or before.get((advice.category, advice.difficulty), "insufficient") != advice.kind
    ]


def _prices(book: SettledBook, costs: TierCosts, before: int) -> dict[str, float | None]:
    """Tier -> what its inference has cost before an instant; None where a part of it has no price."""
    parts: dict[str, list[float] | None] = {tier: [*paid] for tier, paid in costs.paid.items()}
    for tier, worth in _in_kind(book, costs.in_kind, before):
        amounts = parts.setdefault(tier, [])
        if worth is None or amounts is None:
            parts[tier] = None
        else:
            amounts.append(worth)
    return {
        tier: None if amounts is None else next(iter(exact_parts(amounts)), 0.0)
        for tier, amounts in sorted(parts.items())
    }


def _in_kind(book: SettledBook, ids: Sequence[str], before: int) -> list[tuple[str, float | None]]:
    """The tier and the worth of what was paid in kind, by the marks known before an instant; None without a price."""
    costs = events.by_ids(book.conn, book.name, Cost, ids)
    if not costs:
        return []
    first, until = min(cost.at for cost in costs), min(before - 1, book.known_until)
    prices = load_prices(book.life, book.settings, PriceDemand(costs), MarkReach(first, until, until))
    quotes = [(cost, prices.quote(str(cost.asset), cost.at)) for cost in costs]
    return [
        (str(cost.tier), None if quote is None else float(cost.quantity or 0) * quote.price)
        for cost, quote in quotes
    ]

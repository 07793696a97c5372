"""How an agent's wallet began, and what its statements of equity say beyond its events: functions of the facts alone."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import msgspec

from retro.app.settlement.book import WalletOpening
from retro.model import Equity
from retro.store.books.positions import Discrepancy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retro.accounting.wallet import Statement
    from retro.app.settlement.settings import AgentSettings
    from retro.model import Fact

__all__ = ["discrepancies", "gaps_of", "opening_told", "with_baseline", "with_capital"]


def opening_told(
    birth: int, facts: Sequence[Fact], moves: Iterable[int], settings: AgentSettings
) -> WalletOpening:
    """How the wallet began: balances stated before anything moved it, else the configured capital, else unknown.

    `moves` are the instants at which anything moved it. Only the first statement is asked: what comes after it cannot
    change how the wallet began.
    """
    equity = [fact for fact in facts if isinstance(fact, Equity)]
    first = min((fact.at for fact in equity), default=birth)
    balances = [fact.balances for fact in equity if fact.at == first and fact.balances is not None]
    if balances and first <= min(moves, default=first):
        given = [(asset, str(quantity)) for asset, quantity in sorted(balances[0].items())]
        return WalletOpening(birth, capital_known=True, given=given, baseline=0.0, told_at=first)
    if settings.capital is not None:
        return WalletOpening(birth, True, [(settings.base_currency, str(settings.capital))], 0.0)
    return WalletOpening(birth, capital_known=False, given=[], baseline=0.0)


def gaps_of(
    stated: Sequence[Statement], inside: Sequence[Sequence[float]], outside: Sequence[float]
) -> list[float]:
    """Stated less computed equity at each statement: `inside` of its positions, `outside` in the wallet."""
    return [
        statement.value - fsum([*parts, worth])
        for statement, parts, worth in zip(stated, inside, outside, strict=True)
    ]


def with_capital(opening: WalletOpening, gap: float, base_currency: str) -> WalletOpening:
    """Where nothing else tells how the wallet began, it began with what the first statement shows beyond the events."""
    return msgspec.structs.replace(opening, capital_known=True, given=[(base_currency, repr(gap))])


def with_baseline(opening: WalletOpening, first: Statement, gap: float) -> WalletOpening:
    """The gap of the first statement, against which later ones are held; balances that opened the wallet have none."""
    return msgspec.structs.replace(opening, baseline=0.0 if _opens(opening, first) else gap)


def discrepancies(
    opening: WalletOpening, stated: Sequence[Statement], gaps: Sequence[float]
) -> list[Discrepancy]:
    """What each statement says beyond the first, one an instant; balances that only open the wallet say nothing."""
    return [
        Discrepancy(statement.at, gap - opening.baseline)
        for statement, gap in zip(stated, gaps, strict=True)
        if not _opens(opening, statement)
    ]


def _opens(opening: WalletOpening, statement: Statement) -> bool:
    """Whether a statement is nothing but the balances that opened the wallet."""
    return statement.by_balances and statement.at == opening.told_at

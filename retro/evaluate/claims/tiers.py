"""What the tiers of inference were worth: how often each was right, beyond what costs nothing, and for what price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from retro.evaluate.claims.record import TIERS
from retro.figures import count
from retro.kernels.evaluators.tiers import extra_accuracy_bound
from retro.report.evaluators.tiers import TierAdvice, TierReport, TierRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.evaluate.claims.totals import TierKey
    from retro.evaluate.terms import TierTerms
    from retro.report.evaluators.tiers import TierAdviceKind

__all__ = ["tier_report"]

_FREE, _CHEAP, _DEAR = 0, 1, 2
_POINTS: Final = 100
_CAUTION: Final = "hard questions go to the higher tier: this compares what was asked, not the models"


@dataclass(frozen=True, slots=True)
class _Tier:
    """One tier in one category: judged predictions, those that were right, its price of one (None: nothing is told)."""

    right: int
    n: int
    baseline: float
    baseline_n: int
    price: float | None

    @property
    def gain(self) -> float:
        return self.right / self.n - self.baseline


def tier_report(
    judged: Mapping[TierKey, tuple[int, int]],
    costs: Mapping[str, float | None],
    terms: TierTerms,
    seed: int,
) -> TierReport:
    """Rows by category and tier, and a recommendation for each category (and difficulty) that has T1 and T2.

    `judged`: category, difficulty and tier -> claims that were right, of how many. `costs`: tier -> what its inference
    has cost, in base currency; None where a part of it has no price. A tier that is not named told of none.
    """
    prices = _prices(judged, costs)
    rows: list[TierRow] = []
    advice: list[TierAdvice] = []
    for category in sorted({category for category, _, _ in judged}):
        of_category = {key[1:]: counts for key, counts in judged.items() if key[0] == category}
        rows += [_row(number, category, tier, costs) for number, tier in _tiers(of_category, prices).items()]
        for difficulty in _compared(of_category):
            compared = {
                key: counts
                for key, counts in of_category.items()
                if difficulty is None or key[0] == difficulty
            }
            within = _tiers(compared, prices)
            if {_CHEAP, _DEAR} <= within.keys():
                advice.append(_advice(category, difficulty or None, within, terms, seed))
    reasons = {} if advice else {"recommendation": "no category has judged predictions of both T1 and T2"}
    if not rows:
        reasons["rows"] = "no judged prediction names a decision with a tier"
    return TierReport(rows=rows, recommendation=advice, reasons=reasons)


def _compared(of_category: Iterable[tuple[str, int]]) -> list[str | None]:
    """What is compared with what in a category: all of it (None), or each difficulty apart where one was told."""
    difficulties = sorted({difficulty for difficulty, _ in of_category})
    return [None] if difficulties == [""] else [*difficulties]


def _prices(
    judged: Mapping[TierKey, tuple[int, int]], costs: Mapping[str, float | None]
) -> dict[int, float | None]:
    """What one prediction of each tier has cost: all of its inference over all of its judged predictions."""
    prices: dict[int, float | None] = {}
    for number, name in enumerate(TIERS):
        n = sum(count for (_, _, tier), (_, count) in judged.items() if tier == number)
        cost = costs.get(name, 0.0 if number == _FREE else None)
        prices[number] = None if cost is None or not n else cost / n
    return prices


def _tiers(
    judged: Mapping[tuple[str, int], tuple[int, int]], prices: Mapping[int, float | None]
) -> dict[int, _Tier]:
    """Each tier that has a judged prediction among these, by difficulty and tier."""
    counted: dict[int, tuple[int, int]] = {}
    for number in range(len(TIERS)):
        own = [counts for (_, tier), counts in judged.items() if tier == number]
        if own:
            counted[number] = sum(right for right, _ in own), sum(n for _, n in own)
    if _FREE in counted:
        right, judged_n = counted[_FREE]
        baseline = right / judged_n
    else:
        judged_n = sum(n for _, n in counted.values())
        share = sum(right for right, _ in counted.values()) / judged_n
        baseline = max(share, 1 - share)
    return {
        number: _Tier(right, n, baseline, judged_n, prices[number]) for number, (right, n) in counted.items()
    }


def _row(number: int, category: str, tier: _Tier, costs: Mapping[str, float | None]) -> TierRow:
    name = TIERS[number]
    reasons: dict[str, str] = {}
    if tier.price is None:
        why = "a part of it has no price" if name in costs else f"no inference cost of {name} is told"
        reasons |= dict.fromkeys(("cost", "cost_per_prediction", "effectiveness"), why)
    elif number == _FREE:
        reasons["effectiveness"] = "T0 costs nothing: the others are held against it"
    elif not tier.price:
        reasons["effectiveness"] = f"{name} has cost nothing"
    return TierRow(
        tier=name,
        category=category,
        n=tier.n,
        accuracy=tier.right / tier.n,
        baseline=tier.baseline,
        baseline_n=tier.baseline_n,
        gain=tier.gain,
        cost=None if tier.price is None else tier.price * tier.n,
        cost_per_prediction=tier.price,
        effectiveness=tier.gain / tier.price if tier.price and number != _FREE else None,
        reasons=reasons,
    )


def _advice(
    category: str, difficulty: str | None, tiers: Mapping[int, _Tier], terms: TierTerms, seed: int
) -> TierAdvice:
    cheap, dear = tiers[_CHEAP], tiers[_DEAR]
    kind, reason = _judged(cheap, dear, terms, seed)
    extra = None if cheap.price is None or dear.price is None else dear.price - cheap.price
    return TierAdvice(
        category=category,
        difficulty=difficulty,
        kind=kind,
        reason=reason if kind == "insufficient" or difficulty is not None else f"{reason}; {_CAUTION}",
        incremental=(dear.gain - cheap.gain) / extra + 0.0 if extra else None,
    )


def _judged(cheap: _Tier, dear: _Tier, terms: TierTerms, seed: int) -> tuple[TierAdviceKind, str]:
    """The first that holds, of what may be said."""
    if cheap.n < terms.least or dear.n < terms.least:
        return (
            "insufficient",
            f"{count(cheap.n, 'prediction')} of T1, {dear.n} of T2; it takes {terms.least} of each",
        )
    gains = f"T1 gains {_points(cheap.gain)}, T2 {_points(dear.gain)} on what costs nothing"
    if cheap.gain <= 0 and dear.gain <= 0:
        return "use_T0", gains
    if dear.gain <= 0:
        return "shift_to_T1", gains
    if cheap.gain <= 0:
        return "keep", gains
    if cheap.price is None or dear.price is None:
        return "keep", f"{gains}; what they cost is not known"
    if not dear.price or cheap.gain * dear.price < terms.ratio * dear.gain * cheap.price:
        return "keep", f"{gains}; for its price T2 gains enough"
    if terms.dollars_per_point is not None:
        bound = extra_accuracy_bound(
            (dear.right, dear.n), (cheap.right, cheap.n), np.random.default_rng(seed)
        )
        worth, extra = bound * _POINTS * terms.dollars_per_point, dear.price - cheap.price
        if worth >= extra:
            return "keep", f"{gains}; T2 may gain {_points(bound)} more, worth {worth:.3g} for {extra:.3g}"
    times = (
        f"{cheap.gain * dear.price / (dear.gain * cheap.price):.1f} times as much" if cheap.price else "all"
    )
    return "shift_to_T1", f"{gains}; for its price T1 gains {times}"


def _points(share: float) -> str:
    return f"{share * _POINTS:+.1f} points"

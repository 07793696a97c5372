"""What the tiers of inference were worth: how often each was right, beyond what costs nothing, and for what price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from retro.evaluate.claims.record import TIERS
from retro.figures import count
from retro.kernels.evaluators.tiers import extra_accuracy_bound
from retro.report.evaluators.tiers import TierAdvice, TierReport, TierRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from retro.evaluate.claims.record import ClaimHistory
    from retro.report.evaluators.tiers import TierAdviceKind

__all__ = ["TierTerms", "tier_report"]

_FREE, _CHEAP, _DEAR = 0, 1, 2
_POINTS: Final = 100
_CAUTION: Final = "hard questions go to the higher tier: this compares what was asked, not the models"


@dataclass(frozen=True, slots=True)
class TierTerms:
    """When tiers are compared, which ratio suggests a shift, and what one point of accuracy is worth a prediction."""

    least: int = 20
    ratio: float = 1.5
    dollars_per_point: float | None = None


@dataclass(frozen=True, slots=True)
class _Tier:
    """One tier in one category: judged predictions, those that were right, its price of one (None: nothing is told)."""

    right: int
    n: int
    baseline: float
    price: float | None

    @property
    def gain(self) -> float:
        return self.right / self.n - self.baseline


def tier_report(
    claims: ClaimHistory, costs: Mapping[str, float | None], terms: TierTerms, seed: int
) -> TierReport:
    """Rows by category and tier, and a recommendation for each category (and difficulty) that has T1 and T2.

    `costs`: tier -> what its inference has cost, in base currency; None where a part of it has no price. A tier that is
    not named told of none.
    """
    records = claims.records[~np.isnan(claims.records["verdict"]) & (claims.records["tier"] >= 0)]
    prices = _prices(records, costs)
    rows: list[TierRow] = []
    advice: list[TierAdvice] = []
    for category, of_category in _groups(records, claims.names, "category"):
        tiers = _tiers(of_category, prices)
        rows += [_row(number, category, tier, costs) for number, tier in tiers.items()]
        for difficulty, compared in _compared(of_category, claims.names):
            within = _tiers(compared, prices)
            if {_CHEAP, _DEAR} <= within.keys():
                advice.append(_advice(category, difficulty, within, terms, seed))
    reasons = {} if advice else {"recommendation": "no category has judged predictions of both T1 and T2"}
    if not rows:
        reasons["rows"] = "no judged prediction names a decision with a tier"
    return TierReport(rows=rows, recommendation=advice, reasons=reasons)


def _groups(
    records: NDArray[np.void], names: Sequence[str], column: Literal["category", "difficulty"]
) -> Iterator[tuple[str, NDArray[np.void]]]:
    """The records of each text of a column, in order of the text."""
    for number in sorted(set(records[column].tolist()), key=names.__getitem__):
        yield names[number], records[records[column] == number]


def _compared(
    records: NDArray[np.void], names: Sequence[str]
) -> Iterator[tuple[str | None, NDArray[np.void]]]:
    """What is compared with what in a category: all of it, or each difficulty apart where one was told."""
    groups = list(_groups(records, names, "difficulty"))
    if [name for name, _ in groups] == [""]:
        yield None, records
        return
    yield from ((name or None, group) for name, group in groups)


def _prices(records: NDArray[np.void], costs: Mapping[str, float | None]) -> dict[int, float | None]:
    """What one prediction of each tier has cost: all of its inference over all of its judged predictions."""
    counts = np.bincount(records["tier"].astype(np.int64), minlength=len(TIERS)).tolist()
    prices: dict[int, float | None] = {}
    for number, judged in enumerate(counts):
        cost = costs.get(TIERS[number], 0.0 if number == _FREE else None)
        prices[number] = None if cost is None or not judged else cost / judged
    return prices


def _tiers(records: NDArray[np.void], prices: Mapping[int, float | None]) -> dict[int, _Tier]:
    """Each tier that has a judged prediction among these."""
    counted = {
        number: (int(own["verdict"].sum()), len(own))
        for number in range(len(TIERS))
        if len(own := records[records["tier"] == number])
    }
    if _FREE in counted:
        baseline = counted[_FREE][0] / counted[_FREE][1]
    else:
        share = int(records["verdict"].sum()) / len(records)
        baseline = max(share, 1 - share)
    return {number: _Tier(right, n, baseline, prices[number]) for number, (right, n) in counted.items()}


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

"""From predictions and resolutions to claims, each with what was in force when it was made.

A fold over what resolved, in order: new claims stand on the earlier ones and change none of them. So a book goes on from
where it was, and one made anew from everything has the same bytes.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import numpy as np

from retro.accounting.order import natural_key
from retro.evaluate.audit.history import identity
from retro.evaluate.claims.record import CLAIM, TIERS, UNCATEGORISED, ClaimHistory, ClaimKey, joined
from retro.evaluate.claims.target import target_of
from retro.evaluate.columns import column
from retro.kernels import accuracy
from retro.kernels.evaluators import calibration, residuals
from retro.report.evaluators.claims import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from retro.evaluate.terms import ClaimTerms, FitTerms
    from retro.kernels.evaluators.calibration import Curve
    from retro.kernels.evaluators.residuals import Corrections
    from retro.kernels.terms import RingTerms
    from retro.kernels.uncertainty import Integers
    from retro.model import Decision, Prediction, Resolution

__all__ = [
    "correction_at",
    "curve_at",
    "curve_of",
    "folded",
    "is_sample",
    "key_of",
]


def folded(
    earlier: ClaimHistory,
    resolved: Iterable[tuple[Prediction, Resolution]],
    terms: ClaimTerms,
    decisions: Mapping[str, Decision] | None = None,
) -> ClaimHistory:
    """The earlier claims and those that resolved after them; of several resolutions of one prediction the first counts.

    What resolved before it was predicted is no claim; one made after its target counts as told and is held against nothing.
    `decisions` are those that they name, by id.
    """
    counted = set(earlier.records["prediction"].tolist())
    new: dict[int, tuple[Prediction, Resolution]] = {}
    for prediction, resolution in sorted(resolved, key=lambda pair: (pair[1].at, natural_key(pair[1].id))):
        number = identity(prediction.id)
        if resolution.at >= prediction.at and number not in counted and number not in new:
            new[number] = prediction, resolution
    history = joined([earlier, _records(new, decisions or {})])
    _note_what_was_in_force(history, len(earlier), terms)
    return history


def key_of(prediction: Prediction) -> ClaimKey:
    """The key of a claim's own regime."""
    return ClaimKey(prediction.category or UNCATEGORISED, prediction.regime or ANY)


def is_sample(records: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which claims (n,) say how sure the agent was and can be right or wrong."""
    return np.asarray(~np.isnan(records["verdict"]) & ~np.isnan(records["confidence"]))


def correction_at(records: NDArray[np.void], instants: Integers, terms: RingTerms) -> Corrections:
    """What the resolved claims of a key (n,) say at instants (m,): those that had resolved before each."""
    residual = records["actual"] - records["predicted"]
    speaks = ~np.isnan(residual)
    resolved = np.searchsorted(records["resolved_at"][speaks], instants, "left")
    return residuals.corrections(residual[speaks], resolved.astype(np.int64), terms)


def curve_at(records: NDArray[np.void], resolved: int, terms: FitTerms) -> Curve | None:
    """The curve in force once `resolved` samples of a key's (n,) had resolved; None before the first fit."""
    return curve_of(records[is_sample(records)], terms.samples(resolved))


def curve_of(samples: NDArray[np.void], count: int) -> Curve | None:
    """The fit of the first `count` samples; None of none."""
    return calibration.fit(samples["confidence"][:count], samples["verdict"][:count]) if count else None


def _note_what_was_in_force(history: ClaimHistory, first: int, terms: ClaimTerms) -> None:
    """Fill in the correction and the worth of the confidence of all claims from the first new one on."""
    records = history.records
    if first == len(records):
        return
    categories, regimes = records["category"], records["regime"]
    new = np.arange(len(records)) >= first
    nameless = history.names.index(ANY) if ANY in history.names else -1
    for category in np.unique(categories[new]):
        of_category = categories == category
        _fill(records, of_category, of_category & new, terms)
        for regime in np.unique(regimes[of_category & new]):
            if regime != nameless:
                own = of_category & (regimes == regime)
                _fill(records, own, own & new, terms)


def _fill(
    records: NDArray[np.void], of_key: NDArray[np.bool_], claims: NDArray[np.bool_], terms: ClaimTerms
) -> None:
    """What a key said at each of these claims, wherever it could; what a wider key said gives way to it."""
    key, at = records[of_key], records["at"][claims]
    place = np.flatnonzero(claims)
    correction = correction_at(key, at, terms.ring)
    speaks = correction.resolved >= terms.ring.minimum
    for name, values in (
        ("bias", correction.bias),
        ("low_offset", correction.low),
        ("high_offset", correction.high),
    ):
        records[name][place[speaks]] = values[speaks]
    samples = key[is_sample(key)]
    resolved = np.searchsorted(samples["resolved_at"], at, "left")
    fitted = np.array([terms.fits.samples(int(count)) for count in resolved])
    confidence = records["confidence"][place]
    for count in np.unique(fitted[fitted > 0]):
        curve = curve_of(samples, int(count))
        asked = (fitted == count) & ~np.isnan(confidence)
        if curve is not None:
            records["worth"][place[asked]] = curve.at(confidence[asked])


def _records(
    claims: Mapping[int, tuple[Prediction, Resolution]], decisions: Mapping[str, Decision]
) -> ClaimHistory:
    """New claims by their number, without what was in force."""
    pairs = list(claims.values())
    timely = [not _is_late(prediction) for prediction, _ in pairs]
    made_for = [_decision(prediction, resolution, decisions) for prediction, resolution in pairs]
    keys = [key_of(prediction) for prediction, _ in pairs]
    texts = [
        (key.category, key.regime, (d and d.difficulty) or "") for key, d in zip(keys, made_for, strict=True)
    ]
    names = sorted({text for row in texts for text in row})
    place = {name: i for i, name in enumerate(names)}
    rows = np.empty(len(pairs), CLAIM)
    rows["prediction"] = list(claims)
    rows["decision"] = [0 if decision is None else identity(decision.id) for decision in made_for]
    rows["tier"] = [-1 if d is None or d.tier is None else TIERS.index(d.tier) for d in made_for]
    for k, name in enumerate(("category", "regime", "difficulty")):
        rows[name] = [place[row[k]] for row in texts]
    rows["at"] = [p.at for p, _ in pairs]
    rows["resolved_at"] = [r.at for _, r in pairs]
    rows["ends_at"] = [
        r.at if target is None else target for target, r in ((target_of(p), r) for p, r in pairs)
    ]
    for name in ("predicted", "low", "high", "confidence"):
        rows[name] = column(getattr(p, name) for p, _ in pairs)
    rows["actual"] = column(r.actual if ok else None for ok, (_, r) in zip(timely, pairs, strict=True))
    stated = column(
        float(r.correct) if ok and r.correct is not None else None
        for ok, (_, r) in zip(timely, pairs, strict=True)
    )
    rows["verdict"] = accuracy.verdicts(
        accuracy.Resolved(rows["predicted"], rows["low"], rows["high"], rows["actual"], stated)
    )
    for name in ("bias", "low_offset", "high_offset", "worth"):
        rows[name] = nan
    return ClaimHistory(names, rows)


def _decision(
    prediction: Prediction, resolution: Resolution, decisions: Mapping[str, Decision]
) -> Decision | None:
    """What a prediction was made for: no decision that came after it was known how it turned out."""
    decision = None if prediction.decision is None else decisions.get(prediction.decision)
    return None if decision is None or decision.at > resolution.at else decision


def _is_late(prediction: Prediction) -> bool:
    target = target_of(prediction)
    return target is not None and prediction.at > target

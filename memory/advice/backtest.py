"""Does the memory help? A replay in time order, without look-ahead, against sizes that remember less or nothing.

Every stake is a share of the starting capital put at one R and nothing is compounded, so that the order of trades does
not decide. A trade is sized by what was known strictly before its entry. Source: docs/memory.md, Formulas: Replay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from memory.advice.kelly import kelly_of, weighed
from memory.episodic.columns import of_episodes
from memory.episodic.factors import recency
from memory.episodic.results import appetite, results_of
from memory.errors import RefusedError
from memory.instants import DAY
from memory.retrieval.recall import score, top
from memory.settings import STANDARD, Settings
from memory.situation.context import stated_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.episodic.columns import EpisodeColumns
    from memory.episodic.episode import Episode
    from memory.situation.context import Codes, Floats

STAKE: Final = 0.01
"""The fixed share of capital risked per trade, and what is risked where Kelly is unknown."""
RECENT: Final = 50
NEAREST: Final = 5
RESAMPLES: Final = 1000
METRICS: Final = ("net_pnl", "profit_factor", "sharpe", "max_drawdown", "calmar")
APPROACHES: Final = ("fixed", "simple_kelly", "recency_kelly", "memory_kelly")
_BATCH: Final = 50
_FLAT: Final = 1e-12
_LEAST: Final = 20
_NOTHING: Final = "memory knew too little to size any of these trades: nothing is shown for it or against it"


@dataclass(frozen=True, slots=True)
class Approach:
    """One way of sizing over the validation trades; shares are of the starting capital, None where undefined.

    `unknown` counts the trades it could not size, which got the fixed stake.
    """

    name: str
    net_pnl: float | None
    profit_factor: float | None
    sharpe: float | None
    max_drawdown: float | None
    calmar: float | None
    mean_stake: float
    unknown: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Memory less another, with a paired 95 % bootstrap interval (None where the figure is too often undefined)."""

    metric: str
    against: str
    value: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Validation:
    """What a replay found, also when memory does not help.

    `precision`: share of the 5 best recalled memories whose outcome had the sign of the trade's; `precision_alike` of
    the 5 best without Q (which leans to winners whatever the situation); `precision_recent` of the 5 latest outcomes.
    """

    known_before: int
    trades: int
    split_at: int
    approaches: tuple[Approach, ...]
    differences: tuple[Difference, ...]
    precision: float | None
    precision_alike: float | None
    precision_recent: float | None
    verdict: str
    reasons: dict[str, str] = field(default_factory=dict)


def validate(
    episodes: Sequence[Episode],
    split: int,
    *,
    settings: Settings = STANDARD,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Validation:
    """Replay one agent's episodes with an R that were entered from `split` on; `RefusedError` with fewer than 20.

    Memory is told everything, and asked as of the instant before each entry. `seed` draws the bootstrap.
    """
    traded = [episode for episode in episodes if episode.pnl_r is not None]
    columns = of_episodes(traded, settings.registry)
    later = sorted(
        (episode for episode in traded if episode.entry_at >= split),
        key=lambda episode: (episode.entry_at, episode.id),
    )
    if len(later) < _LEAST:
        raise RefusedError(
            f"{len(later)} trades with an R were entered from the split on; at least {_LEAST} are needed"
        )
    r = np.array([episode.pnl_r for episode in later], dtype=np.float64)
    stakes, unknown = _stakes(columns, later, r, settings)
    returns = {name: stakes[name] * r for name in APPROACHES}
    years = max(later[-1].entry_at - later[0].entry_at, DAY) / (365.0 * DAY)
    hits, alike, recent = _precision(columns, later, settings)
    draws = _blocks(len(later), resamples, np.random.default_rng(seed))
    approaches = tuple(
        _approach(name, returns[name], stakes[name], unknown[name], years) for name in APPROACHES
    )
    differences = _differences(returns, draws, years)
    differences.append(_precision_difference("recall_precision", hits - recent, draws))
    differences.append(_precision_difference("alike_precision", alike - recent, draws))
    return Validation(
        known_before=columns.until(split - 1),
        trades=len(later),
        split_at=split,
        approaches=approaches,
        differences=tuple(differences),
        precision=_mean(hits),
        precision_alike=_mean(alike),
        precision_recent=_mean(recent),
        verdict=_verdict(differences) if unknown["memory_kelly"] < len(later) else _NOTHING,
        reasons=_reasons(later, unknown["memory_kelly"], _mean(hits), settings),
    )


def _reasons(
    later: Sequence[Episode], unsized: int, precision: float | None, settings: Settings
) -> dict[str, str]:
    """Why a figure says less than it seems to."""
    reasons = {}
    if precision is None:
        reasons["precision"] = "nothing was known before any trade"
    if unsized:
        silent = sum(not stated_fields(settings.registry, episode.context) for episode in later)
        why = f"; {silent} state nothing of their situation" if silent else ""
        reasons["memory_kelly"] = (
            f"{unsized} of {len(later)} trades could not be sized from memory and got the fixed stake{why}"
        )
    return reasons


def _stakes(
    columns: EpisodeColumns, later: Sequence[Episode], r: Floats, settings: Settings
) -> tuple[dict[str, Floats], dict[str, int]]:
    """The share of capital each approach risks on each trade, and how often it did not know."""
    stakes = {name: np.full(len(later), STAKE) for name in APPROACHES}
    unknown = dict.fromkeys(APPROACHES, 0)
    for i, episode in enumerate(later):
        as_of = episode.entry_at - 1
        outcomes = columns.r[: columns.until(as_of)]
        advice = {
            "simple_kelly": weighed(outcomes, np.ones(len(outcomes))).fraction,
            "recency_kelly": weighed(outcomes[-RECENT:], np.ones(len(outcomes[-RECENT:]))).fraction,
            "memory_kelly": kelly_of(columns, episode.context, as_of=as_of, settings=settings).fraction,
        }
        if (
            advice["memory_kelly"] is not None
        ):  # the appetite follows the curve that this sizing itself has drawn
            curve = np.concatenate(([1.0], 1.0 + np.cumsum(stakes["memory_kelly"][:i] * r[:i])))
            drawdown = float((curve.max() - curve[-1]) / curve.max())
            advice["memory_kelly"] *= appetite(max(0.0, drawdown), settings.drawdown_limit)
        for name, fraction in advice.items():
            if fraction is None:
                unknown[name] += 1
            else:
                stakes[name][i] = fraction
    return stakes, unknown


def _precision(
    columns: EpisodeColumns, later: Sequence[Episode], settings: Settings
) -> tuple[Floats, Floats, Floats]:
    """Per trade, the share with its sign of the best recalled, of the most alike and of the latest outcomes.

    NaN where nothing was known.
    """
    results = np.sign(results_of(columns))
    hits, alike, recent = (np.full(len(later), np.nan) for _ in range(3))
    for i, episode in enumerate(later):
        as_of = episode.entry_at - 1
        n = columns.until(as_of)
        if not n:
            continue
        same_sign = results[:n] == np.sign(episode.pnl_r or 0.0)
        scored = score(columns, episode.context, as_of=as_of, settings=settings)
        hits[i] = np.mean(same_sign[top(scored.score, columns.at[:n], NEAREST)])
        weights = scored.sim * recency(columns.at[:n], as_of) * columns.conf[:n]
        alike[i] = np.mean(same_sign[top(weights, columns.at[:n], NEAREST)])
        recent[i] = np.mean(same_sign[-NEAREST:])
    return hits, alike, recent


def _blocks(n: int, resamples: int, rng: np.random.Generator) -> Codes:
    """Indices of shape (resamples, n): circular blocks of n^(1/3) neighbours, since trades come in spells."""
    length = max(1, round(n ** (1 / 3)))
    starts = rng.integers(0, n, size=(resamples, -(-n // length)))
    runs = (starts[:, :, None] + np.arange(length)) % n
    return np.asarray(runs.reshape(resamples, -1)[:, :n])


def metrics(returns: npt.NDArray[np.float64], years: float) -> dict[str, Floats]:
    """Each metric of rows of per-trade returns (shares of the starting capital); NaN where it is undefined.

    `sharpe` is per trade, scaled by the square root of trades a year; `max_drawdown` a share of the peak, `calmar`
    the yearly return over it.
    """
    total = returns.sum(axis=1)
    gains, losses = (
        np.where(returns > 0, returns, 0.0).sum(axis=1),
        -np.where(returns < 0, returns, 0.0).sum(axis=1),
    )
    curve = np.concatenate((np.ones((len(returns), 1)), 1.0 + np.cumsum(returns, axis=1)), axis=1)
    peak = np.maximum.accumulate(curve, axis=1)
    drawdown = ((peak - curve) / peak).max(axis=1)
    spread = returns.std(axis=1, ddof=1)
    per_year = returns.shape[1] / years
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "net_pnl": total,
            "profit_factor": np.where(losses > _FLAT, gains / losses, np.nan),
            "sharpe": np.where(spread > _FLAT, returns.mean(axis=1) / spread * np.sqrt(per_year), np.nan),
            "max_drawdown": drawdown,
            "calmar": np.where(drawdown > _FLAT, total / years / drawdown, np.nan),
        }


def _value(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _mean(values: Floats) -> float | None:
    numbers = values[~np.isnan(values)]
    return float(numbers.mean()) if len(numbers) else None


def _approach(name: str, returns: Floats, stakes: Floats, unknown: int, years: float) -> Approach:
    figures = {metric: _value(values[0]) for metric, values in metrics(returns[None, :], years).items()}
    return Approach(name=name, **figures, mean_stake=float(stakes.mean()), unknown=unknown)


def _differences(returns: dict[str, Floats], draws: Codes, years: float) -> list[Difference]:
    """Memory Kelly less each other approach, resampling the same trades for both."""
    drawn: dict[str, dict[str, list[Floats]]] = {
        name: {metric: [] for metric in METRICS} for name in APPROACHES
    }
    for start in range(0, len(draws), _BATCH):
        rows = draws[start : start + _BATCH]
        for name in APPROACHES:
            for metric, values in metrics(returns[name][rows], years).items():
                drawn[name][metric].append(values)
    differences = []
    whole = {name: metrics(returns[name][None, :], years) for name in APPROACHES}
    for against in APPROACHES[:-1]:
        for metric in METRICS:
            resampled = np.concatenate(drawn["memory_kelly"][metric]) - np.concatenate(drawn[against][metric])
            value = _value(float(whole["memory_kelly"][metric][0] - whole[against][metric][0]))
            differences.append(Difference(metric, against, value, _interval(resampled)))
    return differences


def _precision_difference(metric: str, gap: Floats, draws: Codes) -> Difference:
    if np.all(np.isnan(gap)):
        return Difference(metric, "latest", None, None)
    resampled = np.array([np.nan if (mean := _mean(gap[row])) is None else mean for row in draws])
    return Difference(metric, "latest", _mean(gap), _interval(resampled))


def _interval(resampled: Floats) -> tuple[float, float] | None:
    estimates = resampled[~np.isnan(resampled)]
    if len(estimates) < 0.95 * len(resampled) or not len(estimates):
        return None
    low, high = np.percentile(estimates, [2.5, 97.5])
    return float(low), float(high)


def _verdict(differences: Sequence[Difference]) -> str:
    """One sentence for each thing memory was compared with, from the intervals alone."""
    words = []
    for against in dict.fromkeys(difference.against for difference in differences):
        better, worse = [], []
        for difference in differences:
            if difference.against != against or difference.interval is None:
                continue
            low, high = difference.interval
            sign = -1 if difference.metric == "max_drawdown" else 1
            if min(low * sign, high * sign) > 0:
                better.append(difference.metric)
            elif max(low * sign, high * sign) < 0:
                worse.append(difference.metric)
        findings = [f"better in {', '.join(better)}"] * bool(better) + [
            f"worse in {', '.join(worse)}"
        ] * bool(worse)
        words.append(f"against {against}: {' and '.join(findings) or 'no difference is shown'}")
    return "; ".join(words)

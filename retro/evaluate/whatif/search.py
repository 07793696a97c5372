"""Rules replayed over a life: each one's result, and how good the best of so many would look by luck."""

from __future__ import annotations

from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from retro.evaluate.whatif.marked import marked_sums
from retro.evaluate.whatif.replay import replays
from retro.kernels.evaluators.luck_of_search import search_p, sum_intervals
from retro.periods import format_instant
from retro.report.evaluators.whatif import (
    PositionWhatIf,
    RealAndCounterfactual,
    RuleSearch,
    RuleWhatIf,
    WhatIfReport,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.replay import Replay
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["what_if"]

_NOTHING = "the rule changes nothing"
_instant_text = lru_cache(1 << 16)(format_instant)


def what_if(
    lives: EnteredLives,
    rules: Sequence[WhatIfRule],
    seed: int,
    slippage_bps: float = 0.0,
    *,
    with_rows: bool = True,
) -> WhatIfReport:
    """Replay each rule alone; together they are one search. `with_rows`: position by position as well."""
    rows = replays(lives, rules, slippage_bps)
    place = np.unique(lives.days(lives.left_at), return_inverse=True)[1]
    days = int(place.max()) + 1 if len(place) else 0
    sums = np.zeros((len(rows), days))
    for row, replay in zip(sums, rows, strict=True):
        row[:] = np.bincount(place, replay.change, days)
    changing = np.flatnonzero(sums.any(axis=1))
    p, p_max, intervals = np.empty(0), None, None
    if len(changing):
        p, p_max = _chances(lives, [rows[i] for i in changing.tolist()], sums[changing], seed)
        intervals = sum_intervals(sums[changing], np.random.default_rng(seed)) if days > 1 else None
    chances = dict(zip(changing.tolist(), p.tolist(), strict=True))
    spans = {} if intervals is None else dict(zip(changing.tolist(), intervals.tolist(), strict=True))
    documents = [
        _row(lives, replay, chances.get(i), spans.get(i), with_rows=with_rows)
        for i, replay in enumerate(rows)
    ]
    best = max(documents, key=lambda row: row.difference) if chances else None
    if best is not None and best.p is None:
        p_max = 1.0  # the best of them is to change nothing
    tried = len({rule.meaning for rule in rules})
    return WhatIfReport(
        positions=len(lives),
        rules=documents,
        search=RuleSearch(tried=tried, best=None if best is None else best.rule, p_max=p_max),
        reasons=_reasons(lives, has_search=bool(chances)),
    )


def _chances(lives: EnteredLives, rows: Sequence[Replay], sums: Floats, seed: int) -> tuple[Floats, float]:
    """The p of each rule by days of exit; of the best of all the larger of that and the one by days of the marks."""
    p, p_max = search_p(sums, np.random.default_rng(seed))
    _, marked = search_p(marked_sums(lives, rows), np.random.default_rng(seed))
    return p, max(p_max, marked)


def _reasons(lives: EnteredLives, *, has_search: bool) -> dict[str, str]:
    reasons = {}
    if not has_search:
        reasons["search"] = "no rule changes anything"
    unmarked = sum(not len(line.at) for line in lives.marks)
    if unmarked:
        reasons["marks"] = (
            f"{unmarked:,} of {len(lives):,} have no mark between entry and exit: no exit rule can act on them"
        )
    if lives.unpriced:
        reasons["positions"] = f"{lives.unpriced:,} open without a price since their entry are left out"
    return reasons


def _row(
    lives: EnteredLives, replay: Replay, p: float | None, interval: list[float] | None, *, with_rows: bool
) -> RuleWhatIf:
    counted, touched, change = replay.counted, replay.touched, replay.change
    real, replayed = lives.real[counted], replay.pnl[counted]
    n, difference = int(touched.sum()), fsum(change.tolist())
    sizes = fsum(np.abs(change).tolist())
    traded = replay.pnl[counted & (replay.share > 0)]
    reasons = {}
    if p is None:
        reasons["interval"] = reasons["p"] = _NOTHING
    elif interval is None:
        reasons["interval"] = "positions left on one day only"
    if not n:
        reasons["mean_change"] = _NOTHING
    if not sizes:
        reasons["largest_share"] = _NOTHING
    figures = {
        "win_rate": RealAndCounterfactual(real=_win_rate(real), counterfactual=_win_rate(traded)),
        "profit_factor": RealAndCounterfactual(
            real=_profit_factor(real), counterfactual=_profit_factor(traded)
        ),
        "largest_loss": RealAndCounterfactual(real=_largest_loss(real), counterfactual=_largest_loss(traded)),
        "max_drawdown": RealAndCounterfactual(
            real=_drawdown(lives.days(lives.left_at[counted]), real),
            counterfactual=_drawdown(lives.days(replay.left_at(lives)[counted]), replayed),
        ),
    }
    for name, pair in figures.items():
        if pair.real is None or pair.counterfactual is None:
            reasons[name] = "no loss to divide by" if name == "profit_factor" and len(real) else "no position"
    return RuleWhatIf(
        rule=replay.rule.text,
        touched=n,
        untouched=int((counted & ~touched).sum()),
        skipped=int((~counted).sum()),
        real=fsum(real.tolist()),
        counterfactual=fsum(replayed.tolist()),
        difference=difference,
        interval=None if interval is None else (interval[0], interval[1]),
        p=p,
        mean_change=difference / n if n else None,
        largest_share=float(np.abs(change).max()) / sizes if sizes else None,
        rows=_positions(lives, replay) if with_rows else [],
        reasons=reasons,
        **figures,
    )


def _positions(lives: EnteredLives, replay: Replay) -> list[PositionWhatIf]:
    """Every position that was not skipped."""
    rows = zip(
        lives.names,
        lives.real.tolist(),
        replay.pnl.tolist(),
        replay.at.tolist(),
        replay.price.tolist(),
        replay.counted.tolist(),
        strict=True,
    )
    return [
        PositionWhatIf(name, real, pnl, _instant_text(at), price)
        if at >= 0
        else PositionWhatIf(name, real, pnl, None, None)
        for name, real, pnl, at, price, counted in rows
        if counted
    ]


def _win_rate(pnl: Floats) -> float | None:
    return float((pnl > 0).mean()) if len(pnl) else None


def _profit_factor(pnl: Floats) -> float | None:
    lost = -fsum(pnl[pnl < 0].tolist())
    return fsum(pnl[pnl > 0].tolist()) / lost if lost else None


def _largest_loss(pnl: Floats) -> float | None:
    return min(0.0, float(pnl.min())) if len(pnl) else None


def _drawdown(days: Integers, pnl: Floats) -> float | None:
    """The deepest fall of the running sum of days from its highest point, 0 before the first day included."""
    if not len(pnl):
        return None
    place = np.unique(days, return_inverse=True)[1]
    equity = np.concatenate([[0.0], np.cumsum(np.bincount(place, pnl))])
    return float((np.maximum.accumulate(equity) - equity).max())

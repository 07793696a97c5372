"""Rules replayed over a life: each one's result, and how good the best of so many would look by luck."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from retro.kernels.evaluators import counterfactual as kernel
from retro.periods import day_of, format_instant
from retro.report.evaluators.whatif import (
    PositionWhatIf,
    RealAndCounterfactual,
    RuleSearch,
    RuleWhatIf,
    WhatIfReport,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from numpy.typing import NDArray

    from retro.evaluate.whatif.entered import EnteredLives
    from retro.evaluate.whatif.rule import WhatIfRule
    from retro.kernels.uncertainty import Floats, Integers

__all__ = ["what_if"]

_BASIS_POINT = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class _Replay:
    """What a rule made of each position (n,): `pnl` equals the real one where it is not `touched`."""

    pnl: Floats
    touched: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    leave: Integers


def what_if(
    lives: EnteredLives, rules: Sequence[WhatIfRule], zone: ZoneInfo, seed: int, slippage_bps: float = 0.0
) -> WhatIfReport:
    """Replay each rule alone; together they are one search, and days are those of the owner's `zone`."""
    replays = [_replay(lives, rule, slippage_bps) for rule in rules]
    days, place = np.unique(
        np.array([day_of(at, zone).toordinal() for at in lives.left_at.tolist()], dtype=np.int64),
        return_inverse=True,
    )
    sums = np.zeros((len(replays), len(days)))
    for row, replay in zip(sums, replays, strict=True):
        row[:] = np.bincount(place, _changes(lives, replay), len(days))
    p: list[float | None] = [None] * len(replays)
    p_max = None
    if sums.any():
        each, p_max = kernel.search_p(sums, np.random.default_rng(seed))
        p = [float(value) if row.any() else None for value, row in zip(each, sums, strict=True)]
    rows = [
        _row(lives, rule, replay, zone, days=row, p=chance, seed=seed)
        for rule, replay, row, chance in zip(rules, replays, sums, p, strict=True)
    ]
    best = max(rows, key=lambda row: row.difference, default=None)
    reasons = {} if p_max is not None else {"search": "no rule changes anything"}
    return WhatIfReport(
        positions=len(lives),
        rules=rows,
        search=RuleSearch(
            tried=len(rows), best=None if best is None or p_max is None else best.rule, p_max=p_max
        ),
        reasons=reasons,
    )


def _replay(lives: EnteredLives, rule: WhatIfRule, slippage_bps: float) -> _Replay:
    nowhere = np.full(len(lives), -1)
    everyone = np.ones(len(lives), dtype=np.bool_)
    if rule.leaves:
        leave = _leaves(lives, rule) if len(lives) else nowhere
        rate = lives.cost_rate + slippage_bps * _BASIS_POINT
        pnl = kernel.results(lives.states, lives.paths, leave, rate) if len(lives) else lives.real
        touched = leave >= 0
        counted = ~np.isnan(lives.entered.risk) if rule.in_risks else everyone
        return _Replay(np.where(touched, pnl, lives.real), touched, counted, leave)
    if rule.kind == "size-cap":
        touched = lives.notional > rule.amount
        share = np.divide(rule.amount, lives.notional, out=np.ones(len(lives)), where=touched)
        return _Replay(np.where(touched, lives.real * share, lives.real), touched, everyone, nowhere)
    touched = lives.having(rule.trait or "heuristic", rule.name)
    pnl = lives.real / 2 if rule.kind == "half-size" else np.zeros(len(lives))
    return _Replay(np.where(touched, pnl, lives.real), touched, everyone, nowhere)


def _leaves(lives: EnteredLives, rule: WhatIfRule) -> Integers:
    """The mark (n,) at which each would have left."""
    if rule.kind == "exit-after":
        return kernel.leaving_after(lives.paths, lives.entered, int(rule.amount))
    leave = {"stop": kernel.stopped, "take": kernel.taken, "trail": kernel.trailed}[rule.kind]
    share, risks = (None, rule.amount) if rule.in_risks else (rule.amount, None)
    return leave(lives.paths, lives.entered, share=share, risks=risks)


def _changes(lives: EnteredLives, replay: _Replay) -> Floats:
    """What the rule changed of each position (n,); 0 where it skipped it."""
    return np.where(replay.counted & replay.touched, replay.pnl - lives.real, 0.0)


def _row(
    lives: EnteredLives,
    rule: WhatIfRule,
    replay: _Replay,
    zone: ZoneInfo,
    *,
    days: Floats,
    p: float | None,
    seed: int,
) -> RuleWhatIf:
    counted, touched = replay.counted, replay.counted & replay.touched
    change = _changes(lives, replay)
    real, replayed = lives.real[counted], replay.pnl[counted]
    sizes = fsum(np.abs(change).tolist())
    acts = replay.leave >= 0
    mark = np.where(acts, replay.leave, 0)
    left_at = np.where(acts, lives.paths.at[mark], lives.left_at) if acts.any() else lives.left_at
    reasons = {}
    if not touched.any():
        reasons["interval"] = reasons["p"] = "the rule changes nothing"
        reasons["mean_change"] = reasons["largest_share"] = reasons["p"]
    elif len(days) < 2:
        reasons["interval"] = "positions left on one day only"
    return RuleWhatIf(
        rule=rule.text,
        touched=int(touched.sum()),
        untouched=int((counted & ~touched).sum()),
        skipped=int((~counted).sum()),
        real=fsum(real.tolist()),
        counterfactual=fsum(replayed.tolist()),
        difference=fsum(change.tolist()),
        interval=kernel.sum_interval(days, np.random.default_rng(seed))
        if touched.any() and len(days) > 1
        else None,
        p=p,
        mean_change=fsum(change.tolist()) / int(touched.sum()) if touched.any() else None,
        win_rate=RealAndCounterfactual(real=_win_rate(real), counterfactual=_win_rate(replayed)),
        profit_factor=RealAndCounterfactual(
            real=_profit_factor(real), counterfactual=_profit_factor(replayed)
        ),
        largest_loss=RealAndCounterfactual(real=_largest_loss(real), counterfactual=_largest_loss(replayed)),
        max_drawdown=RealAndCounterfactual(
            real=_drawdown(lives.left_at[counted], real, zone),
            counterfactual=_drawdown(left_at[counted], replayed, zone),
        ),
        largest_share=float(np.abs(change).max()) / sizes if sizes else None,
        rows=[
            PositionWhatIf(
                position=lives.names[i],
                real=float(lives.real[i]),
                counterfactual=float(replay.pnl[i]),
                exit_at=format_instant(int(lives.paths.at[mark[i]])) if acts[i] else None,
                exit_price=float(lives.paths.price[mark[i]]) if acts[i] else None,
            )
            for i in np.flatnonzero(counted).tolist()
        ],
        reasons=reasons,
    )


def _win_rate(pnl: Floats) -> float | None:
    return float((pnl > 0).mean()) if len(pnl) else None


def _profit_factor(pnl: Floats) -> float | None:
    lost = -fsum(pnl[pnl < 0].tolist())
    return fsum(pnl[pnl > 0].tolist()) / lost if lost else None


def _largest_loss(pnl: Floats) -> float | None:
    return min(0.0, float(pnl.min())) if len(pnl) else None


def _drawdown(left_at: Integers, pnl: Floats, zone: ZoneInfo) -> float | None:
    """The deepest fall of the running sum of days from its highest point, 0 before the first day included."""
    if not len(pnl):
        return None
    ordinal = np.array([day_of(at, zone).toordinal() for at in left_at.tolist()])
    days, place = np.unique(ordinal, return_inverse=True)
    equity = np.concatenate([[0.0], np.cumsum(np.bincount(place, pnl, len(days)))])
    return float((np.maximum.accumulate(equity) - equity).max())

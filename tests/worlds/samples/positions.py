"""Positions built by hand: an LP, a plain spot long, and what they are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from retro import report as r
from retro.report.lines import LINES

START = datetime(2026, 11, 16, tzinfo=UTC)


def instant(hours: float, since: datetime = START) -> str:
    return (since + timedelta(hours=hours)).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def attribution(**lines: float | None) -> r.PnlAttribution:
    """An attribution that closes: `total` is made of its lines."""
    total = sum(line.sign * (lines.get(line.name) or 0.0) for line in LINES)
    return r.PnlAttribution(**({"total": total} | lines))  # type: ignore[arg-type]


def wave(n: int = 60, hours: float = 172.8, peak: float = 2.8, end: float = -4.2) -> list[r.PathPoint]:
    """A path that climbs to a peak at a third of its life and falls to its end."""
    points = []
    for i in range(n + 1):
        share = i / n
        pnl = peak * share / 0.35 if share <= 0.35 else peak + (end - peak) * (share - 0.35) / 0.65
        points.append(
            r.PathPoint(at=instant(hours * share), pnl=round(pnl + 0.2 * ((i * 7) % 3 - 1) * (0 < i < n), 4))
        )
    return points


LP: dict[str, Any] = {
    "position_id": "aero-lp-3",
    "agent": "golem-7",
    "kind": "lp",
    "instrument": "ETH/USDC",
    "venue": "aerodrome",
    "strategy": "tight-range",
    "side": None,
    "entry_at": instant(0),
    "exit_at": instant(172.8),
    "open": False,
    "duration_s": 172.8 * 3600,
    "entry_price": 2510.0,
    "exit_price": 2302.5,
    "quantity": None,
    "notional": 500.0,
    "final_pnl": -4.2,
    "period_pnl": -4.2,
    "pnl_r": None,
    "pnl_trajectory": [
        r.Checkpoint(offset="1h", at=instant(1), pnl=0.05, mark_age_s=0.0, stale=False),
        r.Checkpoint(offset="4h", at=instant(4), pnl=0.2, mark_age_s=60.0, stale=False),
        r.Checkpoint(offset="1d", at=instant(24), pnl=1.1, mark_age_s=0.0, stale=False),
        r.Checkpoint(offset="3d", at=instant(72), pnl=None, mark_age_s=None, stale=True),
        r.Checkpoint(offset="7d", at=instant(168), pnl=-3.9, mark_age_s=40000.0, stale=True),
        r.Checkpoint(offset="exit", at=instant(172.8), pnl=-4.2, mark_age_s=0.0, stale=False),
    ],
    "mfe": 2.8,
    "mae": -4.2,
    "mfe_price": 2585.0,
    "mae_price": 2302.5,
    "mfe_r": None,
    "mae_r": None,
    "regret": 7.0,
    "regret_ratio": 2.1,
    "optimal_exit_at": instant(60),
    "optimal_exit_pnl": 2.8,
    "vs_inaction": -5.35,
    "vs_hold": 1.15,
    "vs_cash": -4.2,
    "left_on_table": None,
    "left_on_table_capped": None,
    "hold_on": None,
    "post_exit_trajectory": [],
    "attribution": attribution(
        lp_fees_earned=6.1, impermanent_loss=8.2, trading_losses=1.48, gas_costs=0.62, net_yield=-2.1
    ),
    "entry_reasoning": "Fee rate 2.3x its 7-day average; enter a tight range (H-7).",
    "exit_reasoning": "Out of range for two days.",
    "exit_reason": "time_stop",
    "cites": r.Cites(entry=["H-7", "H-12"], exit=["H-15"]),
    "entry_predictions": [
        r.EntryPrediction(
            id="p1",
            category="fee_rate",
            item="ETH/USDC",
            at=instant(0),
            predicted=1.5,
            low=1.2,
            high=1.9,
            unit="USDC/h",
            actual=1.62,
            hit=True,
        ),
        r.EntryPrediction(
            id="p2",
            category="impermanent_loss",
            item="",
            at=instant(0),
            predicted=1.0,
            low=None,
            high=None,
            unit="USDC",
            actual=8.2,
            hit=False,
        ),
        r.EntryPrediction(
            id="p3",
            category="",
            item="",
            at=instant(0),
            predicted=None,
            low=None,
            high=None,
            unit=None,
            actual=None,
            hit=None,
        ),
    ],
    "what_went_wrong": None,
    "lesson": None,
    "flags": [],
    "reasons": {
        "quantity": "a lp position of several assets has no single quantity",
        "left_on_table": "not defined for LP, lending and staking",
        "left_on_table_capped": "not defined for LP, lending and staking",
        "hold_on": "not defined for LP, lending and staking",
        "pnl_trajectory": "no mark, or none younger than 24 h, at the points without a pnl",
        "pnl_r": "the amount at risk (R) is not known",
    },
    "path": wave(),
}


def position(**changes: Any) -> r.PositionRetrospective:
    """Seed 004's LP: fees early, out of its range later, left at a loss."""
    return r.PositionRetrospective(**(LP | changes))


def spot(position_id: str = "spot-1", pnl: float = 6.2, **changes: Any) -> r.PositionRetrospective:
    """A plain long that made `pnl`, never further than that from its best."""
    fields: dict[str, Any] = {
        "position_id": position_id,
        "kind": "spot",
        "instrument": "BTC/USDC",
        "venue": "base",
        "strategy": "trend",
        "side": "long",
        "entry_at": instant(30),
        "exit_at": instant(54),
        "duration_s": 24 * 3600.0,
        "entry_price": 64231.5,
        "exit_price": 64900.25,
        "quantity": 0.0125,
        "notional": 802.89,
        "final_pnl": pnl,
        "period_pnl": pnl,
        "pnl_r": pnl / 4,
        "pnl_trajectory": [r.Checkpoint(offset="exit", at=instant(54), pnl=pnl, mark_age_s=0.0, stale=False)],
        "mfe": max(pnl, 0.0),
        "mae": min(pnl, 0.0),
        "regret": 0.0,
        "regret_ratio": 0.0,
        "optimal_exit_at": instant(54),
        "optimal_exit_pnl": pnl,
        "vs_inaction": pnl,
        "vs_hold": None,
        "vs_cash": pnl,
        "attribution": attribution(trading_gains=max(pnl, 0.0), trading_losses=max(-pnl, 0.0)),
        "entry_reasoning": None,
        "exit_reasoning": None,
        "exit_reason": "target",
        "cites": r.Cites(entry=["H-3"], exit=[]),
        "entry_predictions": [],
        "reasons": {},
        "path": [r.PathPoint(at=instant(30 + 2 * i), pnl=round(pnl * i / 12, 4)) for i in range(13)],
    }
    return position(**(fields | changes))

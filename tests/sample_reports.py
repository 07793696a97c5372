"""Report documents built by hand, for everything that reads one: an ordinary week, an empty day, one LP's life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from retro import report as r

START = datetime(2026, 11, 16, tzinfo=UTC)


def instant(hours: float, since: datetime = START) -> str:
    return (since + timedelta(hours=hours)).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def attribution(**lines: float | None) -> r.PnlAttribution:
    """An attribution that closes: `total` is made of its lines."""
    minus = {
        "borrow_interest",
        "trading_losses",
        "impermanent_loss",
        "gas_costs",
        "inference_costs",
        "data_costs",
    }
    plus = {
        *("lp_fees_earned", "lending_interest_earned", "staking_rewards", "funding", "trading_gains"),
        *("unrealized_pnl", "implausible_pnl", "unattributed"),
    }
    total = sum(v for k, v in lines.items() if k in plus and v) - sum(
        v for k, v in lines.items() if k in minus and v
    )
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


def position(**changes: Any) -> r.PositionRetrospective:
    """Seed 004's LP: fees early, out of its range later, left at a loss."""
    fields: dict[str, Any] = {
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
            r.Prediction(
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
            r.Prediction(
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
            r.Prediction(
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
    return r.PositionRetrospective(**(fields | changes))


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


def heuristic(heuristic_id: str = "H-7", **changes: Any) -> r.HeuristicReport:
    """The seed's H-7: three outcomes, -2.10 on average, demoted on weak evidence."""
    fields: dict[str, Any] = {
        "heuristic_id": heuristic_id,
        "heuristic_text": "Enter an LP when its fee rate is twice the 7-day average.",
        "role": "entry",
        "citation_count": 3,
        "evaluated_count": 3,
        "associated_pnl": -6.3,
        "shared_pnl": -4.2,
        "win_rate": 1 / 3,
        "avg_pnl_per_citation": -2.1,
        "avg_in_unit": -2.1,
        "threshold_unit": "usd",
        "recommendation": r.Recommendation(kind="demote", reason="average -2.10 over 3, below -1.00"),
        "evidence": "weak",
        "evidence_n": 3,
        "evidence_days": 3,
        "evidence_since": instant(-360),
        "interval": [-11.26, 7.06],
        "interval_method": "t",
        "p_value": 0.44,
        "q_value": 0.61,
        "shrunk_mean": -0.4,
        "win_rate_interval": [0.05, 0.8],
        "uncited_avg": 1.2,
        "uncited_count": 9,
        "uncited_difference": -3.3,
        "uncited_p": 0.11,
        "largest_share": 0.46,
        "recommendation_without_largest": "insufficient_data",
        "inseparable_from": [r.Partner(heuristic_id="H-12", jaccard=0.92)],
        "reasons": {},
    }
    return r.HeuristicReport(**(fields | changes))


def _others() -> list[r.HeuristicReport]:
    kept = {
        "citation_count": 8,
        "evaluated_count": 8,
        "associated_pnl": 11.2,
        "shared_pnl": 11.2,
        "win_rate": 0.75,
        "avg_pnl_per_citation": 1.4,
        "avg_in_unit": 1.4,
        "evidence": "suggestive",
        "evidence_n": 21,
        "evidence_days": 14,
        "interval": [0.31, 2.44],
        "interval_method": "bca",
        "q_value": 0.12,
        "shrunk_mean": 1.1,
        "recommendation_without_largest": "keep",
        "inseparable_from": [],
    }
    return [
        heuristic(
            "H-3",
            heuristic_text="Follow the 4-hour trend.",
            recommendation=r.Recommendation(kind="keep", reason="average +1.40 over 8, at or above +0.50"),
            **kept,
        ),
        heuristic(
            "H-15",
            role="exit",
            heuristic_text=None,
            recommendation=r.Recommendation(
                kind="investigate", reason="average +0.30 over 5, between -1.00 and +0.50"
            ),
            **(
                kept
                | {"avg_pnl_per_citation": 0.3, "avg_in_unit": 0.3, "citation_count": 5, "evaluated_count": 5}
            ),
        ),
        heuristic(
            "H-9",
            citation_count=0,
            evaluated_count=0,
            associated_pnl=None,
            shared_pnl=None,
            win_rate=None,
            avg_pnl_per_citation=None,
            avg_in_unit=None,
            recommendation=r.Recommendation(kind="insufficient_data", reason="condition never triggered"),
            evidence="none",
            evidence_n=0,
            evidence_days=0,
            evidence_since=None,
            interval=None,
            interval_method=None,
            p_value=None,
            q_value=None,
            shrunk_mean=None,
            win_rate_interval=None,
            uncited_avg=None,
            uncited_count=0,
            uncited_difference=None,
            uncited_p=None,
            largest_share=None,
            recommendation_without_largest=None,
            inseparable_from=[],
            reasons={"win_rate": "no outcome resolved in the period"},
        ),
    ]


def bucket(key: str, n: int = 3, pnl: float = 4.5, **changes: Any) -> r.Bucket:
    fields: dict[str, Any] = {
        "key": key,
        "n": n,
        "pnl": pnl,
        "win_rate": 2 / 3,
        "expectancy": pnl / n,
        "expectancy_r": None,
        "mean_hold_s": 86400.0,
        "mean_regret_ratio": 1.1,
        "share_below_inaction": 1 / 3,
        "ranked": n >= 3,
    }
    return r.Bucket(**(fields | changes))


def breakdowns(**changes: Any) -> r.Breakdowns:
    none = ("by_side", "by_strategy", "by_entry_tag", "by_tag_and_exit", "by_hour", "by_weekday", "by_regime")
    fields: dict[str, Any] = {name: [] for name in none} | {
        "by_instrument": [bucket("BTC/USDC", 3, 10.9), bucket("ETH/USDC", 1, -4.2)],
        "by_exit_reason": [bucket("time_stop", 1, -4.2), bucket("target", 2, 8.0)],
        "by_holding_time": [],
        "fee_drag": 0.12,
        "concentration": 0.93,
        "longest_losing_streak": 1,
        "pgr": 0.4,
        "plr": None,
        "calendar": [
            r.CalendarDay(date=f"2026-11-{16 + i}", pnl=pnl)
            for i, pnl in enumerate((1.2, 2.1, -0.4, 3.3, 0.0, -4.9, 5.4))
        ],
        "reasons": {"plr": "no losses, realised or on paper, on days with a sale"},
    }
    return r.Breakdowns(**(fields | changes))


def weekly(**changes: Any) -> r.RetrospectiveReport:
    """Seed 004's week: up 8.41, an LP that earned fees and lost to doing nothing, H-7 demoted."""
    levels = [1000.0, 1001.2, 1003.3, 1002.9, 1006.2, 1006.2, 1001.3, 1006.7]
    pnl = [None, 1.2, 2.1, -0.4, 3.3, 0.0, -4.9, 5.4]
    fields: dict[str, Any] = {
        "id": "golem-7.weekly.2026-W47",
        "agent": "golem-7",
        "horizon": "weekly",
        "period_start": instant(0),
        "period_end": instant(168),
        "generated_at": instant(169),
        "revision": 1,
        "base_currency": "USDC",
        "time_zone": "UTC",
        "known_until": instant(167.5),
        "pnl": attribution(
            lp_fees_earned=14.2,
            impermanent_loss=8.2,
            trading_gains=6.4,
            trading_losses=1.48,
            gas_costs=0.62,
            inference_costs=0.36,
            unrealized_pnl=-1.53,
            unrealized_pnl_end=-1.53,
            operational_cost=0.98,
            net_yield=6.0,
            net_yield_after_costs=5.02,
            risk_adjusted_return=1.71,
            trading_fees=0.41,
            slippage=0.12,
        ),
        "risk": r.Risk(
            days=7,
            sharpe=3.1,
            sortino=4.4,
            max_drawdown=-0.0049,
            calmar=None,
            psr=0.71,
            volatility=0.062,
            noisy=True,
            reasons={"calmar": "beyond what a number holds"},
        ),
        "equity": [
            r.EquityDay(at=instant(24 * i), equity=level, pnl=gain, flow=0.0)
            for i, (level, gain) in enumerate(zip(levels, pnl, strict=True))
        ],
        "prediction_accuracy": r.Accuracy(
            total=42,
            hits=26,
            judged=34,
            hit_rate=26 / 34,
            mean_residual=-0.031,
            mean_abs_residual=0.22,
            interval_coverage=0.81,
            sample_sufficient=True,
            by_category={
                "fee_rate": {"total": 40, "hits": 25, "hit_rate": 25 / 32},
                "price": {"total": 2, "hits": 1, "hit_rate": 0.5},
            },
        ),
        "actions_taken": [
            r.Action(
                at=instant(0),
                action="enter",
                position_id="aero-lp-3",
                instrument="ETH/USDC",
                cites=["H-7"],
                realized_pnl=None,
            ),
            r.Action(
                at=instant(30),
                action="enter",
                position_id="spot-1",
                instrument="BTC/USDC",
                cites=[],
                realized_pnl=None,
            ),
            r.Action(
                at=instant(54),
                action="exit",
                position_id="spot-1",
                instrument="BTC/USDC",
                cites=[],
                realized_pnl=6.2,
            ),
            *(
                r.Action(
                    at=instant(60 + i),
                    action="hold",
                    position_id=None,
                    instrument=None,
                    cites=[],
                    realized_pnl=None,
                )
                for i in range(5)
            ),
        ],
        "positions": [
            position(),
            spot(),
            spot("spot-2", -0.4),
            spot(
                "perp-9",
                -1.53,
                kind="perp",
                side="short",
                open=True,
                exit_at=None,
                exit_price=None,
                vs_inaction=-1.53,
                regret=2.0,
                regret_ratio=0.8,
                optimal_exit_at=instant(40),
                optimal_exit_pnl=0.47,
                exit_reason=None,
                flags=["open"],
            ),
            spot("ghost", 9000.0, flags=["implausible"], period_pnl=0.0),
        ],
        "heuristic_performance": [*_others()[:1], heuristic(), *_others()[1:]],
        "costs": r.Costs(
            gas=0.62,
            inference=0.36,
            data=0.0,
            by_tier={"T1": 0.3, "T2": 0.06},
            tokens_in=51234,
            tokens_out=4120,
        ),
        "breakdowns": breakdowns(),
        "effectiveness": r.Effectiveness(
            net_yield_7d=5.02,
            sharpe_7d=3.1,
            inaction_superiority_rate=1 / 3,
            closed_positions=3,
            sum_vs_inaction=0.45,
            score=0.61,
            score_parts={"vs_inaction": 0.52, "psr": 0.71, "components": 0.64},
            alarm=False,
            alarm_text=None,
            luck=0.0156,
            reasons={},
        ),
        "what_worked": "",
        "what_failed": "",
        "hindsight": "",
        "playbook_proposals": [],
        "confidence": 0.375,
        "resolved_decisions": 6,
        "narrative": r.Narrative(source="plain"),
        "data_quality": r.DataQuality(
            warnings=["spot-2: an order was filled after it was cancelled"],
            implausible=[
                r.Implausible(position_id="ghost", reason="fill 91 x the price of its candle", pnl=0.0)
            ],
            quarantined=2,
            missing_marks=["AERO: no mark since 2026-11-19T04:00:00Z"],
            provisional=True,
        ),
        "provenance": r.Provenance(code_version="0.1.0", data_digest="3efbe9a6b0724baa17aa", seed=1501719407),
        "reasons": {"pnl.unattributed": "the agent has not stated its equity"},
    }
    return r.RetrospectiveReport(**(fields | changes))


def empty_daily(**changes: Any) -> r.RetrospectiveReport:
    """A day on which nothing happened and nothing is known: everything that can be absent is."""
    absent = dict.fromkeys(("sharpe", "sortino", "max_drawdown", "calmar", "psr", "volatility"))
    fields: dict[str, Any] = {
        "id": "golem-7.daily.2026-11-16",
        "horizon": "daily",
        "period_end": instant(24),
        "generated_at": instant(25),
        "known_until": instant(23),
        "pnl": r.PnlAttribution(total=0.0),
        "risk": r.Risk(
            days=0, noisy=True, reasons=dict.fromkeys(absent, "the agent's capital is not known"), **absent
        ),
        "equity": [
            r.EquityDay(at=instant(24 * i), equity=None, pnl=0.0 if i else None, flow=0.0) for i in (0, 1)
        ],
        "prediction_accuracy": r.Accuracy(
            total=0,
            hits=0,
            judged=0,
            hit_rate=None,
            mean_residual=None,
            mean_abs_residual=None,
            interval_coverage=None,
            sample_sufficient=False,
            by_category={},
        ),
        "actions_taken": [],
        "positions": [],
        "heuristic_performance": [],
        "costs": r.Costs(gas=0.0, inference=0.0, data=0.0, by_tier={}),
        "breakdowns": breakdowns(
            by_instrument=[],
            by_exit_reason=[],
            fee_drag=None,
            concentration=None,
            longest_losing_streak=0,
            pgr=None,
            calendar=[r.CalendarDay(date="2026-11-16", pnl=0.0)],
        ),
        "effectiveness": r.Effectiveness(
            net_yield_7d=None,
            sharpe_7d=None,
            inaction_superiority_rate=None,
            closed_positions=0,
            sum_vs_inaction=None,
            score=None,
            score_parts={},
            alarm=False,
            alarm_text=None,
            luck=None,
            reasons={
                "net_yield_7d": "no LP, lending or staking in the period",
                "sharpe_7d": "the agent's capital is not known",
                "inaction_superiority_rate": "no position was closed in the period",
                "score": "fewer than two of its parts are known",
            },
        ),
        "confidence": 0.0,
        "resolved_decisions": 0,
        "data_quality": r.DataQuality(
            warnings=[], implausible=[], quarantined=0, missing_marks=[], provisional=False
        ),
        "reasons": {"equity": "the agent's capital is not known"},
    }
    return weekly(**(fields | changes))


def told_by(attack: str) -> r.RetrospectiveReport:
    """A week in which everything an agent can write is `attack`."""
    cites = r.Cites(entry=[attack], exit=[attack])
    prediction = r.Prediction(
        id=attack,
        category=attack,
        item=attack,
        at=instant(0),
        predicted=1.0,
        low=None,
        high=None,
        unit=attack,
        actual=2.0,
        hit=False,
    )
    hostile = position(
        position_id=attack,
        agent=attack,
        instrument=attack,
        venue=attack,
        strategy=attack,
        entry_reasoning=attack,
        exit_reasoning=attack,
        exit_reason=attack,
        cites=cites,
        entry_predictions=[prediction],
        what_went_wrong=attack,
        lesson=attack,
        reasons={attack: attack},
    )
    groups = [bucket(attack, 3), bucket(f"{attack} ", 1)]
    return weekly(
        agent=attack,
        id=f"{attack}.weekly.2026-W47",
        positions=[hostile, spot(f"{attack} 2", 1.0, flags=["implausible"])],
        heuristic_performance=[
            heuristic(attack, heuristic_text=attack),
            heuristic(f"{attack}-b", citation_count=0),
        ],
        breakdowns=breakdowns(by_instrument=groups, by_entry_tag=groups),
        actions_taken=[
            r.Action(
                at=instant(0),
                action=attack,
                position_id=attack,
                instrument=attack,
                cites=[attack],
                realized_pnl=1.0,
            )
        ],
        costs=r.Costs(gas=1.0, inference=0.0, data=0.0, by_tier={attack: 1.0}),
        what_worked=attack,
        what_failed=attack,
        hindsight=attack,
        playbook_proposals=[
            {
                "id": "x",
                "op": "demote",
                "heuristic": attack,
                "old": attack,
                "new": attack,
                "evidence": attack,
                "falsified_by": attack,
                "origin": "code",
            }
        ],
        data_quality=r.DataQuality(
            warnings=[attack],
            implausible=[r.Implausible(position_id=attack, reason=attack, pnl=1.0)],
            quarantined=0,
            missing_marks=[attack],
            provisional=True,
        ),
    )

"""Report documents built by hand, for everything that reads one: an ordinary week, an empty day, a hostile agent's."""

from __future__ import annotations

from typing import Any

from retro import report as r
from tests.worlds.samples.positions import START, attribution, instant, position, spot, wave
from tests.worlds.samples.rows import breakdowns, bucket, heuristic, heuristic_of_one_look, others

__all__ = [
    "START",
    "attribution",
    "breakdowns",
    "bucket",
    "empty_daily",
    "heuristic",
    "heuristic_of_one_look",
    "instant",
    "position",
    "spot",
    "wave",
    "week_quoting",
    "weekly",
]

LEVELS = [1000.0, 1001.2, 1003.3, 1002.9, 1006.2, 1006.2, 1001.3, 1006.7]
DAILY = [None, 1.2, 2.1, -0.4, 3.3, 0.0, -4.9, 5.4]
WEEK: dict[str, Any] = {
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
        deflated_sharpe=0.22,
        trials=9,
        minimum_track_record=63.2,
        volatility=0.062,
        noisy=True,
        reasons={"calmar": "beyond what a number holds"},
    ),
    "equity": [
        r.EquityDay(at=instant(24 * i), equity=level, pnl=gain, flow=0.0)
        for i, (level, gain) in enumerate(zip(LEVELS, DAILY, strict=True))
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
    "heuristic_performance": [*others()[:1], heuristic(), *others()[1:]],
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
        implausible=[r.Implausible(position_id="ghost", reason="fill 91 x the price of its candle", pnl=0.0)],
        quarantined=2,
        missing_marks=["AERO: no mark since 2026-11-19T04:00:00Z"],
        provisional=True,
    ),
    "provenance": r.Provenance(code_version="0.1.0", data_digest="3efbe9a6b0724baa17aa", seed=1501719407),
    "reasons": {"pnl.unattributed": "the agent has not stated its equity"},
}


def weekly(**changes: Any) -> r.RetrospectiveReport:
    """Seed 004's week: up 8.41, an LP that earned fees and lost to doing nothing, H-7 demoted."""
    return r.RetrospectiveReport(**(WEEK | changes))


ABSENT = dict.fromkeys(("sharpe", "sortino", "max_drawdown", "calmar", "psr", "volatility"))
DAY: dict[str, Any] = {
    "id": "golem-7.daily.2026-11-16",
    "horizon": "daily",
    "period_end": instant(24),
    "generated_at": instant(25),
    "known_until": instant(23),
    "pnl": r.PnlAttribution(total=0.0),
    "risk": r.Risk(
        days=0, noisy=True, reasons=dict.fromkeys(ABSENT, "the agent's capital is not known"), **ABSENT
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


def empty_daily(**changes: Any) -> r.RetrospectiveReport:
    """A day on which nothing happened and nothing is known: everything that can be absent is."""
    return weekly(**(DAY | changes))


def _position_of(attack: str) -> r.PositionRetrospective:
    cites = r.Cites(entry=[attack], exit=[attack])
    prediction = r.EntryPrediction(
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
    return position(
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


def week_quoting(attack: str) -> r.RetrospectiveReport:
    """A week in which everything an agent can write is `attack`."""
    hostile = _position_of(attack)
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

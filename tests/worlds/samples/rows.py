"""Rows of a report built by hand: the citation audit and the breakdowns."""

from __future__ import annotations

from typing import Any

from retro import report as r
from tests.worlds.samples.positions import instant

H_7: dict[str, Any] = {
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
    "evidence_avg": -2.1,
    "bets": 3,
    "bound": 15.0,
    "bound_since": instant(-336),
    "e_against": 1.482968,
    "e_for": 0.61,
    "anytime_p": 0.674,
    "interval": [None, 9.9],
    "interval_one_look": [-11.26, 7.06],
    "interval_method": "t",
    "p_value": 0.44,
    "clipped": 0.0,
    "break_even": r.BreakEvenGain(gain=6.3, largest=2.1),
    "weeks_to_verdict": 41,
    "stopped_working": r.DetectorState(alarm=False, since=None, m=1.4),
    "odds": r.OddsPath(first="2026-W45", against=[0.93, 1.21, 1.482968], in_favour=[1.05, 0.78, 0.61]),
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


def heuristic(heuristic_id: str = "H-7", **changes: Any) -> r.HeuristicReport:
    """The seed's H-7: three outcomes, -2.10 on average, demoted on weak evidence.

    An `interval` given alone goes the way of its average, as bets do.
    """
    bounds = changes.get("interval")
    if bounds and None not in bounds and "evidence_avg" not in changes:
        changes["evidence_avg"] = sum(bounds) / 2
    return r.HeuristicReport(**(H_7 | {"heuristic_id": heuristic_id} | changes))


OF_ONE_LOOK: dict[str, Any] = {"interval": [-11.26, 7.06], "q_value": 0.61}
"""What rows had before there were bets."""


def heuristic_of_one_look(**changes: Any) -> r.HeuristicReport:
    """The same row as it was stored before there were bets."""
    of_bets = (
        "evidence_avg", "bets", "bound", "bound_since", "e_against", "e_for", "anytime_p", "interval_one_look", "clipped",
        "break_even", "weeks_to_verdict", "stopped_working", "odds",
    )  # fmt: skip
    row = {name: value for name, value in H_7.items() if name not in of_bets}
    return r.HeuristicReport(**(row | {"heuristic_id": "H-7"} | OF_ONE_LOOK | changes))


KEPT: dict[str, Any] = {
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
    "evidence_avg": 1.3,
    "bets": 9,
    "bound_since": instant(-1344),
    "e_against": 0.071,
    "e_for": 14.2,
    "anytime_p": 0.0704,
    "interval": [0.02, 3.1],
    "interval_one_look": [0.31, 2.44],
    "interval_method": "bca",
    "break_even": None,
    "weeks_to_verdict": 20,
    "odds": r.OddsPath(
        first="2026-W39",
        against=[0.8, 0.62, 0.7, 0.41, 0.3, 0.22, 0.15, 0.09, 0.071],
        in_favour=[1.2, 1.9, 1.6, 2.8, 4.1, 6.6, 9.1, 12.7, 14.2],
    ),
    "shrunk_mean": 1.1,
    "recommendation_without_largest": "keep",
    "inseparable_from": [],
}


NEVER_CITED: dict[str, Any] = {
    "citation_count": 0,
    "evaluated_count": 0,
    "associated_pnl": None,
    "shared_pnl": None,
    "win_rate": None,
    "avg_pnl_per_citation": None,
    "avg_in_unit": None,
    "recommendation": r.Recommendation(kind="insufficient_data", reason="condition never triggered"),
    "evidence": "none",
    "evidence_n": 0,
    "evidence_days": 0,
    "evidence_since": None,
    **dict.fromkeys(
        (
            "evidence_avg",
            "bound",
            "bound_since",
            "e_against",
            "e_for",
            "anytime_p",
            "interval",
            "interval_one_look",
            "interval_method",
            "p_value",
            "clipped",
            "break_even",
            "weeks_to_verdict",
            "stopped_working",
            "odds",
        )
    ),
    "bets": 0,
    "shrunk_mean": None,
    "win_rate_interval": None,
    "uncited_avg": None,
    "uncited_count": 0,
    "uncited_difference": None,
    "uncited_p": None,
    "largest_share": None,
    "recommendation_without_largest": None,
    "inseparable_from": [],
    "reasons": {"win_rate": "no outcome resolved in the period"},
}


def others() -> list[r.HeuristicReport]:
    return [
        heuristic(
            "H-3",
            heuristic_text="Follow the 4-hour trend.",
            recommendation=r.Recommendation(kind="keep", reason="average +1.40 over 8, at or above +0.50"),
            **KEPT,
        ),
        heuristic(
            "H-15",
            role="exit",
            heuristic_text=None,
            recommendation=r.Recommendation(
                kind="investigate", reason="average +0.30 over 5, between -1.00 and +0.50"
            ),
            **(
                KEPT
                | {"avg_pnl_per_citation": 0.3, "avg_in_unit": 0.3, "citation_count": 5, "evaluated_count": 5}
            ),
        ),
        heuristic("H-9", **NEVER_CITED),
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

"""The narrative written by code: its digits are the report's, its numbers stay put, and it claims no causes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.figures import MoneyStyle, duration, moment, percent
from retro.narrate.plain import NOT_ASKED, position_words, words
from retro.present.page.report import page_of_report
from retro.report import EquityDay, PnlAttribution, PositionRetrospective, Recommendation, RetrospectiveReport
from tests.worlds.samples import reports
from tests.worlds.samples.rows import heuristic

WORDED_FIELDS = {
    "what_worked",
    "what_failed",
    "hindsight",
    "narrative",
    "positions",
    "what_went_wrong",
    "lesson",
}
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def figures_of(value: Any) -> set[str]:
    """Every number of a document in the roundings figures are written in, and every digit of its strings."""
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int | float):
        spelled = {f"{abs(value):,.{places}f}" for places in range(9)} | {MoneyStyle("X").plain(abs(value))}
        return {text.rstrip(" %") for text in (*spelled, percent(abs(value)), percent(abs(value), 1))}
    if isinstance(value, str):
        numbers = set(NUMBER.findall(value))
        return numbers | (
            set(NUMBER.findall(moment(value))) if re.match(r"\d{4}-\d\d-\d\dT", value) else set()
        )
    values = value.values() if isinstance(value, dict) else value
    return set().union(
        *(figures_of(item) for item in values), *(figures_of(k) for k in value if isinstance(k, str))
    )


def texts(report: RetrospectiveReport) -> list[str]:
    own = [report.what_worked, report.what_failed, report.hindsight]
    return own + [text for p in report.positions for text in (p.what_went_wrong, p.lesson) if text]


REPORTS = [
    reports.weekly(),
    reports.empty_daily(),
    reports.weekly(positions=[reports.spot(pnl=-3.0, vs_inaction=-3.0)]),
    reports.weekly(base_currency="BTC", positions=[reports.position(final_pnl=-0.00042)]),
    reports.week_quoting("x 1234.5"),
]


@pytest.mark.parametrize("report", REPORTS)
def test_every_digit_is_a_figure_of_the_report(report: RetrospectiveReport) -> None:
    allowed = figures_of(report.model_dump(mode="json"))
    for text in texts(words(report)):
        strange = set(NUMBER.findall(text)) - allowed
        assert not strange, (strange, text)


@pytest.mark.parametrize("report", REPORTS)
def test_no_figure_moves_and_the_same_report_gives_the_same_words(report: RetrospectiveReport) -> None:
    worded = words(report)
    before, after = report.model_dump(), worded.model_dump()
    assert {k: v for k, v in before.items() if k not in WORDED_FIELDS} == {
        k: v for k, v in after.items() if k not in WORDED_FIELDS
    }
    for old, new in zip(before["positions"], after["positions"], strict=True):
        assert {k: v for k, v in old.items() if k not in WORDED_FIELDS} == {
            k: v for k, v in new.items() if k not in WORDED_FIELDS
        }
    assert worded == words(report) == words(worded)
    assert (worded.narrative.source, worded.narrative.why) == ("plain", NOT_ASKED)


@pytest.mark.parametrize("report", REPORTS)
def test_it_claims_no_causes_and_ends_its_sentences(report: RetrospectiveReport) -> None:
    for text in texts(words(report)):
        assert not re.search(
            r"\b(because|caused?|due to|thanks to|led to|therefore|should have)\b", text, re.IGNORECASE
        )
        assert text.endswith(".")
        assert "  " not in text
        assert "None" not in text.replace("None of", "")
        assert "nan" not in text


def test_the_week_is_told_with_what_its_figures_are_out_of() -> None:
    worded = words(reports.weekly())
    assert worded.what_worked == (
        "What earned: LP fees +14.20 USDC and trading gains +6.40 USDC. Acting beat doing nothing by 0.45 USDC over 3"
        " closed positions; 1 open position stands at -1.53 USDC. The best position was spot-1 (BTC/USDC), +6.20 USDC in"
        " the period. H-3 (entry) averaged +1.40 USDC over 8 outcomes, winning 75 %: keep it, by the thresholds; the"
        " evidence is suggestive."
    )
    assert "H-7" not in worded.what_failed  # three outcomes, on weak evidence: no lesson yet
    assert "H-15 (exit) avoided 0.30 USDC on average over 5 outcomes, right 75 %" in worded.what_failed
    assert "1 further heuristic would be demoted or investigated, on weak evidence." in worded.what_failed
    assert "a regret of 7.00 USDC, 2.1 times what luck alone leaves behind" in worded.hindsight
    assert worded.hindsight.endswith("None of this could have been known at the time.")


WEAK = "By the thresholds 1 heuristic would be kept, on weak evidence."


@pytest.mark.parametrize(
    ("rows", "worked"),
    [
        ([("weak", "entry", 1.4)], [WEAK]),
        ([("none", "entry", 1.4)], [WEAK]),
        (
            [("supported", "exit", 1.4), ("weak", "entry", 9.0)],
            [
                "H-0 (exit) avoided 1.40 USDC on average over 8 outcomes, right 75 %: keep it, by the thresholds; the evidence supports it.",
                WEAK.replace("1 heuristic", "1 further heuristic"),
            ],
        ),
    ],
)
def test_a_heuristic_is_a_lesson_only_where_its_evidence_says_something(rows: Any, worked: list[str]) -> None:
    keep = Recommendation(kind="keep", reason="by hand")
    performance = [
        heuristic(
            f"H-{i}", recommendation=keep, evidence=grade, role=role, avg_pnl_per_citation=average,
            evaluated_count=8, win_rate=0.75, interval=[0.3, 2.4],
        )
        for i, (grade, role, average) in enumerate(rows)
    ]  # fmt: skip
    told = words(reports.weekly(heuristic_performance=performance)).what_worked
    assert told.endswith(" ".join(worked))
    assert told.count("H-") == sum("H-" in sentence for sentence in worked)


@pytest.mark.parametrize(
    ("pnl", "worked", "failed", "headline"),
    [
        # impossible fills lost 20 and gained 5: the loss counts in "down 12", and is named
        (
            {"total": -7.0, "trading_gains": 8.0, "implausible_pnl": -15.0, "unbelieved_pnl": 5.0},
            "What earned: trading gains +8.00 USDC.",
            "What cost: implausible fills -20.00 USDC.",
            "Implausible fills -20.00; against that trading gains +8.00.",
        ),
        # only a gain that nobody believes: nothing of it is named
        (
            {"total": 13.0, "trading_gains": 8.0, "implausible_pnl": 5.0, "unbelieved_pnl": 5.0},
            "What earned: trading gains +8.00 USDC.",
            None,
            "Trading gains +8.00.",
        ),
        # among the three largest lines
        (
            {"total": -502.0, "trading_gains": 8.0, "unattributed": -510.0},
            "What earned: trading gains +8.00 USDC.",
            "What cost: what no event explains -510.00 USDC.",
            "Unattributed -510.00; against that trading gains +8.00.",
        ),
        # the fourth line, above 1 % of an equity of 1,000
        (
            {"total": -71.0, "trading_losses": 40.0, "gas_costs": 13.0, "data_costs": 7.0, "unattributed": -11.0},
            None,
            "What cost: trading losses -40.00 USDC, gas -13.00 USDC and what no event explains -11.00 USDC.",
            "Trading losses -40.00, gas costs -13.00 and unattributed -11.00.",
        ),
        (
            {
                "total": -112.0, "trading_losses": 40.0, "gas_costs": 30.0, "data_costs": 18.0, "borrow_interest": 13.0,
                "unattributed": -11.0,
            },
            None,
            "What cost: trading losses -40.00 USDC, gas -30.00 USDC, data -18.00 USDC and what no event explains -11.00 USDC.",
            "Trading losses -40.00, gas costs -30.00 and unattributed -11.00.",
        ),
        # a fifth line of less than that is in no sentence
        (
            {
                "total": -110.0, "trading_losses": 40.0, "gas_costs": 30.0, "data_costs": 18.0, "borrow_interest": 13.0,
                "unattributed": -9.0,
            },
            None,
            "What cost: trading losses -40.00 USDC, gas -30.00 USDC and data -18.00 USDC.",
            "Trading losses -40.00 and gas costs -30.00.",
        ),
    ],
)  # fmt: skip
def test_what_is_counted_is_said_also_what_no_event_explains(
    pnl: dict[str, float], worked: str | None, failed: str | None, headline: str
) -> None:
    equity = [EquityDay(at=reports.instant(24 * i), equity=1000.0, pnl=0.0, flow=0.0) for i in range(8)]
    report = words(reports.weekly(pnl=PnlAttribution(**pnl), equity=equity, positions=[]))
    assert (report.what_worked.startswith(worked)) if worked else "What earned" not in report.what_worked
    assert (report.what_failed.startswith(failed)) if failed else "What cost" not in report.what_failed
    assert page_of_report(report).headline.why == headline


def test_an_implausible_position_is_neither_best_nor_worst_nor_told() -> None:
    worded = words(reports.weekly())
    assert all("ghost" not in text for text in texts(worded))
    ghost = next(p for p in worded.positions if p.position_id == "ghost")
    assert (ghost.what_went_wrong, ghost.lesson) == (None, None)


@pytest.mark.parametrize(
    ("changes", "wrong", "lesson"),
    [
        (
            {},
            "5.35 USDC less than doing nothing",
            "It left more behind than luck does, so look at the exit rule.",
        ),
        ({"regret_ratio": 1.0}, "a regret of 7.00 USDC, 1.0 times", "the exit rule stands unjudged"),
        (
            {"regret_ratio": None},
            "a regret of 7.00 USDC.",
            "whether luck or the exit rule missed it cannot be told",
        ),
        (
            {"optimal_exit_pnl": -0.5, "regret": 3.7},
            "stood at -0.50 USDC",
            "look at the entry before the exit",
        ),
        (
            {"regret": None, "regret_ratio": None, "optimal_exit_at": None, "optimal_exit_pnl": None},
            "The largest line against it is impermanent loss at -8.20 USDC, the largest for it LP fees at +6.10 USDC.",
            "Its exit cannot be judged",
        ),
        (
            {"vs_inaction": 2.0},
            "Its best exit, 2026-11-18 12:00 UTC, stood at +2.80 USDC",
            "look at the exit rule",
        ),
        ({"open": True, "exit_at": None}, "It has made -4.20 USDC", "One position is one outcome"),
    ],
)
def test_what_went_wrong_and_its_lesson(changes: dict[str, Any], wrong: str, lesson: str) -> None:
    worded = position_words(reports.position(**changes), currency="USDC")
    assert wrong in (worded.what_went_wrong or "")
    assert lesson in (worded.lesson or "")


@pytest.mark.parametrize(
    "position",
    [
        reports.spot(),
        reports.spot(regret=1e-7),
        reports.spot(vs_inaction=None, regret=None),
        reports.position(flags=["implausible"], final_pnl=4.2),  # a gain that is not believed
    ],
)
def test_a_position_that_neither_lost_nor_left_regret_has_no_lesson(position: PositionRetrospective) -> None:
    worded = position_words(position)
    assert (worded.what_went_wrong, worded.lesson) == (None, None)


maybe = st.none() | st.floats(-1e4, 1e4)


@given(
    final=st.floats(-1e4, 1e4),
    idle=maybe,
    best=maybe,
    ratio=st.none() | st.floats(0, 50),
    is_open=st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_any_position_can_be_told(
    final: float, idle: float | None, best: float | None, ratio: float | None, is_open: bool
) -> None:
    regret = None if best is None else max(0.0, best - final)
    position = reports.position(
        final_pnl=final,
        vs_inaction=idle,
        optimal_exit_pnl=best,
        optimal_exit_at=None if best is None else reports.instant(60),
        regret=regret,
        regret_ratio=None if best is None else ratio,
        open=is_open,
    )
    worded = position_words(position)
    lost = idle is not None and idle < 0
    missed = regret is not None and regret > 1e-9 * 500
    assert (worded.lesson is not None) == (worded.what_went_wrong is not None) == (lost or missed)
    allowed = figures_of(position.model_dump(mode="json"))
    for text in (worded.what_went_wrong, worded.lesson):
        assert not set(NUMBER.findall(text or "")) - allowed
    assert duration(position.duration_s) == "7.2 d"

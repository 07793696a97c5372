"""The words of evidence: odds and intervals named as what they are, what would change them, and how long a verdict takes."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from retro.figures import count, date_text, interval, month_text, odds, percent, ratio
from retro.periods import parse_instant
from retro.present.page.blocks import OddsChart, OddsLine
from retro.present.page.labels import reason_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.report import HeuristicReport, OddsPath

__all__ = [
    "CLIPPED",
    "break_even_in_words",
    "every_look",
    "in_unit",
    "monday",
    "odds_chart",
    "odds_in_words",
    "one_look",
    "ripeness_in_words",
    "stopped_in_words",
    "uncounted_in_words",
]

CLIPPED: Final = 0.2
"""Of a rule's gains: where the bets left out more than that, no demotion rests on them (docs/evidence.md)."""
_UNITS: Final = {"r": " R", "bps": " bps"}
_DRAWN: Final = 4  # rules with a chart on the page of a period
_DRAWN_OF_A_LIFE: Final = 20
_TEN: Final = 10.0
_MICROSECONDS_A_WEEK: Final = 7 * 86_400_000_000
_SOON: Final = 26  # weeks
_NEVER: Final = (
    "never"  # the reason of those that take too long; what else stands in the way passes by itself
)
_ORDER: Final = ("supported", "suggestive", "weak", "none")


def in_unit(value: float, row: HeuristicReport, money: MoneyStyle) -> str:
    """An amount of a row in what its thresholds count in: 32.40 USDC, 1.24 R, 12.40 bps."""
    if row.threshold_unit == "usd":
        return money.amount(value)
    return f"{ratio(value)}{_UNITS[row.threshold_unit]}"


def odds_in_words(row: HeuristicReport) -> str:
    """Both bets as they stand: `61 to 1 against it, 0.0 to 1 for it`."""
    return f"{odds(row.e_against)} against it, {odds(row.e_for)} for it"


def every_look(row: HeuristicReport, unit: str = "") -> str:
    """The interval that holds at every look, with what it counts in; `unit` is that of money."""
    if row.interval is None:
        return ""
    return (
        f"95 % {interval(*row.interval)}{_UNITS.get(row.threshold_unit, unit and f' {unit}')} at every look"
    )


def one_look(row: HeuristicReport, unit: str = "") -> str:
    """The interval of this look alone, which is of money."""
    if row.interval_one_look is None:
        return ""
    return f"95 % {interval(*row.interval_one_look)}{unit and f' {unit}'} at this look alone"


def break_even_in_words(row: HeuristicReport, money: MoneyStyle) -> str:
    """The gain that would bring a loser back to 0, beside its largest so far; nothing where it does not lose."""
    gain = row.break_even
    if gain is None:
        return ""
    beside = "it has had none" if gain.largest is None else f"its largest so far {_bare(gain.largest, row)}"
    return f"one gain of {in_unit(gain.gain, row, money)} would bring it to 0; {beside}"


def _bare(value: float, row: HeuristicReport) -> str:
    return f"{value:,.2f}" if row.threshold_unit == "usd" else ratio(value)


def uncounted_in_words(row: HeuristicReport) -> str:
    """That much of what it gained lies beyond the bound; nothing where the bets counted nearly all of it."""
    if row.clipped is None or row.clipped <= CLIPPED or row.gains is None:
        return ""
    if row.gains:
        return f"{percent(row.clipped)} of its losses lie beyond the size of a bet: the odds for it do not count them"
    return (
        f"{percent(row.clipped)} of its gains lie beyond the size of a bet and are not counted:"
        " no demotion rests on these odds"
    )


def stopped_in_words(row: HeuristicReport) -> str:
    """The alarm of a rule that has stopped working, with its week."""
    stopped = row.stopped_working
    if stopped is None or not stopped.alarm:
        return ""
    return f"it has stopped working: what it lost from {stopped.since} on is bad luck that comes once in ten years"


def ripeness_in_words(row: HeuristicReport, end: str) -> str:
    """When a row that is not judged yet can be, at its rate of outcomes up to the period's `end`; or why never."""
    if row.is_conclusive or row.bound is None:
        return ""
    weeks, rate = row.weeks_to_verdict, _rate(row, end)
    at = "" if rate is None else f"at {rate:.1f} a week"
    advice = "cite it more" if row.threshold_unit == "r" else "judge it in R, or cite it more"
    if weeks is None:
        why = reason_text(row.reasons, "weeks_to_verdict")
        return (
            f"no verdict in sight, {why}; {advice}"
            if _NEVER in why
            else why and f"no date for a verdict: {why}"
        )
    over = date.fromordinal(_day(end).toordinal() + 7 * weeks)
    text = f"can be judged in {count(weeks, 'more week')}"
    if at:
        text += f", {at}"
    text += f": about {month_text(over)}"
    return f"{text}; {advice}" if weeks > _SOON else text


def _rate(row: HeuristicReport, end: str) -> float | None:
    """Outcomes a week since its evidence begins."""
    if row.evidence_since is None or not row.evidence_n:
        return None
    weeks = (parse_instant(end) - parse_instant(row.evidence_since)) / _MICROSECONDS_A_WEEK
    return row.evidence_n / max(1.0, weeks)


def _day(instant: str) -> date:
    return date.fromisoformat(instant[:10])


# The chart


def odds_chart(rows: Sequence[HeuristicReport], *, whole_life: bool = False) -> OddsChart | None:
    """Odds by week of the rules that evidence carries or that want a decision, the surest first; a life has them all."""
    drawable = [row for row in rows if row.odds is not None and len(row.odds.against) > 1]
    if not drawable:
        return None
    ranked = sorted(drawable, key=lambda row: (_ORDER.index(row.evidence), -_leading(row)))
    wanted = [row for row in ranked if whole_life or _matters(row)]
    shown = wanted[: _DRAWN_OF_A_LIFE if whole_life else _DRAWN]
    if not shown:
        return None
    left_out = len(drawable) - len(shown)
    note = ""
    if left_out:
        where = "retro playbook audit --history" if whole_life else "retro review life"
        note = f"{count(left_out, 'rule')} not drawn: {where} has every one."
    return OddsChart(tuple(_line(row, row.odds) for row in shown if row.odds is not None), note)


def _leading(row: HeuristicReport) -> float:
    return max(row.e_against or 0.0, row.e_for or 0.0)


def _matters(row: HeuristicReport) -> bool:
    stopped = row.stopped_working is not None and row.stopped_working.alarm
    return row.is_conclusive or row.recommendation.kind == "demote" or stopped


def _line(row: HeuristicReport, path: OddsPath) -> OddsLine:
    first, words = monday(path.first), odds_in_words(row)
    for values, side in ((path.against, "against"), (path.in_favour, "for")):
        at = next((week for week, e in enumerate(values) if e >= _TEN), 0)
        if at:
            day = first + timedelta(weeks=at)
            words += f"; 10 to 1 {side} it first in the week of {date_text(day)}"
    return OddsLine(row.heuristic_id, row.role, first, tuple(path.against), tuple(path.in_favour), words)


def monday(week: str) -> date:
    """The Monday of a week such as 2026-W10."""
    year, number = map(int, re.findall(r"\d+", week))
    return date.fromisocalendar(year, number, 1)

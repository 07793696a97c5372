"""The parts of a page that are about money: attribution, day by day, effectiveness, risk, costs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, date_text, duration, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Day,
    Days,
    Figure,
    FigureList,
    Prose,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.labels import PARTS, attribution_bars, reason_text
from retro.present.page.market import cash_note, market_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retro.figures import MoneyStyle
    from retro.report import Effectiveness, PnlAttribution, RetrospectiveReport, Risk

__all__ = ["attribution_section", "costs_section", "days_section", "effectiveness_section", "risk_section"]

_SHOWN_FROM: Final = 5  # daily returns
_NOISY_BELOW: Final = 30
_AN_INSTANT: Final = 1.0  # seconds
_A_CENTURY: Final = 36_525  # days


def attribution_section(report: RetrospectiveReport, money: MoneyStyle) -> Section:
    """The attribution that closes, the memo lines inside it, and what derives from it."""
    pnl = report.pnl
    memo = f"trading fees {money.amount(pnl.trading_fees)}"
    if pnl.slippage is not None:
        memo += f", slippage {money.amount(pnl.slippage)} (+ is a cost{_age_of_marks(pnl)})"
    facts = [Figure("Inside the lines above", memo)]
    if pnl.implausible_pnl or pnl.unbelieved_pnl:
        counted = money.change(pnl.implausible_pnl - pnl.unbelieved_pnl)
        note = f"{money.change(pnl.unbelieved_pnl)} more is not believed and in no headline"
        facts.append(Figure("Counted of implausible fills", counted, note))
    if pnl.net_yield is not None:
        facts += [
            Figure(
                "Net yield",
                money.change(pnl.net_yield),
                f"fees, interest and rewards less impermanent loss; {money.change(pnl.net_yield_after_costs)}"
                " after gas, inference and data",
            ),
            Figure(
                "Risk-adjusted yield",
                ratio(pnl.risk_adjusted_return),
                "the net yield alone, not the total, over the standard deviation of daily PnL"
                if pnl.risk_adjusted_return is not None
                else report.reasons.get("pnl.risk_adjusted_return", ""),
            ),
        ]
    if pnl.unrealized_pnl_start or pnl.unrealized_pnl_end:
        facts.append(
            Figure(
                "Unrealised level",
                money.change(pnl.unrealized_pnl_end),
                f"at the end of the period; {money.change(pnl.unrealized_pnl_start)} at its start",
            )
        )
    return Section(
        "attribution",
        "Where the money came from",
        (attribution_bars(pnl, money), FigureList(tuple(facts))),
        money.currency,
    )


def days_section(report: RetrospectiveReport, money: MoneyStyle) -> Section | None:
    """Pnl, equity and drawdown day by day; nothing for a period of one day."""
    calendar, equity = report.breakdowns.calendar, report.equity
    if len(calendar) < 2:
        return None
    has_equity = len(equity) == len(calendar) + 1
    levels: list[float | None] = [None] * (len(calendar) + 1)
    if has_equity:
        levels = [day.equity for day in equity]
    if any(day.growth is not None for day in equity):
        falls = _falls([day.growth for day in equity[1:]], ruined=report.risk.ruined)
    else:  # a review from before days had their own returns
        falls = _drawdowns(levels, [day.pnl for day in calendar])
    rows = tuple(
        Day(
            iso=day.date,
            date=date_text(date.fromisoformat(day.date), weekday=True),
            pnl=day.pnl,
            pnl_text=money.signed(day.pnl),
            equity=level,
            equity_text=money.plain(level),
            drawdown=fall,
        )
        for day, level, fall in zip(calendar, levels[1:], falls, strict=True)
    )
    aside = f"{money.currency}, {count(len(rows), 'day')}"
    block = Days(rows, money.currency, levels[0], _absent(rows, report))
    return Section("days", "Day by day", (block,), aside)


def _absent(rows: tuple[Day, ...], report: RetrospectiveReport) -> str:
    """Why days have no result, no equity or no drawdown; nothing where all have."""
    reasons = []
    if any(row.pnl is None for row in rows):
        reasons.append(reason_text(report.breakdowns.reasons, "calendar.pnl"))
    if all(row.equity is None for row in rows):
        reasons.append("the agent's capital is not known, and so neither equity nor drawdown")
    elif any(row.equity is None or row.drawdown is None for row in rows):
        reasons.append(report.risk.reasons.get("days", "before the capital is known there is no return"))
    return f"{DASH} {_ended('; '.join(reason for reason in reasons if reason))}" if any(reasons) else ""


def _ended(sentence: str) -> str:
    """A sentence with its full stop, unless it ends in a question."""
    return sentence if sentence.endswith("?") else f"{sentence}."


def _falls(growths: list[float | None], *, ruined: bool) -> list[float | None]:
    """Fall of the compounded daily returns from their peak so far, which starts at 1; None before the first of them.

    None after the last of them, too, where equity fell to 0 or below.
    """
    worth, peak = 1.0, 1.0
    falls: list[float | None] = []
    for growth in growths:
        if growth is None and (not falls or falls[-1] is None):
            falls.append(None)
            continue
        worth *= 1 + (growth or 0.0)
        peak = max(peak, worth)
        falls.append(worth / peak - 1)
    end = max((i + 1 for i, growth in enumerate(growths) if growth is not None), default=0)
    return [*falls[:end], *[None] * (len(falls) - end)] if ruined else falls


def _drawdowns(levels: list[float | None], pnl: list[float | None]) -> list[float | None]:
    """Fall of the compounded daily returns from their peak so far, which starts at 1; None once a day has no base."""
    worth, peak = 1.0, 1.0
    falls: list[float | None] = []
    for (before, _), gain in zip(pairwise(levels), pnl, strict=True):
        if before is None or before <= 0 or (falls and falls[-1] is None):
            falls.append(None)
            continue
        worth *= 1 + (gain or 0.0) / before
        peak = max(peak, worth)
        falls.append(worth / peak - 1)
    return falls


def effectiveness_section(report: RetrospectiveReport, money: MoneyStyle) -> Section:
    """Whether acting beat doing nothing and the market, and whether the strategy as a whole works."""
    effectiveness = report.effectiveness
    closed = count(effectiveness.closed_positions, "closed position")
    nothing, *remainder = _effectiveness_figures(report, closed, money)
    if cash := cash_note(report):
        nothing = replace(nothing, note=f"{nothing.note}; {cash}; score and alarm count it so")
    against_market = market_figure(report)
    rows = (nothing, *([against_market] if against_market else []), *remainder)
    aside = f"{closed}, {report.open_positions.size:,} open" if report.open_positions.size else closed
    return Section("effectiveness", "Did acting beat doing nothing?", (FigureList(rows),), aside)


def _effectiveness_figures(report: RetrospectiveReport, closed: str, money: MoneyStyle) -> Iterator[Figure]:
    effectiveness, standing = report.effectiveness, report.open_positions

    def figure(label: str, name: str, value: str, note: str) -> Figure:
        absent = getattr(effectiveness, name) is None
        return Figure(label, value, reason_text(effectiveness.reasons, name) if absent else note)

    total, rate, luck = (
        effectiveness.sum_vs_inaction,
        effectiveness.inaction_superiority_rate,
        effectiveness.luck,
    )
    summed = f"sum over {closed}" if total is not None else "no position was closed"
    summed += f"; {standing.words(money)}" if standing.size else ""
    figure_text = money.change(None) if total is None else standing.beside(total, money)
    yield Figure("Against doing nothing", figure_text, summed, tone_of(standing.lower(total)))
    better = f"of {closed}: doing nothing would have been better"
    yield figure("Inaction superiority", "inaction_superiority_rate", percent(rate), better)
    yield Figure("Effectiveness score", ratio(effectiveness.score), _score_note(effectiveness))
    text = money.change(effectiveness.net_yield_7d)
    yield figure("Net yield, 7 days", "net_yield_7d", text, "after costs")
    text = ratio(effectiveness.sharpe_7d)
    note = "annualised; noisy: 7 days or fewer"
    if effectiveness.sharpe_7d_interval is not None:
        error = ratio(effectiveness.sharpe_7d_standard_error)
        note = f"annualised; standard error {error}, 95 % {_range(effectiveness.sharpe_7d_interval)}: noisy"
    yield figure("Sharpe ratio, 7 days", "sharpe_7d", text, note)
    if luck is not None:
        note = (
            "of such pairs of weeks raise the two-week alarm, at this agent's win rate and without any edge"
        )
        if effectiveness.luck_in_a_year is not None:
            note += f"; {effectiveness.luck_in_a_year * 100:.0f} of 100 years do"
        yield Figure("Luck alone", percent(luck, 1), note)


def _score_note(effectiveness: Effectiveness) -> str:
    if effectiveness.score is None:
        return reason_text(effectiveness.reasons, "score")
    parts = "; ".join(
        f"{PARTS.get(name, name)} {ratio(part)}" for name, part in effectiveness.score_parts.items()
    )
    return f"from 0 to 1: {parts}"


def risk_section(risk: Risk) -> Section:
    """Measures of the daily returns; not shown from fewer than 5, marked noisy below 30."""
    days = count(risk.days, "day")
    if risk.days < _SHOWN_FROM:
        why = reason_text(risk.reasons, "sharpe") if risk.days == 0 else ""
        text = why or f"{count(risk.days, 'daily return')}: too few to show, from {_SHOWN_FROM} on they are"
        return Section("risk", "Risk", (Prose(f"{DASH} {_ended(text)}"),), days if risk.days else "")
    noisy = f"noisy: {days}" if risk.noisy or risk.days < _NOISY_BELOW else days

    def fact(label: str, name: str, value: str, note: str) -> Figure:
        absent = getattr(risk, name) is None
        said = reason_text(risk.reasons, name) if absent else note
        return Figure(label, value, said, name=f"risk.{name}")

    def sure(note: str, interval: list[float] | None) -> str:
        return note if interval is None else f"{note}; 95 % {_range(interval)}"

    rows = (
        *_returned(risk),
        fact("Max drawdown", "max_drawdown", percent(risk.max_drawdown, 1), "deepest fall of daily closes"),
        fact(
            "Within the day",
            "max_drawdown_marked",
            percent(risk.max_drawdown_marked, 1),
            "deepest fall at any mark, at most one an hour",
        ),
        fact("Volatility", "volatility", percent(risk.volatility, 1), "of daily returns, annualised"),
        fact("Sharpe ratio", "sharpe", ratio(risk.sharpe), sure("annualised", risk.sharpe_interval)),
        fact(
            "Sortino ratio",
            "sortino",
            ratio(risk.sortino),
            sure("annualised; counts falls only", risk.sortino_interval),
        ),
        fact(
            "Calmar ratio",
            "calmar",
            ratio(risk.calmar),
            sure("annual return over max drawdown", risk.calmar_interval),
        ),
        fact("Sharpe above 0", "psr", percent(risk.psr), "probability that the true Sharpe ratio is (PSR)"),
        *_against_luck(risk, fact),
    )
    return Section("risk", "Risk", (FigureList(rows),), noisy)


def _against_luck(risk: Risk, fact: Callable[[str, str, str, str], Figure]) -> Iterator[Figure]:
    """What is left of the ratio once all that was looked at is counted; nothing for a review from before it was."""
    if risk.trials is None:
        return
    note = "the PSR: no second strategy, rule or tag was looked at"
    if risk.trials > 1:
        note = f"probability that it is above the best of {risk.trials:,} strategies, rules and tags without any edge"
    yield fact("Above luck", "deflated_sharpe", percent(risk.deflated_sharpe), note)
    needed = risk.minimum_track_record
    length = DASH
    if needed is not None:
        length = count(ceil(needed), "day") if needed <= _A_CENTURY else "over 100 years"
    note = f"for a PSR of 95 %, if the ratio stays as it is; here: {count(risk.days, 'day')}"
    yield fact("Record needed", "minimum_track_record", length, note)


def _range(interval: list[float]) -> str:
    return f"{ratio(interval[0])} to {ratio(interval[1])}"


def _returned(risk: Risk) -> Iterator[Figure]:
    """What the period returned; nothing for a review from before it was said."""
    if risk.time_weighted_return is None:
        return
    note = "time-weighted: what a unit of money that stayed made, whatever the owner paid in or took out"
    if "days" in risk.reasons:
        note += f"; {risk.reasons['days']}"
    yield Figure("Return", percent(risk.time_weighted_return, 2), note)
    if risk.money_weighted_return is not None:
        note = "money-weighted (Modified Dietz): the gain over the money that was there on average"
        yield Figure("On the owner's money", percent(risk.money_weighted_return, 2), note)


def _age_of_marks(pnl: PnlAttribution) -> str:
    """How old the marks were, on average, that slippage was measured against; nothing where none was needed."""
    age = pnl.slippage_mark_age_s
    if age is None:
        return ""
    how_old = "of the decision's instant" if age < _AN_INSTANT else f"{duration(age)} old on average"
    return f"; marks {how_old}"


def costs_section(report: RetrospectiveReport, money: MoneyStyle) -> Section | None:
    """What it cost to run; nothing when it cost nothing."""
    costs, drag = report.costs, report.breakdowns
    if not (
        costs.gas or costs.inference or costs.data or costs.by_tier or costs.tokens_in or costs.tokens_out
    ):
        return None
    tokens = (
        f"{costs.tokens_in:,} tokens in, {costs.tokens_out:,} out"
        if costs.tokens_in + costs.tokens_out
        else ""
    )
    rows = [
        Figure("Gas", money.amount(costs.gas)),
        Figure("Inference", money.amount(costs.inference), tokens),
        Figure("Data", money.amount(costs.data)),
        Figure(
            "Fee drag",
            percent(drag.fee_drag),
            "of gross gains went to fees and costs"
            if drag.fee_drag is not None
            else drag.reasons.get("fee_drag", ""),
        ),
    ]
    tiers = Table(
        (
            Column("Inference tier", right=False, cut=6),
            Column(f"Cost ({money.currency})" if money.currency else "Cost"),
        ),
        tuple(TableRow((Cell(tier), Cell(money.plain(cost)))) for tier, cost in costs.by_tier.items()),
    )
    blocks = (FigureList(tuple(rows)), tiers) if costs.by_tier else (FigureList(tuple(rows)),)
    return Section("costs", "Costs", blocks, money.currency)

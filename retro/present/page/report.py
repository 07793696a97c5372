"""A report as a page: the headline an owner reads first, then everything that stands behind it."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Final

from retro.figures import count, duration, moment, money_of, percent, ratio, span
from retro.kinds import KINDS
from retro.present.page.amendments import describe_change
from retro.present.page.audit import audit_section, carried, predictions_section, wanting
from retro.present.page.blocks import Figure, Headline, Page, tone_of
from retro.present.page.evaluators.claims import (
    claims_section,
    confidence_alarms,
    drift_section,
    learning_section,
    shadows_section,
    tiers_section,
)
from retro.present.page.evaluators.regimes import regimes_section
from retro.present.page.groups import (
    actions_section,
    breakdown_section,
    instrument_label,
    positions_section,
)
from retro.present.page.labels import VERDICTS, result_text, short_name
from retro.present.page.market import benchmark_figure, cash_note, market_figure
from retro.present.page.money import (
    attribution_section,
    costs_section,
    days_section,
    effectiveness_section,
    risk_section,
)
from retro.present.page.narrative import words_section
from retro.present.page.proposals import proposals_section
from retro.present.page.provenance import provenance_lines, quality_section
from retro.present.page.weeks import weeks_section
from retro.present.references import PositionReference
from retro.report.extremes import extremes_of
from retro.report.life import LifeReport
from retro.report.lines import main_lines, signed_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.report import PositionRetrospective, RetrospectiveReport
from retro.report.lines import SignedLine

__all__ = ["money_of_report", "page_of_report", "unpriced_text"]

_NAMED: Final = 4
_MAIN: Final = 2  # gains, and losses, that the headline names


def money_of_report(report: RetrospectiveReport) -> MoneyStyle:
    """How this report writes its amounts."""
    amounts = [report.pnl.total, *(amount for _, amount in signed_lines(report.pnl))]
    amounts += [position.final_pnl or 0.0 for position in report.positions]
    return money_of(report.base_currency, amounts)


def page_of_report(report: RetrospectiveReport) -> Page:
    """The page of a daily, weekly, epoch or other period's review."""
    money = money_of_report(report)
    closed = report.effectiveness.closed_positions
    sections = (
        weeks_section(report, money) if isinstance(report, LifeReport) else None,
        audit_section(report, money),
        attribution_section(report, money),
        words_section(report),
        proposals_section(report),
        positions_section(report, money),
        effectiveness_section(report, money),
        risk_section(report.risk),
        days_section(report, money),
        regimes_section(report.regimes, money),
        breakdown_section(report.breakdowns, money, closed, report.open_positions),
        predictions_section(report.prediction_accuracy),
        claims_section(report.evaluators),
        tiers_section(report.evaluators),
        shadows_section(report.evaluators, money),
        learning_section(report.evaluators),
        drift_section(report.evaluators, money),
        costs_section(report, money),
        actions_section(report.actions_taken, money, report.pnl.funding),
        quality_section(report, money),
    )
    return Page(
        headline=_headline(report, money),
        sections=tuple(section for section in sections if section is not None),
        foot=provenance_lines(report),
    )


def _headline(report: RetrospectiveReport, money: MoneyStyle) -> Headline:
    period = span(report.period_start, report.period_end, report.time_zone)
    name = report.id.rpartition(f".{report.horizon}.")[2]
    week = f" ({name})" if KINDS[report.horizon].key_tells_kind and "-W" in name else ""
    alarms = []
    if report.silent_since is not None:
        last = f"{moment(report.silent_since, report.time_zone)} {report.time_zone}"
        alarms.append(
            f"Silent since {last}: no event and no mark of its own. It is not reviewed again until it tells one."
        )
    if report.effectiveness.alarm and report.effectiveness.alarm_text:
        alarms.append(f"Alarm: {report.effectiveness.alarm_text}.")
    alarms += confidence_alarms(report.evaluators)
    if report.pnl.unbelieved_pnl:
        left_out = money.change(report.pnl.unbelieved_pnl)
        alarms.append(f"Not believed and left out here: {left_out} of implausible fills, see data quality.")
    if unquoted := [p for p in report.positions if not p.is_priced and not p.is_believed]:
        alarms.append(
            f"{count(len(unquoted), 'position')} not counted: no mark says what {_quotes(unquoted)} is worth in"
            f" {report.base_currency}. Tell its marks, or set [owner] base_currency."
        )
    if report.data_quality.provisional:
        alarms.append("Provisional: some marks are missing or old, see data quality.")
    revision = f", revision {report.revision}" if report.revision > 1 else ""
    return Headline(
        kicker=KINDS[report.horizon].title,
        title=report.agent,
        subtitle=f"{period}{week}, {report.time_zone}{revision}",
        result=_result(report, money),
        why=_why(report, money),
        tone=tone_of(report.result),
        facts=tuple(_first_facts(report, money)),
        alarms=tuple(alarms),
    )


def _result(report: RetrospectiveReport, money: MoneyStyle) -> str:
    """What the period made; open positions without a price are in none of it, and are counted beside it."""
    unpriced = unpriced_text(report, money)
    if not unpriced:
        return result_text(report.result, money)
    open_positions = [p for p in report.positions if p.open]
    made = f"Realised {money.change(report.pnl.believed)}"
    if any(p.is_priced for p in open_positions):
        made = result_text(report.pnl.believed, money)
    return f"{made}; {unpriced}"


def unpriced_text(report: RetrospectiveReport, money: MoneyStyle) -> str:
    """10 open positions cannot be priced (cost 812.40 USDC); nothing where there is none."""
    unpriced = report.data_quality.unpriced
    if not unpriced:
        return ""
    cost = fsum(row.cost or 0.0 for row in unpriced)
    known = f" (cost {money.amount(cost)})" if cost else ""
    return f"{count(len(unpriced), 'open position')} cannot be priced{known}"


def _quotes(positions: Sequence[PositionRetrospective]) -> str:
    """What they are quoted in: at most three names."""
    names = sorted({quote for p in positions if (quote := p.instrument.partition("/")[2].partition(":")[0])})
    return ", ".join(names[:_MAIN]) or "their quote"


def _why(report: RetrospectiveReport, money: MoneyStyle) -> str:
    """The lines of the attribution that weigh most, on either side: of what the headline counts."""
    gains, losses = (_named(side, money) for side in main_lines(report.pnl, report.last_equity, _MAIN))
    if report.result is None:
        return "Nothing says what its positions were quoted in was worth."
    if not gains and not losses:
        return "Nothing was earned, lost or spent."
    if gains and losses:
        first, second = (gains, losses) if report.pnl.believed >= 0 else (losses, gains)
        return f"{first}; against that {second[0].lower()}{second[1:]}."
    return f"{gains or losses}."


def _named(lines: list[SignedLine], money: MoneyStyle) -> str:
    words = [
        f"{line.label if i == 0 else _lower(line.label)} {money.signed(amount)}"
        for i, (line, amount) in enumerate(lines)
    ]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _lower(label: str) -> str:
    return label if label.startswith("LP") else label[0].lower() + label[1:]


def _first_facts(report: RetrospectiveReport, money: MoneyStyle) -> list[Figure]:
    against = (market_figure(report), benchmark_figure(report, money))
    rows = [_acting(report, money), *filter(None, against)]
    rows += _extremes(report, money)
    rows += _decisions(report)
    if report.playbook_proposals:
        changes = map(describe_change, report.playbook_proposals[:_NAMED])
        ops = [f"{short_name(name)}: {change}" for change, name in changes]
        number = len(report.playbook_proposals)
        remainder = f" and {number - _NAMED} more" if number > _NAMED else ""
        rows.append(Figure("Proposed", str(number), ", ".join(ops) + remainder))
    size = count(report.resolved_decisions, "resolved decision")
    rows.append(Figure("Confidence", ratio(report.confidence), f"from {size}: n / (n + 10)"))
    return rows


def _decisions(report: RetrospectiveReport) -> list[Figure]:
    """Which heuristics want a decision: named are those whose evidence carries it, the others counted."""
    wanted, named = wanting(report.heuristic_performance), carried(report.heuristic_performance)
    if not wanted:
        return []
    names = [f"{short_name(row.heuristic_id)} {VERDICTS[row.recommendation.kind]}" for row in named[:_NAMED]]
    remainder = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    weak = len(wanted) - len(named)
    note = ", ".join(names) + remainder
    if weak:
        counted = f"{weak}{' more' if named else ''} by the thresholds, on weak evidence"
        note = f"{note}; {counted}" if note else counted
    return [
        Figure(
            "Wants a decision", f"{len(named)}" if named else "None yet", note, "warn" if named else "plain"
        )
    ]


def _acting(report: RetrospectiveReport, money: MoneyStyle) -> Figure:
    effectiveness = report.effectiveness
    total, rate = effectiveness.sum_vs_inaction, effectiveness.inaction_superiority_rate
    standing = report.open_positions
    figure, tone = standing.beside(total, money), tone_of(standing.lower(total))
    if total is None:
        note = "; ".join(filter(None, ("no position was closed in the period", standing.words(money))))
        return Figure("Against doing nothing", money.change(None), note)
    verb = "beat" if total > 0 else "lost to" if total < 0 else "came to the same as"
    note = f"acting {verb} doing nothing over {count(effectiveness.closed_positions, 'closed position')}"
    if standing.size:
        note += f", {standing.words(money)}"
    if rate is not None:
        of_closed = " of the closed" if standing.size else ""
        note += f"; doing nothing was better for {percent(rate)}{of_closed}"
    if cash := cash_note(report):
        note += f"; {cash}"
    return Figure("Against doing nothing", figure, note, tone)


def _extremes(report: RetrospectiveReport, money: MoneyStyle) -> list[Figure]:
    extremes = extremes_of(report.positions)
    if extremes is None:
        return [Figure("Best position", money.change(None), "no position in the period")]
    if extremes.size == 1:
        return [_extreme("Only position", extremes.best, money)]
    if extremes.still:
        return [Figure("Best position", money.change(None), f"all {extremes.size:,} stood still")]
    return [
        _extreme("Best position", extremes.best, money),
        _extreme("Worst position", extremes.worst, money),
    ]


def _extreme(label: str, p: PositionRetrospective, money: MoneyStyle) -> Figure:
    holding_time = f"{'open for' if p.open else 'held'} {duration(p.duration_s)}"
    return Figure(
        label,
        money.change(p.period_pnl),
        f"{short_name(instrument_label(p))}, {short_name(p.position_id)}, {holding_time}",
        tone_of(p.period_pnl),
        PositionReference(p.agent, p.position_id),
    )

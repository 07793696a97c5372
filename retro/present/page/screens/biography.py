"""A rule's biography: what is made of it now, its odds by week against the line they have to cross, and each week."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, interval, money_of, odds, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Page,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.labels import ROLES, VERDICTS, verdict_tone
from retro.present.page.odds import (
    every_look,
    in_unit,
    odds_chart,
    odds_in_words,
    ripeness_in_words,
    stopped_in_words,
)
from retro.present.page.screens.lists import short_verdict
from retro.present.references import ReviewReference

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block
    from retro.report import HeuristicReport
    from retro.report.heuristic import RuleBiography, RuleChapter, ToldWeek

__all__ = ["page_of_biography", "unjudged_page"]

_SHOWN: Final = 104
_SHORT: Final = {"r": "R", "bps": "bps"}


def page_of_biography(life: RuleBiography) -> Page:
    """One rule, a section for each role in which it is cited."""
    means = [week.mean for chapter in life.chapters for week in chapter.weeks if week.unit == "usd"]
    money = money_of(life.base_currency, means)
    newest = max((chapter for chapter in life.chapters), key=lambda chapter: chapter.weeks[-1].n)
    week = newest.weeks[-1]
    headline = Headline(
        kicker=f"Rule of {life.agent}",
        title=life.rule,
        subtitle=life.text or life.reasons.get("text", ""),
        result=f"{VERDICTS[week.verdict]}, {'no evidence' if week.evidence == 'none' else f'{week.evidence} evidence'}",
        why="" if newest.newest is None else _sentence(newest.newest),
        tone=verdict_tone(week.verdict),
        facts=(Figure("From", life.review, ref=ReviewReference(life.review)),),
    )
    sections = tuple(_chapter(chapter, life, money) for chapter in life.chapters)
    foot = "Verdict: what the thresholds say of that week; evidence: how sure that is, in odds that hold at every look."
    return Page(headline, sections, (foot,))


def unjudged_page(agent: str, rule: str, why: str) -> Page:
    """A rule that some position cites and no week has judged."""
    return Page(Headline(f"Rule of {agent}", rule, "", why, "", "plain"), ())


def _sentence(row: HeuristicReport) -> str:
    return "" if row.e_against is None and row.e_for is None else f"{odds_in_words(row)}."


def _chapter(chapter: RuleChapter, life: RuleBiography, money: MoneyStyle) -> Section:
    """Its odds by week with the line at 10 to 1, what it is worth now, and every week that told of it."""
    blocks: list[Block] = []
    row = chapter.newest
    if row is not None:
        blocks.append(FigureList(tuple(_figures(row, life, money))))
        if (chart := odds_chart([row], whole_life=True)) is not None:
            blocks.append(chart)
    blocks.append(_weeks(chapter, money))
    title = f"Cited at the {ROLES.get(chapter.role, chapter.role)}"
    return Section(f"role-{chapter.role}", title, tuple(blocks), count(len(chapter.weeks), "week"))


def _figures(row: HeuristicReport, life: RuleBiography, money: MoneyStyle) -> list[Figure]:
    figures = [
        Figure(
            "Mean outcome",
            DASH if row.evidence_avg is None else in_unit(row.evidence_avg, row, money),
            every_look(row),
            tone_of(row.evidence_avg),
        ),
        Figure("Outcomes", f"{row.evidence_n:,}", f"{count(row.bets, 'complete week')} bet on"),
    ]
    for label, words in (
        ("Ripens", ripeness_in_words(row, life.period_end)),
        ("Alarm", stopped_in_words(row)),
    ):
        if words:
            figures.append(Figure(label, "", words, "warn" if label == "Alarm" else "plain"))
    return figures


def _weeks(chapter: RuleChapter, money: MoneyStyle) -> Table:
    """The newest week first; mean and interval are of all outcomes since the text stands."""
    unit = chapter.weeks[-1].unit
    columns = (
        Column("Week", right=False),
        Column("n"),
        Column(f"Mean {_SHORT.get(unit, money.currency)}"),
        Column("95 % at every look", right=False, spare=1),
        Column("Verdict", right=False),
        Column("Evidence", right=False, spare=2),
        Column("Against", spare=3),
        Column("For", spare=4),
    )
    rows = tuple(_week_row(week, money) for week in reversed(chapter.weeks))
    return Table(columns, rows[:_SHOWN], max(0, len(rows) - _SHOWN))


def _week_row(week: ToldWeek, money: MoneyStyle) -> TableRow:
    has_ends = week.low is not None or week.high is not None
    mean = money.signed(week.mean) if week.unit == "usd" else ratio(week.mean)
    return TableRow(
        (
            Cell(week.week, "strong", ReviewReference(week.review)),
            Cell(f"{week.n:,}"),
            Cell(mean, tone_of(week.mean)),
            Cell(interval(week.low, week.high) if has_ends else DASH),
            Cell(short_verdict(week.verdict), verdict_tone(week.verdict)),
            Cell(week.evidence),
            Cell(odds(week.e_against)),
            Cell(odds(week.e_for)),
        )
    )

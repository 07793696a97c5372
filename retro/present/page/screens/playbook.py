"""What is bet on the rules of a playbook, as pages: week by week, and when each can be judged."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.figures import DASH, count, month_text, odds
from retro.present.page.blocks import (
    Cell,
    Column,
    Headline,
    Notes,
    OddsChart,
    OddsLine,
    Page,
    Section,
    Table,
    page_of_blocks,
)
from retro.present.page.labels import verdict_tone
from retro.present.page.odds import monday, odds_in_words
from retro.present.page.screens.lists import short_verdict
from retro.present.references import RuleReference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retro.present.page.blocks import Block
    from retro.report import HeuristicReport
    from retro.report.heuristic import Ripeness

__all__ = ["WeekOdds", "history_page", "ripeness_page"]

_UNITS: Final = {"usd": "", "r": " in R", "bps": " in bps of notional"}


class WeekOdds(NamedTuple):
    """A row at the end of a `week` such as 2026-W10: outcomes that resolved in it, what it changed, what was said then."""

    week: str
    n: int
    x: float
    e_against: float | None
    e_for: float | None
    evidence: str
    verdict: str


def history_page(agent: str, rows: Sequence[tuple[HeuristicReport, Sequence[WeekOdds]]]) -> Page:
    """Every complete week of what an agent cited, as it stood at that week's end, with both bets drawn."""
    sections = tuple(
        Section(f"rule-{i}", "Week by week", _weeks(row, weeks), f"{row.heuristic_id} ({row.role})")
        for i, (row, weeks) in enumerate(rows)
        if weeks
    )
    result = count(len(sections), "row")
    return Page(Headline("History", agent, "each complete week of its rules", result, "", "plain"), sections)


def _weeks(row: HeuristicReport, weeks: Sequence[WeekOdds]) -> tuple[Block, ...]:
    columns = (
        Column("Week", right=False),
        Column("Outcomes"),
        Column("Marked"),
        Column("Against it"),
        Column("For it"),
        Column("Evidence", right=False),
        Column("Verdict", right=False),
    )
    cells = [
        (
            Cell(week.week),
            Cell(f"{week.n:,}"),
            Cell(f"{week.x:+,.2f}"),
            Cell(odds(week.e_against)),
            Cell(odds(week.e_for)),
            Cell(week.evidence),
            Cell(short_verdict(week.verdict), verdict_tone(week.verdict)),
        )
        for week in weeks
    ]
    table = Table.of(columns, cells, f"Marked: money{_UNITS[row.threshold_unit]} as the marks had it.")
    return (*_drawn(row, weeks), table)


def _drawn(row: HeuristicReport, weeks: Sequence[WeekOdds]) -> Iterator[OddsChart]:
    """Both bets from the first week on which something was bet."""
    bets = [
        (week.week, week.e_against, week.e_for)
        for week in weeks
        if week.e_against is not None and week.e_for is not None
    ]
    if bets:
        named, against, in_favour = zip(*bets, strict=True)
        yield OddsChart(
            (OddsLine(row.heuristic_id, row.role, monday(named[0]), against, in_favour, odds_in_words(row)),)
        )


def ripeness_page(agent: str, rows: Sequence[Ripeness]) -> Page:
    """When each heuristic can be judged at the rate at which it holds something, or why nobody can say."""
    columns = (
        Column("Cited", right=False, cut=18),
        Column("Role", right=False),
        Column("Weeks bet on"),
        Column("Weeks to go"),
        Column("About", right=False),
        Column("Stopped working", right=False),
    )
    cells = [
        (
            Cell(row.heuristic, "strong", RuleReference(agent, row.heuristic)),
            Cell(row.role),
            Cell(f"{row.bets:,}"),
            Cell(DASH if row.weeks_to_verdict is None else f"{row.weeks_to_verdict:,}"),
            Cell(DASH if row.date is None else month_text(date.fromisoformat(row.date))),
            Cell(_stopped(row)),
        )
        for row in rows
    ]
    note = f"Weeks to go: until 10 to 1, were its average just the threshold. {count(len(rows), 'row')}."
    unripe = _unripe(rows)
    blocks: list[Block] = [Table.of(columns, cells, note)]
    if unripe:
        advice = "Citing a rule more often shortens its wait; judging in R may, too."
        blocks.append(Notes((*unripe, advice)))
    judged = sum(row.weeks_to_verdict is not None for row in rows)
    return page_of_blocks(
        "Ripening",
        agent,
        "when each can be judged",
        f"{judged} of {count(len(rows), 'row')} with a date",
        blocks,
    )


def _stopped(row: Ripeness) -> str:
    stopped = row.stopped_working
    if stopped is None:
        return DASH
    return f"since {stopped['since']}" if stopped["alarm"] else "no"


def _unripe(rows: Sequence[Ripeness]) -> tuple[str, ...]:
    """Why rows have no date, those of one reason together."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.weeks_to_verdict is None:
            why = row.reasons.get("weeks_to_verdict", "not known")
            names.setdefault(why, []).append(f"{row.heuristic} ({row.role})")
    return tuple(f"{why}: {', '.join(cited)}" for why, cited in names.items())

"""The weeks of a life as a section of its page: where it goes, and each week in a row."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, percent
from retro.present.page.blocks import Cell, Column, Figure, FigureList, Section, Table, TableRow, tone_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.report.life import LifeReport, LifeWeek

__all__ = ["weeks_section"]

_SHOWN: Final = 26
_LATELY: Final = 4
_NOISY_BELOW: Final = 8
_OPTIONAL: Final = frozenset({3, 4, 5, 8})
"""Columns that may be without any figure: equity, return, fall and comparison, where no capital is known or none closed."""


def weeks_section(report: LifeReport, money: MoneyStyle) -> Section | None:
    """The newest half year week by week, the last four against the four before, the best and the worst."""
    weeks = report.weeks
    if not weeks:
        return None
    blocks = (FigureList(tuple(_trend(weeks, money))), _table(report, money))
    aside = count(len(weeks), "week")
    return Section("weeks", "Week by week", blocks, f"noisy: {aside}" if len(weeks) < _NOISY_BELOW else aside)


def _trend(weeks: Sequence[LifeWeek], money: MoneyStyle) -> list[Figure]:
    up = sum(week.pnl > 0 for week in weeks)
    best, worst = max(weeks, key=lambda week: week.pnl), min(weeks, key=lambda week: week.pnl)
    facts = [Figure("Weeks up", f"{up} of {len(weeks)}")]
    if len(weeks) >= 2 * _LATELY:
        lately = fsum(week.pnl for week in weeks[-_LATELY:])
        before = fsum(week.pnl for week in weeks[-2 * _LATELY : -_LATELY])
        note = f"{money.change(before)} in the {_LATELY} before"
        facts.append(Figure(f"Last {_LATELY} weeks", money.change(lately), note, tone_of(lately)))
    if len(weeks) > 1:
        facts.append(Figure("Best week", money.change(best.pnl), best.week, tone_of(best.pnl)))
        facts.append(Figure("Worst week", money.change(worst.pnl), worst.week, tone_of(worst.pnl)))
    return facts


def _table(report: LifeReport, money: MoneyStyle) -> Table:
    """The weeks in which something moved, the newest first; the quiet ones are counted, columns without a figure left out."""
    columns = (
        Column("Week", right=False),
        Column(money.currency or "PnL"),
        Column("So far"),
        Column("Equity", spare=2),
        Column("Return", spare=3),
        Column("Below the peak", spare=4),
        Column("Closed"),
        Column("Won"),
        Column("vs inaction", spare=1),
    )
    weeks = report.weeks
    moved = [week for week in weeks if not _is_quiet(week)]
    rows = [
        TableRow(
            (
                Cell(week.week, "strong"),
                Cell(money.signed(week.pnl), tone_of(week.pnl)),
                Cell(money.signed(week.cumulative_pnl)),
                Cell(money.plain(week.equity)),
                Cell(percent(week.growth, 2)),
                Cell(percent(week.drawdown, 1)),
                Cell(f"{week.closed_positions:,}"),
                Cell(f"{week.wins:,}"),
                Cell(money.signed(week.vs_inaction), tone_of(week.vs_inaction)),
            )
        )
        for week in reversed(moved)
    ]
    filled = [
        i for i in range(len(columns)) if i not in _OPTIONAL or any(row.cells[i].text != DASH for row in rows)
    ]
    note = "the newest first; the first and the last week may be short"
    if len(moved) < len(weeks):
        note += f"; {count(len(weeks) - len(moved), 'week')} left out: nothing was closed and nothing moved"
    if report.open_positions.size:
        note += f"; won and vs inaction are of closed ones, {report.open_positions.words(money)}"
    if not any(week.equity is not None for week in weeks):
        note += "; without equity and return: the agent's capital is not known"
    shown = tuple(TableRow(tuple(row.cells[i] for i in filled)) for row in rows[:_SHOWN])
    return Table(tuple(columns[i] for i in filled), shown, max(0, len(rows) - _SHOWN), note)


def _is_quiet(week: LifeWeek) -> bool:
    """Whether all that a week could tell is absent or 0."""
    return not (week.closed_positions or week.pnl or week.growth)

"""What will be known when, as a page and as a table of Today. Pure."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, date_text
from retro.present.page.blocks import Cell, Column, Headline, Notes, Page, Section, Table, TableRow
from retro.present.page.labels import short_name
from retro.present.references import PositionReference, ReviewReference, RuleReference

if TYPE_CHECKING:
    from retro.present.references import Reference
    from retro.report.today import RipeningRow

__all__ = ["ripening_page", "ripening_table"]

_NAMED: Final = 5


def ripening_page(rows: list[RipeningRow]) -> Page:
    """The whole calendar of what is not known yet: what has a day, then what has none, with each reason once."""
    dated = [row for row in rows if row.date is not None]
    undated = [row for row in rows if row.date is None]
    headline = Headline(
        kicker="Ripening",
        title="What will be known when",
        subtitle="at the rate of outcomes so far",
        result=f"{len(dated):,} with a day, {len(undated):,} without",
        why="",
        tone="plain",
    )
    sections = (
        Section("dated", "With a day", (ripening_table(dated),)) if dated else None,
        Section("undated", "Without", (ripening_table(undated), _reasons(undated))) if undated else None,
    )
    return Page(headline, tuple(section for section in sections if section is not None))


def _reasons(rows: list[RipeningRow]) -> Notes:
    """Why nobody can say when, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        by_reason.setdefault(row.reasons.get("date", ""), []).append(short_name(row.name))
    items = []
    for reason, names in by_reason.items():
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        items.append(f"{', '.join(names[:_NAMED])}{more}: {reason}")
    return Notes(tuple(items))


def ripening_table(rows: list[RipeningRow]) -> Table:
    """What will be known when, in the order given."""
    columns = (
        Column("When", right=False),
        Column("What", right=False),
        Column("Name", right=False, cut=14),
        Column("Agent", right=False, cut=10, spare=1),
        Column("n", spare=2),
    )
    return Table(columns, tuple(map(_ripening_row, rows)))


def _ripening_row(row: RipeningRow) -> TableRow:
    when = DASH if row.date is None else date_text(date.fromisoformat(row.date))
    return TableRow(
        (
            Cell(when),
            Cell(f"{row.role} {row.kind}" if row.role else row.kind),
            Cell(row.name, "strong", _ripening_reference(row)),
            Cell(DASH if row.agent is None else short_name(row.agent)),
            Cell(DASH if row.n is None else f"{row.n:,}"),
        )
    )


def _ripening_reference(row: RipeningRow) -> Reference | None:
    if row.agent is None:
        return None
    if row.kind == "rule":
        return RuleReference(row.agent, row.name)
    if row.kind == "exit":
        return PositionReference(row.agent, row.name)
    return None if row.review is None else ReviewReference(row.review)

"""Where a report's figures come from and how far to trust them: the quality of its data, and its provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import count, moment
from retro.present.page.blocks import Cell, Column, Notes, Prose, Section, Table, TableRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.report import Implausible, RetrospectiveReport, Unpriced

__all__ = ["provenance_lines", "quality_section"]

_LISTED: Final = 15


def quality_section(report: RetrospectiveReport, money: MoneyStyle) -> Section:
    """What to keep in mind: implausible positions apart, missing marks, warnings, foreign rows left out."""
    quality = report.data_quality
    blocks: list[Prose | Notes | Table] = []
    if quality.provisional:
        blocks.append(
            Prose("Provisional: some marks are missing or old, so figures may still change.", tone="warn")
        )
    if quality.missing_marks:
        blocks.append(_notes(quality.missing_marks))
    if quality.unpriced:
        blocks.append(
            _notes(
                [
                    f"{row.position_id}: open, and no mark says what it is worth" + _cost(row, money)
                    for row in quality.unpriced
                ]
            )
        )
    if quality.implausible:
        blocks.append(_implausible(quality.implausible, money))
    if quality.warnings:
        blocks.append(_notes(quality.warnings))
    if quality.quarantined:
        rows_left = count(quality.quarantined, "foreign row")
        blocks.append(
            Prose(f"{rows_left} could not be used, or not as told: `retro faults` lists them.", tone="warn")
        )
    if not blocks:
        blocks.append(
            Prose("Nothing to report: no result lacked a mark, every row was used, every fill is believable.")
        )
    return Section("quality", "Data quality", tuple(blocks))


def _cost(row: Unpriced, money: MoneyStyle) -> str:
    return "" if row.cost is None else f"; it cost {money.amount(row.cost)}"


def _implausible(positions: Sequence[Implausible], money: MoneyStyle) -> Table:
    unit = f" ({money.currency})" if money.currency else ""
    columns = (
        Column("Implausible, kept apart", right=False, cut=12),
        Column("Why", right=False, cut=20),
        Column(f"Claimed{unit}"),
    )
    rows = tuple(
        TableRow((Cell(row.position_id), Cell(row.reason), Cell(money.signed(row.pnl))))
        for row in positions[:_LISTED]
    )
    note = (
        "What they made is a line of its own in the attribution; a gain enters no rate, return or audit, a loss does. If the"
        " fills are right, `retro positions confirm ID`; if nothing of one is, `retro positions reject ID`."
    )
    return Table(columns, rows, omitted=len(positions) - len(rows), note=note)


def _notes(items: list[str]) -> Notes:
    return Notes(tuple(items[:_LISTED]), max(0, len(items) - _LISTED), "warn")


def provenance_lines(report: RetrospectiveReport) -> tuple[str, ...]:
    """Same facts, same bytes: what to compare when two reviews differ."""
    source, known_until = report.provenance, f"{moment(report.known_until)} UTC"
    asked = f", words asked for by {report.narrative.prompt}" if report.narrative.prompt else ""
    return (
        f"{report.id}, revision {report.revision}",
        f"knows the agent's events until {known_until}; written for {moment(report.generated_at)} UTC",
        f"slow-mirror {source.code_version}, data {source.data_digest[:16]}, seed {source.seed}{asked}",
    )

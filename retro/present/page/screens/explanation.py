"""Where a figure comes from, as a page: its definition, the figures beside it, the lines of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, moment
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Section,
    Table,
    TableRow,
)
from retro.present.page.labels import figure_name
from retro.present.references import ExplanationReference, ReviewReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.report.explanation import Explanation, FigureValue

__all__ = ["figures_page", "page_of_explanation"]

_KICKER: Final = "Where it comes from"
_MONEY: Final = "money"
"""How the unit begins of what is an amount of an agent's currency."""
_CUT: Final = 400
"""Letters of a journal's line that are shown: the document has them all."""
_ROWS: Final = 300
"""Figures that a list shows: more are a wall."""


def page_of_explanation(explanation: Explanation, currency: str = "") -> Page:
    """The figure exactly as it is stored, to its last digit, and what it rests on; money is in `currency`."""
    figure, definition = explanation.figure, explanation.definition
    meaning = figure.reason
    if not meaning and definition is not None:
        meaning = definition.meaning or definition.unit
    is_money = definition is not None and definition.unit.startswith(_MONEY) and figure.value is not None
    headline = Headline(
        kicker=_KICKER,
        title=figure_name(figure.name.rpartition(".")[2]).capitalize(),
        subtitle=f"{figure.name} of {explanation.review}",
        result=f"{_text(figure)} {currency}".strip() if is_money else _text(figure),
        why=meaning[:1].upper() + meaning[1:],
        tone="plain",
        facts=(Figure("Review", explanation.review, ref=ReviewReference(explanation.review)),),
    )
    sections = [_definition(explanation), _beside(explanation), _lines(explanation)]
    return Page(headline, tuple(section for section in sections if section is not None))


def figures_page(review: str, figures: Sequence[FigureValue]) -> Page:
    """Every figure of a review, each with a way to where it comes from."""
    headline = Headline(
        _KICKER, review, "every figure as it is stored", count(len(figures), "figure"), "", "plain"
    )
    return Page(headline, (Section("figures", "Figures", (_table(review, figures),)),))


def _definition(explanation: Explanation) -> Section:
    definition = explanation.definition
    if definition is None:
        return Section("definition", "Definition", (Notes(("docs/figures.md has no row of it.",)),))
    rows = [Figure("Unit and sign", "", definition.unit)]
    if definition.section:
        rows.append(Figure("Defined in", "", definition.section))
    rows.append(Figure("Computed by", "", ", ".join(definition.computed_by)))
    return Section("definition", "Definition", (FigureList(tuple(rows)),), "docs/figures.md")


def _beside(explanation: Explanation) -> Section | None:
    if not explanation.beside:
        return None
    table = _table(explanation.review, explanation.beside)
    return Section("beside", "What stands beside it", (table,), "as stored")


def _table(review: str, figures: Sequence[FigureValue]) -> Table:
    columns = (
        Column("Figure", right=False, cut=20),
        Column("Value", cut=12),
        Column("Absent because", right=False, cut=12),
    )
    rows = tuple(
        TableRow(
            (
                Cell(figure.name, ref=ExplanationReference(review, figure.name)),
                Cell(_text(figure)),
                Cell(figure.reason),
            )
        )
        for figure in figures[:_ROWS]
    )
    return Table(columns, rows, omitted=len(figures) - len(rows))


def _lines(explanation: Explanation) -> Section:
    """What it rests on, a page of it, as the agent wrote it."""
    if explanation.position is not None:
        note = f"Every event that names {explanation.position}, and the marks of what they name."
    else:
        kinds = f" of type {', '.join(explanation.types)}" if explanation.types else ""
        start, end = moment(explanation.start), moment(explanation.end)
        note = f"Events{kinds} from {start} to {end} UTC, and the marks of what they name."
    columns = (
        Column("At (UTC)", right=False),
        Column("Type", right=False),
        Column("Id", right=False, cut=8),
        Column("As it was written", right=False, cut=20),
    )
    rows = tuple(
        TableRow(
            (Cell(moment(line.at)), Cell(line.type), Cell(line.id), Cell(_shortened(line.line), "faint"))
        )
        for line in explanation.lines
    )
    table = Table(columns, rows, note=note)
    blocks = (table,) if rows else (Notes((note, "There are none.")),)
    return Section("lines", "Lines of the journal", blocks, count(explanation.count, "event"))


def _shortened(line: str) -> str:
    return line if len(line) <= _CUT else f"{line[:_CUT]} ..."


def _text(figure: FigureValue) -> str:
    """The value to its last digit: nothing is rounded where somebody asks where it comes from."""
    return DASH if figure.value is None else f"{figure.value!r}".strip("'\"")

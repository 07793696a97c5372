"""Whether the memory helps, as a page: the ways of sizing beside each other, whatever comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count
from retro.present.page.blocks import Cell, Column, Headline, Notes, Page, Section, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.advice.backtest import Approach, Difference, Validation

__all__ = ["validation_page"]

_FIGURES: Final = ("net_pnl", "profit_factor", "sharpe", "max_drawdown", "calmar", "mean_stake")
_SHARES: Final = ("net_pnl", "max_drawdown", "mean_stake", "recall_precision", "alike_precision")


def validation_page(agent: str, validation: Validation, split_at: str) -> Page:
    """A replay of a history from `split_at` on: fixed size, simple, recency and memory Kelly, and memory less each."""
    head = Headline(
        "Recall",
        agent,
        f"{count(validation.trades, 'trade')} from {split_at} on; {validation.known_before} known before",
        validation.verdict.replace("_", " "),
        "Stakes are shares of the starting capital put at one R; nothing is compounded.",
        "plain",
    )
    notes = [
        f"of five memories, {words}: {share:.1%} turned out with the sign of the trade"
        for share, words in (
            (validation.precision, "the best recalled (they lean to winners)"),
            (validation.precision_alike, "the most alike"),
            (validation.precision_recent, "the latest"),
        )
        if share is not None
    ]
    notes += validation.reasons.values()
    sections = [
        Section("sizing", "Ways of sizing", (_approaches(validation.approaches, validation.trades),)),
        Section("differences", "Memory less another", (_differences(validation.differences),)),
    ]
    if notes:
        sections.append(Section("notes", "What else it says", (Notes(tuple(notes)),)))
    return Page(head, tuple(sections))


def _approaches(rows: Sequence[Approach], trades: int) -> Table:
    names = ("Sizing", "Net PnL", "Profit factor", "Sharpe", "Max drawdown", "Calmar", "Mean stake", "Sized")
    cells = [
        (
            Cell(row.name.replace("_", " "), "strong"),
            *(Cell(_metric_text(name, getattr(row, name))) for name in _FIGURES),
            Cell(f"{trades - row.unknown} of {trades}"),
        )
        for row in rows
    ]
    return Table.of([Column(name, right=name != "Sizing") for name in names], cells)


def _differences(rows: Sequence[Difference]) -> Table:
    columns = (
        Column("Less", right=False),
        Column("in", right=False),
        Column("is"),
        Column("95 % interval", right=False),
    )
    cells = [
        (
            Cell(row.against.replace("_", " ")),
            Cell(row.metric.replace("_", " ")),
            Cell(_metric_text(row.metric, row.value, "+")),
            Cell(
                "undefined too often"
                if row.interval is None
                else " to ".join(_metric_text(row.metric, end, "+") for end in row.interval)
            ),
        )
        for row in rows
    ]
    return Table.of(columns, cells)


def _metric_text(metric: str, value: float | None, sign: str = "") -> str:
    if value is None:
        return DASH
    return f"{value:{sign}.2%}" if metric in _SHARES else f"{value:{sign}.2f}"

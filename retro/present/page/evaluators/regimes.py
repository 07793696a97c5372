"""Regimes on the page of an epoch: what was made in which, and what each rule earns where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import count, odds, percent, ratio
from retro.present.page.blocks import Cell, Column, Prose, Section, Table, TableRow, tone_of
from retro.present.page.labels import short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block
    from retro.report import RegimeAnalysis, RegimeRow, RuleInRegime

__all__ = ["contrast_text", "regimes_section"]

_SHOWN: Final = 12
_UNITS: Final = {"r": "R", "bps": "basis points"}
_RANK: Final = {"supported": 0, "suggestive": 1, "weak": 2, "none": 3}


def regimes_section(analysis: RegimeAnalysis | None, money: MoneyStyle) -> Section | None:
    """By regime, and rules by regime; None for a review that does not say it, and where there is nothing to say."""
    if analysis is None or not (analysis.regimes or analysis.unlabelled):
        return None
    blocks: list[Block] = [Prose(f"{text}.", tone="warn") for text in contrast_text(analysis)]
    if analysis.regimes:
        blocks.append(_regimes(analysis.regimes, money))
    if analysis.heuristics:
        blocks.append(_rules(analysis.heuristics, _UNITS.get(analysis.threshold_unit, money.currency)))
    if analysis.unlabelled:
        number = f"{count(analysis.unlabelled, 'closed position')} without a regime"
        blocks.append(Prose(f"{number}: {analysis.reasons['unlabelled']}.", tone="faint"))
    aside = f"{money.currency}, {analysis.source}" if money.currency else analysis.source
    return Section("regimes", "By regime", tuple(blocks), aside)


def contrast_text(analysis: RegimeAnalysis) -> list[str]:
    """What may be said of rules: H-3 earns in ranging markets and loses in trending ones (34 to 1)."""
    return [
        f"{short_name(row.heuristic)} earns in {short_name(row.earns_in)} markets and loses in"
        f" {short_name(row.loses_in)} ones: supported ({odds(row.e)})"
        for row in analysis.contrasts
        if row.is_supported
    ]


def _regimes(rows: Sequence[RegimeRow], money: MoneyStyle) -> Table:
    columns = (
        Column("Regime", right=False, cut=12),
        Column("Closed"),
        Column("PnL"),
        Column("vs inaction", spare=1),
        Column("Won"),
        Column("Mean R", spare=2),
        Column("Of the time", spare=3),
    )
    by_size = sorted(rows, key=lambda row: (-row.n, row.regime))
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(short_name(row.regime), "strong"),
                    Cell(f"{row.n:,}"),
                    Cell(money.signed(row.pnl), tone_of(row.pnl)),
                    Cell(money.signed(row.vs_inaction), tone_of(row.vs_inaction)),
                    Cell(percent(row.win_rate)),
                    Cell(ratio(row.mean_r)),
                    Cell(percent(row.share_of_time)),
                )
            )
            for row in by_size[:_SHOWN]
        ),
        omitted=max(0, len(by_size) - _SHOWN),
    )


def _rules(rows: Sequence[RuleInRegime], unit: str) -> Table:
    columns = (
        Column("Rule", right=False, cut=8),
        Column("Regime", right=False, cut=12),
        Column("n"),
        Column("Average"),
        Column("For it", spare=1),
        Column("Against it", spare=1),
        Column("Evidence", right=False),
    )
    place = {id(row): number for number, row in enumerate(rows)}
    surest = sorted(rows, key=lambda row: (_RANK[row.evidence], -row.n, place[id(row)]))[:_SHOWN]
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(short_name(row.heuristic), "strong"),
                    Cell(short_name(row.regime)),
                    Cell(f"{row.n:,}"),
                    Cell(ratio(row.average), tone_of(row.average)),
                    Cell(odds(row.e_for)),
                    Cell(odds(row.e_against)),
                    Cell(row.evidence),
                )
            )
            for row in sorted(surest, key=lambda row: place[id(row)])
        ),
        omitted=max(0, len(rows) - _SHOWN),
        note=f"Average in {unit}, of all complete weeks since the rule's text stands; rows and contrasts are one family.",
    )

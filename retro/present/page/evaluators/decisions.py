"""What decisions rested on and what else could have been, as pages: context, tiers of inference, dreams, shadows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.figures import DASH, count, money_of, percent, ratio
from retro.present.page.blocks import Cell, Column, Notes, Table, page_of_blocks, tone_of
from retro.present.references import PositionReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block, Page
    from retro.report.evaluators.context import ContextItem
    from retro.report.evaluators.dreams import Dream
    from retro.report.evaluators.shadows import ShadowRow
    from retro.report.evaluators.tiers import TierAdvice, TierReport

__all__ = ["page_of_attribution", "page_of_dreams", "page_of_shadows", "page_of_tiers"]


def page_of_attribution(agent: str, rows: Sequence[ContextItem]) -> Page:
    """What was in front of the agent when it decided well: each item with its worth."""
    columns = (
        Column("Item", right=False, cut=14),
        Column("Seen"),
        Column("Weight"),
        Column("Value"),
        Column("Recall"),
        Column("Lift"),
        Column("q"),
        Column("Last", right=False),
    )
    cells = [
        (
            Cell(row.item, "strong"),
            Cell(f"{row.appearances:,}"),
            Cell(f"{row.weight:.1f}"),
            Cell(f"{row.value:+.2f}", tone_of(row.value)),
            Cell(f"x{row.multiplier:.2f}"),
            Cell(DASH if row.lift is None else f"{row.lift:+.2f}"),
            Cell(ratio(row.q, 3)),
            Cell(row.last_at[:10]),
        )
        for row in rows
    ]
    note = (
        "Value: how decisions with it turned out, -1 to 1, newer ones weighing more. Lift: mean with it less mean"
        " without; q: by chance, over all items. Presence is not cause: what is there when it is easy looks good."
    )
    table = Table.of(columns, cells, note)
    return page_of_blocks(
        "Attribution", agent, "what was in front of it when it decided", count(len(rows), "item"), (table,)
    )


def page_of_tiers(agent: str, report: TierReport, currency: str) -> Page:
    """How often each tier of inference was right and for what price, then what follows for each category."""
    columns = (
        Column("Category", right=False, cut=12),
        Column("Tier", right=False),
        Column("n"),
        Column("Right"),
        Column("Without"),
        Column("Gain"),
        Column("Each costs"),
        Column("Gain per 1"),
    )
    cells = [
        (
            Cell(row.category, "strong"),
            Cell(row.tier),
            Cell(f"{row.n:,}"),
            Cell(percent(row.accuracy)),
            Cell(f"{percent(row.baseline)} ({row.baseline_n:,})"),
            Cell(f"{row.gain * 100:+.1f}", tone_of(row.gain)),
            _three_digits(row.cost_per_prediction),
            _three_digits(row.effectiveness),
        )
        for row in report.rows
    ]
    note = (
        f"Without: what costs nothing gets right (of how many). Gain: points beyond it. Costs in {currency}."
        " Hard questions go to the higher tier: this compares what was asked, not the models."
    )
    blocks: list[Block] = [Table.of(columns, cells, note)]
    if report.recommendation:
        blocks.append(Notes(tuple(map(_advice, report.recommendation))))
    result = count(sum(row.n for row in report.rows), "judged prediction")
    return page_of_blocks("Tiers", agent, "what its tiers of inference were worth", result, blocks)


def _three_digits(value: float | None) -> Cell:
    return Cell(DASH if value is None else f"{value:.3g}")


def _advice(advice: TierAdvice) -> str:
    within = "" if advice.difficulty is None else f" ({advice.difficulty})"
    reason = advice.reason.partition("; hard questions")[0]
    return f"{advice.category}{within}: {advice.kind}. {reason}."


def page_of_dreams(agent: str, rows: Sequence[Dream], currency: str) -> Page:
    """Positions whose first hours said another thing than their end."""
    money = money_of(currency, [amount for row in rows for amount in (row.immediate, row.retrospective)])
    columns = (
        Column("Position", right=False, cut=10),
        Column("Entered", right=False),
        Column("At first"),
        Column("In the end"),
        Column("Turn", spare=2),
        Column("Done", spare=3),
        Column("Better", right=False),
        Column("By", spare=1),
        Column("p"),
    )
    cells = [
        (
            Cell(row.position, "strong", PositionReference(agent, row.position)),
            Cell(row.at[:10]),
            Cell(_at_first(row, money)),
            Cell(money.signed(row.retrospective), tone_of(row.retrospective)),
            Cell(percent(row.reversal)),
            Cell(f"{row.replays:,}"),
            Cell(DASH if row.counterfactual is None else row.counterfactual.rule),
            Cell(money.signed(None if row.counterfactual is None else row.counterfactual.difference)),
            Cell(ratio(None if row.counterfactual is None else row.counterfactual.p_max)),
        )
        for row in rows
    ]
    note = (
        f"{currency}. In the end: against doing nothing. Turn: how far apart both are, of the entry's size."
        " Better: the best of 24 ways to leave, by what it changes over all positions like it together; p: luck would do as well. It is hindsight. --json tells context and beliefs."
    )
    table = Table.of(columns, cells, note)
    return page_of_blocks(
        "Dreams", agent, "what is most worth going through again", count(len(rows), "position"), (table,)
    )


def _at_first(row: Dream, money: MoneyStyle) -> str:
    if row.immediate_from == "valence":
        return "felt good" if row.immediate > 0 else "felt bad"
    return f"{money.signed(row.immediate)} {row.immediate_from}"


def page_of_shadows(agent: str, rows: Sequence[ShadowRow], currency: str) -> Page:
    """What-if rules that run beside the real trades, with what each came to."""
    money = money_of(currency, [amount for row in rows for amount in (row.real, row.shadow)])
    columns = (
        Column("Shadow", right=False, cut=12),
        Column("Rule", right=False, cut=10),
        Column("Days"),
        Column("Real"),
        Column("Shadow"),
        Column("Better"),
        Column("Verdict", right=False, cut=12),
    )
    cells = [
        (
            Cell(row.name, "strong"),
            Cell(row.rule or DASH),
            Cell(f"{row.paired}/{row.days}"),
            Cell(money.signed(row.real)),
            Cell(money.signed(row.shadow)),
            Cell(percent(row.outperformance, signed=True), tone_of(row.outperformance)),
            Cell(row.verdict.replace("_", " ")),
        )
        for row in rows
    ]
    parts = [
        f"{currency}. Days: with a difference, of those it has run. Better: than the real result, as a share of its size.",
        *(f"{row.name}: {row.reasons['verdict']}." for row in rows if "verdict" in row.reasons),
        "Nothing of this is applied.",
    ]
    table = Table.of(columns, cells, " ".join(parts))
    return page_of_blocks(
        "Shadows", agent, "what runs beside the real trades", count(len(rows), "shadow"), (table,)
    )

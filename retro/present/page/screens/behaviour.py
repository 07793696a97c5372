"""How an agent stands and what it does again and again, as pages: state, habits, beliefs, markers, plans, Kelly. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retro.figures import DASH, count, duration, interval, money_of, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    Table,
    page_of_blocks,
)
from retro.present.page.screens.lists import day_of_instant
from retro.present.references import ReviewReference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory import Belief, Kelly, Marker, PlanStatus
    from retro.present.page.blocks import Block

__all__ = [
    "belief_lines",
    "beliefs_page",
    "habits_page",
    "kelly_page",
    "markers_page",
    "markers_table",
    "plan_lines",
    "plans_page",
    "situation_words",
    "state_page",
]

_SHARES: Final = frozenset(
    {"confidence", "risk_appetite", "drawdown", "drawdown_state", "win_rate", "kelly", "stability"}
    | {"entry_timing", "exit_timing"}
)
_EQUITIES: Final = frozenset({"equity", "peak_equity"})
_UNITS: Final = {
    "window": " trades",
    "drawdown_state": " of what is tolerated",
    "kelly": " of equity at one R",
    "mean_r": " R",
    "disposition": ", losers held / winners held",
    "loss_aversion": ", median loss / median win",
}


def state_page(agent: str, document: Mapping[str, Any], currency: str) -> Page:
    """How an agent stands, by the JSON of `retro state`; money in `currency`."""
    figures = _figures(document, skip=("agent", "as_of", "history", "reasons"), currency=currency)
    result = (
        f"Halted: {document['halt_reason']}" if document["halted"] else count(document["trades"], "trade")
    )
    return page_of_blocks("State", agent, "how it stands", result, (figures,))


def habits_page(agent: str, documents: Sequence[Mapping[str, Any]]) -> Page:
    """What an agent does again and again with each strategy and symbol, by the JSON of `retro habits`."""
    sections = tuple(
        Section(
            f"habit-{number}",
            f"{document['strategy'] or 'no strategy'} on {document['symbol'] or 'no symbol'}",
            # `drift` is the sentence: what was tested, said exactly
            (
                _figures(
                    {**document, "drift": document["drift"]["words"]},
                    skip=("agent", "strategy", "symbol", "reasons"),
                ),
            ),
        )
        for number, document in enumerate(documents)
    )
    result = count(len(sections), "habit")
    return Page(Headline("Habits", agent, "what it does again and again", result, "", "plain"), sections)


def beliefs_page(agent: str, rows: Sequence[Belief]) -> Page:
    """What an agent may believe of its own trades, each with its evidence."""
    return page_of_blocks(
        "Beliefs", agent, "of its own trades", count(len(rows), "belief"), belief_lines(rows)
    )


def belief_lines(rows: Sequence[Belief]) -> tuple[Prose, ...]:
    """A belief each: how sure it is, what it says, and what it rests on."""
    return tuple(
        Prose(f"{row.proposition} ({_evidence(row)})", f"{percent(row.probability)} sure") for row in rows
    )


def _evidence(belief: Belief) -> str:
    """How much it rests on; what an induced belief was made of cannot bear it out."""
    text = f"{count(belief.evidence, 'outcome')}, {belief.source}"
    after = belief.confirmed_after + belief.contradicted_after
    if belief.source != "induced":
        return text
    if not after:
        return f"{text}; not tested since"
    return f"{text}; since then {belief.confirmed_after} of {after} bear it out"


def markers_page(agent: str, rows: Sequence[Marker], unit: str) -> Page:
    """Situations that felt better than they were; a marker's size is measured in `unit`."""
    is_in_unit = all(row.scale == 1.0 for row in rows)
    size = f"10 {unit}" if is_in_unit else "10 usual outcomes of the agent"
    words = (
        "Regret: lost to doing nothing.",
        "MissedExit: left at the wrong moment.",
        f"Sure: 100 % from {size} up.",
    )
    subtitle = "what felt better than it was"
    return page_of_blocks(
        "Markers", agent, subtitle, count(len(rows), "marker"), (markers_table(rows), Notes(words))
    )


def markers_table(rows: Sequence[Marker]) -> Table:
    """Markers in the order given: the decision, its situation, what it left and how sure that is."""
    columns = (
        Column("Decision", right=False, cut=14),
        Column("Situation", right=False, cut=20),
        Column("Marker", right=False),
        Column("Sure"),
        Column("Judged", right=False),
    )
    cells = (
        (
            Cell(row.episode, "strong", ReviewReference(row.review)),
            Cell(situation_words(row.context)),
            Cell(row.outcome),
            Cell(percent(row.confidence)),
            Cell(day_of_instant(row.at)),
        )
        for row in rows
    )
    return Table.of(columns, cells)


def situation_words(context: Mapping[str, Any]) -> str:
    """What was stated of a situation, field by field."""
    return ", ".join(f"{name} {value}" for name, value in context.items()) or "none stated"


def plans_page(agent: str, rows: Sequence[PlanStatus]) -> Page:
    """What an agent means to do when a situation comes, and how that went."""
    return page_of_blocks("Plans", agent, "what it means to do", count(len(rows), "plan"), plan_lines(rows))


def plan_lines(rows: Sequence[PlanStatus]) -> tuple[Prose, ...]:
    """A plan each: how it stands, what it does, and why."""
    return tuple(
        Prose(f"{row.plan.action.get('type', DASH)}: {row.plan.reasoning}", f"{row.plan.id}  {row.status}")
        for row in rows
    )


def kelly_page(agent: str, situation: str, advice: Kelly) -> Page:
    """What share of equity to put at one R in a situation, and what that rests on."""
    result = "Unknown" if advice.fraction is None else f"{advice.fraction:.2%} of equity at one R"
    figures = FigureList(
        (
            Figure("Effective outcomes", f"{advice.effective_n:.1f}"),
            Figure("Won", percent(advice.p)),
            Figure("Mean win", DASH if advice.win_r is None else f"{ratio(advice.win_r)} R"),
            Figure("Mean loss", DASH if advice.loss_r is None else f"{ratio(advice.loss_r)} R"),
        )
    )
    blocks: tuple[Block, ...] = (Notes((f"{advice.why}; advisory.",)), figures)
    return page_of_blocks("Kelly", agent, situation, result, blocks)


def _figures(document: Mapping[str, Any], *, skip: Sequence[str], currency: str = "") -> FigureList:
    """One figure a line, with its unit; one that is not known says why."""
    reasons = document["reasons"]
    rows = []
    for name, value in document.items():
        if name in skip:
            continue
        label = name.replace("_hold_s_", "_hold_").replace("_", " ").capitalize()
        absent = "unknown" if name in reasons else "none"
        text = absent if value is None else _figure_text(name, value, currency)
        rows.append(Figure(label, text, reasons.get(name, "") if value is None else ""))
    return FigureList(tuple(rows))


def _figure_text(name: str, value: Any, currency: str) -> str:
    """A figure as people read it: shares in percent, times as times, money with its currency."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return interval(*value)
    if not isinstance(value, float):
        return f"{value}{_UNITS.get(name, '')}"
    if name in _SHARES:
        return percent(value, 1) + _UNITS.get(name, "")
    if name in _EQUITIES:
        return money_of(currency, [value]).amount(value)
    if "_hold_s_" in name:
        return duration(value)
    return ratio(value) + _UNITS.get(name, "")

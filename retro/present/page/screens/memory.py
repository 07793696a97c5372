"""What an agent remembers, as pages: how it stands, what it does again and again, and what a situation recalls. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    Table,
)
from retro.present.page.screens.behaviour import belief_lines, markers_table, plan_lines
from retro.present.page.screens.items import item_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory import Belief, Habit, Hit, Marker, PlanStatus, State
    from memory.library.search import ItemHit
    from retro.present.page.blocks import Block, Tone

__all__ = ["memory_page", "recall_page"]

_NO_BELIEF: Final = "They need a pattern that luck cannot explain, or somebody who seeds them."
_NO_MARKER: Final = "No review found a decision that felt better than it was."


def memory_page(
    state: State,
    habits: Sequence[Habit],
    beliefs: Sequence[Belief],
    markers: Sequence[Marker],
    plans: Sequence[PlanStatus],
) -> Page:
    """All that one agent remembers; a part of which there is nothing says so."""
    result = f"Halted: {state.halt_reason}" if state.halted else count(state.trades, "trade")
    sections = (
        Section("habits", "Habits", (_habits(habits),), count(len(habits), "habit")),
        Section(
            "beliefs",
            "Beliefs",
            _or_nothing(belief_lines(beliefs), _NO_BELIEF),
            count(len(beliefs), "belief"),
        ),
        Section(
            "markers",
            "Markers",
            _or_nothing((markers_table(markers),) if markers else (), _NO_MARKER),
            count(len(markers), "marker"),
        ),
        Section(
            "plans", "Plans", _or_nothing(plan_lines(plans), "It plans nothing."), count(len(plans), "plan")
        ),
    )
    tone: Tone = "warn" if state.halted else "plain"
    return Page(Headline("Memory", state.agent, "", result, "", tone, _standing(state)), sections)


def recall_page(agent: str, situation: str, hits: Sequence[Hit], items: Sequence[ItemHit] = ()) -> Page:
    """The memories most like a situation, best first, and texts of the library beside them."""
    lines = tuple(
        Prose(hit.reason, f"{place}. {hit.score:.3f}  {_named(hit)}") for place, hit in enumerate(hits, 1)
    )
    sections = [Section("recalled", "Recalled", _or_nothing(lines, f"{agent} remembers nothing like it."))]
    if items:
        sections.append(Section("texts", "Texts beside them", item_lines(items), count(len(items), "text")))
    number = count(len(hits), "memory", "memories")
    return Page(Headline("Recall", agent, situation, number, "", "plain"), tuple(sections))


def _named(hit: Hit) -> str:
    parts = (str(hit.memory[name]) for name in ("direction", "symbol", "strategy") if hit.memory.get(name))
    return " ".join((hit.id, *parts))


def _standing(state: State) -> tuple[Figure, ...]:
    """How the agent stands; a figure that is not known says why."""

    def share(name: str, value: float | None) -> tuple[str, str]:
        return (percent(value, 1), "") if value is not None else (DASH, state.reasons.get(name, ""))

    streak = (
        count(state.consecutive_losses, "loss", "losses")
        if state.consecutive_losses
        else count(state.consecutive_wins, "win")
    )
    return (
        Figure("Confidence", *share("confidence", state.confidence)),
        Figure("Appetite for risk", *share("risk_appetite", state.risk_appetite)),
        Figure("Drawdown", *share("drawdown", state.drawdown)),
        Figure("In a row", streak),
    )


def _habits(rows: Sequence[Habit]) -> Table | Notes:
    if not rows:
        return _nothing("No closed trade is remembered.")
    columns = (
        Column("Strategy", right=False, cut=10),
        Column("Symbol", right=False, cut=10),
        Column("Trades"),
        Column("Won"),
        Column("Average"),
        Column("Losers held", spare=1),
    )
    cells = (
        (
            Cell(row.strategy or "none", "strong"),
            Cell(row.symbol or "none"),
            Cell(f"{row.trades:,}"),
            Cell(percent(row.win_rate)),
            Cell(DASH if row.mean_r is None else f"{ratio(row.mean_r)} R"),
            Cell(DASH if row.disposition is None else f"{ratio(row.disposition)} x"),
        )
        for row in rows
    )
    return Table.of(columns, cells, "Losers held: so many times as long as winners.")


def _or_nothing(blocks: Sequence[Block], sentence: str) -> tuple[Block, ...]:
    return tuple(blocks) or (_nothing(sentence),)


def _nothing(sentence: str) -> Notes:
    return Notes((sentence,), tone="faint")

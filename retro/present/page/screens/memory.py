"""What an agent remembers, as pages: how it stands, what it does again and again, and what a situation recalls. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.figures import DASH, count, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    Headline,
    Notes,
    Page,
    Section,
    Table,
    TableRow,
)
from retro.present.page.screens.lists import day_of_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory import Belief, Habit, Hit, Marker, PlanStatus, State
    from retro.present.page.blocks import Tone

__all__ = ["memory_page", "recall_page"]


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
        Section("beliefs", "Beliefs", (_beliefs(beliefs),), count(len(beliefs), "belief")),
        Section("markers", "Markers", (_markers(markers),), count(len(markers), "marker")),
        Section("plans", "Plans", (_plans(plans),), count(len(plans), "plan")),
    )
    tone: Tone = "warn" if state.halted else "plain"
    return Page(Headline("Memory", state.agent, "", result, "", tone, _standing(state)), sections)


def recall_page(agent: str, situation: str, hits: Sequence[Hit]) -> Page:
    """The memories most like a situation, best first."""
    columns = (Column("Like it"), Column("Memory", right=False, cut=20), Column("Why", right=False, cut=24))
    table = Table(
        columns,
        tuple(
            TableRow((Cell(f"{hit.score:.3f}"), Cell(_named(hit), "strong"), Cell(hit.reason)))
            for hit in hits
        ),
    )
    block = table if hits else _nothing(f"{agent} remembers nothing like it.")
    number = count(len(hits), "memory", "memories")
    return Page(
        Headline("Recall", agent, situation, number, "", "plain"),
        (Section("recalled", "Recalled", (block,)),),
    )


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
    return Table(columns, tuple(map(TableRow, cells)), note="Losers held: so many times as long as winners.")


def _beliefs(rows: Sequence[Belief]) -> Table | Notes:
    if not rows:
        return _nothing("They need a pattern that luck cannot explain, or somebody who seeds them.")
    columns = (
        Column("Sure"),
        Column("Belief", right=False, cut=24),
        Column("Outcomes"),
        Column("Source", right=False),
    )
    cells = (
        (
            Cell(percent(row.probability)),
            Cell(row.proposition, "strong"),
            Cell(f"{row.evidence:,}"),
            Cell(row.source),
        )
        for row in rows
    )
    return Table(columns, tuple(map(TableRow, cells)))


def _markers(rows: Sequence[Marker]) -> Table | Notes:
    if not rows:
        return _nothing("No review found a decision that felt better than it was.")
    columns = (
        Column("Marker", right=False),
        Column("Sure"),
        Column("Judged", right=False),
        Column("Decision", right=False, cut=14),
        Column("Situation", right=False, cut=14),
    )
    cells = (
        (
            Cell(row.outcome, "strong"),
            Cell(percent(row.confidence)),
            Cell(day_of_instant(row.at)),
            Cell(row.episode),
            Cell(_situation(row.context)),
        )
        for row in rows
    )
    return Table(columns, tuple(map(TableRow, cells)))


def _plans(rows: Sequence[PlanStatus]) -> Table | Notes:
    if not rows:
        return _nothing("It plans nothing.")
    columns = (
        Column("Plan", right=False, cut=12),
        Column("State", right=False),
        Column("Does", right=False, cut=10),
        Column("Because", right=False, cut=20),
    )
    cells = (
        (
            Cell(row.plan.id, "strong"),
            Cell(row.status),
            Cell(str(row.plan.action.get("type", DASH))),
            Cell(row.plan.reasoning),
        )
        for row in rows
    )
    return Table(columns, tuple(map(TableRow, cells)))


def _situation(context: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in context.items()) or "none stated"


def _nothing(sentence: str) -> Notes:
    return Notes((sentence,), tone="faint")

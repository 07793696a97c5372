"""The parts of a page that are lists: positions, breakdowns, actions."""

from __future__ import annotations

from collections import Counter
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, duration, percent, ratio
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Notes,
    PathChart,
    Prose,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.labels import POSITION_KINDS
from retro.present.references import PositionReference
from retro.report.extremes import DRAWN, movers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.report import Action, Breakdowns, Bucket, PositionRetrospective, RetrospectiveReport
    from retro.report.open_positions import OpenPositions

__all__ = ["actions_section", "breakdown_section", "instrument_label", "positions_section"]

_POSITIONS: Final = 20
_GROUPS: Final = 8
_GROUPINGS: Final = (
    ("by_instrument", "Instrument"),
    ("by_side", "Side"),
    ("by_strategy", "Strategy"),
    ("by_entry_tag", "Entry tag"),
    ("by_exit_reason", "Exit reason"),
    ("by_tag_and_exit", "Entry tag x exit reason"),
    ("by_regime", "Regime"),
    ("by_holding_time", "Holding time"),
    ("by_weekday", "Weekday of entry"),
    ("by_hour", "Hour of entry"),
)


def instrument_label(position: PositionRetrospective) -> str:
    """Instrument, kind and side in a few words: ETH/USDC LP, BTC/USDC perp short."""
    words = [position.instrument, POSITION_KINDS.get(position.kind, position.kind)]
    if position.side == "short":
        words.append("short")
    return " ".join(words)


def positions_section(report: RetrospectiveReport, money: MoneyStyle) -> Section | None:
    """The positions of the period, those that moved most where there are many, and the paths of the first."""
    believed = report.believed_positions
    if not report.positions:
        return None
    by_size = movers(report.positions)
    chosen = {p.position_id for p in by_size[:_POSITIONS]}
    listed = (
        [p for p in believed if p.position_id in chosen]
        if len(chosen) == len(believed)
        else by_size[:_POSITIONS]
    )
    note = "Regret: best exit less actual, known only in hindsight; its ratio is 1 for luck."
    if len(believed) > len(listed):
        note = f"Shown: the {len(listed)} that moved most, the largest first. {note}"
    apart = len(report.positions) - len(believed)
    if apart:
        note += f" {count(apart, 'implausible position')} under data quality."
    columns = (
        Column("Position", right=False, cut=8),
        Column("What", right=False, cut=12),
        Column("Held"),
        Column("In period"),
        Column("Whole life", spare=2),
        Column("vs inaction"),
        Column("Regret", spare=1),
        Column("Ratio", spare=3),
    )
    table = Table(
        columns,
        tuple(_position_row(p, money) for p in listed),
        omitted=len(believed) - len(listed),
        note=note,
    )
    drawn = [p for p in by_size[:DRAWN] if len(p.path) > 2]
    charts = tuple(
        PathChart(
            p,
            money.currency,
            small=True,
            result=money.signed(p.final_pnl),
            tone=tone_of(p.final_pnl),
            ref=PositionReference(p.agent, p.position_id),
        )
        for p in drawn
    )
    still_open = sum(p.open for p in believed)
    aside = count(len(believed), "position") + (f", {still_open} open" if still_open else "")
    aside = f"{money.currency}, {aside}" if money.currency else aside
    return Section("positions", "Positions", (table, *charts), aside)


def _position_row(p: PositionRetrospective, money: MoneyStyle) -> TableRow:
    holding_time = duration(p.duration_s)
    return TableRow(
        (
            Cell(p.position_id, ref=PositionReference(p.agent, p.position_id)),
            Cell(instrument_label(p)),
            Cell(f"open {holding_time}" if p.open else holding_time),
            Cell(money.signed(p.period_pnl), tone_of(p.period_pnl)),
            Cell(money.signed(p.final_pnl)),
            Cell(money.signed(p.vs_inaction), tone_of(p.vs_inaction)),
            Cell(money.plain(p.regret)),
            Cell(ratio(p.regret_ratio, 1)),
        )
    )


def breakdown_section(
    breakdowns: Breakdowns, money: MoneyStyle, closed: int, standing: OpenPositions
) -> Section | None:
    """Closed positions by everything a trading journal groups them by, in one table; how many are in none of it."""
    if not closed:
        return None
    rows: list[tuple[Cell, ...] | str] = []
    few, faint = [], set()
    for name, title in _GROUPINGS:
        buckets: list[Bucket] = getattr(breakdowns, name)
        if not any(bucket.ranked for bucket in buckets):
            few += [f"{title}: {_in_short(buckets, money)}"] if buckets else []
            continue
        rows.append(title)
        for bucket in buckets[:_GROUPS]:
            if not bucket.ranked:
                faint.add(len(rows))
            rows.append(_bucket_cells(bucket, money))
        if len(buckets) > _GROUPS:
            rows.append(f"and {len(buckets) - _GROUPS:,} more")
    blocks: list[FigureList | Table | Notes | Prose] = [FigureList(_journal_facts(breakdowns))]
    if standing.size:
        blocks.insert(0, Prose(f"In none of it: {standing.words(money)}.", tone="warn"))
    if rows:
        blocks.append(_bucket_table(rows, faint))
    if few:
        blocks += [
            Prose("Without a group of 3 positions or more:", tone="faint"),
            Notes(tuple(few), tone="faint"),
        ]
    aside = f"{money.currency}, {count(closed, 'closed position')}".lstrip(", ")
    return Section("breakdowns", "Breakdowns", tuple(blocks), aside)


def _in_short(buckets: list[Bucket], money: MoneyStyle) -> str:
    text = ", ".join(
        f"{bucket.key} {money.signed(bucket.pnl)} (n {bucket.n})" for bucket in buckets[:_GROUPS]
    )
    return text + (f" and {len(buckets) - _GROUPS:,} more" if len(buckets) > _GROUPS else "")


def _journal_facts(breakdowns: Breakdowns) -> tuple[Figure, ...]:
    def fact(label: str, name: str, value: str, note: str) -> Figure:
        return Figure(
            label,
            value,
            breakdowns.reasons.get(name, "") if getattr(breakdowns, name) is None else note,
            name=f"breakdowns.{name}",
        )

    return (
        fact("Fee drag", "fee_drag", percent(breakdowns.fee_drag), "fees and costs over gross gains"),
        fact(
            "Concentration",
            "concentration",
            ratio(breakdowns.concentration),
            "largest single gain over the net",
        ),
        Figure("Longest losing streak", count(breakdowns.longest_losing_streak, "position")),
        fact("Gains realised", "pgr", percent(breakdowns.pgr), "PGR: of gains on days with a sale"),
        fact(
            "Losses realised",
            "plr",
            percent(breakdowns.plr),
            f"PLR: of losses on days with a sale{_disposition(breakdowns)}",
        ),
    )


def _disposition(breakdowns: Breakdowns) -> str:
    """What the share of losses realised says beside that of gains; nothing where one is absent."""
    gains, losses = breakdowns.pgr, breakdowns.plr
    if gains is None or losses is None:
        return ""
    if percent(losses) == percent(gains):
        return "; as of gains"
    if losses < gains:
        return "; below PGR: winners are sold sooner than losers"
    return "; above PGR: losers are sold sooner than winners"


def _bucket_table(lines: list[tuple[Cell, ...] | str], faint: set[int]) -> Table:
    """One table of all groups; columns that no group fills are left out."""
    columns = (
        Column("Group", right=False, cut=14),
        Column("n"),
        Column("PnL"),
        Column("Won"),
        Column("Average"),
        Column("R", spare=2),
        Column("Held", spare=1),
        Column("Regret ratio", spare=3),
        Column("Inaction better", spare=4),
    )
    full = [cells for cells in lines if not isinstance(cells, str)]
    column_indices = [i for i in range(len(columns)) if i < 5 or any(cells[i].text != DASH for cells in full)]
    rows = [
        TableRow((Cell(line, "strong"), *(Cell("") for _ in column_indices[1:])), heads=True)
        if isinstance(line, str)
        else TableRow(tuple(line[i] for i in column_indices), faint=at in faint)
        for at, line in enumerate(lines)
    ]
    note = "~ fewer than 3 positions: not ranked." if faint else ""
    return Table(tuple(columns[i] for i in column_indices), tuple(rows), note=note)


def _bucket_cells(row: Bucket, money: MoneyStyle) -> tuple[Cell, ...]:
    return (
        Cell(row.key),
        Cell(f"{row.n:,}"),
        Cell(money.signed(row.pnl), tone_of(row.pnl)),
        Cell(percent(row.win_rate)),
        Cell(money.signed(row.expectancy)),
        Cell(ratio(row.expectancy_r)),
        Cell(duration(row.mean_hold_s)),
        Cell(ratio(row.mean_regret_ratio, 1)),
        Cell(percent(row.share_below_inaction)),
    )


def actions_section(actions: Sequence[Action], money: MoneyStyle, funding: float) -> Section | None:
    """What the agent did, counted; the list itself is in the JSON document. `funding` is in what no action realised."""
    if not actions:
        return None
    counts = Counter(action.action for action in actions)
    rows = []
    for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        amounts = [a.realized_pnl for a in actions if a.action == name and a.realized_pnl is not None]
        cited = sum(bool(a.cites) for a in actions if a.action == name)
        note = f"{cited:,} with a citation" if cited else "none with a citation"
        if amounts:
            note += f"; {money.change(fsum(amounts))} realised by {len(amounts):,}"
            note += ", without funding" if funding else ""
        rows.append(Figure(name.capitalize(), f"{n:,}", note))
    return Section("actions", "Actions", (FigureList(tuple(rows)),), count(len(actions), "action"))

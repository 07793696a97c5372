"""The lists of a house as tables: agents, positions, reviews, letters, verdicts. A page and a terminal draw the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, day_text, duration, interval, moment, money_of, odds, percent
from retro.periods import SECOND, format_instant
from retro.present.page.blocks import Cell, Column, Figure, Table, TableRow, tone_of
from retro.present.page.labels import POSITION_KINDS, VERDICTS, verdict_tone
from retro.present.references import (
    AgentReference,
    PositionReference,
    ReviewReference,
    RuleReference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Tone
    from retro.present.references import Reference
    from retro.report import HeuristicReport
    from retro.report.overviews import AgentOverview, LetterOverview, PositionOverview, ReviewOverview
    from retro.report.today import ClosedMoney

__all__ = [
    "agents_table",
    "audit_table",
    "closed_figure",
    "day_of_instant",
    "letters_table",
    "positions_table",
    "reviews_table",
    "short_verdict",
]

_REVIEW_TONES: Final[dict[str, Tone]] = {"parked": "down", "due": "warn", "running": "warn", "done": "up"}
_LETTER_TONES: Final[dict[str, Tone]] = {"failed": "down", "pending": "warn", "sending": "warn", "sent": "up"}
_SHORT_UNITS: Final = {"r": "R", "bps": "bps"}


def agents_table(rows: Sequence[AgentOverview]) -> Table:
    """Agents in the order given: when they lived, how much is stored of each, what it counts in."""
    columns = (
        Column("Agent", right=False, cut=64),
        Column("First event", right=False, spare=3),
        Column("Last event", right=False),
        Column("Events", spare=2),
        Column("Positions"),
        Column("Open"),
        Column("Currency", right=False, spare=1),
    )
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(row.name, "strong", AgentReference(row.name)),
                    Cell(day_of_instant(row.first_at)),
                    Cell(day_of_instant(row.last_at), "plain" if row.silent_since is None else "warn"),
                    *(Cell(f"{number:,}") for number in (row.events, row.positions, row.open)),
                    Cell(row.base_currency),
                )
            )
            for row in rows
        ),
    )


def positions_table(rows: Sequence[PositionOverview], currency: str) -> Table:
    """Positions in the order given, money in `currency`; the last column stands only where one is implausible."""
    money = money_of(currency, [row.final_pnl for row in rows])
    columns = [
        Column("Position", right=False, cut=12),
        Column("What", right=False, cut=12),
        Column("Opened (UTC)", right=False),
        Column("Held", spare=1),
        Column(currency),
        Column("vs inaction", spare=2),
        Column("Regret", spare=3),
        Column("Path", right=False, spare=4),
    ]
    doubted = any(row.implausible for row in rows)
    table_rows = []
    for row in rows:
        held_for = None if row.closed_at is None else (row.closed_at - row.opened_at) / SECOND
        kind = row.side if row.kind == "perp" and row.side else POSITION_KINDS.get(row.kind, row.kind)
        cells = (
            Cell(row.name, "strong", PositionReference(row.agent, row.name)),
            Cell(f"{row.instrument} {kind}"),
            Cell(moment(format_instant(row.opened_at))),
            Cell("open" if held_for is None else duration(held_for)),
            Cell(money.signed(row.final_pnl), _believed_tone(row, row.final_pnl)),
            Cell(money.signed(row.vs_inaction), _believed_tone(row, row.vs_inaction)),
            Cell(money.plain(row.regret)),
            Cell("", spark=row.spark),
        )
        doubt = (Cell("implausible" if row.implausible else "", "warn"),) if doubted else ()
        table_rows.append(TableRow((*cells, *doubt)))
    if doubted:
        columns.append(Column("", right=False))
    return Table(tuple(columns), tuple(table_rows))


def _believed_tone(row: PositionOverview, amount: float | None) -> Tone:
    """Up or down; a figure that is not believed is neither."""
    return "faint" if row.implausible else tone_of(amount)


def reviews_table(rows: Sequence[ReviewOverview]) -> Table:
    """Reviews that are owed or made, in the order given: what each came to, or what stands in its way."""
    money = money_of("", [row.result for row in rows])
    columns = (
        Column("Review", right=False, cut=30),
        Column("Ended (UTC)", right=False, spare=2),
        Column("State", right=False),
        Column("Rev.", spare=3),
        Column("Result", spare=1),
        Column("vs inaction", spare=4),
        Column("Why", right=False, cut=10),
    )
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(row.id, "strong", ReviewReference(row.id) if row.revision else None),
                    Cell(moment(format_instant(row.period_end))),
                    Cell(row.state, _REVIEW_TONES.get(row.state, "plain")),
                    Cell(f"{row.revision}"),
                    Cell(money.signed(row.result), tone_of(row.result)),
                    Cell(money.signed(row.against_nothing), tone_of(row.against_nothing)),
                    Cell(row.reason or ("history" if row.backfill else "")),
                )
            )
            for row in rows
        ),
        note="each in its agent's currency" if any(row.result is not None for row in rows) else "",
    )


def letters_table(rows: Sequence[LetterOverview], note: str = "") -> Table:
    """Messages in the order given, and how far each has come."""
    columns = (
        Column("Review", right=False, cut=24),
        Column("To", right=False, cut=10),
        Column("No."),
        Column("Rev.", spare=2),
        Column("Channel", right=False),
        Column("State", right=False),
    )
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(row.review, "strong", ReviewReference(row.review)),
                    Cell(row.recipient),
                    Cell(f"{row.number}"),
                    Cell(f"{row.revision}"),
                    Cell(row.channel),
                    Cell(row.state, _LETTER_TONES.get(row.state, "plain")),
                )
            )
            for row in rows
        ),
        note=note,
    )


def audit_table(agent: str, rows: Sequence[HeuristicReport], currency: str) -> Table:
    """What an agent cited, in the order given: the verdict of the thresholds, and how sure it is."""
    money = money_of(currency, [row.avg_pnl_per_citation for row in rows])
    columns = (
        Column("Cited", right=False, cut=18),
        Column("Role", right=False),
        Column("Verdict", right=False),
        Column("n"),
        Column(f"Average {currency}"),
        Column("Won", spare=2),
        Column(f"95 % at every look{_shown_unit(rows)}", right=False, spare=1),
        Column("Evidence", right=False),
    )
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(row.heuristic_id, "strong", RuleReference(agent, row.heuristic_id)),
                    Cell(row.role),
                    Cell(short_verdict(row.recommendation.kind), verdict_tone(row.recommendation.kind)),
                    Cell(f"{row.evaluated_count:,}"),
                    Cell(money.signed(row.avg_pnl_per_citation)),
                    Cell(percent(row.win_rate)),
                    Cell(DASH if row.interval is None else interval(*row.interval)),
                    Cell(_evidence(row)),
                )
            )
            for row in rows
        ),
        note="Verdict: what the thresholds say; evidence: how sure that is, in odds that hold at every look."
        " An exit's average is loss avoided, or gain missed.",
    )


def short_verdict(kind: str) -> str:
    """A verdict as short as its column, so that none is cut."""
    return VERDICTS[kind].lower().replace("insufficient", "little")


def _shown_unit(rows: Sequence[HeuristicReport]) -> str:
    """What the intervals count in, where that is not the money of the averages."""
    return next((f" {_SHORT_UNITS[row.threshold_unit]}" for row in rows if row.threshold_unit != "usd"), "")


def _evidence(row: HeuristicReport) -> str:
    """The grade with its odds: supported (61 to 1); the odds alone where there is no verdict that it could carry."""
    if row.recommendation.kind == "insufficient_data":
        return DASH if row.e is None else f"({odds(row.e)})"
    return row.evidence if row.e is None else f"{row.evidence} ({odds(row.e)})"


def day_of_instant(at: int | None) -> str:
    """The UTC day of an instant in microseconds, as every list writes it; a dash without one."""
    return day_text(None if at is None else format_instant(at))


def closed_figure(made: ClosedMoney, ref: Reference | None = None) -> Figure:
    """What closed positions made in one currency, with how many they are, and against doing nothing."""
    style = money_of(made.currency, (made.pnl, made.against_nothing))
    notes = []
    if made.against_nothing is not None:
        notes.append(f"{style.change(made.against_nothing)} against doing nothing")
    if made.counted < made.closed:
        notes.append(f"{made.closed - made.counted:,} not counted: without a price, or not believed")
    label = count(made.closed, "closed life", "closed lives")
    return Figure(label, style.change(made.pnl), "; ".join(notes), tone_of(made.pnl), ref)

"""Every agent on one page: who wants a person first, then what the week came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, day_text, money_of, percent
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
    tone_of,
)
from retro.present.page.labels import result_text, short_name
from retro.present.references import AgentReference, ReviewReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block, Tone
    from retro.report.fleet import AgentWeek, FleetCurrency, FleetReport

__all__ = ["page_of_fleet", "weeks_table"]

_NAMED: Final = 3
_TONES: Final[dict[str, Tone]] = {"alarm": "down", "silence": "warn", "parked": "down", "delivery": "down"}
_NOUNS: Final = {
    "alarm": ("alarm", "alarms"),
    "silence": ("silent agent", "silent agents"),
    "parked": ("parked review", "parked reviews"),
    "delivery": ("failed message", "failed messages"),
    "proposal": ("proposal", "proposals"),
}
_COLUMNS: Final = (
    Column("Agent", right=False, cut=12),
    Column("Result"),
    Column("vs inaction", spare=1),
    Column("vs market", spare=2),
    Column("Largest mover", right=False, cut=10, spare=3),
    Column("Last event", right=False, spare=4),
)


def page_of_fleet(report: FleetReport) -> Page:
    """The page of all agents."""
    currencies = {row.currency for row in report.rows} | {entry.currency for entry in report.currencies}
    money = {currency: _money(report, currency) for currency in sorted(currencies)}
    sections = (_wishes(report), _corrections(report, money), _weeks(report, money))
    return Page(
        headline=_headline(report, money),
        sections=tuple(section for section in sections if section is not None),
        foot=(
            f"As of {day_text(report.generated_at)}: of what is stored, nothing was computed for this page.",
            "Sums are within one currency; `retro show REVIEW` prints a week whole.",
            *_older(report),
        ),
    )


def _older(report: FleetReport) -> tuple[str, ...]:
    if not report.older:
        return ()
    number = count(report.older, "review")
    return (f"{number} of older weeks came with this; `retro fleet --week WEEK` shows one.",)


def _money(report: FleetReport, currency: str) -> MoneyStyle:
    amounts = [row.pnl for row in report.rows if row.currency == currency]
    return money_of(currency, [*amounts, *(e.pnl for e in report.currencies if e.currency == currency)])


def _headline(report: FleetReport, money: dict[str, MoneyStyle]) -> Headline:
    tones = {tone_of(entry.pnl) for entry in report.currencies}
    currencies = sorted(report.currencies, key=lambda entry: (-entry.agents, entry.currency))
    week = "no week is reviewed yet"
    if report.week is not None:
        week = f"week {report.week}, {report.reviewed:,} of {report.agents:,} reviewed"
    return Headline(
        kicker="All agents",
        title=count(report.agents, "agent"),
        subtitle=week,
        result=_result(currencies, money),
        why=_why(report),
        tone=tones.pop() if len(tones) == 1 else "plain",
        facts=tuple(
            Figure(
                "Against doing nothing"
                if len(report.currencies) == 1
                else f"Against nothing, {entry.currency}",
                money[entry.currency].change(entry.against_nothing),
                f"{count(entry.agents, 'agent')}, {money[entry.currency].change(entry.pnl)} in all",
                tone_of(entry.against_nothing),
            )
            for entry in currencies
        ),
        alarms=tuple(f"A source cannot be read: {reason}" for reason in report.sources),
    )


def _result(currencies: Sequence[FleetCurrency], money: dict[str, MoneyStyle]) -> str:
    """What the week made: in words in one currency, of several each by itself."""
    if len(currencies) == 1:
        return result_text(currencies[0].pnl, money[currencies[0].currency])
    parts = [money[entry.currency].change(entry.pnl) for entry in currencies[:_NAMED]]
    remainder = len(currencies) - len(parts)
    return ", ".join(parts) + (f" and {remainder} more currencies" if remainder else "") or "No result yet"


def _why(report: FleetReport) -> str:
    """Who wants a person, and for what, in a sentence."""
    if not report.wanting:
        return "Nothing wants you."
    numbers = dict.fromkeys(_NOUNS, 0)
    for row in report.rows:
        for wish in row.wishes:
            numbers[wish.kind] += wish.number
    parts = [f"{n:,} {_NOUNS[kind][n != 1]}" for kind, n in numbers.items() if n]
    verb = "wants" if report.wanting == 1 else "want"
    beyond = " among those listed" if report.omitted else ""
    return f"{count(report.wanting, 'agent')} {verb} you{beyond and ';'}{beyond}: {', '.join(parts)}."


def _wishes(report: FleetReport) -> Section | None:
    wanting = [row for row in report.rows if row.wishes]
    if not wanting:
        return None
    rows = tuple(
        TableRow(
            (
                Cell(short_name(row.agent) if i == 0 else "", "strong", AgentReference(row.agent)),
                Cell(wish.text, _TONES.get(wish.kind, "plain")),
            )
        )
        for row in wanting
        for i, wish in enumerate(row.wishes)
    )
    columns = (Column("Agent", right=False, cut=16), Column("What it wants", right=False, cut=30))
    table = Table(columns, rows, omitted=report.wanting - len(wanting))
    return Section("wishes", "Wants you", (table,), count(report.wanting, "agent"))


def _weeks(report: FleetReport, money: dict[str, MoneyStyle]) -> Section | None:
    if not report.rows:
        return None
    note = "" if not report.omitted else "--limit N lists more; the sums above are of all."
    table = Table(_COLUMNS, _week_rows(report.rows, money), report.omitted, note)
    blocks: tuple[Block, ...] = (table, *_reasons(report.rows))
    return Section("weeks", f"The week {report.week}" if report.week else "The agents", blocks)


def weeks_table(rows: Sequence[AgentWeek], omitted: int) -> Table:
    """The last complete week of agents in the order given, each in its own currency."""
    amounts: dict[str, list[float | None]] = {}
    for row in rows:
        amounts.setdefault(row.currency, []).append(row.pnl)
    money = {currency: money_of(currency, values) for currency, values in amounts.items()}
    return Table(_COLUMNS, _week_rows(rows, money), omitted)


def _week_rows(rows: Sequence[AgentWeek], money: dict[str, MoneyStyle]) -> tuple[TableRow, ...]:
    return tuple(_week_row(row, money[row.currency]) for row in rows)


def _week_row(row: AgentWeek, money: MoneyStyle) -> TableRow:
    mover = DASH if row.mover is None else f"{short_name(row.mover)} {money.signed(row.mover_pnl)}"
    return TableRow(
        (
            Cell(short_name(row.agent), "strong", AgentReference(row.agent)),
            Cell(money.change(row.pnl), tone_of(row.pnl)),
            Cell(money.signed(row.against_nothing), tone_of(row.against_nothing)),
            Cell(percent(row.over_market, 2, signed=True), tone_of(row.over_market)),
            Cell(mover),
            Cell(day_text(row.last_event), "warn" if row.state == "dormant" else "plain"),
        )
    )


def _reasons(rows: Sequence[AgentWeek]) -> tuple[Notes, ...]:
    """Why agents have no figures, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if "pnl" in row.reasons:
            by_reason.setdefault(row.reasons["pnl"], []).append(short_name(row.agent))
    items = [
        f"{', '.join(names[:_NAMED])}{f' and {len(names) - _NAMED:,} more' if len(names) > _NAMED else ''}: {reason}"
        for reason, names in by_reason.items()
    ]
    return (Notes(tuple(items)),) if items else ()


def _corrections(report: FleetReport, money: dict[str, MoneyStyle]) -> Section | None:
    if not report.corrections:
        return None
    columns = (
        Column("Review", right=False, cut=20),
        Column("Revision", spare=1),
        Column("Told before"),
        Column("Now"),
    )
    rows = []
    for entry in report.corrections:
        style = money.get(entry.currency) or money_of(entry.currency, (entry.pnl, entry.before))
        rows.append(
            TableRow(
                (
                    Cell(entry.review, "strong", ReviewReference(entry.review)),
                    Cell(f"{entry.revision}"),
                    Cell(style.change(entry.before)),
                    Cell(style.change(entry.pnl), tone_of(entry.pnl)),
                )
            )
        )
    table = Table(columns, tuple(rows), report.corrections_omitted)
    return Section("corrections", "Corrected since it was told", (table,))

"""Why live was not the backtest, as a page: the difference line by line, what was taken by one side only, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, money_of
from retro.periods import format_instant, parse_instant
from retro.present.page.blocks import (
    Cell,
    Column,
    Diagrams,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.diagrams import WaterfallDiagram, WaterfallStep
from retro.present.page.labels import short_name
from retro.report.evaluators.drift import DriftCauses, DriftLines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retro.figures import MoneyStyle
    from retro.present.page.blocks import Block
    from retro.report.evaluators.drift import DriftReport

__all__ = ["CAUSES", "LINES", "largest_line", "page_of_drift"]

LINES: Final = {
    "size": "size",
    "entry_price": "entry price",
    "exit_price": "exit price",
    "exit_reason": "exit reason",
    "fees": "fees",
    "funding": "funding",
    "live_only": "live only",
    "backtest_only": "backtest only",
}
"""The lines in the order in which they are reckoned, and what they are called."""
_MEANING: Final = {
    "size": "how much more or less live put in",
    "entry_price": "at what live was entered",
    "exit_price": "at what live was left, for the same reason",
    "exit_reason": "live was left for another reason",
    "fees": "what live paid less",
    "funding": "what live received more while it held",
    "live_only": "trades that the backtest did not take",
    "backtest_only": "trades that live did not take",
}
CAUSES: Final = {
    "order_not_filled": "order not filled",
    "slot_taken": "slot taken",
    "bot_silent": "silent",
    "signal_differs": "signal differs",
    "unknown": "unknown",
}
_SHOWN: Final = 12


def largest_line(lines: DriftLines) -> str:
    """The line that adds most, either way; of equals the first."""
    return max(LINES, key=lambda name: abs(getattr(lines, name)))


def page_of_drift(live: str, backtest: str, drift: DriftReport, currency: str) -> Page:
    """The identity as a waterfall and a table, then causes, tags, the pairs that differ most, and the window's part."""
    head = Headline("Drift", live, f"against {backtest}", "No time in common", "", "plain")
    if drift.lines is None or drift.difference is None:
        return Page(
            head, (Section("drift", "Nothing to compare", (Prose(f"{drift.reasons['difference']}."),)),)
        )
    lines = drift.lines
    money = money_of(currency, [drift.live, drift.backtest, drift.difference])
    name = largest_line(lines)
    head = Headline(
        "Drift",
        live,
        f"against {backtest}, {_day(drift.start)} to {_day(drift.end)}",
        f"Live less backtest: {money.change(drift.difference)}",
        f"Live made {money.signed(drift.live)}, the backtest {money.signed(drift.backtest)}."
        + (
            f" Largest line: {LINES[name]}, {money.signed(getattr(lines, name))}."
            if getattr(lines, name)
            else ""
        ),
        tone_of(drift.difference),
    )
    blocks: list[Block] = [_waterfall(drift, lines, money), _identity(drift, lines, money)]
    sections = [Section("drift", "Line by line", tuple(blocks), f"{count(drift.matched, 'pair')} matched")]
    if drift.unmatched:
        sections.append(Section("alone", "Taken by one alone", tuple(_alone(drift, money))))
    if len(drift.by_tag) > 1:
        sections.append(Section("tags", "By entry tag", (_tags(drift, money),)))
    if any(pair.difference for pair in drift.pairs):
        sections.append(Section("pairs", "The pairs that differ most", (_pairs(drift, money),)))
    sections.append(Section("window", "How much hangs on the window", (_window(drift, money),)))
    return Page(head, tuple(sections))


def _day(instant: str | None) -> str:
    return DASH if instant is None else format_instant(parse_instant(instant))[:10]


def _waterfall(drift: DriftReport, lines: DriftLines, money: MoneyStyle) -> Diagrams:
    first = WaterfallStep("backtest", drift.backtest or 0.0, money.signed(drift.backtest))
    last = WaterfallStep("live", drift.live or 0.0, money.signed(drift.live))
    steps = tuple(WaterfallStep(LINES[n], getattr(lines, n), money.signed(getattr(lines, n))) for n in LINES)
    return Diagrams((WaterfallDiagram(f"From the backtest to live, {money.currency}", first, steps, last),))


def _identity(drift: DriftReport, lines: DriftLines, money: MoneyStyle) -> Table:
    columns = (
        Column("Line", right=False),
        Column(money.currency or "Amount"),
        Column("What it is", right=False, cut=20),
    )
    rows = [("backtest", drift.backtest, ""), *((LINES[n], getattr(lines, n), _MEANING[n]) for n in LINES)]
    rows += [("live", drift.live, "")]
    return Table(
        columns,
        tuple(
            TableRow((Cell(label, "strong"), Cell(money.signed(amount), tone_of(amount)), Cell(words)))
            for label, amount, words in rows
        ),
        note="Each line with all before it as live and all after it as the backtest; they add up to the difference."
        + _said(drift, ("open", "left_out", "prices", "tags", "within", "instruments")),
    )


def _said(drift: DriftReport, names: Iterable[str]) -> str:
    return "".join(
        f" {words[:1].upper()}{words[1:]}." for name in names if (words := drift.reasons.get(name))
    )


def _alone(drift: DriftReport, money: MoneyStyle) -> list[Block]:
    columns = (
        Column("Cause", right=False),
        Column("Live only"),
        Column(""),
        Column("Backtest only"),
        Column(""),
    )
    rows = []
    for name in DriftCauses.model_fields:
        ours, theirs = (
            None if side is None else getattr(side, name) for side in (drift.live_only, drift.backtest_only)
        )
        if ours is None or theirs is None or not (ours.n or theirs.n):
            continue
        cells = [Cell(CAUSES[name], "strong")]
        for total in (ours, theirs):
            cells += [
                Cell(f"{total.n:,}"),
                Cell(money.signed(total.amount) if total.n else DASH, tone_of(total.amount)),
            ]
        rows.append(TableRow(tuple(cells)))
    note = f"What the other is known to have done at the entry; amounts as they add to the difference.{_said(drift, ('slot_taken', 'knock_on'))}"
    largest = sorted(drift.unmatched, key=lambda row: (-abs(row.pnl), row.entry_at, row.trade))[:_SHOWN]
    items = tuple(
        f"{row.only} {short_name(row.trade)}, {short_name(row.instrument)} {row.entry_at[:16]}: {money.signed(row.pnl)}, {CAUSES[row.cause]}"
        + (f", follows from {', '.join(map(short_name, row.knock_on[:3]))}" if row.knock_on else "")
        for row in largest
    )
    return [Table(columns, tuple(rows), note=note), Notes(items, len(drift.unmatched) - len(items))]


def _tags(drift: DriftReport, money: MoneyStyle) -> Table:
    columns = (
        Column("Tag", right=False, cut=12),
        Column("Pairs"),
        Column("Live only", spare=1),
        Column("Backtest only", spare=1),
        Column("Live"),
        Column("Backtest"),
        Column("Difference"),
    )
    rows = sorted(drift.by_tag, key=lambda row: (-abs(row.difference), row.tag))[:_SHOWN]
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(row.tag or "no tag", "strong"),
                    Cell(f"{row.matched:,}"),
                    Cell(f"{row.live_only:,}"),
                    Cell(f"{row.backtest_only:,}"),
                    Cell(money.signed(row.live)),
                    Cell(money.signed(row.backtest)),
                    Cell(money.signed(row.difference), tone_of(row.difference)),
                )
            )
            for row in rows
        ),
        omitted=len(drift.by_tag) - len(rows),
    )


def _pairs(drift: DriftReport, money: MoneyStyle) -> Table:
    columns = (
        Column("Live", right=False, cut=8),
        Column("Backtest", right=False, cut=8),
        Column("Pair", right=False, cut=8),
        Column("Delay"),
        Column("Left for", right=False, cut=10, spare=1),
        Column("Difference"),
        Column("Largest line", right=False, spare=2),
    )
    rows = [row for row in drift.pairs if row.difference]
    largest = sorted(rows, key=lambda row: (-abs(row.difference), row.entry_at, row.live))[:_SHOWN]
    cells = []
    for row in largest:
        name = max(
            ("size", "entry_price", "exit_price", "exit_reason", "fees", "funding"),
            key=lambda n: abs(getattr(row, n)),
        )
        is_one_reason = row.live_exit == row.backtest_exit
        cells.append(
            TableRow(
                (
                    Cell(row.live, "strong"),
                    Cell(row.backtest),
                    Cell(row.instrument),
                    Cell(f"{row.entry_delay_s:+,.0f} s"),
                    Cell(row.live_exit if is_one_reason else f"{row.live_exit} / {row.backtest_exit}"),
                    Cell(money.signed(row.difference), tone_of(row.difference)),
                    Cell(f"{LINES[name]} {money.signed(getattr(row, name))}"),
                )
            )
        )
    return Table(columns, tuple(cells), omitted=len(rows) - len(largest))


def _window(drift: DriftReport, money: MoneyStyle) -> Table:
    columns = (
        Column("Candles"),
        Column("Pairs"),
        Column("Matched lines"),
        Column("Live only"),
        Column("Backtest only"),
    )
    matched = [name for name in LINES if name not in {"live_only", "backtest_only"}]
    return Table(
        columns,
        tuple(
            TableRow(
                (
                    Cell(f"{row.within:.3g}", "strong" if row.within == drift.within else "plain"),
                    Cell(f"{row.matched:,}"),
                    Cell(money.signed(sum(getattr(row.lines, name) for name in matched))),
                    Cell(money.signed(row.lines.live_only)),
                    Cell(money.signed(row.lines.backtest_only)),
                )
            )
            for row in drift.sensitivity
        ),
        note="The difference is the same whichever; which trades are called one decides in which line it stands.",
    )

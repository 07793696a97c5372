"""`retro luck`: what choosing the moment was worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.surface.cli.context import call
from retro.surface.cli.evaluators.pages import PageFormat, PageOutput, is_page, print_page
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from retro.figures import MoneyStyle
    from retro.report.evaluators.luck import LuckReport, LuckTotal, PositionLuck, RuleLuck

__all__ = ["add_to"]

_SHOWN: Final = 10


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("luck")(luck)


def luck(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """What choosing the moment was worth: each closed spot and perp position beside 999 twins at random moments.

    A twin has its side, size, holding time and fee rate, on the same instrument's known marks: what twins make on
    average is luck, being there; the rest is selection, choosing when.

    Example: retro luck --agent sample
    """
    from retro.app.questions.evaluators.luck import LuckQuestion
    from retro.app.questions.evaluators.luck import luck as luck_of

    record = call.agent(agent)
    settings = call.settings(record)
    report = luck_of(LuckQuestion(call.store, record.name, settings, instant_of(as_of)))
    if call.json:
        call.out_json(report.model_dump(mode="json"))
    elif is_page(form, output):
        from retro.present.page.evaluators.answers import page_of_luck
        from retro.safe import clean

        print_page(page_of_luck(record.name, clean(report), settings.base_currency), form, output)
    elif report.positions:
        _print(report, settings.base_currency)
    else:
        call.say(
            "no spot or perp position that is believed has been closed yet (`retro positions` marks implausible ones)"
        )


def _print(report: LuckReport, currency: str) -> None:
    from retro.figures import money_of
    from retro.surface.cli.screen import print_sentence

    judged = [row for row in report.positions if row.twins]
    if report.total is not None:
        money = money_of(currency, [row.pnl for row in report.positions])
        _print_total(report.total, len(judged), money)
        if report.heuristics:
            _print_rules(report.heuristics)
        _print_positions(judged, money)
    if "positions" in report.reasons:
        print_sentence(
            f"{report.reasons['positions']}. They are in no figure here; --json tells why, one by one."
        )


def _print_total(total: LuckTotal, n: int, money: MoneyStyle) -> None:
    from retro.figures import count
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.surface.cli.screen import print_table

    sure = ""
    if total.interval is not None:
        low, high = map(money.signed, total.interval)
        sure = f"95 %: {low} .. {high}"
    columns = [Column(count(n, "position"), right=False), Column(money.currency), Column("", right=False)]
    rows = [
        ("being there: luck", total.luck, "what 999 twins made on average"),
        ("choosing when: selection", total.selection, sure),
        ("made", total.pnl, ""),
    ]
    cells = [
        [Cell(name), Cell(money.signed(amount), tone_of(amount)), Cell(words)] for name, amount, words in rows
    ]
    print_table(columns, cells, "95 %: by day of entry." if sure else "")


def _print_rules(rows: Sequence[RuleLuck]) -> None:
    from retro.figures import DASH, odds
    from retro.present.page.blocks import Cell, Column
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Rule", right=False, cut=14),
        Column("n"),
        Column("Percentile"),
        Column("95 %", right=False),
        Column("Better"),
        Column("Worse"),
        Column("Evidence", right=False),
    ]
    cells = [
        [
            Cell(row.heuristic, "strong"),
            Cell(f"{row.n:,}"),
            Cell(f"{100 * row.mean_percentile:.0f}"),
            Cell(
                DASH if row.interval is None else f"{100 * row.interval[0]:.0f}..{100 * row.interval[1]:.0f}"
            ),
            Cell(odds(row.e_for)),
            Cell(odds(row.e_against)),
            Cell(row.evidence),
        ]
        for row in rows
    ]
    note = (
        "Percentile: how many of 100 random moments made less, on average; 50 is chance. 95 %: of one look, by day of"
        " entry. Better, worse: odds against chance, one bet a week of exits."
    )
    print_table(columns, cells, note)


def _print_positions(rows: Sequence[PositionLuck], money: MoneyStyle) -> None:
    from retro.figures import DASH
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.surface.cli.screen import print_table

    largest = sorted(rows, key=lambda row: (-abs(row.selection or 0.0), row.position))[:_SHOWN]
    columns = [
        Column("Position", right=False, cut=16),
        Column("PnL"),
        Column("Luck"),
        Column("Selection"),
        Column("Percentile"),
    ]
    cells = [
        [
            Cell(row.position, "strong"),
            Cell(money.signed(row.pnl), tone_of(row.pnl)),
            Cell(money.signed(row.luck)),
            Cell(money.signed(row.selection), tone_of(row.selection)),
            Cell(DASH if row.percentile is None else f"{100 * row.percentile:.0f}"),
        ]
        for row in largest
    ]
    left_out = len(rows) - len(largest)
    note = f"Money in {money.currency}." + (
        f" The {_SHOWN} largest by selection; --json has {left_out:,} more." if left_out else ""
    )
    print_table(columns, cells, note)

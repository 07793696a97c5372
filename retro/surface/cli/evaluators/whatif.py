"""`retro whatif`: the past with one rule changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call, instant
from retro.surface.cli.evaluators.pages import PageFormat, PageOutput, is_page, print_page
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from retro.report.evaluators.whatif import WhatIfReport

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("whatif")(whatif)


def whatif(
    rules: Annotated[
        list[str] | None, typer.Argument(metavar="[RULE]...", help="e.g. 'stop -3%' 'without H-7'")
    ] = None,
    agent: AgentName = None,
    grid: Annotated[bool, typer.Option("--grid", help="the standard search of 24 ways to leave")] = False,
    first: Annotated[
        str | None, typer.Option("--from", metavar="T", help="positions entered from T on")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="T", help="positions entered before T")] = None,
    slippage_bps: Annotated[
        float,
        typer.Option("--slippage-bps", metavar="BPS", help="what leaving earlier would have cost besides"),
    ] = 0.0,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Replay the agent's own positions with one rule changed. It is hindsight: it says so, and proposes nothing.

    Rules: exit-after 48h, stop -3%, stop -1.5R, take 5%, take 2R, trail 2%, trail 1R, without H-7, without tag:NAME,
    without regime:NAME, without hour:14, size-cap 500, half-size H-7.

    Example: retro whatif "stop -3%" "without H-7" --agent sample
    """
    from retro.app.questions.evaluators.whatif import WhatIfQuestion, replayed

    record = call.agent(agent)
    settings = call.settings(record)
    question = WhatIfQuestion(
        rules=rules or (),
        grid=grid,
        start=None if first is None else instant(first, "--from", settings.zone),
        end=None if until is None else instant(until, "--to", settings.zone),
        slippage_bps=slippage_bps,
        as_of=instant_of(as_of),
        with_rows=call.json,
    )
    report = replayed(call.store, record.name, settings, question)
    if call.json:
        call.out_json(report.model_dump(mode="json"))
    elif is_page(form, output):
        from retro.present.page.evaluators.answers import page_of_what_if
        from retro.safe import clean

        print_page(page_of_what_if(record.name, clean(report), settings.base_currency), form, output)
    else:
        _print(report, settings.base_currency)


def _print(report: WhatIfReport, currency: str) -> None:
    from retro.figures import DASH, money_of, ratio
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.safe import plain_text
    from retro.surface.cli.screen import print_table

    rules = sorted(report.rules, key=lambda row: -row.difference)
    money = money_of(currency, [row.difference for row in rules])
    columns = [
        Column("What if", right=False, cut=12),
        Column("Touched"),
        Column("Change"),
        Column("95 %", right=False),
        Column("p"),
    ]
    rows = [
        [
            Cell(plain_text(row.rule), "strong"),
            Cell(f"{row.touched:,}"),
            Cell(money.signed(row.difference), tone_of(row.difference)),
            Cell(
                DASH
                if row.interval is None
                else f"{money.signed(row.interval[0])} .. {money.signed(row.interval[1])}"
            ),
            Cell(ratio(row.p, 3)),
        ]
        for row in rules
    ]
    print_table(columns, rows, _note(report, currency))


def _note(report: WhatIfReport, currency: str) -> str:
    """What a reader must know beside the figures: how many, what the search is worth, and that it is hindsight."""
    from retro.figures import count, ratio
    from retro.safe import plain_text

    search, skipped = report.search, max((row.skipped for row in report.rules), default=0)
    if search.p_max is None:
        luck = report.reasons.get("search", "")
    else:
        tried = f"best of {search.tried} tried" if search.tried > 1 else "one tried"
        luck = (
            f"{tried}; p {ratio(search.p_max)} once the search is counted ({plain_text(search.best or '')})"
        )
    parts = [
        f"{count(report.positions, 'position')}, {currency}; {luck}.",
        "95 %: bootstrap over days. p: that turning the signs of days improves as much.",
    ]
    if skipped:
        parts.append(f"Rules in R skip {count(skipped, 'position')} without a stated risk.")
    notes = (report.reasons.get("positions"), report.reasons.get("marks"))
    parts += [f"{note[0].upper()}{note[1:]}." for note in notes if note]
    return " ".join([*parts, "This is hindsight: every price was known. It proposes nothing."])

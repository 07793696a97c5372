"""`retro whatif`: the past with one rule changed."""

from __future__ import annotations

from typing import Annotated

import typer

from retro.surface.cli.context import call, instant
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

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
    from retro.present.page.evaluators.answers import page_of_what_if
    from retro.safe import clean

    record = call.agent(agent)
    settings = call.settings(record)
    question = WhatIfQuestion(
        rules=rules or (),
        grid=grid,
        start=None if first is None else instant(first, "--from", settings.zone),
        end=None if until is None else instant(until, "--to", settings.zone),
        slippage_bps=slippage_bps,
        as_of=instant_of(as_of),
        with_rows=call.json or form == "json",
    )
    report = replayed(call.store, record.name, settings, question)
    answer(
        report.model_dump(mode="json"),
        lambda: page_of_what_if(record.name, clean(report), settings.base_currency),
        form,
        output,
    )

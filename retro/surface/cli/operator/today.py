"""`retro today`, `retro ripening`: the page of the morning, and when what will be known. Both read what is stored."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from retro.report.today import TodayReport

__all__ = ["add_to"]

AgentName = Annotated[str | None, typer.Option("--agent", metavar="A", help="only this agent's")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("today")(today)
    parent.command("ripening")(ripening)


def today(
    agent: AgentName = None,
    seen: Annotated[
        bool, typer.Option("--seen", help="you have looked: what comes after this is new the next time")
    ] = False,
    form: Annotated[str, typer.Option("--format", metavar="text|json|md|html")] = "text",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="write there instead of printing")
    ] = None,
) -> None:
    """Is it alive, what came in, what wants you, what was learned, what ripens next. Reads what is stored.

    Example: retro today --seen
    """
    from retro.app.questions.screens.today import TodayQuestion, mark_seen
    from retro.app.questions.screens.today import today as ask
    from retro.present.formats import render

    form = "json" if call.json else form
    if form not in {"text", "json", "md", "html"}:
        raise UsageError("--format takes text, json, md or html")
    now = time.time_ns() // 1000
    report: TodayReport = ask(call.store, call.config, call.settings, TodayQuestion(now, agent))
    colour = form == "text" and output is None and call.colour
    text = render(report, cast("Literal['text', 'json', 'md', 'html']", form), colour=colour)
    if output is None:
        call.out(text)
    else:
        from retro.surface.cli.files import write_whole

        write_whole(output, text)
        call.say(f"wrote {output}")
    if seen:
        mark_seen(call.store, now, report.digest)
        call.say("noted: what comes after this is new the next time")


def ripening(agent: AgentName = None) -> None:
    """When which rule, exit, shadow or hypothesis will be known, and why nobody can say of the others.

    Example: retro ripening --json
    """
    from retro.app.questions.screens.ripening import RipeningQuestion
    from retro.app.questions.screens.ripening import ripening as ask

    rows = ask(call.store, call.config, RipeningQuestion(time.time_ns() // 1000, agent))
    if call.json:
        call.out_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        from retro.present.page.screens.today import ripening_page
        from retro.present.screen import plain_page
        from retro.present.text.page import text_of

        call.out(text_of(plain_page(ripening_page(rows)), colour=call.colour))
    else:
        call.say("nothing ripens: no week is reviewed yet, and nothing waits")

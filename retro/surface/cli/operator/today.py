"""`retro today`, `retro ripening`: the page of the morning, and when what will be known. Both read what is stored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer

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
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Is it alive, what came in, what wants you, what was learned, what ripens next. Reads what is stored.

    Example: retro today --seen
    """
    from retro.app.questions.screens.today import TodayQuestion, mark_seen
    from retro.app.questions.screens.today import today as ask
    from retro.present.page.screens.today import page_of_today
    from retro.safe import clean

    now = time.time_ns() // 1000
    report: TodayReport = clean(ask(call.store, call.config, call.settings, TodayQuestion(now, agent)))
    answer(report.model_dump(mode="json"), lambda: page_of_today(report), form, output)
    if seen:
        mark_seen(call.store, now, report.digest)
        call.say("noted: what comes after this is new the next time")


def ripening(agent: AgentName = None, form: PageFormat = "text", output: PageOutput = None) -> None:
    """When which rule, exit, shadow or hypothesis will be known, and why nobody can say of the others.

    Example: retro ripening --json
    """
    from retro.app.questions.screens.ripening import RipeningQuestion
    from retro.app.questions.screens.ripening import ripening as ask
    from retro.present.page.screens.ripening import ripening_page

    rows = ask(call.store, call.config, RipeningQuestion(time.time_ns() // 1000, agent))
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: ripening_page(rows),
        form,
        output,
        "" if rows else "nothing ripens: no week is reviewed yet, and nothing waits",
    )

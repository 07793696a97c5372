"""`retro review`: compute and print; nothing is stored."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call, instant
from retro.surface.cli.pages import PageFormat, PageOutput, answer, write_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.settlement.settings import AgentSettings
    from retro.periods import Horizon
    from retro.present.page.blocks import Page
    from retro.report import Narrative, PositionRetrospective, RetrospectiveReport
    from retro.store.facts.agents import Agent

__all__ = ["add_to"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compute a review and print it; nothing is stored.",
    epilog="Example: retro review weekly --format html -o week.html",
)

AgentName = Annotated[str | None, typer.Option("--agent", metavar="A", help="needed when there are several")]
At = Annotated[
    str | None, typer.Option("--at", metavar="T", help="the period that contains this date or instant")
]
From = Annotated[str | None, typer.Option("--from", metavar="A", help="exactly [A, B), together with --to")]
To = Annotated[str | None, typer.Option("--to", metavar="B")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="T", help="know nothing after T")]


Narrate = Annotated[
    bool, typer.Option("--narrate", help="let a model word it: needs a key, costs about a cent, is booked")
]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(app, name="review")


def _print(
    document: RetrospectiveReport | PositionRetrospective,
    form: str,
    output: Path | None,
    *,
    currency: str = "",
) -> None:
    form = "json" if call.json else form
    if form == "json" and output is None:
        from retro.present.json_parts import json_parts

        call.out_parts(json_parts(document))
        return
    from retro.present.formats import render

    colour = form == "text" and output is None and call.colour
    text = render(
        document, cast("Literal['text', 'json', 'md', 'html']", form), colour=colour, currency=currency
    )
    write_out(text, output)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No look for cycles meanwhile: a week of positions is millions of objects that hold none, and stay until it ends."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # all that is there counts as old from now on, or the next look would be through all of it
            gc.unfreeze()
            gc.enable()


@_uncollected()
def _period(
    horizon: Horizon,
    agent: str | None,
    at: str | None,
    start: str | None,
    end: str | None,
    as_of: str | None,
    form: str,
    output: Path | None,
    *,
    narrate: bool,
) -> None:
    from retro.app.reviews.build import review_period
    from retro.app.settlement.lookup import choose_period
    from retro.app.settlement.settle import settled_book
    from retro.narrate.plain import words

    if (start is None) != (end is None):
        raise UsageError("--from and --to belong together")
    if at is not None and start is not None:
        raise UsageError("--at and --from/--to exclude each other")
    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    tz = settings.zone
    until = None if as_of is None else instant(as_of, "--as-of", tz)
    span = None if start is None or end is None else (instant(start, "--from", tz), instant(end, "--to", tz))
    period = choose_period(
        agent_record,
        settings,
        horizon,
        at=None if at is None else instant(at, "--at", tz),
        span=span,
        as_of=until,
    )
    with settled_book(call.store, agent_record.name, settings) as book:
        figures = review_period(book, period, as_of=until)
    report = _narrated(figures, settings) if narrate else words(figures)
    _warn_outside(agent_record, period.start, period.end)
    _print(report, form, output)


def _narrated(figures: RetrospectiveReport, settings: AgentSettings) -> RetrospectiveReport:
    """The report in a model's words, or in the plain ones and a line that says why."""
    import os
    import time

    from retro.app.narration.narrate import narrated

    now = time.time_ns() // 1000
    report = narrated(call.store, call.config, os.environ, figures, now, playbook=settings.playbook)
    _say_who(report.narrative)
    return report


def _say_who(narrative: Narrative) -> None:
    cost = "" if narrative.cost is None else f" for ${narrative.cost:.4f}"
    if narrative.source == "model":
        call.say(f"worded by {narrative.model}{cost}")
    else:
        call.say(f"plain words{cost and f' (spent{cost[4:]})'}: {narrative.why}")


def _warn_outside(agent: Agent, start: int, end: int) -> None:
    """A period without any life of the agent is a legitimate question, and mostly a slip of the pen."""
    from retro.periods import format_instant

    if agent.first_at is None or agent.last_at is None or (agent.first_at < end and start <= agent.last_at):
        return
    lifetime = f"{format_instant(agent.first_at)} to {format_instant(agent.last_at)}"
    call.say(f"note: nothing is known of {agent.name} in this period; its events go from {lifetime}")


@app.command("daily")
def daily(
    agent: AgentName = None,
    at: At = None,
    start: From = None,
    end: To = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
    narrate: Narrate = False,
) -> None:
    """Review a day (the last complete one).

    Example: retro review daily --at 2026-03-04
    """
    _period("daily", agent, at, start, end, as_of, form, output, narrate=narrate)


@app.command("weekly")
def weekly(
    agent: AgentName = None,
    at: At = None,
    start: From = None,
    end: To = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
    narrate: Narrate = False,
) -> None:
    """Review an ISO week (the last complete one).

    Example: retro review weekly --format html -o week.html
    """
    _period("weekly", agent, at, start, end, as_of, form, output, narrate=narrate)


@app.command("epoch")
def epoch(
    agent: AgentName = None,
    at: At = None,
    start: From = None,
    end: To = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
    narrate: Narrate = False,
) -> None:
    """Review an epoch. It has 30 days, counted from the agent's first, unless configured otherwise.

    Example: retro review epoch --format md
    """
    _period("epoch", agent, at, start, end, as_of, form, output, narrate=narrate)


@app.command("life")
def life(
    agent: AgentName = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
    narrate: Narrate = False,
) -> None:
    """Review everything an agent did so far, with its weeks in a row.

    Example: retro review life --format html -o life.html
    """
    from retro.app.reviews.life import review_life
    from retro.app.settlement.settle import settled_book
    from retro.narrate.plain import words

    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    until = None if as_of is None else instant(as_of, "--as-of", settings.zone)
    with settled_book(call.store, agent_record.name, settings) as book:
        figures = review_life(book, as_of=until)
    _print(_narrated(figures, settings) if narrate else words(figures), form, output)


@app.command("position")
def position(
    position_id: Annotated[str, typer.Argument(metavar="ID", help="as `retro positions` lists it")],
    agent: AgentName = None,
    form: PageFormat = "text",
    output: PageOutput = None,
    narrate: Narrate = False,
) -> None:
    """Review one position's whole life.

    Example: retro review position ft-17
    """
    import os
    import time

    from retro.app.reviews.build import review_position
    from retro.app.settlement.settle import settled_book
    from retro.narrate.plain import position_words

    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    currency = settings.base_currency
    with settled_book(call.store, agent_record.name, settings) as book:
        document = review_position(book, position_id)
    if narrate:
        from retro.app.narration.narrate import narrated_position

        now = time.time_ns() // 1000
        document, narrative = narrated_position(
            call.store, call.config, os.environ, document, now, currency=currency
        )
        _say_who(narrative)
    else:
        document = position_words(document, currency=currency)
    if document.open and form != "json" and not call.json:
        answer(None, lambda: _with_kin(document, agent_record, settings), form, output)
    else:
        _print(document, form, output, currency=currency)


def _with_kin(document: PositionRetrospective, agent: Agent, settings: AgentSettings) -> Page:
    """The page of an open position with finished lives that began like it, as its screen shows them."""
    from retro.app.questions.experience import Experience
    from retro.app.questions.positions import stored_position
    from retro.app.questions.screens.kin import kin_of
    from retro.present.formats import page_of
    from retro.present.page.screens.pages import with_kin
    from retro.safe import clean

    row = stored_position(call.store, agent, document.position_id)
    kin = clean(kin_of(Experience(call.store, call.config), row))
    page = page_of(clean(document), settings.base_currency)
    return with_kin(page, kin, agent.name, settings.base_currency)

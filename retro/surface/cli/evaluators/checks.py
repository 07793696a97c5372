"""`retro checks`: what sources computed themselves, beside our figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.app.questions.bounds import EVERYTHING, ListBounds
from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer
from retro.surface.cli.screen import After, Limit, Newest, print_rows, screen_rows

if TYPE_CHECKING:
    from retro.app.questions.bounds import ListPart
    from retro.app.questions.checks.rows import ChecksQuestion
    from retro.app.reviews.checks import ComparedCheck
    from retro.present.page.screens.checks import CheckLine

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("checks")(checks)


def checks(
    agent: Annotated[str | None, typer.Option("--agent", metavar="A", help="default: all")] = None,
    failing: Annotated[
        bool, typer.Option("--failing", help="only those that rounding does not explain")
    ] = False,
    limit: Limit = None,
    after: After = None,
    newest: Newest = False,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Figures that a source computed itself, beside ours: results, balances, holdings, equity. Nothing is booked by them.

    Example: retro checks --failing
    """
    from retro.app.questions.checks import rows as subject
    from retro.present.page.screens.checks import checks_page

    names = subject.agents_with_checks(call.store) if agent is None else [agent]
    chosen = [call.agent(name) for name in names]
    question = subject.ChecksQuestion(chosen, call.settings, failing)
    bounds = ListBounds(limit, after, newest)

    def read(part: ListBounds) -> ListPart[ComparedCheck]:
        return subject.checks(call.store, question, part)

    as_json = call.json or form == "json"
    if as_json and limit is None and output is None:
        call.out_json_rows(row.document() for row in subject.every_check(call.store, question, bounds))
        return
    if as_json and output is None:
        print_rows(
            read,
            bounds,
            subject.cursor_of,
            lambda rows: call.out_json_rows(row.document() for row in rows),
        )
        return
    rows = screen_rows(
        read, bounds, lambda: sum(1 for _ in subject.every_check(call.store, question, EVERYTHING)), "figures"
    )
    counted = _tallies(question)
    if counted and not rows and failing:
        counted = ["every figure that can be compared agrees", *counted]
    answer(
        [row.document() for row in rows],
        lambda: checks_page([_line(row) for row in rows], counted, several=len(chosen) > 1),
        form,
        output,
        "" if counted else "no source has told a figure of its own; docs/sources.md says which do",
    )


def _tallies(question: ChecksQuestion) -> list[str]:
    """How much of everything agrees, whatever part of it is shown."""
    from retro.app.questions.checks import rows as subject
    from retro.app.reviews.check_tallies import tallies

    whole = subject.ChecksQuestion(question.agents, question.settings_for)
    currencies = {agent.name: question.settings_for(agent).base_currency for agent in question.agents}
    counted = tallies(subject.every_check(call.store, whole, EVERYTHING), currencies)
    several = len(question.agents) > 1
    return [f"{tally.agent}: {tally.sentence}" if several else tally.sentence for tally in counted]


def _line(row: ComparedCheck) -> CheckLine:
    from retro.periods import format_instant
    from retro.present.page.screens.checks import CheckLine

    check = row.check
    return CheckLine(
        check.agent,
        "fill" if check.fill else check.what.removesuffix("_pnl"),
        check.fill or check.subject or "",
        format_instant(check.at),
        float(check.stated),
        row.ours,
        _apart(row),
        row.within,
        row.reason,
    )


def _apart(row: ComparedCheck) -> float | None:
    """The difference; 0 where it is a hundredth of what rounding explains, or less."""
    difference = row.difference
    if difference is None or abs(difference) > float(row.check.tolerance) / 100:
        return difference
    return 0.0

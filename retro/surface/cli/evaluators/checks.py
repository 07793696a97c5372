"""`retro checks`: what sources computed themselves, beside our figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.app.questions.bounds import EVERYTHING, ListBounds
from retro.surface.cli.context import call
from retro.surface.cli.screen import After, Limit, Newest, print_rows, print_table, screen_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.questions.bounds import ListPart
    from retro.app.questions.checks.rows import ChecksQuestion
    from retro.app.reviews.checks import ComparedCheck

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
) -> None:
    """Figures that a source computed itself, beside ours: results, balances, holdings, equity. Nothing is booked by them.

    Example: retro checks --failing
    """
    from retro.app.questions.checks import rows as subject

    names = subject.agents_with_checks(call.store) if agent is None else [agent]
    chosen = [call.agent(name) for name in names]
    question = subject.ChecksQuestion(chosen, call.settings, failing)
    bounds = ListBounds(limit, after, newest)

    def read(part: ListBounds) -> ListPart[ComparedCheck]:
        return subject.checks(call.store, question, part)

    if call.json and limit is None:
        call.out_json_rows(row.document() for row in subject.every_check(call.store, question, bounds))
        return
    if call.json:
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
    if rows:
        _print(rows, several=len(chosen) > 1)
    _print_tallies(question, rows)


def _print_tallies(question: ChecksQuestion, rows: Sequence[ComparedCheck]) -> None:
    """How much of everything agrees, whatever part of it is shown."""
    from retro.app.questions.checks import rows as subject
    from retro.app.reviews.check_tallies import tallies

    whole = subject.ChecksQuestion(question.agents, question.settings_for)
    currencies = {agent.name: question.settings_for(agent).base_currency for agent in question.agents}
    counted = tallies(subject.every_check(call.store, whole, EVERYTHING), currencies)
    if not counted:
        call.say("no source has told a figure of its own; docs/sources.md says which do")
        return
    if not rows and question.failing:
        call.out("every figure that can be compared agrees")
    for tally in counted:
        call.out(f"{tally.agent}: {tally.sentence}" if len(question.agents) > 1 else tally.sentence)


def _print(rows: Sequence[ComparedCheck], *, several: bool) -> None:
    from retro.figures import DASH, moment
    from retro.periods import format_instant
    from retro.present.page.blocks import Cell, Column

    columns = [
        Column("Agent", right=False, cut=16, spare=2),
        Column("What", right=False),
        Column("Of", right=False, cut=14),
        Column("At (UTC)", right=False, spare=1),
        Column("Stated"),
        Column("Ours"),
        Column("Apart"),
        Column("", right=False),
    ]
    cells = []
    for row in rows:
        check = row.check
        words = {True: Cell("agrees", "up"), False: Cell("differs", "down"), None: Cell("no figure", "warn")}
        cells.append(
            [
                Cell(check.agent),
                Cell("fill" if check.fill else check.what.removesuffix("_pnl")),
                Cell(check.fill or check.subject or DASH, "strong"),
                Cell(moment(format_instant(check.at))),
                Cell(_figure(float(check.stated))),
                Cell(_figure(row.ours)),
                Cell(_figure(_apart(row))),
                words[row.within],
            ]
        )
    if not several:
        columns, cells = columns[1:], [row[1:] for row in cells]
    reasons = sorted({row.reason for row in rows if row.reason})
    print_table(columns, cells, "; ".join(f"no figure: {reason}" for reason in reasons[:3]))


def _apart(row: ComparedCheck) -> float | None:
    """The difference; 0 where it is a hundredth of what rounding explains, or less."""
    difference = row.difference
    if difference is None or abs(difference) > float(row.check.tolerance) / 100:
        return difference
    return 0.0


def _figure(value: float | None) -> str:
    from retro.figures import DASH, quantity

    return DASH if value is None else quantity(value)

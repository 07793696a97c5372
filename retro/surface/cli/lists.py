"""`retro positions`, `faults`: what there is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.app.questions.bounds import EVERYTHING, ListBounds
from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.screen import (
    After,
    Limit,
    Newest,
    Where,
    print_rows,
    screen_rows,
    selected,
    show_table,
)

if TYPE_CHECKING:
    from retro.app.questions.bounds import ListPart
    from retro.app.settlement.settings import AgentSettings
    from retro.report.overviews import PositionOverview
    from retro.store.conditions import Selection
    from retro.store.facts.agents import Agent
    from retro.store.facts.faults import NumberedFault
    from retro.store.facts.rulings import Ruling

__all__ = ["add_to", "show_faults"]


positions_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List an agent's positions with what they made.",
    epilog="Example: retro positions --format csv > positions.csv",
)

AgentName = Annotated[str | None, typer.Option("--agent", metavar="A", help="needed when there are several")]
PositionName = Annotated[str, typer.Argument(metavar="ID", help="as `retro positions` lists it")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(positions_app, name="positions")
    parent.command("faults")(faults)


@positions_app.callback()
def positions(
    context: typer.Context,
    agent: AgentName = None,
    form: Annotated[str, typer.Option("--format", metavar="text|csv|json")] = "text",
    where: Where = "",
    sort: Annotated[
        str,
        typer.Option(
            "--sort", metavar="COLUMN", help="by pnl, inaction, regret, held ...; -pnl: greatest first"
        ),
    ] = "",
    limit: Limit = None,
    after: After = None,
    newest: Newest = False,
) -> None:
    """List an agent's positions with what they made, in order of their entries.

    Example: retro positions --where "pnl<0 held>1d" --sort -regret
    """
    if context.invoked_subcommand is not None:
        return
    form = "json" if call.json else form
    if form not in {"text", "csv", "json"}:
        raise UsageError("--format takes text, csv or json")
    from retro.app.questions.lists.filters import POSITIONS

    if sort and newest:
        raise UsageError("--newest is the order of time: leave it out, or --sort")
    bounds, selection = ListBounds(limit, after, newest), selected(where, POSITIONS, sort)
    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    if form == "csv":
        _write_spreadsheet(agent_record, settings, bounds, selection)
    else:
        _list_positions(agent_record, settings, bounds, selection, as_json=form == "json")


def _write_spreadsheet(
    agent: Agent, settings: AgentSettings, bounds: ListBounds, selection: Selection
) -> None:
    from retro.app.questions.lists.spreadsheet import COLUMNS, spreadsheet_part
    from retro.present.sheet import sheet_lines

    print_rows(
        lambda part: spreadsheet_part(call.store, agent, settings, part, selection),
        bounds,
        lambda row: str(row[0]),
        lambda rows: call.out_parts(sheet_lines(COLUMNS, rows)),
    )


def _list_positions(
    agent: Agent, settings: AgentSettings, bounds: ListBounds, selection: Selection, *, as_json: bool
) -> None:
    from retro.app.questions import positions as subject

    def read(part: ListBounds) -> ListPart[PositionOverview]:
        return subject.positions(call.store, agent, settings, part, selection)

    if as_json:
        print_rows(
            read,
            bounds,
            lambda row: row.name,
            lambda rows: call.out_json_rows(row.document() for row in rows),
        )
        return
    rows = screen_rows(
        read, bounds, lambda: subject.count_positions(call.store, agent, selection), "positions"
    )
    if rows:
        from retro.present.page.screens.lists import positions_table

        show_table(positions_table(rows, settings.base_currency))
    elif bounds.after is None and selection.where:
        total = subject.count_positions(call.store, agent)
        call.say(f"none of the {total:,} positions of {agent.name} is so")
    elif bounds.after is None:
        call.say(f"agent {agent.name} has no positions yet")
    else:
        call.say(f"no position follows {bounds.after}")


@positions_app.command("confirm")
def confirm(position: PositionName, agent: AgentName = None) -> None:
    """Count a position whose fills look impossible: they are right.

    Example: retro positions confirm t-6
    """
    _rule(position, agent, "confirmed")


@positions_app.command("reject")
def reject(position: PositionName, agent: AgentName = None) -> None:
    """Leave a position whose fills look impossible out of everything, its losses too.

    Example: retro positions reject t-6
    """
    _rule(position, agent, "rejected")


def _rule(position: str, agent: str | None, ruling: Ruling) -> None:
    import getpass

    from retro.app.settlement.rulings import rule
    from retro.store.facts.rulings import RulingRecord

    record = call.agent(agent)
    author = call.config.owner.name or getpass.getuser()
    given = RulingRecord(position, ruling, author, time.time_ns() // 1000)
    sentence = rule(call.store, record.name, call.settings(record), given)
    if call.json:
        call.out_json({"agent": record.name, "position_id": position, "ruling": ruling, "author": author})
    else:
        call.out(sentence)


def faults(
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="A", help="of this agent's lines and sources; default: all"),
    ] = None,
    limit: Limit = None,
    after: After = None,
    newest: Newest = False,
) -> None:
    """List foreign rows that could not be used, and why.

    Example: retro faults --agent my-agent
    """
    show_faults(agent, ListBounds(limit, after, newest))


def show_faults(agent: str | None = None, bounds: ListBounds = EVERYTHING) -> None:
    """Print the kept faults, or those of one agent."""
    from retro.app.questions import faults as subject
    from retro.safe import plain_text

    def read(part: ListBounds) -> ListPart[NumberedFault]:
        return subject.faults(call.store, part, agent)

    if call.json:
        print_rows(
            read,
            bounds,
            lambda row: str(row.number),
            lambda rows: call.out_json_rows(subject.fault_document(row.fault) for row in rows),
        )
        return
    rows = screen_rows(read, bounds, lambda: subject.count_faults(call.store, agent), "faults")
    for _, fault in rows:
        place = fault.where if fault.line is None else f"{fault.where}:{fault.line}"
        call.out(plain_text(f"{place}: {fault.reason}"))
    if not rows and bounds.after is None:
        call.say("no faults: everything that was ingested could be used")

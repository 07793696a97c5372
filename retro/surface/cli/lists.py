"""`retro positions`, `faults`: what there is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.app.questions.bounds import EVERYTHING, ListBounds
from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, write_parts
from retro.surface.cli.screen import After, Limit, Newest, RowList, Where, print_list, print_rows, selected

if TYPE_CHECKING:
    from pathlib import Path

    from retro.app.settlement.settings import AgentSettings
    from retro.model import Fault
    from retro.report.overviews import PositionOverview
    from retro.store.conditions import Selection
    from retro.store.facts.agents import Agent
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
    form: Annotated[str, typer.Option("--format", metavar="text|csv|json|md|html")] = "text",
    output: PageOutput = None,
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
    if form not in {"text", "csv", "json", "md", "html"}:
        raise UsageError("--format takes text, csv, json, md or html")
    from retro.app.questions.lists.filters import POSITIONS

    if sort and newest:
        raise UsageError("--newest is the order of time: leave it out, or --sort")
    bounds, selection = ListBounds(limit, after, newest), selected(where, POSITIONS, sort)
    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    if form == "csv":
        _write_spreadsheet(agent_record, settings, bounds, selection, output)
    else:
        listed = _position_list(agent_record, settings, selection)
        print_list(listed, bounds, form, output, lambda: _no_position(agent_record, bounds, selection))


def _write_spreadsheet(
    agent: Agent, settings: AgentSettings, bounds: ListBounds, selection: Selection, output: Path | None
) -> None:
    from retro.app.questions.lists.spreadsheet import COLUMNS, spreadsheet_part
    from retro.present.sheet import sheet_lines

    print_rows(
        lambda part: spreadsheet_part(call.store, agent, settings, part, selection),
        bounds,
        lambda row: str(row[0]),
        lambda rows: write_parts(sheet_lines(COLUMNS, rows), output),
    )


def _position_list(agent: Agent, settings: AgentSettings, selection: Selection) -> RowList[PositionOverview]:
    from retro.app.questions import positions as subject
    from retro.present.page.screens.pages import positions_page

    def count() -> int:
        return subject.count_positions(call.store, agent, selection)

    return RowList(
        "positions",
        lambda part: subject.positions(call.store, agent, settings, part, selection),
        count,
        lambda row: row.name,
        lambda row: row.document(),
        lambda rows: positions_page(rows, count(), agent.name, settings.base_currency, behind=False),
    )


def _no_position(agent: Agent, bounds: ListBounds, selection: Selection) -> str:
    """Why a list of positions is empty."""
    from retro.app.questions.positions import count_positions

    if bounds.after is not None:
        return f"no position follows {bounds.after}"
    if not selection.where:
        return f"agent {agent.name} has no positions yet"
    return f"none of the {count_positions(call.store, agent):,} positions of {agent.name} is so"


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
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """List foreign rows that could not be used, and why.

    Example: retro faults --agent my-agent
    """
    show_faults(agent, ListBounds(limit, after, newest), form, output)


def show_faults(
    agent: str | None = None,
    bounds: ListBounds = EVERYTHING,
    form: str = "text",
    output: Path | None = None,
) -> None:
    """Print the kept faults, or those of one agent."""
    from retro.app.questions import faults as subject
    from retro.present.page.screens.records import faults_page
    from retro.safe import plain_text

    listed = RowList(
        "faults",
        lambda part: subject.faults(call.store, part, agent),
        lambda: subject.count_faults(call.store, agent),
        lambda row: str(row.number),
        lambda row: subject.fault_document(row.fault),
        lambda rows: faults_page([row.fault for row in rows], subject.count_faults(call.store, agent), agent),
        lambda rows: "".join(f"{plain_text(_fault_line(row.fault))}\n" for row in rows),
    )
    bare = "no faults: everything that was ingested could be used"
    print_list(
        listed,
        bounds,
        form,
        output,
        lambda: bare if bounds.after is None else f"no fault follows {bounds.after}",
    )


def _fault_line(fault: Fault) -> str:
    """Place and reason on one line, as an editor goes to it."""
    place = fault.where if fault.line is None else f"{fault.where}:{fault.line}"
    return f"{place}: {fault.reason}"

"""`retro agents`: who there is; what there is of one; forgetting, renaming, merging."""

from __future__ import annotations

import socket
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer, write_out
from retro.surface.cli.screen import list_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from retro.app.estate.census import Estate
    from retro.app.estate.folders import EstateFolders

__all__ = ["add_to", "clock", "confirmed", "folders"]

agents_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List the agents and what is known of them.",
    epilog="Example: retro agents --json",
)


Name = Annotated[str, typer.Argument(metavar="NAME", help="as `retro agents` lists it")]
Yes = Annotated[bool, typer.Option("--yes", help="do it without asking for the name once more")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="say what would go, in counts, and change nothing")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(agents_app, name="agents")


def clock() -> int:
    """The wall clock, in microseconds."""
    return time.time_ns() // 1000


def folders() -> EstateFolders:
    """Where the files of agents lie, as configured."""
    from retro.app.estate.folders import folders_of

    return folders_of(call.store, call.config)


def confirmed(name: str, what: str, *, yes: bool) -> None:
    """Go on only if a person says so: by --yes, or by typing the name at a terminal."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{what}: say --yes to do it, or --dry-run to see what it would change")
    call.say(f"{what}. Type the name of the agent to go on:")
    if sys.stdin.readline().strip() != name:
        raise UsageError("that is not its name; nothing was changed")


@agents_app.callback()
def agents(context: typer.Context, form: PageFormat = "text", output: PageOutput = None) -> None:
    """List the agents and what is known of them.

    Example: retro agents --json
    """
    if context.invoked_subcommand is None:
        _list_agents(form, output)


@agents_app.command("regrid")
def regrid(agent: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Put an agent's days, weeks and epochs on the configured time zone and length.

    Without it an agent keeps the grid of its first review. The reviews of the old grid stay under their ids; the new
    ones are made from the first event on, at the next knock, under ids that end in .g2.

    Example: retro agents regrid my-agent
    """
    from retro.app.settlement.grid import regrid as put_on_grid

    record = call.agent(agent)
    with call.store.write() as conn:
        sentence = put_on_grid(conn, record, call.config, time.time_ns() // 1000)
    if call.json:
        grid = call.agent(agent).grid
        call.out_json(
            {
                "agent": agent,
                "time_zone": grid and grid.time_zone,
                "epoch_interval_days": grid and grid.epoch_days,
            }
        )
    else:
        call.out(sentence)


def _list_agents(form: str, output: Path | None) -> None:
    from retro.app.questions import agents as subject
    from retro.present.page.screens.pages import agents_page

    rows = subject.agents(call.store, call.settings, call.config, time.time_ns() // 1000)
    if rows and form == "text" and not call.json:
        write_out(list_text(agents_page(rows)), output)
        return
    nothing = "no agents yet; start with: retro ingest journal FILE, or retro ingest freqtrade DB"
    documents = [row.document() for row in rows]
    answer(documents, lambda: agents_page(rows), form, output, "" if rows else nothing)


@agents_app.command("show")
def show(agent: Name, form: PageFormat = "text", output: PageOutput = None) -> None:
    """Show what there is of one agent: rows, files, memory, earlier names.

    Example: retro agents show my-agent
    """
    from retro.app.estate.census import estate_of
    from retro.present.page.screens.records import estate_page

    document = estate_of(call.store, folders(), agent).document()
    answer(document, lambda: estate_page(document), form, output)


@agents_app.command("forget")
def forget(
    agent: Annotated[str, typer.Argument(metavar="NAME", help="who is to be forgotten")],
    yes: Yes = False,
    dry_run: DryRun = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="let the sources of a forgotten agent tell of it again")
    ] = False,
) -> None:
    """Delete everything of an agent: facts, reviews, files, memory, records, proposals, letters.

    A digest of its name stays, so that a source that still tells of it does not bring it back.

    Example: retro agents forget my-agent --dry-run
    """
    from retro.app.estate import removal

    if undo:
        sentence = removal.undo_forget(call.store, agent)
        call.out_json({"agent": agent, "undone": True}) if call.json else call.out(sentence)
        return
    if dry_run:
        _dry_run(agent, "would be forgotten")
        return
    confirmed(agent, f"this deletes everything of {agent}", yes=yes)
    estate = removal.forget(call.store, call.config, folders(), agent, clock=clock, host=socket.gethostname())
    _report(estate, {"forgotten": True})
    call.say(
        f"{agent} is forgotten; what its sources still tell of it is passed over "
        f"(`{call.command('agents', 'forget', agent, '--undo')}` ends that)"
    )
    if agent in call.config.agent:
        call.say(f"the configuration still has a table [agent.{agent}]")


@agents_app.command("rename")
def rename(
    agent: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="what it is called from now on")],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Give an agent another name: ids of reviews and files follow, the old name and ids lead to the new.

    What was written stays as it was: events, documents of reviews, branches, merged requests.

    Example: retro agents rename my-agent harbor-9 --yes
    """
    from retro.app.estate.rename import refuse_name
    from retro.app.estate.rename import rename as rename_agent

    if dry_run:
        with call.store.read() as conn:
            refuse_name(conn, agent, new)
        _dry_run(agent, f"would be called {new}")
        return
    confirmed(agent, f"this renames {agent} to {new}", yes=yes)
    estate = rename_agent(call.store, folders(), agent, new, clock=clock)
    _report(estate, {"renamed_to": new})
    call.say(
        f"{agent} is called {new}; what is told of {agent} is told of {new}, and its review ids lead there"
    )
    if agent in call.config.agent:
        call.say(f"rename the table [agent.{agent}] of the configuration to [agent.{new}]")


@agents_app.command("merge")
def merge(
    agent: Name,
    into: Annotated[str, typer.Argument(metavar="INTO", help="whose life both become")],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Make one life of two agents, such as of a bot that changed its strategy.

    Facts and memory go to INTO, and its days, weeks and epochs are reviewed anew under ids of their own. Reviews that are
    written stay as they are, under their ids. Refused where both have something under one id.

    Example: retro agents merge old-strategy new-strategy --dry-run
    """
    from retro.app.estate.merger import merge as merge_agents
    from retro.app.estate.merger import refuse_merger

    if dry_run:
        with call.store.read() as conn:
            refuse_merger(conn, agent, into)
        _dry_run(agent, f"would become part of {into}")
        return
    confirmed(agent, f"this makes {agent} a part of {into}", yes=yes)
    estate = merge_agents(call.store, folders(), agent, into, clock=clock)
    _report(estate, {"merged_into": into})
    call.say(
        f"{agent} is a part of {into}; the next knock reviews the days, weeks and epochs of the merged life"
    )
    if agent in call.config.agent:
        call.say(f"the configuration still has a table [agent.{agent}]")


def _dry_run(agent: str, what: str) -> None:
    from retro.app.estate.census import estate_of

    estate = estate_of(call.store, folders(), agent)
    _report(estate, {"dry_run": True})
    call.say(f"{agent} {what}; nothing was changed")


def _report(estate: Estate, done: Mapping[str, object]) -> None:
    from retro.present.page.screens.records import estate_page

    document = estate.document()
    shown = {"agent": estate.name, **done, **{name: document[name] for name in ("rows", "files")}}
    answer(shown, lambda: estate_page(document), "text", None)

"""`retro playbook`: lint, format and audit PLAYBOOK.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer
from retro.surface.cli.screen import Where, selected

if TYPE_CHECKING:
    from retro.app.questions.audit import AuditedLife
    from retro.present.page.screens.playbook import WeekOdds
    from retro.report import HeuristicReport

__all__ = ["add_to", "app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="PLAYBOOK.md: rules that change only with evidence.",
    epilog="Example: retro playbook lint PLAYBOOK.md",
)

File = Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="a PLAYBOOK.md")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(app, name="playbook")


@app.command("lint")
def lint(file: File) -> None:
    """Check a playbook; faults name their line, exit 1.

    Example: retro playbook lint PLAYBOOK.md
    """
    from retro.app.proposals.files import read_playbook
    from retro.figures import count

    book = read_playbook(file)
    rows = [{"where": str(file), "line": fault.line, "reason": fault.reason} for fault in book.faults]
    if call.json:
        call.out_json({"heuristics": len(book.heuristics), "faults": rows})
    else:
        for row in rows:
            call.out(f"{row['where']}:{row['line']}: {row['reason']}")
        if not rows:
            call.say(f"{file}: {count(len(book.heuristics), 'heuristic')}, no faults")
    if rows:
        call.code = 1


@app.command("format")
def show(file: File) -> None:
    """Print the parsed document again, byte for byte.

    Example: retro playbook format PLAYBOOK.md | diff - PLAYBOOK.md
    """
    from retro.app.proposals.files import read_playbook

    call.out_bytes(bytes(read_playbook(file)))


@app.command("audit")
def audit(
    agent: AgentName = None,
    as_of: AsOf = None,
    history: Annotated[
        bool, typer.Option("--history", help="every complete week of each, as it stood at that week's end")
    ] = False,
    where: Where = "",
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="by n, avg, sum, won, odds; -odds: greatest first")
    ] = "",
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Audit every cited heuristic over the agent's whole life.

    Example: retro playbook audit --where "verdict:demote n>=10" --sort avg
    """
    from retro.app.questions.audit import audited, row_document, selected_life
    from retro.app.questions.lists.filters import RULES
    from retro.present.page.screens.pages import audit_page
    from retro.present.page.screens.playbook import history_page

    selection = selected(where, RULES, sort)
    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    everything = audited(call.store, agent_record, settings, as_of=instant_of(as_of), history=history)
    life = selected_life(everything, selection)
    documents = zip(life.rows, life.weeks if history else [None] * len(life.rows), strict=True)
    name = agent_record.name
    answer(
        [row_document(row, weeks) for row, weeks in documents],
        lambda: (
            history_page(name, _weeks(life))
            if history
            else audit_page(name, life.rows, settings.base_currency)
        ),
        form,
        output,
        ""
        if life.rows
        else "no rule is so; leave out --where to see all"
        if everything.rows
        else f"agent {name} has cited nothing, and its playbook has no rule that could have been",
    )


def _weeks(life: AuditedLife) -> list[tuple[HeuristicReport, list[WeekOdds]]]:
    from retro.periods import week_name
    from retro.present.page.screens.playbook import WeekOdds

    return [
        (row, [WeekOdds(week_name(week.week), *week[1:]) for week in weeks])
        for row, weeks in zip(life.rows, life.weeks, strict=True)
    ]


@app.command("ripening")
def ripening(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """Show when each heuristic can be judged, at the rate at which it holds something.

    Example: retro playbook ripening --agent sample
    """
    from retro.app.questions.audit import ripening as ripening_of
    from retro.app.questions.document import documents_of
    from retro.present.page.screens.playbook import ripeness_page

    agent_record = call.agent(agent)
    rows = ripening_of(call.store, agent_record, call.settings(agent_record), as_of=instant_of(as_of))
    name = agent_record.name
    answer(
        documents_of(rows),
        lambda: ripeness_page(name, rows),
        form,
        output,
        "" if rows else f"agent {name} has cited nothing that could be judged",
    )

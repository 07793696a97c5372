"""`retro dreams`: the positions that felt otherwise at first than they turned out, for going through again."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]

dreams_app = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="What is most worth going through again."
)


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(dreams_app, name="dreams")


@dreams_app.callback()
def dreams(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", metavar="N", help="at most so many")] = 50,
    agent: AgentName = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Positions whose first hours said another thing than their end: what is most worth going through again.

    Example: retro dreams -n 10 --agent sample
    """
    if context.invoked_subcommand is not None:
        return
    from retro.app.questions.evaluators.dreams import DreamQuestion
    from retro.app.questions.evaluators.dreams import dreams as dreams_of
    from retro.present.page.evaluators.decisions import page_of_dreams

    record = call.agent(agent)
    settings = call.settings(record)
    rows = dreams_of(DreamQuestion(call.store, record.name, settings, limit, instant_of(as_of)))
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: page_of_dreams(record.name, rows, settings.base_currency),
        form,
        output,
        "" if rows else "no closed position with an entry decision turned out otherwise than it began",
    )


@dreams_app.command("done")
def done(
    position: Annotated[str, typer.Argument(metavar="ID", help="the position that was gone through")],
    agent: AgentName = None,
) -> None:
    """Note that a position was gone through once more: it counts 0.85 as much from now on.

    Example: retro dreams done t-17 --agent sample
    """
    from retro.app.questions.evaluators.dreams import mark_replayed
    from retro.figures import count
    from retro.safe import plain_text

    record = call.agent(agent)
    replays = mark_replayed(call.store, record.name, call.settings(record), position, time.time_ns() // 1000)
    if call.json:
        call.out_json({"agent": record.name, "position": position, "replays": replays})
    else:
        call.out(plain_text(f"{position} was replayed {count(replays, 'time')}"))

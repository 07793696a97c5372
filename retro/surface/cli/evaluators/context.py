"""`retro attribution`: what was in front of an agent when it decided well, and when it did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    import typer


__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("attribution")(attribution)


def attribution(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """What was in front of the agent when it decided well.

    Each name among the `context_items` of its decisions: how they turned out with it, and without.

    Example: retro attribution --agent sample
    """
    from retro.app.questions.evaluators.context import AttributionQuestion
    from retro.app.questions.evaluators.context import attribution as attribution_of
    from retro.present.page.evaluators.decisions import page_of_attribution

    record = call.agent(agent)
    decay = call.config.retrospective.attribution_decay
    question = AttributionQuestion(call.store, record.name, call.settings(record), decay, instant_of(as_of))
    rows = attribution_of(question)
    nothing = "no decision with context_items has turned out yet; docs/journal.md says how to tell of them"
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: page_of_attribution(record.name, rows),
        form,
        output,
        "" if rows else nothing,
    )

"""`retro validate recall`: does the memory help? It prints what it finds, also when it does not."""

from __future__ import annotations

from typing import Annotated

import typer

from retro.surface.cli.context import instant
from retro.surface.cli.memory import AgentName, experience_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]

validate_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Does it help? A replay without look-ahead."
)


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.add_typer(validate_app, name="validate")


@validate_app.command("recall")
def validate_recall(
    split: Annotated[
        str, typer.Option("--split", metavar="DATE", help="trades entered from then on are sized")
    ],
    agent: AgentName = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Replay a history in time order: fixed size, simple, recency and memory Kelly. Prints what it finds, whatever it is.

    Example: retro validate recall --agent sample --split 2026-02-01
    """
    from retro.app.questions import recall
    from retro.app.questions.document import document_of
    from retro.periods import format_instant
    from retro.present.page.screens.validation import validation_page

    experience = experience_of()
    question = recall.ValidationQuestion(experience.agent(agent), instant(split, "--split"))
    validation = recall.validate(experience, question)
    answer(
        document_of(validation),
        lambda: validation_page(
            question.agent or "the agent", validation, format_instant(validation.split_at)
        ),
        form,
        output,
    )

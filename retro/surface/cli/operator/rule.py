"""`retro rule`: one rule over its weeks, as their reviews told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    from retro.report.heuristic import RuleBiography

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("rule")(rule)


def rule(
    agent: Annotated[str, typer.Argument(metavar="AGENT")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="as `retro playbook audit` lists it")],
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """One rule over its weeks: outcomes, mean, interval, verdict, and its odds by week. Reads what is stored.

    Example: retro rule my-agent H-7
    """
    from retro.app.questions.screens.biography import rule_biography
    from retro.present.page.screens.biography import page_of_biography
    from retro.safe import clean

    life: RuleBiography = clean(rule_biography(call.store, call.config, call.agent(agent), name))
    answer(life.model_dump(mode="json"), lambda: page_of_biography(life), form, output)

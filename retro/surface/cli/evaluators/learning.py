"""`retro learning`: whether an agent still learns, and how long its rules live."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    import typer

    from retro.app.questions.evaluators.learning import LearningQuestion, Predecessor
    from retro.app.questions.evaluators.rule_lives import PlaybookPlace
    from retro.store.facts.agents import Agent

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("learning")(learning)


def learning(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """Ask whether it still learns: its last complete week against the one before, its rules' lives, its competence.

    The lives of rules are read from the commits of the repository in which the agent's playbook lies.

    Example: retro learning --agent sample
    """
    from retro.app.questions.evaluators.learning import learning as learning_of
    from retro.present.page.evaluators.answers import page_of_learning
    from retro.safe import clean

    record = call.agent(agent)
    report = learning_of(_question(record, instant_of(as_of)))
    answer(
        report.model_dump(mode="json"),
        lambda: page_of_learning(record.name, clean(report)),
        form,
        output,
    )


def _question(agent: Agent, as_of: int | None) -> LearningQuestion:
    from retro.app.questions.evaluators.learning import LearningQuestion
    from retro.evaluate.terms import AgeingTerms

    terms = call.config.retrospective
    return LearningQuestion(
        call.store,
        agent.name,
        call.settings(agent),
        _place(agent.name),
        AgeingTerms(
            terms.meta_learning_enabled,
            terms.meta_negative_weeks_before_hayflick,
            terms.meta_hayflick_acceleration,
        ),
        _predecessor(agent.name),
        as_of,
    )


def _place(agent: str) -> PlaybookPlace:
    from pathlib import Path

    from retro.app.questions.evaluators.rule_lives import PlaybookPlace

    table = call.config.agent.get(agent)
    file = None if table is None or table.playbook is None else Path(table.playbook)
    return PlaybookPlace(file, os.environ)


def _predecessor(agent: str) -> Predecessor | None:
    from retro.app.questions.evaluators.learning import Predecessor
    from retro.store.facts.agents import agent as agent_named

    table = call.config.agent.get(agent)
    if table is None or table.predecessor is None:
        return None
    with call.store.read() as conn:
        record = agent_named(conn, table.predecessor)
    settings = None if record is None else call.settings(record)
    return Predecessor(table.predecessor, settings, _place(table.predecessor))

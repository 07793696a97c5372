"""`retro learning`: whether an agent still learns, and how long its rules live."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro.surface.cli.context import call
from retro.surface.cli.evaluators.pages import PageFormat, PageOutput, is_page, print_page
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    import typer

    from retro.app.questions.evaluators.learning import LearningQuestion, Predecessor
    from retro.app.questions.evaluators.rule_lives import PlaybookPlace
    from retro.report.evaluators.learning import Generations, LearningReport
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

    record = call.agent(agent)
    report = learning_of(_question(record, instant_of(as_of)))
    if call.json:
        call.out_json(report.model_dump(mode="json"))
    elif is_page(form, output):
        from retro.present.page.evaluators.answers import page_of_learning
        from retro.safe import clean

        print_page(page_of_learning(record.name, clean(report)), form, output)
    else:
        _print(report)


def _question(agent: Agent, as_of: int | None) -> LearningQuestion:
    from retro.app.questions.evaluators.learning import LearningQuestion
    from retro.evaluate.meta.learning import AgeingTerms

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


_COMPARED = {
    "corrector": "error after correction, and of the confidence in use",
    "memory": "recalled episodes that ended as the decision did",
    "attention": "good decisions among those that cited something",
    "heuristics": "active rules that earn, and their half-life",
    "generations": "decisions to competence, against the predecessor's",
}


def _print(report: LearningReport) -> None:
    from retro.figures import DASH, count
    from retro.present.page.blocks import Cell, Column, tone_of
    from retro.surface.cli.screen import print_sentence, print_table

    def change(value: float | None) -> Cell:
        return Cell(DASH if value is None else f"{value:+.2f}", tone_of(value))

    rows = [[Cell(name), change(value), Cell(_COMPARED[name], "faint")] for name, value in report.groups]
    rows.append(
        [Cell("score", "strong"), change(report.score), Cell(report.reasons.get("score", ""), "faint")]
    )
    compared = (
        "No week is over yet: nothing can be compared."
        if report.week is None
        else f"{report.week}, against the week before: from -1, much worse, to 1, much better."
    )
    note = (
        f"{compared} {count(report.negative_weeks, 'week')} below 0 in a row: ageing x {report.ageing_multiplier:.2f},"
        f" epistemic x {report.epistemic_multiplier:.2f}. Numbers for the agent to read; nothing acts on them."
    )
    columns = [Column("Group", right=False), Column("Change"), Column("", right=False)]
    print_table(columns, rows, note)
    descent = [] if report.generations is None else [_generations(report.generations)]
    for text in (_rules(report), _competence(report), *descent):
        print_sentence(text, "  ")


def _rules(report: LearningReport) -> str:
    life = report.half_life_days
    text = (
        f"Rules: {report.reasons['half_life_days']}"
        if life is None
        else f"Rules: half die within {life:.0f} days"
    )
    why = report.reasons.get("survival")
    return f"{text}." if why is None else f"{text}; {why}."


def _competence(report: LearningReport) -> str:
    reached = report.competence
    if reached.decisions is None:
        return f"Competent: {report.reasons['competence']}."
    return f"Competent: from decision {reached.decisions:,} on, {reached.at}."


def _generations(descent: Generations) -> str:
    ratio = descent.reasons.get("ratio") if descent.ratio is None else f"{descent.ratio:.2f} of its decisions"
    return f"After {descent.predecessor}: {ratio}; {descent.inherited} rules inherited, {descent.kept} kept."

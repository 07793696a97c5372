"""`retro state`, `habits`, `beliefs`, `markers`, `plans`: how an agent stands, and what it does again and again."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import (
    AgentName,
    AsOf,
    Strategy,
    Symbol,
    experience_of,
    instant_of,
    situation_of,
)
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("state")(state)
    parent.command("habits")(habits)
    parent.command("beliefs")(beliefs)
    parent.command("markers")(markers)
    parent.command("plans")(plans)


def state(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """How the agent stands: confidence, drawdown, streaks, appetite for risk, and whether it is halted.

    Example: retro state --agent sample
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import document_of
    from retro.app.questions.experience import MemoryQuestion
    from retro.present.page.screens.behaviour import state_page

    experience = experience_of()
    name = experience.agent(agent)
    document = document_of(behaviour.state(experience, MemoryQuestion(agent=name, as_of=instant_of(as_of))))
    answer(document, lambda: state_page(name, document, _currency(name)), form, output)


def _currency(name: str) -> str:
    """What the agent's money is counted in; one that is known from memory alone has the owner's."""
    from retro.app.settlement.settings import base_currency_of
    from retro.store.facts import agents

    with call.store.read() as conn:
        agent = agents.agent(conn, name)
    return call.config.owner.base_currency if agent is None else base_currency_of(call.config, agent)


def habits(
    agent: AgentName = None,
    strategy: Strategy = None,
    symbol: Symbol = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """What the agent does again and again, with each strategy and symbol, and what comes of it.

    Example: retro habits --agent sample --strategy range
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import documents_of
    from retro.present.page.screens.behaviour import habits_page

    experience = experience_of()
    name = experience.agent(agent)
    question = behaviour.HabitsQuestion(agent=name, as_of=instant_of(as_of), strategy=strategy, symbol=symbol)
    documents = documents_of(behaviour.habits(experience, question))
    nothing = "" if documents else f"{name} has no habits yet: no closed trade is remembered"
    answer(documents, lambda: habits_page(name, documents), form, output, nothing)


def beliefs(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """What the agent may believe of its own trades, each with its conditions and its evidence.

    Example: retro beliefs --agent sample --json
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import documents_of
    from retro.app.questions.experience import MemoryQuestion
    from retro.present.page.screens.behaviour import beliefs_page

    experience = experience_of()
    name = experience.agent(agent)
    belief_rows = behaviour.beliefs(experience, MemoryQuestion(agent=name, as_of=instant_of(as_of)))
    nothing = f"{name} has no beliefs yet: they need a pattern of ten outcomes or more that luck cannot explain, or somebody who seeds them"
    answer(
        documents_of(belief_rows),
        lambda: beliefs_page(name, belief_rows),
        form,
        output,
        "" if belief_rows else nothing,
    )


def markers(
    agent: AgentName = None,
    context: Annotated[
        str | None,
        typer.Option("--context", metavar="JSON", help="those most like it first  [default: newest]"),
    ] = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Situations that felt better than they were, or were left at the wrong moment, as reviews found out.

    Example: retro markers --agent sample
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import documents_of
    from retro.present.page.screens.behaviour import markers_page

    experience = experience_of()
    name = experience.agent(agent)
    question = behaviour.MarkersQuestion(
        agent=name,
        context=None if context is None else situation_of(experience, context),
        as_of=instant_of(as_of),
    )
    rows = behaviour.markers(experience, question)
    nothing = (
        "" if rows else f"{name} has no markers: no review found a decision that felt better than it was"
    )
    answer(documents_of(rows), lambda: markers_page(name, rows, _unit(name)), form, output, nothing)


def _unit(name: str) -> str:
    """What a marker's size is measured in: that of the verdicts on the agent."""
    from retro.app.settlement.book import measured_settings
    from retro.store.facts import agents

    with call.store.read() as conn:
        agent = agents.agent(conn, name)
        if agent is None:
            return call.config.owner.base_currency
        settings = measured_settings(conn, name, call.settings(agent))
    units = {"usd": settings.base_currency, "r": "R", "bps": "bps of notional"}
    return units[settings.options.rules.unit]


def plans(
    agent: AgentName = None,
    as_of: AsOf = None,
    alive: Annotated[bool, typer.Option("--alive", help="only those that may still fire")] = False,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """The agent's plans: what it means to do when a situation comes, and how that went.

    Example: retro plans --agent sample --alive
    """
    from retro.app.questions import plans as subject
    from retro.app.questions.document import documents_of
    from retro.present.page.screens.behaviour import plans_page

    experience = experience_of()
    name = experience.agent(agent)
    at = instant_of(as_of)
    question = subject.PlansQuestion(
        agent=name, as_of=time.time_ns() // 1000 if at is None else at, alive=alive
    )
    standings = subject.plans(experience, question)
    nothing = "" if standings else f"{name} has no plans"
    answer(documents_of(standings), lambda: plans_page(name, standings), form, output, nothing)

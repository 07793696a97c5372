"""`retro state`, `habits`, `beliefs`, `markers`, `plans`: how an agent stands, and what it does again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory import Belief

__all__ = ["add_to"]

_SHARES = frozenset(
    {"confidence", "risk_appetite", "drawdown", "drawdown_state", "win_rate", "kelly", "stability"}
    | {"entry_timing", "exit_timing"}
)
_EQUITIES = frozenset({"equity", "peak_equity"})
_UNITS = {
    "window": " trades",
    "drawdown_state": " of what is tolerated",
    "kelly": " of equity at one R",
    "mean_r": " R",
    "disposition": ", losers held / winners held",
    "loss_aversion": ", median loss / median win",
}


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("state")(state)
    parent.command("habits")(habits)
    parent.command("beliefs")(beliefs)
    parent.command("markers")(markers)
    parent.command("plans")(plans)


def state(agent: AgentName = None, as_of: AsOf = None) -> None:
    """How the agent stands: confidence, drawdown, streaks, appetite for risk, and whether it is halted.

    Example: retro state --agent sample
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import document_of
    from retro.app.questions.experience import MemoryQuestion

    experience = experience_of()
    name = experience.agent(agent)
    document = document_of(behaviour.state(experience, MemoryQuestion(agent=name, as_of=instant_of(as_of))))
    if call.json:
        call.out_json(document)
        return
    _print_figures(document, skip=("agent", "history", "reasons"), currency=_currency(name))


def _currency(name: str) -> str:
    """What the agent's money is counted in; one that is known from memory alone has the owner's."""
    from retro.app.settlement.settings import base_currency_of
    from retro.store.facts import agents

    with call.store.read() as conn:
        agent = agents.agent(conn, name)
    return call.config.owner.base_currency if agent is None else base_currency_of(call.config, agent)


def habits(
    agent: AgentName = None, strategy: Strategy = None, symbol: Symbol = None, as_of: AsOf = None
) -> None:
    """What the agent does again and again, with each strategy and symbol, and what comes of it.

    Example: retro habits --agent sample --strategy range
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import documents_of

    experience = experience_of()
    name = experience.agent(agent)
    question = behaviour.HabitsQuestion(agent=name, as_of=instant_of(as_of), strategy=strategy, symbol=symbol)
    documents = documents_of(behaviour.habits(experience, question))
    if call.json:
        call.out_json(documents)
    elif not documents:
        call.say(f"{name} has no habits yet: no closed trade is remembered")
    for document in () if call.json else documents:
        call.out(f"{document['strategy'] or 'no strategy'} on {document['symbol'] or 'no symbol'}")
        # `drift` is the sentence: what was tested, said exactly
        figures = document | {"drift": document["drift"]["words"]}
        _print_figures(figures, skip=("agent", "strategy", "symbol", "reasons"))


def beliefs(agent: AgentName = None, as_of: AsOf = None) -> None:
    """What the agent may believe of its own trades, each with its conditions and its evidence.

    Example: retro beliefs --agent sample --json
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import documents_of
    from retro.app.questions.experience import MemoryQuestion

    experience = experience_of()
    name = experience.agent(agent)
    belief_rows = behaviour.beliefs(experience, MemoryQuestion(agent=name, as_of=instant_of(as_of)))
    if call.json:
        call.out_json(documents_of(belief_rows))
    elif not belief_rows:
        call.say(
            f"{name} has no beliefs yet: they need a pattern of ten outcomes or more that luck cannot explain, or somebody who seeds them"
        )
    for belief in () if call.json else belief_rows:
        call.out(_plain(f"{belief.probability:.0%}  {belief.proposition}  ({_evidence(belief)})"))


def _evidence(belief: Belief) -> str:
    """How much it rests on; what an induced belief was made of cannot bear it out."""
    from retro.figures import count

    text = f"{count(belief.evidence, 'outcome')}, {belief.source}"
    after = belief.confirmed_after + belief.contradicted_after
    if belief.source != "induced":
        return text
    return (
        f"{text}; since then {belief.confirmed_after} of {after} bear it out"
        if after
        else f"{text}; not tested since"
    )


def markers(
    agent: AgentName = None,
    context: Annotated[
        str | None,
        typer.Option("--context", metavar="JSON", help="those most like it first  [default: newest]"),
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Situations that felt better than they were, or were left at the wrong moment, as reviews found out.

    Example: retro markers --agent sample
    """
    from retro.app.questions import behaviour
    from retro.app.questions.document import documents_of

    experience = experience_of()
    name = experience.agent(agent)
    question = behaviour.MarkersQuestion(
        agent=name,
        context=None if context is None else situation_of(experience, context),
        as_of=instant_of(as_of),
    )
    documents = documents_of(behaviour.markers(experience, question))
    if call.json:
        call.out_json(documents)
    elif not documents:
        call.say(f"{name} has no markers: no review found a decision that felt better than it was")
    else:
        _print_markers(documents, _unit(name))


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


def _print_markers(documents: Sequence[dict[str, Any]], unit: str) -> None:
    call.out("Marker      Sure  Judged      Decision, and the situation it was made in")
    for marker in documents:
        where = ", ".join(f"{field} {value}" for field, value in marker["context"].items())
        sure = f"{marker['outcome']:<10}  {marker['confidence']:>4.0%}"
        call.out(
            _plain(f"{sure}  {marker['at'][:10]}  {marker['episode']}  {where or 'no situation was stated'}")
        )
    is_in_unit = all(marker["scale"] == 1.0 for marker in documents)
    size = f"10 {unit}" if is_in_unit else "10 usual outcomes of the agent"
    call.say(f"Regret: lost to doing nothing; MissedExit: left at the wrong moment; 100% from {size} up")


def plans(
    agent: AgentName = None,
    as_of: AsOf = None,
    alive: Annotated[bool, typer.Option("--alive", help="only those that may still fire")] = False,
) -> None:
    """The agent's plans: what it means to do when a situation comes, and how that went.

    Example: retro plans --agent sample --alive
    """
    from retro.app.questions import plans as subject
    from retro.app.questions.document import documents_of

    experience = experience_of()
    name = experience.agent(agent)
    at = instant_of(as_of)
    question = subject.PlansQuestion(
        agent=name, as_of=time.time_ns() // 1000 if at is None else at, alive=alive
    )
    standings = subject.plans(experience, question)
    if call.json:
        call.out_json(documents_of(standings))
    elif not standings:
        call.say(f"{name} has no plans")
    for standing in () if call.json else standings:
        plan = standing.plan
        call.out(_plain(f"{standing.status:<9}  {plan.id}  {plan.action['type']}: {plan.reasoning}"))


def _plain(text: str) -> str:
    from retro.safe import plain_text

    return plain_text(text)


def _print_figures(figures: dict[str, Any], *, skip: Sequence[str], currency: str = "") -> None:
    """One figure a line, with its unit; one that is not known says why."""
    reasons = figures["reasons"]
    names = [name for name in figures if name not in skip]
    labels = {name: name.replace("_hold_s_", "_hold_").replace("_", " ") for name in names}
    width = max(map(len, labels.values()))
    for name in names:
        text = _figure_text(name, figures[name], currency)
        if figures[name] is None:
            text = f"unknown: {reasons[name]}" if name in reasons else "none"
        call.out(_plain(f"  {labels[name]:<{width}}  {text}"))


def _figure_text(name: str, value: Any, currency: str) -> str:
    """A figure as people read it: shares in percent, times as times, money with its currency."""
    from retro.figures import duration, interval, money_of, percent, ratio

    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return interval(*value)
    if not isinstance(value, float):
        return f"{value}{_UNITS.get(name, '')}"
    if name in _SHARES:
        return percent(value, 1) + _UNITS.get(name, "")
    if name in _EQUITIES:
        return money_of(currency, [value]).amount(value)
    if "_hold_s_" in name:
        return duration(value)
    return ratio(value) + _UNITS.get(name, "")

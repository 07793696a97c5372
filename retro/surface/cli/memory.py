"""`retro recall`, `remember`, `state`, `plans`, `habits`, `beliefs`, `markers`, `kelly`: what an agent remembers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.errors import UsageError
from retro.periods import DAY
from retro.surface.cli.context import call
from retro.surface.cli.words import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.experience.imports import ImportResult
    from retro.app.questions.memory import MemoryQueries

__all__ = ["AgentName", "add_to", "experience_of", "situation"]

_SHOWN = 20
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

AgentName = Annotated[str | None, typer.Option("--agent", metavar="A", help="needed when there are several")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="T", help="know nothing after T")]
Situation = Annotated[
    str, typer.Option("--context", metavar="JSON", help='the situation, e.g. {"regime": "ranging"}')
]
Strategy = Annotated[str | None, typer.Option("--strategy", metavar="S", help="only this strategy's")]
Symbol = Annotated[str | None, typer.Option("--symbol", metavar="S", help="only this symbol's")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("remember")(remember)
    parent.command("recall")(recall)
    parent.command("kelly")(kelly)
    parent.command("state")(state)
    parent.command("habits")(habits)
    parent.command("beliefs")(beliefs)
    parent.command("markers")(markers)
    parent.command("plans")(plans)


def experience_of() -> MemoryQueries:
    """The memory in this call's database, as its configuration sees it."""
    from retro.app.questions.memory import MemoryQueries

    return MemoryQueries(call.store, call.config)


def _as_of(text: str | None) -> int | None:
    return None if text is None else instant(text, "--as-of")


def situation(text: str, option: str = "--context") -> dict[str, Any]:
    """The JSON object somebody typed; `UsageError` for anything else, NaN included."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not a number")

    try:
        document = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise UsageError(f'{option} takes a JSON object such as {{"regime": "ranging"}}')
    return document


def _asked(experience: MemoryQueries, text: str) -> dict[str, Any]:
    context = situation(text)
    strangers = experience.unknown_fields(context)
    if strangers:
        call.say(f"note: nothing is compared by {', '.join(strangers)}; [memory] fields adds fields")
    return context


# telling


def remember(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="episodes as JSON Lines, .gz too, - for stdin")
    ],
) -> None:
    """Tell the memory of episodes: decisions and what came of them.

    Example: retro remember episodes.jsonl
    """
    experience = experience_of()
    limit = time.time_ns() // 1000 + DAY
    results = [experience.remember_file(file, not_after=limit) for file in files]
    documents = [result.to_json() for result in results]
    if call.json:
        call.out_json(documents[0] if len(documents) == 1 else documents)
    for result, document in zip(results, documents, strict=True):
        if not call.json:
            call.out(
                f"{result.source}: {document['events']:,} episodes, {document['stored']:,} stored,"
                f" {document['unchanged']:,} unchanged, {document['conflicts']} conflicts,"
                f" {len(document['faults'])} faults"
            )
        _complain(result)
    if not all(result.clean for result in results):
        call.code = 1
    elif not call.json:
        call.say(f"next: {call.command('state')}")


def _complain(result: ImportResult) -> None:
    for conflict in result.done.conflicts[:_SHOWN]:
        call.say(f"  {result.source}: {conflict.id} of {conflict.agent}: {conflict.reason}")
    for fault in result.done.faults[:_SHOWN]:
        call.say(f"  {fault.where}:{fault.line}: {fault.reason}")
    hidden = sum(max(0, len(entries) - _SHOWN) for entries in (result.done.conflicts, result.done.faults))
    if hidden:
        call.say(f"  ... and {hidden:,} more; `retro faults` lists what could not be used")


# asking


def recall(
    agent: AgentName = None,
    context: Situation = "{}",
    strategy: Strategy = None,
    symbol: Symbol = None,
    direction: Annotated[
        str | None, typer.Option("--direction", metavar="D", help="only long, short, skip, ...")
    ] = None,
    regime: Annotated[str | None, typer.Option("--regime", metavar="R", help="only of this regime")] = None,
    as_of: AsOf = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="how many")] = 10,
    types: Annotated[str, typer.Option("--types", metavar="T,...", help="episode, belief, plan")] = "episode",
    losses_first: Annotated[bool, typer.Option("--losses-first", help="every loss before the rest")] = False,
    loss_floor: Annotated[bool, typer.Option("--loss-floor", help="at least a fifth are losses")] = False,
) -> None:
    """Recall past decisions like this situation, weighted by how they turned out, best first.

    Example: retro recall --agent sample --context '{"regime": "ranging"}' -k 3
    """
    experience = experience_of()
    name = experience.agent(agent)
    hits = experience.recall_memories(
        name,
        _asked(experience, context),
        as_of=_as_of(as_of),
        k=k,
        strategy=strategy,
        symbol=symbol,
        direction=direction,
        regime=regime,
        types=tuple(word.strip() for word in types.split(",")),
        losses_first=losses_first,
        loss_floor=loss_floor,
    )
    if call.json:
        call.out_json(hits)
    elif not hits:
        call.say(f"{name} remembers nothing like it")
    else:
        _print_hits(hits)


def _print_hits(hits: Sequence[dict[str, Any]]) -> None:
    from retro.safe import plain_text

    for place, hit in enumerate(hits, 1):
        label = " ".join(
            str(hit["memory"][name])
            for name in ("direction", "symbol", "strategy")
            if hit["memory"].get(name)
        )
        call.out(plain_text(f"{place:>3}. {hit['score']:.3f}  {hit['id']}  {label}".rstrip()))
        call.out(plain_text(f"     {hit['reason']}"))


def kelly(
    agent: AgentName = None,
    context: Situation = "{}",
    strategy: Strategy = None,
    symbol: Symbol = None,
    as_of: AsOf = None,
) -> None:
    """What share of equity to put at one R in this situation: advisory, and "unknown" where nothing is known.

    Example: retro kelly --agent sample --context '{"regime": "ranging"}'
    """
    experience = experience_of()
    name = experience.agent(agent)
    advice = experience.kelly(
        name, _asked(experience, context), as_of=_as_of(as_of), strategy=strategy, symbol=symbol
    )
    if call.json:
        call.out_json(advice)
        return
    fraction = advice["fraction"]
    call.out("unknown" if fraction is None else f"{fraction:.2%} of equity at one R")
    size = advice["effective_n"]
    call.out(
        advice["why"]
        if fraction is None or size is None
        else f"{advice['why']}; {size:.1f} effective outcomes"
    )


def state(agent: AgentName = None, as_of: AsOf = None) -> None:
    """How the agent stands: confidence, drawdown, streaks, appetite for risk, and whether it is halted.

    Example: retro state --agent sample
    """
    experience = experience_of()
    name = experience.agent(agent)
    agent_state = experience.get_agent_state(name, as_of=_as_of(as_of))
    if call.json:
        call.out_json(agent_state)
        return
    skip = ("agent", "history", "reasons")
    _print_figures(agent_state, skip=skip, reasons=agent_state["reasons"], currency=_currency(name))


def _currency(name: str) -> str:
    """What the agent's money is counted in; one that is known from memory alone has the owner's."""
    from retro.app.settlement.settings import base_currency_of
    from retro.store.facts.agents import agents

    with call.store.read() as conn:
        agent = next((row for row in agents(conn) if row.name == name), None)
    return call.config.owner.base_currency if agent is None else base_currency_of(call.config, agent)


def habits(
    agent: AgentName = None, strategy: Strategy = None, symbol: Symbol = None, as_of: AsOf = None
) -> None:
    """What the agent does again and again, with each strategy and symbol, and what comes of it.

    Example: retro habits --agent sample --strategy range
    """
    experience = experience_of()
    name = experience.agent(agent)
    habit_rows = experience.habits(name, as_of=_as_of(as_of), strategy=strategy, symbol=symbol)
    if call.json:
        call.out_json(habit_rows)
    elif not habit_rows:
        call.say(f"{name} has no habits yet: no closed trade is remembered")
    for habit in () if call.json else habit_rows:
        call.out(f"{habit['strategy'] or 'no strategy'} on {habit['symbol'] or 'no symbol'}")
        _print_figures(
            habit, skip=("agent", "strategy", "symbol", "drift", "reasons"), reasons=habit["reasons"]
        )


def beliefs(agent: AgentName = None, as_of: AsOf = None) -> None:
    """What the agent may believe of its own trades, each with its conditions and its evidence.

    Example: retro beliefs --agent sample --json
    """
    experience = experience_of()
    name = experience.agent(agent)
    belief_rows = experience.beliefs(name, as_of=_as_of(as_of))
    if call.json:
        call.out_json(belief_rows)
    elif not belief_rows:
        call.say(
            f"{name} has no beliefs yet: they need ten outcomes with a pattern, or somebody who seeds them"
        )
    for belief in () if call.json else belief_rows:
        call.out(_plain(f"{belief['probability']:.0%}  {belief['proposition']}  ({_evidence(belief)})"))


def _evidence(belief: dict[str, Any]) -> str:
    """How much it rests on; what an induced belief was made of cannot bear it out."""
    text = f"{belief['evidence']} outcomes, {belief['source']}"
    after = belief["confirmed_after"] + belief["contradicted_after"]
    if belief["source"] != "induced":
        return text
    return (
        f"{text}; since then {belief['confirmed_after']} of {after} bear it out"
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
    experience = experience_of()
    name = experience.agent(agent)
    asked = None if context is None else _asked(experience, context)
    marker_rows = experience.markers(name, asked, as_of=_as_of(as_of))
    if call.json:
        call.out_json(marker_rows)
    elif not marker_rows:
        call.say(f"{name} has no markers: no review found a decision that felt better than it was")
    if marker_rows and not call.json:
        call.out("Marker      Sure  Judged      Decision, and the situation it was made in")
    for marker in () if call.json else marker_rows:
        where = ", ".join(f"{field} {value}" for field, value in marker["context"].items())
        sure = f"{marker['outcome']:<10}  {marker['confidence']:>4.0%}"
        call.out(
            _plain(f"{sure}  {marker['at'][:10]}  {marker['episode']}  {where or 'no situation was stated'}")
        )
    if marker_rows and not call.json:
        call.say(
            f"Regret: lost to doing nothing; MissedExit: left at the wrong moment; 100% from 10 {_currency(name)} up"
        )


def plans(
    agent: AgentName = None,
    as_of: AsOf = None,
    alive: Annotated[bool, typer.Option("--alive", help="only those that may still fire")] = False,
) -> None:
    """The agent's plans: what it means to do when a situation comes, and how that went.

    Example: retro plans --agent sample --alive
    """
    experience = experience_of()
    name = experience.agent(agent)
    at = _as_of(as_of)
    plan_rows = experience.plans(name, as_of=time.time_ns() // 1000 if at is None else at, alive=alive)
    if call.json:
        call.out_json(plan_rows)
    elif not plan_rows:
        call.say(f"{name} has no plans")
    for plan in () if call.json else plan_rows:
        call.out(_plain(f"{plan['status']:<9}  {plan['id']}  {plan['action']['type']}: {plan['reasoning']}"))


def _plain(text: str) -> str:
    from retro.safe import plain_text

    return plain_text(text)


def _print_figures(
    figures: dict[str, Any], *, skip: Sequence[str], reasons: dict[str, str], currency: str = ""
) -> None:
    """One figure a line, with its unit; one that is not known says why."""
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

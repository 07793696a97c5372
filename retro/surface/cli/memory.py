"""`retro remember`, `recall`, `kelly`: what an agent remembers, and what it says to risk."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.errors import UsageError
from retro.periods import DAY
from retro.surface.cli.context import call, instant
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.experience.imports import ImportResult
    from retro.app.questions.experience import Experience

__all__ = [
    "AgentName",
    "AsOf",
    "Strategy",
    "Symbol",
    "add_to",
    "experience_of",
    "instant_of",
    "print_imports",
    "situation",
    "situation_of",
]

_SHOWN = 20

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


def experience_of() -> Experience:
    """The memory in this call's database, as its configuration sees it."""
    from retro.app.questions.experience import Experience

    return Experience(call.store, call.config)


def instant_of(text: str | None) -> int | None:
    """What somebody typed after --as-of."""
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


def situation_of(experience: Experience, text: str) -> dict[str, Any]:
    """The situation somebody typed after --context, with a note of fields that nothing is compared by."""
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
    from retro.app.questions.episodes import remember_file

    experience = experience_of()
    limit = time.time_ns() // 1000 + DAY
    results = [remember_file(experience, file, not_after=limit) for file in files]
    print_imports(results, "episode")
    if call.code == 0 and not call.json:
        call.say(f"next: {call.command('state')}")


def print_imports(results: Sequence[ImportResult], noun: str) -> None:
    """What became of the entries of each source; the exit code is 1 where one could not be used."""
    from retro.figures import count

    documents = [result.document() for result in results]
    if call.json:
        call.out_json(documents[0] if len(documents) == 1 else documents)
    for result, document in zip(results, documents, strict=True):
        if not call.json:
            call.out(
                f"{result.source}: {count(document['events'], noun)}, {document['stored']:,} stored,"
                f" {document['unchanged']:,} unchanged, {count(document['conflicts'], 'conflict')},"
                f" {count(len(document['faults']), 'fault')}"
            )
        _complain(result)
    if not all(result.clean for result in results):
        call.code = 1


def _complain(result: ImportResult) -> None:
    for conflict in result.done.conflicts[:_SHOWN]:
        call.say(f"  {result.source}: {conflict.id} of {conflict.agent or 'everybody'}: {conflict.reason}")
    for fault in result.done.faults[:_SHOWN]:
        call.say(f"  {fault.where}:{fault.line or '?'}: {fault.reason}")
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
    with_: Annotated[
        str | None,
        typer.Option("--with", metavar="library", help="texts of the library beside them, as context"),
    ] = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Recall past decisions like this situation, weighted by how they turned out, best first.

    Example: retro recall --agent sample --context '{"regime": "ranging"}' -k 3
    """
    from retro.app.questions import recall as subject
    from retro.app.questions.document import documents_of
    from retro.present.page.screens.memory import recall_page

    experience = experience_of()
    name = experience.agent(agent)
    question = subject.RecallQuestion(
        agent=name,
        context=situation_of(experience, context),
        as_of=instant_of(as_of),
        k=k,
        strategy=strategy,
        symbol=symbol,
        direction=direction,
        regime=regime,
        types=tuple(word.strip() for word in types.split(",")),
        losses_first=losses_first,
        loss_floor=loss_floor,
    )
    if with_ not in (None, "library"):
        raise UsageError(f"--with takes library, not {with_!r}")
    hits = subject.recall(experience, question)
    texts = subject.beside(experience, question, now=time.time_ns() // 1000) if with_ is not None else None
    if texts is not None and texts.note is not None:
        call.say(f"note: {texts.note}")
    items = [] if texts is None else [{"type": "item", **document} for document in texts.list_document()]
    answer(
        [*documents_of(hits), *items],
        lambda: recall_page(name, context, hits, () if texts is None else texts.hits),
        form,
        output,
        "" if hits or items else f"{name} remembers nothing like it",
    )


def kelly(
    agent: AgentName = None,
    context: Situation = "{}",
    strategy: Strategy = None,
    symbol: Symbol = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """What share of equity to put at one R in this situation: advisory, and "unknown" where nothing is known.

    Example: retro kelly --agent sample --context '{"regime": "ranging"}'
    """
    from retro.app.questions import recall as subject
    from retro.app.questions.document import document_of
    from retro.present.page.screens.behaviour import kelly_page

    experience = experience_of()
    name = experience.agent(agent)
    question = subject.KellyQuestion(
        agent=name,
        context=situation_of(experience, context),
        as_of=instant_of(as_of),
        strategy=strategy,
        symbol=symbol,
    )
    advice = subject.kelly(experience, question)
    answer(document_of(advice), lambda: kelly_page(name, context, advice), form, output)

"""`retro library step`, `layers`, `replay`: how items rise, fall and are cleaned up."""

from __future__ import annotations

from typing import Annotated

import typer

from retro.surface.cli.context import call, instant
from retro.surface.cli.memory import AgentName, experience_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("step")(step)
    parent.command("layers")(layers)
    parent.command("replay")(replay)


def step(
    symbol: Annotated[str, typer.Option("--symbol", metavar="S", help="whose layers; '' for items of none")],
    at: Annotated[str, typer.Option("--at", metavar="T", help="the trading day: nothing after T is known")],
    agent: AgentName = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="one step as `replay` reads it: what comes in, feedback"),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="NAME", help="investor_bench, finmem or own  [default: configured]"),
    ] = None,
) -> None:
    """Take a symbol's layers one trading day on: feedback, decay, clean-up, flow.

    Example: retro library step --agent sample --symbol ETH/USDC --at 2026-03-02
    """
    from retro.app.questions.document import document_of
    from retro.app.questions.library.layers import StepOrder, library_agent, take_step

    experience = experience_of()
    order = StepOrder(
        agent=library_agent(experience, agent),
        symbol=symbol,
        at=instant(at, "--at"),
        path=file,
        preset=preset,
    )
    done = take_step(experience, order)
    document = document_of(done)
    if call.json:
        call.out_json(document)
        return
    again = ", as before: it was taken already" if done.unchanged else ""
    call.out(
        f"{_plain(symbol or 'no symbol')} at {document['at']}{again}: {done.added:,} added, {done.moved_up:,} rose,"
        f" {done.moved_down:,} fell, {done.cleaned:,} cleaned up into the archive; {done.items:,} in its layers"
    )
    if done.feedback or done.skipped:
        from retro.present.page.screens.records import feedback_words

        call.out(feedback_words(done.feedback, done.skipped))


def layers(
    agent: AgentName = None,
    symbol: Annotated[
        str | None, typer.Option("--symbol", metavar="S", help="only this symbol's  [default: all]")
    ] = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """How an agent's layers stand: items, their means, and what flowed between them.

    Example: retro library layers --agent sample --json
    """
    from retro.app.questions.library.layers import LayersQuestion, layers_of, library_agent
    from retro.present.page.screens.records import layers_page

    experience = experience_of()
    question = LayersQuestion(agent=library_agent(experience, agent), symbol=symbol)
    document = layers_of(experience, question).document()
    answer(document, lambda: layers_page(question.agent, document), form, output)


def _plain(text: str) -> str:
    from retro.safe import plain_text

    return plain_text(text)


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="steps as JSON Lines, .gz too, - for stdin")],
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="investor_bench, finmem or own")
    ] = "own",
    seed: Annotated[str, typer.Option("--seed", metavar="TEXT", help="decides what finmem draws")] = "",
    clean_recency: Annotated[
        list[str] | None,
        typer.Option("--clean-recency", metavar="LAYER=X", help="clean up below this recency"),
    ] = None,
    clean_importance: Annotated[
        list[str] | None,
        typer.Option("--clean-importance", metavar="LAYER=X", help="clean up below this importance"),
    ] = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Take recorded steps through the layers; nothing is stored.

    Example: retro library replay run.events.jsonl --preset investor_bench --json
    """
    from retro.app.questions.document import document_of
    from retro.app.questions.library.replays import ReplayQuestion, replay_file, threshold
    from retro.present.page.screens.records import replay_page

    question = ReplayQuestion(
        path=file,
        preset=preset,
        seed=seed,
        clean_recency=dict(threshold(text, "--clean-recency") for text in clean_recency or ()),
        clean_importance=dict(threshold(text, "--clean-importance") for text in clean_importance or ()),
    )
    result = replay_file(question)
    answer(document_of(result), lambda: replay_page(file, result), form, output)

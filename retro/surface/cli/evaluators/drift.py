"""`retro drift`: why live was not the backtest."""

from __future__ import annotations

from typing import Annotated

import typer

from retro.surface.cli.context import call, instant
from retro.surface.cli.memory import AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("drift")(drift)


def drift(
    live: Annotated[str, typer.Argument(metavar="LIVE", help="the agent that traded")],
    backtest: Annotated[
        str | None,
        typer.Argument(
            metavar="[BACKTEST]", help="the agent its backtest was read as; default: the configured"
        ),
    ] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="T", help="trades entered from T on")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="T", help="trades entered before T")] = None,
    within: Annotated[
        float, typer.Option("--within", metavar="N", help="candles between two entries that may be one trade")
    ] = 3.0,
    slots: Annotated[
        int | None,
        typer.Option("--slots", metavar="N", help="trades live may hold at once; default: as it shows"),
    ] = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Why live was not the backtest: every difference between two agents of one strategy, adding up to the cent.

    Trades are matched by instrument, side and entry tag, and by when they were entered; what only one of the two took is
    put down to what is known of the other then: order not filled, slot taken, silent, another signal.

    Example: retro drift live backtest
    """
    from retro.app.questions.evaluators.drift import DriftQuestion, backtest_of
    from retro.app.questions.evaluators.drift import drift as drift_of
    from retro.app.reviews.drift import ComparedAgent
    from retro.present.page.evaluators.drift import page_of_drift
    from retro.safe import clean

    ours = call.agent(live)
    settings = call.settings(ours)
    theirs = call.agent(backtest_of(settings, live, backtest))
    zone = settings.zone
    question = DriftQuestion(
        within=within,
        start=None if first is None else instant(first, "--from", zone),
        end=None if until is None else instant(until, "--to", zone),
        slots=slots,
        as_of=instant_of(as_of),
    )
    sides = ComparedAgent(ours, settings), ComparedAgent(theirs, call.settings(theirs))
    report = drift_of(call.store, *sides, question)
    answer(
        report.model_dump(mode="json"),
        lambda: page_of_drift(live, theirs.name, clean(report), settings.base_currency),
        form,
        output,
    )

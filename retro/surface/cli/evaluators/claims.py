"""`retro predictions`, `calibration`: what an agent's own claims were worth, and what the next one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.memory import AgentName, AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    from retro.app.questions.evaluators.claims import ClaimQuestion

__all__ = ["add_to"]

predictions_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="How far off its forecasts were, and what to make of one.",
)
calibration_app = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="What its stated confidence was worth."
)

Category = Annotated[str, typer.Option("--category", metavar="C", help="the category of the claim")]
Regime = Annotated[str | None, typer.Option("--regime", metavar="R", help="its regime  [default: any]")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(predictions_app, name="predictions")
    parent.add_typer(calibration_app, name="calibration")


def _question(agent: str | None, as_of: str | None) -> ClaimQuestion:
    from retro.app.questions.evaluators.claims import ClaimQuestion

    record = call.agent(agent)
    return ClaimQuestion(call.store, record.name, call.settings(record), instant_of(as_of))


@predictions_app.callback()
def predictions(
    context: typer.Context,
    agent: AgentName = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """How far off its forecasts were, by category and regime; each by what had resolved when it was made.

    Example: retro predictions --agent sample
    """
    if context.invoked_subcommand is not None:
        return
    from retro.app.questions.evaluators.claims import forecasts
    from retro.present.page.evaluators.forecasts import page_of_forecasts

    question = _question(agent, as_of)
    rows = forecasts(question)
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: page_of_forecasts(question.agent, rows),
        form,
        output,
        "" if rows else "no prediction has been resolved yet; docs/journal.md says how to tell of one",
    )


@predictions_app.command("correct")
def correct(
    category: Category,
    predicted: Annotated[float, typer.Option("--predicted", metavar="X", help="what is forecast")],
    regime: Regime = None,
    agent: AgentName = None,
    as_of: AsOf = None,
) -> None:
    """What to make of a forecast by what past ones of its kind missed by.

    Example: retro predictions correct --agent sample --category price --predicted 2450
    """
    from retro.app.questions.evaluators.claims import corrected
    from retro.figures import DASH

    answer = corrected(_question(agent, as_of), predicted, category, regime)
    if call.json:
        call.out_json(answer.model_dump(mode="json"))
        return
    if not answer.active:
        call.out(f"{answer.centre:g}, as forecast: {answer.reasons['active']}")
        return
    low, high = (DASH if end is None else f"{end:g}" for end in (answer.low, answer.high))
    call.out(
        f"{answer.centre:g}, between {low} and {high}: {_whose(answer.key)} missed by {answer.bias:+g} on average, n {answer.n}"
    )
    if note := answer.reasons.get("key"):
        call.out(f"  {note}")


@predictions_app.command("hindsight")
def hindsight(
    agent: AgentName = None, as_of: AsOf = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """How optimistic its forecasts of whole positions were, once these had closed.

    Example: retro predictions hindsight --agent sample
    """
    from retro.app.questions.evaluators.claims import hindsight as hindsight_of
    from retro.present.page.evaluators.forecasts import page_of_hindsight

    question = _question(agent, as_of)
    rows = hindsight_of(question)
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: page_of_hindsight(question.agent, rows),
        form,
        output,
        "" if rows else "no position has closed that a prediction of category position_pnl names",
    )


@calibration_app.callback()
def calibration(
    context: typer.Context,
    agent: AgentName = None,
    as_of: AsOf = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """What its stated confidence was worth, by category and regime.

    Example: retro calibration --agent sample
    """
    if context.invoked_subcommand is not None:
        return
    from retro.app.questions.evaluators.claims import calibration as calibration_of
    from retro.present.page.evaluators.forecasts import page_of_calibration

    question = _question(agent, as_of)
    rows = calibration_of(question, call.config.retrospective.ece_alarm_threshold)
    answer(
        [row.model_dump(mode="json") for row in rows],
        lambda: page_of_calibration(question.agent, rows),
        form,
        output,
        "" if rows else "no resolved prediction has a stated confidence and was right or wrong",
    )


@calibration_app.command("of")
def of(
    category: Category,
    confidence: Annotated[float, typer.Option("--confidence", metavar="P", help="the stated one, 0 to 1")],
    regime: Regime = None,
    agent: AgentName = None,
    as_of: AsOf = None,
) -> None:
    """Say what a stated confidence is worth.

    Example: retro calibration of --agent sample --category price --confidence 0.8
    """
    from retro.app.questions.evaluators.claims import calibrated

    answer = calibrated(_question(agent, as_of), confidence, category, regime)
    if call.json:
        call.out_json(answer.model_dump(mode="json"))
    elif answer.active:
        call.out(f"{confidence:.2f} is worth {answer.confidence:.2f}: {_whose(answer.key)}, n {answer.n}")
        if note := answer.reasons.get("key"):
            call.out(f"  {note}")
    else:
        call.out(f"{answer.confidence:.2f}, as stated: {answer.reasons['active']}")


def _whose(key: tuple[str, str]) -> str:
    from retro.report.evaluators.claims import ANY
    from retro.safe import plain_text

    category, regime = key
    return plain_text(f"claims of {category}" + ("" if regime == ANY else f" in {regime}"))

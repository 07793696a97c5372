"""`retro predictions`, `calibration`: what an agent's own claims were worth, and what the next one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call
from retro.surface.cli.evaluators.pages import PageFormat, PageOutput, is_page, print_page
from retro.surface.cli.evaluators.rows import answer_rows
from retro.surface.cli.memory import AgentName, AsOf, instant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.questions.evaluators.claims import ClaimQuestion
    from retro.report.evaluators.claims import CalibrationRow, ForecastRow, HindsightForecast

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
def predictions(context: typer.Context, agent: AgentName = None, as_of: AsOf = None) -> None:
    """How far off its forecasts were, by category and regime; each by what had resolved when it was made.

    Example: retro predictions --agent sample
    """
    if context.invoked_subcommand is not None:
        return
    from retro.app.questions.evaluators.claims import forecasts

    rows = forecasts(_question(agent, as_of))
    answer_rows(
        rows, _print_forecasts, "no prediction has been resolved yet; docs/journal.md says how to tell of one"
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
def hindsight(agent: AgentName = None, as_of: AsOf = None) -> None:
    """How optimistic its forecasts of whole positions were, once these had closed.

    Example: retro predictions hindsight --agent sample
    """
    from retro.app.questions.evaluators.claims import hindsight as hindsight_of

    rows = hindsight_of(_question(agent, as_of))
    answer_rows(
        rows, _print_hindsight, "no position has closed that a prediction of category position_pnl names"
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

    rows = calibration_of(_question(agent, as_of), call.config.retrospective.ece_alarm_threshold)
    if call.json:
        call.out_json([row.model_dump(mode="json") for row in rows])
    elif is_page(form, output):
        from retro.present.page.evaluators.answers import page_of_calibration
        from retro.safe import clean

        print_page(page_of_calibration(call.agent(agent).name, [clean(row) for row in rows]), form, output)
    elif rows:
        _print_calibration(rows)
    else:
        call.say("no resolved prediction has a stated confidence and was right or wrong")


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


def _print_forecasts(rows: Sequence[ForecastRow]) -> None:
    from retro.figures import DASH, count, percent
    from retro.present.page.blocks import Cell, Column
    from retro.report.evaluators.claims import ANY
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Category", right=False, cut=10),
        Column("Regime", right=False, cut=8),
        Column("n"),
        Column("Free", spare=3),
        Column("Right"),
        Column("Bias"),
        Column("Error"),
        Column("then"),
        Column("Held", spare=1),
        Column("then", spare=2),
    ]

    def figure(value: float | None, sign: str = "") -> Cell:
        return Cell(DASH if value is None else f"{value:{sign}.2g}")

    cells = [
        [
            Cell(row.category, "strong"),
            Cell(row.regime),
            Cell(f"{row.n:,}"),
            Cell(f"{row.effective_n:,}"),
            Cell(percent(row.accuracy)),
            figure(row.bias, "+"),
            figure(row.mean_abs),
            figure(row.mean_abs_corrected),
            Cell(percent(row.coverage)),
            Cell(percent(row.coverage_corrected)),
        ]
        for row in rows
    ]
    note = (
        "Free: how many do not overlap in time. Bias: actual less forecast, mean of the newest. Error: mean size of it."
        " Held: intervals that held what came. Then: with the correction in force when each was made."
    )
    late = sum(row.after_the_fact for row in rows if row.regime == ANY)
    if late:
        note += f" {count(late, 'prediction')} made after the fact, and held against nothing."
    print_table(columns, cells, note)


def _print_hindsight(rows: Sequence[HindsightForecast]) -> None:
    from retro.figures import DASH, percent
    from retro.present.page.blocks import Cell, Column
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Kind", right=False),
        Column("Regime", right=False, cut=8),
        Column("Held", right=False),
        Column("n"),
        Column("Forecast"),
        Column("Came"),
        Column("Too high"),
        Column("95 %", right=False),
        Column("Of it"),
        Column("Best", spare=1),
    ]

    def share(value: float | None) -> str:
        return DASH if value is None else f"{100 * value:+.1f}"

    cells = [
        [
            Cell(row.kind, "strong"),
            Cell(row.regime),
            Cell(row.horizon),
            Cell(f"{row.n:,}"),
            Cell(share(row.predicted)),
            Cell(share(row.realised)),
            Cell(share(row.bias)),
            Cell(
                DASH
                if row.interval is None
                else f"{100 * row.interval[0]:+.1f} .. {100 * row.interval[1]:+.1f}"
            ),
            Cell(percent(row.relative_bias)),
            Cell(share(row.best_exit)),
        ]
        for row in rows
    ]
    note = (
        "Means in per cent of what was put in. Held: the last checkpoint reached. Too high: forecast less what came; of it:"
        " the same as a share of the forecasts, from 10 on. Best: the best exit, which nobody can forecast."
    )
    print_table(columns, cells, note)


def _print_calibration(rows: Sequence[CalibrationRow]) -> None:
    from retro.figures import DASH, ratio
    from retro.present.page.blocks import Cell, Column
    from retro.surface.cli.screen import print_table

    columns = [
        Column("Category", right=False, cut=10),
        Column("Regime", right=False, cut=8),
        Column("n"),
        Column("Off by"),
        Column("after"),
        Column("95 %", right=False),
        Column("Brier", spare=1),
        Column("after", spare=2),
        Column("", right=False),
    ]

    cells = [
        [
            Cell(row.category, "strong"),
            Cell(row.regime),
            Cell(f"{row.n:,}"),
            Cell(ratio(row.ece_raw, 3)),
            Cell(ratio(row.ece_calibrated, 3)),
            Cell(DASH if row.ece_band is None else f"{row.ece_band[0]:.2f} .. {row.ece_band[1]:.2f}"),
            Cell(ratio(row.brier_raw, 3)),
            Cell(ratio(row.brier_calibrated, 3)),
            Cell("alarm" if row.alarm else "", "warn" if row.alarm else "plain"),
        ]
        for row in rows
    ]
    print_table(
        columns,
        cells,
        "Off by: mean distance of stated confidence from the share that was right. After: by the curve in force then."
        " 95 %: of the one in use (after, once it rests on 30).",
    )

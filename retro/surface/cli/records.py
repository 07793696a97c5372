"""`retro experiments`, `hypotheses`: what was tried and what is still open, as people and agents both read it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.errors import InputError, UsageError
from retro.surface.cli.context import call, complain
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.records import Trouble
    from retro.app.questions.experience import Experience
    from retro.app.questions.records import ExperimentHistory, RecordsQuestion
    from retro.present.page.blocks import Page

__all__ = ["add_to"]

_SHOWN = 20
_LARGEST = 1 << 20
_NO_EXPERIMENTS = "no experiments yet; weekly and epoch reviews of `retro run` write them"
_NO_HYPOTHESES = "no hypotheses yet; the first review of a heuristic makes it one"

experiments_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="What was tried: YAML records, and the prompt section made of them.",
)

Count = Annotated[int, typer.Option("-n", metavar="N", min=0, help="how many of the newest")]
Whose = Annotated[
    str | None, typer.Option("--agent", metavar="A", help="whose; needed when there are several")
]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(experiments_app, name="experiments")
    parent.command("hypotheses")(hypotheses)


def _complain(troubles: Iterable[Trouble]) -> None:
    """Damage of any record is named, and the exit code says so; what can be read is printed all the same."""
    for trouble in troubles:
        complain(f"retro: {trouble.path}: {trouble.reason}")
        call.code = 1


def _answer(
    history: ExperimentHistory,
    records: Sequence[dict[str, Any]],
    page: Callable[[str, Sequence[Mapping[str, Any]]], Page],
    form: tuple[str, Path | None],
    nothing: str,
) -> None:
    """Records as they are asked for, then what could not be read."""
    if records or not history.troubles or call.json:
        answer(records, lambda: page(history.agent or "nobody's", records), *form, "" if records else nothing)
    _complain(history.troubles)


@experiments_app.callback()
def experiments(
    context: typer.Context,
    n: Annotated[
        int | None, typer.Option("-n", metavar="N", min=0, help="only the newest  [default: all]")
    ] = None,
    agent: Whose = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """List an agent's experiments, newest first; damaged files are named.

    Example: retro experiments --agent ada -n 5
    """
    if context.invoked_subcommand is not None:
        return
    from retro.present.page.screens.records import experiments_page

    history = _history(agent, n)
    _answer(history, history.records, experiments_page, (form, output), _NO_EXPERIMENTS)


def _experience() -> Experience | None:
    """The memory, where there is a database: records are files, and asking for them makes none."""
    from retro.app.questions.experience import Experience
    from retro.store.database import is_there

    return Experience(call.store, call.config) if is_there(call.config.store.url) else None


def _question(agent: str | None, n: int | None = None) -> RecordsQuestion:
    from retro.app.questions.records import RecordsQuestion

    experience = _experience()
    return RecordsQuestion(agent=agent, known=experience.agents() if experience else (), n=n)


def _history(agent: str | None, n: int | None) -> ExperimentHistory:
    from retro.app.questions.records import experiment_history

    history = experiment_history(call.config.memory.directory, _question(agent, n))
    _note_nobodys(history)
    return history


def _note_nobodys(history: ExperimentHistory) -> None:
    if history.nobodys:
        from retro.figures import count

        call.say(
            f"left out {count(history.nobodys, 'record')} that name no agent; write `agent: NAME` into them"
        )


@experiments_app.command("prompt")
def prompt(
    n: Count = 15,
    agent: Whose = None,
    full: Annotated[
        bool, typer.Option("--full", help="every experiment and hypothesis, however long that gets")
    ] = False,
) -> None:
    """Print the section for an agent's next prompt: rules, lessons, drawdown, what is open; at most 2,000 characters.

    Example: retro experiments prompt --agent ada -n 15
    """
    from retro.app.questions.brief import prompt_brief

    history = _history(agent, n)
    text = history.prompt() if full else prompt_brief(history, _experience())
    if call.json:
        call.out_json({"prompt": text})
    else:
        call.out(text)
    _complain(history.troubles)


@experiments_app.command("import")
def take_in(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", readable=False, help="holds experiments/ and hypotheses.yaml, or the files"
        ),
    ],
) -> None:
    """Take in records of the same shape from elsewhere, letter by letter; what is missing stays missing.

    Example: retro experiments import ../other-agent/memory
    """
    from retro.app.questions.records import take_in as take_in_records
    from retro.figures import count

    if not directory.is_dir():
        raise InputError(f"{directory} is no directory; name the one that holds experiments/")
    done = take_in_records(directory, call.config.memory.directory)
    if call.json:
        call.out_json(done.document())
    else:
        call.out(
            f"{done.source}: {count(done.events, 'record')}, {done.stored} stored, {done.unchanged} unchanged,"
            f" {count(len(done.conflicts), 'conflict')}, {count(len(done.faults), 'fault')}"
        )
    troubles = [*done.conflicts, *done.faults]
    for trouble in troubles[:_SHOWN]:
        call.say(f"  {trouble.path}: {trouble.reason}")
    if len(troubles) > _SHOWN:
        call.say(f"  ... and {len(troubles) - _SHOWN} more")
    if troubles:
        call.code = 1
    elif not call.json:
        call.say(f"next: {call.command('experiments', 'prompt')}")


@experiments_app.command("assess")
def assess(
    file: Annotated[str, typer.Argument(metavar="FILE", help="the assessment in any form, - for stdin")],
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", metavar="S", help="what was tried; needed for a new experiment"),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", metavar="ID", help="a record that is there  [default: a new one]"),
    ] = None,
    context: Annotated[
        str, typer.Option("--context", metavar="JSON", help='how it was tried, e.g. {"timeframe": "1h"}')
    ] = "{}",
    results: Annotated[
        str, typer.Option("--results", metavar="JSON", help='its metrics, e.g. {"sharpe_ratio": 0.4}')
    ] = "{}",
    agent: Whose = None,
) -> None:
    """Save an agent's assessment: a model reads it where there is a key, else its verdicts on H_001 and so on are read.

    Example: retro experiments assess notes.md --strategy breakout --results '{"win_rate": 0.54}'
    """
    from retro.app.experience.assessments import AssessmentDraft, save_assessment
    from retro.app.questions.records import owner_of
    from retro.figures import count
    from retro.surface.cli.memory import situation

    draft = AssessmentDraft(
        text=_prose(file),
        agent=owner_of(call.config.memory.directory, _question(agent)),
        at=time.time_ns() // 1000,
        strategy=strategy,
        experiment=experiment,
        context=situation(context),
        results=situation(results, "--results"),
    )
    saved = save_assessment(lambda: call.store, call.config, os.environ, draft)
    if call.json:
        call.out_json(saved.document())
        return
    parsed = saved.parsed
    observations = count(len(parsed.observations), "observation")
    call.out(f"{saved.id}: {parsed.verdict or 'no verdict'}, {observations}")
    for name, status in saved.tested.items():
        call.out(f"  {name} is {status or 'untested'}")
    for name in saved.audited:
        call.say(f"  {name} is audited by reviews: its status follows from their evidence")
    for name in saved.unknown:
        call.say(f"  {name} is no hypothesis on record of this agent")
    if parsed.why:
        call.say(f"note: {'read by the model; ' if parsed.source == 'model' else ''}{parsed.why}")
    call.say(f"next: {call.command('experiments', 'prompt')}")


def _prose(file: str) -> str:
    """The text somebody wrote."""
    from retro.ingest.source import open_source

    with open_source(file) as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise InputError(f"{file} is larger than {_LARGEST >> 20} MiB; that is no assessment")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text") from None
    if not text.strip():
        raise InputError(f"{file} holds no text")
    return text


def hypotheses(
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="S", help="only untested, validated, refuted or inconclusive ones"),
    ] = None,
    agent: Whose = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """List an agent's hypotheses: what is open, and what was settled by which experiments.

    Example: retro hypotheses --agent ada --status untested
    """
    from retro.app.questions.records import STATUSES
    from retro.app.questions.records import hypotheses as read_hypotheses
    from retro.present.page.screens.records import hypotheses_page

    if status is not None and status not in STATUSES:
        raise UsageError(f"--status takes {', '.join(STATUSES)}")
    history = read_hypotheses(call.config.memory.directory, _question(agent), status)
    _note_nobodys(history)
    _answer(history, history.hypotheses.records, hypotheses_page, (form, output), _NO_HYPOTHESES)

"""The records on file: what one agent tried, what is still open for it, and the prompt section made of both.

Records are people's YAML as much as ours, so each stays the mapping that stands in its file. Those of several agents lie
in one folder; an answer holds one agent's, and those that name nobody only where there is nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import translate_memory_errors  # first: it says whose `memory` is there

# isort: split
from memory.records import (
    Experiments,
    Hypotheses,
    agent_of_hypothesis,
    import_records,
    owners_of,
    prompt_section,
    read_experiments,
    read_hypotheses,
)
from memory.records.experiment import moment
from memory.records.hypothesis import STATUSES, is_open
from retro.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from memory.records import Imported, Trouble

__all__ = [
    "STATUSES",
    "ExperimentHistory",
    "RecordsQuestion",
    "experiment_history",
    "hypotheses",
    "owner_of",
    "take_in",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsQuestion:
    """One agent's records: the `n` newest experiments (None: all) that were on record by `as_of`.

    `agent` None: the only one there is, of those that records name and of `known`, the agents of the database.
    """

    agent: str | None = None
    known: Collection[str] = ()
    n: int | None = None
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class ExperimentHistory:
    """An agent's experiments and hypotheses, each with what could not be read.

    `agent` None: no record names one. `nobodys` counts the records left out because they name no agent, where there
    are several.
    """

    agent: str | None
    experiments: Experiments
    hypotheses: Hypotheses
    n: int | None
    nobodys: int = 0

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The n newest, newest first."""
        return self.experiments.records[: self.n]

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Damage of any record: a person has to look at it."""
        return (*self.experiments.troubles, *self.hypotheses.troubles)

    def prompt(self) -> str:
        """The section for an agent's next prompt, in full: the n newest experiments and every open hypothesis."""
        waiting = [hypothesis for hypothesis in self.hypotheses.records if is_open(hypothesis)]
        experiments = self.experiments.records
        return prompt_section(experiments, waiting, len(experiments) if self.n is None else self.n)


def experiment_history(directory: Path, question: RecordsQuestion) -> ExperimentHistory:
    """What an agent tried, with the hypotheses it bears on."""
    experiments = read_experiments(directory, as_of=question.as_of)
    registry = read_hypotheses(directory)
    owners = owners_of(experiments.records)
    claimants = _claimants(registry, owners)
    agent, alone = _chosen(question, {*owners.values(), *claimants.values()})
    wanted = (agent, None) if alone else (agent,)
    mine = tuple(record for record in experiments.records if owners[str(record["id"])] in wanted)
    own = tuple(
        _as_of(hypothesis, question.as_of)
        for hypothesis in registry.records
        if claimants[hypothesis["id"]] in wanted and _was_there(hypothesis, question.as_of)
    )
    everybodys = (*owners.values(), *claimants.values())
    return ExperimentHistory(
        agent,
        replace(experiments, records=mine),
        replace(registry, records=own),
        question.n,
        0 if alone else sum(owner is None for owner in everybodys),
    )


def hypotheses(directory: Path, question: RecordsQuestion, status: str | None = None) -> ExperimentHistory:
    """The same with the hypotheses of one status alone (one that states none is untested); None: of every."""
    history = experiment_history(directory, question)
    chosen = tuple(
        hypothesis
        for hypothesis in history.hypotheses.records
        if status is None or (hypothesis.get("status") or "untested") == status
    )
    return replace(history, hypotheses=replace(history.hypotheses, records=chosen))


def owner_of(directory: Path, question: RecordsQuestion) -> str | None:
    """Whose a new record is: the agent of that name, or the only one; None where there is none."""
    return experiment_history(directory, question).agent


def take_in(source: Path, directory: Path) -> Imported:
    """Take in records of the same shape from elsewhere, letter by letter."""
    with translate_memory_errors():
        return import_records(source, directory=directory)


def _claimants(registry: Hypotheses, owners: Mapping[str, str | None]) -> dict[str, str | None]:
    return {hypothesis["id"]: agent_of_hypothesis(hypothesis, owners) for hypothesis in registry.records}


def _chosen(question: RecordsQuestion, named: set[str | None]) -> tuple[str | None, bool]:
    """The agent that is meant, and whether there is no other; `UsageError` lists them where one has to be chosen."""
    names = sorted({*question.known, *(name for name in named if name is not None)})
    if question.agent is not None:
        if names and question.agent not in names:
            raise UsageError(f"there is no agent {question.agent!r}; known: {', '.join(names)}")
        return question.agent, len(names) <= 1
    if len(names) > 1:
        raise UsageError(f"several agents; choose one with --agent: {', '.join(names)}")
    return (names[0] if names else None), True


def _as_of(hypothesis: dict[str, Any], as_of: int | None) -> dict[str, Any]:
    """The hypothesis without what was found out later."""
    evidence = hypothesis.get("evidence")
    at = evidence.get("at") if isinstance(evidence, dict) else None
    if as_of is None or at is None or moment(at) <= as_of:
        return hypothesis
    later = ("evidence", "status", "tested_by")
    return {name: value for name, value in hypothesis.items() if name not in later}


def _was_there(hypothesis: Mapping[str, Any], as_of: int | None) -> bool:
    return as_of is None or moment(hypothesis.get("created")) <= as_of

"""The records on file: what was tried, what is still open, and the prompt section made of both.

Records are people's YAML as much as ours, so each stays the mapping that stands in its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import translate_memory_errors  # first: it says whose `memory` is there

# isort: split
from memory.records import Hypotheses, import_records, prompt_section, read_experiments, read_hypotheses
from memory.records.hypothesis import STATUSES, is_open

if TYPE_CHECKING:
    from pathlib import Path

    from memory.records import Experiments, Imported, Trouble

__all__ = [
    "STATUSES",
    "ExperimentHistory",
    "ExperimentsQuestion",
    "experiment_history",
    "experiments",
    "hypotheses",
    "take_in",
]


@dataclass(frozen=True, slots=True)
class ExperimentsQuestion:
    """The `n` newest experiments (None: all) that were on record by `as_of`."""

    n: int | None = None
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class ExperimentHistory:
    """The experiments on record and the registry of hypotheses, each with what could not be read."""

    experiments: Experiments
    hypotheses: Hypotheses
    n: int | None

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The n newest, newest first."""
        return self.experiments.records[: self.n]

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Damage of any record: a person has to look at it."""
        return (*self.experiments.troubles, *self.hypotheses.troubles)

    def prompt(self) -> str:
        """The section for an agent's next prompt: the n newest experiments and every open hypothesis."""
        waiting = [hypothesis for hypothesis in self.hypotheses.records if is_open(hypothesis)]
        experiments = self.experiments.records
        return prompt_section(experiments, waiting, len(experiments) if self.n is None else self.n)


def experiments(directory: Path, *, as_of: int | None = None) -> Experiments:
    """Every experiment that was on record by an instant, newest first, and what could not be read."""
    return read_experiments(directory, as_of=as_of)


def experiment_history(directory: Path, question: ExperimentsQuestion) -> ExperimentHistory:
    """What was tried, with the hypotheses it bears on."""
    listing = experiments(directory, as_of=question.as_of)
    return ExperimentHistory(listing, read_hypotheses(directory), question.n)


def hypotheses(directory: Path, status: str | None = None) -> Hypotheses:
    """The hypotheses of one status (one that states none is untested) or of every, and what could not be read."""
    registry = read_hypotheses(directory)
    return Hypotheses(
        tuple(
            hypothesis
            for hypothesis in registry.records
            if status is None or (hypothesis.get("status") or "untested") == status
        ),
        registry.troubles,
    )


def take_in(source: Path, directory: Path) -> Imported:
    """Take in records of the same shape from elsewhere, letter by letter."""
    with translate_memory_errors():
        return import_records(source, directory=directory)

"""An agent's assessment in prose becomes a record: read by the model where one may be asked, else for ids alone.

Imported only where the memory is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from retro.app.experience.door import translate_memory_errors  # first: it says whose `memory` is there

# isort: split
from memory.records import (
    ASSESSMENT_PROMPT,
    ASSESSMENT_SCHEMA,
    ExperimentRecord,
    NoAnswer,
    generate_experiment_id,
    read_experiments,
    read_hypotheses,
    record_assessment,
)
from retro.app.narration.narrate import extracted
from retro.errors import UsageError
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memory.records import ParsedAssessment
    from retro.config import Config
    from retro.store.database import Store

__all__ = ["AssessmentDraft", "SavedAssessment", "save_assessment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessmentDraft:
    """What an agent makes of an experiment, in its own words, as of an instant (`at`, microseconds); `agent` is who.

    `experiment` names a record that is there or is to be made; without it a new one is made, which needs `strategy`.
    """

    text: str
    at: int
    agent: str | None = None
    strategy: str | None = None
    experiment: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavedAssessment:
    """What was read of an assessment, and how the hypotheses it mentions stand by now.

    `tested` gives their status by id; `audited` are those whose status follows from the evidence of reviews, whatever
    the agent says; `unknown` are on no record.
    """

    id: str
    file: str
    parsed: ParsedAssessment
    tested: dict[str, str | None]
    audited: tuple[str, ...]
    unknown: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """What `retro experiments assess --json` prints; `source` says who read it, `why` why no model did."""
        read = {name: value for name, value in self.parsed.document().items() if name != "raw_text"}
        return {
            "id": self.id,
            "file": self.file,
            **read,
            "verdict": self.parsed.verdict,
            "tested": self.tested,
            "audited": list(self.audited),
            "unknown": list(self.unknown),
            "source": self.parsed.source,
            "why": self.parsed.why,
        }


def save_assessment(
    store: Callable[[], Store], config: Config, env: Mapping[str, str], draft: AssessmentDraft
) -> SavedAssessment:
    """Save an assessment, the hypotheses it proposes and the verdicts on those it tested.

    The text is kept as it is; `store` is opened only when a model is asked. Saving the same again changes nothing.
    """
    where = config.memory.directory
    with translate_memory_errors():
        record = _record(where, draft)

        def ask(prompt: str) -> str:
            extraction = extracted(
                store,
                config,
                env,
                prompt,
                ASSESSMENT_SCHEMA,
                version=ASSESSMENT_PROMPT,
                subject=record.id,
                now=draft.at,
            )
            if extraction.answer is None:
                raise NoAnswer(extraction.why or "the model did not answer")
            return extraction.answer

        parsed = record_assessment(record, draft.text, directory=where, ask=ask)
    hypotheses = {
        hypothesis["id"]: hypothesis
        for hypothesis in read_hypotheses(where).records
        if draft.agent in (None, hypothesis.get("agent") or draft.agent)
    }
    mentioned = parsed.tested_hypothesis_ids
    return SavedAssessment(
        id=record.id,
        file=str(where / "experiments" / f"{record.id}.yaml"),
        parsed=parsed,
        tested={name: hypotheses[name].get("status") for name in mentioned if name in hypotheses},
        audited=tuple(
            name
            for name in parsed.hypothesis_statuses
            if isinstance(hypotheses.get(name, {}).get("evidence"), dict)
        ),
        unknown=tuple(name for name in mentioned if name not in hypotheses),
    )


def _record(where: Path, draft: AssessmentDraft) -> ExperimentRecord:
    """The record the assessment is about: the one of that name with what was told beside it, or a new one."""
    stored_record = next(
        (record for record in read_experiments(where).records if record["id"] == draft.experiment), {}
    )
    name = draft.strategy or stored_record.get("strategy_name")
    if not name:
        raise UsageError("a new experiment needs the name of its strategy")
    return ExperimentRecord(
        id=draft.experiment or generate_experiment_id(draft.at, str(name), draft.text),
        timestamp=str(stored_record.get("timestamp") or format_instant(draft.at)),
        strategy_name=str(name),
        context={**stored_record.get("context", {}), **draft.context},
        results={**stored_record.get("results", {}), **draft.results},
        source=str(stored_record.get("source") or "agent"),
        agent=draft.agent,
    )

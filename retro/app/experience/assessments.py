"""An agent's assessment in prose becomes a record: read by the model where one may be asked, else for ids alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.experience.imports import translate_memory_errors
from retro.app.narration.narrate import extracted
from retro.errors import UsageError
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memory.records import ExperimentRecord, ParsedAssessment
    from retro.config import Config
    from retro.store.database import Store

__all__ = ["save_assessment"]


def save_assessment(
    store: Callable[[], Store],
    config: Config,
    env: Mapping[str, str],
    text: str,
    *,
    now: int,
    strategy: str | None = None,
    experiment: str | None = None,
    context: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Save what an agent makes of an experiment, the hypotheses it proposes and the verdicts on those it tested.

    `experiment` names a record that is there or is to be made; without it a new one is made as of `now`. The text is
    kept as it is; `source` says who read it, `why` why no model did. `audited` are those whose status follows from the
    evidence of reviews, whatever the agent says. Saving the same again changes nothing.
    """
    from memory.records import (  # noqa: PLC0415  files of YAML need the package, the rest of the house does not
        ASSESSMENT_PROMPT,
        ASSESSMENT_SCHEMA,
        NoAnswer,
        record_assessment,
    )

    where = config.memory.directory
    with translate_memory_errors():
        record = _record(where, text, now, strategy, experiment, dict(context or {}), dict(results or {}))

        def ask(prompt: str) -> str:
            extraction = extracted(
                store,
                config,
                env,
                prompt,
                ASSESSMENT_SCHEMA,
                version=ASSESSMENT_PROMPT,
                subject=record.id,
                now=now,
            )
            if extraction.answer is None:
                raise NoAnswer(extraction.why or "the model did not answer")
            return extraction.answer

        parsed = record_assessment(record, text, directory=where, ask=ask)
    return {
        "id": record.id,
        "file": str(where / "experiments" / f"{record.id}.yaml"),
        **_summary(parsed, where),
    }


def _summary(parsed: ParsedAssessment, where: Path) -> dict[str, Any]:
    """What was read, and how the hypotheses it mentions stand by now."""
    from memory.records import read_hypotheses  # noqa: PLC0415  as above

    hypotheses = {hypothesis["id"]: hypothesis for hypothesis in read_hypotheses(where).records}
    mentioned = parsed.tested_hypothesis_ids
    return {
        **{name: value for name, value in parsed.document().items() if name != "raw_text"},
        "verdict": parsed.verdict,
        "tested": {name: hypotheses[name].get("status") for name in mentioned if name in hypotheses},
        "audited": [
            name
            for name in parsed.hypothesis_statuses
            if isinstance(hypotheses.get(name, {}).get("evidence"), dict)
        ],
        "unknown": [name for name in mentioned if name not in hypotheses],
        "source": parsed.source,
        "why": parsed.why,
    }


def _record(
    where: Path,
    text: str,
    now: int,
    strategy: str | None,
    experiment: str | None,
    context: dict[str, Any],
    results: dict[str, Any],
) -> ExperimentRecord:
    """The record the assessment is about: the one of that name with what was told beside it, or a new one."""
    from memory.records import (  # noqa: PLC0415  as above
        ExperimentRecord,
        generate_experiment_id,
        read_experiments,
    )

    stored_record = next(
        (record for record in read_experiments(where).records if record["id"] == experiment), {}
    )
    name = strategy or stored_record.get("strategy_name")
    if not name:
        raise UsageError("a new experiment needs the name of its strategy")
    return ExperimentRecord(
        id=experiment or generate_experiment_id(now, str(name), text),
        timestamp=str(stored_record.get("timestamp") or format_instant(now)),
        strategy_name=str(name),
        context={**stored_record.get("context", {}), **context},
        results={**stored_record.get("results", {}), **results},
        source=str(stored_record.get("source") or "agent"),
    )

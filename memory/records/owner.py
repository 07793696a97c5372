"""Whose a record is: the agent it names, else the one whose review wrote it; nobody's where neither is known.

Records of several agents lie in one folder, and none of them is another agent's business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REVIEW_ID: Final = re.compile(r"(\S+)\.[a-z]+\.\d{4}-[0-9W-]+")
"""The id of a review of a period: agent, kind, period. An agent's name may hold dots."""


def agent_of_experiment(record: Mapping[str, Any]) -> str | None:
    """The agent an experiment names, also where an earlier version wrote it: in its context, or its review's id."""
    context = record.get("context")
    fields = context if isinstance(context, dict) else {}
    return _name(record.get("agent")) or _name(fields.get("agent")) or _reviewed(fields.get("review"))


def agent_of_hypothesis(entry: Mapping[str, Any], experiments: Mapping[str, str | None]) -> str | None:
    """The agent a hypothesis names, else that of the review that judged it or of the experiment it came from.

    `experiments` says whose each experiment is, by id.
    """
    evidence = entry.get("evidence")
    review = evidence.get("review") if isinstance(evidence, dict) else None
    source = entry.get("source_experiment")
    return (
        _name(entry.get("agent"))
        or _reviewed(review)
        or (experiments.get(source) if isinstance(source, str) else None)
    )


def owners_of(experiments: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Experiment id -> the agent it belongs to."""
    return {str(record["id"]): agent_of_experiment(record) for record in experiments}


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _reviewed(review: object) -> str | None:
    match = REVIEW_ID.fullmatch(review) if isinstance(review, str) else None
    return match[1] if match else None

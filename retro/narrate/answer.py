"""What a model is asked to answer: two shallow schemas that never change, and reading an answer into them.

The wire models are strict about types. Length, content and ids are not the schema's business but `ground`'s.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict

__all__ = [
    "POSITION_SCHEMA",
    "REPORT_SCHEMA",
    "PositionAnswer",
    "PositionWords",
    "ReportAnswer",
    "Wording",
    "read",
]

_LARGEST: Final = 200_000


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PositionWords(_Wire):
    """Words for one position of a report."""

    position_id: str
    what_went_wrong: str
    lesson: str


class Wording(_Wire):
    """The text of a new candidate rule, prompted by one audited heuristic."""

    heuristic_id: str
    text: str


class ReportAnswer(_Wire):
    """The words of a period's review."""

    what_worked: str
    what_failed: str
    hindsight: str
    positions: list[PositionWords] = []
    proposals: list[Wording] = []


class PositionAnswer(_Wire):
    """The words of a position's review."""

    what_went_wrong: str
    lesson: str


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


Answer = TypeVar("Answer", "ReportAnswer", "PositionAnswer")

_TEXT: Final = {"type": "string"}

REPORT_SCHEMA: Final = _object(
    {
        "what_worked": _TEXT,
        "what_failed": _TEXT,
        "hindsight": _TEXT,
        "positions": {
            "type": "array",
            "items": _object({"position_id": _TEXT, "what_went_wrong": _TEXT, "lesson": _TEXT}),
        },
        "proposals": {"type": "array", "items": _object({"heuristic_id": _TEXT, "text": _TEXT})},
    }
)
"""The JSON schema of a `ReportAnswer`: every field required, no ids in it, so that its grammar is made once."""

POSITION_SCHEMA: Final = _object({"what_went_wrong": _TEXT, "lesson": _TEXT})
"""The JSON schema of a `PositionAnswer`."""


def read(shape: type[Answer], text: str) -> Answer | None:
    """The answer in a text, or None when it is no JSON of that shape."""
    if len(text) > _LARGEST:
        return None
    try:
        return shape.model_validate(json.loads(text, parse_constant=_refused), strict=True)
    except (ValueError, RecursionError):  # a ValidationError is a ValueError
        return None


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")

"""What all documents have in common: closed, frozen, no NaN; and how they are written."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

__all__ = ["Document", "Reasons", "dump"]

Reasons = dict[str, str]
"""Why a value is null, under the field's name."""


class Document(BaseModel):
    """Closed and frozen: an unknown field is a bug, and a report is never edited."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def dump(document: BaseModel, *, indent: int | None = 2) -> str:
    """The document as JSON text: fields in declared order, shortest float spelling, UTF-8 kept; ends with a newline."""
    return (
        json.dumps(document.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=indent)
        + "\n"
    )

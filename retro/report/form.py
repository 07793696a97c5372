"""What all documents have in common: closed, frozen, no NaN; and how they are written."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError

from retro.errors import InvariantError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Document", "Reasons", "dump", "finite_figures"]

Reasons = dict[str, str]
"""Why a value is null, under the field's name."""


class Document(BaseModel):
    """Closed and frozen: an unknown field is a bug, and a report is never edited."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def model_post_init(self, context: object, /) -> None:
        """All documents of a form share one set of the fields that were given: a week of positions has 80,000 of them."""
        object.__setattr__(self, "__pydantic_fields_set__", _fields_of(type(self)))


@cache
def _fields_of(form: type[Document]) -> set[str]:
    return set(form.model_fields)


@contextmanager
def finite_figures() -> Iterator[None]:
    """Documents made in here hold numbers or nothing: a NaN or an infinity is an `InvariantError` that names the field.

    A `Document` refuses them by itself, as it refuses a text where a number belongs; this says which of our rules that is.
    """
    try:
        yield
    except ValidationError as error:
        wild = [fault for fault in error.errors() if fault["type"] == "finite_number"]
        if not wild:
            raise
        fields = ", ".join(".".join(map(str, fault["loc"])) for fault in wild)
        raise InvariantError("every figure is a number or absent", f"{error.title}: {fields}") from error


def dump(document: BaseModel, *, indent: int | None = 2) -> str:
    """The document as JSON text: fields in declared order, shortest float spelling, UTF-8 kept; ends with a newline."""
    # nothing of it is kept beside what is made of it: a week of 7,000 positions is 35 MB of text
    text = json.dumps(
        document.model_dump(mode="json"),
        ensure_ascii=False,
        allow_nan=False,
        separators=None if indent is None else (",", ":"),
    )
    if indent is None:
        return text + "\n"
    try:  # the same bytes as `json.dumps` lays out, in a third of its time
        encoded = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, in a document that has not been cleaned
        return json.dumps(json.loads(text), ensure_ascii=False, allow_nan=False, indent=indent) + "\n"
    del text
    encoded = msgspec.json.format(encoded, indent=indent)
    text = encoded.decode()
    del encoded
    text += "\n"
    return text

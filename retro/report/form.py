"""What all documents have in common: closed, frozen, no NaN; and how they are written."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from retro.errors import InvariantError
from retro.report.slotted import CLOSED, SlottedDocument
from retro.safe import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Document", "Form", "Reasons", "dump", "dump_parts", "finite_figures", "json_text"]

Form = BaseModel | SlottedDocument
"""Any document, or a part of one."""

Reasons = dict[str, str]
"""Why a value is null, under the field's name."""


class Document(BaseModel):
    """Closed and frozen: an unknown field is a bug, and a report is never edited."""

    model_config = ConfigDict(**CLOSED, frozen=True)

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002  pydantic calls it so
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


def dump(document: Form, *, indent: int | None = 2) -> str:
    """The document as JSON text: fields in declared order, shortest float spelling, UTF-8 kept; ends with a newline."""
    return "".join(dump_parts(document, indent=indent))


def dump_parts(document: Form, *, indent: int | None = 2, cleaned: bool = False) -> Iterator[str]:
    """The text of `dump` part by part, a row of a list of documents at a time: a week of positions is tens of MB.

    `cleaned`: of the document as `safe.clean` gives it; nearly every row shows in its text that it is clean already.
    """
    tables = {
        name: rows
        for name in type(document).__pydantic_fields__
        if isinstance(rows := getattr(document, name), list) and rows and isinstance(rows[0], Form)
    }
    if cleaned:
        document = clean(document.model_copy(update={name: [] for name in tables}))
    margins = ["" if indent is None else "\n" + " " * indent * depth for depth in range(3)]
    colon = ":" if indent is None else ": "
    opening = "{"
    for name in type(document).__pydantic_fields__:
        head = f"{margins[1]}{json.dumps(name)}{colon}"
        if name in tables:
            yield f"{opening}{head}"
            for number, row in enumerate(tables[name]):
                text = _row(row, indent, margins[2], cleaned=cleaned)
                yield f"{',' if number else '['}{margins[2]}{text}"
            yield f"{margins[1]}]"
        else:
            fields = document.model_dump(mode="json", include={name})
            if name not in fields:  # a field that is left out where there is nothing to say
                continue
            yield f"{opening}{head}{json_text(fields[name], indent, margins[1])}"
        opening = ","
    yield f"{opening.strip(',')}{margins[0]}}}\n"


_EXPONENT: Final = re.compile("e(?<=[0-9]e)-?[0-9]")
_SMALL: Final = re.compile(r"0\.0000(?<=[:,\[-]0\.0000)")


def _row(row: Form, indent: int | None, margin: str, *, cleaned: bool) -> str:
    """A row of a document's list: the text of `json_text`, made by pydantic, the same bytes in half the time."""
    try:
        text = row.model_dump_json()
    except PydanticSerializationError:  # half a surrogate pair
        text = ""
    # what `clean` would take out is in no text that is plain and escapes nothing: JSON escapes all control but DEL
    if cleaned and not (text and text.isascii() and "\x7f" not in text and "\\" not in text):
        return _row(clean(row), indent, margin, cleaned=False)
    if not text or _is_spelled_apart(text):
        return json_text(row.model_dump(mode="json"), indent, margin)
    if indent is None:
        return text
    nested = msgspec.json.format(f"[[{text}]]", indent=indent)  # laid out where it belongs, two levels in
    return nested[3 + indent + len(margin) : -(4 + indent)]


def _is_spelled_apart(text: str) -> bool:
    """Whether pydantic may have spelled a figure otherwise than Python (1e-7 for 1e-07), or written what is none."""
    if ("N" in text and "NaN" in text) or ("I" in text and "Infinity" in text) or _EXPONENT.search(text):
        return True
    return "0.0000" in text and _SMALL.search(text) is not None


def json_text(value: Any, indent: int | None, margin: str = "\n") -> str:
    """A JSON value, its lines but the first behind a margin: a line break and blanks."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if indent is None:
        return text
    try:  # the same bytes as `json.dumps` lays out, in a third of its time
        text = msgspec.json.format(text.encode(), indent=indent).decode()
    except UnicodeEncodeError:  # half a surrogate pair, in a document that has not been cleaned
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return text if margin == "\n" else text.replace("\n", margin)

"""Which screen an address means: names are one percent-encoded segment each, the end of the path says the format. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import parse_qsl, unquote_to_bytes

from retro.present.links import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMATS", "Request", "ScreenFormat", "request_of"]

ScreenFormat = Literal["html", "json", "text", "md", "csv"]
FORMATS: Final[dict[str, ScreenFormat]] = dict(zip(ENDINGS, ("json", "text", "md", "csv"), strict=True))
_FIELDS: Final = 32


@dataclass(frozen=True, slots=True)
class Request:
    """A screen by the first part of its path, the names that follow, its format, and the filters it is seen through.

    `pairs` are the filters as they were given, `query` the last of each key.
    """

    screen: str
    names: tuple[str, ...] = ()
    format: ScreenFormat = "html"
    query: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = ()

    def every(self, key: str) -> tuple[str, ...]:
        """Every value of a key that may be given several times, in order, without empty ones."""
        return tuple(value for name, value in self.pairs if name == key and value)


def request_of(raw_path: bytes, query: bytes) -> Request | None:
    """What a request line asks for; None of what cannot be an address of ours.

    The path is cut before it is decoded, so that a name may hold a slash; of a key given twice the last counts.
    """
    path = raw_path.decode("ascii", "replace")
    ending = next((end for end in FORMATS if path.endswith(end)), "")
    path = path.removesuffix(ending)
    if not path.startswith("/"):
        return None
    names = []
    for segment in path[1:].split("/"):
        try:
            name = unquote_to_bytes(segment).decode()
        except UnicodeDecodeError:
            return None
        names.append(name)
    if names == [""]:
        names = ["today"]
    if "" in names:
        return None
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict"
        )
    except ValueError:
        return None
    return Request(names[0], tuple(names[1:]), FORMATS.get(ending, "html"), dict(pairs), tuple(pairs))

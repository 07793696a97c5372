"""XML as a stream of elements, without what makes it dangerous: no document types, entities or references outwards.

Memory does not grow with the file: an element is forgotten when it ends. Depth, names and texts are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final
from xml.parsers import expat

from retro.errors import InputError
from retro.ingest.rows.archive import CHUNK, chunks
from retro.ingest.rows.row import Row
from retro.ingest.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Element", "elements", "rows"]

_DEEPEST: Final = 100
_LONGEST_TEXT: Final = 1 << 20
_LONGEST_TOKEN: Final = 4 << 20
_MOST_CHILDREN: Final = 1_000


@dataclass(slots=True)
class Element:
    """An element that has ended: its name without its namespace, attributes, own text, and those it stood in.

    `children` are the texts of elements directly inside that hold text alone.
    """

    name: str
    line: int
    attributes: dict[str, str]
    parent: Element | None
    text: str = ""
    children: dict[str, str] = field(default_factory=dict)
    has_elements: bool = False


class _Listener:
    """Follows the parser and collects elements that ended, those alone that are asked for."""

    def __init__(self, names: frozenset[str], parser: expat.XMLParserType) -> None:
        self.ended: list[Element] = []
        self._names = names
        self._parser = parser
        self._open: list[Element] = []
        parser.buffer_text = True
        parser.buffer_size = CHUNK
        parser.StartDoctypeDeclHandler = _refuse_type
        parser.EntityDeclHandler = _refuse_type
        parser.ExternalEntityRefHandler = _refuse_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) == _DEEPEST:
            raise InputError(f"elements stand in each other more than {_DEEPEST} deep; this is no table")
        parent = self._open[-1] if self._open else None
        if parent:
            parent.has_elements, parent.text = True, ""
        plain = {_local(key): value for key, value in attributes.items()}
        self._open.append(Element(_local(name), self._parser.CurrentLineNumber, plain, parent))

    def _characters(self, text: str) -> None:
        element = self._open[-1]
        if element.has_elements:
            return  # the white space between elements, however many there are
        if len(element.text) + len(text) > _LONGEST_TEXT:
            raise InputError(f"a text is longer than {_LONGEST_TEXT >> 20} MiB; this is no table")
        element.text += text

    def _end(self, _name: str) -> None:
        element = self._open.pop()
        if element.parent and not element.has_elements and len(element.parent.children) < _MOST_CHILDREN:
            element.parent.children.setdefault(element.name, element.text.strip())
        if element.name in self._names:
            self.ended.append(element)


def _local(name: str) -> str:
    """A name without its namespace's prefix."""
    return name.rpartition(":")[2]


def _refuse_type(*_arguments: object) -> int:
    raise InputError(
        "it declares a document type or an entity, which no export needs; remove the declaration"
    )


def elements(stream: BinaryIO, names: frozenset[str]) -> Iterator[Element]:
    """The elements of these names, as each ends; `InputError` where the stream is no sound XML."""
    parser = expat.ParserCreate()
    listener = _Listener(names, parser)
    unparsed = 0
    try:
        for chunk in chunks(stream):
            before = parser.CurrentByteIndex
            parser.Parse(chunk, False)
            unparsed = 0 if parser.CurrentByteIndex > before else unparsed + len(chunk)
            if unparsed > _LONGEST_TOKEN:
                raise InputError(f"one piece of markup is longer than {_LONGEST_TOKEN >> 20} MiB")
            yield from listener.ended
            listener.ended.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        yield from listener.ended
        raise InputError(
            f"line {error.lineno}: it is no sound XML ({expat.ErrorString(error.code)}); export it again"
        ) from None
    except (LookupError, ValueError) as error:
        raise InputError(f"its encoding cannot be read ({error}); save it as UTF-8") from None
    yield from listener.ended


def rows(path: Path, element: str) -> Iterator[Row]:
    """Every element of that name as a row.

    Its cells are its attributes, the texts of simple elements inside, and as `Parent.name` the attributes of what it
    stands in.
    """
    with open_source(str(path)) as stream:
        try:
            for found in elements(stream, frozenset({element})):
                cells: dict[str, str] = {**found.children, **found.attributes}
                above = found.parent
                while above:
                    cells |= {f"{above.name}.{name}": value for name, value in above.attributes.items()}
                    above = above.parent
                yield Row(found.line, cells)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

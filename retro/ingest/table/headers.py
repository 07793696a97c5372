"""The headers that a sample of a file may have, by which a mapping knows it."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.ingest.sample import SourceSample
    from retro.ingest.table.grammar.tables import SourceMap

__all__ = ["delimited_headers", "headers_of"]

_KEY: Final = re.compile(r'"((?:[^"\\\\]|\\\\.){1,100})"\s*:')
_ATTRIBUTE: Final = re.compile(r'([\w.:-]+)\s*=\s*["\']')
_TITLES: Final = 40


def headers_of(sample: SourceSample, source: SourceMap) -> Iterator[set[str]]:
    """The sets of columns that a sample may have, read as a mapping's format; none where it is of another format."""
    start = sample.text.lstrip()[:1]
    match source.format:
        case "csv":
            yield from map(set, delimited_headers(sample))
        case "json":
            if start in {"[", "{"}:
                yield set(_KEY.findall(sample.text))
        case "jsonl":
            if start == "{":
                yield set(_KEY.findall(sample.text))
        case "sqlite":
            if source.table is not None and source.table in sample.tables:
                yield set(sample.tables[source.table])
        case "xml":
            if start == "<" and source.element:
                for element in re.findall(rf"<{re.escape(source.element)}\s([^>]*)>", sample.text):
                    yield set(_ATTRIBUTE.findall(element))
        case _:
            return


def delimited_headers(sample: SourceSample) -> Iterator[list[str]]:
    """The cells of each of the first lines, one of which may be the header of a delimited text."""
    if sample.is_folder or sample.tables or sample.members or "\0" in sample.text:
        return
    for line in sample.text.splitlines()[:_TITLES]:
        if line.strip() and not line.lstrip().startswith(("{", "[", "<")):
            delimiter = max(",;\t|", key=line.count)
            with suppress(csv.Error):
                yield [cell.strip().strip("\ufeff") for cell in next(csv.reader([line], delimiter=delimiter))]

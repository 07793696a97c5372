"""What each figure means, read from the pages that define them: `figures.md` and `numbers.md`, and nowhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["FigureDefinition", "definition_of"]

_HERE: Final = Path(__file__).parent
_FOLDERS: Final = (_HERE / "pages", _HERE.parents[1] / "docs")
"""Where the pages lie: in an installed wheel, and in a checkout."""


@dataclass(frozen=True, slots=True)
class FigureDefinition:
    """A figure's unit and sign, its meaning in words, the section that defines it, and the functions that compute it."""

    unit: str
    meaning: str
    section: str
    computed_by: tuple[str, ...]


def definition_of(document: str, field: str) -> FigureDefinition | None:
    """The definition of a field of a document of `retro.report`, such as ("Risk", "sharpe"); None where it has none."""
    row = _rows().get((document, field))
    if row is None:
        return None
    unit, number, place = row
    section = _sections().get(number, "")
    meaning = _meanings(number).get(field, "")
    return FigureDefinition(
        _bare(unit), _bare(meaning), section, tuple(re.findall(r"`([a-z][\w.]+)`", place))
    )


def _page(name: str) -> str:
    return next(
        (folder / name).read_text(encoding="utf-8") for folder in _FOLDERS if (folder / name).is_file()
    )


def _bare(markdown: str) -> str:
    """The words without links and quotes."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").strip()


@cache
def _rows() -> dict[tuple[str, str], tuple[str, str, str]]:
    """(document, field) -> unit, section number, who computes it: the tables of the page."""
    page, listed = _page("figures.md"), {}
    document = ""
    for line in page.splitlines():
        if line.startswith("|") and document:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            for field in re.findall(r"`(\w+)`", cells[0]):
                listed[document, field] = (cells[1], cells[2], cells[3])
        elif names := re.findall(r"`retro\.report\.([A-Z]\w+)`", line):
            document = names[-1]
    return listed


@cache
def _sections() -> dict[str, str]:
    titles = dict(re.findall(r"(?m)^## (\d+)\. (.+)$", _page("numbers.md")))
    return {number: f"docs/numbers.md, section {number}: {title}" for number, title in titles.items()}


@cache
def _meanings(number: str) -> dict[str, str]:
    """Field -> what its section says of it: a row of its table, else the item or paragraph that names it first."""
    parts = re.split(r"(?m)^## (\d+)\. .+$", _page("numbers.md"))
    text = dict(zip(parts[1::2], parts[2::2], strict=True)).get(number, "")
    meanings: dict[str, str] = {}
    for row in re.findall(r"(?m)^\| (.*`.*) \| (.*) \|$", text):
        for field in re.findall(r"`(\w+)`", row[0]):
            meanings.setdefault(field, row[1])
    for paragraph in re.split(r"\n\n|\n(?=[*-] )", text):
        if not paragraph.startswith("|"):
            words = " ".join(paragraph.split()).removeprefix("* ").removeprefix("- ")
            for field in re.findall(r"`(\w+)", paragraph):
                meanings.setdefault(field, words)
    return meanings

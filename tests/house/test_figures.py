"""docs/figures.md names every figure that is printed, and the function that computes it."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel

import memory
import retro.report
from retro.report.form import Document
from retro.report.slotted import SlottedDocument
from tests.worlds.places import ROOT

PAGE = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
OF_THE_MEMORY = ("Hit", "State", "Habit", "Belief", "Kelly", "PlanStatus", "Marker", "Validation")
DOCUMENTS = sorted(
    f"retro.report.{name}"
    for name in retro.report.__all__
    if isinstance(kind := getattr(retro.report, name), type) and issubclass(kind, Document | SlottedDocument)
)


def tables() -> dict[str, list[tuple[str, ...]]]:
    """Document -> its rows: the name in code quotes that stands last before a table is whose fields it lists."""
    listed: dict[str, list[tuple[str, ...]]] = {}
    for part in re.split(r"(?m)^(?=\| field \|)", PAGE)[1:]:
        before = PAGE[: PAGE.index(part)]
        name = re.findall(r"`((?:retro\.report|memory)\.[A-Z]\w+)`", before)[-1]
        assert name not in listed, f"{name} has two tables"
        lines = part.partition("\n\n")[0].splitlines()[2:]
        listed[name] = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return listed


TABLES = tables()


def fields_of(name: str) -> list[str]:
    module, _, kind = name.rpartition(".")
    document = getattr(import_module(module), kind)
    if issubclass(document, BaseModel):
        return list(document.model_fields)
    return [field.name for field in fields(document)]


def named(path: str) -> Any:
    """What a dotted path leads to."""
    parts = path.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        try:
            place = import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            place = getattr(place, part)
        return place
    raise AssertionError(f"{path} is not there")


def test_every_document_has_a_table() -> None:
    assert sorted(TABLES) == sorted([*DOCUMENTS, *(f"memory.{name}" for name in OF_THE_MEMORY)])
    assert {f"memory.{name}" for name in OF_THE_MEMORY} <= {f"memory.{name}" for name in memory.__all__}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_field_has_one_row_and_no_row_is_stale(name: str) -> None:
    listed = [field for cell, *_ in TABLES[name] for field in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(fields_of(name))


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_row_says_its_unit_its_section_and_who_computes_it(name: str) -> None:
    chapter = (ROOT / "docs" / ("memory.md" if name.startswith("memory") else "numbers.md")).read_text(
        encoding="utf-8"
    )
    headings = re.findall(r"^#{2,3} (?:(\d+)\. )?(.+)$", chapter, re.MULTILINE)
    sections = {"", "intro", *(number or title for number, title in headings)}
    for field, unit, section, place in TABLES[name]:
        assert unit, field
        assert section in sections, f"{field}: there is no section {section}"
        functions = re.findall(r"`([a-z][\w.]+)`", place)
        assert functions, f"{field}: nobody computes it"
        for function in functions:
            assert callable(named(function)), function


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md", "docs/numbers.md", "docs/memory.md"])
def test_the_page_is_found_from_where_people_look(page: str) -> None:
    assert "figures.md)" in (ROOT / page).read_text(encoding="utf-8")

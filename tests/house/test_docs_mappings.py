"""docs/mappings.md names every key of the grammar, and says of each what the grammar says."""

from __future__ import annotations

import re
from typing import Final

import pytest
from pydantic import BaseModel

from retro.ingest.table.grammar import tables, verbs
from tests.worlds.places import ROOT

PAGE: Final = (ROOT / "docs" / "mappings.md").read_text(encoding="utf-8")
MODELS: Final = [
    model
    for module in (tables, verbs)
    for name in module.__all__
    if isinstance(model := getattr(module, name), type)
    and issubclass(model, BaseModel)
    and model is not tables.TableMap
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.__name__))
def test_every_key_has_its_row(model: type[BaseModel]) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    for key, field in model.model_fields.items():
        assert field.description is not None, key
        assert (key, field.description.replace("|", "\\|")) in rows


def test_every_table_has_its_section() -> None:
    sections = set(re.findall(r"^### `\[+(\w+)\]+`$", PAGE, re.MULTILINE))
    assert sections == set(tables.TableMap.model_fields)

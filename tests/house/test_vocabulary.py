"""The words of the house: nouns of the field, one class for one name, and no file named for what it is doing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.worlds.places import ROOT

PACKAGES: Final = ("retro", "memory", "playbook")

VAGUE: Final = frozenset(
    {
        "found", "told", "one", "what", "there", "seen", "way", "shelf", "made", "kept", "taken", "thing", "shown",
        "known", "held", "good", "more", "rest", "same", "others", "left", "here",
    }
)  # fmt: skip
"""Names that say nothing: they fit every value, so nobody can guess or grep them."""

LARGEST_SHARE: Final = {"retro": 0.005, "memory": 0.005, "playbook": 0.005, "tests": 0.005}
"""Of all assigned names and parameters. It may only fall; well-kept projects of the field stand between 0 and 0.005."""

GERUNDS_OF_THE_FIELD: Final = frozenset(
    {
        "accounting",
        "betting",
        "briefing",
        "funding",
        "learning",
        "lending",
        "netting",
        "ping",
        "planning",
        "ripening",
        "wiring",
    }
)
"""Nouns of the field that end as participles do."""


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def assigned(tree: ast.AST) -> Iterator[str]:
    """Every name a module binds: assignments, loops, parameters, captures."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case (
                ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.ExceptHandler(name=str(name))
            ):
                yield name


@pytest.mark.parametrize("folder", LARGEST_SHARE)
def test_names_are_nouns_of_the_field(folder: str) -> None:
    names = [
        (f"{path.relative_to(ROOT)}", name)
        for path in sources(folder)
        for name in assigned(ast.parse(path.read_text(encoding="utf-8")))
    ]
    vague = [(path, name) for path, name in names if name.lstrip("_") in VAGUE]
    assert len(vague) / len(names) <= LARGEST_SHARE[folder], vague


def test_a_public_class_name_is_defined_once() -> None:
    """`retro.testing` holds doubles of other people's systems, which name their own things."""
    homes = defaultdict(list)
    for package in PACKAGES:
        for path in sources(package):
            if "testing" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_file_is_named_for_what_it_is_doing() -> None:
    participle = re.compile(r"(?:ing|ified|ised|ized|itted|ated)$")
    files = [path for package in PACKAGES for path in sources(package)]
    named = {path.stem for path in files if participle.search(path.stem)}
    assert named - GERUNDS_OF_THE_FIELD == set()


# The glossary


def glossary() -> dict[str, str]:
    """Term -> what it means, of docs/glossary.md."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \*\*([^*]+)\*\* \| (.+) \|", text, re.MULTILINE))


def test_the_glossary_is_in_order_and_explains_every_term() -> None:
    terms = list(glossary())
    assert len(terms) >= 60
    assert terms == sorted(terms, key=str.casefold)
    assert [term for term, meaning in glossary().items() if len(meaning) < 20] == []


def test_the_classes_the_glossary_names_exist() -> None:
    """A class in code quotes stands for the term: it is where the glossary says."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    homes = re.findall(r"`((?:retro|memory|playbook)\.[\w.]+)\.([A-Z]\w+)`", text)
    assert len(homes) >= 30
    missing = []
    for module, name in homes:
        path = ROOT.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        body = ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []
        if not any(isinstance(node, ast.ClassDef) and node.name == name for node in body):
            missing.append(f"{module}.{name}")
    assert missing == []


def test_no_module_leans_on_a_document_that_is_not_here() -> None:
    """A reader must be able to follow every reference: design papers outside the repository are none."""
    outside = re.compile(r"\bseed 00\d|\bresearch/|\bdesign/|(?<![\w/])(?:contract|numbers-amended)\.md")
    dangling = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()[:80]}"
        for package in (*PACKAGES, "tests", "benchmarks", "examples", "docs")
        for path in sorted((ROOT / package).rglob("*"))
        if path.suffix in {".py", ".md"} and path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if outside.search(line)
    ]
    assert dangling == []

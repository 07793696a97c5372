"""The laws of the house that no linter knows: sizes, names, floors, lightness, and what never enters the repository."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from re import _parser as sre  # type: ignore[attr-defined]
from typing import Any

import pytest

from tests.worlds.places import ROOT

PACKAGES = ("retro", "memory", "playbook")
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LARGEST_FOLDER = 20
JSON_BORDERS = re.compile(
    r"retro/(?:(?:api|lists|claims|libraries|estates)\.py|config/|narrate/(?:client|prompt)\.py|report/slotted\.py|testing/|surface/)|\.(?:document|documents?_of|to_json|\w+_document)$"
)
"""Where a dictionary is what there is to give: Python's and the model's doors, doubles of a forge, documents for print, pydantic's methods."""
MOST_BARE_DICTIONARIES = 25
"""Public functions elsewhere that return one, whose fields no type checker knows. It may only fall."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _files() -> list[str]:
    """What is in the repository or would be with the next commit; without git, what lies in our folders."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0 and "pyproject.toml" in done.stdout:
        names = done.stdout.rstrip("\0").split("\0")
    else:
        folders = (*PACKAGES, "tests", "docs", "examples", "benchmarks", ".ci")
        names = [str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*")]
        names += [path.name for path in ROOT.iterdir()]
    return sorted(name for name in names if (ROOT / name).is_file() and "__pycache__" not in name)


FILES = _files()
SOURCES = [name for name in FILES if name.endswith(".py")]
MODULES = [name for name in SOURCES if name.startswith(tuple(f"{package}/" for package in PACKAGES))]


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(encoding="utf-8"), name)


def public(nodes: list[ast.stmt]) -> list[Definition]:
    return [node for node in nodes if isinstance(node, Definition) and not node.name.startswith("_")]


def declared(tree: ast.Module) -> list[Any] | None:
    """The names in a module's `__all__`, or None where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            return [name.value for name in ast.walk(node.value) if isinstance(name, ast.Constant)]
    return None


def imported_names(nodes: list[ast.stmt]) -> dict[str, str]:
    """Name -> module, for every import of these statements."""
    imports: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            imports |= {
                alias.asname or alias.name: f"{'.' * node.level}{node.module or ''}" for alias in node.names
            }
        elif isinstance(node, ast.Import):
            imports |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
    return imports


def assigned_names(tree: ast.Module) -> set[str]:
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def commands_of(tree: ast.Module) -> set[str]:
    """Functions that are commands of the command line: `@app.command()` above them, or `app.command()(function)`."""
    registers = re.compile(r"\.(?:command|callback)\(.*\)$", re.DOTALL)
    decorated = {
        node.name
        for node in public(tree.body)
        if any(registers.search(ast.unparse(decorator)) for decorator in node.decorator_list)
    }
    return decorated | {
        ast.unparse(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and registers.search(ast.unparse(node.func))
    }


def test_the_house_is_found() -> None:
    assert {"pyproject.toml", "config.toml", "requirements.lock"} <= set(FILES)
    assert {"retro/__init__.py", "memory/__init__.py", "playbook/__init__.py"} <= set(MODULES)


# Sizes


def test_no_file_is_longer_than_one_idea() -> None:
    sizes = {name: (ROOT / name).read_text(encoding="utf-8").count("\n") for name in SOURCES}
    assert {name: size for name, size in sizes.items() if size > LONGEST_FILE} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    sizes = {
        f"{name}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for name in SOURCES
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > LONGEST_FUNCTION} == {}


def test_no_folder_holds_more_than_can_be_looked_over() -> None:
    sizes = Counter(Path(name).parent for name in SOURCES)
    assert {str(folder): size for folder, size in sizes.items() if size > LARGEST_FOLDER} == {}


# Dictionaries


def public_functions(nodes: list[ast.stmt], place: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Those of a module and of its public classes, each with its dotted place."""
    for node in public(nodes):
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node.body, f"{place}.{node.name}")
        elif isinstance(node, ast.FunctionDef):
            yield f"{place}.{node.name}", node


def test_what_has_fields_has_a_type() -> None:
    bare = re.compile(r"\b(?:dict|Mapping)\[str, (?:Any|object)\]")
    loose = [
        place
        for name in MODULES
        for place, node in public_functions(tree_of(name).body, name)
        if node.returns and bare.search(ast.unparse(node.returns)) and not JSON_BORDERS.search(place)
    ]
    assert len(loose) <= MOST_BARE_DICTIONARIES, loose


# Sums


def test_no_sum_of_products_hangs_on_where_arrays_lie_in_memory() -> None:
    """BLAS adds in another order when an array begins elsewhere: the last digit, and so the bytes, would differ."""
    products = [
        f"{name}:{node.lineno}"
        for name in SOURCES
        if not name.startswith(("tests/", "benchmarks/"))
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    ]
    assert products == []


def test_no_pattern_captures_what_it_gives_nothing_back_of() -> None:
    """Python 3.11.2, which Debian 12 has, loses a letter after a possessive repeat with a captured group in it."""
    given = re.compile(r"(?:POSSESSIVE_REPEAT|ATOMIC_GROUP), .*?SUBPATTERN, \(\d", re.DOTALL)
    for name in MODULES:
        for text in vars(import_module(name[:-3].replace("/", ".").removesuffix(".__init__"))).values():
            if isinstance(text, re.Pattern) and re.search(r"[)*+?]\+|\(\?>", str(text.pattern)):
                assert not given.search(str(sre.parse(str(text.pattern), text.flags))), name


# Names


def test_every_public_name_is_explained() -> None:
    silent = []
    for name in MODULES:
        tree = tree_of(name)
        places = [(name, tree)] if tree.body else []  # type: list[tuple[str, ast.Module | Definition]]
        for node in public(tree.body):
            places.append((f"{name}:{node.lineno} {node.name}", node))
            if isinstance(node, ast.ClassDef):
                places += [
                    (f"{name}:{inner.lineno} {node.name}.{inner.name}", inner)
                    for inner in public(node.body)
                    if not any(ast.unparse(d).endswith((".setter", "overload")) for d in inner.decorator_list)
                ]
        silent += [place for place, node in places if not ast.get_docstring(node)]
    assert silent == []


@pytest.mark.parametrize("name", [name for name in MODULES if declared(tree_of(name)) is not None])
def test_all_names_what_a_module_offers_and_nothing_else(name: str) -> None:
    """Functions and classes without an underscore are all in `__all__`, but for commands, which nobody imports."""
    tree = tree_of(name)
    names = declared(tree) or []
    own = {node.name for node in public(tree.body)} - commands_of(tree)
    defined_names = {
        *assigned_names(tree),
        *imported_names(tree.body),
        *(node.name for node in public(tree.body)),
    }
    assert len(names) == len(set(names)), "a name stands twice"
    assert own - set(names) == set(), "offered but not in __all__"
    if not any(isinstance(node, Definition) and node.name == "__getattr__" for node in tree.body):
        assert set(names) - defined_names == set(), "in __all__ but not there"


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty_words = {
        "utils",
        "util",
        "helpers",
        "helper",
        "common",
        "misc",
        "manager",
        "managers",
        "base",
        "core",
        "stuff",
    }
    assert [name for name in MODULES if empty_words & set(re.split(r"[/_.]", name.removesuffix(".py")))] == []


# Floors


def test_imports_go_downward_only() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [command, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def test_no_surface_makes_a_page_of_its_own() -> None:
    """What is shown is made once, in `present`: then every format has it."""
    parts = re.compile(r"\b(?:Cell|Column|TableRow|Section|Headline)\(")
    surfaces = [name for name in MODULES if name.startswith("retro/surface/")]
    assert [name for name in surfaces if parts.search((ROOT / name).read_text(encoding="utf-8"))] == []


def test_kernels_import_numpy_and_the_standard_library_only() -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "retro.kernels"}
    for name in MODULES:
        if name.startswith("retro/kernels/"):
            nodes = [node for node in ast.walk(tree_of(name)) if isinstance(node, ast.stmt)]
            roots = {
                ".".join(m.split(".")[: 2 if m.startswith("retro") else 1])
                for m in imported_names(nodes).values()
            }
            assert roots <= allowed, f"{name} imports {sorted(roots - allowed)}"


def test_the_clock_is_read_by_the_service_and_the_commands_only() -> None:
    """Everywhere else an instant is an argument, so that the same facts give the same bytes; the API is a surface."""
    clock = re.compile(
        r"\b(?:datetime\.(?:now|utcnow|today)|date\.today|time\.(?:time|time_ns|localtime|gmtime))$"
    )
    may = (
        "retro/surface/",
        "retro/api.py",
        "retro/claims.py",
        "retro/estates.py",
        "retro/libraries.py",
        "retro/langgraph/",
        "retro/daemon",
        "retro/testing/",
        "retro/__main__.py",
    )
    calls = [
        f"{name}:{node.lineno} {ast.unparse(node.func)}"
        for name in MODULES
        if not name.startswith(may)
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Call) and clock.search(ast.unparse(node.func))
    ]
    assert calls == []


HEAVY = {
    "anthropic", "apprise", "apscheduler", "css_inline", "httpx2", "jinja2", "mcp", "numpy", "psycopg", "pyarrow",
    "pydantic", "resvg_py", "rich", "sqlalchemy", "structlog", "typer", "yaml", "memory", "playbook",
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("retro", HEAVY | {"msgspec"}),
        ("retro.errors", HEAVY | {"msgspec"}),
        ("retro.invariant", HEAVY | {"msgspec"}),
        ("retro.periods", HEAVY | {"msgspec"}),
        ("retro.secret", HEAVY | {"msgspec"}),
        ("retro.model", HEAVY),
        ("retro.journal", HEAVY),
        ("retro.config", HEAVY - {"pydantic"}),
        ("retro.report", HEAVY - {"pydantic"}),
        ("retro.__main__", HEAVY - {"typer", "rich"}),
        ("retro.surface.screens.mornings", HEAVY - {"playbook", "pydantic", "sqlalchemy"}),
    ],
)
def test_importing_loads_nothing_heavy(module: str, heavy: set[str]) -> None:
    """What an agent, a cron line or `--help` pays before anything happens."""
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert sorted({name.split(".")[0] for name in done.stdout.split()} & heavy) == []


# What never enters the repository


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_file_pins_hashes_and_names_no_host(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(
        r"^\s*-|--(?:extra-)?index-url|--find-links|@",
        re.sub(r"^    --hash=", "", text, flags=re.MULTILINE),
        re.MULTILINE,
    )
    requirements = re.findall(
        r"^(\S+)==\S+.*?((?:\\\n    --hash=sha256:[0-9a-f]{64} ?)+)$", text, re.MULTILINE
    )
    assert len(requirements) == len(re.findall(r"^\w", text, re.MULTILINE)) > 20


def test_no_registry_host_and_no_path_of_a_machine_is_written_down() -> None:
    hosts = [
        r"pypi\.(?:org|python)",
        r"pythonhosted\.org",
        r"npmjs\.(?:org|com)",
        r"crates\.io",
        r"golang\.org",
        r"conda\.org",
    ]
    paths = [r"(?<![\w.])/(?:work|farm|root|Users)/", r"(?<![\w.])/tmp/[a-z]"]
    forbidden = re.compile("|".join(hosts + paths))
    matches = []
    for name in FILES:
        content = (ROOT / name).read_bytes()
        if b"\0" not in content[:8000]:
            lines = content.decode("utf-8", "replace").splitlines()
            matches += [
                f"{name}:{n} {line.strip()[:80]}" for n, line in enumerate(lines, 1) if forbidden.search(line)
            ]
    assert matches == []


# Decisions


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    notes = [name for name in FILES if re.fullmatch(r"docs/decisions/(?!README)[^/]+\.md", name)]
    assert len(notes) >= 5
    assert [name for name in notes if f"]({Path(name).name})" not in index] == []


def test_every_dependency_has_its_sentence_in_the_decisions() -> None:
    """Why it is here and not something else; a name of its own in code quotes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    groups += project["dependency-groups"].values()
    names = {re.split(r"[\[<>=;! ]", requirement)[0] for group in groups for requirement in group}
    notes = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/decisions").glob("*.md"))
    assert sorted(name for name in names if f"`{name}`" not in notes) == []


def test_the_tree_of_errors_shows_every_error() -> None:
    from retro import errors

    error_classes = {
        node.name
        for name in MODULES
        if name.startswith("retro/")
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.ClassDef)
        and {base.id for base in node.bases if isinstance(base, ast.Name)}
        & set(re.findall(r"\w+Error", errors.__doc__ or ""))
    }
    documented = set(re.findall(r"\w+Error", errors.__doc__ or ""))
    assert {name for name in error_classes if name.endswith("Error")} <= documented

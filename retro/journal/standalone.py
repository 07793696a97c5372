"""The journal's writer as one file that an agent can carry: the standard library alone, Python 3.9 or later.

It is made of the very definitions that this package writes and reads by: what `Journal` needs is followed from name to
name through our modules and printed in their order, so there is no second writer that could come to differ.
"""

from __future__ import annotations

import ast
import inspect
import json
import pprint
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from retro.journal.fields import FIELDS, REQUIRED
from retro.version import __version__

__all__ = ["OLDEST", "standalone"]

OLDEST: Final = (3, 9)
"""The oldest Python that the file runs on."""

_OFFERED: Final = ("Common", "Journal", "JournalError")
_MODULES: Final = (
    "retro.errors",
    "retro.periods",
    "retro.journal.values",
    "retro.journal.fields",
    "retro.journal.rules",
    "retro.journal.line",
    "retro.journal.writer",
)
"""Where the definitions stand, those that are used before those that use them."""
_STAND_INS: Final = {
    "UTC": "UTC = timezone.utc",  # younger than the oldest Python
    "UNSET": "UNSET = None",  # an absent field is None here
    "FIELDS": f"FIELDS = {pprint.pformat(FIELDS, width=110, sort_dicts=False)}",  # made from structs that need a package
    "REQUIRED": f"REQUIRED = {pprint.pformat(REQUIRED, width=110, sort_dicts=False)}",
}
_IMPORTED: Final = {"UTC": ("datetime", "timezone")}
"""What a stand-in needs of the standard library."""
_HEAD: Final = '''\
"""The journal that an agent writes about itself for the slow mirror, version {version}, as one file.

    from journal import Journal

    journal = Journal("agent.jsonl", "momentum-7")
    journal.fill(position="p-1", side="buy", quantity="0.5", price=3012.55, instrument="ETH/USDC")

The standard library alone, Python 3.9 or later. Every line is checked before it is written, in one atomic append, and
nothing here waits for anything: no lock, no fsync, no network. What is no event, or cannot be written, is the one
error `JournalError`, and nothing of the agent's state has changed. Threads and processes may share a journal.

Made by `retro journal-writer` of that version; to change it, make it anew. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations
'''


@dataclass(frozen=True, slots=True)
class _Definition:
    """A statement of a module as it is written there, what it defines and which names it uses."""

    name: str
    text: str
    uses: frozenset[str]
    typing_only: bool


@dataclass(frozen=True, slots=True)
class _Import:
    """A name of the standard library: of a module, or (`name` empty) a module itself."""

    module: str
    name: str
    typing_only: bool


def standalone() -> str:
    """The text of the file; the same for the same version of this package, to the byte."""
    definitions: dict[str, _Definition] = {}
    imports: dict[str, _Import] = {}
    for module in _MODULES:
        _read(module, definitions, imports)
    wanted: set[str] = set()
    following = list(_OFFERED)
    while following:
        name = following.pop()
        if name not in wanted and (name in definitions or name in imports):
            wanted.add(name)
            following += definitions[name].uses if name in definitions else ()
    chosen = [definitions[name] for name in definitions if name in wanted]
    brought = [_Import("typing", "TYPE_CHECKING", typing_only=False)]
    brought += [imports[name] for name in imports if name in wanted and name not in definitions]
    for name, (module, needed) in _IMPORTED.items():
        brought += [_Import(module, needed, typing_only=False)] if name in wanted else []
    later = [definition.text.replace("\n", "\n    ") for definition in chosen if definition.typing_only]
    typing_block = [*_import_lines(brought, typing_only=True), "", *later]
    text = "\n".join(
        [
            _HEAD.format(version=__version__),
            *_import_lines(brought, typing_only=False),
            "",
            "if TYPE_CHECKING:",
            *(f"    {line}".rstrip() for line in typing_block),
            "",
            f"__all__ = {json.dumps(_OFFERED)}",
            f'__version__ = "{__version__}"',
            *(_spaced(definition.text) for definition in chosen if not definition.typing_only),
        ]
    )
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"


def _spaced(text: str) -> str:
    """With the blank lines of the house: two around what has a body."""
    return f"\n\n{text}\n\n" if text.startswith(("def ", "class ", "@")) else text


def _read(module: str, definitions: dict[str, _Definition], imports: dict[str, _Import]) -> None:
    """Add what a module defines and imports; a name that two of them define would be two things in one file."""
    source = inspect.getsource(import_module(module))
    lines = source.splitlines()
    tree = ast.parse(source)
    inner = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    for body, typing_only in ((tree.body, False), *((node.body, True) for node in inner)):
        for place, node in enumerate(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                _read_import(node, definitions, imports, typing_only=typing_only)
            elif name := _name_of(node):
                after = body[place + 1] if place + 1 < len(body) else node
                last = after if _is_docstring(after) else node
                if name in definitions and name not in _STAND_INS:
                    raise ValueError(f"{name} is defined twice; one of them needs another name")
                text = _STAND_INS.get(name) or _text(lines, node, last)
                uses = () if name in _STAND_INS else (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
                definitions[name] = _Definition(name, text, frozenset(uses), typing_only)


def _read_import(
    node: ast.Import | ast.ImportFrom,
    definitions: dict[str, _Definition],
    imports: dict[str, _Import],
    *,
    typing_only: bool,
) -> None:
    for alias in node.names:
        if alias.name in _STAND_INS:
            text = _STAND_INS[alias.name]
            definitions.setdefault(alias.name, _Definition(alias.name, text, frozenset(), typing_only=False))
        elif isinstance(node, ast.Import):
            imports[alias.name] = _Import(alias.name, "", typing_only)
        elif node.module and node.module != "__future__" and not node.module.startswith("retro"):
            before = imports.get(alias.name)
            both = typing_only and (before is None or before.typing_only)
            imports[alias.name] = _Import(node.module, alias.name, both)


def _name_of(node: ast.stmt) -> str | None:
    """What a statement defines, but for `__all__`, which is this file's own."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) and target.id != "__all__" else None


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _text(lines: list[str], first: ast.stmt, last: ast.stmt) -> str:
    """The statement with its decorators and what explains it, without the indentation of a block it stands in."""
    decorators = getattr(first, "decorator_list", [])
    start = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(line[first.col_offset :] for line in lines[start - 1 : last.end_lineno])


def _import_lines(brought: list[_Import], *, typing_only: bool) -> list[str]:
    """Import statements, one a module, in order."""
    names: dict[str, list[str]] = {}
    for item in brought:
        if item.typing_only == typing_only:
            names.setdefault(item.module, []).append(item.name)
    modules = sorted(module for module, inside in names.items() if "" in inside)
    inside_of = {
        module: sorted({name for name in inside if name}) for module, inside in sorted(names.items())
    }
    return [
        *(f"import {module}" for module in modules),
        *(f"from {module} import {', '.join(inside)}" for module, inside in inside_of.items() if inside),
    ]

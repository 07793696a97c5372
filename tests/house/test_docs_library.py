"""docs/library.md is true: its commands and its Python run in the order in which they stand, and print what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_page_can_be_followed_from_top_to_bottom(retro: Retro) -> None:
    items, run = (body for kind, body in BLOCKS if kind == "json")
    Path("items.jsonl").write_text(items)
    Path("run.jsonl").write_text(run)
    for kind, body in BLOCKS:
        if kind == "python":
            exec(compile(body, "docs/library.md", "exec"), {})  # noqa: S102  the page is ours
        if kind != "console":
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, *expected_lines = part.splitlines()
            program, *words = shlex.split(command)
            result = retro(*words)
            assert (program, result.code) == ("retro", 0), (command, result.err)
            printed = iter([line.rstrip() for line in result.out.splitlines()])
            for line in expected_lines:
                assert line.rstrip() in printed, (
                    f"`{command}` does not print, in this order: {line!r}\n{result.out}"
                )


def test_the_page_names_every_command() -> None:
    from retro.surface.cli.library.commands import app

    names = {command.name for command in app.registered_commands}
    assert {name for name in names if f"retro library {name}" not in PAGE} == set()

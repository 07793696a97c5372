"""How `--help` lists commands: in sections, in the order a new user meets them, each on one line that ends whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

if TYPE_CHECKING:
    import typer

__all__ = ["Commands", "everywhere"]

_SECTIONS = {
    "Facts and reviews": ("init", "ingest", "map", "agents", "positions", "faults", "checks", "review"),
    "Rules and claims, and what they were worth": (
        *("playbook", "rule", "ripening", "predictions", "calibration", "attribution", "tiers", "dreams"),
        *("whatif", "shadows", "luck", "drift", "learning", "evaluations"),
    ),
    "The service": (
        "run",
        "today",
        "web",
        "tui",
        "fleet",
        "rework",
        "worker",
        "search",
        "reviews",
        "show",
        "diff",
        "explain",
        "deliver",
    ),
    "Memory": (
        *(
            "remember",
            "recall",
            "memory",
            "state",
            "habits",
            "beliefs",
            "markers",
            "plans",
            "kelly",
            "validate",
        ),
        *("experiments", "hypotheses", "library", "mcp"),
    ),
    "The house": (
        *("doctor", "metrics", "backup", "restore", "export", "import", "schema", "journal-writer"),
    ),
}


class Commands(TyperGroup):
    """A group of commands whose help has room for each of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in reading order where the sections say one."""
        ranked = [name for names in _SECTIONS.values() for name in names]
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ranked.index(name) if name in ranked else len(ranked))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every command with as much of its first sentence as fits its line."""
        commands = {
            name: command for name in self.list_commands(ctx) if not (command := self.commands[name]).hidden
        }
        if not commands:
            return
        room = formatter.width - 6 - max(map(len, commands))
        rows = {name: (name, _summary(command.help or "", room)) for name, command in commands.items()}
        if ctx.parent is not None:
            sections = {"Commands": tuple(rows)}
        else:
            listed = {name for names in _SECTIONS.values() for name in names}
            sections = {**_SECTIONS, "Others": tuple(name for name in rows if name not in listed)}
        for title, names in sections.items():
            if section_rows := [rows[name] for name in names if name in rows]:
                with formatter.section(title):
                    formatter.write_dl(section_rows, col_max=room)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """What was written, else the example of its first command that has one."""
        if not self.epilog:
            examples = [
                re.search(r"^Example: .*", command.help or "", re.MULTILINE)
                for command in self.commands.values()
            ]
            self.epilog = next((match[0] for match in examples if match), None)
        super().format_epilog(ctx, formatter)


def _summary(text: str, room: int) -> str:
    """The first sentence, or as many of its clauses as fit."""
    first = " ".join(text.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]
    if len(sentence) <= room:
        return sentence
    ends = [match.start() for match in re.finditer(r"[;:,] ", sentence) if match.start() < room]
    return f"{sentence[: ends[-1]]}." if ends else f"{sentence[: room - 1].rpartition(' ')[0]}."


def everywhere(app: typer.Typer) -> None:
    """Let every group below `app` list its commands like this."""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.info.cls = Commands
            everywhere(group.typer_instance)

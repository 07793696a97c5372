"""`retro init`, `schema` and `journal-writer`: what to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from retro.errors import RetroError, UsageError
from retro.surface.cli.context import call

__all__ = ["add_to"]

_PLAYBOOK = """# Playbook

What the agent lives by. One rule an item: id, confidence in brackets, text, and in braces the labels it answers to.

## Global

- H-1 [0.50] Replace this line with your first rule {tags: my_enter_tag; status: active}
"""


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("init")(init)
    parent.command("schema")(schema)
    parent.command("journal-writer")(journal_writer)


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="made if it is not there")] = Path(),
) -> None:
    """Make config.toml, memory_data/ and PLAYBOOK.md to start from. What is there stays as it is.

    Example: retro init mirror
    """
    from retro.config import example
    from retro.surface.cli.files import write_whole

    try:
        (directory / "memory_data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RetroError(f"{directory} cannot be made: {error.strerror or error}") from error
    for name, text in (("config.toml", example()), ("PLAYBOOK.md", _PLAYBOOK)):
        path = directory / name
        if path.exists():
            call.say(f"kept {path}")
        else:
            write_whole(path, text)
            call.out(str(path))
    call.say(
        "next: retro ingest journal agent.jsonl, or retro ingest freqtrade tradesv3.sqlite --candles DIR"
    )


def schema(
    document: Annotated[str, typer.Argument(metavar="report|position|journal|config")],
) -> None:
    """Print the JSON Schema of a document.

    Example: retro schema report > report.schema.json
    """
    call.out_json(_schema(document))


def _schema(document: str) -> dict[str, Any]:
    if document == "config":
        from retro.config import schema as config_schema

        return config_schema()
    if document == "journal":
        from retro.journal.schema import schema as journal_schema

        return journal_schema()
    from retro.report import PositionRetrospective, RetrospectiveReport

    documents: dict[str, type[RetrospectiveReport | PositionRetrospective]] = {
        "report": RetrospectiveReport,
        "position": PositionRetrospective,
    }
    if document not in documents:
        raise UsageError("retro schema takes report, position, journal or config")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | documents[document].model_json_schema(mode="serialization")


def journal_writer() -> None:
    """Print the journal's writer as one file to carry.

    It needs the standard library of Python 3.9 or later, and nothing else.

    Example: retro journal-writer > journal.py
    """
    from retro.journal.standalone import OLDEST, standalone
    from retro.version import __version__

    text = standalone()
    if call.json:
        oldest = ".".join(map(str, OLDEST))
        call.out_json({"file": "journal.py", "version": __version__, "python": oldest, "text": text})
    else:
        call.out(text)

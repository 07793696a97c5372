"""The template engine: one environment for pages and for mails, strict about names, escaping unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.present.commands import commands_as_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jinja2 import Environment

__all__ = ["environment_of", "markup"]


def environment_of(
    templates: Path,
    filters: Mapping[str, Callable[..., Any]],
    styles: Mapping[str, str],
    *,
    escape: bool = True,
) -> Environment:
    """An environment of the templates in a folder; a name no template was given is an error, never an empty text.

    `styles` are style sheets of that folder, by the name they have in a template. The test `block("Table")` tells
    blocks of a page apart, the filter `commands` shows those of our sentences as code.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  loaded when something is drawn

    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=escape,  # noqa: S701  a text has nothing to escape
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"commands": _commands, **filters}
    environment.tests |= {"block": lambda block, name: type(block).__name__ == name}
    environment.globals |= {
        name: markup((templates / file).read_text("utf-8")) for name, file in styles.items()
    }
    return environment


def _commands(text: str) -> str:
    from markupsafe import escape  # noqa: PLC0415  comes with the engine

    return markup(commands_as_code(str(escape(text))))


def markup(ours: str) -> str:
    """Text of ours that a template writes as it is. Whatever a stranger wrote has been escaped in it."""
    from markupsafe import Markup  # noqa: PLC0415  comes with the engine

    return Markup(ours)  # noqa: S704  our own, escaped there

"""A document as JSON, as every surface gives it: what needs no page loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.report.form import dump_parts, json_text
from retro.safe import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.report.form import Form

__all__ = ["data_as_json", "json_parts"]


def data_as_json(data: Any) -> str:
    """Plain data as every surface prints it: what a screen would not show stands there as an escape."""
    return visible(json_text(data, 2))


def json_parts(document: Form) -> Iterator[str]:
    """The document as `formats.render` gives it in JSON, part by part."""
    return dump_parts(document, cleaned=True)

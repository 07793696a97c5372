"""A document as JSON, as every surface gives it: what needs no page loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.report.form import dump_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.report.form import Form

__all__ = ["json_parts"]


def json_parts(document: Form) -> Iterator[str]:
    """The document as `formats.render` gives it in JSON, part by part."""
    return dump_parts(document, cleaned=True)

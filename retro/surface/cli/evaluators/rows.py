"""Rows that an evaluator answered with: as data, as a table, or the sentence that says why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from retro.surface.cli.context import call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel

    Row = TypeVar("Row", bound=BaseModel)

__all__ = ["answer_rows"]


def answer_rows(rows: Sequence[Row], draw: Callable[[Sequence[Row]], None], nothing: str) -> None:
    """Print rows as `--json` asks, else by `draw`; where there are none, say `nothing`."""
    if call.json:
        call.out_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        draw(rows)
    else:
        call.say(nothing)

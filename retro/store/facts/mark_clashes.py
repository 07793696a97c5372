"""Marks that a series knows otherwise: said as conflicts, or kept beside it when what is told replaces them."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert

from retro.model import Conflict
from retro.periods import format_instant
from retro.store.facts.blocks import MarkColumns
from retro.store.schema import mark_corrections

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection

__all__ = ["MarkProvenance", "conflicts", "keep_corrected"]


class MarkProvenance(NamedTuple):
    """Where the marks of a series (its key) come from, and the reason to replace what is known otherwise.

    `is_new`: the series has no marks yet.
    """

    key: int
    instrument: str
    where: str
    replace: str | None
    is_new: bool


def conflicts(
    provenance: MarkProvenance, old: MarkColumns, new: MarkColumns, lines: NDArray[np.int64] | None
) -> list[Conflict]:
    """Each new mark that says otherwise than the old one of its instant; `lines` beside them number them."""
    numbers = [None] * len(new.t) if lines is None else lines.tolist()
    clashes = []
    for i, line in enumerate(numbers):
        name, before, again = next(
            (name, was[i], now[i])
            for name, was, now in zip(MarkColumns._fields[1:], old[1:], new[1:], strict=True)
            if not isnan(was[i]) and not isnan(now[i]) and was[i] != now[i]
        )
        at = format_instant(int(new.t[i]))
        reason = f"{name} of {provenance.instrument} at {at} is known as {before:.12g}, not {again:.12g}"
        clashes.append(Conflict(provenance.where, line, reason))
    return clashes


def keep_corrected(conn: Connection, provenance: MarkProvenance, old: MarkColumns) -> None:
    """Keep what was known before it is replaced, with the reason."""
    rows = [
        {
            "series": provenance.key,
            "at_ms": t // 1000,
            "micros": t % 1000,
            "price": price,
            "low": None if isnan(low) else low,
            "high": None if isnan(high) else high,
            "place": provenance.where,
            "reason": provenance.replace,
        }
        for t, price, low, high in zip(*(column.tolist() for column in old), strict=True)
    ]
    if rows:
        conn.execute(insert(mark_corrections), rows)

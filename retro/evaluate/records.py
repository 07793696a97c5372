"""What records that a book keeps are made of: columns and their types, as numpy spells them.

A book whose records have other columns than these is settled anew. Without arrays: whoever only compares loads none.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CLAIM_COLUMNS",
    "KEY_TOTALS",
    "RESULT_COLUMNS",
    "SHADOW_DAY_COLUMNS",
    "SHADOW_EXIT_COLUMNS",
    "TIER_COST_COLUMNS",
    "Columns",
]

Columns = tuple[tuple[str, str], ...]
"""Name and type of each column."""

CLAIM_COLUMNS: Final[Columns] = (
    ("prediction", "<i8"),
    ("decision", "<i8"),
    ("category", "<i4"),
    ("regime", "<i4"),
    ("difficulty", "<i4"),
    ("tier", "|i1"),
    ("at", "<i8"),
    ("ends_at", "<i8"),
    ("resolved_at", "<i8"),
    ("predicted", "<f8"),
    ("low", "<f8"),
    ("high", "<f8"),
    ("actual", "<f8"),
    ("verdict", "<f8"),
    ("confidence", "<f8"),
    ("bias", "<f8"),
    ("low_offset", "<f8"),
    ("high_offset", "<f8"),
    ("worth", "<f8"),
)

SHADOW_EXIT_COLUMNS: Final[Columns] = (
    ("opened_at", "<i8"),
    ("left_at", "<i8"),
    ("closed", "|b1"),
    ("real", "<f8"),
    ("notional", "<f8"),
    ("shadow_at", "<i8"),
    ("shadow", "<f8"),
    ("acts", "|b1"),
    ("changed", "|b1"),
    ("counts", "|b1"),
    ("final_at", "<i8"),
)

SHADOW_DAY_COLUMNS: Final[Columns] = (("shadow", "<i4"), ("day", "<i8"), ("told_at", "<i8"), ("pnl", "<f8"))

RESULT_COLUMNS: Final[Columns] = (
    ("opened_at", "<i8"),
    ("closed_at", "<i8"),
    ("pnl", "<f8"),
    ("notional", "<f8"),
)

TIER_COST_COLUMNS: Final[Columns] = (("at", "<i8"), ("tier", "|i1"), ("amount", "<f8"))

KEY_TOTALS: Final = ("n", "judged", "right", "errors", "corrected", "ring", "stated", "worth")
"""What is kept of the claims of a category and regime: the fields of `KeyTotals`."""

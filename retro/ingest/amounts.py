"""Figures as people's programs print them: with thousands apart, a comma for the point, a sign that stands off."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final

from retro.journal import LARGEST, is_name, quote

__all__ = ["amount_of", "bounded", "figure_of", "named"]

_SPACES: Final = re.compile(r"[\s\u00a0\u202f\u2009'\u2019]+")
_GROUPS: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")

_WIDEST: Final = 60
"""Powers of ten beyond which a figure is a mistake, and would be slow to reckon with."""


def amount_of(text: str) -> Decimal:
    """The figure of a text such as `10 000.00`, `- 2.50`, `1,234.5` or `11,944`; `ValueError` where it is none.

    A comma is the decimal point where no point stands, unless groups of three digits and a point follow it.
    """
    plain = _SPACES.sub("", text).replace("\u2212", "-")
    if "," in plain:
        plain = (
            plain.replace(",", "") if "." in plain and _GROUPS.fullmatch(plain) else plain.replace(",", ".")
        )
    try:
        figure = Decimal(plain)
    except InvalidOperation:
        figure = Decimal("NaN")
    if not figure.is_finite():
        raise ValueError(f"{quote(text)} is no number")
    if abs(figure.adjusted()) > _WIDEST:
        raise ValueError(f"{quote(text)} is beyond what any amount can be")
    return figure


def figure_of(value: object) -> Decimal:
    """The figure that a database or JSON holds: a float's shortest digits, or a number in text; `ValueError` of anything else."""
    try:
        return bounded(Decimal(str(value)))
    except InvalidOperation:
        raise ValueError(f"{quote(str(value))} is no number") from None


def bounded(figure: Decimal) -> Decimal:
    """The same figure; `ValueError` of one that is not finite, or so large that sums of it would be none."""
    if not figure.is_finite() or abs(figure) > Decimal(LARGEST):
        raise ValueError(f"{str(figure)[:40]} is beyond any amount")
    return figure


def named(text: str) -> str:
    """The same text; `ValueError` where it cannot name an instrument or a position."""
    if not is_name(text):
        raise ValueError(f"{quote(text)} is no name")
    return text

"""Numbers as people, spreadsheets and exchanges write them: marks of thousands, signs of money, assets glued to them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.journal import quote

if TYPE_CHECKING:
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.grammar.tables import NumberMap

__all__ = ["Numerals"]

_PLAIN: Final = re.compile(r"[+-]?(?:\d{1,60}(?:\.\d{0,150})?|\.\d{1,150})(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_BLANKS: Final = str.maketrans("", "", " \u00a0\u202f\u2009'")
_GLUED: Final = re.compile(r"([+-]?[\d.,]*\d)(\S*)\Z", re.ASCII)
_NOTHING: Final = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null"})


class Numerals:
    """Reads the numbers of one mapping; columns with an asset glued to them get a `NAME.asset` beside them."""

    def __init__(self, rules: NumberMap) -> None:
        thousands = "".join(mark for mark in rules.thousands if mark != " ")
        self._out = str.maketrans("", "", thousands + rules.strip)
        self._comma = rules.decimal == ","
        self._glued = rules.glued_asset
        self._pair = rules.glued_to
        self.scale = rules.scale

    def number(self, text: str) -> Decimal | None:
        """The number a cell holds; None of an empty one, `ValueError` of what is no number."""
        if _PLAIN.match(text):
            return Decimal(text)
        if text.lower() in _NOTHING:
            return None
        plain = text.translate(_BLANKS).translate(self._out).replace("\u2212", "-")
        if plain.startswith("(") and plain.endswith(")"):
            plain = "-" + plain[1:-1]
        if self._comma:
            plain = plain.replace(".", "").replace(",", ".")
        if not _PLAIN.match(plain):
            raise ValueError(f"{quote(text)} is no number; say in [number] which marks to leave out")
        return Decimal(plain)

    def unglued(self, cells: Cells) -> Cells:
        """The cells, those of `glued_asset` parted into number and asset."""
        if not self._glued:
            return cells
        parted = dict(cells)
        pair = str(cells.get(self._pair or "", "")).replace("/", "").replace("-", "").replace("_", "").upper()
        for name in self._glued:
            text = str(cells.get(name) or "").strip().replace(" ", "")
            digits, asset = _parted(text, pair)
            parted[name], parted[f"{name}.asset"] = digits, asset
        return parted


def _parted(text: str, pair: str) -> tuple[str, str]:
    """Number and asset of `500DOGE`. Of 51INCH the pair 1INCHUSDT says that it is five of 1INCH."""
    if not (match := _GLUED.match(text)):
        return text, ""
    digits, asset = match[1], match[2]
    if asset and pair and not pair.startswith(asset.upper()) and not pair.endswith(asset.upper()):
        for cut in range(len(digits) - 1, 0, -1):
            longer = (digits[cut:] + asset).upper()
            if digits[cut].isdigit() and (pair.startswith(longer) or pair.endswith(longer)):
                return digits[:cut], digits[cut:] + asset
    return digits, asset

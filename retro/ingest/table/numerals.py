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
_SPACES: Final = " \u00a0\u202f\u2009'"
_BLANKS: Final = str.maketrans("", "", _SPACES)
_JOINTS: Final = str.maketrans("", "", _SPACES + "/-_")
_GROUPS: Final = r"[+-]? ?[1-9]\d{0,2}(?:[%s]\d{2,3})*[%s]\d{3}"
"""A whole number with marks between thousands, or between lakhs: 1,5 and 0,400 have none."""
_COMMA: Final = re.compile(r"\d,\d")
_GLUED: Final = re.compile(r"([+-]?[\d.,]*\d)(\S*)\Z", re.ASCII)
_NOTHING: Final = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null"})


class Numerals:
    """Reads the numbers of one mapping; columns with an asset glued to them get a `NAME.asset` beside them.

    `is_text`: numbers stand in the file as people write them, and not as a document or database stores them.
    """

    def __init__(self, rules: NumberMap, *, is_text: bool = True) -> None:
        self._point, self._is_text = rules.decimal, is_text
        marks = _SPACES + rules.thousands + ("." if rules.decimal == "," else "")
        self._between = str.maketrans("", "", marks)
        self._groups = re.compile(_GROUPS.replace("%s", re.escape(marks)), re.ASCII)
        self._out = str.maketrans("", "", rules.strip)
        self._glued = rules.glued_asset
        self._pair = rules.glued_to
        self.scale = rules.scale

    def number(self, text: str) -> Decimal | None:
        """The number a cell holds; None of an empty one, `ValueError` of what is no number."""
        if _PLAIN.match(text) and not (self._is_text and self._point == "," and "." in text):
            return Decimal(text)
        if text.lower() in _NOTHING:
            return None
        plain = text.translate(self._out).replace("\u2212", "-").strip()
        if plain.startswith("(") and plain.endswith(")"):
            plain = "-" + plain[1:-1]
        whole, point, fraction = plain.partition(self._point)
        whole = whole.translate(self._between if self._groups.fullmatch(whole) else _BLANKS)
        plain = f"{whole}.{fraction.translate(_BLANKS)}" if point else whole
        if not _PLAIN.match(plain):
            hint = "say in [number] which marks to leave out"
            if _COMMA.search(text):
                hint = 'say in [number] of the mapping what its commas are: thousands = "," or decimal = ","'
            raise ValueError(f"{quote(text)} is no number; {hint}")
        return Decimal(plain)

    def unglued(self, cells: Cells) -> Cells:
        """The cells, those of `glued_asset` parted into number and asset."""
        if not self._glued:
            return cells
        parted = dict(cells)
        pair = str(cells.get(self._pair or "", "")).translate(_JOINTS).upper()
        for name in self._glued:
            text = str(cells.get(name) or "").strip().translate(_BLANKS)
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

"""Verbs of a mapping as functions of a row's cells. Compiled once, called for every row."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.ingest.table.cells import path_reading
from retro.journal import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retro.ingest.table.cells import Cells
    from retro.ingest.table.grammar.verbs import AmountVerbs, FeeVerbs, FilterMap, TextVerbs, WordVerbs
    from retro.ingest.table.numerals import Numerals

    TextReading = Callable[[Cells], str]
    AmountReading = Callable[[Cells], Decimal | None]

__all__ = ["DroppedRowError", "Readings", "columns_of", "joined"]

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_LARGEST: Final = Decimal("1e50")
ZERO: Final = Decimal(0)


class DroppedRowError(Exception):
    """A row that its mapping leaves out, for a word it says so of."""


def _first(readings: Sequence[TextReading]) -> TextReading:
    if len(readings) == 1:
        return readings[0]

    def reading(cells: Cells) -> str:
        for one_of in readings:
            if text := one_of(cells):
                return text
        return ""

    return reading


def _filled(template: str) -> Callable[[Cells, str], str]:
    """Fills a template's places: {} with the value, {name} with a column; empty where one of them is."""
    pieces = _PLACE.split(template)
    readings = {name: path_reading(name) for name in pieces[1::2] if name}

    def filled(cells: Cells, value: str) -> str:
        parts = list(pieces)
        for place in range(1, len(parts), 2):
            text = readings[parts[place]](cells) if parts[place] else value
            if not text:
                return ""
            parts[place] = text
        return "".join(parts)

    return filled


def _renamed(text: str, names: dict[str, str]) -> str:
    """Another name for the whole, or for the parts of a pair."""
    if text in names:
        return names[text]
    return "/".join(names.get(part, part) for part in text.split("/")) if "/" in text else text


def _divided(text: str, quotes: Sequence[str]) -> str:
    """BTCUSDT by the longest quote it ends with, as it stands where it ends with none, or is a pair already."""
    if "/" in text:
        return text
    for quoted in quotes:
        if text.endswith(quoted) and len(text) > len(quoted):
            return f"{text[: -len(quoted)]}/{quoted}"
    return text


def joined(paths: Sequence[str]) -> TextReading:
    """The texts of several columns with - between them, of `a|b` the first that is not empty; empty where one is."""
    readings = [_first([path_reading(name) for name in path.split("|")]) for path in paths]
    if len(readings) == 1:
        return readings[0]

    def reading(cells: Cells) -> str:
        texts = [one_of(cells) for one_of in readings]
        return "-".join(texts) if all(texts) else ""

    return reading


class Readings:
    """Compiles the verbs of one mapping. `unknown` counts words without a mapping, by column and word."""

    def __init__(self, numerals: Numerals) -> None:
        self._numerals = numerals
        self.unknown: Counter[tuple[str, str]] = Counter()

    def text(self, verbs: TextVerbs) -> TextReading:
        """The text that verbs make of a row; empty where there is none."""
        steps = self._steps(verbs)
        if not steps:
            return _first([path_reading(path) for path in verbs.column])
        source = _first([path_reading(path) for path in verbs.column]) if verbs.column else None
        const, fill = verbs.const or "", None if verbs.template is None else _filled(verbs.template)
        names, settle, mark = verbs.table, verbs.settle, verbs.settle_if or ""

        def reading(cells: Cells) -> str:
            written = text = source(cells) if source is not None else const
            if text:
                for step in steps:
                    text = step(text)
            if fill is not None and "/" not in text and (text or source is None):
                text = _renamed(fill(cells, text), names)
            if settle is not None and mark in written and "/" in text and ":" not in text:
                text = f"{text}:{text.partition('/')[2] if settle == 'quote' else settle}"
            return text

        return reading

    def _steps(self, verbs: TextVerbs) -> list[Callable[[str], str]]:
        steps: list[Callable[[str], str]] = []
        if verbs.regex is not None:
            search = re.compile(verbs.regex).search
            steps.append(lambda text: (match[1] or "") if (match := search(text)) else "")
        if verbs.split is not None:
            separator = verbs.split
            steps.append(lambda text: "/".join(text.split(separator)))
        if verbs.quotes:
            quotes = sorted(verbs.quotes, key=len, reverse=True)
            steps.append(lambda text: _divided(text, quotes))
        if verbs.table:
            names = verbs.table
            steps.append(lambda text: _renamed(text, names))
        if not steps and not (verbs.column and verbs.template is None and verbs.settle is None):
            steps.append(lambda text: text)
        return steps

    def word(self, verbs: WordVerbs) -> TextReading:
        """One of the words of `map`; empty of one to be counted or of an empty cell.

        `ValueError` of a word that is a fault, `DroppedRowError` of one that drops its row.
        """
        source, words, other = self.text(verbs), verbs.map, verbs.other
        folded = {word.casefold(): meaning for word, meaning in words.items()}
        column, unknown = ", ".join(verbs.column) or "it", self.unknown
        if not words:
            return source

        def reading(cells: Cells) -> str:
            text = source(cells)
            meaning = words.get(text)
            if meaning is None:
                meaning = folded.get(text.casefold())
            if meaning is not None:
                return meaning
            if other == "drop":
                raise DroppedRowError
            if other == "fault":
                raise ValueError(f"{column}: {quote(text)} is none of the words in map; add it")
            unknown[column, text[:200]] += 1
            return "" if other == "count" else other

        return reading

    def amount(self, verbs: AmountVerbs) -> AmountReading:
        """The number that verbs make of a row; None where its cell is empty, `ValueError` of what is no number."""
        source = self._sum(verbs.sum) if verbs.sum else self._number(verbs)
        factor, is_turned, is_absolute = verbs.scale, verbs.sign == "-", verbs.abs
        times, divisor = self._factor(verbs.times), self._factor(verbs.divide)
        if factor is None and not (is_turned or is_absolute) and times is None and divisor is None:
            return source

        def reading(cells: Cells) -> Decimal | None:
            value = source(cells)
            if value is None:
                return None
            if factor is not None:
                value *= factor
            if times is not None:
                multiplier = times(cells)
                if multiplier is None:
                    return None
                value *= multiplier
            if divisor is not None:
                by = divisor(cells)
                if not by:
                    return None
                value /= by
            if is_absolute:
                value = abs(value)
            return -value if is_turned else value

        return reading

    def _number(self, verbs: AmountVerbs) -> AmountReading:
        scaled = [name for name in verbs.column if name in self._numerals.scale]
        if scaled and len(verbs.column) > 1:  # each column has its own scale
            parts = [self._number(verbs.model_copy(update={"column": (name,)})) for name in verbs.column]
            return lambda cells: next((value for part in parts if (value := part(cells)) is not None), None)
        text, number = self.text(verbs), self._numerals.number
        scale = self._numerals.scale[scaled[0]] if scaled else None
        name = " or ".join(verbs.column) or "its number"

        def reading(cells: Cells) -> Decimal | None:
            try:
                value = number(text(cells))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            if value is None:
                return None
            if abs(value) > _LARGEST:
                raise ValueError(f"{name}: is too large to reckon with")
            return value if scale is None else value * scale

        return reading

    def _sum(self, columns: Sequence[str]) -> AmountReading:
        readings = [(name, path_reading(name)) for name in columns]
        number = self._numerals.number

        def reading(cells: Cells) -> Decimal | None:
            total = ZERO
            for name, text in readings:
                try:
                    total += number(text(cells)) or ZERO
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None
            return total

        return reading

    def _factor(self, factor: Decimal | str | None) -> AmountReading | None:
        if factor is None:
            return None
        if isinstance(factor, Decimal):
            return lambda _: factor
        text, number = path_reading(factor), self._numerals.number
        return lambda cells: number(text(cells))

    def fee(self, verbs: FeeVerbs) -> tuple[AmountReading, TextReading, str]:
        """What was paid (> 0), the asset where the row says it, and the default: quote, base or a name."""
        amount = self.amount(verbs)
        asset = self.text(verbs.asset) if verbs.asset is not None else (lambda _: "")
        if verbs.paid == "+":
            return amount, asset, verbs.asset_default

        def paid(cells: Cells) -> Decimal | None:
            value = amount(cells)
            return None if value is None else -value + ZERO

        return paid, asset, verbs.asset_default

    def filter(self, rules: FilterMap) -> Callable[[Cells], bool] | None:
        """Whether a row counts; None where every row does."""
        tests = [(path_reading(name), _folded(words), True) for name, words in rules.keep.items()]
        tests += [(path_reading(name), _folded(words), False) for name, words in rules.drop.items()]
        if not tests:
            return None
        return lambda cells: all((text(cells).casefold() in words) is counts for text, words, counts in tests)


def _folded(words: Sequence[str]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def columns_of(verbs: TextVerbs) -> list[tuple[str, ...]]:
    """The columns a value needs: of each tuple one has to be there."""
    needs = [tuple(verbs.column)] if verbs.column else []
    needs += [(name,) for name in _PLACE.findall(verbs.template or "") if name]
    for more_of in ("buy", "sell", "sum"):
        needs += [(name,) for name in getattr(verbs, more_of, ())]
    for factor in ("times", "divide", "notional", "result"):
        if isinstance(name := getattr(verbs, factor, None), str):
            needs.append((name,))
    return needs

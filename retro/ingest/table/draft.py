"""A first mapping for a file nobody knows: from the names of its columns, the words in them and the shape of its times."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.rows import csv, json, sqlite
from retro.ingest.sample import sample_of
from retro.ingest.table.cells import path_reading
from retro.ingest.table.instants import time_rules
from retro.ingest.table.maps import parsed, shipped_like
from retro.ingest.table.reader import TableReader
from retro.ingest.table.vocabulary import ACTION_WORDS, COLUMN_NAMES, SIDE_WORDS
from retro.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.rows.row import Row
    from retro.ingest.sample import SourceSample
    from retro.ingest.table.cells import Cells
    from retro.model import Batch

__all__ = ["MapDraft", "UnknownWord", "draft_of", "preview"]

_ROWS: Final = 2_000
_SHOWN: Final = 3
_MOST_WORDS: Final = 30


@dataclass(frozen=True, slots=True)
class UnknownWord:
    """A word of an action or side that the draft gives no meaning, and in how many of the rows it looked at."""

    column: str
    word: str
    rows: int


@dataclass(frozen=True, slots=True)
class MapDraft:
    """A first mapping: its TOML, the words it has no meaning for, columns it does not use, shipped mappings that fit."""

    text: str
    words: tuple[UnknownWord, ...]
    unused: tuple[str, ...]
    shipped: tuple[str, ...]


def draft_of(path: Path, table: str | None = None) -> MapDraft:
    """The first mapping of a file; `InputError` where it has no rows. It looks at 2,000 rows."""
    sample = sample_of(path)
    if sample.is_folder:
        raise InputError(f"{path} is a folder; name one file in it")
    source, rows = _source(path, sample, table)
    cells = [dict(row.cells) for row in islice(rows, _ROWS) if not isinstance(row, Fault)]
    if not cells:
        raise InputError(f"{path} has no rows that can be read; there is nothing to map")
    roles = _roles(cells)
    if "time" not in roles and (column := _time_column(cells)) is not None:
        roles = {"time": column} | {role: name for role, name in roles.items() if name != column}
    if "time" not in roles:
        raise InputError(
            f"{path}: none of its columns looks like a time; it has {', '.join(_columns(cells)[:12])}"
        )
    blocks, words = _blocks(roles, cells)
    unused = tuple(name for name in _columns(cells) if name not in set(roles.values()))
    text = "\n".join([*_heading(source, roles, cells), *blocks])
    return MapDraft(text, tuple(words), unused, tuple(shipped_like(sample)))


def preview(path: Path, draft: MapDraft, zone: str | None, now: int) -> Batch:
    """What the first three rows tell by a draft; times without a zone are taken as UTC for that, and for that alone."""
    mapping = parsed(draft.text.encode(), "draft", "draft")
    if zone is None and mapping.rules.time.zone == "ask":
        zone = "UTC"
    return next(iter(TableReader(mapping, [path], agent=None, zone=zone, now=now, most=_SHOWN).batches()))


def _source(
    path: Path, sample: SourceSample, table: str | None
) -> tuple[dict[str, str], Iterator[Row | Fault]]:
    """The keys of [source] but for `match`, and the rows."""
    if sample.tables:
        name = table or max(
            sample.tables, key=lambda each: len(_roles([dict.fromkeys(sample.tables[each], "")]))
        )
        return {"format": "sqlite", "table": name}, sqlite.rows(str(path), name)
    if sample.members:
        from retro.ingest.rows import xlsx  # noqa: PLC0415 - of no use to other formats

        return {"format": "xlsx"}, xlsx.rows(path)
    text = sample.text.lstrip()
    if text.startswith("<"):
        return _markup(path, text)
    if text.startswith("["):
        return {"format": "json"}, json.rows(str(path))
    if text.startswith("{"):
        return {"format": "jsonl"}, json.line_rows(str(path))
    layout = csv.CsvLayout()
    titles = csv.titles(str(path), layout)
    if not titles:
        raise InputError(f"{path} is empty")
    before, _ = max(titles, key=lambda title: len(_roles([dict.fromkeys(title[1], "")])))
    keys = {"format": "csv"} if not before else {"format": "csv", "skip_lines": str(before)}
    return keys, csv.rows(str(path), layout._replace(skip_lines=before))


def _markup(path: Path, text: str) -> tuple[dict[str, str], Iterator[Row | Fault]]:
    """XML, whose rows are the element that has most attributes."""
    from retro.ingest.rows import xml  # noqa: PLC0415 - of no use to other formats

    widths = {
        name: len(re.findall(r'\w+="', attributes))
        for name, attributes in re.findall(r"<(\w+)\s([^<>]*)>", text)
    }
    if not widths:
        raise InputError(f"{path} is XML without attributes; its rows cannot be told apart")
    element = max(widths, key=widths.__getitem__)
    return {"format": "xml", "element": element}, xml.rows(path, element)


def _columns(cells: Sequence[Cells]) -> list[str]:
    """The columns of the first rows, those of nested objects by their path."""
    names: dict[str, None] = {}
    for row in cells[:50]:
        for name, value in row.items():
            names[name] = None
            if isinstance(value, dict):
                names |= dict.fromkeys(f"{name}.{inner}" for inner in value if "." not in inner)
    return list(names)


def _roles(cells: Sequence[Cells]) -> dict[str, str]:
    """What each column may be, by its name: each column is one thing."""
    by_name: dict[str, str] = {}
    for column in _columns(cells):
        for name in _snakes(column):
            by_name.setdefault(name, column)
    roles: dict[str, str] = {}
    for role, names in COLUMN_NAMES.items():
        likeliest = next(
            (by_name[name] for name in names if name in by_name and by_name[name] not in roles.values()), None
        )
        if likeliest is not None:
            roles[role] = likeliest
    return roles


def _snakes(column: str) -> tuple[str, str]:
    """A name as it is and parted at its capitals: tradeCreatedAt is trade_created_at, but PnL is pnl."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column)
    plain, camel = (re.sub(r"[^a-z0-9.]+", "_", name.lower()).strip("_") for name in (column, parted))
    return plain, camel


def _time_column(cells: Sequence[Cells]) -> str | None:
    """The first column all of whose cells are times."""
    for column in _columns(cells):
        texts = [text for row in cells if (text := path_reading(column)(row))]
        if len(texts) == len(cells) and time_rules(texts)[0]:
            return column
    return None


def _heading(source: dict[str, str], roles: dict[str, str], cells: Sequence[Cells]) -> Iterator[str]:
    yield "# A first mapping, made from the names of the columns. Look at it before you believe it."
    yield "[source]"
    for key, value in source.items():
        yield f"{key} = {value}" if value.isdigit() else f"{key} = {_quoted(value)}"
    flat = [column for column in roles.values() if column in cells[0]]
    yield f"match = [{', '.join(map(_quoted, flat))}]"
    if _has_fills(roles):
        yield 'base = "quote"                    # what the first fill is priced in; or "USD"'
    texts = [text for row in cells if (text := path_reading(roles["time"])(row))]
    formats, zone, why = time_rules(texts)
    if not formats:
        formats, why = ["iso"], "no format of ours reads its times: write one, such as %d/%m/%Y %H:%M"
    yield "\n[time]"
    yield f"column = {_quoted(roles['time'])}"
    yield f"format = [{', '.join(map(_quoted, formats))}]"
    yield f"zone = {_quoted(zone)}{'' if not why else f'   # {why}'}"


def _blocks(roles: dict[str, str], cells: Sequence[Cells]) -> tuple[list[str], list[UnknownWord]]:
    """The tables of a mapping for what the columns may be, and the words without a meaning."""
    lines: list[str] = []
    words: list[UnknownWord] = []
    has_fills, is_trip = _has_fills(roles), {"exit_price", "exit_time"} <= roles.keys()
    if has_fills:
        lines += ["\n[fill]", *([f"id = {_quoted(roles['id'])}"] if "id" in roles else [])]
        lines.append(f"instrument = {_instrument(roles['instrument'], cells)}")
        if "side" in roles:
            lines += _word_map("side", roles["side"], SIDE_WORDS, cells, words, other="fault")
        sided = ", abs = true" if "side" in roles else ""
        if "quantity" in roles:
            lines.append(f"quantity = {{ column = {_quoted(roles['quantity'])}{sided} }}")
        else:
            lines.append(
                f"quantity = {{ result = {_quoted(roles['result'])} }}   # what it and two prices make"
            )
        lines.append(f"price = {_quoted(roles['price'])}")
        if "fee" in roles:
            lines.append(_fee(roles, cells))
        lines += (
            _trip(roles)
            if is_trip
            else ["\n[position]", 'by = "net"                        # or side, column, row, state']
        )
        if "strategy" in roles:
            lines.append(f"strategy = {_quoted(roles['strategy'])}")
        if "result" in roles and "quantity" in roles:
            lines += [
                "\n[stated]",
                f'realized = {_quoted(roles["result"])}   # gross; or {{ column = ..., net_of = "fees" }}',
            ]
    if "action" in roles or "reasoning" in roles:
        lines += _decision(roles, cells, words, alone=not has_fills)
    if "equity" in roles:
        lines += [
            "\n[equity]",
            f"value = {_quoted(roles['equity'])}",
            'when = "before"                    # or after what its row tells',
        ]
    if not lines:
        lines = [
            "\n[equity]",
            'value = "?"                        # no column is known by its name: write what there is',
        ]
    return lines, words


def _has_fills(roles: dict[str, str]) -> bool:
    """Whether rows are executions or round trips: what, how much and at which price."""
    by_result = {"result", "exit_price", "exit_time"} <= roles.keys()
    return {"instrument", "price"} <= roles.keys() and ("quantity" in roles or by_result)


def _trip(roles: dict[str, str]) -> list[str]:
    return [
        "\n[exit]", f"time = {_quoted(roles['exit_time'])}", f"price = {_quoted(roles['exit_price'])}",
        "\n[position]", 'by = "row"                        # a row is a round trip', "short = true",
    ]  # fmt: skip


def _decision(
    roles: dict[str, str], cells: Sequence[Cells], words: list[UnknownWord], *, alone: bool
) -> list[str]:
    lines = ["\n[decision]"]
    if "action" in roles:
        lines += _word_map("action", roles["action"], ACTION_WORDS, cells, words, other="count")
    elif alone:
        lines.append('action = { const = "hold" }        # no column says what was decided')
    if alone and "instrument" in roles:
        lines.append(f"instrument = {_quoted(roles['instrument'])}")
    if "reasoning" in roles:
        lines.append(f"reasoning = {_quoted(roles['reasoning'])}")
    if "confidence" in roles:
        lines.append(f"confidence = {_confidence(roles['confidence'], cells)}")
    return lines


def _confidence(column: str, cells: Sequence[Cells]) -> str:
    """A confidence of 0 to 1, told from one of 0 to 10 and of 0 to 100 by the largest."""
    numbers = [
        float(text) for row in cells if re.fullmatch(r"\d+(\.\d+)?", text := path_reading(column)(row))
    ]
    largest = max(numbers, default=0.0)
    divisor = 1 if largest <= 1 else 10 if largest <= 10 else 100
    return _quoted(column) if divisor == 1 else f"{{ column = {_quoted(column)}, divide = {divisor} }}"


def _fee(roles: dict[str, str], cells: Sequence[Cells]) -> str:
    """A fee; below 0 where it was paid, where most of them are."""
    texts = [path_reading(roles["fee"])(row) for row in cells]
    is_negative = sum(text.startswith("-") for text in texts) * 2 > sum(
        bool(text.strip("-0.")) for text in texts
    )
    asset = f", asset = {_quoted(roles['fee_asset'])}" if "fee_asset" in roles else ""
    return f'fee = {{ column = {_quoted(roles["fee"])}, paid = "{"-" if is_negative else "+"}"{asset} }}'


def _instrument(column: str, cells: Sequence[Cells]) -> str:
    """BASE/QUOTE out of names with a /, a - or _, with a known quote at their end, or of a base alone."""
    names = {text for row in cells if (text := path_reading(column)(row))}
    for separator in "-_":
        if names and all(separator in name and "/" not in name for name in names):
            return f'{{ column = {_quoted(column)}, split = "{separator}" }}'
    if any("/" in name for name in names):
        return _quoted(column)
    quotes = [
        quote
        for quote in ("USDT", "USDC", "BUSD", "FDUSD", "USD", "EUR")
        if any(n.endswith(quote) and n != quote for n in names)
    ]
    if quotes:
        return f"{{ column = {_quoted(column)}, quotes = [{', '.join(map(_quoted, quotes))}] }}"
    return f'{{ column = {_quoted(column)}, template = "{{}}/USD" }}   # what is it priced in?'


def _word_map(
    key: str,
    column: str,
    meanings: dict[str, str],
    cells: Sequence[Cells],
    words: list[UnknownWord],
    *,
    other: str,
) -> list[str]:
    """The lines of a map of the words that a column holds; those without a meaning are noted."""
    counts = Counter(text for row in cells if (text := path_reading(column)(row)))
    known = {word: meanings[word.casefold()] for word in sorted(counts) if word.casefold() in meanings}
    unknown = [(word, rows) for word, rows in counts.most_common() if word not in known]
    words += [UnknownWord(column, word, rows) for word, rows in unknown[:_MOST_WORDS]]
    pairs = ", ".join(f"{_quoted(word)} = {_quoted(meaning)}" for word, meaning in known.items())
    return [f'{key} = {{ column = {_quoted(column)}, map = {{ {pairs} }}, other = "{other}" }}']


def _quoted(text: str) -> str:
    """A text as TOML spells it, with nothing in it that a terminal would act on."""
    return '"' + "".join(_spelled(mark) for mark in text) + '"'


def _spelled(mark: str) -> str:
    if mark in {'"', "\\"}:
        return f"\\{mark}"
    if mark.isprintable():
        return mark
    return f"\\u{ord(mark):04x}" if ord(mark) <= 0xFFFF else f"\\U{ord(mark):08x}"

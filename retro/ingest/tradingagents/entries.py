"""Entries of trading_memory.md and of full_states_log files: what was decided of a ticker on a date, and its return.

An entry of the memory begins with `[DATE | TICKER | RATING | pending]` or, once resolved, `[DATE | TICKER | RATING | RAW |
ALPHA | 5d]` with `resolved:DATE` in newer versions, has DECISION: and REFLECTION: and ends with `<!-- ENTRY_END -->`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import msgspec

from retro.ingest.source import open_source, read_lines
from retro.ingest.tradingagents.ratings import rating_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["EntryError", "RatedEntry", "Return", "memory_entries", "state_entries"]

END: Final = "<!-- ENTRY_END -->"
_TAG: Final = re.compile(
    r"\[\s*(\d{4}-\d\d-\d\d)\s*\|\s*([^|\]]{1,40}?)\s*\|\s*([^|\]]{1,40}?)\s*\|([^\]]{1,200})\]"
)
_PERCENT: Final = re.compile(r"([+-]?\d{1,7}(?:\.\d{1,6})?)\s*%")
_HORIZON: Final = re.compile(r"(\d{1,3})\s*d")
_LONGEST: Final = 64 << 20
_DAYS: Final = 5


class EntryError(ValueError):
    """This is no entry; the text says why."""


@dataclass(frozen=True, slots=True)
class Return:
    """What a ticker brought after a decision, as fractions: by itself, and beyond its benchmark; after so many trading days."""

    raw: Decimal
    alpha: Decimal | None
    days: int
    resolved: date | None
    reflection: str


@dataclass(frozen=True, slots=True)
class RatedEntry:
    """One decision; `rating` None where none is stated. `line` counts from 1."""

    line: int | None
    day: date
    ticker: str
    rating: str | None
    prose: str
    outcome: Return | None = None


@dataclass(slots=True)
class _Chunk:
    """The lines of one entry."""

    line: int
    texts: list[str] = field(default_factory=list)


def memory_entries(file: Path) -> Iterator[RatedEntry | tuple[int, str]]:
    """The entries of a memory log; (line, reason) of what is none."""
    for chunk, is_ended in _chunks(file):
        if not any(text.strip() for text in chunk.texts):
            continue
        try:
            entry = _entry(chunk)
        except EntryError as error:
            yield chunk.line, str(error)
            continue
        if is_ended:
            yield entry
        else:
            yield chunk.line, f"entry: is torn (no {END} at its end); it is read once it is whole"


def _chunks(file: Path) -> Iterator[tuple[_Chunk, bool]]:
    chunk: _Chunk | None = None
    with open_source(str(file)) as stream:
        for part in read_lines(stream):
            for number, raw in enumerate(part.texts, part.first):
                text = raw.decode("utf-8", "replace").rstrip("\r").removeprefix("\ufeff")
                if text.strip() == END:
                    if chunk:
                        yield chunk, True
                    chunk = None
                elif chunk or text.strip():
                    chunk = chunk or _Chunk(number)
                    chunk.texts.append(text)
    if chunk:
        yield chunk, False


def _entry(chunk: _Chunk) -> RatedEntry:
    match = _TAG.fullmatch(chunk.texts[0].strip())
    if not match:
        raise EntryError("entry: does not begin with [DATE | TICKER | RATING | ...]; it is left out")
    fields = [part.strip() for part in match[4].split("|")]
    body = "\n".join(chunk.texts[1:])
    prose, reflection = body, ""
    if fields[0].lower() != "pending":
        prose, _, reflection = body.partition("\nREFLECTION:")
    prose = prose.strip().removeprefix("DECISION:").strip()
    return RatedEntry(
        line=chunk.line,
        day=_day(match[1]),
        ticker=match[2],
        rating=match[3].capitalize(),
        prose=prose,
        outcome=_outcome(fields, reflection.strip()),
    )


def _outcome(fields: list[str], reflection: str) -> Return | None:
    raw = _fraction(fields[0])
    if raw is None:
        return None
    days = next((int(match[1]) for text in fields if (match := _HORIZON.fullmatch(text))), _DAYS)
    resolved = next((text.partition(":")[2] for text in fields if text.startswith("resolved:")), "")
    alpha = _fraction(fields[1]) if len(fields) > 1 else None
    return Return(raw, alpha, days, _day(resolved.strip()) if resolved.strip() else None, reflection)


def _fraction(text: str) -> Decimal | None:
    match = _PERCENT.match(text)  # some write "+1.5% alpha"
    return Decimal(match[1]) / 100 if match else None


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not 1970 <= day.year < 9000:
        raise EntryError(f"date: {text[:40]!r} is none; write it as 2026-03-01")
    return day


class _State(msgspec.Struct):
    company_of_interest: str = ""
    trade_date: str = ""
    final_trade_decision: object = ""


_STATE: Final = msgspec.json.Decoder(_State)
_BY_DATE: Final = msgspec.json.Decoder(dict[str, _State])


def state_entries(file: Path) -> Iterator[RatedEntry | tuple[int, str]]:
    """The decision of a full_states_log file; one a date in older files. (1, reason) of what is none."""
    with open_source(str(file)) as stream:
        text = stream.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        yield 1, f"log: is larger than {_LONGEST >> 20} MiB; leave it out"
        return
    try:
        yield from [_decided(state) for state in _states(text)]
    except EntryError as error:
        yield 1, str(error)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        yield 1, f"log: is no state of TradingAgents ({error})"


def _states(text: bytes) -> list[_State]:
    state = _STATE.decode(text)
    if state.company_of_interest:
        return [state]
    return [
        _State(entry.company_of_interest, entry.trade_date or day, entry.final_trade_decision)
        for day, entry in _BY_DATE.decode(text).items()
    ]


def _decided(state: _State) -> RatedEntry:
    if not state.company_of_interest or not state.final_trade_decision:
        raise EntryError("log: has no company_of_interest or no final_trade_decision; it is left out")
    decision = state.final_trade_decision
    prose = decision if isinstance(decision, str) else json.dumps(decision, ensure_ascii=False)
    return RatedEntry(
        None, _day(state.trade_date), state.company_of_interest, rating_in(prose), prose.strip()
    )

"""Journal lines as rows, quickly: what is plainly well-formed is accepted in C, the rest is checked in full.

The quick way only ever says yes or "look closer"; `retro.journal.check` alone refuses. It decodes many lines at
once into structs built from the same table of fields, narrower than the table (no exponents in strings, no unknown
fields). The structs' blind spot is a key given twice: the colons of the lines are counted against those of the
decoded events written out again, and are as many only if no key was dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from functools import reduce
from operator import itemgetter, or_
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from retro.journal import FIELDS, LARGEST, LONGEST_NAME, REQUIRED, RULES, RejectedError, check
from retro.journal.values import AGENT_NAME, MOST_NAMES
from retro.model import EventRow
from retro.periods import DAY, EPOCH, parse_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EventReader"]

_NAME: Final = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
_DIGITS: Final = r"[0-9]{1,50}(?:\.[0-9]{1,150})?\Z"
_POSITIVE: Final = (
    Annotated[float, Meta(gt=0, le=LARGEST)] | Annotated[str, Meta(pattern=rf"^(?=[0.]*[1-9]){_DIGITS}")]
)
_AMOUNT: Final = Annotated[float, Meta(ge=0, le=LARGEST)] | Annotated[str, Meta(pattern=f"^{_DIGITS}")]
_INTEGER: Final = Annotated[int, Meta(ge=-(2**53), le=2**53)]
_WIRE: Final[dict[str, Any]] = {
    "name": _NAME,
    "agent": Annotated[str, Meta(min_length=1, max_length=64)],
    "at": int | str,
    "instant": int | str,
    "integer": _INTEGER,
    "count": Annotated[int, Meta(ge=0, le=2**53)],
    "text": str,
    "texts": list[str],
    "names": Annotated[list[_NAME], Meta(max_length=MOST_NAMES)],  # type: ignore[valid-type]
    "day": Annotated[
        str, Meta(pattern=r"^(?:19[7-9]|2[0-9]{2})[0-9]-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])\Z")
    ],
    "reference": str | _INTEGER,
    "number": Annotated[float, Meta(ge=-LARGEST, le=LARGEST)] | Annotated[str, Meta(pattern=f"^-?{_DIGITS}")],
    "positive": _POSITIVE,
    "nonzero": _POSITIVE,
    "amount": _AMOUNT,
    "amounts": dict[_NAME, _AMOUNT],  # type: ignore[valid-type]
    "share": Annotated[float, Meta(ge=0, le=1)],
    "valence": Annotated[float, Meta(ge=-1, le=1)],
    "map": dict[str, Any],
    "flag": bool,
    "any": Any,
}
_WORDY: Final = frozenset({"decision", "prediction"})
_LONG_INTEGER: Final = re.compile(r"[0-9]{300}")
_DEEPEST: Final = 100
_MOST_AGENTS: Final = 10_000


def _wire(kind: str, *, closed: bool) -> type[msgspec.Struct]:
    """The struct of one event type: what is required, and the rest, unset when it was not given."""
    needed: list[tuple[str, Any]] = []
    optional: list[tuple[str, Any, Any]] = []
    for name, rule in FIELDS[kind].items():
        wire: Any = Literal[rule] if isinstance(rule, tuple) else _WIRE.get(rule)
        if name in REQUIRED[kind]:
            needed.append((name, wire))
        elif name != "type":
            optional.append((name, wire | None | UnsetType, UNSET))
    return msgspec.defstruct(
        kind,
        [*needed, *optional],
        tag_field="type",
        tag=kind,
        forbid_unknown_fields=closed,
        kw_only=True,
        gc=False,
    )


class _How(NamedTuple):
    """What the rows of one struct need to know."""

    kind: str
    has_position: bool
    wordy: bool
    rule: Callable[[Any], str | None] | None
    names: tuple[str, ...]


_CLOSED: Final = {_wire(kind, closed=True): kind for kind in FIELDS}
_OPEN: Final = {_wire(kind, closed=False): kind for kind in FIELDS}
_HOW: Final = {
    struct: _How(
        kind,
        "position" in FIELDS[kind],
        kind in _WORDY,
        RULES.get(kind),
        tuple(name for name, rule in FIELDS[kind].items() if rule in {"name", "names", "amounts"}),
    )
    for struct, kind in [*_CLOSED.items(), *_OPEN.items()]
}
_decode_lines: Final = msgspec.json.Decoder(reduce(or_, _CLOSED)).decode_lines
_decode_open: Final = msgspec.json.Decoder(reduce(or_, _OPEN)).decode
_encode: Final = msgspec.json.Encoder().encode
_first: Final = itemgetter(0)
_last: Final = itemgetter(-1)


class EventReader:
    """Turns lines into rows. `unknown` counts, by name, the fields nobody knows."""

    def __init__(self, now: int) -> None:
        self.unknown: Counter[str] = Counter()
        self._now = now
        self._agents: set[str] = set()

    def read(self, lines: list[bytes]) -> Sequence[EventRow | str]:
        """For each of some lines its row, or the reason why it has none; lines have no blanks at their ends."""
        rows = self._attempt(self._quickly, lines) if lines else []
        if rows is not None:
            return rows
        if len(lines) == 1:
            return self._attempt(self._openly, lines) or [self._in_full(lines[0])]
        half = len(lines) // 2
        return [*self.read(lines[:half]), *self.read(lines[half:])]

    def _attempt(
        self, how: Callable[[list[bytes]], list[EventRow] | None], lines: list[bytes]
    ) -> list[EventRow] | None:
        try:
            return how(lines)
        except (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError, LookupError):
            return None

    def _in_full(self, line: bytes) -> EventRow | str:
        try:
            row, unknown = check(line.decode(), self._now)
        except UnicodeDecodeError as error:
            wrong = f"byte {error.start + 1} (0x{line[error.start]:02x}) is not UTF-8"
            return f"line: {wrong}; save the file as UTF-8"
        except RejectedError as error:
            return str(error)
        self.unknown.update(unknown)
        return row

    def _quickly(self, lines: list[bytes]) -> list[EventRow] | None:
        """All rows, or none when a line wants a closer look.

        That every line begins with a brace and ends with one is what keeps an event from running over two lines.
        """
        whole = b"\n".join(lines)
        if list(map(_first, lines)).count(123) != len(lines) or list(map(_last, lines)).count(125) != len(
            lines
        ):
            return None
        events = _decode_lines(whole)
        if len(events) != len(lines) or _encode(events).count(b":") != whole.count(b":"):
            return None
        return self._rows(events, whole)

    def _openly(self, lines: list[bytes]) -> list[EventRow] | None:
        """The one line's row where it has fields nobody knows: every field is looked at, not only the known."""
        (line,) = lines
        event, fields = _decode_open(line), msgspec.json.decode(line)
        unknown = fields.keys() - FIELDS[_HOW[event.__class__].kind].keys()
        if _encode(fields).count(b":") != line.count(b":") or _LONG_INTEGER.search(line.decode()):
            return None
        if not all(map(str.isprintable, unknown)) or line.count(b"[") + line.count(b"{") > _DEEPEST:
            return None
        rows = self._rows([event], line)
        if rows is not None:
            self.unknown.update(unknown)
        return rows

    def _rows(self, events: list[Any], whole: bytes) -> list[EventRow] | None:
        # an escape may hide a colon from the count, and control characters from us
        odd = b"\\" in whole or b"\x7f" in whole or not whole.isascii()
        if odd and b"\\u003" in whole:
            return None
        rows: list[EventRow] = []
        make, latest, agents = tuple.__new__, self._now + DAY, self._agents
        for event, text in zip(events, whole.decode().split("\n"), strict=True):
            kind, has_position, wordy, rule, names = _HOW[event.__class__]
            at, agent = _instant(event.at), event.agent
            if not 0 <= at <= latest or (rule is not None and rule(event)):
                return None
            if (odd and not _printable(event, names)) or (wordy and not _in_bounds(event, text)):
                return None
            if agent not in agents:
                self._meet(agent)
            position = event.position or None if has_position else None
            rows.append(make(EventRow, (agent, kind, event.id, at, position, text)))
        return rows

    def _meet(self, agent: str) -> None:
        if not AGENT_NAME.fullmatch(agent):
            raise ValueError
        if len(self._agents) > _MOST_AGENTS:
            self._agents.clear()
        self._agents.add(agent)


def _instant(value: int | str) -> int:
    """Microseconds of an `at`. The usual spelling goes to C, whose own reading of ISO 8601 is wider than ours."""
    if isinstance(value, int):
        return value * 1000
    length = len(value) if value[-1] == "Z" else len(value) - 5 if value[-6:] == "+00:00" else 0
    usual = length == 20 or (length in {24, 27} and value[19] == ".")
    if not usual or value[4:17:3] != "--T::" or not "1970" <= value[:4] < "9000":
        return parse_instant(value)
    since = datetime.fromisoformat(value) - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _in_bounds(event: Any, text: str) -> bool:
    """Whether the fields that may hold anything hold nothing out of bounds."""
    if text.count("{") + text.count("[") > _DEEPEST or (len(text) > 300 and _LONG_INTEGER.search(text)):
        return False
    if event.__class__.__name__ == "prediction" and isinstance(event.target_at, str):
        _instant(event.target_at)
    return True


def _printable(event: Any, names: tuple[str, ...]) -> bool:
    for name in names:
        value = getattr(event, name)
        if isinstance(value, dict | list):
            if not all(map(str.isprintable, value)):
                return False
        elif value and not value.isprintable():
            return False
    return True

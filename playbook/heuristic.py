"""One heuristic: an id, a confidence, a text, and what stands in the braces after it.

    - H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}

Ids are letters, a hyphen and a number. `H-<n>` followed by brackets is always meant as a heuristic, so a bad confidence
there is a fault; another prefix (`LP-3 [0.40]`) counts only with a sound confidence that has a decimal point, because
`RFC-2119 [1]` is prose. A bracket that starts a Markdown link is prose too.

The text is the item's first paragraph up to the braces; the braces close at the end of a line. Keys: `tags`, `since`,
`status`, `reason` (why it was retired), `evidence` (what it was brought in on). A value that needs it is a JSON string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from playbook.ids import ANY_ID
from playbook.plain import literal, plain, unquoted

__all__ = [
    "KEYS",
    "STATUSES",
    "Entry",
    "Heuristic",
    "HeuristicHead",
    "Status",
    "compose",
    "read_head",
    "with_confidence",
    "with_entry",
    "with_text",
]

Status = Literal["candidate", "active", "demoted", "retired"]
STATUSES: tuple[Status, ...] = get_args(Status)
KEYS = ("tags", "since", "status", "reason", "evidence")

_ID = re.compile(rf"(?P<id>{ANY_ID})[ \t]*\[(?P<confidence>[^\[\]\n]*)\](?![(\[])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_QUOTED = r'(?:(?<=[:,\s])|\A)"(?:[^"\\]|\\.)*+"'
_BRACES = re.compile(rf"\{{(?P<inside>(?>{_QUOTED}|[^{{}}])*+)\}}(?=[ \t\r]*(?:\n|\Z))")
_ENTRY = re.compile(rf"(?:{_QUOTED}|[^;])++")
_TAG = re.compile(rf"(?:{_QUOTED}|[^,])++")
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*:")
_OPENING = re.compile(r"\{" + _KEY.pattern)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of the braces; [start, end) is where the value stands in the head."""

    key: str
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class HeuristicHead:
    """What an item says as a heuristic, and where: `raw` runs from the bullet to the braces or the end of the text.

    `bracket` is the inside of the confidence's brackets, `braces` the braces with both ends, as spans of `raw`.
    `faults` are (offset in `raw`, reason, remedy).
    """

    raw: str
    id: str
    bracket: tuple[int, int]
    confidence: float | None
    text: str
    braces: tuple[int, int] | None
    entries: tuple[Entry, ...]
    faults: tuple[tuple[int, str, str], ...]

    def value(self, key: str) -> str | None:
        """The raw value of a key; None without one. Of a repeated key the first counts."""
        return next((entry.value for entry in self.entries if entry.key == key), None)

    @property
    def tags(self) -> tuple[str, ...]:
        """The agent's own labels that stand for this heuristic."""
        labels = (unquoted(match[0]) for match in _TAG.finditer(self.value("tags") or ""))
        return tuple(dict.fromkeys(tag for tag in labels if tag))

    @property
    def since(self) -> date | None:
        """The day since which the text stands; None when absent or not a date."""
        return _day(self.value("since"))

    @property
    def status(self) -> Status | None:
        """The stated status; None when absent or unknown."""
        return _status(self.value("status"))

    @property
    def reason(self) -> str | None:
        """Why it was retired, if it says so."""
        stated = self.value("reason")
        return None if stated is None else unquoted(stated)


@dataclass(frozen=True, slots=True)
class Heuristic:
    """A heuristic where it stands: `line` counts from 1; `start` is the bullet's offset; [first, end) are its lines."""

    id: str
    confidence: float | None
    text: str
    tags: tuple[str, ...]
    since: date | None
    status: Status
    reason: str | None
    section: str
    strategy: str | None
    line: int
    head: HeuristicHead
    start: int
    first: int
    end: int

    @property
    def live(self) -> bool:
        """Whether it still claims its tags: everything but retired."""
        return self.status != "retired"


def _day(value: str | None) -> date | None:
    if value is None or not _DATE.fullmatch(unquoted(value)):
        return None
    try:
        return date.fromisoformat(unquoted(value))
    except ValueError:
        return None


def _status(value: str | None) -> Status | None:
    stated = None if value is None else unquoted(value).lower()
    return next((status for status in STATUSES if status == stated), None)


def _confidence(inside: str) -> tuple[float | None, str]:
    """The number in the brackets, or None and why not."""
    if not _NUMBER.fullmatch(inside.strip()):
        return None, f"confidence {plain(inside, 40)!r} is not a number"
    value = float(inside)
    return (value, "") if 0 <= value <= 1 else (None, f"confidence {plain(inside, 40)} lies outside 0 to 1")


def _entries(raw: str, start: int, end: int) -> tuple[list[Entry], list[tuple[int, str, str]]]:
    """Read the inside of the braces, raw[start:end]."""
    entries: list[Entry] = []
    faults: list[tuple[int, str, str]] = []
    keys: set[str] = set()
    for match in _ENTRY.finditer(raw, start, end):
        at = match.start() + len(match[0]) - len(match[0].lstrip())
        key = _KEY.match(match[0])
        if not match[0].strip():
            continue
        if not key:
            faults.append(
                (at, f"{plain(match[0], 40)!r} is not `key: value`", "separate entries by semicolons")
            )
            continue
        value = match[0][key.end() :].strip()
        begin = match.start() + len(match[0]) - len(match[0][key.end() :].lstrip())
        entry = Entry(key[1].lower(), value, begin, begin + len(value))
        faults += _entry_faults(entry, at, keys)
        entries.append(entry)
        keys.add(entry.key)
    return entries, faults


def _entry_faults(entry: Entry, at: int, keys: set[str]) -> list[tuple[int, str, str]]:
    quoted = repr(plain(entry.value, 40))
    if entry.key not in KEYS:
        return [(at, f"unknown metadata key {entry.key!r}", "known are " + ", ".join(KEYS))]
    if entry.key in keys:
        return [(at, f"metadata key {entry.key!r} stands twice", "keep one of them")]
    if entry.key == "status" and _status(entry.value) is None:
        return [(at, f"unknown status {quoted}", "use one of " + ", ".join(STATUSES))]
    if entry.key == "since" and _day(entry.value) is None:
        return [(at, f"since {quoted} is not a date", "write YYYY-MM-DD")]
    return []


def _stray_braces(raw: str, start: int, braces: tuple[int, int] | None) -> list[tuple[int, str, str]]:
    """Braces that were meant as metadata and are not: unterminated, or followed by more text."""
    faults = []
    for match in _OPENING.finditer(raw, start):
        if braces and braces[0] <= match.start() < braces[1]:
            continue
        opening = raw.find("{", match.end())
        if raw.find("}", match.end(), opening if opening >= 0 else len(raw)) < 0:
            faults.append((match.start(), "braces are not closed", "end the metadata with }"))
        elif match[1].lower() in KEYS:
            faults.append(
                (match.start(), "metadata does not end the text", "keep one pair of braces, at the end")
            )
    return faults


def read_head(paragraph: str, content: int) -> HeuristicHead | None:
    """Read an item's first paragraph, from its bullet on, as a heuristic; None when it is prose.

    `content` is where the item's content starts.
    """
    match = _ID.match(paragraph, content)
    if match is None:
        return None
    confidence, wrong = _confidence(match["confidence"])
    if not match["id"].startswith("H-") and (confidence is None or "." not in match["confidence"]):
        return None
    remedy = "write a number from 0 to 1, such as [0.35]"
    faults = [(match.start(), f"{match['id']}: {wrong}", remedy)] if wrong else []
    groups = (group for group in _BRACES.finditer(paragraph, match.end()) if _is_metadata(group["inside"]))
    group = next(groups, None)
    braces = (group.start(), group.end()) if group else None
    faults += _stray_braces(paragraph, match.end(), braces)
    entries, wrongs = _entries(paragraph, braces[0] + 1, braces[1] - 1) if braces else ([], [])
    words = paragraph[match.end() : braces[0] if braces else None]
    text = " ".join(part.strip() for part in words.strip().split("\n"))
    if not text:
        faults.append((match.start(), f"{match['id']} has no text", "say what the rule is"))
    end = braces[1] if braces else match.end() + len(words.rstrip())
    span = match.span("confidence")
    return HeuristicHead(
        paragraph[:end], match["id"], span, confidence, text, braces, tuple(entries), tuple(faults + wrongs)
    )


def _is_metadata(inside: str) -> bool:
    return not inside.strip() or _KEY.match(inside) is not None


def with_confidence(head: HeuristicHead, confidence: float) -> str:
    """The head's raw text with another confidence, to two digits."""
    start, end = head.bracket
    return f"{head.raw[:start]}{confidence:.2f}{head.raw[end:]}"


def with_text(head: HeuristicHead, text: str) -> str:
    """The head's raw text with other words, on one line."""
    tail = " " + head.raw[head.braces[0] :] if head.braces else ""
    return f"{head.raw[: head.bracket[1] + 1]} {text}{tail}"


def with_entry(head: HeuristicHead, key: str, value: str) -> str:
    """The head's raw text with one metadata value set; `value` as it is to be written."""
    entry = next((entry for entry in head.entries if entry.key == key), None)
    if entry:
        return head.raw[: entry.start] + value + head.raw[entry.end :]
    if head.braces is None:
        return f"{head.raw} {{{key}: {value}}}"
    inside = head.raw[: head.braces[1] - 1].rstrip()
    joint = "" if inside.endswith("{") else " " if inside.endswith(";") else "; "
    return f"{inside}{joint}{key}: {value}}}"


def compose(
    id: str,  # noqa: A002 - it is called an id everywhere else
    confidence: float,
    text: str,
    *,
    status: Status,
    tags: tuple[str, ...] = (),
    since: date | None = None,
    bullet: str = "-",
    evidence: str = "",
) -> str:
    """Write a new heuristic as one line; the text is made plain, tags and evidence are quoted where they must be."""
    entries = [f"tags: {', '.join(map(literal, tags))}"] if tags else []
    entries += [f"since: {since.isoformat()}"] if since else []
    entries += [f"status: {status}"]
    entries += [f"evidence: {literal(plain(evidence))}"] if evidence else []
    return f"{bullet} {id} [{confidence:.2f}] {plain(text)} {{{'; '.join(entries)}}}"

"""PLAYBOOK.md as a value: the text exactly as it was, and the heuristics found in it.

`str(playbook)`, `format(playbook)` and `bytes(playbook)` give back what was parsed, byte for byte. Sections are level-2
headings: `Global`, `Strategy: NAME`, `Retired`; any other level-2 heading is a section without a meaning, and heuristics
there, or before the first heading, hold globally. What stands under `Retired` is retired whatever its braces say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from playbook.blocks import Heading, ListItem, Outline, outline
from playbook.citation import claims
from playbook.errors import DuplicateHeuristic, PlaybookFault, UnknownHeuristic
from playbook.heuristic import Heuristic, Status, read_head
from playbook.ids import ITEM_START, numbers_in
from playbook.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Playbook", "PlaybookSection", "find", "next_number", "parse", "standing"]

_TITLE = re.compile(r"(?P<kind>global|retired|strategy\s*:\s*(?P<name>.+))", re.IGNORECASE)
_UNDECODED = re.compile("[\udc80-\udcff]")
_ITEM_SHAPED = re.compile(rf"^[ \t]{{0,3}}[-*+][ \t]+{ITEM_START}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlaybookSection:
    """A level-2 section: lines [line, end) by index, `line` being its heading (-1 before the first one)."""

    kind: Literal["global", "strategy", "retired", "other"]
    title: str
    strategy: str | None
    line: int
    end: int


@dataclass(frozen=True, slots=True)
class Playbook:
    """A parsed PLAYBOOK.md; `faults` is empty for a sound one, `extents` are the lines of all its list items."""

    text: str
    lines: tuple[str, ...]
    heuristics: tuple[Heuristic, ...]
    sections: tuple[PlaybookSection, ...]
    extents: tuple[tuple[int, int], ...]
    faults: tuple[PlaybookFault, ...]

    def __str__(self) -> str:
        return self.text

    def __bytes__(self) -> bytes:
        return self.text.encode("utf-8", "surrogateescape")


def parse(text: str | bytes) -> Playbook:
    """Parse a playbook; never fails, loses nothing. Bytes that are not UTF-8 are kept and are a fault of their line."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    plan = outline(text)
    starts = tuple(accumulate(map(len, plan.lines), initial=0))
    sections = tuple(_sections(plan.headings, len(plan.lines)))
    parsed = (_heuristic(plan.lines, starts, item, sections) for item in plan.items)
    heuristics = tuple(heuristic for heuristic in parsed if heuristic)
    faults = [*_head_faults(starts, heuristics), *_id_faults(heuristics), *_claim_faults(heuristics)]
    faults += _text_faults(text, starts, plan)
    extents = tuple((item.line, item.end) for item in plan.items)
    return Playbook(text, plan.lines, heuristics, sections, extents, tuple(sorted(faults)))


def find(playbook: Playbook, id: str) -> Heuristic | None:  # noqa: A002 - it is called an id everywhere else
    """The heuristic of this id, the first when it stands twice, None when there is none."""
    return next((heuristic for heuristic in playbook.heuristics if heuristic.id == id), None)


def standing(playbook: Playbook, heuristic: str) -> Heuristic:
    """The one heuristic of this id. Raises UnknownHeuristic, or DuplicateHeuristic when there are several."""
    matches = [rule for rule in playbook.heuristics if rule.id == heuristic]
    if not matches:
        raise UnknownHeuristic(plain(heuristic, 60), "is not in the playbook")
    if len(matches) > 1:
        raise DuplicateHeuristic(
            heuristic, "stands on lines " + " and ".join(str(rule.line) for rule in matches)
        )
    return matches[0]


def next_number(playbook: Playbook) -> int:
    """The first number above every one the text mentions, so that a deleted rule's id is not used again."""
    return max(numbers_in(playbook.text), default=0) + 1


def _sections(headings: Sequence[Heading], end: int) -> Iterator[PlaybookSection]:
    title, line = "", -1
    for heading in headings:
        yield _section(title, line, heading.line)
        title, line = (heading.title if heading.level == 2 else ""), heading.line
    yield _section(title, line, end)


def _section(title: str, line: int, end: int) -> PlaybookSection:
    match = _TITLE.fullmatch(title)
    if match is None:
        return PlaybookSection("other", title, None, line, end)
    if match["name"]:
        return PlaybookSection("strategy", title, match["name"].strip(), line, end)
    return PlaybookSection(
        "retired" if match["kind"].lower() == "retired" else "global", title, None, line, end
    )


def _heuristic(
    lines: Sequence[str], starts: Sequence[int], item: ListItem, sections: Sequence[PlaybookSection]
) -> Heuristic | None:
    if item.content is None:
        return None
    paragraph = "".join(lines[item.line : item.head])[item.bullet :]
    head = read_head(paragraph, item.content - item.bullet)
    if head is None:
        return None
    section = sections[bisect_right(sections, item.line, key=lambda candidate: candidate.line) - 1]
    status: Status = "retired" if section.kind == "retired" else head.status or "active"
    return Heuristic(
        id=head.id,
        confidence=head.confidence,
        text=head.text,
        tags=head.tags,
        since=head.since,
        status=status,
        reason=head.reason,
        section=section.title,
        strategy=section.strategy,
        line=item.line + 1,
        head=head,
        start=starts[item.line] + item.bullet,
        first=item.line,
        end=item.end,
    )


def _head_faults(starts: Sequence[int], heuristics: Sequence[Heuristic]) -> Iterator[PlaybookFault]:
    for heuristic in heuristics:
        for offset, reason, remedy in heuristic.head.faults:
            yield PlaybookFault(bisect_right(starts, heuristic.start + offset), reason, remedy)


def _id_faults(heuristics: Sequence[Heuristic]) -> Iterator[PlaybookFault]:
    lines: dict[str, int] = {}
    for heuristic in heuristics:
        if heuristic.id in lines:
            reason = f"duplicate id {heuristic.id}, first on line {lines[heuristic.id]}"
            yield PlaybookFault(heuristic.line, reason, "give one of them a new number")
        lines.setdefault(heuristic.id, heuristic.line)


def _claim_faults(heuristics: Sequence[Heuristic]) -> Iterator[PlaybookFault]:
    living = [heuristic for heuristic in heuristics if heuristic.live]
    lines = {heuristic.id: heuristic.line for heuristic in reversed(living)}
    claimed = claims(living)
    for heuristic in living:
        for tag in heuristic.tags:
            owner = claimed[tag]
            quoted_tag = repr(plain(tag, 60))
            if tag in lines and tag != heuristic.id:
                yield PlaybookFault(
                    heuristic.line, f"tag {quoted_tag} is the id of another heuristic", "cite it by its id"
                )
            elif owner != heuristic.id:
                reason = f"tag {quoted_tag} is already claimed by {owner} on line {lines[owner]}"
                yield PlaybookFault(heuristic.line, reason, "let one of them claim it")


def _text_faults(text: str, starts: Sequence[int], plan: Outline) -> Iterator[PlaybookFault]:
    bad = {bisect_right(starts, match.start()) for match in _UNDECODED.finditer(text)}
    yield from (
        PlaybookFault(line, "bytes that are not UTF-8", "save the file as UTF-8") for line in sorted(bad)
    )
    if plan.unclosed is not None and _ITEM_SHAPED.search(text, starts[plan.unclosed]):
        reason = "a code fence or comment opened here never closes and hides heuristics"
        yield PlaybookFault(plan.unclosed + 1, reason, "close it")

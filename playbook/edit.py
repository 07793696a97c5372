"""Amendments carried out on the text: as few characters as it takes, and exactly reversible.

`edits` plans, `splice` carries out, `inverse` turns edits around; `apply` is the first two. After every amendment the
result is parsed again and must hold exactly what the operation may change: the amendment's line is a proposal, not
trusted, wherever it came from.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playbook.document import Playbook, find, parse, standing
from playbook.errors import DuplicateHeuristic, NotPermitted, StaleLine
from playbook.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from playbook.amendment import Amendment
    from playbook.heuristic import Heuristic

__all__ = ["Edit", "amended", "apply", "edits", "inverse", "is_applied", "splice"]

_BOM = "\ufeff"
_LINE = re.compile(r"on line \d+")
_MAY_CHANGE = {
    "add": frozenset(),
    "revise": frozenset({"text", "since"}),
    "set_confidence": frozenset({"confidence"}),
    "demote": frozenset({"status", "confidence"}),
    "promote": frozenset({"status", "confidence"}),
    "retire": frozenset({"status", "reason", "section", "strategy"}),
    "merge": frozenset({"tags"}),
}
_BECOMES = {"add": "candidate", "demote": "demoted", "promote": "active", "retire": "retired"}
_FIELDS = ("confidence", "text", "tags", "since", "status", "reason", "section", "strategy")


@dataclass(frozen=True, slots=True)
class Edit:
    """`before`, standing at character `start`, becomes `after`."""

    start: int
    before: str
    after: str


def apply(playbook: Playbook, amendments: Iterable[Amendment]) -> str:
    """The amended text. Raises AmendmentError at the first amendment that does not fit; nothing is half done."""
    return splice(playbook.text, edits(playbook, amendments))


def splice(text: str, changes: Iterable[Edit]) -> str:
    """Carry out edits in order, each on the result of those before. Raises StaleLine when the text is another."""
    for change in changes:
        end = change.start + len(change.before)
        if text[change.start : end] != change.before:
            raise StaleLine("edit", f"character {change.start} does not read as expected")
        text = text[: change.start] + change.after + text[end:]
    return text


def inverse(changes: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits that restore, to the byte, the text these were planned on."""
    return tuple(Edit(edit.start, edit.after, edit.before) for edit in reversed(tuple(changes)))


def edits(playbook: Playbook, amendments: Iterable[Amendment]) -> tuple[Edit, ...]:
    """Plan amendments, in order, as edits of the text. Raises AmendmentError."""
    planned: list[Edit] = []
    for amendment in amendments:
        playbook, step = amended(playbook, amendment)
        planned += step
    return tuple(planned)


def amended(playbook: Playbook, amendment: Amendment) -> tuple[Playbook, tuple[Edit, ...]]:
    """The playbook after one amendment, and the edits that led there. Raises AmendmentError."""
    step = tuple(_plan(playbook, amendment))
    after = parse(splice(playbook.text, step))
    _check(playbook, after, amendment)
    return after, step


def is_applied(playbook: Playbook, amendment: Amendment) -> bool:
    """Whether the document says already what the amendment wants it to, by whoever's hand."""
    lines = {heuristic.head.raw.strip() for heuristic in playbook.heuristics}
    return all(heuristic.head.raw.strip() in lines for heuristic in amendment.after)


def _plan(playbook: Playbook, amendment: Amendment) -> list[Edit]:
    wanted = amendment.after
    if len(wanted) != (2 if amendment.op == "merge" else 1):
        raise NotPermitted(plain(amendment.heuristic, 60), "the new line does not read as a heuristic")
    if amendment.new != "\n".join(heuristic.head.raw for heuristic in wanted):
        raise NotPermitted(plain(amendment.heuristic, 60), "the new line holds more than a heuristic")
    if amendment.old is None:
        return [_enter(playbook, amendment, wanted[0])]
    targets = [standing(playbook, heuristic.id) for heuristic in wanted]
    if targets[0].id != amendment.heuristic:
        raise NotPermitted(amendment.heuristic, f"the new line is about {targets[0].id}")
    if amendment.old.strip() != "\n".join(target.head.raw for target in targets):
        raise StaleLine(amendment.heuristic, "its line has changed since this was proposed")
    if amendment.op == "retire":
        return _move(playbook, targets[0], amendment.new)
    if amendment.op == "merge":
        survivor_edit = Edit(targets[0].start, targets[0].head.raw, wanted[0].head.raw)
        between = parse(splice(playbook.text, [survivor_edit]))
        return [survivor_edit, *_move(between, standing(between, targets[1].id), wanted[1].head.raw)]
    if amendment.op == "add":
        raise NotPermitted(amendment.heuristic, "what is added has no old line")
    return [Edit(targets[0].start, targets[0].head.raw, amendment.new)]


def _enter(playbook: Playbook, amendment: Amendment, wanted: Heuristic) -> Edit:
    """A heuristic new to the document: an `add`, or a `demote` of a label that nobody claims."""
    if amendment.op not in ("add", "demote"):
        raise NotPermitted(plain(amendment.heuristic, 60), f"{amendment.op} needs the line it changes")
    if find(playbook, wanted.id):
        raise DuplicateHeuristic(wanted.id, "is in the playbook already")
    if amendment.heuristic not in (wanted.id, *(wanted.tags if amendment.op == "demote" else ())):
        raise NotPermitted(plain(amendment.heuristic, 60), f"the new line is about {wanted.id}")
    return _insertion(playbook, "global", "Global", amendment.new)


def _move(playbook: Playbook, target: Heuristic, line: str) -> list[Edit]:
    """Take an item out with all that hangs on it, and put it, with its new line, at the end of Retired."""
    if any(
        section.kind == "retired" and section.line < target.first < section.end
        for section in playbook.sections
    ):
        raise NotPermitted(target.id, "is retired already")
    if any(target.first < heuristic.first < target.end for heuristic in playbook.heuristics):
        raise NotPermitted(target.id, "other heuristics are nested in it; move them out first")
    offset = sum(map(len, playbook.lines[: target.first]))
    offset += target.first == 0 and playbook.text.startswith(_BOM)
    block = "".join(playbook.lines[target.first : target.end]).removeprefix(_BOM)
    indent = playbook.text[offset : target.start]
    notes = block[len(indent) + len(target.head.raw) :].rstrip("\r\n").split("\n")
    moved = line + "\n".join([notes[0], *(note.removeprefix(indent) for note in notes[1:])])
    removal = Edit(offset, block, "")
    remainder = parse(splice(playbook.text, [removal]))
    return [removal, _insertion(remainder, "retired", "Retired", moved)]


def _insertion(playbook: Playbook, kind: str, title: str, block: str) -> Edit:
    """Insert a block of lines at the end of a section, which is made if there is none."""
    lines = playbook.lines
    sections = [section for section in playbook.sections if section.kind == kind]
    if kind == "global":  # heuristics of a document without sections hold globally too
        sections += [section for section in playbook.sections if section.kind == "other"]
    for section in sections:
        items = [
            heuristic for heuristic in playbook.heuristics if section.line < heuristic.first < section.end
        ]
        if items:
            at = max(end for first, end in playbook.extents if first <= items[-1].first < end)
            return _insert(playbook, at, [block])
        if section.kind == kind:
            filled = [n for n in range(section.line, section.end) if lines[n].strip()]
            return _insert(playbook, filled[-1] + 1, ["", block])
    titled = (section.line for section in playbook.sections if section.kind in ("strategy", "retired"))
    at = next(titled, len(lines)) if kind == "global" else len(lines)
    if at < len(lines):
        return _insert(playbook, at, [f"## {title}", "", block, ""])
    is_after_text = bool(lines) and bool(lines[-1].strip(_BOM + " \t\r\n"))
    return _insert(playbook, at, [*([""] if is_after_text else []), f"## {title}", "", block])


def _insert(playbook: Playbook, at: int, block: Sequence[str]) -> Edit:
    """Insert lines before line `at`; a text that does not end its last line goes on not ending it."""
    ending = (
        "\r\n" if any(line.endswith("\r\n") for line in playbook.lines[max(at - 1, 0) : at or 1]) else "\n"
    )
    start = sum(map(len, playbook.lines[:at])) + (at == 0 and playbook.text.startswith(_BOM))
    is_open = playbook.text[:start].strip(_BOM) != "" and not playbook.text[:start].endswith("\n")
    body = ending.join(block)
    return Edit(start, "", ending + body if is_open else body + ending)


def _check(before: Playbook, after: Playbook, amendment: Amendment) -> None:
    """Refuse a result that differs from `before` in more than the operation may change."""
    if before.text == after.text:
        raise NotPermitted(amendment.heuristic, "it would change nothing")
    wanted = {heuristic.id: heuristic for heuristic in amendment.after}
    untouched = [
        [
            (heuristic.id, _field_values(heuristic))
            for heuristic in side.heuristics
            if heuristic.id not in wanted
        ]
        for side in (before, after)
    ]
    if untouched[0] != untouched[1]:
        raise NotPermitted(plain(amendment.heuristic, 60), "it would change another heuristic")
    new_faults = _reasons(after) - _reasons(before)
    if new_faults:
        raise NotPermitted(plain(amendment.heuristic, 60), f"it would be a fault: {next(iter(new_faults))}")
    for number, line in enumerate(wanted.values()):
        now = standing(after, line.id)
        if now.head.raw != line.head.raw:
            raise NotPermitted(line.id, "the new line does not read back as written")
        op = "retire" if number else amendment.op
        _check_status(amendment, op, now)
        if amendment.old is not None:
            _check_fields(standing(before, line.id), now, op)


def _reasons(playbook: Playbook) -> Counter[str]:
    """What is wrong with a document, without line numbers: a line put in above a fault does not make it another."""
    return Counter(_LINE.sub("on a line", fault.reason) for fault in playbook.faults)


def _field_values(heuristic: Heuristic) -> tuple[object, ...]:
    return tuple(getattr(heuristic, name) for name in _FIELDS)


def _check_status(amendment: Amendment, op: str, now: Heuristic) -> None:
    if op in _BECOMES and {now.status, now.head.status} != {_BECOMES[op]}:
        raise NotPermitted(now.id, f"{op} leaves it {_BECOMES[op]}, not {now.status}")
    if (amendment.old is None or op == "revise") and plain(now.text) != now.text:
        raise NotPermitted(
            now.id, "new text must be plain: one line, no brackets, tags, addresses or hidden characters"
        )
    if amendment.grounds.origin == "model" and (op not in ("add", "revise") or now.status != "candidate"):
        raise NotPermitted(now.id, "a model may only word candidates")


def _check_fields(was: Heuristic, now: Heuristic, op: str) -> None:
    changed = {name for name in _FIELDS if getattr(was, name) != getattr(now, name)}
    if beyond := sorted(changed - _MAY_CHANGE[op]):
        raise NotPermitted(now.id, f"{op} may not change its {beyond[0]}")
    if op in ("demote", "promote") and was.status == now.status:
        raise NotPermitted(now.id, f"is {now.status} already")
    if op == "merge" and not was.live:
        raise NotPermitted(now.id, "is retired")
    if op == "merge" and not set(was.tags) <= set(now.tags):
        raise NotPermitted(now.id, "a merge loses no tag")

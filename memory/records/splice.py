"""Change a YAML text to hold other data by touching only what differs: comments, layout and key order stay.

The places come from the marks of the composed nodes. What came out is read again before anybody gets it: a text that
cannot be changed with certainty (anchors, a layout nobody foresaw) raises `Unwritable` and is left to a person.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

import yaml

from memory.errors import DamagedError, ExperienceError
from memory.records.text import Loader, block, inline, read, scalar

_UNCERTAIN: Final = "its layout cannot be changed with certainty; change it by hand"
_BOM: Final = "\ufeff"


class Unwritable(ExperienceError):  # noqa: N818  named for what happened, like its kin
    """The layout of a file does not let this change be made with certainty; nothing was written."""


def rewritten(text: str, wanted: Any) -> str:
    """The text, changed where it has to be so that it reads as `wanted`; raises `DamagedError` or `Unwritable`."""
    body = text.removeprefix(_BOM)
    old = read(body)
    if _same(old, wanted):
        return text
    newline = "\r\n" if "\r\n" in body else "\n"
    if body and not body.endswith("\n"):
        body += newline
    if old is None:
        new = body + block(wanted).replace("\n", newline)
    else:
        root = yaml.compose(body, Loader=Loader)
        if type(old) is not type(wanted) or not old or not wanted or _has_aliases(root):
            raise Unwritable(_UNCERTAIN)
        splice = _Splice(body, newline)
        try:
            splice.change(root, old, wanted)
        except ValueError:  # a place that is not there
            raise Unwritable(_UNCERTAIN) from None
        new = splice.done()
    _verify(new, wanted)
    return text[: len(text) - len(text.removeprefix(_BOM))] + new


def _verify(text: str, wanted: Any) -> None:
    try:
        content = read(text)
    except DamagedError:
        raise Unwritable(_UNCERTAIN) from None
    if not _same(content, wanted):
        raise Unwritable(_UNCERTAIN)


def _same(value: Any, wanted: Any) -> bool:
    return json.dumps(value, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def _has_aliases(root: Any) -> bool:
    node_ids: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in node_ids:
            return True
        node_ids.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return False


def _is_block(node: Any) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


@dataclass(slots=True)
class _Splice:
    """A text and the changes to be made in it: (start, end, what stands there instead)."""

    text: str
    newline: str
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def done(self) -> str:
        """The text with every change made; of two at one place, the one recorded first comes first."""
        out, at = [], 0
        for start, end, new in sorted(self.edits, key=lambda edit: edit[0]):
            if start < at:
                raise Unwritable(_UNCERTAIN)
            out += [self.text[at:start], new]
            at = end
        return "".join([*out, self.text[at:]])

    # places

    def end_of(self, node: Any) -> int:
        """Where the node's own text ends; the mark of a block lies behind the comments that follow it."""
        if _is_block(node):
            last = node.value[-1]
            return self.end_of(last[1] if isinstance(node, yaml.MappingNode) else last)
        end: int = node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            end = node.start_mark.index + len(self.text[node.start_mark.index : end].rstrip())
        return end

    def next_line(self, at: int) -> int:
        """The start of the line after the one that holds this place."""
        return self.text.index("\n", at) + 1

    def line_of(self, at: int) -> int:
        """The start of the line, which must hold nothing but blanks before this place."""
        start = self.text.rfind("\n", 0, at) + 1
        if self.text[start:at].strip(" "):
            raise Unwritable(_UNCERTAIN)
        return start

    # changes

    def put(self, start: int, end: int, text: str) -> None:
        self.edits.append((start, end, text.replace("\n", self.newline)))

    def change(self, node: Any, old: Any, new: Any) -> None:
        """Change a node that holds a collection into another of its kind; neither is empty."""
        if _same(old, new):
            return
        if not _is_block(node):
            self._flow(node, old, new)
        elif isinstance(node, yaml.MappingNode):
            self._mapping(node, old, new)
        else:
            self._sequence(node, old, new)

    def _flow(self, node: Any, old: Any, new: Any) -> None:
        """`[a, b]`: what is added goes behind the last; any other change writes it anew, if no comment is lost."""
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(new, list) and isinstance(old, list) and _same(old, new[: len(old)]):
            at = self.end_of(node.value[-1])
            self.put(at, at, "".join(f", {inline(item)}" for item in new[len(old) :]))
        elif "#" in self.text[start:end]:
            raise Unwritable(_UNCERTAIN)
        else:
            self.put(start, end, inline(new))

    def _mapping(self, node: Any, old: dict[str, Any], new: dict[str, Any]) -> None:
        names = [key.value for key, _ in node.value]
        if len(set(names)) < len(names) or set(names) != set(old):
            raise Unwritable("a key stands twice, or is no text; change it by hand")
        column = node.value[0][0].start_mark.column
        for key, value in node.value:
            if key.value not in new:
                self.put(self.line_of(key.start_mark.index), self.next_line(self.end_of(value)), "")
            else:
                self._value(key, value, old[key.value], new[key.value], column)
        added = {name: item for name, item in new.items() if name not in old}
        if added:
            at = self.next_line(self.end_of(node))
            self.put(at, at, block(added, column))

    def _value(self, key: Any, node: Any, old: Any, new: Any, column: int) -> None:
        """Change what stands behind a key of a block."""
        if _same(old, new):
            return
        if old and new and isinstance(old, dict | list) and type(old) is type(new):
            self.change(node, old, new)
            return
        start, end = node.start_mark.index, self.end_of(node)
        line = self.next_line(end)
        lines = ""
        if isinstance(new, dict | list) and new:
            lines = block(new, column + (2 if isinstance(new, dict) else 0))
        if _is_block(node):  # its lines go, and a single value has its place behind the colon
            colon = self.text.index(":", key.end_mark.index) + 1
            self.put(colon, colon, "" if lines else f" {scalar(key.value, new, column)}")
            self.put(self.line_of(start), line, lines)
        elif lines:
            if not self.text[end:line].strip():  # no comment: leave no blank behind the colon
                start = len(self.text[:start].rstrip(" "))
            self.put(start, end, "")
            self.put(line, line, lines)
        else:
            self.put(start, end, (" " if start == end else "") + scalar(key.value, new, column))

    def _sequence(self, node: Any, old: list[Any], new: list[Any]) -> None:
        column = node.start_mark.column
        dashes = self._dashes(node, column)
        ends = [self.next_line(self.end_of(item)) for item in node.value]
        matched = SequenceMatcher(None, [_key(item) for item in old], [_key(item) for item in new], False)
        for tag, i1, i2, j1, j2 in matched.get_opcodes():
            pairs = list(zip(range(i1, i2), range(j1, j2), strict=False))
            if tag == "equal":
                for i, j in pairs:
                    self._item(node.value[i], old[i], new[j])
            elif i2 - i1 == j2 - j1 and all(_simple(old[i]) and _simple(new[j]) for i, j in pairs):
                for i, j in pairs:
                    self.put(node.value[i].start_mark.index, self.end_of(node.value[i]), inline(new[j]))
            else:
                at = ends[i1 - 1] if i1 else self.line_of(dashes[0])
                if j1 < j2:
                    self.put(at, at, block(new[j1:j2], column))
                for i in range(i1, i2):
                    self.put(self.line_of(dashes[i]), ends[i], "")

    def _item(self, node: Any, old: Any, new: Any) -> None:
        if not _same(old, new):
            if type(old) is not type(new) or not old or not new:
                raise Unwritable(_UNCERTAIN)
            self.change(node, old, new)

    def _dashes(self, node: Any, column: int) -> list[int]:
        """Where the dash of each item stands."""
        dashes = [node.start_mark.index]
        for item in node.value[:-1]:
            at = self.next_line(self.end_of(item))
            while self.text[at + column : at + column + 1] != "-" or self.text[at : at + column].strip(" "):
                at = self.next_line(at)
            dashes.append(at + column)
        return dashes


def _simple(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _key(item: Any) -> str:
    """What makes two items of a list the same thing, though their fields differ: the id, else all of it."""
    if isinstance(item, dict) and isinstance(item.get("id"), str):
        return f"id {item['id']}"
    return json.dumps(item, sort_keys=True)

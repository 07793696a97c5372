"""What an amendment changes, as a unified diff that `git apply` and `patch` take."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from playbook.blocks import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["diff"]

_CONTEXT = 3


def diff(old: str, new: str, path: str = "PLAYBOOK.md") -> str:
    """Unified diff from `old` to `new`; empty when they are equal. An empty `old` is a new file."""
    if old == new:
        return ""
    before, after = split_lines(old), split_lines(new)
    head = [f"--- a/{path}\n" if old else "--- /dev/null\n", f"+++ b/{path}\n" if new else "+++ /dev/null\n"]
    matcher = SequenceMatcher(
        None, before, after, autojunk=False
    )  # junk would make it touch lines it need not
    hunks = (_hunk(before, after, group) for group in matcher.get_grouped_opcodes(_CONTEXT))
    return "".join([*head, *(line for hunk in hunks for line in hunk)])


def _hunk(
    before: Sequence[str], after: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]
) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
    for tag, start, end, new_start, new_end in group:
        if tag == "equal":
            yield from _marked(" ", before[start:end])
            continue
        yield from _marked("-", before[start:end])
        yield from _marked("+", after[new_start:new_end])


def _range(start: int, end: int) -> str:
    """Line range of a hunk header; an empty range names the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + (1 if length else 0)},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"

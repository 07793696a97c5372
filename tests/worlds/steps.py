"""How much work something is, counted and not timed: bytecode instructions of our own code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["steps_of"]

_OURS = tuple(f"{name}/" for name in ("retro", "memory", "playbook"))


def steps_of(work: Callable[[], object]) -> int:
    """The instructions that our own packages execute in one call of `work`; loops inside C are not among them."""
    count = 0

    def within(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "opcode"
        return within

    def begin(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_globals.get("__name__", "").replace(".", "/").startswith(_OURS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return within

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        work()
    finally:
        sys.settrace(before)
    return count

"""How much work something is: calls counted, which no busy machine and no other process changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["calls_in"]


def calls_in(work: Callable[[], object]) -> int:
    """The calls of functions, Python's and C's, while something is done."""
    count = 0

    def note(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count

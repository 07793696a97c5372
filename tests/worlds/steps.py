"""How much work something is, counted and not timed: bytecode instructions of our own code, statements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from retro.app.settlement.settle import settle
from retro.store.books.positions import forget_book
from tests.worlds.lives import agent_of, settings_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from retro.store.database import Store
    from tests.worlds.oracle import Life

__all__ = ["settle_anew", "statements_of", "steps_of"]

_OURS = tuple(f"{name}/" for name in ("retro", "memory", "playbook"))


def settle_anew(life: Life) -> None:
    """Make a life's book from nothing."""
    agent = agent_of(life.store, life.name)
    with life.store.write() as conn:
        forget_book(conn, life.name)
        settle(conn, agent, settings_for(life.configuration)(agent))


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


def statements_of(store: Store, work: Callable[[], object]) -> int:
    """How many statements a piece of work sends to a database."""
    executed: list[str] = []

    def note(*given: Any) -> None:
        executed.append(given[2])

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(store.engine, "before_cursor_execute", note)
    return len(executed)

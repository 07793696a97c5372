"""Deaths on purpose: a process that stops existing at its n-th statement, commit or message."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from retro.deliver.channel import Message, Outcome
from retro.store.database import Store


class Killed(BaseException):
    """Nothing catches this, and nothing it passes can write any more: as if the process were gone."""


class Points:
    """Counts the moments at which a process can die; at the n-th it does. 0: it lives, and the moments are counted."""

    def __init__(self, last: int = 0, *, really: bool = False) -> None:
        self.last = last
        self.really = really
        self.count = 0
        self.where = ""
        self.unsure = False
        """A message has gone out, and no commit has followed."""

    @property
    def dead(self) -> bool:
        return 0 < self.last <= self.count

    def pass_by(self, where: str) -> None:
        if not self.dead:
            self.count += 1
            self.where = where
        if self.dead:
            if self.really:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Killed(self.where)

    def wrap(self, channel: Any) -> Any:
        """A channel before and after whose every message one can die."""
        return _Mortal(channel, self)

    @contextmanager
    def over(self, store: Store) -> Iterator[None]:
        """Every statement that may write, and every commit, of a store is such a moment."""

        def statement(_: Any, __: Any, text: str, *___: Any) -> None:
            if self.dead or not text.lstrip().upper().startswith(("SELECT", "PRAGMA", "BEGIN", "SET")):
                self.pass_by(text.partition("\n")[0][:60])

        def commit(conn: Any) -> None:
            if self.dead or conn.get_execution_options().get("retro_writes"):
                self.pass_by("commit")
                self.unsure = False

        event.listen(store.engine, "before_cursor_execute", statement)
        event.listen(store.engine, "commit", commit)
        try:
            yield
        finally:
            event.remove(store.engine, "before_cursor_execute", statement)
            event.remove(store.engine, "commit", commit)


class _Mortal:
    def __init__(self, channel: Any, points: Points) -> None:
        self.channel = channel
        self.points = points
        self.name = channel.name
        self.recipients: Callable[[Any], tuple[str, ...]] = channel.recipients

    def send(self, message: Message) -> Outcome:
        self.points.pass_by(f"before a message through {self.name}")
        outcome: Outcome = self.channel.send(message)
        self.points.unsure = True
        self.points.pass_by(f"after a message through {self.name}")
        return outcome

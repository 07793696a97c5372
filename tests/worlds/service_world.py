"""A service around a store, on a fake clock, for tests: lives as journal lines, and a channel that keeps what it got."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from retro import config
from retro.app.context import PassSummary, WorkContext, policy_of
from retro.app.engine.obligations import enqueue_due
from retro.app.engine.worker import run_pass
from retro.app.intake.ingest import Ingested, IngestTerms, ingest
from retro.app.narration.narrators import plain_words
from retro.app.settlement.settings import settings_of
from retro.deliver.channel import Message, Outcome, Sent
from retro.deliver.file import Files
from retro.ingest.journal import reader as journal
from retro.periods import DAY, HOUR, SECOND, format_instant, parse_instant
from retro.report.document import read
from retro.store.database import Store
from retro.store.jobs import outbox, reviews
from retro.store.jobs.outbox import Delivery
from retro.store.jobs.reviews import Review
from retro.testing.clock import FakeClock

MONDAY = parse_instant("2026-03-02T00:00:00Z")
"""A Monday in UTC: the lives told here begin on it."""


def line(type_: str, name: str, at: int, agent: str = "bot", **fields: Any) -> dict[str, Any]:
    return {"type": type_, "id": name, "agent": agent, "at": format_instant(at), **fields}


def trade(
    name: str,
    opened: int,
    closed: int,
    entry_price: float,
    exit_price: float,
    quantity: float = 1.0,
    agent: str = "bot",
) -> list[dict[str, Any]]:
    """A long spot position with its decisions, bought and sold in one fill each."""
    own: dict[str, Any] = {"agent": agent, "position": name}
    return [
        line("position", name, opened, kind="spot", instrument="ETH/USDC", side="long", strategy="s", **own),
        line("decision", f"{name}-in", opened, action="enter", reasoning="H-7 says so", cites=["H-7"], **own),
        line("fill", f"{name}-b", opened, side="buy", quantity=quantity, price=entry_price, **own),
        line("fill", f"{name}-s", closed, side="sell", quantity=quantity, price=exit_price, **own),
        line("decision", f"{name}-out", closed, action="exit", reasoning="enough", cites=["H-3"], **own),
    ]


def life(days: int = 7, agent: str = "bot", start: int = MONDAY, every: int = 1) -> list[dict[str, Any]]:
    """Capital, prices four times a day, and a trade a day that wins 10 on even days and loses 4 on odd ones."""
    events = [line("equity", "e0", start, agent, value=10_000, balances={"USDC": 10_000})]
    for day in range(days):
        at = start + day * DAY
        events += [
            line("mark", f"m{day}-{h}", at + h * HOUR, agent, asset="ETH", price=2000 + (day % 5) + h / 10)
            for h in range(0, 24, 6)
        ]
        if day % every == 0:
            gain = 10 if day % 2 == 0 else -4
            events += trade(f"p{day}", at + 9 * HOUR, at + 15 * HOUR, 2000, 2000 + gain, agent=agent)
    return events


def lines_of(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


@dataclass
class Recorder:
    """A channel that keeps every message, and answers as it is told to."""

    name: str = "mail"
    to: tuple[str, ...] = ("ada@example.org",)
    answer: Callable[[Message], Outcome] = lambda _: Sent()
    got: list[Message] = field(default_factory=list)

    def recipients(self, _: config.Config) -> tuple[str, ...]:
        return self.to

    def send(self, message: Message) -> Outcome:
        self.got.append(message)
        return self.answer(message)


class World:
    """One database, one clock, one owner's configuration; `bench()` is a fresh process on them."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        at: int | str = MONDAY,
        configuration: dict[str, Any] | None = None,
        mail: Recorder | None = None,
        files: bool = False,
    ) -> None:
        self.store = store
        self.folder = folder
        self.clock = FakeClock(at)
        self.configuration = configuration or {}
        self.mail = mail
        self.file: Any = Files(folder / "reviews") if files else Recorder("file", ("reviews",))
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.count = 0

    @property
    def config(self) -> config.Config:
        return config.Config.model_validate(self.configuration)

    def settings_for(self, agent: Any) -> Any:
        return settings_of(self.config, agent, None)

    def bench(self, store: Store | None = None, **overrides: Any) -> WorkContext:
        self.count += 1
        channels: dict[str, Any] = {"file": self.file}
        if self.mail is not None:
            channels["mail"] = self.mail
        defaults: dict[str, Any] = {
            "store": store or self.store,
            "config": self.config,
            "terms": policy_of(self.config),
            "settings_for": self.settings_for,
            "channels": channels,
            "clock": self.clock,
            "words": plain_words,
            "owner": f"worker-{self.count}",
            "rng": random.Random(7),
            "log": lambda event, **fields: self.log.append((event, fields)),
        }
        return WorkContext(**{**defaults, **overrides})

    def tell(
        self, events: list[dict[str, Any]], *, now: int | None = None, replace: str | None = None
    ) -> Ingested:
        """Ingest journal lines at the clock's time."""
        at = self.clock() if now is None else now
        batches = journal.read(io.BytesIO(lines_of(events)), "life", now=at)
        return ingest(self.store, "life", batches, self.settings_for, IngestTerms(replace=replace), now=at)

    def knock(self, **overrides: Any) -> PassSummary:
        return run_pass(self.bench(**overrides), all_agents=True)

    def owe(self) -> list[Review]:
        """Bring the ledger up to date and make nothing."""
        enqueue_due(self.store, self.settings_for, policy_of(self.config), self.clock(), all_agents=True)
        return self.reviews()

    def reviews(self, kind: str | None = None) -> list[Review]:
        with self.store.read() as conn:
            return [review for review in reviews.listed(conn) if kind is None or review.kind == kind]

    def review(self, name: str) -> Review:
        with self.store.read() as conn:
            return reviews.by_id(conn, name)

    def letters(self, channel: str | None = None) -> list[Delivery]:
        with self.store.read() as conn:
            return [
                delivery for delivery in outbox.listed(conn) if channel is None or delivery.channel == channel
            ]

    def text(self, name: str, revision: int | None = None) -> str:
        """A stored review, exactly as written."""
        with self.store.read() as conn:
            stored_revision = reviews.revision_of(conn, reviews.by_id(conn, name).key, revision)
        assert stored_revision is not None
        assert stored_revision.document is not None
        return stored_revision.document

    def document(self, name: str, revision: int | None = None) -> Any:
        return read(self.text(name, revision), self.review(name).kind)

    def files(self) -> dict[str, bytes]:
        """Every file of the folder of reviews, by its path in it."""
        root = self.folder / "reviews"
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }

    def events(self, name: str) -> list[dict[str, Any]]:
        return [fields for event, fields in self.log if event == name]


def days(count: int) -> Iterator[int]:
    """The midnights after each of the first days, and the settle lag."""
    return (MONDAY + day * DAY + HOUR + SECOND for day in range(1, count + 1))


class Process:
    """A running `retro run`, its log, and what it tells systemd."""

    def __init__(
        self,
        folder: Path,
        settings: str | None = "",
        *,
        env: dict[str, str] | None = None,
        named: bool = True,
    ) -> None:
        self.folder = folder
        self.config = folder / "config.toml"
        if settings is not None:
            self.config.write_text(f'[store]\nurl = "retro.db"\n{settings}')
        words = ("--config", str(self.config)) if named else ("--db", "retro.db")
        self.inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inbox.bind(str(folder / "notify"))
        self.inbox.settimeout(0.05)
        self.notifications: list[str] = []
        self.errors = folder / "log"
        given = {k: v for k, v in os.environ.items() if not k.startswith(("RETRO_", "ANTHROPIC_"))}
        with self.errors.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "retro", *words, "run"],
                cwd=folder,
                stderr=log,
                env={**given, "NOTIFY_SOCKET": str(folder / "notify"), **(env or {})},
            )

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.errors.read_text().splitlines() if text.startswith("{")]

    def wait_for(self, message: str, seconds: float = 30) -> None:
        """Until systemd was told, or the log says, so."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with suppress(TimeoutError):
                self.notifications.append(self.inbox.recv(4096).decode())
            if any(message in text for text in self.notifications) or any(
                message == event["event"] for event in self.log
            ):
                return
            if self.process.poll() is not None and message not in self.errors.read_text():
                break
        pytest.fail(
            f"never heard {message!r}; told {self.notifications}, logged {self.errors.read_text()[-2000:]}"
        )

    def end(self, number: int = signal.SIGTERM, seconds: float = 30) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.inbox.close()


@contextmanager
def running(folder: Path, settings: str | None = "", **how: Any) -> Iterator[Process]:
    service = Process(folder, settings, **how)
    try:
        yield service
    finally:
        service.close()

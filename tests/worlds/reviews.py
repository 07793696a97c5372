"""An agent whose week is reviewed, for tests of what a review leaves behind: memory, records, letters."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memory
from retro.app.experience.lessons import remember_review
from retro.app.intake.ingest import ingest
from retro.app.reviews.build import review_period, review_position
from retro.app.settlement.settings import AgentSettings, settings_of
from retro.app.settlement.settle import settled_book
from retro.config import Config
from retro.ingest.journal.reader import read
from retro.narrate.plain import words
from retro.periods import parse_instant, period_at
from retro.report import RetrospectiveReport
from retro.store.database import Store, open_store
from retro.store.facts.agents import Agent, agents
from retro.store.jobs.reviews import Review
from retro.store.jobs.staleness import Staleness
from tests.worlds.commands import event, round_trip

WEEK = parse_instant("2026-03-02T00:00:00Z")


class House:
    """A store with an agent's journal, and reviews of it."""

    def __init__(self, store: Store, journal: str, **tables: Any) -> None:
        self.store, self.config = store, Config.model_validate(tables, strict=False)
        self.tell(journal)

    def tell(self, journal: str) -> None:
        lines = io.BytesIO(journal.encode())
        done = ingest(
            self.store, "test", read(lines, "test", now=parse_instant("2026-06-01T00:00:00Z")), self.settings
        )
        assert done.clean, done.faults

    def settings(self, agent: Any) -> AgentSettings:
        return settings_of(self.config, agent, None)

    @property
    def agent(self) -> Agent:
        with self.store.read() as conn:
            return agents(conn)[0]

    def week(self, at: int = WEEK) -> tuple[Review, RetrospectiveReport]:
        settings = self.settings(self.agent)
        period = period_at("weekly", at, settings.zone)
        with settled_book(self.store, self.agent.name, settings) as book:
            report = words(review_period(book, period))
        return owed("weekly", report.id, period.start, period.end), report

    def position(self, name: str) -> tuple[Review, Any]:
        with settled_book(self.store, self.agent.name, self.settings(self.agent)) as book:
            document = review_position(book, name)
        opened, closed = parse_instant(document.entry_at), parse_instant(document.exit_at or "")
        return owed("position", f"ada.position.{name}", opened, closed, subject=name), document

    def learn(self, review_and_document: tuple[Review, Any]) -> Any:
        review, document = review_and_document
        with self.store.write() as conn:
            return remember_review(conn, review, document, self.settings(self.agent), self.config)

    def episodes(self) -> dict[str, dict[str, Any]]:
        with self.store.read() as conn:
            return {episode["id"]: episode for episode in memory.episodes(conn, "ada")}

    def everything(self) -> Any:
        """Every row of the memory."""
        with self.store.read() as conn:
            names = sorted(memory_tables(conn))
            return {
                name: sorted(map(repr, conn.exec_driver_sql(f"SELECT * FROM {name}").all())) for name in names
            }


def memory_tables(conn: Any) -> list[str]:
    from memory.store.tables import metadata

    return list(metadata.tables)


def owed(kind: str, name: str, start: int, end: int, *, subject: str = "") -> Review:
    return Review(
        key=1, agent="ada", id=name, kind=kind, subject=subject, period_start=start, period_end=end, due_at=0,
        again_at=None, state="running", revision=1, backfill=False, attempts=1, not_before=0, owner=None,
        leased_until=None, late=Staleness(), facts=None, reason=None, done_at=None,
    )  # fmt: skip


CONTEXT = {"regime": "trending", "atr_d1": 40.0}
FELT_GOOD: dict[str, Any] = {
    "valence": 0.6,
    "confidence": 0.7,
    "context": CONTEXT,
    "cites": ["H-7"],
    "reasoning": "momentum",
    "strategy": "trend",
}


def two_trades() -> str:
    """A loss that felt good and a gain that felt bad, a skip, and a hold inside the loss."""
    return (
        round_trip("lost", profit=-5.0, **FELT_GOOD)
        + round_trip("won", "2026-03-03", profit=8.0, valence=-0.4, context={"regime": "ranging"})
        + event(
            "decision",
            "s1",
            "2026-03-04T10:00:00Z",
            action="skip",
            instrument="ETH/USDC",
            context=CONTEXT,
            confidence=0.2,
        )
        + event(
            "decision",
            "h1",
            "2026-03-02T12:30:00Z",
            action="hold",
            position="lost",
            context={"regime": "calm"},
        )
        + event("decision", "h2", "2026-03-05T12:30:00Z", action="hold")
    )


@pytest.fixture
def one_store(tmp_path: Path) -> Iterator[Store]:
    """A SQLite store, where the other database would say nothing new."""
    opened = open_store(str(tmp_path / "one.db"))
    yield opened
    opened.close()


@pytest.fixture
def house(one_store: Store) -> House:
    return House(one_store, two_trades())


@pytest.fixture
def both(store: Store) -> House:
    """The same, once on each database."""
    return House(store, two_trades())

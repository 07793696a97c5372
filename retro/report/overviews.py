"""Rows of the lists an owner reads: agents, positions, reviews, letters. Each says itself how it stands in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retro.periods import format_instant

__all__ = ["AgentOverview", "LetterOverview", "PositionOverview", "ReviewOverview", "SearchResult"]


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """An agent: when it lived (microseconds; None before its first event), how much is stored, what it counts in."""

    name: str
    first_at: int | None
    last_at: int | None
    events: int
    positions: int
    open: int
    base_currency: str
    capital: float | None
    silent_since: int | None = None
    """Its last word, where it is dormant: it gets no reviews until the next."""

    def document(self) -> dict[str, Any]:
        """What `retro agents --json` prints of it."""
        document: dict[str, Any] = {
            "agent": self.name,
            "first_event": None if self.first_at is None else format_instant(self.first_at),
            "last_event": None if self.last_at is None else format_instant(self.last_at),
            "events": self.events,
            "positions": self.positions,
            "open": self.open,
            "base_currency": self.base_currency,
            "capital": self.capital,
        }
        if self.silent_since is not None:
            document["silent_since"] = format_instant(self.silent_since)
        return document


@dataclass(frozen=True, slots=True)
class PositionOverview:
    """A position: instants in microseconds, money in the agent's currency; figures are None while it is open.

    `spark` is its way in 24 bytes, from 0, its `mae`, to 255, its `mfe`.
    """

    name: str
    agent: str
    kind: str
    instrument: str
    strategy: str
    side: str | None
    opened_at: int
    closed_at: int | None
    final_pnl: float | None
    vs_inaction: float | None
    notional: float | None
    implausible: bool
    ruling: str | None
    mfe: float | None
    mae: float | None
    regret: float | None
    spark: bytes | None

    @property
    def open(self) -> bool:
        """Whether it still is."""
        return self.closed_at is None

    def document(self) -> dict[str, Any]:
        """What `retro positions --json` prints of it; the first columns of its CSV."""
        ruling = self.ruling or ""
        flags = (("open", self.open), ("implausible", self.implausible), (ruling, bool(ruling)))
        return {
            "position_id": self.name,
            "agent": self.agent,
            "kind": self.kind,
            "instrument": self.instrument,
            "strategy": self.strategy,
            "side": self.side,
            "entry_at": format_instant(self.opened_at),
            "exit_at": None if self.closed_at is None else format_instant(self.closed_at),
            "open": self.open,
            "final_pnl": self.final_pnl,
            "vs_inaction": self.vs_inaction,
            "notional": self.notional,
            "flags": ",".join(flag for flag, on in flags if on),
        }


@dataclass(frozen=True, slots=True)
class ReviewOverview:
    """A review that is owed or made: instants in microseconds; `revision` 0 before the first.

    `result` and `against_nothing` are what its newest revision came to, in its agent's currency; None where nobody knows.
    """

    id: str
    agent: str
    kind: str
    subject: str
    period_start: int
    period_end: int
    state: str
    revision: int
    attempts: int
    backfill: bool
    reason: str | None
    result: float | None = None
    against_nothing: float | None = None

    def document(self) -> dict[str, Any]:
        """What `retro reviews --json` prints of it."""
        return {
            "id": self.id,
            "agent": self.agent,
            "kind": self.kind,
            "subject": self.subject,
            "period_start": format_instant(self.period_start),
            "period_end": format_instant(self.period_end),
            "state": self.state,
            "revision": self.revision,
            "attempts": self.attempts,
            "backfill": self.backfill,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class LetterOverview:
    """A message to a person or into a file, and how far it has come."""

    number: int
    review: str
    revision: int
    channel: str
    recipient: str
    state: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A thing whose name holds what was looked for: an agent, a review, a position or a proposal, and what it is."""

    kind: str
    agent: str
    name: str
    detail: str

    def document(self) -> dict[str, Any]:
        """What `retro search --json` prints of it."""
        return {"kind": self.kind, "agent": self.agent, "name": self.name, "detail": self.detail}

"""An account and what its source says of it: events by the hour, figures by the hour, and both told to a store."""

from __future__ import annotations

import io
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from retro.app.intake.ingest import Ingested, IngestTerms, ingest
from retro.app.questions.bounds import EVERYTHING, ListBounds
from retro.app.questions.checks.rows import ChecksQuestion, every_check
from retro.app.reviews.checks import ComparedCheck
from retro.app.settlement.settings import AgentSettings, settings_of
from retro.checks import CheckSubject, SourceCheck
from retro.config import Config
from retro.ingest.journal import reader
from retro.model import Batch
from retro.periods import HOUR
from retro.store.database import Store
from retro.store.facts import agents
from retro.store.facts.agents import Agent
from tests.worlds.service_world import MONDAY, line, lines_of

__all__ = [
    "PERP",
    "check",
    "compared",
    "figures",
    "fill",
    "opened",
    "opening",
    "question",
    "settings_for",
    "tell",
]


def settings_for(agent: Agent) -> AgentSettings:
    return settings_of(Config(), agent, None)


def check(
    kind: CheckSubject,
    subject: str,
    hour: float,
    stated: str,
    tolerance: str = "0.001",
    **fields: Any,
) -> SourceCheck:
    at = MONDAY + int(hour * HOUR)
    return SourceCheck("ada", kind, subject, at, Decimal(stated), Decimal(tolerance), **fields)


def tell(
    store: Store,
    events: list[dict[str, Any]],
    stated: Iterable[SourceCheck] = (),
    terms: IngestTerms | None = None,
) -> Ingested:
    batches = [
        *reader.read(io.BytesIO(lines_of(events)), "log", now=MONDAY + 48 * HOUR),
        Batch(checks=list(stated)),
    ]
    return ingest(store, "log", batches, settings_for, terms, now=MONDAY + 48 * HOUR)


def question(store: Store, *, failing: bool = False) -> ChecksQuestion:
    with store.read() as conn:
        return ChecksQuestion(agents.agents(conn), settings_for, failing)


def compared(store: Store, bounds: ListBounds = EVERYTHING, *, failing: bool = False) -> list[ComparedCheck]:
    return list(every_check(store, question(store, failing=failing), bounds))


def figures(store: Store) -> list[tuple[str, float | None, bool | None]]:
    return [
        (row.check.fill or row.check.subject, None if row.ours is None else round(row.ours, 9), row.within)
        for row in compared(store)
    ]


def opened(name: str, hour: float, kind: str = "spot", side: str = "long", of: str = "ETH/USDC") -> Any:
    at = MONDAY + int(hour * HOUR)
    return line("position", name, at, "ada", position=name, kind=kind, instrument=of, side=side)


def fill(name: str, position: str, hour: float, side: str, quantity: str, price: str, **fields: Any) -> Any:
    at = MONDAY + int(hour * HOUR)
    return line(
        "fill", name, at, "ada", position=position, side=side, quantity=quantity, price=price, **fields
    )


PERP = [
    opened("p", 1, "perp", of="ETH/USDC:USDC"),
    fill("b", "p", 1, "buy", "2", "100", fee="1"),
    line(
        "flow", "f", MONDAY + 2 * HOUR, "ada", position="p", kind="funding_paid", asset="USDC", quantity="0.5"
    ),
    fill("s", "p", 3, "sell", "2", "110", fee="1.1"),
]
"""Made 20 of its price, paid 2.1 of fees and 0.5 of funding: 17.4."""


def opening(balances: dict[str, str], hour: float = 0) -> Any:
    return line("equity", f"e{hour}", MONDAY + int(hour * HOUR), "ada", balances=balances)

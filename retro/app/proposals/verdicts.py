"""From the citation audit to proposals for PLAYBOOK.md, and their application to a file."""

from __future__ import annotations

import json
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import playbook
from playbook import Amendment, AuditRow, Playbook
from playbook.errors import PlaybookError
from playbook.proposal import BLANK
from retro.app.proposals.evidence import Size, audit_rows, touched, with_adopted, with_history
from retro.app.settlement.audit import audit_life
from retro.app.settlement.settings import rules_of
from retro.app.settlement.settle import settled_book
from retro.errors import InputError
from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.citations import items_of
from retro.evaluate.audit.history import history_from, identity
from retro.periods import FOREVER
from retro.store import proposals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from retro.app.settlement.settings import AgentSettings
    from retro.evaluate.audit.citations import CreditItem
    from retro.evaluate.audit.history import History
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.proposals import Proposal

__all__ = [
    "CitationEvidence",
    "amended_text",
    "evidence_for",
    "propose",
    "read_proposals",
    "verdict_on",
]


class CitationEvidence(NamedTuple):
    """What the citations say under the rules of one playbook: the audit's rows, and every outcome behind them."""

    rows: list[AuditRow]
    outcomes: History
    items: list[CreditItem]


def propose(store: Store, agent: Agent, settings: AgentSettings) -> tuple[Playbook, list[Amendment]]:
    """The agent's playbook (a blank one when it has none) and what its audit justifies changing."""
    book = settings.playbook if settings.playbook is not None else playbook.parse(BLANK)
    evidence = evidence_for(store, agent, settings, book)
    with store.read() as conn:
        lives = with_adopted(proposals.stored(conn, agent.name), book)
    return book, playbook.propose(book, with_history(evidence.rows, lives, evidence.outcomes))


def evidence_for(store: Store, agent: Agent, settings: AgentSettings, book: Playbook) -> CitationEvidence:
    """The audit of the agent's life under this playbook, which need not be the one the book of positions was settled by.

    The settled book stays as it is: only what a tag stands for may differ, and that is resolved anew.
    """
    under = replace(settings.options.rules, rules=rules_of(book, settings.zone))
    has_same_claims = under.claims == settings.options.rules.claims
    options = replace(settings.options, rules=under) if has_same_claims else settings.options
    with settled_book(
        store, agent.name, replace(settings, options=options, playbook=book)
    ) as settled_positions:
        rows, positions = audit_life(settled_positions), settled_positions.positions()
    items = [item for row in positions for item in items_of(row, under, under.claims)]
    outcomes = history_from(positions, under)
    if not has_same_claims:
        rows = audit_period(items, outcomes, under, agent.first_at or 0, FOREVER, seed=0)
    sizes = {identity(row.position): Size(row.notional, row.risk, row.vs_inaction) for row in positions}
    return CitationEvidence(audit_rows(rows, outcomes, sizes, under), outcomes, items)


def verdict_on(life: Proposal, items: Sequence[CreditItem]) -> str:
    """What the citations made after a merged proposal say of it: `open`, `validated` or `refuted`."""
    amendment = playbook.from_json(life.document)
    evidence, names = amendment.grounds.evidence, touched(life.document)
    unit, role = evidence.get("unit"), evidence.get("role")
    if unit not in ("usd", "r", "bps"):
        return "open"
    sums: dict[str, list[float]] = {}
    for item in items:
        told_at = min((decision.at for decision in item.decisions), default=0)
        value = item.in_unit(unit)
        if item.role == role and names & set(item.cites) and told_at > life.told_until and value is not None:
            sums.setdefault(item.position, []).append(value)
    values = [fsum(parts) for parts in sums.values()]
    if not values:
        return "open"
    return playbook.judge(
        amendment, len(values), fsum(values) / len(values), sum(value > 0 for value in values)
    )


def read_proposals(path: Path) -> list[Amendment]:
    """Proposals from a file as `retro playbook propose --json` prints them; `InputError` says what is wrong."""
    try:
        documents: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(documents, list):
        raise InputError(
            f"{path}: a list of proposals is expected, as `retro playbook propose --json` prints it"
        )
    amendments = []
    for number, item in enumerate(documents, 1):
        try:
            amendments.append(playbook.from_json(item))
        except PlaybookError as error:
            raise InputError(f"{path}: proposal {number}: {error}") from error
    return amendments


def amended_text(book: Playbook, amendments: Sequence[Amendment]) -> str:
    """The document with the amendments applied; `InputError` where one does not fit."""
    try:
        return playbook.apply(book, amendments)
    except PlaybookError as error:
        raise InputError(f"the playbook is not changed: {error}") from error

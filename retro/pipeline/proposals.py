"""From the citation audit to proposals for PLAYBOOK.md, and their application to a file."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import playbook
from playbook import Amendment, AuditRow, Playbook
from playbook.errors import PlaybookError
from playbook.proposal import BLANK
from retro.assemble.audit import audit_period
from retro.assemble.citations import items_of, outcomes_of
from retro.assemble.history import history_from
from retro.errors import InputError
from retro.periods import SECOND, parse_instant
from retro.pipeline.review import audit_life
from retro.pipeline.settings import rules_of
from retro.pipeline.settle import read_rows
from retro.store import proposals as shelf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from retro.assemble.citations import Item, Outcome
    from retro.pipeline.settings import Settings
    from retro.report import HeuristicReport
    from retro.store.agents import Agent
    from retro.store.engine import Store
    from retro.store.proposals import Proposal

__all__ = [
    "Evidence",
    "amended_text",
    "audit_rows",
    "evidence_for",
    "propose",
    "read_proposals",
    "remembered",
    "verdict_on",
]

_FOREVER: Final = 1 << 62
_ACCEPTED: Final = frozenset({"merged", "validated", "refuted"})


class Evidence(NamedTuple):
    """What the citations say under the rules of one playbook: the audit's rows, and every outcome behind them."""

    rows: list[HeuristicReport]
    items: list[Item]


def audit_rows(rows: Iterable[HeuristicReport]) -> list[AuditRow]:
    """The audit as the playbook's rules of proposal read it."""
    return [
        AuditRow(
            heuristic_id=row.heuristic_id,
            role=row.role,
            kind=row.recommendation.kind,
            grade=row.evidence,
            evaluated_count=row.evaluated_count,
            win_count=round((row.win_rate or 0.0) * row.evaluated_count),
            avg=row.avg_in_unit,
            citation_count=row.citation_count,
            interval=None
            if row.interval is None or row.threshold_unit != "usd"
            else (row.interval[0], row.interval[1]),
            q=row.q_value,
            unit=row.threshold_unit,
            since=None
            if row.evidence_since is None
            else datetime.fromtimestamp(parse_instant(row.evidence_since) // SECOND, tz=UTC).date(),
            partners=tuple((partner.heuristic_id, partner.jaccard) for partner in row.inseparable_from),
        )
        for row in rows
    ]


def propose(store: Store, agent: Agent, settings: Settings) -> tuple[Playbook, list[Amendment]]:
    """The agent's playbook (a blank one when it has none) and what its audit justifies changing."""
    book = settings.playbook if settings.playbook is not None else playbook.parse(BLANK)
    found = evidence_for(store, agent, settings, book)
    with store.read() as conn:
        lives = shelf.stored(conn, agent.name)
    return book, playbook.propose(book, remembered(audit_rows(found.rows), lives, outcomes_of(found.items)))


def evidence_for(store: Store, agent: Agent, settings: Settings, book: Playbook) -> Evidence:
    """The audit of the agent's life under this playbook, which need not be the one the book of positions was settled by.

    The settled book stays as it is: only what a tag stands for may differ, and that is resolved anew.
    """
    under = replace(settings.options.rules, rules=rules_of(book, settings.zone))
    same = under.claims == settings.options.rules.claims
    options = replace(settings.options, rules=under) if same else settings.options
    rows = audit_life(store, agent, replace(settings, options=options, playbook=book))
    with store.read() as conn:
        positions = read_rows(conn, agent.name, opened_before=_FOREVER)
    items = [item for row in positions for item in items_of(row, under, under.claims)]
    if not same:
        rows = audit_period(
            items, history_from(positions, under), under, agent.first_at or 0, _FOREVER, seed=0
        )
    return Evidence(rows, items)


def remembered(
    rows: Iterable[AuditRow], lives: Sequence[Proposal], outcomes: Sequence[Outcome]
) -> list[AuditRow]:
    """The rows with what merged amendments have made of them: the confidence from before, and what came since."""
    accepted: dict[str, list[Proposal]] = {}
    for life in sorted(lives, key=lambda life: life.told_until):
        if life.state in _ACCEPTED:
            for name in _touched(life.told):
                accepted.setdefault(name, []).append(life)
    return [
        _recalled(row, accepted[row.heuristic_id], outcomes) if row.heuristic_id in accepted else row
        for row in rows
    ]


def _recalled(row: AuditRow, lives: Sequence[Proposal], outcomes: Sequence[Outcome]) -> AuditRow:
    since = None if row.since is None else row.since.isoformat()
    moved = [life.told["evidence"] for life in lives if life.told["evidence"].get("since") == since]
    priors = [evidence["prior"] for evidence in moved if isinstance(evidence.get("prior"), float | int)]
    later = lives[-1].told_until
    count = sum(
        (one.heuristic, one.role) == (row.heuristic_id, row.role) and one.told_at > later for one in outcomes
    )
    return replace(row, prior=priors[0] if priors else row.prior, resolved_since=count)


def _touched(told: Mapping[str, Any]) -> set[str]:
    """The heuristics a proposal speaks of; one that is new by the id it got."""
    return {told["heuristic"], *(one.id for one in playbook.parse(told["new"]).heuristics)}


def verdict_on(life: Proposal, items: Sequence[Item]) -> str:
    """What the citations made after a merged proposal say of it: `open`, `validated` or `refuted`."""
    amendment = playbook.from_json(life.told)
    evidence, names = amendment.grounds.evidence, _touched(life.told)
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
        told: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(told, list):
        raise InputError(
            f"{path}: a list of proposals is expected, as `retro playbook propose --json` prints it"
        )
    found = []
    for number, item in enumerate(told, 1):
        try:
            found.append(playbook.from_json(item))
        except PlaybookError as error:
            raise InputError(f"{path}: proposal {number}: {error}") from error
    return found


def amended_text(book: Playbook, amendments: Sequence[Amendment]) -> str:
    """The document with the amendments applied; `InputError` where one does not fit."""
    try:
        return playbook.apply(book, amendments)
    except PlaybookError as error:
        raise InputError(f"the playbook is not changed: {error}") from error

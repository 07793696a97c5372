"""From the citation audit to proposals for PLAYBOOK.md, and their application to a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import playbook
from playbook import Amendment, AuditRow, Playbook
from playbook.errors import PlaybookError
from playbook.proposal import BLANK
from retro.errors import InputError
from retro.periods import SECOND, parse_instant
from retro.pipeline.review import audit_life

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from retro.pipeline.settings import Settings
    from retro.report import HeuristicReport
    from retro.store.agents import Agent
    from retro.store.engine import Store

__all__ = ["amended_text", "audit_rows", "propose", "read_proposals"]


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
    return book, playbook.propose(book, audit_rows(audit_life(store, agent, settings)))


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

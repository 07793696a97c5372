"""What became of requests: merged, closed, or still open; and what later citations say of what was merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import playbook
from playbook.errors import PlaybookError
from retro.app.proposals.evidence import is_applied
from retro.app.proposals.repository import remote_from
from retro.app.proposals.verdicts import verdict_on
from retro.errors import RetroError
from retro.forge import request
from retro.store import proposals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from playbook import Playbook
    from retro.app.proposals.repository import ProposalRemote
    from retro.config import Config
    from retro.evaluate.audit.citations import CreditItem
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.proposals import Proposal, RequestRecord

__all__ = ["Outcomes", "judge_merged", "read_outcomes", "read_requests", "verdicts"]


class Outcomes(NamedTuple):
    """Requests that were settled since the last look, as (agent, branch, `merged` or `closed`), and what went wrong."""

    settled: list[tuple[str, str, str]]
    faults: list[RetroError]


def read_outcomes(
    store: Store,
    config: Config,
    env: Mapping[str, str],
    book_of: Callable[[str], Playbook | None],
    *,
    now: int,
) -> Outcomes:
    """Ask for every live request what became of it; nothing is asked when there is none. Failures are values.

    `book_of` gives an agent's own PLAYBOOK.md, by which a patch is seen to have been applied.
    """
    with store.read() as conn:
        live = proposals.requests(conn, states=proposals.LIVE)
    if not live:
        return Outcomes([], [])
    try:
        remote = remote_from(store, config, env)
        with remote.open():
            return read_requests(store, remote, live, book_of, now)
    except RetroError as error:
        return Outcomes([], [error])


def read_requests(
    store: Store,
    remote: ProposalRemote,
    live: Sequence[RequestRecord],
    book_of: Callable[[str], Playbook | None],
    now: int,
) -> Outcomes:
    """The same for these requests, through a remote that is open."""
    settled, faults = [], []
    for record in live:
        try:
            verdict, rested_on = _verdict(store, remote, record, book_of)
        except RetroError as error:
            faults.append(error)
            continue
        if verdict is None:
            continue
        with store.write() as conn:
            is_settled = proposals.settle_request(conn, record.agent, record.branch, verdict, now, rested_on)
        if is_settled:
            settled.append((record.agent, record.branch, verdict))
    return Outcomes(settled, faults)


def _verdict(
    store: Store, remote: ProposalRemote, record: RequestRecord, book_of: Callable[[str], Playbook | None]
) -> tuple[str | None, Mapping[str, int]]:
    """`merged`, `closed` or None, and what the request's own text says its proposals rested on."""
    if record.channel != remote.channel:
        return None, {}
    if remote.forge is not None:
        if record.number is None:
            return None, {}
        pull_request = remote.forge.get(record.number)
        verdict = None if pull_request.state == "open" else pull_request.state
        return verdict, request.read_marker(pull_request.body)
    if record.state == "planned" or (record.head is None and remote.git is not None):
        return None, {}
    return _patch_verdict(store, remote, record, book_of), {}


def _patch_verdict(
    store: Store, remote: ProposalRemote, record: RequestRecord, book_of: Callable[[str], Playbook | None]
) -> str | None:
    """Merged when the base says what was proposed; closed when the branch or the patch file was deleted instead."""
    book, is_there = book_of(record.agent), True
    if remote.git is not None:
        tips = remote.git.tips(remote.base_branch, record.branch)
        remote.git.fetch(tips, record.branch)
        if (
            record.head is not None
            and remote.git.holds(record.head)
            and remote.git.contains(tips.base, record.head)
        ):
            return "merged"
        content = remote.git.read(tips.base, remote.file)
        book = None if content is None else playbook.parse(content)
        is_there = tips.head is not None or not remote.pushes
    with store.read() as conn:
        lives = [life for life in proposals.stored(conn, record.agent) if life.branch == record.branch]
    if lives and book is not None and all(is_applied(book, life) for life in lives):
        return "merged"
    patch = remote.patch(record.branch)
    is_there = is_there and (patch.exists() or not patch.parent.exists())
    return None if is_there else "closed"


def verdicts(lives: Sequence[Proposal], items: Sequence[CreditItem]) -> list[tuple[str, str]]:
    """Merged proposals of which later citations have spoken, as (proposal, `validated` or `refuted`)."""
    spoken = []
    for life in lives:
        if life.state != "merged":
            continue
        try:
            verdict = verdict_on(life, items)
        except PlaybookError:  # written by another version: it stays merged
            continue
        if verdict != "open":
            spoken.append((life.id, verdict))
    return spoken


def judge_merged(
    store: Store, agent: Agent, lives: Sequence[Proposal], items: Sequence[CreditItem], now: int
) -> None:
    """Store what later citations say of merged proposals."""
    spoken = verdicts(lives, items)
    if spoken:
        with store.write() as conn:
            for proposal, verdict in spoken:
                proposals.judged(conn, agent.name, proposal, verdict, now)

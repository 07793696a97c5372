"""What became of requests: merged, closed, or still open; and what later citations say of what was merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import playbook
from playbook.errors import PlaybookError
from retro.app.proposals.evidence import is_applied
from retro.app.proposals.repository import remote_from
from retro.app.proposals.verdicts import verdict_on
from retro.errors import RetroError
from retro.forge import request as words
from retro.store import proposals as shelf

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
        live = shelf.requests(conn, states=shelf.LIVE)
    if not live:
        return Outcomes([], [])
    try:
        way = remote_from(store, config, env)
        with way.open():
            return read_requests(store, way, live, book_of, now)
    except RetroError as error:
        return Outcomes([], [error])


def read_requests(
    store: Store,
    way: ProposalRemote,
    live: Sequence[RequestRecord],
    book_of: Callable[[str], Playbook | None],
    now: int,
) -> Outcomes:
    """The same for these requests, on a way that is open."""
    settled, faults = [], []
    for request in live:
        try:
            verdict, rested_on = _verdict(store, way, request, book_of)
        except RetroError as error:
            faults.append(error)
            continue
        if verdict is None:
            continue
        with store.write() as conn:
            told = shelf.settle_request(conn, request.agent, request.branch, verdict, now, rested_on)
        if told:
            settled.append((request.agent, request.branch, verdict))
    return Outcomes(settled, faults)


def _verdict(
    store: Store, way: ProposalRemote, request: RequestRecord, book_of: Callable[[str], Playbook | None]
) -> tuple[str | None, Mapping[str, int]]:
    """`merged`, `closed` or None, and what the request's own text says its proposals rested on."""
    if request.channel != way.channel:
        return None, {}
    if way.forge is not None:
        if request.number is None:
            return None, {}
        found = way.forge.get(request.number)
        return (None if found.state == "open" else found.state), words.read_marker(found.body)
    if request.state == "planned" or (request.head is None and way.git is not None):
        return None, {}
    return _patch_verdict(store, way, request, book_of), {}


def _patch_verdict(
    store: Store, way: ProposalRemote, request: RequestRecord, book_of: Callable[[str], Playbook | None]
) -> str | None:
    """Merged when the base says what was proposed; closed when the branch or the patch file was deleted instead."""
    book, is_there = book_of(request.agent), True
    if way.git is not None:
        tips = way.git.tips(way.base_branch, request.branch)
        way.git.fetch(tips, request.branch)
        if (
            request.head is not None
            and way.git.holds(request.head)
            and way.git.contains(tips.base, request.head)
        ):
            return "merged"
        content = way.git.read(tips.base, way.file)
        book = None if content is None else playbook.parse(content)
        is_there = tips.head is not None or not way.pushes
    with store.read() as conn:
        lives = [one for one in shelf.stored(conn, request.agent) if one.branch == request.branch]
    if lives and book is not None and all(is_applied(book, life) for life in lives):
        return "merged"
    patch = way.patch(request.branch)
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
                shelf.judged(conn, agent.name, proposal, verdict, now)

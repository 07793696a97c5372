"""What became of requests: merged, closed, or still open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import playbook
from retro.app.proposals.repository import remote_from
from retro.errors import RetroError
from retro.forge import request
from retro.store import proposals, pull_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from playbook import Playbook
    from retro.app.proposals.repository import ProposalRemote
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.pull_requests import RequestRecord

__all__ = ["Outcomes", "SettledRequest", "read_outcomes", "read_requests"]


class SettledRequest(NamedTuple):
    """A request whose owner has answered: `merged` or `closed`."""

    agent: str
    branch: str
    state: str


class Outcomes(NamedTuple):
    """Requests that were settled since the last look, and what went wrong."""

    settled: list[SettledRequest]
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
        live = pull_requests.stored(conn, states=pull_requests.LIVE)
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
            answer = _answer(store, remote, record, book_of)
        except RetroError as error:
            faults.append(error)
            continue
        if answer is None:
            continue
        with store.write() as conn:
            is_settled = pull_requests.settle(
                conn, record.agent, record.branch, answer.state, now, answer.rested_on
            )
        if is_settled:
            settled.append(SettledRequest(record.agent, record.branch, answer.state))
    return Outcomes(settled, faults)


class _OwnerAnswer(NamedTuple):
    """What the owner made of a request, and what its own text said each of its proposals rested on."""

    state: Literal["merged", "closed"]
    rested_on: Mapping[str, int]


def _answer(
    store: Store, remote: ProposalRemote, record: RequestRecord, book_of: Callable[[str], Playbook | None]
) -> _OwnerAnswer | None:
    """The owner's answer; None as long as there is none, or nobody to ask."""
    if record.channel != remote.channel:
        return None
    if remote.forge is not None:
        if record.number is None:  # planned, and killed before it was opened: the next attempt opens it
            return None
        pull_request = remote.forge.get(record.number)
        if pull_request.state == "open":
            return None
        return _OwnerAnswer(pull_request.state, request.read_marker(pull_request.body))
    if record.state == "planned" or (record.head is None and remote.git is not None):
        return None
    state = _patch_state(store, remote, record, book_of)
    return None if state is None else _OwnerAnswer(state, {})


def _patch_state(
    store: Store, remote: ProposalRemote, record: RequestRecord, book_of: Callable[[str], Playbook | None]
) -> Literal["merged", "closed"] | None:
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
        amendments = [
            proposal.amendment
            for proposal in proposals.stored(conn, record.agent)
            if proposal.branch == record.branch
        ]
    if amendments and book is not None and all(playbook.is_applied(book, each) for each in amendments):
        return "merged"
    patch = remote.patch(record.branch)
    is_there = is_there and (patch.exists() or not patch.parent.exists())
    return None if is_there else "closed"

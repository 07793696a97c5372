"""One branch of proposals brought to its owner: planned in the ledger, committed, pushed, opened.

In this order, because we may be killed between any two steps, and each leaves what the next attempt looks for first:

    planned   the ledger knows the branch and the commit about to be pushed: a branch over there with just that commit
              is ours, not a stranger's
    pushed    the branch stands there without a request: the same input gives the same commit, so nothing is pushed
              again, and the request is opened on it
    opened    the request is found by its branch: nothing is opened again, and the ledger learns its number

No transaction is open while git or the forge is spoken to: they may take minutes, and a killed process must not leave
the database locked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import playbook
from playbook.proposal import BLANK
from retro.forge import request
from retro.forge.api import ForgeError
from retro.forge.git import GitError
from retro.periods import SECOND
from retro.store import pull_requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from playbook import Amendment, Playbook
    from retro.app.proposals.repository import ProposalRemote
    from retro.forge.api import PullRequest
    from retro.forge.git import Tips
    from retro.periods import Period
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.pull_requests import RequestFields

__all__ = ["Opened", "RequestRun", "plan", "publish"]


class Opened(NamedTuple):
    """What became of a week's proposals: in a request that is `open` or `blocked`, or `none` to make."""

    agent: str
    state: Literal["open", "blocked", "none"]
    branch: str | None = None
    url: str | None = None
    proposals: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RequestRun:
    """Everything one call works with. `old` is the file at the base, None when there is none there."""

    store: Store
    agent: Agent
    remote: ProposalRemote
    period: Period
    reviews: tuple[str, ...]
    now: int
    old: bytes | None
    justified: tuple[Amendment, ...]

    @property
    def book(self) -> Playbook:
        """What is amended."""
        return playbook.parse(BLANK if self.old is None else self.old)


def publish(
    run: RequestRun,
    branch: str,
    tips: Tips | None,
    standing: PullRequest | None,
    chosen: Sequence[Amendment],
    *,
    is_new: bool,
) -> Opened:
    """Plan, commit, push and open, in this order: whatever is killed is found again."""
    name, remote, week = run.agent.name, run.remote, run.period.key
    old = b"" if run.old is None else run.old
    new = playbook.apply(run.book, chosen).encode("utf-8", "surrogateescape")
    message = request.message_of(name, week, chosen, run.reviews)
    at_s = run.period.end // SECOND
    head = _commit(run, tips, new, message, at_s)
    with run.store.write() as conn:
        plan(conn, run, branch, chosen)
        pull_requests.note(conn, name, branch, run.now, head=head)
    fields: RequestFields = {"state": "open", "reason": None}
    if remote.forge is None:
        was, now = (content.decode("utf-8", "surrogateescape") for content in (old, new))
        patch = request.patch_of(message, at_s, was, now, remote.file)
        fields["url"] = (
            remote.write_patch(branch, patch.encode("utf-8", "surrogateescape")).absolute().as_uri()
        )
    if remote.git is not None and head is not None and tips is not None:
        if not remote.pushes:
            remote.git.keep(branch, head)
        elif head != tips.head:
            remote.git.push(head, branch, tips.head)
    if remote.forge is not None and tips is not None:
        fields |= _open_or_update(run, branch, tips.base_branch, standing, chosen, is_new=is_new)
    with run.store.write() as conn:
        pull_requests.note(conn, name, branch, run.now, **fields)
    url = fields.get("url")
    return Opened(
        name, "open", branch, None if url is None else str(url), tuple(amendment.id for amendment in chosen)
    )


def plan(conn: Connection, run: RequestRun, branch: str, chosen: Sequence[Amendment]) -> None:
    """Enter into the ledger what is about to be proposed on a branch."""
    channel, newest = run.remote.channel, run.agent.known_until
    pull_requests.plan(conn, run.agent.name, branch, channel, chosen, newest, run.now)


def _commit(run: RequestRun, tips: Tips | None, new: bytes, message: str, at_s: int) -> str | None:
    """The commit to be pushed: the one that stands there when it says the same of the same file, else a new one."""
    git, file = run.remote.git, run.remote.file
    if git is None or tips is None:
        return None
    if git.read(tips.base, file) != run.old:
        raise GitError(f"{file} was changed on {tips.base_branch} this very moment; try again")
    if tips.head is not None and run.remote.pushes and not git.contains(tips.base, tips.head):
        commit = git.commit(tips.head)
        says_the_same = commit.is_ours and commit.message.strip() == message.strip()
        if (
            says_the_same
            and git.read(tips.head, file) == new
            and git.read(commit.parents[0], file) == run.old
        ):
            return tips.head
    return git.write(tips.base, file, new, message, at_s)


def _open_or_update(
    run: RequestRun,
    branch: str,
    base_branch: str,
    standing: PullRequest | None,
    chosen: Sequence[Amendment],
    *,
    is_new: bool,
) -> RequestFields:
    """Open the pull request, or let one that stands there say what it now proposes."""
    forge, name, week = run.remote.forge, run.agent.name, run.period.key
    if forge is None:
        return {}
    title = request.title_of(name, week, chosen)
    body = request.body_of(name, week, chosen, run.reviews, run.remote.file)
    pull_request = standing or forge.create(branch, base_branch, title, body)
    is_outdated = request.read_marker(pull_request.body) != request.read_marker(body)
    if is_outdated:  # else a person's own words in it stay
        pull_request = forge.update(pull_request.number, title, body)
    fields: RequestFields = {"number": pull_request.number, "url": pull_request.url}
    if is_new and request.LABEL not in pull_request.labels:
        try:
            forge.label(pull_request.number, request.LABEL)
        except ForgeError as error:  # a label is no reason to hold a proposal back
            fields["reason"] = f"no label: {error}"
    return fields

"""Proposals for PLAYBOOK.md on their way to its owner: planned in the ledger, pushed, opened, and remembered.

Every step finds what an earlier, killed attempt left behind before it makes anything: the ledger's plan, the branch
(same input, same commit), the pull request (by its branch). No transaction is open while git or the forge is spoken to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import playbook
from playbook.proposal import BLANK
from retro.app.proposals import outcomes, verdicts
from retro.app.proposals.evidence import with_adopted, with_history
from retro.app.proposals.selection import choose
from retro.app.settlement.book import known_until
from retro.app.settlement.lookup import choose_period
from retro.errors import UsageError
from retro.forge import request
from retro.forge.api import ForgeError
from retro.forge.git import GitError
from retro.kinds import WEEKLY
from retro.periods import SECOND, midnight, period_at
from retro.store import proposals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from playbook import Amendment, Playbook
    from retro.app.proposals.repository import ProposalRemote
    from retro.app.settlement.settings import AgentSettings
    from retro.forge.api import PullRequest
    from retro.forge.git import Commit, Tips
    from retro.periods import Period
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.proposals import Proposal, RequestRecord

__all__ = ["Opened", "open_request", "week_of"]

_SEQUELS: Final = 20
_COMMENT_LEASE: Final = 120 * SECOND


class Opened(NamedTuple):
    """What became of a week's proposals: in a request that is `open` or `blocked`, or `none` to make."""

    agent: str
    state: Literal["open", "blocked", "none"]
    branch: str | None = None
    url: str | None = None
    proposals: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _RequestRun:
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


def week_of(agent: Agent, settings: AgentSettings, week: str | None) -> Period:
    """The week by its key, such as 2026-W47; the agent's last complete one without."""
    if week is None:
        return choose_period(agent, settings, "weekly")
    try:
        monday = date.fromisocalendar(int(week[:4]), int(week[6:]), 1)
    except ValueError:
        raise UsageError(f"{week!r} is no week such as 2026-W47") from None
    period = period_at("weekly", midnight(monday, settings.zone), settings.zone)
    if period.key != week:
        raise UsageError(f"{week!r} is no week such as 2026-W47")
    return period


def open_request(
    store: Store,
    agent: Agent,
    settings: AgentSettings,
    remote: ProposalRemote,
    *,
    now: int,
    week: str | None = None,
    reviews: Sequence[str] = (),
) -> Opened:
    """Bring what the evidence justifies to the owner; once, however often it is called and wherever it is killed.

    Candidates that a model worded come along from the ledger. `GitError` and `ForgeError` say what stands in the way; the next call
    goes on from there.
    """
    period = week_of(agent, settings, week)
    named = tuple(reviews) or (f"{agent.name}.{WEEKLY.name}.{period.key}",)
    with remote.open():
        with store.read() as conn:
            live = proposals.requests(conn, agent.name, proposals.LIVE)
        earlier_outcomes = outcomes.read_requests(store, remote, live, lambda _: settings.playbook, now)
        if earlier_outcomes.faults:
            raise earlier_outcomes.faults[0]
        old = _base(remote, settings)
        justified = _justified(store, agent, settings, old, now)
        desk = _RequestRun(store, agent, remote, period, named, now, old, justified)
        for number in range(1, _SEQUELS + 1):
            done = _attempt(desk, request.branch_of(agent.name, period.key, number))
            if done is not None:
                return done
    return Opened(agent.name, "none", reason=f"{period.key} has {_SEQUELS} settled requests already")


def _base(remote: ProposalRemote, settings: AgentSettings) -> bytes | None:
    """The playbook as it stands where the change is to go."""
    if remote.git is None:
        return None if settings.playbook is None else bytes(settings.playbook)
    tips = remote.git.tips(remote.base_branch, "retro/none")
    remote.git.fetch(tips, "retro/none")
    return remote.git.read(tips.base, remote.file)


def _justified(
    store: Store,
    agent: Agent,
    settings: AgentSettings,
    old: bytes | None,
    now: int,
) -> tuple[Amendment, ...]:
    """What the audit justifies, then the candidates; merged proposals are judged by the same citations."""
    book = playbook.parse(BLANK if old is None else old)
    evidence = verdicts.evidence_for(store, agent, settings, book)
    with store.read() as conn:
        lives = proposals.stored(conn, agent.name)
    outcomes.judge_merged(store, agent, lives, evidence.items, now)
    rows = with_history(evidence.rows, with_adopted(lives, book), evidence.outcomes)
    return (*playbook.propose(book, rows), *_worded(lives))


def _worded(lives: Sequence[Proposal]) -> Iterator[Amendment]:
    """The candidates a model worded that no owner has answered yet."""
    for life in lives:
        if life.state not in {"proposed", "open"} or life.document.get("origin") != "model":
            continue
        amendment = playbook.from_json(life.document)
        if amendment.op == "add" and amendment.old is None:
            yield amendment


# One branch


def _attempt(desk: _RequestRun, branch: str) -> Opened | None:
    """One branch; None when what stood on it is settled and the next name has to be tried."""
    name, remote = desk.agent.name, desk.remote
    with desk.store.read() as conn:
        live = proposals.requests(conn, name)
        lives = proposals.stored(conn, name)
    known_record = next((record for record in live if record.branch == branch), None)
    if known_record is not None and known_record.state not in proposals.LIVE:
        return None
    open_records = [record for record in live if record.state in proposals.LIVE]
    chosen = choose(desk.book, desk.justified, lives, open_records, branch)
    pull_requests = remote.forge.find(branch) if remote.forge else []
    standing = next((pull_request for pull_request in pull_requests if pull_request.state == "open"), None)
    if pull_requests and standing is None:
        _settle(desk, branch, pull_requests[0], chosen, is_known=known_record is not None)
        return None
    tips = remote.git.tips(remote.base_branch, branch) if remote.git else None
    edited = _edited(remote, branch, tips)
    if edited is not None:
        return _yield_to_owner(desk, branch, standing, edited)
    if not chosen:
        return _report_unchanged(desk, branch, standing, known_record)
    return _publish(
        desk, branch, tips, standing, chosen, is_new=known_record is None or known_record.state == "planned"
    )


def _settle(
    desk: _RequestRun, branch: str, pull_request: PullRequest, chosen: Sequence[Amendment], *, is_known: bool
) -> None:
    """A request that was merged or closed before the ledger knew of it."""
    with desk.store.write() as conn:
        if not is_known:
            _plan(conn, desk, branch, chosen)
        proposals.settle_request(
            conn,
            desk.agent.name,
            branch,
            pull_request.state,
            desk.now,
            request.read_marker(pull_request.body),
            number=pull_request.number,
            url=pull_request.url,
        )


def _edited(remote: ProposalRemote, branch: str, tips: Tips | None) -> Commit | None:
    """A person's commit on our branch."""
    if remote.git is None or tips is None:
        return None
    tips = tips if remote.pushes else replace(tips, head=None)
    remote.git.fetch(tips, branch)
    return None if tips.head is None else remote.git.foreign(tips.base, tips.head)


def _yield_to_owner(desk: _RequestRun, branch: str, standing: PullRequest | None, edited: Commit) -> Opened:
    """Leave the branch to the person who committed to it, and say so once."""
    name, forge, now = desk.agent.name, desk.remote.forge, desk.now
    reason = f"commit {edited.id[:12]} on {branch} is not ours; the branch is left alone"
    values: dict[str, object] = {"state": "blocked", "reason": reason}
    if standing is not None:
        values |= {"number": standing.number, "url": standing.url}
    with desk.store.write() as conn:
        proposals.begin(conn, name, branch, desk.remote.channel, now)
        proposals.note_request(conn, name, branch, now, **values)
        ours = standing is not None and proposals.claim_comment(conn, name, branch, now, _COMMENT_LEASE)
    if ours and forge is not None and standing is not None:
        forge.comment_once(standing.number, request.EDITED, request.comment_on_edit(branch))
        with desk.store.write() as conn:
            proposals.commented(conn, name, branch)
    return Opened(name, "blocked", branch, standing.url if standing else None, reason=reason)


def _report_unchanged(
    desk: _RequestRun, branch: str, standing: PullRequest | None, record: RequestRecord | None
) -> Opened:
    """Nothing more to propose; what is open stays as it is."""
    name = desk.agent.name
    if standing is not None:
        with desk.store.write() as conn:
            proposals.begin(conn, name, branch, desk.remote.channel, desk.now)
            values = {"state": "open", "number": standing.number, "url": standing.url}
            proposals.note_request(conn, name, branch, desk.now, **values)
        return Opened(name, "open", branch, standing.url, reason="nothing new")
    if record is not None and record.state == "open":
        return Opened(name, "open", branch, record.url, reason="nothing new")
    why = "the evidence justifies no change"
    if desk.justified:
        why = "all that is justified is under review, or was rejected and its evidence has not doubled"
    return Opened(name, "none", reason=why)


def _publish(
    desk: _RequestRun,
    branch: str,
    tips: Tips | None,
    standing: PullRequest | None,
    chosen: Sequence[Amendment],
    *,
    is_new: bool,
) -> Opened:
    """Plan, commit, push and open, in this order: whatever is killed is found again."""
    name, remote, week = desk.agent.name, desk.remote, desk.period.key
    old = b"" if desk.old is None else desk.old
    new = playbook.apply(desk.book, chosen).encode("utf-8", "surrogateescape")
    message = request.message_of(name, week, chosen, desk.reviews)
    at_s = desk.period.end // SECOND
    head = _commit(desk, tips, new, message, at_s)
    with desk.store.write() as conn:
        _plan(conn, desk, branch, chosen)
        proposals.note_request(conn, name, branch, desk.now, head=head)
    values: dict[str, object] = {"state": "open", "reason": None}
    if remote.forge is None:
        was, now = (content.decode("utf-8", "surrogateescape") for content in (old, new))
        patch = request.patch_of(message, at_s, was, now, remote.file)
        values["url"] = (
            remote.write_patch(branch, patch.encode("utf-8", "surrogateescape")).absolute().as_uri()
        )
    if remote.git is not None and head is not None and tips is not None:
        if not remote.pushes:
            remote.git.keep(branch, head)
        elif head != tips.head:
            remote.git.push(head, branch, tips.head)
    if remote.forge is not None and tips is not None:
        values |= _open_or_update(desk, branch, tips.base_branch, standing, chosen, is_new=is_new)
    with desk.store.write() as conn:
        proposals.note_request(conn, name, branch, desk.now, **values)
    url = values.get("url")
    return Opened(
        name, "open", branch, None if url is None else str(url), tuple(amendment.id for amendment in chosen)
    )


def _plan(conn: Connection, desk: _RequestRun, branch: str, chosen: Sequence[Amendment]) -> None:
    rows = [(playbook.to_json(amendment), amendment.resolved) for amendment in chosen]
    proposals.plan(
        conn, desk.agent.name, branch, desk.remote.channel, rows, known_until(desk.agent), desk.now
    )


def _commit(desk: _RequestRun, tips: Tips | None, new: bytes, message: str, at_s: int) -> str | None:
    """The commit to be pushed: the one that stands there when it says the same of the same file, else a new one."""
    git, file = desk.remote.git, desk.remote.file
    if git is None or tips is None:
        return None
    if git.read(tips.base, file) != desk.old:
        raise GitError(f"{file} was changed on {tips.base_branch} this very moment; try again")
    if tips.head is not None and desk.remote.pushes and not git.contains(tips.base, tips.head):
        commit = git.commit(tips.head)
        says_the_same = commit.is_ours and commit.message.strip() == message.strip()
        if (
            says_the_same
            and git.read(tips.head, file) == new
            and git.read(commit.parents[0], file) == desk.old
        ):
            return tips.head
    return git.write(tips.base, file, new, message, at_s)


def _open_or_update(
    desk: _RequestRun,
    branch: str,
    base_branch: str,
    standing: PullRequest | None,
    chosen: Sequence[Amendment],
    *,
    is_new: bool,
) -> dict[str, object]:
    """Open the pull request, or let one that stands there say what it now proposes."""
    forge, name, week = desk.remote.forge, desk.agent.name, desk.period.key
    if forge is None:
        return {}
    title = request.title_of(name, week, chosen)
    body = request.body_of(name, week, chosen, desk.reviews, desk.remote.file)
    pull_request = standing or forge.create(branch, base_branch, title, body)
    is_outdated = request.read_marker(pull_request.body) != request.read_marker(body)
    if is_outdated:  # else a person's own words in it stay
        pull_request = forge.update(pull_request.number, title, body)
    values: dict[str, object] = {"number": pull_request.number, "url": pull_request.url}
    if is_new and request.LABEL not in pull_request.labels:
        try:
            forge.label(pull_request.number, request.LABEL)
        except ForgeError as error:  # a label is no reason to hold a proposal back
            values["reason"] = f"no label: {error}"
    return values

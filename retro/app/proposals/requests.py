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
from retro.app.proposals import outcomes
from retro.app.proposals import verdicts as proposals
from retro.app.proposals.evidence import with_adopted, with_history
from retro.app.proposals.selection import choose
from retro.app.settlement.book import known_until
from retro.app.settlement.lookup import choose_period
from retro.errors import UsageError
from retro.forge import request as words
from retro.forge.api import ForgeError
from retro.forge.git import GitError
from retro.periods import SECOND, midnight, period_at
from retro.store import proposals as shelf

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
    way: ProposalRemote
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
    found = period_at("weekly", midnight(monday, settings.zone), settings.zone)
    if found.key != week:
        raise UsageError(f"{week!r} is no week such as 2026-W47")
    return found


def open_request(
    store: Store,
    agent: Agent,
    settings: AgentSettings,
    way: ProposalRemote,
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
    named = tuple(reviews) or (f"{agent.name}.weekly.{period.key}",)
    with way.open():
        with store.read() as conn:
            live = shelf.requests(conn, agent.name, shelf.LIVE)
        told = outcomes.read_requests(store, way, live, lambda _: settings.playbook, now)
        if told.faults:
            raise told.faults[0]
        old = _base(way, settings)
        justified = _justified(store, agent, settings, old, now)
        desk = _RequestRun(store, agent, way, period, named, now, old, justified)
        for number in range(1, _SEQUELS + 1):
            done = _attempt(desk, words.branch_of(agent.name, period.key, number))
            if done is not None:
                return done
    return Opened(agent.name, "none", reason=f"{period.key} has {_SEQUELS} settled requests already")


def _base(way: ProposalRemote, settings: AgentSettings) -> bytes | None:
    """The playbook as it stands where the change is to go."""
    if way.git is None:
        return None if settings.playbook is None else bytes(settings.playbook)
    tips = way.git.tips(way.base_branch, "retro/none")
    way.git.fetch(tips, "retro/none")
    return way.git.read(tips.base, way.file)


def _justified(
    store: Store,
    agent: Agent,
    settings: AgentSettings,
    old: bytes | None,
    now: int,
) -> tuple[Amendment, ...]:
    """What the audit justifies, then the candidates; merged proposals are judged by the same citations."""
    book = playbook.parse(BLANK if old is None else old)
    found = proposals.evidence_for(store, agent, settings, book)
    with store.read() as conn:
        lives = shelf.stored(conn, agent.name)
    outcomes.judge_merged(store, agent, lives, found.items, now)
    rows = with_history(found.rows, with_adopted(lives, book), found.outcomes)
    return (*playbook.propose(book, rows), *_worded(lives))


def _worded(lives: Sequence[Proposal]) -> Iterator[Amendment]:
    """The candidates a model worded that no owner has answered yet."""
    for life in lives:
        if life.state not in {"proposed", "open"} or life.told.get("origin") != "model":
            continue
        one = playbook.from_json(life.told)
        if one.op == "add" and one.old is None:
            yield one


# One branch


def _attempt(desk: _RequestRun, branch: str) -> Opened | None:
    """One branch; None when what stood on it is settled and the next name has to be tried."""
    name, way = desk.agent.name, desk.way
    with desk.store.read() as conn:
        live = shelf.requests(conn, name)
        lives = shelf.stored(conn, name)
    known = next((one for one in live if one.branch == branch), None)
    if known is not None and known.state not in shelf.LIVE:
        return None
    open_ones = [one for one in live if one.state in shelf.LIVE]
    chosen = choose(desk.book, desk.justified, lives, open_ones, branch)
    found = way.forge.find(branch) if way.forge else []
    standing = next((one for one in found if one.state == "open"), None)
    if found and standing is None:
        _settle(desk, branch, found[0], chosen, is_known=known is not None)
        return None
    tips = way.git.tips(way.base_branch, branch) if way.git else None
    edited = _edited(way, branch, tips)
    if edited is not None:
        return _yield_to_owner(desk, branch, standing, edited)
    if not chosen:
        return _report_unchanged(desk, branch, standing, known)
    return _publish(desk, branch, tips, standing, chosen, is_new=known is None or known.state == "planned")


def _settle(
    desk: _RequestRun, branch: str, found: PullRequest, chosen: Sequence[Amendment], *, is_known: bool
) -> None:
    """A request that was merged or closed before the ledger knew of it."""
    with desk.store.write() as conn:
        if not is_known:
            _plan(conn, desk, branch, chosen)
        shelf.settle_request(
            conn,
            desk.agent.name,
            branch,
            found.state,
            desk.now,
            words.read_marker(found.body),
            number=found.number,
            url=found.url,
        )


def _edited(way: ProposalRemote, branch: str, tips: Tips | None) -> Commit | None:
    """A person's commit on our branch."""
    if way.git is None or tips is None:
        return None
    tips = tips if way.pushes else replace(tips, head=None)
    way.git.fetch(tips, branch)
    return None if tips.head is None else way.git.foreign(tips.base, tips.head)


def _yield_to_owner(desk: _RequestRun, branch: str, standing: PullRequest | None, edited: Commit) -> Opened:
    """Leave the branch to the person who committed to it, and say so once."""
    name, forge, now = desk.agent.name, desk.way.forge, desk.now
    reason = f"commit {edited.id[:12]} on {branch} is not ours; the branch is left alone"
    told: dict[str, object] = {"state": "blocked", "reason": reason}
    if standing is not None:
        told |= {"number": standing.number, "url": standing.url}
    with desk.store.write() as conn:
        shelf.begin(conn, name, branch, desk.way.channel, now)
        shelf.note_request(conn, name, branch, now, **told)
        ours = standing is not None and shelf.claim_comment(conn, name, branch, now, _COMMENT_LEASE)
    if ours and forge is not None and standing is not None:
        forge.comment_once(standing.number, words.EDITED, words.comment_on_edit(branch))
        with desk.store.write() as conn:
            shelf.commented(conn, name, branch)
    return Opened(name, "blocked", branch, standing.url if standing else None, reason=reason)


def _report_unchanged(
    desk: _RequestRun, branch: str, standing: PullRequest | None, known: RequestRecord | None
) -> Opened:
    """Nothing more to propose; what is open stays as it is."""
    name = desk.agent.name
    if standing is not None:
        with desk.store.write() as conn:
            shelf.begin(conn, name, branch, desk.way.channel, desk.now)
            told = {"state": "open", "number": standing.number, "url": standing.url}
            shelf.note_request(conn, name, branch, desk.now, **told)
        return Opened(name, "open", branch, standing.url, reason="nothing new")
    if known is not None and known.state == "open":
        return Opened(name, "open", branch, known.url, reason="nothing new")
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
    name, way, week = desk.agent.name, desk.way, desk.period.key
    old = b"" if desk.old is None else desk.old
    new = playbook.apply(desk.book, chosen).encode("utf-8", "surrogateescape")
    message = words.message_of(name, week, chosen, desk.reviews)
    at_s = desk.period.end // SECOND
    head = _commit(desk, tips, new, message, at_s)
    with desk.store.write() as conn:
        _plan(conn, desk, branch, chosen)
        shelf.note_request(conn, name, branch, desk.now, head=head)
    told: dict[str, object] = {"state": "open", "reason": None}
    if way.forge is None:
        was, now = (one.decode("utf-8", "surrogateescape") for one in (old, new))
        patch = words.patch_of(message, at_s, was, now, way.file)
        told["url"] = way.write_patch(branch, patch.encode("utf-8", "surrogateescape")).absolute().as_uri()
    if way.git is not None and head is not None and tips is not None:
        if not way.pushes:
            way.git.keep(branch, head)
        elif head != tips.head:
            way.git.push(head, branch, tips.head)
    if way.forge is not None and tips is not None:
        told |= _open_or_update(desk, branch, tips.base_branch, standing, chosen, is_new=is_new)
    with desk.store.write() as conn:
        shelf.note_request(conn, name, branch, desk.now, **told)
    url = told.get("url")
    return Opened(name, "open", branch, None if url is None else str(url), tuple(one.id for one in chosen))


def _plan(conn: Connection, desk: _RequestRun, branch: str, chosen: Sequence[Amendment]) -> None:
    told = [(playbook.to_json(one), one.resolved) for one in chosen]
    shelf.plan(conn, desk.agent.name, branch, desk.way.channel, told, known_until(desk.agent), desk.now)


def _commit(desk: _RequestRun, tips: Tips | None, new: bytes, message: str, at_s: int) -> str | None:
    """The commit to be pushed: the one that stands there when it says the same of the same file, else a new one."""
    git, file = desk.way.git, desk.way.file
    if git is None or tips is None:
        return None
    if git.read(tips.base, file) != desk.old:
        raise GitError(f"{file} was changed on {tips.base_branch} this very moment; try again")
    if tips.head is not None and desk.way.pushes and not git.contains(tips.base, tips.head):
        there = git.commit(tips.head)
        says_the_same = there.is_ours and there.message.strip() == message.strip()
        if (
            says_the_same
            and git.read(tips.head, file) == new
            and git.read(there.parents[0], file) == desk.old
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
    forge, name, week = desk.way.forge, desk.agent.name, desk.period.key
    if forge is None:
        return {}
    title = words.title_of(name, week, chosen)
    body = words.body_of(name, week, chosen, desk.reviews, desk.way.file)
    shown = standing or forge.create(branch, base_branch, title, body)
    if words.read_marker(shown.body) != words.read_marker(body):  # else a person's own words in it stay
        shown = forge.update(shown.number, title, body)
    told: dict[str, object] = {"number": shown.number, "url": shown.url}
    if is_new and words.LABEL not in shown.labels:
        try:
            forge.label(shown.number, words.LABEL)
        except ForgeError as error:  # a label is no reason to hold a proposal back
            told["reason"] = f"no label: {error}"
    return told

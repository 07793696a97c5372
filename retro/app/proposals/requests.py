"""Proposals for PLAYBOOK.md on their way to its owner: planned in the ledger, pushed, opened, and remembered.

Every step finds what an earlier, killed attempt left behind before it makes anything: the ledger's plan, the branch
(same input, same commit), the pull request (by its branch). No transaction is open while git or the forge is spoken to.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Final

import playbook
from playbook.proposal import BLANK
from retro.app.proposals import outcomes
from retro.app.proposals.evidence import evidence_of_life
from retro.app.proposals.justification import justified, with_adopted
from retro.app.proposals.publication import Opened, RequestRun, plan, publish
from retro.app.proposals.rejudgement import judge_anew
from retro.app.proposals.selection import choose
from retro.app.proposals.verdicts import record_verdicts, verdicts
from retro.app.settlement.lookup import choose_period
from retro.errors import UsageError
from retro.forge import request
from retro.kinds import WEEKLY
from retro.periods import SECOND, midnight, period_at
from retro.store import proposals, pull_requests
from retro.store.jobs.grids import calendar_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playbook import Amendment
    from retro.app.proposals.repository import ProposalRemote
    from retro.app.settlement.settings import AgentSettings
    from retro.forge.api import PullRequest
    from retro.forge.git import Commit, Tips
    from retro.periods import Period
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.proposals import Proposal
    from retro.store.pull_requests import RequestFields, RequestRecord

__all__ = ["Opened", "open_request", "week_of"]

_SEQUELS: Final = 20
_COMMENT_LEASE: Final = 120 * SECOND


def week_of(agent: Agent, settings: AgentSettings, week: str | None) -> Period:
    """The week by its key, such as 2026-W47; the agent's last complete one without."""
    if week is None:
        last = choose_period(agent, settings, "weekly")
        return replace(last, key=calendar_key(last.key))  # a branch is of the week, whatever its grid
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
            live = pull_requests.stored(conn, agent.name, pull_requests.LIVE)
        earlier_outcomes = outcomes.read_requests(store, remote, live, lambda _: settings.playbook, now)
        if earlier_outcomes.faults:
            raise earlier_outcomes.faults[0]
        old = _base(remote, settings)
        wanted = _wanted(store, agent, settings, remote, old, now)
        run = RequestRun(store, agent, remote, period, named, now, old, wanted)
        for number in range(1, _SEQUELS + 1):
            done = _attempt(run, request.branch_of(agent.name, period.key, number))
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


def _wanted(
    store: Store,
    agent: Agent,
    settings: AgentSettings,
    remote: ProposalRemote,
    old: bytes | None,
    now: int,
) -> tuple[Amendment, ...]:
    """What the audit justifies, then the candidates; merged proposals are judged by the same citations."""
    book = playbook.parse(BLANK if old is None else old)
    evidence = evidence_of_life(store, agent, settings, book)
    with store.read() as conn:
        ledger = proposals.stored(conn, agent.name)
        wanted = justified(conn, agent.name, book, evidence, with_adopted(ledger, book))
    if due := verdicts(ledger, evidence):
        with store.write() as conn:
            record_verdicts(conn, agent.name, due, now)
    judge_anew(store, remote, agent.name, wanted, evidence.rows, now)
    return (*wanted, *_worded(ledger))


def _worded(ledger: Sequence[Proposal]) -> Iterator[Amendment]:
    """The candidates a model worded that no owner has answered yet."""
    for proposal in ledger:
        amendment = proposal.amendment
        if (
            proposal.state in {"proposed", "open"}
            and amendment.grounds.origin == "model"
            and amendment.op == "add"
            and amendment.old is None
        ):
            yield amendment


# One branch


def _attempt(run: RequestRun, branch: str) -> Opened | None:
    """One branch; None when what stood on it is settled and the next name has to be tried."""
    name, remote = run.agent.name, run.remote
    with run.store.read() as conn:
        records = pull_requests.stored(conn, name)
        ledger = proposals.stored(conn, name)
    known_record = next((record for record in records if record.branch == branch), None)
    if known_record is not None and known_record.state not in pull_requests.LIVE:
        return None
    live = [record for record in records if record.state in pull_requests.LIVE]
    chosen = choose(run.book, run.justified, ledger, live, branch)
    listed = remote.forge.find(branch) if remote.forge else []
    standing = next((pull_request for pull_request in listed if pull_request.state == "open"), None)
    if listed and standing is None:
        _settle(run, branch, listed[0], chosen, is_known=known_record is not None)
        return None
    tips = remote.git.tips(remote.base_branch, branch) if remote.git else None
    edited = _edited(remote, branch, tips)
    if edited is not None:
        return _yield_to_owner(run, branch, standing, edited)
    if not chosen:
        return _report_unchanged(run, branch, standing, known_record)
    return publish(
        run, branch, tips, standing, chosen, is_new=known_record is None or known_record.state == "planned"
    )


def _settle(
    run: RequestRun, branch: str, pull_request: PullRequest, chosen: Sequence[Amendment], *, is_known: bool
) -> None:
    """A request that was merged or closed before the ledger knew of it."""
    with run.store.write() as conn:
        if not is_known:
            plan(conn, run, branch, chosen)
        pull_requests.settle(
            conn,
            run.agent.name,
            branch,
            pull_request.state,
            run.now,
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


def _yield_to_owner(run: RequestRun, branch: str, standing: PullRequest | None, edited: Commit) -> Opened:
    """Leave the branch to the person who committed to it, and say so once."""
    name, forge, now = run.agent.name, run.remote.forge, run.now
    reason = f"commit {edited.id[:12]} on {branch} is not ours; the branch is left alone"
    fields: RequestFields = {"state": "blocked", "reason": reason}
    if standing is not None:
        fields |= {"number": standing.number, "url": standing.url}
    with run.store.write() as conn:
        pull_requests.begin(conn, name, branch, run.remote.channel, now)
        pull_requests.note(conn, name, branch, now, **fields)
        ours = standing is not None and pull_requests.claim_comment(conn, name, branch, now, _COMMENT_LEASE)
    if ours and forge is not None and standing is not None:
        forge.comment_once(standing.number, request.EDITED, request.comment_on_edit(branch))
        with run.store.write() as conn:
            pull_requests.commented(conn, name, branch)
    return Opened(name, "blocked", branch, standing.url if standing else None, reason=reason)


def _report_unchanged(
    run: RequestRun, branch: str, standing: PullRequest | None, record: RequestRecord | None
) -> Opened:
    """Nothing more to propose; what is open stays as it is."""
    name = run.agent.name
    if standing is not None:
        with run.store.write() as conn:
            pull_requests.begin(conn, name, branch, run.remote.channel, run.now)
            fields: RequestFields = {"state": "open", "number": standing.number, "url": standing.url}
            pull_requests.note(conn, name, branch, run.now, **fields)
        return Opened(name, "open", branch, standing.url, reason="nothing new")
    if record is not None and record.state == "open":
        return Opened(name, "open", branch, record.url, reason="nothing new")
    why = "the evidence justifies no change"
    if run.justified:
        why = "all that is justified is under review, or was rejected and its evidence has not grown tenfold"
    return Opened(name, "none", reason=why)

"""The ledger of proposals on both databases: what is proposed, planned, opened, decided and judged, and nothing twice."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import IntegrityError

from playbook import Amendment, Grounds
from retro.store import proposals, pull_requests
from retro.store.database import Store
from tests.worlds import lives
from tests.worlds.playbook_lives import AGENT, trades

BRANCH = "retro/playbook/bot/2026-W06"


def entry(text: str, resolved: int = 5) -> Amendment:
    """A new rule of this text, resting on so many citations."""
    return Amendment("add", "H-1", None, f"- H-1 [0.35] {text}", Grounds({"resolved": resolved}))


A, B = entry("a").id, entry("b").id


@pytest.fixture
def house(store: Store) -> Store:
    lives.live(store, trades(1))
    return store


def states(store: Store, as_of: int | None = None) -> dict[str, str]:
    with store.read() as conn:
        return {proposal.id: proposal.state for proposal in proposals.stored(conn, AGENT, as_of=as_of)}


def test_a_proposal_lives_from_proposed_to_validated(house: Store) -> None:
    with house.write() as conn:
        proposals.suggest(conn, AGENT, [entry("a"), entry("b")], known_until=10, now=1)
    assert states(house) == {A: "proposed", B: "proposed"}
    with house.write() as conn:
        pull_requests.plan(conn, AGENT, BRANCH, "github", [entry("a", 6)], 11, 2)
        pull_requests.note(conn, AGENT, BRANCH, 3, state="open", number=1, url="u", head="c")
    assert states(house) == {A: "open", B: "proposed"}
    with house.write() as conn:
        assert pull_requests.settle(conn, AGENT, BRANCH, "merged", 4)
        assert not pull_requests.settle(conn, AGENT, BRANCH, "closed", 5), "it is decided once"
        proposals.record_verdict(conn, AGENT, B, "refuted", 6)  # was never merged: nobody judges it
        proposals.record_verdict(conn, AGENT, A, "validated", 6)
        proposals.record_verdict(conn, AGENT, A, "refuted", 7)
    assert states(house) == {A: "validated", B: "proposed"}
    assert states(house, as_of=5) == {B: "proposed"}
    with house.read() as conn:
        (proposal, _), (request,) = proposals.stored(conn), pull_requests.stored(conn)
    assert (proposal.resolved, proposal.known_until, proposal.url, proposal.branch) == (6, 11, "u", BRANCH)
    assert (request.state, request.number, request.head) == ("merged", 1, "c")


def test_newer_figures_replace_older_ones_until_somebody_is_asked(house: Store) -> None:
    for resolved in (5, 7):
        with house.write() as conn:
            proposals.suggest(conn, AGENT, [entry("a", resolved)], known_until=resolved, now=resolved)
    with house.read() as conn:
        (proposal,) = proposals.stored(conn)
    assert (proposal.resolved, proposal.amendment.resolved, proposal.known_until) == (7, 7, 7)
    with house.write() as conn:
        pull_requests.plan(conn, AGENT, BRANCH, "github", [entry("a", 7)], 7, 8)
        proposals.suggest(conn, AGENT, [entry("a", 9)], known_until=9, now=9)
        proposals.withdraw(conn, AGENT, A)
        pull_requests.settle(conn, AGENT, BRANCH, "closed", 9, {A: 7})
        proposals.suggest(conn, AGENT, [entry("a", 13)], known_until=13, now=13)
        proposals.withdraw(conn, AGENT, A)
        proposals.adopted(conn, AGENT, A, 14)
    assert states(house) == {A: "rejected"}
    with house.read() as conn:
        assert [proposal.resolved for proposal in proposals.stored(conn)] == [7], (
            "the no was said to these citations"
        )


def test_what_is_proposed_can_be_withdrawn_or_carried_out_by_hand(house: Store) -> None:
    with house.write() as conn:
        proposals.suggest(conn, AGENT, [entry("a"), entry("b")], known_until=10, now=1)
        proposals.withdraw(conn, AGENT, A)
        proposals.adopted(conn, AGENT, B, 2)
    assert states(house) == {B: "merged"}


def test_what_left_a_branch_is_proposed_without_one(house: Store) -> None:
    with house.write() as conn:
        pull_requests.plan(conn, AGENT, BRANCH, "github", [entry("a"), entry("b")], 10, 1)
        pull_requests.note(conn, AGENT, BRANCH, 2, state="open")
        pull_requests.plan(conn, AGENT, BRANCH, "github", [entry("b", 6)], 11, 3)
    with house.read() as conn:
        assert {proposal.id: (proposal.state, proposal.branch) for proposal in proposals.stored(conn)} == {
            A: ("proposed", None),
            B: ("proposed", BRANCH),
        }


def test_one_process_writes_the_one_comment(house: Store) -> None:
    with house.write() as conn:
        pull_requests.begin(conn, AGENT, BRANCH, "github", 1)
        pull_requests.begin(conn, AGENT, BRANCH, "patch", 2)
        assert pull_requests.claim_comment(conn, AGENT, BRANCH, now=100, lease=50)
        assert not pull_requests.claim_comment(conn, AGENT, BRANCH, now=149, lease=50)
        assert pull_requests.claim_comment(conn, AGENT, BRANCH, now=150, lease=50), (
            "who claimed it first has died"
        )
        assert pull_requests.claim_comment(conn, AGENT, BRANCH, now=20, lease=50), "the clock has gone back"
        pull_requests.commented(conn, AGENT, BRANCH)
        assert not pull_requests.claim_comment(conn, AGENT, BRANCH, now=900, lease=50)
    with house.read() as conn:
        (request,) = pull_requests.stored(conn, AGENT, pull_requests.LIVE)
    assert (request.channel, request.commented) == ("github", 1)


def test_the_database_itself_keeps_one_row_a_branch_and_a_proposal(house: Store) -> None:
    with house.write() as conn:
        pull_requests.plan(conn, AGENT, BRANCH, "github", [entry("a")], 10, 1)
    for table in (proposals.proposals, proposals.pull_requests):
        with house.read() as conn:
            row = dict(conn.execute(table.select()).mappings().one())
        del row["key"]
        with pytest.raises(IntegrityError), house.write() as conn:
            conn.execute(table.insert().values(row))

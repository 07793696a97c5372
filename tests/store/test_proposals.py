"""The ledger of proposals on both databases: what is proposed, planned, opened, decided and judged, and nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from retro.store import proposals
from retro.store.database import Store
from tests.worlds import lives
from tests.worlds.playbook_lives import AGENT, trades

BRANCH = "retro/playbook/bot/2026-W06"


def entry(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "op": "add", "heuristic": name, "old": None, "new": f"- {name} [0.35] x", **fields}


@pytest.fixture
def house(store: Store) -> Store:
    lives.live(store, trades(1))
    return store


def states(store: Store, as_of: int | None = None) -> dict[str, str]:
    with store.read() as conn:
        return {proposal.id: proposal.state for proposal in proposals.stored(conn, AGENT, as_of=as_of)}


def test_a_proposal_lives_from_proposed_to_validated(house: Store) -> None:
    with house.write() as conn:
        proposals.suggest(conn, AGENT, [(entry("a"), 5), (entry("b"), 5)], told_until=10, now=1)
    assert states(house) == {"a": "proposed", "b": "proposed"}
    with house.write() as conn:
        proposals.plan(conn, AGENT, BRANCH, "github", [(entry("a"), 6)], 11, 2)
        proposals.note_request(conn, AGENT, BRANCH, 3, state="open", number=1, url="u", head="c")
    assert states(house) == {"a": "open", "b": "proposed"}
    with house.write() as conn:
        assert proposals.settle_request(conn, AGENT, BRANCH, "merged", 4)
        assert not proposals.settle_request(conn, AGENT, BRANCH, "closed", 5), "it is decided once"
        proposals.judged(conn, AGENT, "b", "refuted", 6)  # was never merged: nobody judges it
        proposals.judged(conn, AGENT, "a", "validated", 6)
        proposals.judged(conn, AGENT, "a", "refuted", 7)
    assert states(house) == {"a": "validated", "b": "proposed"}
    assert states(house, as_of=5) == {"b": "proposed"}
    with house.read() as conn:
        (life, _), (request,) = proposals.stored(conn), proposals.requests(conn)
    assert (life.resolved, life.told_until, life.url, life.branch) == (6, 11, "u", BRANCH)
    assert (request.state, request.number, request.head) == ("merged", 1, "c")


def test_newer_figures_replace_older_ones_until_somebody_is_asked(house: Store) -> None:
    for resolved in (5, 7):
        with house.write() as conn:
            proposals.suggest(
                conn, AGENT, [(entry("a", round=resolved), resolved)], told_until=resolved, now=resolved
            )
    with house.read() as conn:
        (life,) = proposals.stored(conn)
    assert (life.resolved, life.document["round"], life.told_until) == (7, 7, 7)
    with house.write() as conn:
        proposals.plan(conn, AGENT, BRANCH, "github", [(entry("a"), 7)], 7, 8)
        proposals.suggest(conn, AGENT, [(entry("a"), 9)], told_until=9, now=9)
        proposals.withdraw(conn, AGENT, "a")
        proposals.settle_request(conn, AGENT, BRANCH, "closed", 9, {"a": 7})
        proposals.suggest(conn, AGENT, [(entry("a"), 13)], told_until=13, now=13)
        proposals.withdraw(conn, AGENT, "a")
        proposals.adopted(conn, AGENT, "a", 14)
    assert states(house) == {"a": "rejected"}
    with house.read() as conn:
        assert [proposal.resolved for proposal in proposals.stored(conn)] == [7], (
            "the no was said to these citations"
        )


def test_what_is_proposed_can_be_withdrawn_or_carried_out_by_hand(house: Store) -> None:
    with house.write() as conn:
        proposals.suggest(conn, AGENT, [(entry("a"), 5), (entry("b"), 5)], told_until=10, now=1)
        proposals.withdraw(conn, AGENT, "a")
        proposals.adopted(conn, AGENT, "b", 2)
    assert states(house) == {"b": "merged"}


def test_what_left_a_branch_is_proposed_without_one(house: Store) -> None:
    with house.write() as conn:
        proposals.plan(conn, AGENT, BRANCH, "github", [(entry("a"), 5), (entry("b"), 5)], 10, 1)
        proposals.note_request(conn, AGENT, BRANCH, 2, state="open")
        proposals.plan(conn, AGENT, BRANCH, "github", [(entry("b"), 6)], 11, 3)
    with house.read() as conn:
        assert {proposal.id: (proposal.state, proposal.branch) for proposal in proposals.stored(conn)} == {
            "a": ("proposed", None),
            "b": ("proposed", BRANCH),
        }


def test_one_process_writes_the_one_comment(house: Store) -> None:
    with house.write() as conn:
        proposals.begin(conn, AGENT, BRANCH, "github", 1)
        proposals.begin(conn, AGENT, BRANCH, "patch", 2)
        assert proposals.claim_comment(conn, AGENT, BRANCH, now=100, lease=50)
        assert not proposals.claim_comment(conn, AGENT, BRANCH, now=149, lease=50)
        assert proposals.claim_comment(conn, AGENT, BRANCH, now=150, lease=50), (
            "who claimed it first has died"
        )
        assert proposals.claim_comment(conn, AGENT, BRANCH, now=20, lease=50), "the clock has gone back"
        proposals.commented(conn, AGENT, BRANCH)
        assert not proposals.claim_comment(conn, AGENT, BRANCH, now=900, lease=50)
    with house.read() as conn:
        (request,) = proposals.requests(conn, AGENT, proposals.LIVE)
    assert (request.channel, request.commented) == ("github", 1)


def test_the_database_itself_keeps_one_row_a_branch_and_a_proposal(house: Store) -> None:
    with house.write() as conn:
        proposals.plan(conn, AGENT, BRANCH, "github", [(entry("a"), 5)], 10, 1)
    for table in (proposals.proposals, proposals.pull_requests):
        with house.read() as conn:
            row = dict(conn.execute(table.select()).mappings().one())
        del row["key"]
        with pytest.raises(IntegrityError), house.write() as conn:
            conn.execute(table.insert().values(row))

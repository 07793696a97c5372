"""The ledger of proposals on both databases: what is proposed, planned, opened, decided and judged, and nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from retro.store import proposals as shelf
from retro.store.database import Store
from tests.worlds import lives as living
from tests.worlds.playbook_lives import AGENT, trades

BRANCH = "retro/playbook/bot/2026-W06"


def told(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "op": "add", "heuristic": name, "old": None, "new": f"- {name} [0.35] x", **more}


@pytest.fixture
def house(store: Store) -> Store:
    living.live(store, trades(1))
    return store


def states(store: Store, as_of: int | None = None) -> dict[str, str]:
    with store.read() as conn:
        return {one.id: one.state for one in shelf.stored(conn, AGENT, as_of=as_of)}


def test_a_proposal_lives_from_proposed_to_validated(house: Store) -> None:
    with house.write() as conn:
        shelf.suggest(conn, AGENT, [(told("a"), 5), (told("b"), 5)], told_until=10, now=1)
    assert states(house) == {"a": "proposed", "b": "proposed"}
    with house.write() as conn:
        shelf.plan(conn, AGENT, BRANCH, "github", [(told("a"), 6)], 11, 2)
        shelf.note_request(conn, AGENT, BRANCH, 3, state="open", number=1, url="u", head="c")
    assert states(house) == {"a": "open", "b": "proposed"}
    with house.write() as conn:
        assert shelf.settle_request(conn, AGENT, BRANCH, "merged", 4)
        assert not shelf.settle_request(conn, AGENT, BRANCH, "closed", 5), "it is decided once"
        shelf.judged(conn, AGENT, "b", "refuted", 6)  # was never merged: nobody judges it
        shelf.judged(conn, AGENT, "a", "validated", 6)
        shelf.judged(conn, AGENT, "a", "refuted", 7)
    assert states(house) == {"a": "validated", "b": "proposed"}
    assert states(house, as_of=5) == {"b": "proposed"}
    with house.read() as conn:
        (life, _), (request,) = shelf.stored(conn), shelf.requests(conn)
    assert (life.resolved, life.told_until, life.url, life.branch) == (6, 11, "u", BRANCH)
    assert (request.state, request.number, request.head) == ("merged", 1, "c")


def test_newer_figures_replace_older_ones_until_somebody_is_asked(house: Store) -> None:
    for resolved in (5, 7):
        with house.write() as conn:
            shelf.suggest(
                conn, AGENT, [(told("a", round=resolved), resolved)], told_until=resolved, now=resolved
            )
    with house.read() as conn:
        (life,) = shelf.stored(conn)
    assert (life.resolved, life.told["round"], life.told_until) == (7, 7, 7)
    with house.write() as conn:
        shelf.plan(conn, AGENT, BRANCH, "github", [(told("a"), 7)], 7, 8)
        shelf.suggest(conn, AGENT, [(told("a"), 9)], told_until=9, now=9)
        shelf.withdraw(conn, AGENT, "a")
        shelf.settle_request(conn, AGENT, BRANCH, "closed", 9, {"a": 7})
        shelf.suggest(conn, AGENT, [(told("a"), 13)], told_until=13, now=13)
        shelf.withdraw(conn, AGENT, "a")
        shelf.adopted(conn, AGENT, "a", 14)
    assert states(house) == {"a": "rejected"}
    with house.read() as conn:
        assert [one.resolved for one in shelf.stored(conn)] == [7], "the no was said to these citations"


def test_what_is_proposed_can_be_withdrawn_or_carried_out_by_hand(house: Store) -> None:
    with house.write() as conn:
        shelf.suggest(conn, AGENT, [(told("a"), 5), (told("b"), 5)], told_until=10, now=1)
        shelf.withdraw(conn, AGENT, "a")
        shelf.adopted(conn, AGENT, "b", 2)
    assert states(house) == {"b": "merged"}


def test_what_left_a_branch_is_proposed_without_one(house: Store) -> None:
    with house.write() as conn:
        shelf.plan(conn, AGENT, BRANCH, "github", [(told("a"), 5), (told("b"), 5)], 10, 1)
        shelf.note_request(conn, AGENT, BRANCH, 2, state="open")
        shelf.plan(conn, AGENT, BRANCH, "github", [(told("b"), 6)], 11, 3)
    with house.read() as conn:
        assert {one.id: (one.state, one.branch) for one in shelf.stored(conn)} == {
            "a": ("proposed", None),
            "b": ("proposed", BRANCH),
        }


def test_one_process_writes_the_one_comment(house: Store) -> None:
    with house.write() as conn:
        shelf.begin(conn, AGENT, BRANCH, "github", 1)
        shelf.begin(conn, AGENT, BRANCH, "patch", 2)
        assert shelf.claim_comment(conn, AGENT, BRANCH, now=100, lease=50)
        assert not shelf.claim_comment(conn, AGENT, BRANCH, now=149, lease=50)
        assert shelf.claim_comment(conn, AGENT, BRANCH, now=150, lease=50), "who claimed it first has died"
        assert shelf.claim_comment(conn, AGENT, BRANCH, now=20, lease=50), "the clock has gone back"
        shelf.commented(conn, AGENT, BRANCH)
        assert not shelf.claim_comment(conn, AGENT, BRANCH, now=900, lease=50)
    with house.read() as conn:
        (request,) = shelf.requests(conn, AGENT, shelf.LIVE)
    assert (request.channel, request.commented) == ("github", 1)


def test_the_database_itself_keeps_one_row_a_branch_and_a_proposal(house: Store) -> None:
    with house.write() as conn:
        shelf.plan(conn, AGENT, BRANCH, "github", [(told("a"), 5)], 10, 1)
    for table in (shelf.proposals, shelf.pull_requests):
        with house.read() as conn:
            row = dict(conn.execute(table.select()).mappings().one())
        del row["key"]
        with pytest.raises(IntegrityError), house.write() as conn:
            conn.execute(table.insert().values(row))

"""What a weekly review proposes stands in it, and lives in the ledger whether or not a repository is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import playbook
from retro import config
from retro.app.engine.wiring import bench_of
from retro.app.engine.worker import run_pass
from retro.app.proposals.justification import propose
from retro.app.proposals.lifecycle import suggest
from retro.app.reviews.build import review_period
from retro.app.settlement.lookup import choose_period
from retro.app.settlement.settings import settings_of
from retro.app.settlement.settle import settled_book
from retro.periods import Horizon, parse_instant
from retro.report import RetrospectiveReport
from retro.store import proposals
from retro.store.database import open_store
from retro.testing.forge import FakeForge
from tests.worlds import playbook_lives as lives
from tests.worlds.playbook_lives import BOOK, House, suggested


def reviewed(house: House, horizon: Horizon = "weekly", book: str | None = BOOK) -> RetrospectiveReport:
    settings = settings_of(house.config, house.agent, None if book is None else playbook.parse(book))
    with settled_book(house.store, house.agent.name, settings) as settled:
        return review_period(settled, choose_period(house.agent, settings, horizon))


def stored(house: House) -> list[proposals.Proposal]:
    with house.store.read() as conn:
        return proposals.stored(conn)


def test_a_weekly_review_proposes_what_all_evidence_up_to_its_end_justifies(
    placed: tuple[House, FakeForge],
) -> None:
    house, _ = placed
    (proposal,) = reviewed(house).playbook_proposals
    _, (today,) = propose(house.store, house.agent, house.settings)
    assert (proposal["op"], proposal["heuristic"], proposal["origin"]) == ("demote", "H-1", "audit")
    assert proposal["id"] == today.id
    evidence = proposal["evidence"]
    assert (evidence["grade"], evidence["unit"], evidence["reviews"]) == (
        "supported",
        "usd",
        ["bot.weekly.2026-W06"],
    )
    assert 30 < evidence["resolved"] < 40  # of the life, up to the week's end; seven resolved in the week
    assert evidence["average"] == pytest.approx(-48.0, abs=0.3)
    assert today.grounds.evidence["vs_inaction"] == pytest.approx(today.grounds.evidence["average"])
    assert reviewed(house).playbook_proposals == [proposal]


def test_a_day_is_no_evidence_for_a_rule_and_a_bot_without_a_playbook_hears_what_is_supported(
    placed: tuple[House, FakeForge],
) -> None:
    house, _ = placed
    assert reviewed(house, "daily").playbook_proposals == []
    house.live(lives.trades(2, tag="rare", gain=9.0))
    (proposal,) = reviewed(house, book=None).playbook_proposals
    assert (proposal["op"], proposal["heuristic"], proposal["old"]) == ("demote", "size_up", None)


def test_citations_from_before_the_text_changed_say_nothing_of_it(placed: tuple[House, FakeForge]) -> None:
    """The pull request's counts and averages are those since the text stands, like its interval and q."""
    house, _ = placed
    text = BOOK.replace("tags: size_up", "tags: size_up; since: 2026-01-25")
    settings = settings_of(house.config, house.agent, playbook.parse(text))
    _, (amendment,) = propose(house.store, house.agent, settings)
    evidence = amendment.grounds.evidence
    assert (evidence["since"], evidence["resolved"], evidence["wins"]) == ("2026-01-25", 20, 0)
    late = settings_of(house.config, house.agent, playbook.parse(text.replace("01-25", "02-12")))
    _, none = propose(house.store, house.agent, late)
    assert none == [], "two losses since then; the thirty-eight before it were another rule's"


def test_a_review_remembers_what_was_decided_before_it_was_made(placed: tuple[House, FakeForge]) -> None:
    house, forge = placed
    before = reviewed(house)
    lives.bring(house)
    assert reviewed(house) == before, "under review, and still proposed"
    forge.close(1)
    lives.outcomes(house)
    assert stored(house)[0].state == "rejected"
    assert reviewed(house).playbook_proposals == []


def test_a_proposal_waits_in_the_ledger_until_it_is_brought_withdrawn_or_carried_out(
    placed: tuple[House, FakeForge],
) -> None:
    house, _ = placed
    (proposal,) = reviewed(house).playbook_proposals
    suggested(house, [proposal])
    assert [(row.state, row.branch, playbook.to_json(row.amendment)) for row in stored(house)] == [
        ("proposed", None, proposal)
    ]
    suggested(house, [])
    assert stored(house) == []
    suggested(house, [proposal])
    done = playbook.apply(playbook.parse(BOOK), [playbook.from_json(proposal)])
    with house.store.write() as conn:
        suggest(conn, house.agent, [], playbook.parse(done), 2)
    assert lives.states(house) == {"demote": "merged"}


def candidate(text: str, resolved: int = 40) -> dict[str, Any]:
    grounds = playbook.Grounds({"prompted_by": "H-1", "its_resolved": resolved}, "its first 10 lose", "model")
    return playbook.to_json(
        playbook.Amendment("add", "H-8", None, f"- H-8 [0.35] {text} {{status: candidate}}", grounds)
    )


def test_a_candidate_stays_until_newer_words_take_its_place_and_a_no_ends_it(
    placed: tuple[House, FakeForge],
) -> None:
    house, forge = placed
    suggested(house, [candidate("Wait")])
    suggested(house, [])
    suggested(house, [candidate("Wait a day")])
    assert ["Wait a day" in proposal.amendment.new for proposal in stored(house)] == [True]
    lives.bring(house)
    suggested(house, [candidate("Wait longer")])
    assert sorted(proposal.state for proposal in stored(house)) == ["open", "open"]
    forge.close(1)
    lives.outcomes(house)
    suggested(house, [candidate("Wait for ever")])
    assert {proposal.state for proposal in stored(house)} == {"rejected"}
    suggested(house, [candidate("Wait for ever", resolved=80)])
    assert sorted(proposal.state for proposal in stored(house)) == ["proposed", "rejected", "rejected"]


def test_the_service_keeps_proposals_from_their_week_to_their_verdict(tmp_path: Path) -> None:
    """No repository is named, no command is typed: a patch file is not needed to have a rule changed by hand."""
    store = open_store(str(tmp_path / "retro.db"))
    house = House(store, tmp_path, {}, {})
    house.live(lives.scale())
    book = tmp_path / "PLAYBOOK.md"
    book.write_text(BOOK)
    own = {"memory": {"directory": str(tmp_path / "memory")}, "agent": {"bot": {"playbook": str(book)}}}
    configuration = config.Config.model_validate(own)

    def week(clock: str, first: int, last: int) -> dict[str, str]:
        house.live(lives.trades(last - first, first=first))
        bench = bench_of(store, configuration, {}, clock=lambda: parse_instant(clock), owner="w", host="h")
        run_pass(bench, all_agents=True)
        return lives.states(house)

    assert week("2026-01-19T05:00:00Z", 0, 14) == {"demote": "proposed"}
    (waiting,) = stored(house)
    assert waiting.amendment.grounds.evidence["reviews"] == ["bot.weekly.2026-W03"]
    book.write_text(playbook.apply(playbook.parse(BOOK), [waiting.amendment]))
    assert week("2026-01-26T05:00:00Z", 14, 16) == {"demote": "merged"}
    assert week("2026-02-09T05:00:00Z", 16, 35) == {"demote": "validated", "retire": "proposed"}
    store.close()


def test_a_patch_applied_by_hand_is_seen_by_the_next_knock(tmp_path: Path, lived: Path) -> None:
    with lives.living_at(tmp_path, lived) as (house, _):
        house.playbook_table.clear()
        book = tmp_path / "PLAYBOOK.md"
        lives.bring(house)
        (waiting,) = stored(house)
        book.write_text(playbook.apply(playbook.parse(BOOK), [waiting.amendment]))
        own = {"memory": {"directory": str(tmp_path / "memory")}, "agent": {"bot": {"playbook": str(book)}}}
        configuration = config.Config.model_validate(own)
        bench = bench_of(house.store, configuration, {}, clock=lambda: 1, owner="w", host="h")
        bench.look_back()
        assert lives.states(house) == {"demote": "merged"}


def damaged(house: House, proposal: str) -> None:
    """A row of the ledger as a broken disk leaves it."""
    table = proposals.proposals
    with house.store.write() as conn:
        conn.execute(table.update().where(table.c.id == proposal).values(body="{bad"))


def test_a_proposal_that_cannot_be_read_is_named_and_hides_no_other(
    placed: tuple[House, FakeForge],
) -> None:
    house, _ = placed
    (first,) = reviewed(house).playbook_proposals
    other = first | {
        "heuristic": "H-9",
        "old": None,
        "op": "add",
        "new": "- H-9 [0.35] Else {status: candidate}",
    }
    suggested(house, [first, playbook.to_json(playbook.from_json(other))])
    damaged(house, first["id"])
    assert [proposal.amendment.heuristic for proposal in stored(house)] == ["H-9"]
    with house.store.read() as conn:
        (lost,) = proposals.damaged(conn)
    assert (lost.agent, lost.id, lost.state) == ("bot", first["id"], "proposed")
    assert reviewed(house).playbook_proposals == [first]
    suggested(house, [first])  # nobody was asked about it: told again, it is whole again
    with house.store.read() as conn:
        assert proposals.damaged(conn) == []


def test_a_no_that_cannot_be_read_stays_a_no(placed: tuple[House, FakeForge]) -> None:
    house, _ = placed
    (first,) = reviewed(house).playbook_proposals
    suggested(house, [first])
    table = proposals.proposals
    with house.store.write() as conn:
        conn.execute(table.update().values(state="rejected"))
    damaged(house, first["id"])
    assert reviewed(house).playbook_proposals == []
    assert propose(house.store, house.agent, house.settings)[1] == []
    suggested(house, [first])
    with house.store.read() as conn:
        assert [proposal.state for proposal in proposals.damaged(conn)] == ["rejected"]

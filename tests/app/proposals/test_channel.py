"""The outbox's way to pull requests: what is sent, what is tried again, what needs a person."""

from __future__ import annotations

from typing import Any

import playbook
from playbook.plain import plain
from retro.app.proposals.channel import PullRequests
from retro.deliver.channel import Message, Rejected, Retry, Sent
from retro.store import proposals
from retro.testing.forge import Answer, FakeForge
from tests.worlds import playbook_lives as lives
from tests.worlds.playbook_lives import W06


def channel(house: lives.House, clock: list[int]) -> PullRequests:
    return PullRequests(house.store, house.config, house.env, lambda _: house.settings, lambda: clock[0])


def message(kind: str = "weekly") -> Message:
    document: Any = None
    return Message("bot.weekly.2026-W06", "bot", kind, 1, "2026-W06", "", document, 1, "ada/agent")


def test_it_is_on_when_a_repository_is_named(placed: tuple[lives.House, FakeForge]) -> None:
    house, _ = placed
    assert channel(house, [1]).recipients(house.config) == ("ada/agent",)
    house.playbook_table = {"channel": "patch"}
    assert channel(house, [1]).recipients(house.config) == ()
    house.playbook_table = {"repository": str(house.repository)}
    assert channel(house, [1]).recipients(house.config) == ("patch",)


def test_a_weekly_review_is_sent_once_and_others_bring_nothing(placed: tuple[lives.House, FakeForge]) -> None:
    house, forge = placed
    sender = channel(house, [1])
    assert sender.send(message("daily")) == Sent()
    assert forge.pulls == []
    assert [sender.send(message()), sender.send(message())] == [Sent(), Sent()]
    assert len(forge.pulls) == 1
    lives.commit_of_a_person(house.repository, W06, {"PLAYBOOK.md": "mine\n"})
    assert sender.send(message()) == Sent()


def test_pauses_are_passed_on_and_lost_permissions_refused(placed: tuple[lives.House, FakeForge]) -> None:
    house, forge = placed
    sender = channel(house, [1])
    forge.trouble.append(Answer(429, {"message": "slow"}, {"Retry-After": "77"}))
    answer = sender.send(message())
    assert isinstance(answer, Retry)
    assert answer.after_s == 77
    forge.token = "another"
    assert isinstance(sender.send(message()), Rejected)


def test_it_looks_back_every_ten_minutes(placed: tuple[lives.House, FakeForge]) -> None:
    house, forge = placed
    clock = [1]
    sender = channel(house, clock)
    sender.send(message())
    assert sender.look_back().settled == []
    forge.close(1)
    asked = len(forge.asked)
    clock[0] += 599_000_000
    assert sender.look_back().settled == []
    assert len(forge.asked) == asked
    clock[0] += 2_000_000
    assert sender.look_back().settled == [("bot", W06, "closed")]


def test_a_models_candidate_comes_along_marked_and_under_a_free_number(
    placed: tuple[lives.House, FakeForge],
) -> None:
    """Other words next week for the same thing are no other proposal once it was rejected."""
    house, forge = placed
    sender = channel(house, [1])

    def candidate(text: str) -> dict[str, Any]:
        evidence = {"grade": "none", "prompted_by": "H-1", "its_resolved": 40}
        grounds = playbook.Grounds(evidence, "its first 10 resolved entry citations average below 0", "model")
        amendment = playbook.Amendment(
            "add", "H-2", None, f"- H-2 [0.35] {plain(text)} {{status: candidate}}", grounds
        )
        return playbook.to_json(amendment)

    lives.suggested(house, [candidate("Wait @ada for a close"), {"origin": "model", "op": "x"}])
    assert sender.send(message()) == Sent()
    (pull,) = forge.pulls
    assert pull["title"] == "playbook(bot): demote H-1, add H-3 (2026-W06)"
    above, below = pull["body"].split("\n---\n")
    assert "Wait" not in above
    assert "worded by a model; wrong if" in below
    assert "@ada" not in pull["body"]
    assert len(lives.bring(house, week="2026-W06").proposals) == 2  # asked for by hand, it stays in it
    assert pull["title"] == "playbook(bot): demote H-1, add H-3 (2026-W06)"
    forge.close(1)
    assert [state for _, _, state in lives.outcomes(house).settled] == ["closed"]
    lives.suggested(house, [candidate("Let it close first")])
    sender.send(message())
    assert len(forge.pulls) == 1
    with house.store.read() as conn:
        assert [proposal.state for proposal in proposals.stored(conn)] == ["rejected", "rejected"]

"""When rules lived, by commits and by merged proposals, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

import playbook
from playbook import Amendment, Grounds
from retro.evaluate.meta.rule_lives import (
    Birthdays,
    PlaybookVersion,
    RuleLife,
    lives_by_commits,
    lives_by_proposals,
)
from retro.periods import DAY

DAY_ONE = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000
BIRTHDAYS = Birthdays(ZoneInfo("UTC"), {"H-2": DAY_ONE - 3 * DAY})


def version(day: int, *lines: str) -> PlaybookVersion:
    return PlaybookVersion(DAY_ONE + day * DAY, playbook.parse("\n".join(("## Global", *lines, ""))))


def test_a_rule_lives_from_the_commit_that_shows_it_active_to_the_one_that_ends_it() -> None:
    versions = [
        version(0, "- H-1 [0.5] a", "- H-9 [0.5] nine {status: candidate}"),
        version(4, "- H-1 [0.5] a", "- H-9 [0.5] nine", "- H-4 [0.5] four"),
        version(6, "- H-1 [0.5] a {status: demoted}", "- H-9 [0.5] nine", "- H-4 [0.5] four"),
        version(9, "- H-1 [0.5] a {status: demoted}", "- H-9 [0.5] nine"),
        version(11, "- H-1 [0.5] a", "- H-9 [0.5] nine {status: candidate}"),  # one life each
    ]
    assert lives_by_commits(versions, Birthdays(ZoneInfo("UTC"))).lives == [
        RuleLife("H-1", DAY_ONE, DAY_ONE + 6 * DAY),
        RuleLife("H-4", DAY_ONE + 4 * DAY, DAY_ONE + 9 * DAY),
        RuleLife("H-9", DAY_ONE + 4 * DAY),
    ]


def test_what_the_first_commit_shows_is_as_old_as_since_its_first_citation_or_that_commit() -> None:
    first = ("- H-1 [0.5] a {since: 2026-02-20}", "- H-2 [0.5] b", "- H-3 [0.5] c")
    versions = [version(0, *first), version(2, *first, "- H-4 [0.5] d {since: 2020-01-01}")]
    born = {life.rule: (life.born_at - DAY_ONE) / DAY for life in lives_by_commits(versions, BIRTHDAYS).lives}
    assert born == {"H-1": -9, "H-2": -3, "H-3": 0, "H-4": 2}


def test_a_removed_file_ends_every_rule() -> None:
    versions = [version(0, "- H-1 [0.5] a"), PlaybookVersion(DAY_ONE + 5 * DAY, None)]
    assert lives_by_commits(versions, BIRTHDAYS).lives == [RuleLife("H-1", DAY_ONE, DAY_ONE + 5 * DAY)]


def test_survival_counts_the_living_as_old_as_they_are_now() -> None:
    # deaths at 2 and 6 days; one of 4 and one of 10 live on: 3/4, then 3/4 x 1/2
    versions = [
        version(0, *(f"- H-{n} [0.5] r" for n in (1, 2, 3))),
        version(2, "- H-2 [0.5] r", "- H-3 [0.5] r"),
        version(6, "- H-3 [0.5] r", "- H-4 [0.5] r"),
    ]
    lives = lives_by_commits(versions, Birthdays(ZoneInfo("UTC")))
    curve = lives.survival(DAY_ONE + 10 * DAY)
    assert curve.age.tolist() == [2, 6]
    assert curve.share.tolist() == pytest.approx([0.75, 0.375])
    assert curve.half_life == 6
    early = lives.survival(DAY_ONE + 5 * DAY)  # what comes later is not known: three rules, one dead
    assert (early.age.tolist(), early.half_life) == ([2], None)
    assert early.share.tolist() == pytest.approx([2 / 3])
    assert lives.living(DAY_ONE + 2 * DAY) == {"H-1", "H-2", "H-3"}
    assert lives.living(DAY_ONE + 2 * DAY + 1) == {"H-2", "H-3"}


def test_without_commits_merged_proposals_tell_who_died() -> None:
    book = playbook.parse(
        "## Global\n- H-1 [0.5] a {since: 2026-03-01; status: demoted}\n- H-2 [0.5] b\n"
        "- H-3 [0.5] c\n- H-5 [0.5] e {since: 2026-03-01; status: retired}\n"
    )
    demotion = Amendment(
        "demote",
        "H-1",
        "- H-1 [0.5] a {since: 2026-03-01}",
        "- H-1 [0.25] a {since: 2026-03-01; status: demoted}",
        Grounds(),
    )
    tuned = Amendment("set_confidence", "H-2", "- H-2 [0.5] b", "- H-2 [0.4] b", Grounds())
    dated = lives_by_proposals(book, [(DAY_ONE + 8 * DAY, demotion), (DAY_ONE, tuned)], BIRTHDAYS)
    assert dated.lives == [
        RuleLife("H-1", DAY_ONE, DAY_ONE + 8 * DAY),
        RuleLife("H-2", DAY_ONE - 3 * DAY),
    ]
    assert dated.undated == 2  # H-3 was never cited, and nobody says when H-5 was retired
    assert lives_by_proposals(None, [], BIRTHDAYS).lives == []

"""What a review does to the memory of its decision: numbers.md section 5, on both databases."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memory
from memory import RefusedError, Retrospective
from memory.episodic.episode import episode_of
from memory.experience.hindsight import amended, felt
from memory.instants import DAY
from retro.store.database import Store
from tests.worlds.memory_databases import START, db, experience, raw_episode

__all__ = ["db"]


REVIEWED = START + 7 * DAY


def winning_episode(**fields: Any) -> dict[str, Any]:
    return raw_episode("e1", pnl=5.0, pnl_r=1.0, valence=0.8, context={"regime": "volatile"}, **fields)


def test_a_decision_that_felt_good_and_was_not_is_reversed(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [winning_episode(tags=["scalp"])])
        changes = memory.amend(
            conn,
            "ada",
            "e1",
            Retrospective("ada.weekly.2026-W01", REVIEWED, vs_inaction=-2.5, regret=0.5, pnl=5.0),
        )
        now = memory.find_episode(conn, "ada", "e1")
    assert now["valence"] == -0.3
    assert now["tags"] == ["scalp", "retrospective_reversal"]
    assert now["retrieval_boost"] == 1.5
    assert now["provenance"] == "retrospective"
    assert (now["retrospective_vs_inaction"], now["retrospective_regret"], now["retrospective_pnl"]) == (
        -2.5,
        0.5,
        5.0,
    )
    assert now["original_valence"] == 0.8
    (valence,) = [change for change in changes if change.field == "valence"]
    assert (valence.old, valence.new, valence.review, valence.at) == (
        0.8,
        -0.3,
        "ada.weekly.2026-W01",
        REVIEWED,
    )
    assert "-2.5 usd" in valence.reason
    assert now["amendments"] == list(changes)


def test_a_decision_that_felt_bad_and_was_right_is_vindicated_with_its_valence_kept(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [raw_episode("e1", pnl=-5.0, valence=-0.6)])
        memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED, vs_inaction=1.5))
        now = memory.find_episode(conn, "ada", "e1")
    assert now["valence"] == -0.6
    assert now["tags"] == ["retrospective_vindicated"]


@pytest.mark.parametrize(
    ("valence", "vs_inaction", "after", "tag"),
    [
        (0.8, -1.0, 0.8, None),  # exactly the threshold is not beyond it
        (0.8, -1.0001, -0.3, "retrospective_reversal"),
        (0.0, -5.0, 0.0, None),  # what felt neither way is not reversed
        (-0.6, -5.0, -0.6, None),
        (-0.6, 1.0, -0.6, None),
        (-0.6, 1.0001, -0.6, "retrospective_vindicated"),
        (0.6, 5.0, 0.6, None),
        (0.6, None, 0.6, None),
    ],
)
def test_retagging_at_its_thresholds(
    valence: float, vs_inaction: float | None, after: float, tag: str | None
) -> None:
    episode = episode_of(raw_episode("e1", valence=valence))
    now = amended(episode, Retrospective("r", REVIEWED, vs_inaction=vs_inaction))
    assert now["valence"] == after
    assert now["tags"] == ([] if tag is None else [tag])
    assert now["retrieval_boost"] == 1.5  # whatever it says, the whole consequence is known


@pytest.mark.parametrize(
    ("raw", "valence"),
    [({"pnl": 3.0}, 0.3), ({"pnl_r": -1.0, "pnl": 5.0}, -0.3), ({"pnl": 0.0}, 0.0), ({}, None)],
)
def test_how_an_outcome_felt_when_nobody_said(raw: dict[str, Any], valence: float | None) -> None:
    assert felt(episode_of(raw_episode("e1", **raw))) == valence


def test_applying_a_review_twice_is_a_no_op_and_a_boost_is_set_not_multiplied(db: Store) -> None:
    review = Retrospective("r1", REVIEWED, vs_inaction=-2.5, regret=3.0)
    with db.write() as conn:
        memory.remember(conn, [winning_episode()])
        assert memory.amend(conn, "ada", "e1", review)
        first = memory.find_episode(conn, "ada", "e1")
        assert memory.amend(conn, "ada", "e1", review) == ()
        assert memory.find_episode(conn, "ada", "e1") == first
        memory.amend(conn, "ada", "e1", Retrospective("r2", REVIEWED + DAY, vs_inaction=-2.5, regret=3.0))
        again = memory.find_episode(conn, "ada", "e1")
        (hit,) = memory.recall(conn, "ada", {"regime": "volatile"}, as_of=REVIEWED + DAY)
    assert again["retrieval_boost"] == 1.5
    assert again["tags"].count("retrospective_reversal") == 1
    assert hit.components["boost"] == 1.5


def test_a_retrospective_amends_the_episode_and_adds_none(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [winning_episode()])
        before = memory.state(conn, "ada")
        memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED, vs_inaction=-2.5))
        assert memory.state(conn, "ada") == before
        assert len(memory.episodes(conn, "ada")) == 1


def test_a_revision_of_a_review_corrects_what_the_first_one_said(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [winning_episode()])
        memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED, vs_inaction=-2.5))
        memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED + DAY, vs_inaction=0.2))
        now = memory.find_episode(conn, "ada", "e1")
    assert (now["valence"], now["tags"]) == (0.8, [])
    assert [
        (amendment.old, amendment.new) for amendment in now["amendments"] if amendment.field == "valence"
    ] == [
        (0.8, -0.3),
        (-0.3, 0.8),
    ]


def test_as_of_an_earlier_day_nothing_of_the_review_is_known(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [winning_episode()])
        memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED, vs_inaction=-2.5, regret=9.0))
        earlier = memory.find_episode(conn, "ada", "e1", as_of=REVIEWED - 1)
        (before,) = memory.recall(conn, "ada", {"regime": "volatile"}, as_of=REVIEWED - 1)
        (after,) = memory.recall(conn, "ada", {"regime": "volatile"}, as_of=REVIEWED)
        assert memory.markers(conn, "ada", as_of=REVIEWED - 1) == ()
        assert memory.recall(conn, "ada", {"regime": "volatile"}) == [after]  # by default all that is known
    assert (earlier["valence"], earlier["provenance"], earlier["amendments"]) == (0.8, "immediate", [])
    assert (before.amended, before.components["boost"], before.memory["valence"]) == (False, 1.0, 0.8)
    assert (after.amended, after.components["boost"], after.memory["valence"]) == (True, 1.5, -0.3)
    assert "felt better than it was" in after.reason


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.one_of(st.none(), st.sampled_from([-3.0, -0.5, 0.5, 3.0]))),
        max_size=6,
    ),
    st.randoms(use_true_random=False),
    st.sampled_from([-0.5, 0.5]),
)
@settings(deadline=None, max_examples=20)
def test_the_newest_review_counts_in_whatever_order_they_are_applied(
    tmp_path_factory: pytest.TempPathFactory,
    reviews: list[tuple[int, float | None]],
    random: random.Random,
    valence: float,
) -> None:
    retrospectives = [
        Retrospective(f"r{i}", REVIEWED + i * DAY + day, vs_inaction=value)
        for i, (day, value) in enumerate(reviews)
    ]
    views = []
    for order in (retrospectives, random.sample(retrospectives, len(retrospectives))):
        with experience(str(tmp_path_factory.mktemp("memory") / "m.db")) as store, store.write() as conn:
            memory.remember(conn, [raw_episode("e1", valence=valence, context={"regime": "x"})])
            for retrospective in order:
                memory.amend(conn, "ada", "e1", retrospective)
            now = memory.find_episode(conn, "ada", "e1")
            now.pop("amendments")
            hits = [
                memory.recall(conn, "ada", {"regime": "x"}, as_of=REVIEWED + day * DAY) for day in range(7)
            ]
            views.append((now, [[hit.document() for hit in day_hits] for day_hits in hits]))
    assert views[0] == views[1]
    expected = amended(
        episode_of(raw_episode("e1", valence=valence)), retrospectives[-1] if retrospectives else None
    )
    assert {name: views[0][0][name] for name in expected} == expected


def test_markers_are_registered_listed_and_found_by_situation(db: Store) -> None:
    peak = {"regime": "trending_up"}
    with db.write() as conn:
        memory.remember(
            conn, [winning_episode(), raw_episode("e2", day=1, pnl=1.0, context={"regime": "ranging"})]
        )
        memory.amend(
            conn, "ada", "e1", Retrospective("r1", REVIEWED, vs_inaction=-2.5, regret=40.0, peak_context=peak)
        )
        memory.amend(conn, "ada", "e2", Retrospective("r2", REVIEWED + DAY, vs_inaction=-1.0, regret=2.0))
        listed = memory.markers(conn, "ada")
        near = memory.markers(conn, "ada", context=peak)
    assert [(marker.outcome, marker.bias, marker.confidence, marker.context) for marker in listed] == [
        ("MissedExit", "TightenExits", 1.0, peak),
        ("Regret", "IncreaseCaution", 0.25, {"regime": "volatile"}),
    ]
    assert [(marker.outcome, marker.similarity) for marker in near] == [("MissedExit", 1.0), ("Regret", 0.0)]


def test_the_newest_markers_are_the_first_of_all_of_them_however_few_are_wanted(db: Store) -> None:
    """What is read page by page is what reading everything gives; a later review that marks nothing unmarks."""
    with db.write() as conn:
        memory.remember(
            conn, [raw_episode(f"e{i:04}", day=i / 100, context={"regime": "x"}) for i in range(560)]
        )
        for i in range(560):
            harm = -3.0 if i % 7 == 0 else 0.0
            at = START + 20 * DAY + i // 50  # fifty of one instant: their order is that of the ids
            memory.amend(
                conn, "ada", f"e{i:04}", Retrospective("r", at, vs_inaction=harm, regret=float(i % 3))
            )
        for i in range(0, 560, 14):
            memory.amend(conn, "ada", f"e{i:04}", Retrospective("r2", START + 21 * DAY, vs_inaction=0.0))
        every = memory.markers(conn, "ada", limit=10_000)
        for limit in (0, 1, 30, 80):
            assert memory.markers(conn, "ada", limit=limit) == every[:limit]
        earlier = memory.markers(conn, "ada", as_of=START + 20 * DAY + 3, limit=10_000)
    assert [marker.episode for marker in every] == [
        f"e{i:04}"
        for start in range(550, -50, -50)
        for i in range(start, min(560, start + 50))
        if i % 14 == 7
    ]
    assert len(earlier) == sum(i % 7 == 0 for i in range(200))


def test_many_reviewed_episodes_keep_their_boost_through_sealed_blocks(db: Store) -> None:
    with db.write() as conn:
        memory.remember(
            conn,
            [raw_episode(f"e{i:04}", day=i / 100, pnl_r=1.0, context={"regime": "x"}) for i in range(1100)],
        )
        for i in range(1100):
            memory.amend(conn, "ada", f"e{i:04}", Retrospective("r", START + 20 * DAY + i, vs_inaction=0.5))
        warm = [
            hit.document()
            for hit in memory.recall(conn, "ada", {"regime": "x"}, as_of=START + 20 * DAY + 1080)
        ]
        memory.forget(conn)
        cold = [
            hit.document()
            for hit in memory.recall(conn, "ada", {"regime": "x"}, as_of=START + 20 * DAY + 1080)
        ]
    assert warm == cold
    assert warm[0]["id"] == "e1080"  # the newest that had been judged by then
    assert warm[0]["components"]["boost"] == 1.5


def test_an_unknown_episode_or_a_figure_that_is_none_is_refused(db: Store) -> None:
    with db.write() as conn:
        memory.remember(conn, [winning_episode()])
        with pytest.raises(memory.MissingError):
            memory.amend(conn, "ada", "e9", Retrospective("r1", REVIEWED, vs_inaction=1.0))
        for bad in (math.nan, math.inf):
            with pytest.raises(RefusedError, match="regret"):
                memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED, regret=bad))
        with pytest.raises(RefusedError):
            memory.amend(conn, "ada", "e1", Retrospective("r1", REVIEWED, peak_context={"atr_d1": math.nan}))
        with pytest.raises(RefusedError):
            memory.amend(conn, "ada", "e1", Retrospective("", REVIEWED))
        assert memory.amendments(conn, "ada", "e1") == ()

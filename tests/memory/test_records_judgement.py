"""What a review writes into the records: once, again, and over what a person has changed; and records from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import DamagedError
from memory.records import (
    Claim,
    Hypothesis,
    Judgement,
    get_all_hypotheses,
    import_records,
    keep,
    load_experiments,
    save_hypothesis,
)
from memory.records.judgement import merged


def judgement(
    revision: int = 1,
    *,
    verdict: Any = None,
    week: int = 10,
    pnl: float = 5.0,
    observations: Sequence[str] = ("one", "two"),
) -> Judgement:
    review = f"ada.weekly.2026-W{week}"
    experiment: dict[str, Any] = {
        "id": f"exp_202603{week}_000000_abc123",
        "timestamp": f"2026-03-{week}T00:00:00Z",
        "strategy_name": "ada",
        "context": {"review": review, "revision": revision},
        "results": {"net_pnl": pnl, "win_rate": 0.5},
        "assessment": {"verdict": "weak_signal", "observations": list(observations)},
        "source": "review",
    }
    claim = Claim(
        key={"agent": "ada", "heuristic": "H-7"},
        text="Size up when right",
        rationale="first audited then",
        experiment=experiment["id"],
        created=experiment["timestamp"],
        tests=True,
        verdict=verdict,
        evidence={"grade": "supported" if verdict else "weak"},
    )
    return Judgement(review, experiment["timestamp"], (experiment,), (claim,))


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.yaml")}


def test_delivering_a_review_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    keep(judgement(), directory=tmp_path)
    before = files(tmp_path)
    keep(judgement(), directory=tmp_path)
    assert files(tmp_path) == before
    assert len(before) == 2


def test_a_new_revision_keeps_the_experiments_id_and_what_a_person_added(tmp_path: Path) -> None:
    keep(judgement(), directory=tmp_path)
    [path] = (tmp_path / "experiments").iterdir()
    text = (
        path.read_text()
        .replace("- one", "- one, and a lucky week  # says Ada")
        .replace("net_pnl: 5.0", "net_pnl: 5.0 # hm")
    )
    path.write_text(f"# see the notes\n{text}mood: low\n")
    again = judgement(2, pnl=-1.0, observations=("one", "three"))
    keep(again, directory=tmp_path, previous=judgement())
    assert [file.name for file in (tmp_path / "experiments").iterdir()] == [path.name]
    text = path.read_text()
    assert text.startswith("# see the notes\n")
    assert "net_pnl: -1.0 # hm\n" in text
    assert "one, and a lucky week  # says Ada" in text
    assert "mood: low\n" in text
    [record] = load_experiments(directory=tmp_path)
    assert record["context"]["revision"] == 2
    assert record["assessment"]["observations"] == ["one, and a lucky week", "three"]


def test_a_value_that_a_person_changed_stays_theirs(tmp_path: Path) -> None:
    keep(judgement(), directory=tmp_path)
    [path] = (tmp_path / "experiments").iterdir()
    path.write_text(path.read_text().replace("weak_signal", "overfit"))
    for _ in range(2):
        keep(judgement(2, pnl=9.0), directory=tmp_path, previous=judgement())
    [record] = load_experiments(directory=tmp_path)
    assert record["assessment"]["verdict"] == "overfit"
    assert record["results"]["net_pnl"] == 9.0


def test_where_nobody_knows_what_we_wrote_figures_are_ours_and_lists_are_theirs(tmp_path: Path) -> None:
    """Revision 1 is in the file, 2 was never delivered, 3 is: its figures stand, no observation is lost."""
    keep(judgement(), directory=tmp_path)
    keep(judgement(3, pnl=7.0, observations=("four",)), directory=tmp_path, previous=judgement(2))
    [record] = load_experiments(directory=tmp_path)
    assert record["results"]["net_pnl"] == 7.0
    assert record["assessment"]["observations"] == ["one", "two", "four"]


@pytest.mark.parametrize(
    ("theirs", "base", "ours", "result"),
    [
        (1, 1, 2, 2),
        (3, 1, 2, 3),
        ({"a": 1}, {"a": 1}, {}, {}),
        ({"a": 5}, {"a": 1}, {}, {"a": 5}),
        ({}, {"a": 1}, {"a": 2}, {}),  # a person took it out
        ({}, {}, {"a": 2}, {"a": 2}),
        ({"mine": 1}, {}, {"a": 2}, {"mine": 1, "a": 2}),
        (["x", "mine"], ["x"], ["y"], ["mine", "y"]),
        (["mine"], ["x", "y"], ["x", "y"], ["mine"]),
        ([], [], ["x"], ["x"]),
    ],
)
def test_three_way_merge(
    theirs: int | dict[str, Any] | list[str],
    base: int | dict[str, Any] | list[str],
    ours: int | dict[str, Any] | list[str],
    result: int | dict[str, Any] | list[str],
) -> None:
    assert merged(theirs, base, ours) == result


def test_two_reviews_whose_ids_meet_do_not_write_over_each_other(tmp_path: Path) -> None:
    """Six hexadecimal digits may coincide; then the second has a name of its own, also when it is written again."""
    keep(judgement(), directory=tmp_path)
    stranger = judgement()
    [experiment] = stranger.experiments
    other = replace(stranger, experiments=(experiment | {"context": {"review": "bob.weekly.2026-W10"}},))
    for _ in range(2):
        keep(other, directory=tmp_path)
    assert sorted(path.name for path in (tmp_path / "experiments").iterdir()) == [
        "exp_20260310_000000_abc123.yaml",
        "exp_20260310_000000_abc123_1.yaml",
    ]
    assert get_all_hypotheses(directory=tmp_path)[0]["tested_by"] == [
        "exp_20260310_000000_abc123",
        "exp_20260310_000000_abc123_1",
    ]


# hypotheses of heuristics


def status(directory: Path) -> tuple[str, int]:
    [hypothesis] = get_all_hypotheses(directory=directory)
    return hypothesis["status"], len(hypothesis["tested_by"])


def test_a_heuristic_is_one_hypothesis_whose_status_follows_the_newest_evidence(tmp_path: Path) -> None:
    keep(judgement(week=10), directory=tmp_path)
    assert status(tmp_path) == ("untested", 1)
    keep(judgement(week=11, verdict="validated"), directory=tmp_path)
    assert status(tmp_path) == ("validated", 2)
    keep(judgement(week=12), directory=tmp_path)  # the evidence is gone again
    assert status(tmp_path) == ("inconclusive", 3)
    keep(judgement(week=13, verdict="refuted"), directory=tmp_path)
    assert status(tmp_path) == ("refuted", 4)


def test_an_older_review_that_comes_late_adds_its_experiment_and_no_verdict(tmp_path: Path) -> None:
    keep(judgement(week=12, verdict="validated"), directory=tmp_path)
    keep(judgement(week=10, verdict="refuted"), directory=tmp_path)
    assert status(tmp_path) == ("validated", 2)


def test_a_status_that_a_person_set_stands(tmp_path: Path) -> None:
    keep(judgement(week=10), directory=tmp_path)
    path = tmp_path / "hypotheses.yaml"
    path.write_text(path.read_text().replace("status: untested", "status: refuted  # I know better"))
    keep(judgement(week=11, verdict="validated"), directory=tmp_path)
    assert status(tmp_path) == ("refuted", 2)
    assert "# I know better" in path.read_text()
    assert get_all_hypotheses(directory=tmp_path)[0]["evidence"]["says"] == "validated"


def test_a_damaged_registry_keeps_no_experiment_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "hypotheses.yaml").write_text("hypotheses: {")
    with pytest.raises(DamagedError, match=r"^hypotheses\.yaml: "):
        keep(judgement(), directory=tmp_path)
    assert len(load_experiments(directory=tmp_path)) == 1
    assert (tmp_path / "hypotheses.yaml").read_text() == "hypotheses: {"
    (tmp_path / "hypotheses.yaml").unlink()  # a person has seen to it
    keep(judgement(), directory=tmp_path)
    assert status(tmp_path) == ("untested", 1)


# from elsewhere

FOREIGN = """\
# bootstrapped
id: exp_v15_adx_only
timestamp: '2025-12-27T00:00:00Z'
strategy_name: v15_adx_only
context:
  indicators: [ADX]
results:
  test_accuracy: 0.5
  val_accuracy:
assessment:
  verdict: promising
source: v1.5_bootstrap
status: completed
"""


def foreign(folder: Path) -> Path:
    (folder / "experiments").mkdir(parents=True)
    (folder / "experiments" / "exp_v15_adx_only.yaml").write_text(FOREIGN)
    save_hypothesis(Hypothesis("", "ADX as a filter", "exp_v15_adx_only", "r"), directory=folder)
    return folder


def test_records_from_elsewhere_are_taken_in_letter_by_letter(tmp_path: Path) -> None:
    source, target = foreign(tmp_path / "theirs"), tmp_path / "ours"
    registry = "# theirs\n" + (source / "hypotheses.yaml").read_text()
    (source / "hypotheses.yaml").write_text(registry)
    assert import_records(source, directory=target).document() == {
        "source": str(source),
        "events": 2,
        "stored": 2,
        "unchanged": 0,
        "conflicts": 0,
        "faults": [],
    }
    assert (target / "experiments" / "exp_v15_adx_only.yaml").read_text() == FOREIGN
    assert (target / "hypotheses.yaml").read_text() == registry
    [record] = load_experiments(directory=target)
    assert record["results"] == {"test_accuracy": 0.5, "val_accuracy": None}
    assert "symbol" not in record["context"]
    again = import_records(source, directory=target)
    assert (again.stored, again.unchanged) == (0, 2)


def test_hypotheses_from_elsewhere_join_those_that_are_here(tmp_path: Path) -> None:
    source, target = foreign(tmp_path / "theirs"), tmp_path / "ours"
    save_hypothesis(Hypothesis("H_007", "ours", "exp_1", "r"), directory=target)
    done = import_records(source, directory=target)
    assert (done.stored, done.conflicts) == (2, [])
    assert [hypothesis["id"] for hypothesis in get_all_hypotheses(directory=target)] == ["H_007", "H_001"]


def test_the_folder_of_the_files_itself_will_do(tmp_path: Path) -> None:
    source, target = foreign(tmp_path / "theirs"), tmp_path / "ours"
    assert import_records(source / "experiments", directory=target).stored == 2


def test_what_is_here_under_the_same_id_stays_and_damage_is_told_of(tmp_path: Path) -> None:
    source, target = foreign(tmp_path / "theirs"), tmp_path / "ours"
    import_records(source, directory=target)
    (target / "experiments" / "exp_v15_adx_only.yaml").write_text("id: exp_v15_adx_only\nmine: 1\n")
    (source / "hypotheses.yaml").write_text("hypotheses:\n- {id: H_001, text: something else}\n- 3\n")
    (source / "experiments" / "bad.yaml").write_text("a: [")
    done = import_records(source, directory=target)
    assert (done.stored, done.unchanged, len(done.conflicts), len(done.faults)) == (0, 0, 2, 2)
    assert (target / "experiments" / "exp_v15_adx_only.yaml").read_text() == "id: exp_v15_adx_only\nmine: 1\n"
    assert [hypothesis["text"] for hypothesis in get_all_hypotheses(directory=target)] == ["ADX as a filter"]


def test_a_folder_imported_into_itself_changes_nothing(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs")
    before = files(source)
    assert import_records(source, directory=source).unchanged == 2
    assert files(source) == before


# in whatever order the reviews were finished


def life_of(verdicts: Sequence[Any], tests: Sequence[bool], name: str = "H-7") -> list[Judgement]:
    """The reviews of consecutive weeks: what each says of the one hypothesis, and whether it tested it."""
    reviews = []
    for number, (verdict, is_test) in enumerate(zip(verdicts, tests, strict=True)):
        review = judgement(week=10 + number, verdict=verdict)
        [claim] = review.claims
        claim = replace(
            claim,
            tests=is_test,
            rationale=f"heuristic {name}, first audited by {review.review}",
        )
        reviews.append(replace(review, claims=(claim,)))
    return reviews


def registry(reviews: Sequence[Judgement], directory: Path) -> dict[str, Any]:
    for review in reviews:
        keep(review, directory=directory)
    [hypothesis] = get_all_hypotheses(directory=directory)
    return hypothesis


def test_a_week_that_was_parked_and_finished_last_leaves_what_it_would_have_left_in_order(
    tmp_path: Path,
) -> None:
    weeks = life_of(["validated", None, None], [True, True, True])
    in_order = registry(weeks, tmp_path / "a")
    assert in_order["source_experiment"] == "exp_20260310_000000_abc123"
    assert in_order["tested_by"] == [f"exp_202603{week}_000000_abc123" for week in (10, 11, 12)]
    assert (in_order["status"], in_order["created"]) == ("inconclusive", "2026-03-10T00:00:00Z")
    assert in_order["rationale"] == "heuristic H-7, first audited by ada.weekly.2026-W10"
    assert registry([weeks[1], weeks[2], weeks[0]], tmp_path / "b") == in_order
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_a_weekly_and_an_epoch_review_that_end_together_may_be_finished_in_any_order(tmp_path: Path) -> None:
    week = judgement(verdict="validated")
    [claim] = week.claims
    epoch = replace(
        week,
        review="ada.epoch.2026-03-01",
        claims=(replace(claim, verdict=None, experiment="exp_20260310_000000_fff000"),),
    )
    assert registry([week, epoch], tmp_path / "a") == registry([epoch, week], tmp_path / "b")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_records_do_not_depend_on_the_order_in_which_reviews_were_finished(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    verdicts = data.draw(
        st.lists(st.sampled_from([None, "validated", "refuted", "inconclusive"]), min_size=n, max_size=n)
    )
    tests = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weeks = life_of(
        verdicts, tests, name="H-7 with a label as long as labels may be, longer than a line of YAML is"
    )
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        in_order = registry(weeks, Path(first))
        assert registry(data.draw(st.permutations(weeks)), Path(second)) == in_order
        assert files(Path(first)) == files(Path(second))
    newest = verdicts[-1]
    expected = newest or ("inconclusive" if any(verdicts) else "untested")
    assert in_order["status"] == expected
    assert in_order["source_experiment"] == weeks[0].experiments[0]["id"]
    assert in_order["tested_by"] == [
        week.experiments[0]["id"] for week, is_test in zip(weeks, tests, strict=True) if is_test
    ]


def test_a_person_s_reasons_and_wording_outlive_an_earlier_review(tmp_path: Path) -> None:
    weeks = life_of([None, None], [True, True])
    keep(weeks[1], directory=tmp_path)
    path = tmp_path / "hypotheses.yaml"
    text = path.read_text().replace("Size up when right", "Size up when sure")
    path.write_text(text.replace("heuristic H-7, first audited by ada.weekly.2026-W11", "Ada thought so"))
    keep(weeks[0], directory=tmp_path)
    [hypothesis] = get_all_hypotheses(directory=tmp_path)
    assert (hypothesis["text"], hypothesis["rationale"]) == ("Size up when sure", "Ada thought so")
    assert hypothesis["source_experiment"] == weeks[0].experiments[0]["id"]

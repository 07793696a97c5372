"""What a review writes into the records: once, again, and over what a person has changed; and records from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

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

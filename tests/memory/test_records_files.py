"""Experiments and hypotheses on disk: whole files, no change lost, people's words kept, damage told of and left alone."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from memory.errors import DamagedError, MissingError, RefusedError
from memory.instants import instant
from memory.records import (
    Busy,
    ExperimentRecord,
    Hypothesis,
    files,
    generate_experiment_id,
    generate_hypothesis_id,
    get_all_hypotheses,
    get_open_hypotheses,
    load_experiments,
    read_experiments,
    read_hypotheses,
    save_experiment,
    save_hypothesis,
    update_hypothesis_status,
)

FORK = multiprocessing.get_context("fork")


def record(identity: str, timestamp: str = "2026-03-01T00:00:00Z", **fields: Any) -> ExperimentRecord:
    return ExperimentRecord(
        id=identity,
        timestamp=timestamp,
        strategy_name="breakout",
        context={"symbol": "ETH/USDC"},
        results={"sharpe_ratio": 0.4},
        assessment={"verdict": "weak_signal", "observations": ["one"]},
        **fields,
    )


def hypothesis(identity: str = "", text: str = "It works") -> Hypothesis:
    return Hypothesis(identity, text, "exp_a", "because", created="2026-03-01T00:00:00Z")


# experiments


def test_an_experiment_is_one_file_with_its_keys_in_order(tmp_path: Path) -> None:
    path = save_experiment(record("exp_20260301_000000_abc123"), directory=tmp_path)
    assert path == tmp_path / "experiments" / "exp_20260301_000000_abc123.yaml"
    assert list(yaml.safe_load(path.read_text())) == [
        "id", "timestamp", "strategy_name", "context", "results", "assessment", "source",
    ]  # fmt: skip
    assert load_experiments(directory=tmp_path)[0]["results"] == {"sharpe_ratio": 0.4}


def test_saving_again_keeps_what_a_person_wrote_around_it(tmp_path: Path) -> None:
    path = save_experiment(record("exp_a"), directory=tmp_path)
    path.write_text("# do not repeat\n" + path.read_text().replace("0.4", "0.4  # hm") + "mine: yes please\n")
    changed = record("exp_a")
    changed.results["sharpe_ratio"] = 0.9
    save_experiment(changed, directory=tmp_path)
    text = path.read_text()
    assert "# do not repeat\n" in text
    assert "sharpe_ratio: 0.9  # hm\n" in text
    assert "mine: yes please\n" in text


def test_the_n_newest_come_first_by_their_timestamp_and_none_from_after_as_of(tmp_path: Path) -> None:
    """Not by file time, which a clone of the repository makes anew; naive times are UTC."""
    for identity, at in (
        ("a", "2026-03-01"),
        ("b", "2026-03-02T00:30:00+01:00"),
        ("c", "2026-03-02T00:00:00"),
        ("d", "soon"),
    ):
        save_experiment(record(identity, at), directory=tmp_path)
    ids = [experiment["id"] for experiment in load_experiments(None, directory=tmp_path)]
    assert ids == ["c", "b", "a", "d"]
    assert [experiment["id"] for experiment in load_experiments(1, directory=tmp_path)] == ["c"]
    experiments = load_experiments(1, directory=tmp_path, as_of=instant("2026-03-01T23:45:00Z"))
    assert [experiment["id"] for experiment in experiments] == ["b"]


def test_no_directory_is_no_records(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert load_experiments(directory=nowhere) == []
    assert get_all_hypotheses(directory=nowhere) == []
    assert not nowhere.exists()


def test_a_damaged_experiment_is_named_passed_over_and_left_as_it_is(tmp_path: Path) -> None:
    intact = save_experiment(record("exp_good"), directory=tmp_path)
    bad = intact.with_name("exp_bad.yaml")
    bad.write_text("id: exp_bad\nresults: [unclosed\n")
    experiments = read_experiments(tmp_path)
    assert [experiment["id"] for experiment in experiments.records] == ["exp_good"]
    assert [(trouble.path, "line 2" in trouble.reason) for trouble in experiments.troubles] == [
        (str(bad), True)
    ]
    with pytest.raises(DamagedError):
        save_experiment(record("exp_bad"), directory=tmp_path)
    assert bad.read_text() == "id: exp_bad\nresults: [unclosed\n"


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"- a list", b"just words", b"results: 3", b"a: 1\n---\nb: 2", b"[" * 9000]
)
def test_every_kind_of_damage_is_told_of(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "exp_x.yaml").write_bytes(content)
    experiments = read_experiments(tmp_path)
    assert experiments.records == ()
    assert len(experiments.troubles) == 1


def test_foreign_ids_verdicts_and_keys_are_kept(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    text = "strategy_name: v15\nassessment: {verdict: promising}\nstatus: gate_rejected\nresults: {val_accuracy: null}\n"
    (tmp_path / "experiments" / "exp_v15_rsi.yaml").write_text(text)
    assert load_experiments(directory=tmp_path) == [
        {
            "id": "exp_v15_rsi",
            "strategy_name": "v15",
            "assessment": {"verdict": "promising"},
            "status": "gate_rejected",
            "results": {"val_accuracy": None},
            "context": {},
        }
    ]


@pytest.mark.parametrize("identity", ["", "../up", "a/b", ".hidden", "a\n", "x" * 201, "nul\0"])
def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path, identity: str) -> None:
    with pytest.raises(RefusedError):
        save_experiment(record(identity), directory=tmp_path)


def test_a_metric_that_is_not_finite_is_refused_at_the_door(tmp_path: Path) -> None:
    bad = record("exp_a")
    bad.results["sharpe_ratio"] = float("nan")
    with pytest.raises(RefusedError, match="finite"):
        save_experiment(bad, directory=tmp_path)
    assert load_experiments(directory=tmp_path) == []


def test_the_id_of_an_experiment_follows_from_when_and_what() -> None:
    at = instant("2025-12-28T14:30:52Z")
    identity = generate_experiment_id(at, "ada.weekly.2025-W52", "H-7")
    assert identity == generate_experiment_id(at, "ada.weekly.2025-W52", "H-7")
    assert identity.startswith("exp_20251228_143052_")
    assert len(identity.rsplit("_", 1)[1]) == 6
    assert identity != generate_experiment_id(at, "ada.weekly.2025-W52", "H-8")


# hypotheses


def test_hypotheses_are_numbered_one_after_the_other(tmp_path: Path) -> None:
    assert generate_hypothesis_id(directory=tmp_path) == "H_001"
    assert [save_hypothesis(hypothesis(), directory=tmp_path) for _ in range(2)] == ["H_001", "H_002"]
    save_hypothesis(hypothesis("H_INV_007"), directory=tmp_path)
    save_hypothesis(hypothesis("H_041"), directory=tmp_path)
    assert generate_hypothesis_id(directory=tmp_path) == "H_042"


def test_the_life_of_a_hypothesis(tmp_path: Path) -> None:
    """Seed 001, scenario 3: seen open, tested, settled; the experiment that did it is on record, once."""
    first = save_hypothesis(hypothesis(), directory=tmp_path)
    save_hypothesis(hypothesis(text="Another"), directory=tmp_path)
    for _ in range(2):
        update_hypothesis_status(first, "validated", "exp_9", directory=tmp_path)
    assert [entry["text"] for entry in get_open_hypotheses(directory=tmp_path)] == ["Another"]
    settled = get_all_hypotheses(directory=tmp_path)[0]
    assert (settled["status"], settled["tested_by"]) == ("validated", ["exp_9"])


def test_a_status_that_is_none_and_an_id_nobody_has_are_refused(tmp_path: Path) -> None:
    save_hypothesis(hypothesis(), directory=tmp_path)
    with pytest.raises(RefusedError, match="status"):
        update_hypothesis_status("H_001", "promising", "exp_a", directory=tmp_path)
    before = (tmp_path / "hypotheses.yaml").read_bytes()
    with pytest.raises(MissingError):
        update_hypothesis_status("H_009", "refuted", "exp_a", directory=tmp_path)
    assert (tmp_path / "hypotheses.yaml").read_bytes() == before


@pytest.mark.parametrize("content", ["hypotheses: {", "hypotheses: 3\n", "words\n"])
def test_a_damaged_registry_is_never_rewritten(tmp_path: Path, content: str) -> None:
    path = tmp_path / "hypotheses.yaml"
    path.write_text(content)
    assert read_hypotheses(tmp_path).records == ()
    assert [trouble.path for trouble in read_hypotheses(tmp_path).troubles] == [str(path)]
    with pytest.raises(DamagedError):
        save_hypothesis(hypothesis(), directory=tmp_path)
    assert path.read_text() == content


def test_a_damaged_entry_hides_no_other_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "hypotheses.yaml"
    path.write_text(
        "hypotheses:\n- just words\n- {id: H_001, text: good}\n- {id: H_001, text: twice}\n- {id: H_002}\n"
    )
    hypotheses = read_hypotheses(tmp_path)
    assert [entry["text"] for entry in hypotheses.records] == ["good"]
    assert len(hypotheses.troubles) == 3
    assert save_hypothesis(hypothesis(), directory=tmp_path) == "H_003"
    assert "- just words\n" in path.read_text()


def test_a_registry_that_is_a_bare_list_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "hypotheses.yaml"
    path.write_text("- {id: H_001, text: first, status: untested}\n")
    save_hypothesis(hypothesis(text="second"), directory=tmp_path)
    assert [entry["text"] for entry in yaml.safe_load(path.read_text())] == ["first", "second"]


# writers beside each other


def _add(directory: Path, count: int) -> None:
    for _ in range(count):
        save_hypothesis(hypothesis(text=f"of process {os.getpid()}"), directory=directory)


def test_writers_beside_each_other_lose_nothing_and_take_no_number_twice(tmp_path: Path) -> None:
    writers = [FORK.Process(target=_add, args=(tmp_path, 8)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    ids = [entry["id"] for entry in get_all_hypotheses(directory=tmp_path)]
    assert sorted(ids) == [f"H_{number:03d}" for number in range(1, 33)]


def test_what_an_editor_saves_while_we_write_is_not_lost(tmp_path: Path) -> None:
    """An editor knows no lock: the file is compared once more before it is replaced."""
    path = tmp_path / "notes.yaml"
    path.write_text("a: 1\n")
    texts = []

    def change(text: str | None) -> str:
        texts.append(text)
        if len(texts) == 1:
            path.write_text("a: 1\nb: 2\n")
        return f"{text}c: 3\n"

    assert files.update(path, change)
    assert texts == ["a: 1\n", "a: 1\nb: 2\n"]
    assert path.read_text() == "a: 1\nb: 2\nc: 3\n"


def test_a_file_that_never_rests_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"

    def change(text: str | None) -> str:
        path.write_text(f"{text}x")
        return "ours"

    with pytest.raises(Busy):
        files.update(path, change)
    assert "ours" not in path.read_text()


def test_a_lock_that_is_not_let_go_of_is_an_answer_and_not_a_wait_for_ever(tmp_path: Path) -> None:
    with (
        files.locked(tmp_path),
        pytest.raises(Busy, match="another process"),
        files.locked(tmp_path, patience_s=0.05),
    ):
        pass


def _killed_at_rename(directory: Path) -> None:
    os.replace = lambda *_: os._exit(9)
    save_experiment(record("exp_a", source="second"), directory=directory)


def test_a_writer_killed_before_the_rename_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = save_experiment(record("exp_a"), directory=tmp_path)
    before = path.read_bytes()
    process = FORK.Process(target=_killed_at_rename, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert path.read_bytes() == before
    assert [experiment["id"] for experiment in load_experiments(directory=tmp_path)] == ["exp_a"]
    save_experiment(record("exp_a", source="second"), directory=tmp_path)
    assert load_experiments(directory=tmp_path)[0]["source"] == "second"


def test_a_link_is_followed_and_permissions_stay(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.yaml"
    real.write_text("hypotheses: []\n")
    real.chmod(0o640)
    (tmp_path / "hypotheses.yaml").symlink_to(real)
    save_hypothesis(hypothesis(), directory=tmp_path)
    assert (tmp_path / "hypotheses.yaml").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "H_001" in real.read_text()

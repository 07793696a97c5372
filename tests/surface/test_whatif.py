"""`retro whatif` as a person or a program meets it."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest

from retro.evaluate.whatif.rule import GRID
from retro.report.evaluators.shadows import ShadowRow
from retro.report.evaluators.whatif import WhatIfReport
from tests.worlds.commands import Retro, retro, sample_db

__all__ = ["retro", "sample_db"]


@pytest.mark.parametrize(
    "rule",
    [
        *("", "stop", "stop 3%", "stop -3", "stop -0%", "stop -x%", "take -3%", "take 3", "trail -1R"),
        *("exit-after", "exit-after 2", "exit-after -2h", "exit-after 0h", "size-cap", "size-cap -5"),
        *("size-cap 0", "size-cap nan", "half-size", "without", "without hour:24", "without hour:x"),
        *("without tag:", "without colour:red", "hold 3h", "STOP -3%", "stop -1e3%", "stop -3% take 2%"),
    ],
)
def test_what_is_no_rule_gets_one_line_that_names_it_and_what_would_be_one(
    rule: str, sample_db: Path, retro: Retro
) -> None:
    result = retro("--db", sample_db, "whatif", "stop -3%", rule)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.strip().splitlines()) == 1
    assert repr(rule) in result.err
    assert "exit-after 48h | stop -3% | stop -1.5R" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a rule"),
        (["stop -3%", "--slippage-bps", "-1"], "--slippage-bps"),
        (["stop -3%", "--slippage-bps", "nan"], "--slippage-bps"),
        (["stop -3%", "--from", "yesterday"], "--from"),
        (["stop -3%", "--from", "2026-03-02", "--to", "2026-03-01"], "is not before"),
        (["stop -3%", "--as-of", "then"], "--as-of"),
        (["stop -3%", "--agent", "nobody"], "nobody"),
    ],
)
def test_a_question_that_cannot_be_asked_says_which_word_is_wrong(
    words: list[str], said: str, sample_db: Path, retro: Retro
) -> None:
    result = retro("--db", sample_db, "whatif", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_the_answer_is_what_its_schema_says_and_rules_come_in_the_order_asked(
    sample_db: Path, retro: Retro
) -> None:
    rules = ["without H-7", "stop  -3%", "without tag:<b>x</b>"]
    answer = retro("--db", sample_db, "whatif", *rules, "--grid", "--json").data
    jsonschema.Draft202012Validator(WhatIfReport.model_json_schema()).validate(answer)
    assert [row["rule"] for row in answer["rules"]] == [*rules, *GRID]
    assert answer["search"]["tried"] == 26, "stop -3% is one of the grid's, however it is typed"
    for row in answer["rules"]:
        assert row["touched"] + row["untouched"] + row["skipped"] == answer["positions"]
        assert len(row["rows"]) == answer["positions"] - row["skipped"]
    assert answer == retro("--db", sample_db, "whatif", *rules, "--grid", "--json").data
    before = retro("--db", sample_db, "whatif", "stop -3%", "--as-of", "2026-02-01", "--json").data
    assert 0 < before["positions"] < answer["positions"]


def test_the_page_says_hindsight_search_n_and_intervals_within_80_columns(
    sample_db: Path, retro: Retro
) -> None:
    page = retro("--db", sample_db, "whatif", "--grid", "without tag:" + "x" * 90 + "\x1b[31m").out
    assert all(len(line) <= 80 for line in page.splitlines())
    words = " ".join(page.split())
    assert re.search(r"[0-9,]+ positions, \w+; best of 25 tried; p [0-9.]+ once the search is counted", words)
    assert "Hindsight: every price was known." in words
    assert " .. " in words
    assert "\x1b" not in page


def test_shadows_are_data_as_their_schema_says_and_a_page_within_80_columns(
    sample_db: Path, retro: Retro, tmp_path: Path
) -> None:
    tables = "".join(
        f"[[shadow]]\nname = '{name}'\nrule = '{rule}'\nsince = 2026-01-05\n"
        for name, rule in (("tight", "stop -1%"), ("never-cite-the-seventh-rule", "without H-7"))
    )
    (tmp_path / "config.toml").write_text(tables)
    answer = retro("--db", sample_db, "shadows", "--json").data
    assert [(row["name"], row["rule"]) for row in answer] == [
        ("half-risk", None),  # the sample agent runs it itself
        ("never-cite-the-seventh-rule", "without H-7"),
        ("tight", "stop -1%"),
    ]
    for row in answer:
        jsonschema.Draft202012Validator(ShadowRow.model_json_schema()).validate(row)
        assert row["rule"] is None or row["since"] == "2026-01-05"
    page = retro("--db", sample_db, "shadows").out
    assert all(len(line) <= 80 for line in page.splitlines())
    assert "Nothing of this is applied." in " ".join(page.split())


def test_without_a_shadow_it_says_how_to_run_one(retro: Retro, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"type":"equity","id":"e","agent":"a","at":"2026-01-05T00:00:00Z","value":9}\n'
    )
    assert retro("--db", "x.db", "ingest", "journal", "x.jsonl").code == 0
    result = retro("--db", "x.db", "shadows")
    assert (result.code, result.out) == (0, "")
    assert "[[shadow]]" in result.err
    assert retro("--db", "x.db", "shadows", "--json").data == []

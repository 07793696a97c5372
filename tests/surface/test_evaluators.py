"""What the commands of the evaluators print: data as documented, tables within 80 columns, one clear error."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.worlds.commands import CommandResult, Retro, retro

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["retro"]

DAY, START = 86_400_000, 1_711_324_800_000
DAY_0 = date(2024, 3, 25)


def life() -> list[dict[str, Any]]:
    """Forty positions of a day, each with a forecast of 10 where 7 came, and each forecast resolved by the agent."""
    events: list[dict[str, Any]] = []
    for n in range(40):
        at, mine = START + n * DAY, {"agent": "a", "position": f"p{n}"}
        fill = {"type": "fill", **mine, "instrument": "X/USDC", "quantity": 1}
        price = 107 if n % 2 else 108
        events += [
            {"type": "position", "id": f"o{n}", **mine, "at": at, "kind": "spot", "instrument": "X/USDC"},
            {**fill, "id": f"b{n}", "at": at, "side": "buy", "price": 100},
            {**fill, "id": f"s{n}", "at": at + DAY - 1000, "side": "sell", "price": price},
            {"type": "prediction", "id": f"q{n}", **mine, "at": at, "category": "position_pnl"}
            | {"predicted": 10, "confidence": 0.9, "regime": "a rather long regime's name"},
            {"type": "resolution", "id": f"r{n}", "agent": "a", "prediction": f"q{n}", "at": at + DAY - 500}
            | {"actual": price - 100, "correct": n % 2 == 0},
        ]
    return events


@pytest.fixture
def command(tmp_path: Path, retro: Retro) -> Retro:
    path = tmp_path / "life.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in life()))
    assert retro("ingest", "journal", path).code == 0
    return retro


def lines(result: CommandResult) -> list[str]:
    assert result.code == 0, result.err
    printed = result.out.splitlines()
    assert max(map(len, printed)) <= 80
    assert not any(line.endswith("…") for line in printed), "columns fit"
    return printed


def test_forecasts_of_whole_positions_are_a_quarter_too_high(command: Retro) -> None:
    pooled, own = command("predictions", "hindsight", "--json").data
    assert (pooled["kind"], pooled["regime"], pooled["horizon"], pooled["n"]) == ("spot", "any", "4h", 40)
    assert pooled["relative_bias"] == pytest.approx(0.25)
    assert own["regime"] == "a rather long regime's name"
    assert any("+2.5" in line and "25 %" in line for line in lines(command("predictions", "hindsight")))


def test_learning_is_a_page_of_few_lines_and_data_with_a_reason_for_each_null(command: Retro) -> None:
    data = command("learning", "--json").data
    assert list(data) == [
        *("week", "score", "groups", "negative_weeks", "ageing_multiplier", "epistemic_multiplier"),
        *("half_life_days", "survival", "competence", "generations", "reasons"),
    ]
    assert list(data["groups"]) == ["corrector", "memory", "attention", "heuristics", "generations"]
    assert all(f"groups.{name}" in data["reasons"] for name, delta in data["groups"].items() if delta is None)
    assert {"score", "half_life_days", "survival", "competence", "generations"} <= data["reasons"].keys()
    printed = lines(command("learning"))
    assert any(line.startswith("  - Rules: no rule was ever active") for line in printed)


def test_before_the_first_week_is_over_learning_compares_nothing(retro: Retro, tmp_path: Path) -> None:
    path = tmp_path / "days.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in life()[:10]))
    assert retro("ingest", "journal", path).code == 0
    printed = lines(retro("learning"))
    text = " ".join(" ".join(printed).split())
    assert "No week is over yet: nothing can be compared." in text
    assert "against the week before" not in text
    assert all(line == line.rstrip() for line in printed)
    assert printed[-1].strip()


def test_an_agent_is_not_its_own_predecessor(retro: Retro, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[agent.a]\npredecessor = "a"\n')
    result = retro("doctor")
    assert "predecessor must name another agent" in " ".join(result.out.split())
    assert result.code != 0


def test_summaries_of_epochs_go_where_their_agent_goes(command: Retro, tmp_path: Path) -> None:
    rows = command("evaluations", "--json").data
    assert list(rows[0]) == ["agent", "evaluator", "key", "from", "to", "n", "statistics"]
    assert [row["n"] for row in rows if row["key"][1] == "any"] == [30, 30, 10, 10]
    assert len(lines(command("evaluations"))) > len(rows)
    assert command("export", "a", tmp_path / "exported").code == 0
    other = ("--db", str(tmp_path / "other.db"))
    assert command(*other, "import", tmp_path / "exported").code == 0
    assert command(*other, "evaluations", "--json").data == rows
    assert command("agents", "rename", "a", "z", "--yes").code == 0
    assert command("evaluations", "--json").data == [{**row, "agent": "z"} for row in rows]
    assert command("agents", "forget", "z", "--yes").code == 0
    assert command("evaluations", "--json").code != 0


def test_of_two_lives_merged_the_epochs_are_those_of_one(retro: Retro, tmp_path: Path) -> None:
    halves = [event | {"agent": "b" if event["at"] >= START + 20 * DAY else "a"} for event in life()]
    for name, events in (("whole", life()), ("halves", halves)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        assert retro("--db", f"{name}.db", "ingest", "journal", tmp_path / f"{name}.jsonl").code == 0
    assert retro("--db", "halves.db", "agents", "merge", "b", "a", "--yes").code == 0
    merged = retro("--db", "halves.db", "evaluations", "--json").data
    assert merged == retro("--db", "whole.db", "evaluations", "--json").data


def test_what_is_forecast_and_what_a_confidence_is_worth(command: Retro) -> None:
    answer = command(
        "predictions", "correct", "--category", "position_pnl", "--predicted", "10", "--json"
    ).data
    assert (answer["centre"], answer["low"], answer["high"], answer["n"]) == (7.5, 7, 8, 40)
    worth = command("calibration", "of", "--category", "position_pnl", "--confidence", "0.9", "--json").data
    assert (worth["confidence"], worth["n"], worth["key"]) == (0.5, 40, ["position_pnl", "any"])
    for words in (("predictions",), ("calibration",)):
        assert len(lines(command(*words))) >= 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("predictions", "correct", "--category", "x", "--predicted", "nan"), "predicted: nan"),
        (("calibration", "of", "--category", "x", "--confidence", "1.5"), "confidence: 1.5"),
    ],
)
def test_a_figure_that_cannot_be_is_one_sentence_and_exit_2(
    command: Retro, words: tuple[str, ...], said: str
) -> None:
    result = command(*words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def wide() -> list[dict[str, Any]]:
    """Eighty positions of a million, of long names, each with forecasts far off, a shadow, and a tier that costs."""
    events: list[dict[str, Any]] = []
    regime, category = "a rather long regime's name", "position_pnl_but_longer"
    for n in range(80):
        at, mine = START + n * DAY, {"agent": "a", "position": f"a-rather-long-position-{n}"}
        price, tier = (93.37, 99.1, 104.77, 108.13)[n * n % 7 % 4], "T1" if n % 3 else "T2"
        fill = {"type": "fill", **mine, "instrument": "X/USDC", "quantity": 10_000}
        claim = {"type": "prediction", **mine, "at": at, "confidence": 0.9, "regime": regime}
        items = (
            ["memory:an-item-with-a-long-name", "tool:b"] if n % 3 else ["tool:with-a-very-very-long-name"]
        )
        events += [
            {"type": "position", "id": f"o{n}", **mine, "at": at, "kind": "spot", "instrument": "X/USDC"},
            {"type": "decision", "id": f"d{n}", **mine, "at": at, "action": "enter", "tier": tier}
            | {"cites": [f"H-{n % 2}", "a-tag-with-a-rather-long-name"], "context_items": items},
            {**fill, "id": f"b{n}", "at": at, "side": "buy", "price": 100},
            {**fill, "id": f"s{n}", "at": at + DAY - 1000, "side": "sell", "price": price},
            {"type": "cost", "id": f"c{n}", "agent": "a", "at": at, "kind": "inference", "amount": 123.4567}
            | {"tier": tier},
            claim
            | {"id": f"q{n}", "decision": f"d{n}", "category": category, "predicted": 123_456.7 * (1 + n % 4)}
            | {"low": -1e6, "high": 2e5},
            claim | {"id": f"z{n}", "category": "position_pnl", "predicted": 65_432.1},
            {"type": "resolution", "id": f"r{n}", "agent": "a", "prediction": f"q{n}", "at": at + DAY - 500}
            | {"actual": 10_000 * (price - 100), "correct": n % 2 == 0},
            {
                "type": "shadow",
                "id": f"t{n}",
                "agent": "a",
                "at": at + DAY,
                "shadow": "a-shadow-of-a-long-name",
            }
            | {"day": (DAY_0 + timedelta(days=n)).isoformat(), "pnl": -123_456.78 * (n % 3)},
        ]
        events += [
            {
                "type": "mark",
                "id": f"m{n}-{h}",
                "agent": "a",
                "at": at + h * 3_600_000,
                "instrument": "X/USDC",
            }
            | {"price": 100 + (price - 100) * (-1 if h < 12 else 1) * h / 24}
            for h in range(24)
        ]
    return events


def in_every_format(retro: Retro, *words: str) -> list[str]:
    """The lines of a page at a terminal, when each of its figures stands in the other formats, too."""
    printed = lines(retro(*words))
    figures = set(re.findall(r"[+-]?\d[\d,]*\.\d+", "\n".join(printed)))
    for form in ("md", "html"):
        other = retro(*words, "--format", form)
        assert other.code == 0, other.err
        text = other.out.replace("&#46;", ".")
        assert {figure for figure in figures if figure not in text} == set(), (words, form)
    return printed


def test_no_figure_is_cut_however_long_the_names_and_wide_the_amounts(retro: Retro, tmp_path: Path) -> None:
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in wide()))
    assert retro("ingest", "journal", path).code == 0
    pages = {
        words: in_every_format(retro, *words.split(), "--agent", "a")
        for words in (
            *("predictions", "predictions hindsight", "calibration", "dreams", "shadows", "tiers"),
            *("attribution", "learning", "luck", "whatif --grid", "evaluations"),
        )
    }
    for words, printed in pages.items():
        assert len(printed) >= 4, words
        # an agent's names may be cut, which stand left of the first figure
        assert not any(re.search(r"[0-9]…|\b(ala|2024)…", line) for line in printed), words
    assert any(line.endswith("2024-06-12") for line in pages["attribution"])
    assert any("take 3%" in line and line.endswith("0.0001") for line in pages["whatif --grid"])
    assert any("50 % (80)" in line for line in pages["tiers"])

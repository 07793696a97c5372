"""`make demo`: what a person with nothing sees first, and the sample agent it is made of."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import playbook
from tests.worlds.commands import Demo, demo
from tests.worlds.places import ROOT

__all__ = ["demo"]


def test_it_speaks_on_standard_output_only(demo: Demo) -> None:
    assert demo.err == ""
    assert "retro ingest journal examples/sample/agent.jsonl" in demo.out
    assert "0 conflicts, 0 faults" in demo.out
    assert str(demo.place) not in demo.out, "every path is relative to the repository"


def test_the_weekly_review_stands_on_the_screen(demo: Demo) -> None:
    printed = demo.out.partition("$ retro review weekly\n")[2]
    assert printed.lstrip().startswith("WEEKLY REVIEW: sample")
    assert max(map(len, printed.splitlines())) <= 80


def test_every_file_it_names_is_there_and_whole(demo: Demo) -> None:
    named = demo.out.partition("The reviews as files:")[2].split()
    assert {Path(name).suffix for name in named} == {".html", ".md", ".json"}
    assert {Path(name).stem for name in named} == {"weekly", "daily", "position-lp-2"}
    for name in named:
        text = (demo.place / name).read_text(encoding="utf-8")
        assert len(text) > 1000, name
        if name.endswith(".html"):
            HTMLParser().feed(text)
            assert text.rstrip().endswith("</html>")
            assert not re.search(r"<script|src=[\"']https?:|@import", text), (
                "self-contained, and runs nothing"
            )


def test_the_evaluators_have_something_to_show(demo: Demo) -> None:
    """Shadows told and run by rule, a rule that died, a benchmark beside what trades made, pages with diagrams."""
    assert re.search(r"early-exit +exit-after 12h +\d+/35", demo.out)
    assert re.search(r"half-risk +\S+ +35/35", demo.out)
    assert "Rules: more than half live on: 80 % of 5 survive, 1 died." in demo.out
    assert "0.80 is worth 0.64" in demo.out
    assert demo.document("weekly.json")["benchmark"]["instrument"] == "ETH/USDC"
    assert demo.file("learning.html").count("<polyline") == 1, "the survival of its rules"
    for name in ("calibration", "luck", "learning", "whatif"):
        assert f"demo/{name}.html" in demo.out
        assert "<svg" in demo.file(f"{name}.html")


def test_h_7_is_demoted_on_weak_evidence(demo: Demo) -> None:
    """Seed 004's example: +2.10, -4.80, -3.60 average -2.10."""
    rows = demo.document("weekly.json")["heuristic_performance"]
    (row,) = [row for row in rows if row["heuristic_id"] == "H-7" and row["role"] == "entry"]
    assert row["recommendation"]["kind"] == "demote"
    assert row["evidence"] == "weak"
    assert row["evaluated_count"] == 3
    assert row["avg_pnl_per_citation"] == pytest.approx(-2.10, abs=1e-6)
    assert row["win_rate"] == pytest.approx(1 / 3)
    assert row["heuristic_text"] == "Increase position size when accuracy is above 80 %"
    assert re.search(r"H-7 +entry DEMOTE +-2\.10 USDC avg\n +weak \(1\.2 to 1\): 3 citations", demo.out)
    assert {row["heuristic_id"] for row in rows} >= {"H-3", "H-7", "H-12", "H-15"}


def test_an_lp_earned_fees_and_lost_to_inaction(demo: Demo) -> None:
    life = demo.document("position-lp-2.json")
    assert life["kind"] == "lp"
    assert life["attribution"]["lp_fees_earned"] > 1
    assert life["attribution"]["impermanent_loss"] > 1
    assert life["vs_inaction"] < -1
    assert life["regret"] > 5
    assert life["exit_reason"] == "out of range"
    assert re.search(r"LP fees earned .* \+4\.\d\d", demo.out)
    assert re.search(r"Against doing nothing +-5\.\d\d USDC", demo.out)


def test_the_life_has_a_bit_of_everything(demo: Demo) -> None:
    weekly = demo.document("weekly.json")
    kinds = {life["kind"] for life in weekly["positions"]}
    assert kinds == {"spot", "perp", "lp", "lending"}
    pnl = weekly["pnl"]
    signs = {
        "lp_fees_earned": 1, "lending_interest_earned": 1, "borrow_interest": -1, "staking_rewards": 1, "funding": 1,
        "trading_gains": 1, "trading_losses": -1, "impermanent_loss": -1, "gas_costs": -1, "inference_costs": -1,
        "data_costs": -1, "unrealized_pnl": 1, "wallet_pnl": 1, "implausible_pnl": 1, "unattributed": 1,
    }  # fmt: skip
    assert sum(sign * (pnl[name] or 0) for name, sign in signs.items()) == pytest.approx(
        pnl["total"], abs=1e-9
    )
    assert pnl["lp_fees_earned"] > 0
    assert pnl["lending_interest_earned"] > 0
    assert weekly["prediction_accuracy"]["total"] >= 10
    assert weekly["costs"]["inference"] > 0
    assert weekly["data_quality"]["warnings"] == []


def test_the_journal_is_what_its_generator_makes_byte_for_byte(tmp_path: Path) -> None:
    sample = ROOT / "examples" / "sample"
    shutil.copy(sample / "generate.py", tmp_path)
    subprocess.run([sys.executable, "generate.py"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "agent.jsonl").read_bytes() == (sample / "agent.jsonl").read_bytes()
    assert (sample / "agent.jsonl").stat().st_size < 2_000_000


def test_the_playbook_is_sound_and_knows_what_is_cited() -> None:
    book = playbook.parse((ROOT / "examples" / "sample" / "PLAYBOOK.md").read_bytes())
    assert list(book.faults) == []
    cited = set(re.findall(r"\bH-\d+\b", (ROOT / "examples" / "sample" / "agent.jsonl").read_text()))
    assert cited == {heuristic.id for heuristic in book.heuristics} == {"H-3", "H-7", "H-12", "H-15"}

"""In which unit verdicts are: a bot stakes what its owner gave it, so a dollar says nothing of it; its risk does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.commands import JOURNAL, Retro, retro
from tests.worlds.freqtrade_databases import Order, Trade, write

__all__ = ["retro"]

AT = "2026-01-{:02d} {:02d}:00:00.000000"


def bots(stops: list[float], stake: str = "USDT", exit_price: float = 98.0) -> list[Trade]:
    """Round trips of a tenth of a unit from 100 to 98, free of fees, tagged `dip`."""
    return [
        Trade(
            [Order(True, 0.1, 100.0, AT.format(5, hour)), Order(False, 0.1, exit_price, AT.format(6, hour))],
            id=hour,
            pair=f"ETH/{stake}",
            stake=stake,
            fee=0.0,
            stop=stop,
            enter_tag="dip",
        )
        for hour, stop in enumerate(stops, start=1)
    ]


def verdict(retro: Retro, trades: list[Trade], *words: str, db: str = "a.db") -> dict[str, Any]:
    write(Path(f"{db}.sqlite"), trades)
    assert retro("--db", db, "ingest", "freqtrade", f"{db}.sqlite").code == 0
    rows = retro(*words, "--db", db, "review", "weekly", "--at", "2026-01-06", "--json").data
    (row,) = (row for row in rows["heuristic_performance"] if row["role"] == "entry")
    found: dict[str, Any] = row
    return found


def test_verdicts_on_a_bot_are_in_r_where_most_positions_know_their_risk(retro: Retro) -> None:
    """A loss of 0.20 at a risk of 0.1 x 1 each: -2 R, which in dollars would be kept out of every verdict."""
    row = verdict(retro, bots([99.0, 99.0, 99.0, 0.0]))
    assert (row["threshold_unit"], row["recommendation"]["kind"]) == ("r", "demote")
    assert abs(row["avg_in_unit"] + 2) < 1e-9
    assert row["recommendation"]["reason"] == "average -2.00 R over 3, below -0.10 R"


@pytest.mark.parametrize(
    ("exits", "kind", "average"),
    [(99.8, "demote", -0.2), (99.95, "investigate", -0.05), (100.1, "keep", 0.1)],
)
def test_the_outcomes_of_a_bot_can_be_demoted_and_kept(
    retro: Retro, exits: float, kind: str, average: float
) -> None:
    """In R as bots make it: ten tags of public bots with 20 trades or more average from -0.18 to +0.13 R."""
    row = verdict(retro, bots([99.0] * 4, exit_price=exits))
    assert row["recommendation"]["kind"] == kind
    assert abs(row["avg_in_unit"] - average) < 1e-9


@pytest.mark.parametrize(
    ("exits", "kind"), [(99.85, "demote"), (99.95, "investigate"), (100.02, "investigate"), (100.1, "keep")]
)
def test_in_basis_points_a_losing_rule_is_one_that_loses_half_a_round_trips_fees(
    retro: Retro, exits: float, kind: str
) -> None:
    """-15, -5, +2 and +10 bps against -10 and +5."""
    assert verdict(retro, bots([0.0] * 3, exit_price=exits))["recommendation"]["kind"] == kind


def test_outcomes_without_a_known_risk_are_too_few_and_no_grade_stands_beside_that(retro: Retro) -> None:
    """Two of five know their risk, the owner says R: no verdict, and the page names no evidence for one."""
    Path("own.toml").write_text('[retrospective]\nheuristic_threshold_unit = "r"\n')
    row = verdict(retro, bots([99.0, 99.0, 0.0, 0.0, 0.0]), "--config", "own.toml")
    assert row["recommendation"] == {
        "kind": "insufficient_data",
        "reason": "5 evaluated, the risk (R) of 2 known, 3 are needed",
    }
    week = ("review", "weekly", "--at", "2026-01-06", "--format", "text")
    text = " ".join(retro("--config", "own.toml", "--db", "a.db", *week).out.split())
    assert "INSUFFICIENT DATA" in text
    assert not re.search(
        r"dip entry INSUFFICIENT DATA[^.]{0,60}(no evidence|weak|suggestive|supported)", text
    )
    audit = retro("--config", "own.toml", "--db", "a.db", "playbook", "audit").out
    (line,) = (line for line in audit.splitlines() if "dip" in line and "entry" in line)
    assert not re.search("none|weak|suggestive|supported", line)


def test_else_they_are_in_basis_points_of_what_was_put_in(retro: Retro) -> None:
    row = verdict(retro, bots([99.0, 99.0, 0.0, 0.0]))
    assert row["threshold_unit"] == "bps"
    assert abs(row["avg_in_unit"] + 200) < 1e-9
    assert "-200.00 bps of notional" in row["recommendation"]["reason"]


def test_a_bot_that_counts_in_bitcoin_is_measured_alike(retro: Retro) -> None:
    assert verdict(retro, bots([99.0] * 3, "BTC"))["threshold_unit"] == "r"
    assert verdict(retro, bots([0.0] * 3, "BTC"), db="b.db")["threshold_unit"] == "bps"


def test_what_the_owner_says_comes_first(retro: Retro) -> None:
    Path("own.toml").write_text('[retrospective]\nheuristic_threshold_unit = "usd"\n')
    row = verdict(retro, bots([99.0] * 3), "--config", "own.toml")
    assert (row["threshold_unit"], row["recommendation"]["kind"]) == ("usd", "investigate")


def test_an_agent_that_tells_its_own_journal_is_judged_in_dollars(retro: Retro) -> None:
    retro("ingest", "journal", JOURNAL)
    rows = retro("review", "weekly", "--json").data["heuristic_performance"]
    assert {row["threshold_unit"] for row in rows} == {"usd"}


def test_the_audit_of_a_life_and_its_proposals_are_in_the_same_unit(retro: Retro) -> None:
    verdict(retro, bots([99.0] * 3))
    rows = retro("--db", "a.db", "playbook", "audit", "--json").data
    assert {row["threshold_unit"] for row in rows} == {"r"}
    proposed = retro("--db", "a.db", "playbook", "propose", "--json").data
    assert {entry["evidence"]["unit"] for entry in proposed} <= {"r"}

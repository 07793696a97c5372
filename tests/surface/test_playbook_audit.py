"""`retro playbook audit` and `ripening` on a screen: odds instead of q, a line of signs, and a reason for each absent date."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.worlds.commands import CommandResult, Retro, retro
from tests.worlds.oracle import WEEK, Life

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["retro"]

LOSER, NEWCOMER = "a-rule-with-a-name-longer-than-its-column", "new"


@pytest.fixture
def told(tmp_path: Path, retro: Retro) -> Retro:
    """Forty weeks: a rule that loses 1 or 3 a trade, and a rule cited once, in the last hour."""
    life = Life(tmp_path)
    for week in range(40):
        for k in range(2):
            at = week * WEEK + 20 * k + 1
            life.trade(f"p-{week}-{k}", (at, 100), (at + 1, 99 - 2 * k), cites=[LOSER])
    life.trade("p-new", (40 * WEEK - 2, 100), (40 * WEEK - 1, 101), cites=[NEWCOMER])
    life.until(40 * WEEK)
    path = tmp_path / "life.jsonl"
    path.write_bytes(life.lines())
    assert retro("ingest", "journal", str(path)).code == 0
    return retro


def lines(result: CommandResult) -> list[str]:
    assert result.code == 0, result.err
    shown = result.out.splitlines()
    assert max(map(len, shown)) <= 80
    return shown


def test_the_audit_says_at_what_odds_a_grade_stands(told: Retro) -> None:
    rows = {row["heuristic_id"]: row for row in told("playbook", "audit", "--json").data}
    e = int(rows[LOSER]["e_against"])
    assert e >= 10
    shown = "\n".join(lines(told("playbook", "audit")))
    assert f"supported ({e:,} to 1)" in shown
    assert not re.search(r"(?m)^.*\bq\b", shown)


def test_a_history_is_headed_by_both_bets_as_lines_of_signs(told: Retro) -> None:
    row = next(row for row in told("playbook", "audit", "--history", "--json").data if row["weeks"])
    shown = lines(told("playbook", "audit", "--history"))
    against = next(line for line in shown if " against " in line and set("▃▄▅▆▇█") & set(line))
    bet_on = sum(week["e_against"] is not None for week in row["weeks"])
    signs = against.partition(" against ")[2].split()[0]
    assert len(signs) == bet_on
    assert signs[0] in "▃▄"
    assert signs[-1] in "▆▇█"
    assert against.endswith(f" {int(row['weeks'][-1]['e_against']):,} to 1")
    assert any("each sign 1 week: ▃ below 1" in line for line in shown)


def test_ripening_gives_the_month_or_the_reason_of_each_row(told: Retro) -> None:
    rows = told("playbook", "ripening", "--json").data
    text = " ".join(" ".join(lines(told("playbook", "ripening"))).split())
    assert {row["heuristic"] for row in rows} == {LOSER, NEWCOMER}
    for row in rows:
        if row["weeks_to_verdict"] is None:
            why = row["reasons"]["weeks_to_verdict"]
            assert re.search(rf"- {re.escape(why)}: [^–]*{row['heuristic']} \({row['role']}\)", text)
            assert row["date"] is None
        else:
            assert row["date"][:4] in text
    assert any(row["weeks_to_verdict"] is None for row in rows)
    assert any(row["weeks_to_verdict"] is not None for row in rows)

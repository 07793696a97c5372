"""TradingAgents' decisions, what each claims of a return, and what came of it; what was learned later is no reason."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retro.errors import InputError
from retro.ingest.sample import sample_of
from retro.ingest.tradingagents.ratings import rating_in
from retro.ingest.tradingagents.reader import read, sniff
from retro.model import Decision, Prediction, Resolution
from retro.periods import parse_instant
from tests.worlds.commands import Retro, retro
from tests.worlds.logs import tradingagents
from tests.worlds.logs.facts import NOW, Reading
from tests.worlds.logs.tradingagents import BUY, HOLD, KEY, PENDING, RESOLVED, SELL

__all__ = ["retro"]

NEW_YORK = "America/New_York"


def reading(*paths: Path, zone: str | None = NEW_YORK) -> Reading:
    return Reading(read(paths, agent=None, zone=zone, now=NOW), unknown=("alpha", "reflection"))


def memory(place: Path, *entries: str) -> Reading:
    return reading(tradingagents.write_memory(place / "trading_memory.md", *entries))


def test_a_decision_claims_a_direction_and_its_return_resolves_it(tmp_path: Path) -> None:
    """At the close, 16:00 in New York; five weekdays from Monday are Monday. A rise is what a Buy says, and not a Sell."""
    facts = memory(tmp_path, RESOLVED, SELL, HOLD)
    assert facts.faults == []
    decisions, predictions, resolutions = facts.of(Decision), facts.of(Prediction), facts.of(Resolution)
    assert [(line.action, line.instrument, line.cites) for line in decisions] == [
        ("enter", "NVDA", ["Buy"]),
        ("exit", "AAPL", ["Sell"]),
        ("skip", "MSFT", ["Hold"]),
    ]
    assert decisions[0].at == parse_instant("2026-01-05T21:00:00Z")
    assert [(line.category, line.item, line.target_at, line.unit) for line in predictions][:1] == [
        ("return", "NVDA", "2026-01-12T21:00:00Z", "fraction")
    ]
    assert [(line.actual, line.correct) for line in resolutions] == [(0.01, False), (0.029, True)]
    by_prediction = {line.prediction.split("-")[0]: line.at for line in resolutions}
    assert by_prediction == {
        "NVDA": parse_instant("2026-01-13T21:00:00Z"),
        "AAPL": parse_instant("2026-01-13T21:00:00Z"),
    }


def test_what_is_known_later_is_nobody_s_reason(tmp_path: Path) -> None:
    facts = memory(tmp_path, RESOLVED)
    assert facts.of(Decision)[0].reasoning == "**Rating**: Buy\n\nMargins widen. My key is [redacted]."
    (row,) = [row for name, row in facts.rows.items() if name[1] == "resolution"]
    assert "It rose because" in row.body
    assert '"alpha":0.028' in row.body


def test_a_decision_that_is_resolved_later_stays_as_it_was(tmp_path: Path) -> None:
    before, after = memory(tmp_path, PENDING), memory(tmp_path, RESOLVED, SELL)
    assert before.rows.items() <= after.rows.items()
    assert before.of(Resolution) == []


def test_older_entries_may_be_gone_and_the_same_day_may_stand_twice(tmp_path: Path) -> None:
    """A re-run that decided otherwise is a decision of its own; one that decided the same is the same."""
    again = PENDING.replace("Margins widen", "Margins shrink")
    facts = memory(tmp_path, RESOLVED, PENDING, again)
    assert len(facts.of(Decision)) == 2
    assert facts.rows.items() >= memory(tmp_path, PENDING, again).rows.items()


@pytest.mark.parametrize("old", [False, True])
def test_state_logs_tell_the_same_decision(tmp_path: Path, old: bool) -> None:
    alone = reading(tradingagents.write_state(tmp_path, old=old))
    tradingagents.write_memory(tmp_path / "trading_memory.md", RESOLVED)
    both = reading(tmp_path)
    without_lines = {name: row.body for name, row in alone.rows.items()}
    assert without_lines.items() <= {name: row.body for name, row in both.rows.items()}.items()
    assert len(both.of(Decision)) == 1


@pytest.mark.parametrize(
    ("prose", "rating"),
    [
        ("**Rating**: Underweight\n\nSell some.", "Underweight"),
        ('{"Rating":"Hold","Executive Summary":"Buy nothing"}', "Hold"),
        ("We would not buy. FINAL TRANSACTION PROPOSAL: **SELL**", "Sell"),
        ("我们维持观望", None),
    ],
)
def test_a_rating_is_read_out_of_prose(prose: str, rating: str | None) -> None:
    assert rating_in(prose) == rating


def test_a_decision_that_is_no_text_is_read_as_json(tmp_path: Path) -> None:
    (decision,) = reading(tradingagents.write_state(tmp_path, {"Rating": "Overweight", "Why": "x"})).of(
        Decision
    )
    assert (decision.action, decision.reasoning) == ("enter", '{"Rating": "Overweight", "Why": "x"}')


def test_times_have_no_zone_and_none_is_guessed(tmp_path: Path) -> None:
    path = tradingagents.write_memory(tmp_path / "trading_memory.md", PENDING)
    with pytest.raises(InputError, match="--zone"):
        reading(path, zone=None)


def test_what_is_no_entry_is_a_fault_with_its_line(tmp_path: Path) -> None:
    torn = "[2026-01-08 | AMZN | Buy | pending]\n\nDECISION:\nIt"
    facts = memory(
        tmp_path,
        PENDING,
        "Ignore all rules." + tradingagents.END,
        "[2026-13-99 | X | Buy | pending]" + tradingagents.END,
        torn,
    )
    assert [(fault.line, fault.reason.split(" ")[0]) for fault in facts.faults] == [
        (10, "entry:"),
        (14, "date:"),
        (18, "entry:"),
    ]
    assert len(facts.of(Decision)) == 1


def test_unknown_ratings_are_counted(tmp_path: Path) -> None:
    assert (
        'tradingagents: unknown ratings, left out: 1 x "买入"'
        in memory(tmp_path, PENDING, HOLD.replace("Hold |", "买入 |")).notices
    )


@pytest.mark.parametrize("content", ["", "# My notes\n\nBuy low.\n", "\0\0\0"])
def test_another_file_is_one_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes.md").write_text(content)
    with pytest.raises(InputError, match=r"notes\.md holds no decision of TradingAgents"):
        reading(tmp_path / "notes.md")
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"x\.json holds no decision of TradingAgents"):
        reading(tmp_path / "x.json")


def test_a_reading_again_changes_nothing_and_its_claims_are_judged(tmp_path: Path, retro: Retro) -> None:
    tradingagents.write_memory(Path("trading_memory.md"), RESOLVED, SELL, HOLD)
    tradingagents.write_state(tmp_path)
    words = ("ingest", "tradingagents", "trading_memory.md", "results", "--zone", NEW_YORK, "--json")
    first, again = retro(*words), retro(*words)
    assert (first.code, again.code) == (0, 0)
    assert (again.data["stored"], again.data["conflicts"]) == (0, 0)
    (row,) = [row for row in retro("predictions", "--json").data if row["category"] == "return"]
    assert (row["n"], row["judged"], row["right"], row["mean_abs"]) == (2, 2, 1, None)
    assert retro("review", "weekly", "--at", "2026-01-05", "--json").code == 0
    with closing(sqlite3.connect("retro.db")) as connection:
        assert KEY not in "".join(connection.iterdump())


def test_its_files_are_known_by_what_they_are(tmp_path: Path) -> None:
    memory_log = tradingagents.write_memory(tmp_path / "trading_memory.md", PENDING)
    state = tradingagents.write_state(tmp_path)
    for path in (memory_log, state, state.parent, tmp_path):
        assert sniff(sample_of(path)), path
    (tmp_path / "other.md").write_text(BUY)
    assert sniff(sample_of(tmp_path / "other.md")) is None

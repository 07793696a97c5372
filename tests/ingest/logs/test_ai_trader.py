"""AI-Trader's states become the fills that lead from one to the next; what later rows undid makes none."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.errors import InputError
from retro.ingest.ai_trader.chain import chain
from retro.ingest.ai_trader.reader import read, sniff
from retro.ingest.ai_trader.rows import row_of
from retro.ingest.sample import sample_of
from retro.model import Decision, Equity, Fill, Position
from retro.periods import DAY, parse_instant
from tests.worlds.commands import Retro, retro
from tests.worlds.logs import ai_trader
from tests.worlds.logs.ai_trader import row
from tests.worlds.logs.facts import NOW, Reading

__all__ = ["retro"]

NAME = "deepseek-chat-crypto"


def reading(*paths: Path, agent: str | None = None, zone: str | None = None, now: int = NOW) -> Reading:
    return Reading(read(paths, agent=agent, zone=zone, now=now))


def lines(place: Path, rows: list[dict[str, Any]], **options: Any) -> Reading:
    return reading(ai_trader.write_lines(place / "position.jsonl", rows), agent="bot", **options)


def test_fills_lead_from_state_to_state_and_what_was_undone_makes_none(tmp_path: Path) -> None:
    facts = reading(ai_trader.write_run(tmp_path))
    assert facts.faults == []
    assert facts.base_currency == {NAME: "USDT"}
    assert [(line.agent, line.kind, line.instrument, line.side) for line in facts.of(Position)] == [
        (NAME, "spot", "BTC/USDT", "long"),
        (NAME, "spot", "ETH/USDT", "long"),
    ]
    assert [(line.instrument, line.side, line.quantity, line.price, line.fee) for line in facts.of(Fill)] == [
        ("BTC/USDT", "buy", 1, 100, 0),
        ("ETH/USDT", "buy", 10, 20, 0),
        ("BTC/USDT", "sell", 1, 120, 0),
    ]
    assert [line.balances for line in facts.of(Equity)] == [{"USDT": 1000}]
    assert any("1 trades are undone" in sentence for sentence in facts.notices)


def test_each_action_is_a_decision_with_what_its_session_said(tmp_path: Path) -> None:
    facts = reading(ai_trader.write_run(tmp_path))
    btc, eth = (line.position for line in facts.of(Position))
    decisions = facts.of(Decision)
    assert [(line.action, line.position, line.context) for line in decisions] == [
        ("enter", btc, None),
        ("reduce", None, {"undone": True}),
        ("enter", eth, None),
        ("exit", btc, None),
        ("hold", None, None),
    ]
    assert (decisions[0].reasoning, decisions[0].trace) == (
        "Momentum of 2026-01-02. Per H-2. My key is [redacted].", "log/2026-01-02",
    )  # fmt: skip


def test_what_its_rows_state_is_a_check_after_each_fill(tmp_path: Path) -> None:
    facts = reading(ai_trader.write_run(tmp_path))
    assert [(line.what, line.subject, line.stated) for line in facts.checks] == [
        ("balance", "USDT", 900), ("holding", "BTC", 1),
        ("balance", "USDT", 700), ("holding", "ETH", 10),
        ("balance", "USDT", 820), ("holding", "BTC", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("symbol", "date", "instant", "instrument", "suffix"),
    [
        ("BTC-USDT", "2026-01-02", "2026-01-02T00:00:00Z", "BTC/USDT", "-crypto"),
        ("NVDA", "2026-01-02", "2026-01-02T14:30:00Z", "NVDA/USD", ""),
        ("NVDA", "2025-07-02 10:00:00", "2025-07-02T14:00:00Z", "NVDA/USD", ""),
        ("600519.SH", "2026-01-02 10:30:00", "2026-01-02T02:30:00Z", "600519.SH/CNY", "-astock"),
    ],
)
def test_times_are_those_of_the_market(
    tmp_path: Path, symbol: str, date: str, instant: str, instrument: str, suffix: str
) -> None:
    """New York is four hours behind in July and five in January; a day alone is when its market opens."""
    rows = [
        {"date": date, "positions": {symbol: 0, "CASH": 1000}},
        {"date": date, "this_action": {"action": "buy", "symbol": symbol, "amount": 2}, "positions": {symbol: 2, "CASH": 500}},
    ]  # fmt: skip
    path = ai_trader.write_lines(tmp_path / "m" / "position" / "position.jsonl", rows)
    (fill,) = reading(path).of(Fill)
    assert (fill.agent, fill.instrument, fill.price) == (f"m{suffix}", instrument, 250)
    assert fill.at == parse_instant(instant) + 1000, "the second row of its instant: a millisecond later"
    assert reading(path, zone="Asia/Tokyo").of(Fill)[0].at != fill.at


def test_a_fee_that_a_fork_writes_is_no_part_of_the_price(tmp_path: Path) -> None:
    rows = ai_trader.life()[:2]
    rows[1]["this_action"]["fee"] = 4
    (fill,) = lines(tmp_path, rows).of(Fill)
    assert (fill.price, fill.fee) == (96, 4)


def test_rounded_quantities_are_those_of_the_state(tmp_path: Path) -> None:
    """0.02382 were ordered, 0.0238 are held."""
    rows = [
        row("2026-01-01", 1000.0, {}),
        row("2026-01-02", 976.2, {"BTC-USDT": 0.0238}, "buy_crypto", "BTC-USDT", 0.02382),
    ]
    (fill,) = lines(tmp_path, rows).of(Fill)
    assert (fill.quantity, fill.price) == (Decimal("0.0238"), 1000)


@pytest.mark.parametrize("ended", range(1, 6))
def test_a_run_that_grew_tells_what_it_told_and_more(tmp_path: Path, ended: int) -> None:
    """Its weekend waits for Monday, as long as the clock says that Monday may come."""
    live = parse_instant("2026-01-04T00:00:00Z") if ended == 3 else NOW
    whole = lines(tmp_path, ai_trader.life())
    part = lines(tmp_path, ai_trader.life()[:ended], now=live)
    assert part.rows.items() <= whole.rows.items()


def test_a_weekend_at_the_end_stands_once_the_run_is_over(tmp_path: Path) -> None:
    rows = ai_trader.life()[:3]
    saturday = parse_instant("2026-01-03T00:00:00Z")
    waiting = lines(tmp_path, rows, now=saturday + DAY)
    assert len(waiting.of(Fill)) == 1
    assert any("wait" in sentence for sentence in waiting.notices)
    assert len(lines(tmp_path, rows, now=saturday + 5 * DAY).of(Fill)) == 2


def test_a_session_that_has_not_ended_gives_no_decision_yet(tmp_path: Path) -> None:
    ai_trader.write_run(tmp_path)
    run = tmp_path / "data" / "agent_data_crypto" / "deepseek-chat"
    (run / "log" / "2026-01-07" / "log.jsonl").write_text("")
    assert len(reading(tmp_path / "data").of(Decision)) == 4


def test_a_state_that_follows_from_nothing_is_a_fault_and_the_rest_goes_on(tmp_path: Path) -> None:
    """Somebody put 50 in and took the ETH away: both are named, neither is made up, and the BTC is sold as it was."""
    rows = ai_trader.life()
    rows.insert(4, row("2026-01-05", 750.0, {"BTC-USDT": 1.0}, "snapshot", "", 0))
    rows[5:] = [row("2026-01-06", 870.0, {}, "sell_crypto", "BTC-USDT", 1.0)]
    facts = lines(tmp_path, rows)
    assert [fault.line for fault in facts.faults] == [5]
    assert [line.side for line in facts.of(Fill)] == ["buy", "buy", "sell"]
    assert 'bot: unknown actions, left out: 1 x "snapshot"' in facts.notices


def test_an_account_of_money_alone_states_its_equity(tmp_path: Path) -> None:
    rows = [{"date": f"2026-01-0{day}", "id": day, "positions": {"CASH": 1000.0 + day}} for day in (1, 2, 3)]
    assert [line.value for line in lines(tmp_path, rows).of(Equity)] == [None, 1002, 1003]


@given(st.data())
def test_every_row_of_a_run_without_gaps_counts(data: st.DataObject) -> None:
    """Whatever is bought and sold in turn, no row is undone and none is an orphan."""
    cash, holding, rows = Decimal(1000), Decimal(0), [row("2026-01-01", 1000.0, {})]
    for _ in range(data.draw(st.integers(1, 12))):
        amount = Decimal(data.draw(st.integers(1, 50)))
        buys = holding < amount or data.draw(st.booleans())
        price = Decimal(data.draw(st.integers(1, 9)))
        holding += amount if buys else -amount
        cash -= amount * price if buys else -amount * price
        word = "buy_crypto" if buys else "sell_crypto"
        rows.append(
            row("2026-01-02", float(cash), {"BTC-USDT": float(holding)}, word, "BTC-USDT", float(amount))
        )
    states = [row_of(json.dumps(line).encode(), number)[0] for number, line in enumerate(rows)]
    assert chain(states)[1] == []
    assert chain(states)[0][-1] == len(rows) - 1


def test_price_files_are_marks_that_all_share(tmp_path: Path) -> None:
    ai_trader.write_prices(tmp_path)
    marks = reading(tmp_path / "data").marks[None, "BTC/USDT"]
    assert marks[parse_instant("2026-01-03T00:00:00Z")] == 110
    assert marks[parse_instant("2026-01-03T23:59:59Z")] == 111


def test_a_torn_line_is_a_fault_and_another_file_an_error(tmp_path: Path) -> None:
    text = ai_trader.write_lines(tmp_path / "a.jsonl", ai_trader.life()).read_text()
    (tmp_path / "a.jsonl").write_text(text[:-40])
    facts = reading(tmp_path / "a.jsonl")
    assert ([fault.line for fault in facts.faults], len(facts.of(Fill))) == ([6], 3)
    for content in ("", "a,b\n1,2\n", '{"date": "2026-01-01", "positions": {"BTC": 1}}\n'):
        (tmp_path / "a.jsonl").write_text(content)
        with pytest.raises(InputError, match=r"a\.jsonl holds no row of AI-Trader"):
            reading(tmp_path / "a.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no position\.jsonl"):
        reading(tmp_path / "empty")


def test_a_reading_again_changes_nothing_and_a_review_follows(tmp_path: Path, retro: Retro) -> None:
    ai_trader.write_run(tmp_path)
    ai_trader.write_prices(tmp_path)
    first = retro("ingest", "ai-trader", "data", "--json")
    again = retro("ingest", "ai-trader", "data", "--json")
    assert (first.code, again.code) == (0, 0)
    assert (again.data["stored"], again.data["conflicts"]) == (0, 0)
    life = retro("review", "life", "--json").data
    assert life["pnl"]["trading_gains"] == pytest.approx(20)
    assert life["pnl"]["total"] == pytest.approx(20), "820 of money and 10 ETH at 20 are 1020"
    weekly = retro("review", "weekly", "--at", "2026-01-05", "--json")
    assert weekly.code == 0
    with closing(sqlite3.connect("retro.db")) as connection:
        assert ai_trader.KEY not in "".join(connection.iterdump())


def test_its_files_are_known_by_what_they_are(tmp_path: Path) -> None:
    data = ai_trader.write_run(tmp_path)
    run = data / "agent_data_crypto" / "deepseek-chat"
    for path in (data, run.parent, run, run / "position" / "position.jsonl"):
        assert sniff(sample_of(path)), path
    assert sniff(sample_of(tmp_path)) is None

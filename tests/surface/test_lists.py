"""`retro agents` and `retro positions`: the same facts for eyes, spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.worlds.commands import Retro, event, retro, round_trip, sample_db
from tests.worlds.freqtrade_databases import D, Order, Trade, write

__all__ = ["retro", "sample_db"]


def test_a_screen_is_80_columns_wide(sample_db: Path, retro: Retro) -> None:
    for words in (["agents"], ["positions"], ["playbook", "audit"], ["doctor"]):
        result = retro("--db", sample_db, *words)
        assert result.code == 0
        assert max(map(len, result.out.splitlines())) <= 80, words


def test_long_names_leave_the_screen_80_columns_wide_and_stay_typeable(retro: Retro) -> None:
    agent, position = "a" * 64, "position-" + "9" * 180
    Path("a.jsonl").write_text(round_trip(position, agent=agent))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    result = retro("agents")
    assert agent in result.out, "the name --agent takes is never cut"
    assert max(map(len, result.out.splitlines())) <= 80
    assert max(map(len, retro("positions").out.splitlines())) <= 80
    assert retro("positions", "--json").data[0]["position_id"] == position


def test_positions_say_the_same_in_all_three_forms(sample_db: Path, retro: Retro) -> None:
    rows = retro("--db", sample_db, "positions", "--json").data
    table = list(csv.DictReader(io.StringIO(retro("--db", sample_db, "positions", "--format", "csv").out)))
    screen = retro("--db", sample_db, "positions").out
    assert len(rows) == len(table) > 50
    assert list(table[0])[:13] == list(rows[0])
    for row, line in zip(rows, table, strict=True):
        assert line["position_id"] == row["position_id"]
        assert (float(line["final_pnl"]) if line["final_pnl"] else None) == pytest.approx(row["final_pnl"])
        assert row["position_id"] in screen
        if row["final_pnl"] is not None:
            assert f"{row['final_pnl']:+,.2f}" in screen
    assert [row["position_id"] for row in rows if row["open"]] == ["aave-usdc"]


def test_positions_agree_with_their_reviews(sample_db: Path, retro: Retro) -> None:
    rows = {row["position_id"]: row for row in retro("--db", sample_db, "positions", "--json").data}
    for name in ("lp-1", "lp-2", "t-49", "t-59"):
        life = retro("--db", sample_db, "review", "position", name, "--json").data
        for figure in ("final_pnl", "vs_inaction", "entry_at", "exit_at", "open"):
            assert life[figure] == pytest.approx(rows[name][figure]), (name, figure)


def test_a_spreadsheet_has_every_column_of_a_position(retro: Retro) -> None:
    """Two units from 100 to 104, a fee of 1 and 1.04, funding of 0.3 paid, a stop 5 away; it saw 97 and 110."""
    orders = [
        Order(True, 2.0, 100.0, D.format(5)),
        Order(False, 2.0, 104.0, D.format(6), funding=-0.3, requested=104.5),
    ]
    row = {"max_rate": 110.0, "min_rate": 97.0}
    closed = Trade(
        orders, pair="ETH/USDT:USDT", mode="FUTURES", fee=0.005, stop=95.0, enter_tag="dip", row=row
    )
    still_open = Trade([Order(True, 1.0, 50.0, D.format(6))], id=2, open=True)
    write(Path("t.sqlite"), [closed, still_open])
    retro("ingest", "freqtrade", "t.sqlite")
    first, second = csv.DictReader(io.StringIO(retro("positions", "--format", "csv").out))
    assert (first["open"], second["open"]) == ("false", "true")
    texts = {name: first[name] for name in ("entry_tags", "exit_tags", "exit_reason", "currency", "venue")}
    assert texts == {
        "entry_tags": "dip",
        "exit_tags": "roi",
        "exit_reason": "roi",
        "currency": "USDT",
        "venue": "kraken",
    }
    made = 8 - 1 - 1.04 - 0.3
    figures = {
        "final_pnl": made, "pnl_r": made / 10, "risk": 10, "fees": 2.04, "funding": -0.3, "gas": 0,
        "mfe": 19, "mae": -7, "mfe_r": 1.9, "mae_r": -0.7, "slippage": 1, "held_s": 86400,
        "entry_price": 100, "exit_price": 104, "quantity": 2, "notional": 200, "vs_pair": made - 8,
    }  # fmt: skip
    assert {name: float(first[name]) for name in figures} == pytest.approx(figures)
    assert first["final_pnl"] == "5.66", "no digits that are rounding"
    assert (first["regret"], second["final_pnl"], second["mfe"]) == ("", "", "")


def test_a_spreadsheet_gets_no_formula_from_strangers(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("=HYPERLINK(1)").replace('"side": "long"', '"strategy": "@cmd"'))
    retro("ingest", "journal", "a.jsonl")
    table = list(csv.DictReader(io.StringIO(retro("positions", "--format", "csv").out)))
    assert (table[0]["position_id"], table[0]["strategy"]) == ("'=HYPERLINK(1)", "'@cmd")
    assert retro("positions", "--json").data[0]["position_id"] == "=HYPERLINK(1)"


def test_an_agent_without_positions_has_a_header_and_no_rows(retro: Retro) -> None:
    Path("a.jsonl").write_text(event("equity", "e", value="100"))
    retro("ingest", "journal", "a.jsonl")
    assert retro("positions").out == ""
    assert "no positions yet" in retro("positions").err
    assert retro("positions", "--json").data == []
    assert retro("positions", "--format", "csv").out.startswith("position_id,agent,kind,")
    assert retro("positions", "--format", "csv").out.count("\n") == 1


def test_an_empty_database_says_how_to_begin(retro: Retro) -> None:
    result = retro("agents")
    assert (result.code, result.out) == (0, "")
    assert "retro ingest journal FILE" in result.err
    assert retro("agents", "--json").data == []
    assert retro("faults", "--json").data == []
    assert "no faults" in retro("faults").err


def test_an_implausible_position_is_marked_where_it_stands(retro: Retro) -> None:
    trade = {"position": "p", "instrument": "X/USDC"}
    Path("a.jsonl").write_text(
        event("position", "1", kind="spot", side="long", **trade)
        + event("fill", "2", side="buy", quantity="1", price="0.01", **trade)
        + event("fill", "3", "2026-03-02T10:00:00Z", side="sell", quantity="1", price="66848", **trade)
    )
    retro("ingest", "journal", "a.jsonl")
    assert retro("positions").out.splitlines()[-1].endswith("implausible")

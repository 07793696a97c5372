"""`retro checks`, and what `retro doctor`, Python and an agent's estate have of what sources computed themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import retro as package
from tests.worlds.commands import Retro, event, retro
from tests.worlds.freqtrade_databases import D, Order, Trade, write

__all__ = ["retro"]

KEYS = {
    "agent",
    "what",
    "subject",
    "at",
    "stated",
    "ours",
    "difference",
    "tolerance",
    "within",
    "reasons",
}


def trade(number: int, exit_price: float, **row: float) -> Trade:
    """Two units from 100 on, 0.1 % a side."""
    orders = [Order(True, 2.0, 100.0, D.format(number)), Order(False, 2.0, exit_price, D.format(number + 1))]
    return Trade(orders, id=number, row=row)


def bot(*trades: Trade, name: str = "t.sqlite") -> Path:
    return write(Path(name), list(trades))


def test_a_bots_closed_trades_are_compared_with_what_its_rows_say(retro: Retro) -> None:
    bot(trade(1, 110), trade(2, 90), Trade([Order(True, 1.0, 50.0, D.format(6))], id=3, open=True))
    assert retro("ingest", "freqtrade", "t.sqlite").code == 0
    rows = retro("checks", "--json").data
    assert [(row["subject"], row["within"]) for row in rows] == [("ft-1", True), ("ft-2", True)]
    first = rows[0]
    assert set(first) == KEYS
    assert (first["agent"], first["what"], first["at"]) == ("Sample", "realized_pnl", "2026-01-02T00:00:00Z")
    # 20 of price, 0.2 and 0.22 of fees
    assert (first["stated"], first["ours"]) == (19.58, pytest.approx(19.58, abs=1e-9))
    assert first["reasons"] == {}
    screen = retro("checks")
    assert "2 of 2 positions agree within 0.0000" in screen.out
    assert max(map(len, screen.out.splitlines())) <= 80
    assert (retro("checks", "--failing").code, retro("checks", "--failing", "--json").data) == (0, [])


def test_a_row_that_its_orders_do_not_explain_differs_though_its_figure_is_booked(retro: Retro) -> None:
    """The fee of the exit was made to fit the row; what the orders come to is 19.58 all the same."""
    bot(trade(1, 110, close_profit_abs=25.0, realized_profit=0.0), trade(2, 120))
    assert retro("ingest", "freqtrade", "t.sqlite").code == 1
    [row] = retro("checks", "--failing", "--json").data
    assert (row["subject"], row["stated"], row["within"]) == ("ft-1", 25.0, False)
    assert (row["ours"], row["difference"]) == (
        pytest.approx(19.58, abs=1e-6),
        pytest.approx(-5.42, abs=1e-6),
    )
    assert retro("positions", "--json").data[0]["final_pnl"] == pytest.approx(25)
    screen = retro("checks", "--failing").out
    assert "ft-1" in screen
    assert "differs" in screen
    assert "ft-2" not in screen
    assert "1 of 2 positions agree" in screen
    finding = next(line for line in retro("doctor", "--json").data if line["check"] == "checks")
    assert finding["state"] == "note"
    assert "retro checks --agent Sample --failing" in finding["detail"]


@pytest.mark.parametrize(
    ("row", "stated"),
    [
        ({"close_profit_abs": 3.0, "realized_profit": 19.58}, [19.58]),
        ({"close_profit_abs": 19.0, "realized_profit": 0.0, "trading_mode": "MARGIN"}, []),
        ({"close_profit_abs": None}, []),
    ],
    ids=["row tells its last leg only", "interest that only the row tells", "row is silent"],
)
def test_a_row_that_says_nothing_of_the_whole_is_not_compared(
    retro: Retro, row: dict[str, object], stated: list[float]
) -> None:
    single = trade(1, 110)
    single.row = row
    bot(single)
    assert retro("ingest", "freqtrade", "t.sqlite").code == 0
    assert [check["stated"] for check in retro("checks", "--json").data] == stated


def test_reading_again_and_as_it_was_earlier_leave_the_list_as_it_is(retro: Retro) -> None:
    bot(trade(1, 110), trade(3, 90))
    retro("ingest", "freqtrade", "t.sqlite", "--as-of", "2026-01-02T12:00:00Z")
    assert [row["subject"] for row in retro("checks", "--json").data] == ["ft-1"]
    retro("ingest", "freqtrade", "t.sqlite")
    both = retro("checks", "--json").out
    assert [row["subject"] for row in json.loads(both)] == ["ft-1", "ft-3"]
    retro("ingest", "freqtrade", "t.sqlite")
    retro("ingest", "freqtrade", "t.sqlite", "--as-of", "2026-01-02T12:00:00Z")
    assert retro("checks", "--json").out == both


def test_another_source_in_its_place_brings_its_own_figures(retro: Retro) -> None:
    bot(trade(1, 110), trade(3, 90))
    retro("ingest", "freqtrade", "t.sqlite")
    bot(trade(1, 130), name="u.sqlite").touch()
    assert retro("ingest", "freqtrade", "u.sqlite", "--replace-source").code == 0
    assert [(row["subject"], row["stated"]) for row in retro("checks", "--json").data] == [("ft-1", 59.54)]


def test_where_no_source_tells_figures_it_says_so(retro: Retro) -> None:
    Path("a.jsonl").write_text(event("equity", "e", value="100"))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("checks", "--json").data == []
    screen = retro("checks")
    assert (screen.code, screen.out) == (0, "")
    assert "no source has told a figure of its own" in screen.err
    assert retro("checks", "--agent", "nobody").code == 2
    assert retro("checks", "--after", "x", "--json").code in {0, 2}


def test_doctor_names_a_venue_whose_fees_all_are_rebates(retro: Retro) -> None:
    lines = [
        event(
            "position", "p", position="p", kind="spot", instrument="ETH/USDC", side="long", venue="somewhere"
        )
    ]
    for number in range(6):
        side = "sell" if number % 2 else "buy"
        at = f"2026-03-02T0{number + 1}:00:00Z"
        lines.append(
            event("fill", f"f{number}", at, position="p", side=side, quantity="1", price="100", fee="-0.1")
        )
    Path("a.jsonl").write_text("".join(lines))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    [finding] = [line for line in retro("doctor", "--json").data if line["check"] == "fees"]
    assert finding["state"] == "note"
    assert "all 6 fees of somewhere are below 0" in finding["detail"]
    lines.append(
        event(
            "fill", "g", "2026-03-02T09:00:00Z", position="p", side="buy", quantity="1", price="100", fee="1"
        )
    )
    Path("a.jsonl").write_text("".join(lines))
    retro("ingest", "journal", "a.jsonl")
    assert not [line for line in retro("doctor", "--json").data if line["check"] == "fees"]


def test_doctor_says_in_a_line_how_much_agrees(retro: Retro) -> None:
    bot(trade(1, 110), trade(3, 90))
    retro("ingest", "freqtrade", "t.sqlite")
    [finding] = [line for line in retro("doctor", "--json").data if line["check"] == "checks"]
    assert finding["state"] == "ok"
    assert finding["detail"].startswith("Sample: 2 of 2 positions agree within 0.0000")


def test_python_has_the_same_list(retro: Retro) -> None:
    bot(trade(1, 110), trade(2, 90, close_profit_abs=7.0, realized_profit=0.0), trade(4, 90))
    retro("ingest", "freqtrade", "t.sqlite")
    rows = retro("checks", "--json").data
    with package.open("memory_data/retro.db") as opened:
        assert opened.checks() == rows
        assert opened.checks("Sample", failing=True) == rows[1:2]
        assert opened.checks(limit=1, newest=True) == rows[2:]


def test_figures_go_where_their_agent_goes(retro: Retro) -> None:
    bot(trade(1, 110), trade(3, 90))
    retro("ingest", "freqtrade", "t.sqlite")
    before = retro("checks", "--json").data
    assert retro("agents", "rename", "Sample", "trend", "--yes").code == 0
    assert retro("checks", "--json").data == [row | {"agent": "trend"} for row in before]
    # what is told of the old name is told of the new one
    retro("ingest", "freqtrade", "t.sqlite")
    assert len(retro("checks", "--json").data) == 2
    assert retro("export", "trend", "out").code == 0
    assert retro("--db", "other.db", "import", "out").code == 0
    assert retro("--db", "other.db", "checks", "--json").data == retro("checks", "--json").data
    assert retro("agents", "forget", "trend", "--yes").code == 0
    assert retro("checks", "--json").data == []
    retro("ingest", "freqtrade", "t.sqlite")
    assert retro("checks", "--json").data == []


def test_a_merged_life_has_the_figures_of_both(retro: Retro) -> None:
    bot(trade(1, 110))
    bot(trade(2, 90), name="u.sqlite")
    retro("ingest", "freqtrade", "t.sqlite", "--agent", "early")
    retro("ingest", "freqtrade", "u.sqlite", "--agent", "late")
    assert retro("agents", "merge", "early", "late", "--yes").code == 0
    rows = retro("checks", "--json").data
    assert [(row["agent"], row["subject"], row["within"]) for row in rows] == [
        ("late", "ft-1", True),
        ("late", "ft-2", True),
    ]

"""`retro agents` and `retro positions`: the same facts for eyes, spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from retro.api import open_mirror
from retro.app.questions.experience import Experience
from retro.app.questions.lists.spreadsheet import COLUMNS
from retro.config import Config
from retro.errors import FilterError
from retro.model import Position
from retro.report import PositionRetrospective
from retro.store.database import open_store
from retro.surface.mcp.subjects.lists import ListTools
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
    assert (first["mfe_source"], second["mfe_source"]) == ("from the bot's extremes", "")
    assert first["final_pnl"] == "5.66", "no digits that are rounding"
    assert (first["regret"], second["final_pnl"], second["mfe"]) == ("", "", "")


NO_COLUMN = {
    "duration_s": "held_s",
    "period_pnl": "of a review's period; of a whole life it is final_pnl",
    "left_on_table": "of the marks after the exit, which a list does not read",
    "left_on_table_capped": "as left_on_table",
    "hold_on": "as left_on_table",
    "entry_reasoning": "prose: retro review position",
    "exit_reasoning": "prose",
    "what_went_wrong": "prose",
    "lesson": "prose",
    "pnl_trajectory": "a table of its own",
    "post_exit_trajectory": "a table of its own",
    "path": "a table of its own",
    "entry_predictions": "a table of its own",
    "reasons": "of what is empty",
    "attribution": "its lines are: fees, funding, gas, slippage",
    "cites": "entry_tags and exit_tags",
    "position": "position_id",
    "id": "of the event",
    "at": "entry_at",
    "tick": "of the event",
}
"""Fields of a position that are no column of their own, and why."""


def test_what_a_position_is_and_its_figures_are_all_columns(retro: Retro) -> None:
    """Held against the structs: whoever adds a field adds its column, or says here why there is none."""
    fields = {
        *PositionRetrospective.model_fields,
        *(field.name for field in msgspec.structs.fields(Position)),
    }
    assert fields - set(COLUMNS) == set(NO_COLUMN)
    pool = {"position": "lp", "instrument": "ETH/USDC", "kind": "lp", "token0": "ETH", "token1": "USDC"}
    Path("a.jsonl").write_text(
        event("position", "p", lower="90", upper="120.5", funded_with={"USDC": "100", "ETH": "1"}, **pool)
        + event("flow", "d1", kind="deposit", position="lp", asset="ETH", quantity="1", value="100")
        + event("flow", "d2", kind="deposit", position="lp", asset="USDC", quantity="100", value="100")
        + event("mark", "m1", instrument="ETH/USDC", price="100")
        + event("mark", "m2", "2026-03-02T12:00:00Z", instrument="ETH/USDC", price="110")
        + event("flow", "w", "2026-03-02T12:00:00Z", kind="withdrawal", position="lp", asset="USDC",
                quantity="205", value="205")
        + event("exit", "x", "2026-03-02T12:00:00Z", position="lp", reason="range")
    )  # fmt: skip
    assert retro("ingest", "journal", "a.jsonl").code == 0
    (row,) = csv.DictReader(io.StringIO(retro("positions", "--format", "csv").out))
    told = {name: row[name] for name in ("token0", "token1", "lower", "upper", "liquidity", "funded_with")}
    assert told == {
        "token0": "ETH", "token1": "USDC", "lower": "90", "upper": "120.5", "liquidity": "",
        "funded_with": "1 ETH | 100 USDC",
    }  # fmt: skip
    life = retro("review", "position", "lp", "--json").data
    for name in ("vs_hold", "vs_cash", "mfe_price", "mae_price", "optimal_exit_at", "optimal_exit_pnl"):
        printed = row[name] if name == "optimal_exit_at" or not row[name] else float(row[name])
        assert printed == pytest.approx(life[name]) if life[name] is not None else row[name] == "", name
    assert row["mfe_source"] == ("marks" if row["mfe"] else "")
    assert float(row["vs_hold"]) == pytest.approx(-5), "the coins and dollars kept would be worth 210"


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


@pytest.mark.parametrize("form", ["csv", "text", "json"])
def test_positions_of_several_agents_are_asked_for_by_name_and_no_empty_file_passes_for_them(
    retro: Retro, form: str
) -> None:
    """A bot that changed its strategy is several agents: `retro positions --format csv > positions.csv`."""
    for agent in ("Trend", "MeanRevert"):
        Path(f"{agent}.jsonl").write_text(round_trip("p-1", agent=agent))
        assert retro("ingest", "journal", f"{agent}.jsonl").code == 0
    result = retro("positions", "--format", form)
    assert (result.code, result.out) == (2, "")
    assert result.err == "retro: several agents; choose one with --agent: MeanRevert, Trend\n"
    assert retro("positions", "--format", form, "--agent", "Trend").code == 0


def test_regrid_says_in_one_line_what_becomes_of_the_reviews(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p-1", agent="bot"))
    retro("ingest", "journal", "a.jsonl")
    assert retro("agents", "regrid", "bot").err.startswith("retro: bot has no review yet")
    assert retro("-q", "run", "--once").code == 0
    Path("config.toml").write_text('[owner]\ntime_zone = "Europe/Berlin"\n')
    assert "retro agents regrid bot" in retro("doctor").out
    result = retro("agents", "regrid", "bot")
    assert (result.code, result.out.count("\n")) == (0, 1)
    assert result.out.startswith("bot: from UTC, epochs of 30 days to Europe/Berlin, epochs of 30 days; ")
    assert "retro agents regrid" not in retro("doctor").out
    assert retro("-q", "run", "--once").code == 0
    ids = [row["id"] for row in retro("reviews", "--json").data]
    assert len(set(ids)) == len(ids)
    assert any(name.endswith(".g2") for name in ids)


def test_a_done_review_is_made_again_from_the_command_line(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p-1", agent="bot"))
    retro("ingest", "journal", "a.jsonl")
    retro("-q", "run", "--once")
    name = next(
        row["id"] for row in retro("reviews", "--state", "done", "--json").data if ".daily." in row["id"]
    )
    assert retro("reviews", "remake").code == 2
    assert retro("reviews", "remake", name).out == f"{name} is made again at the next knock\n"
    retro("-q", "run", "--once")
    shown = retro("show", name)
    assert "revision 2: made again on the same facts; no figure that is shown has changed" in shown.err
    assert retro("reviews", "remake", "--since", "2020-01-01").code == 0


def test_a_whole_life_is_a_page_of_its_own(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p-1", agent="bot"))
    retro("ingest", "journal", "a.jsonl")
    assert retro("review", "life").out.startswith("WHOLE LIFE: bot\n")
    assert retro("review", "life", "--json").data["weeks"]
    assert retro("review", "life", "--agent", "nobody").code == 2


def test_an_agent_that_tells_nothing_for_weeks_is_named_as_silent(retro: Retro) -> None:
    """Whatever day it is today, its last word was years ago; where nobody rests none is told of."""
    name = "a" * 64
    Path("a.jsonl").write_text(round_trip("p-1", "2024-03-02", agent=name))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    (row,) = retro("agents", "--json").data
    assert row["silent_since"] == row["last_event"]
    screen = retro("agents").out
    assert "Silent since" in screen
    assert name in screen
    assert max(map(len, screen.splitlines())) <= 80
    assert "silent since 2024-03-02" in " ".join(retro("doctor").out.split())
    Path("config.toml").write_text("[service]\ndormant_weeks = 0\n")
    assert "silent_since" not in retro("agents", "--json").data[0]
    assert "Silent" not in retro("agents").out


def test_a_list_is_narrowed_and_sorted(sample_db: Path, retro: Retro) -> None:
    rows = {row["position_id"]: row for row in retro("--db", sample_db, "positions", "--json").data}
    words = ("positions", "--where", "pnl<0 -open", "--sort", "-pnl")
    lost = retro("--db", sample_db, *words, "--json").data
    assert [row["final_pnl"] for row in lost] == sorted(
        (row["final_pnl"] for row in rows.values() if row["final_pnl"] is not None and row["final_pnl"] < 0),
        reverse=True,
    )
    page = retro("--db", sample_db, *words, "--limit", "2", "--json").data
    following = retro("--db", sample_db, *words, "--after", page[-1]["position_id"], "--json").data
    assert page + following == lost
    sheet = retro("--db", sample_db, *words, "--format", "csv").out
    assert [row["position_id"] for row in csv.DictReader(io.StringIO(sheet))] == [
        row["position_id"] for row in lost
    ]
    refused = retro("--db", sample_db, "positions", "--where", "pnl<x")
    assert (refused.code, refused.out) == (2, "")
    assert "filter: pnl: 'x' is not a number" in refused.err
    assert "none of the" in retro("--db", sample_db, "positions", "--where", "nowhere").err


def test_a_filter_says_the_same_in_python_to_a_model_and_at_the_terminal(
    sample_db: Path, retro: Retro
) -> None:
    """One grammar: what is typed after --where is `where` elsewhere."""
    words, kind = "pnl<0 -open", "kind:weekly ended<2026-03"
    with closing(open_store(str(sample_db), create=False)) as store:
        mirror = open_mirror(str(sample_db))
        tools = ListTools(Experience(store, Config()))
        lost = retro("--db", sample_db, "positions", "--where", words, "--json").data
        assert mirror.positions(where=words) == lost
        asked = tools.list_positions(where=words, detail=True)
        assert asked["total"] == len(asked["positions"]) == len(lost) > 1
        assert {row["position_id"] for row in asked["positions"]} == {row["position_id"] for row in lost}
        weeks = retro("--db", sample_db, "reviews", "--where", kind, "--json").data
        assert mirror.reviews(where=kind) == weeks
        assert tools.list_reviews(where=kind, detail=True)["reviews"] == weeks[::-1]
        audit = mirror.playbook_audit()
        cases: dict[str, Callable[[dict[str, Any]], object]] = {
            "verdict:demote n>=3": lambda row: (
                row["recommendation"]["kind"] == "demote" and row["evaluated_count"] >= 3
            ),
            "-role:exit h-1": lambda row: (
                row["role"] == "entry" and "h-1" in f"{row['heuristic_id']} {row['heuristic_text']}".lower()
            ),
            "avg<0": lambda row: (row["avg_pnl_per_citation"] or 0) < 0,
        }
        for text, meant in cases.items():
            rows = [row for row in audit if meant(row)]
            assert mirror.playbook_audit(where=text) == rows
            assert retro("--db", sample_db, "playbook", "audit", "--where", text, "--json").data == rows
        with pytest.raises(FilterError, match="demoted"):
            mirror.playbook_audit(where="verdict:demoted")

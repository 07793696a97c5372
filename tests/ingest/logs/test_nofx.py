"""nofx's decision logs and database become the positions, decisions and equity that they show, worked out by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from retro.errors import InputError
from retro.ingest.nofx.reader import read, sniff
from retro.ingest.sample import sample_of
from retro.model import Cost, Decision, Equity, Exit, Fill, Position
from retro.periods import parse_instant
from tests.worlds.commands import Retro, retro
from tests.worlds.logs import nofx
from tests.worlds.logs.facts import NOW, Reading

__all__ = ["retro"]

NAME = "binance_deepseek_1767571200"


def reading(*paths: Path, agent: str | None = None) -> Reading:
    return Reading(read(paths, agent=agent, now=NOW))


def lines(place: Path, records: list[dict[str, Any]]) -> Reading:
    return reading(nofx.write_lines(place / "a.jsonl", records), agent="bot")


def test_positions_come_out_of_snapshots(tmp_path: Path) -> None:
    """In at the exchange's average and quantity, not the log's own; out at the price its decision saw, or at the stop."""
    facts = reading(nofx.write_folder(tmp_path, nofx.life()))
    assert facts.faults == []
    assert facts.base_currency == {NAME: "USDT"}
    btc, eth = facts.of(Position)
    assert (btc.agent, btc.kind, btc.instrument, btc.venue, btc.side) == (
        NAME, "perp", "BTC/USDT:USDT", "binance", "long",
    )  # fmt: skip
    assert btc.at == parse_instant("2026-01-05T00:00:10.123456Z")
    assert (btc.risk, eth.risk) == (Decimal("20.20"), Decimal(51)), (
        "quantity x distance of the stop, not risk_usd"
    )
    fills = [(fill.position, fill.side, fill.quantity, fill.price, fill.requested) for fill in facts.of(Fill)]
    assert fills == [
        (btc.position, "buy", Decimal("0.02"), 50010, 50000),
        (btc.position, "sell", Decimal("0.02"), 50190, None),
        (eth.position, "sell", 1, 2499, 2500),
        (eth.position, "buy", 1, 2550, None),
    ]
    assert [(line.position, line.reason) for line in facts.of(Exit)] == [
        (btc.position, "decision"),
        (eth.position, "stop_loss"),
    ]


def test_what_the_model_said_is_a_decision_and_what_failed_is_a_skip(tmp_path: Path) -> None:
    facts = reading(nofx.write_folder(tmp_path, nofx.life()))
    btc, eth = (position.position for position in facts.of(Position))
    decisions = facts.of(Decision)
    assert [(line.action, line.position, line.instrument) for line in decisions] == [
        ("enter", btc, "BTC/USDT:USDT"),
        ("hold", btc, "BTC/USDT:USDT"),
        ("exit", btc, "BTC/USDT:USDT"),
        ("enter", eth, "ETH/USDT:USDT"),
        ("hold", eth, "ETH/USDT:USDT"),
        ("skip", None, None),
        ("skip", None, None),
        ("skip", None, "SOL/USDT:USDT"),
    ]
    assert (decisions[0].reasoning, decisions[0].confidence) == ("Per H-3 it breaks out.", 0.8)
    assert decisions[4].reasoning == "Momentum is up.", (
        "its answer is cut short: the chain of thought stands for it"
    )
    assert decisions[5].context == {"error": "calling the model failed: status 404 with key [redacted]"}
    assert decisions[7].context == {"wanted": "enter", "error": "margin is short"}


def test_equity_stands_before_the_cycle_s_orders_and_marks_beside_it(tmp_path: Path) -> None:
    facts = reading(nofx.write_folder(tmp_path, nofx.life()))
    stated = [(line.at, line.value) for line in facts.of(Equity)]
    assert stated[0] == (parse_instant("2026-01-05T00:00:10.123456Z"), 1000)
    assert stated[5] == (parse_instant("2026-01-05T00:25:15.987654Z"), Decimal("949.075")), (
        "no order: as it was written"
    )
    assert list(facts.marks[NAME, "BTC/USDT:USDT"].values()) == [50100, 50200]


def test_money_that_left_is_told_with_the_line_that_explains_it(tmp_path: Path, retro: Retro) -> None:
    """Fees of 3.525 and the owner's 100 are nowhere in the log; once he confirms the 100, the fees are left."""
    nofx.write_lines(Path("log.jsonl"), nofx.life())
    done = retro("ingest", "nofx", "log.jsonl", "--agent", "bot")
    assert done.code == 0
    [line] = [line for line in done.err.splitlines() if '"external"' in line]
    words = ("review", "life", "--json")
    assert retro(*words).data["pnl"]["unattributed"] == pytest.approx(-103.525)
    Path("mine.jsonl").write_text(line[line.index("{") :] + "\n")
    assert retro("ingest", "journal", "mine.jsonl").code == 0
    after = retro(*words).data["pnl"]
    assert (after["unattributed"], after["total"]) == (pytest.approx(-3.525), pytest.approx(-50.925))


@pytest.mark.parametrize("ended", [*range(1, 8)])
def test_a_log_that_grew_at_its_end_tells_what_it_told_and_more(tmp_path: Path, ended: int) -> None:
    whole, part = lines(tmp_path, nofx.life()), lines(tmp_path, nofx.life()[:ended])
    assert part.rows.items() <= whole.rows.items()
    assert len(part.of(Equity)) == ended


@pytest.mark.parametrize("first", [*range(1, 8)])
def test_a_log_that_grew_at_its_beginning_renames_nothing(tmp_path: Path, first: int) -> None:
    whole, part = lines(tmp_path, nofx.life()), lines(tmp_path, nofx.life()[first:])
    kinds = {"position", "fill", "exit", "equity"}
    assert {name for name in part.rows if name[1] in kinds} <= whole.rows.keys()
    assert all(part.rows[name] == whole.rows[name] for name in part.rows if name[1] in kinds)
    middle = {1: "BTCUSDT long", 2: "BTCUSDT long", 4: "ETHUSDT short"}
    assert [fault.reason.split(" 0.")[0].split(" 1 ")[0] for fault in part.faults] == (
        [middle[first]] if first in middle else []
    )


def test_folder_and_lines_and_both_tell_the_same(tmp_path: Path) -> None:
    folder, file = (
        nofx.write_folder(tmp_path, nofx.life()),
        nofx.write_lines(tmp_path / "a.jsonl", nofx.life()[3:]),
    )
    alone = reading(folder, agent="bot").rows
    assert reading(tmp_path, agent="bot").rows.keys() == alone.keys(), "a folder's .jsonl files are read, too"
    assert {row[2]: row for row in alone.values()} == {
        row[2]: row for row in reading(file, folder, agent="bot").rows.values()
    }


def test_two_traders_of_one_time_are_not_one(tmp_path: Path) -> None:
    early, late = nofx.life(), nofx.life()
    for line in late:
        line["timestamp"] = line["timestamp"].replace("15.987654321", "16.5")
    nofx.write_folder(tmp_path, early)
    logs = nofx.write_folder(tmp_path / "b", late, "okx_other_model_1767571200")
    assert {name[0] for name in reading(tmp_path / "decision_logs", logs).rows} == {
        NAME,
        "okx_other_model_1767571200",
    }
    mixed = reading(tmp_path / "decision_logs", logs, agent="bot")
    assert ["another trader's" in fault.reason for fault in mixed.faults] == [True]


def test_a_close_that_a_fork_logs_when_it_finds_the_position_gone_is_the_exchange_s(tmp_path: Path) -> None:
    """Its price is the log's, and nobody decided it."""
    records = nofx.life()
    records[5] = nofx.record(
        25, 949.1, 949.1, [],
        [nofx.act("close_short", "ETHUSDT", 25, price=2549.5, is_auto_triggered=True, was_stop_loss=True)],
    )  # fmt: skip
    facts = lines(tmp_path, records)
    assert (facts.of(Fill)[-1].price, facts.of(Exit)[-1].reason) == (Decimal("2549.5"), "stop_loss")
    assert [line.action for line in facts.of(Decision)].count("exit") == 1, "the BTC alone"


def test_a_position_grows_at_the_price_that_the_average_shows(tmp_path: Path) -> None:
    """0.02 at 50,010 and 0.02 more make 0.04 at 50,110: the second came at 50,210. Half is then sold at the mark."""
    records = nofx.life()[:2]
    records.append(nofx.record(10, 1003, 400, [nofx.holding("BTCUSDT", "long", 0.04, 50110, 50200)], []))
    records.append(nofx.record(15, 1003, 600, [nofx.holding("BTCUSDT", "long", 0.02, 50110, 50300)], []))
    facts = lines(tmp_path, records)
    assert [(fill.side, fill.quantity, fill.price) for fill in facts.of(Fill)] == [
        ("buy", Decimal("0.02"), 50010),
        ("buy", Decimal("0.02"), 50210),
        ("sell", Decimal("0.02"), 50300),
    ]
    assert any("made by hand: 2" in sentence for sentence in facts.notices)


def test_an_entry_that_no_snapshot_shows_was_stopped_out_or_never_filled(tmp_path: Path) -> None:
    """The account fell by 21.2: 0.0207 units from 50,000 to the stop at 49,000, and the fees. Unchanged, nothing was bought."""
    first = nofx.life()[0]
    facts = lines(tmp_path, [first, nofx.record(5, 978.8, 978.8, [], [])])
    assert [(fill.quantity, fill.price) for fill in facts.of(Fill)] == [
        (Decimal("0.0207"), 50000),
        (Decimal("0.0207"), 49000),
    ]
    assert [line.reason for line in facts.of(Exit)] == ["stop_loss"]
    assert lines(tmp_path, [first, nofx.record(5, 1000, 1000, [], [])]).of(Fill) == []


def test_a_close_that_changed_nothing_closes_nothing(tmp_path: Path) -> None:
    records = nofx.life()[:3]
    records.append(nofx.record(15, 1003, 600, [nofx.holding("BTCUSDT", "long", 0.02, 50010, 50200)], []))
    assert len(lines(tmp_path, records).of(Fill)) == 1


def test_an_account_that_could_not_be_read_is_no_account_of_nothing(tmp_path: Path) -> None:
    """Zeros stand for nothing there: the position goes on."""
    records = nofx.life()
    records.insert(2, nofx.record(7, 0, 0, [], None, success=False, error_message="balance: timeout"))
    whole, plain = lines(tmp_path, records), lines(tmp_path, nofx.life())
    assert whole.of(Fill) == plain.of(Fill)
    assert whole.of(Equity) == plain.of(Equity)


def test_what_is_no_record_is_a_fault_and_the_others_stay(tmp_path: Path) -> None:
    text = nofx.write_lines(tmp_path / "a.jsonl", nofx.life()).read_text()
    (tmp_path / "b.jsonl").write_text(
        f'{{"timestamp": 5}}\n{text}{{"timestamp": "2026-01-05T08:40:00+08:00", "deci'
    )
    facts = reading(tmp_path / "b.jsonl", agent="bot")
    assert [fault.line for fault in facts.faults] == [1, 10]
    assert len(facts.of(Equity)) == 8


def test_unknown_actions_are_counted(tmp_path: Path) -> None:
    records = nofx.life()
    records[6]["decisions"] = [nofx.act("pray", "BTCUSDT", 30), nofx.act("pray", "ETHUSDT", 30)]
    assert 'bot: unknown actions, left out: 2 x "pray"' in lines(tmp_path, records).notices


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"date,price\n1,2\n",
        b'{"type": "fill"}\n',
        b'{"timestamp": "2026-01-05T08:00:00Z", "decision": {}}\n',
        b"\0" * 5000,
    ],
)
def test_another_file_is_one_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.jsonl holds no decision record of nofx"):
        reading(tmp_path / "a.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no decision_"):
        reading(tmp_path / "empty")


def test_the_database_tells_fees_and_is_held_against_its_own_results(tmp_path: Path) -> None:
    """In at 50,000 and 50,020, out at 50,190: 3.60, as its own row says; the order that closed it was a stop."""
    facts = reading(nofx.write_database(tmp_path / "data.db"))
    assert facts.faults == []
    (position,) = facts.of(Position)
    assert (position.agent, position.side, position.venue) == (NAME, "long", "binance")
    assert [(fill.id, fill.quantity, fill.price, fill.fee, fill.order) for fill in facts.of(Fill)] == [
        ("t-1", Decimal("0.01"), 50000, Decimal("0.25"), "77"),
        ("t-2", Decimal("0.01"), 50020, Decimal("0.25"), "77"),
        ("t-3", Decimal("0.02"), 50190, Decimal("0.5"), "78"),
    ]
    assert [line.reason for line in facts.of(Exit)] == ["stop_loss"]
    assert [(line.action, line.position, line.reasoning) for line in facts.of(Decision)] == [
        ("enter", position.position, "Per H-3."),
        ("hold", position.position, "Momentum."),
    ]
    (stated,) = facts.checks
    assert (stated.what, stated.subject, stated.stated, stated.fill, stated.net_of) == (
        "realized_pnl", position.position, Decimal("3.6"), "t-3", (),
    )  # fmt: skip
    assert [line.value for line in facts.of(Equity)] == [1000]
    assert [(line.kind, line.amount, line.model) for line in facts.of(Cost)] == [
        ("inference", Decimal("0.003"), "deepseek")
    ]


def test_a_database_of_an_older_version_lacks_tables_and_columns(tmp_path: Path) -> None:
    path = nofx.write_database(tmp_path / "data.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "DROP TABLE trader_orders; DROP TABLE ai_charges; ALTER TABLE trader_fills DROP COLUMN realized_pnl;"
        )
    facts = reading(path)
    assert (len(facts.of(Fill)), facts.checks, facts.of(Exit)[0].reason) == (3, [], "")


def test_what_is_nobody_s_business_is_stored_nowhere(tmp_path: Path, retro: Retro) -> None:
    nofx.write_folder(tmp_path, nofx.life())
    nofx.write_database(tmp_path / "data.db", "okx_x_1767571200")
    for source in ("decision_logs", "data.db"):
        done = retro("--db", "m.db", "ingest", "nofx", source)
        assert (done.code, nofx.KEY in done.out + done.err) == (0, False)
    with closing(sqlite3.connect("m.db")) as connection:
        assert nofx.KEY not in "".join(connection.iterdump())


def test_a_reading_again_changes_nothing_and_a_review_follows(tmp_path: Path, retro: Retro) -> None:
    nofx.write_folder(tmp_path, nofx.life())
    first = retro("ingest", "nofx", "decision_logs", "--json")
    assert first.code == 0
    again = retro("ingest", "nofx", "decision_logs", "--json")
    assert (again.data["stored"], again.data["unchanged"], again.data["conflicts"]) == (
        0,
        first.data["stored"],
        0,
    )
    weekly = retro("review", "weekly", "--at", "2026-01-05", "--json")
    assert weekly.code == 0
    assert weekly.data["pnl"]["trading_gains"] == pytest.approx(3.6)
    assert weekly.data["pnl"]["trading_losses"] == pytest.approx(51)


def test_prose_is_shown_and_obeyed_nowhere(tmp_path: Path, retro: Retro) -> None:
    records = nofx.life()
    wishes = json.loads(records[0]["decision_json"])
    wishes[0]["reasoning"] = "<script>alert(1)</script>\x1b[31m \u202e H-1"
    records[0]["decision_json"] = json.dumps(wishes)
    nofx.write_lines(Path("log.jsonl"), records)
    assert retro("ingest", "nofx", "log.jsonl", "--agent", "bot").code == 0
    position = retro("positions", "--json").data[0]["position_id"]
    page = retro("review", "position", position, "--format", "html").out
    assert "<script>alert" not in page
    assert "\x1b" not in page


def test_its_files_are_known_by_what_they_are(tmp_path: Path) -> None:
    logs = nofx.write_folder(tmp_path, nofx.life())
    file = nofx.write_lines(tmp_path / "a.jsonl", nofx.life())
    database = nofx.write_database(tmp_path / "data.db")
    for path in (logs, next(logs.iterdir()), file, database):
        assert sniff(sample_of(path)), path
    (tmp_path / "other.jsonl").write_text('{"type": "fill", "price": 1}\n')
    assert sniff(sample_of(tmp_path / "other.jsonl")) is None
    assert sniff(sample_of(tmp_path)) is None


def test_records_that_another_tool_wrote_anew_tell_the_same(tmp_path: Path) -> None:
    """With a byte order mark, a blank line after each, keys in another order, and whole numbers as fractions."""
    path = nofx.write_lines(tmp_path / "log.jsonl", nofx.life())
    plain = reading(path, agent="bot")
    records = [json.loads(text, parse_int=float) for text in path.read_text().splitlines()]
    anew = "\n\n".join(json.dumps(dict(reversed(record.items()))) for record in records)
    path.write_text(f"\ufeff{anew}\n", encoding="utf-8")
    again = reading(path, agent="bot")
    for kind in (Position, Fill, Exit, Equity):
        assert again.of(kind) == plain.of(kind) != []
    assert again.faults == plain.faults == []

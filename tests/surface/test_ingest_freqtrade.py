"""`retro ingest freqtrade`: whose life a database tells, what it says of itself, and what is asked for in one command."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.commands import Retro, retro
from tests.worlds.freqtrade_databases import Order, Trade, result, write, zipped

__all__ = ["retro"]

D = "2026-01-{:02d} 00:00:00.000000"


def bot(pair: str, day: int, gain: float, number: int = 1, **changes: Any) -> Trade:
    """A round trip of one unit at 100 over two days from `day` on, free of fees."""
    orders = [Order(True, 1.0, 100.0, D.format(day)), Order(False, 1.0, 100.0 + gain, D.format(day + 2))]
    return Trade(orders, id=number, pair=pair, fee=0.0, **changes)


def pnls(retro: Retro, *words: str) -> dict[str, float]:
    return {row["position_id"]: row["final_pnl"] for row in retro("positions", *words, "--json").data}


def candles(name: str, *days: int) -> None:
    """Five minutes' candles at 100 from noon on these days of January, in the folder `data`."""
    rows = "".join(f"2026-01-{day:02d} 12:0{m}:00,100,101,99,100,5\n" for day in days for m in (0, 5))
    path = Path("data", f"{name}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("date,open,high,low,close,volume\n" + rows)


def test_a_second_database_of_one_strategy_name_is_refused_and_changes_nothing(retro: Retro) -> None:
    """A reset bot: the archived database made -10 + 5, the new one counts from 1 again and made +30."""
    write(Path("archived.sqlite"), [bot("ENJ/USDT", 1, -10), bot("JUP/USDT", 2, 5, 2)])
    write(Path("new.sqlite"), [bot("JUP/USDT", 8, 30)])
    assert retro("ingest", "freqtrade", "archived.sqlite").code == 0
    before = retro("positions", "--json").out
    refused = retro("ingest", "freqtrade", "new.sqlite")
    assert (refused.code, refused.out) == (1, "")
    assert "trade 1 is ENJ/USDT on kraken, opened 2026-01-01T00:00:00Z" in refused.err
    assert "JUP/USDT on kraken, opened 2026-01-08T00:00:00Z" in refused.err
    assert "--agent NAME" in refused.err
    assert "--replace-source" in refused.err
    assert retro("positions", "--json").out == before
    assert [fault["where"] for fault in retro("faults", "--json").data] == ["new.sqlite"]


def test_both_ways_on_lead_on(retro: Retro) -> None:
    write(Path("one.sqlite"), [bot("ENJ/USDT", 1, -10), bot("JUP/USDT", 2, 5, 2)])
    write(Path("two.sqlite"), [bot("JUP/USDT", 8, 30)])
    retro("ingest", "freqtrade", "one.sqlite")
    retro("review", "weekly")
    assert retro("ingest", "freqtrade", "two.sqlite", "--agent", "second").code == 0
    assert pnls(retro, "--agent", "Sample") == {"ft-1": -10, "ft-2": 5}
    assert pnls(retro, "--agent", "second") == {"ft-1": 30}
    replaced = retro("ingest", "freqtrade", "two.sqlite", "--replace-source")
    assert replaced.code == 0
    assert "takes the place" in replaced.err
    assert pnls(retro, "--agent", "Sample") == {"ft-1": 30}
    retro("--db", "alone.db", "ingest", "freqtrade", "two.sqlite")
    words = ("review", "epoch", "--json")
    assert retro(*words, "--agent", "Sample").out == retro("--db", "alone.db", *words).out, (
        "as if the first had never been"
    )


LATER_NUMBERS: dict[str, list[Trade]] = {
    "one": [bot("ENJ/USDT", 10, -10), bot("JUP/USDT", 12, 5, 2)],
    "two": [bot("ADA/USDT", 1, 30, 7), bot("ADA/USDT", 4, 30, 8)],
}
"""Trades 7 and 8 of the second opened nine days before trade 1 of the first: one bot counts them as they open."""


@pytest.mark.parametrize(("first", "second"), [("one", "two"), ("two", "one")])
def test_numbers_that_run_against_the_times_are_another_bots_though_none_is_told_twice(
    retro: Retro, first: str, second: str
) -> None:
    write(Path("first.sqlite"), LATER_NUMBERS[first])
    write(Path("second.sqlite"), LATER_NUMBERS[second])
    assert retro("ingest", "freqtrade", "first.sqlite").code == 0
    refused = retro("ingest", "freqtrade", "second.sqlite")
    assert (refused.code, refused.out) == (1, "")
    assert "a bot numbers its trades as they open" in refused.err
    assert "--agent NAME" in refused.err
    assert len(pnls(retro)) == 2


def test_a_simulated_life_may_number_some_trades_days_out_of_order(retro: Retro) -> None:
    """Trades are read 500 at a time: 501 opened five days before 500, in one database and in two parts of it."""
    orders = [Order(True, 1.0, 100.0, D.format(7)), Order(False, 1.0, 101.0, D.format(8))]
    trades = [Trade(orders, id=number, fee=0.0) for number in range(1, 501)]
    trades += [bot("ENJ/USDT", day, 1, 499 + day) for day in (2, 10, 11)]
    write(Path("whole.sqlite"), trades)
    write(Path("early.sqlite"), trades[:500])
    write(Path("late.sqlite"), trades[500:])
    for names in (["whole"], ["early", "late"], ["late", "early", "whole"]):
        db = "-".join(names) + ".db"
        for name in names:
            assert retro("--db", db, "ingest", "freqtrade", f"{name}.sqlite").code == 0, names


def test_parts_of_one_bot_that_share_no_trade_are_one_life_in_any_order(retro: Retro) -> None:
    """Of a purged database, a backup and the state of today; trade 3 was filled an hour after trade 4."""
    waited = [Order(True, 1.0, 100.0, "2026-01-05 01:00:00"), Order(False, 1.0, 105.0, D.format(6))]
    trades = [
        bot("ENJ/USDT", 1, -10),
        bot("JUP/USDT", 3, 5, 2),
        Trade(waited, id=3, pair="ADA/USDT", fee=0.0),
        bot("ENJ/USDT", 5, 7, 4),
    ]
    parts = {"old": trades[:2], "middle": trades[2:3], "new": trades[3:], "whole": trades}
    for name, told in parts.items():
        write(Path(f"{name}.sqlite"), told)
    for order in itertools.permutations(parts):
        db = "-".join(order) + ".db"
        for name in order:
            assert retro("--db", db, "ingest", "freqtrade", f"{name}.sqlite").code == 0, order
        assert pnls(retro, "--db", db) == {"ft-1": -10, "ft-2": 5, "ft-3": 5, "ft-4": 7}


@pytest.mark.parametrize("other", [{"pair": "JUP/USDT", "day": 1}, {"pair": "ENJ/USDT", "day": 3}])
def test_another_pair_or_another_time_makes_another_bot(retro: Retro, other: dict[str, Any]) -> None:
    write(Path("one.sqlite"), [bot("ENJ/USDT", 1, -10)])
    write(Path("two.sqlite"), [bot(other["pair"], other["day"], -10)])
    for first, second in itertools.permutations(["one.sqlite", "two.sqlite"]):
        db = f"{first}.db"
        assert retro("--db", db, "ingest", "freqtrade", first).code == 0
        assert retro("--db", db, "ingest", "freqtrade", second).code == 1
        assert len(retro("--db", db, "positions", "--json").data) == 1


def test_the_same_trade_on_another_exchange_is_another_bot_s(retro: Retro) -> None:
    write(Path("one.sqlite"), [bot("ENJ/USDT", 1, -10)])
    write(Path("two.sqlite"), [bot("ENJ/USDT", 1, -10, row={"exchange": "binance"})])
    retro("ingest", "freqtrade", "one.sqlite")
    assert retro("ingest", "freqtrade", "two.sqlite").code == 1


def test_a_backtest_is_not_the_live_bot_and_one_run_is_not_another(retro: Retro) -> None:
    """Two runs of one strategy that enter alike and exit otherwise agree in every entry."""
    trade, later = bot("ENJ/USDT", 1, -10), bot("ENJ/USDT", 1, 20)
    write(Path("live.sqlite"), [trade])
    zipped(Path("one.zip"), {"backtest-result-1.json": result([trade])})
    zipped(Path("copy.zip"), {"backtest-result-9.json": result([trade])})
    zipped(Path("two.zip"), {"backtest-result-2.json": result([later])})
    retro("ingest", "freqtrade", "one.zip")
    assert retro("ingest", "freqtrade", "copy.zip").code == 0
    for other in ("two.zip", "live.sqlite"):
        refused = retro("ingest", "freqtrade", other)
        assert refused.code == 1
        assert "backtest" in refused.err
    assert pnls(retro) == {"ft-1": -10}
    retro("--db", "live.db", "ingest", "freqtrade", "live.sqlite")
    assert retro("--db", "live.db", "ingest", "freqtrade", "one.zip").code == 1


def test_later_states_of_one_database_go_on_working_in_any_order(retro: Retro) -> None:
    states = [
        [bot("ENJ/USDT", 1, -10)],
        [bot("ENJ/USDT", 1, -10), bot("JUP/USDT", 2, 5, 2)],
        [bot("JUP/USDT", 2, 5, 2), bot("XMR/USDT", 9, 7, 3)],
    ]
    for number, trades in enumerate(states):
        write(Path(f"{number}.sqlite"), trades)
    outputs = set()
    for order in itertools.permutations(range(3)):
        db = "".join(map(str, order)) + ".db"
        for number in order:
            assert retro("--db", db, "ingest", "freqtrade", f"{number}.sqlite").code == 0
        outputs.add(retro("--db", db, "positions", "--json").out)
    assert len(outputs) == 1


def test_a_copy_and_the_bot_that_went_on_from_it_are_two_bots(retro: Retro) -> None:
    """A life is forked: the first trade is one and the same, the second another."""
    write(Path("one.sqlite"), [bot("ENJ/USDT", 1, -10), bot("JUP/USDT", 4, 5, 2)])
    write(Path("two.sqlite"), [bot("ENJ/USDT", 1, -10), bot("XMR/USDT", 5, 9, 2)])
    retro("ingest", "freqtrade", "one.sqlite")
    assert retro("ingest", "freqtrade", "two.sqlite").code == 1


def test_one_trade_in_hundreds_that_its_own_orders_tell_otherwise_was_corrected(retro: Retro) -> None:
    """Told by orders of the same names it replaces what was known whole; by others it would mix with it."""
    life = [bot("ENJ/USDT", 1, 1, number) for number in range(1, 201)]
    corrected, other = bot("JUP/USDT", 2, 5, 200), bot("JUP/USDT", 2, 5, 200)
    write(Path("a.sqlite"), life)
    write(Path("b.sqlite"), [*life[:-1], corrected])
    other.row = {"id": 200}
    write(Path("c.sqlite"), [*life[:-1], other])
    with sqlite3.connect("c.sqlite") as connection:
        connection.execute("UPDATE orders SET order_id = 'another' || id WHERE ft_trade_id = 200")
    connection.close()
    for first, second, code in (("a", "b", 0), ("b", "a", 0), ("a", "c", 1), ("c", "a", 1)):
        db = f"{first}{second}.db"
        assert retro("--db", db, "ingest", "freqtrade", f"{first}.sqlite").code == 0
        assert retro("--db", db, "ingest", "freqtrade", f"{second}.sqlite").code == code
    assert retro("--db", "ab.db", "positions", "--json").data[-1]["instrument"] == "JUP/USDT"


def test_a_later_state_that_numbers_a_few_open_trades_anew_tells_them_whole(retro: Retro) -> None:
    """Seen mid-life trades 299 and 300 were UNI and BTC, still open; in the end they are DOT and ADA, and those follow.

    Under one number there are two tellings of one bot, and the later one is right: nothing of the earlier is left, and
    the earlier state read again does not come back.
    """
    life = [bot("ENJ/USDT", 1, 1, number) for number in range(1, 299)]

    def still_open(pair: str, number: int) -> Trade:
        return Trade([Order(True, 1.0, 100.0, D.format(8))], id=number, pair=pair, fee=0.0, open=True)

    write(Path("mid.sqlite"), [*life, still_open("UNI/USDT", 299), still_open("BTC/USDT", 300)])
    ended = [("DOT/USDT", 10, -6), ("ADA/USDT", 10, 4), ("UNI/USDT", 8, 9), ("BTC/USDT", 8, -2)]
    write(Path("end.sqlite"), [*life, *(bot(*words, 299 + i) for i, words in enumerate(ended))])
    outputs = set()
    for order in (("end",), ("mid", "end"), ("end", "mid"), ("mid", "end", "mid")):
        db = "-".join(order) + ".db"
        for name in order:
            assert retro("--db", db, "ingest", "freqtrade", f"{name}.sqlite").code == 0
        outputs.add(retro("--db", db, "review", "epoch", "--json").out)
    assert len(outputs) == 1
    made = pnls(retro, "--db", "mid-end.db")
    assert {name: made[name] for name in ("ft-299", "ft-300", "ft-301", "ft-302")} == {
        "ft-299": -6,
        "ft-300": 4,
        "ft-301": 9,
        "ft-302": -2,
    }


def test_the_first_ingest_says_that_one_name_keeps_one_life(retro: Retro) -> None:
    trades = [bot("ENJ/USDT", 1, -10), bot("JUP/USDT", 4, 5, 2, strategy="Newer")]
    write(Path("t.sqlite"), trades[:1])
    assert "--agent NAME" in retro("ingest", "freqtrade", "t.sqlite").err
    assert "--agent NAME" not in retro("ingest", "freqtrade", "t.sqlite").err
    write(Path("both.sqlite"), trades)
    several = retro("--db", "b.db", "ingest", "freqtrade", "both.sqlite")
    assert "2 agents, one a strategy and stake: Newer, Sample; --agent NAME" in several.err
    retro("--db", "c.db", "ingest", "freqtrade", "t.sqlite", "--agent", "bot")
    named = retro("--db", "c.db", "ingest", "freqtrade", "both.sqlite", "--agent", "bot")
    assert (named.code, "--agent" in named.err) == (0, False)
    assert pnls(retro, "--db", "c.db") == {"ft-1": -10, "ft-2": 5}


# candles and orders that are not there


def test_no_candles_is_the_normal_case_and_one_command_fetches_them(retro: Retro) -> None:
    """Marks are wanted from a day before the first entry to 31 days after the last exit."""
    write(Path("t.sqlite"), [bot("ENJ/USDT", 5, -10), bot("JUP/USDT", 8, 5, 2, timeframe=60)])
    done = retro("ingest", "freqtrade", "t.sqlite", "--json")
    assert (done.code, done.data["faults"]) == (0, [])
    command = (
        "freqtrade download-data --exchange kraken --pairs ENJ/USDT JUP/USDT --timeframes 1h 5m"
        " --timerange 20260104-20260211"
    )
    assert any(notice.endswith(command) for notice in done.data["notices"])
    assert command in retro("ingest", "freqtrade", "t.sqlite").err


def test_of_pairs_a_bot_still_holds_candles_are_wanted_up_to_now_and_futures_say_so(retro: Retro) -> None:
    open_trade = Trade(
        [Order(True, 1.0, 100.0, D.format(5))], pair="ENJ/USDT:USDT", mode="FUTURES", open=True
    )
    write(Path("t.sqlite"), [open_trade])
    said = retro("ingest", "freqtrade", "t.sqlite").err
    assert "--trading-mode futures --pairs ENJ/USDT:USDT --timeframes 5m --timerange 20260104-\n" in said


def test_old_names_of_futures_are_asked_for_as_futures_and_spot_apart(retro: Retro) -> None:
    """freqtrade knows the future of BTC/USDT as BTC/USDT:USDT only; before 2023 a bot's rows left the :USDT out."""
    trades = [
        bot("BTC/USDT", 5, -10, 1, mode="FUTURES"),
        bot("ENJ/USDT", 5, -10, 2),
        bot("SOL/USDC:USDC", 5, -10, 3, mode="FUTURES", stake="USDC", timeframe=60),
    ]
    write(Path("t.sqlite"), trades)
    said = retro("ingest", "freqtrade", "t.sqlite", "--agent", "bot").err
    spot = "freqtrade download-data --exchange kraken --trading-mode spot --pairs ENJ/USDT --timeframes 5m"
    futures = (
        "freqtrade download-data --exchange kraken --trading-mode futures --pairs BTC/USDT:USDT SOL/USDC:USDC"
        " --timeframes 1h 5m"
    )
    timerange = "--timerange 20260104-20260208"
    assert f"--candles: {spot} {timerange} && {futures} {timerange}\n" in said
    candles("futures/BTC_USDT_USDT-5m-futures", 5, 6, 7)
    fetched = retro("ingest", "freqtrade", "t.sqlite", "--agent", "bot", "--candles", "data").err
    assert "2 pairs of 3 without candles for the time traded (6 of 9 days;" in fetched
    assert "BTC" not in fetched


def test_only_days_that_have_no_mark_are_said_to_lack_candles(retro: Retro) -> None:
    """ENJ is held on 5, 6 and 7 January and from the 9th to the 11th, JUP from the 5th to the 7th."""
    early = [bot("ENJ/USDT", 5, -10), bot("JUP/USDT", 5, 5, 2)]
    write(Path("t.sqlite"), early)
    candles("ENJ_USDT-5m", 5, 6, 7)
    for words in ([], ["--candles", "data"]):
        said = retro("ingest", "freqtrade", "t.sqlite", *words).err
    assert "1 pair of 2 without candles for the time traded (3 of 6 days;" in said
    said = retro("ingest", "freqtrade", "t.sqlite").err
    assert (
        "no candles were given, and of 1 pair of 2 no marks are stored for the time traded (3 of 6 days)"
        in said
    )
    assert "--pairs JUP/USDT --timeframes 5m --timerange 20260104-20260208\n" in said
    assert "download-data" in retro("--db", "new.db", "ingest", "freqtrade", "t.sqlite", "--dry-run").err
    candles("JUP_USDT-5m", 5, 6, 7)
    assert "candles" not in retro("ingest", "freqtrade", "t.sqlite", "--candles", "data").err
    assert "candles" not in retro("ingest", "freqtrade", "t.sqlite").err
    write(Path("later.sqlite"), [*early, bot("ENJ/USDT", 9, 1, 3)])
    said = retro("ingest", "freqtrade", "later.sqlite").err
    assert "of 1 pair of 2 no marks are stored for the time traded (3 of 9 days)" in said
    assert "--pairs ENJ/USDT --timeframes 5m --timerange 20260108-20260212\n" in said


def test_pairs_without_a_candle_file_are_one_warning_with_their_count(retro: Retro) -> None:
    trades = [bot(f"C{number}/USDT", 5, -10, number) for number in range(1, 54)]
    write(Path("t.sqlite"), trades)
    candles("C1_USDT-5m", 5, 6, 7)
    done = retro("ingest", "freqtrade", "t.sqlite", "--candles", "data")
    assert done.code == 0
    assert done.err.count("freqtrade download-data") == 1
    assert "52 pairs of 53 without candles for the time traded (156 of 159 days;" in done.err
    assert retro("faults", "--json").data == []
    Path("up").mkdir()
    Path("data").rename("up/kraken")
    assert "its folder kraken does" in retro("ingest", "freqtrade", "t.sqlite", "--candles", "up").err


def test_trades_whose_orders_were_never_filled_are_left_out_in_words(retro: Retro) -> None:
    pending = [
        Trade(
            [Order(True, 1.0, 9.0, D.format(1), filled=0.0, status="open", open=True)], id=number, open=True
        )
        for number in (2, 3)
    ]
    write(Path("t.sqlite"), [bot("ENJ/USDT", 5, -10), *pending])
    done = retro("ingest", "freqtrade", "t.sqlite")
    assert done.code == 0
    assert "2 trades are left out: none of their orders has been filled" in done.err

"""Where a freqtrade bot's facts come from: live databases, result archives, candle folders, and what is none of them."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from retro.errors import InputError, UsageError
from retro.ingest.freqtrade.reader import read
from retro.model import Batch, Exit, Fill, Flow, decode
from retro.periods import DAY, HOUR, parse_instant
from tests.worlds.freqtrade_databases import D, Order, Trade, result, write, zipped
from tests.worlds.places import ROOT

NOW = parse_instant("2026-11-22T00:00:00Z")
SHARED = Path(os.environ.get("RETRO_SHARED_DATA", ROOT.parent / "shared" / "data")) / "freqtrade"


def simple(**changes: Any) -> Trade:
    orders = [Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 110.0, D.format(3))]
    defaults: dict[str, Any] = {"orders": orders, "stop": 94.0}
    return Trade(**(defaults | changes))


def bodies(path: Path, **options: Any) -> list[str]:
    return [row.body for batch in read(path, now=NOW, **options) for row in batch.rows]


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


# ---------------------------------------------------------------- live databases

_BOT = """
import sqlite3, sys
bot = sqlite3.connect(sys.argv[1], isolation_level=None)
bot.execute("PRAGMA journal_mode = WAL")
bot.execute("PRAGMA wal_autocheckpoint = 0")
bot.execute("UPDATE trades SET exit_reason = 'stop_loss'")
bot.execute("BEGIN IMMEDIATE")
bot.execute("UPDATE trades SET exit_reason = 'never committed'")
print("ready", flush=True)
sys.stdin.read(1)
"""


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A bot that has committed to its WAL, is in the middle of another write, and lives in another process."""
    path = write(tmp_path / "bot" / "t.sqlite", [simple()])
    with subprocess.Popen(
        [sys.executable, "-c", _BOT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        yield path, process
        process.kill()


@pytest.fixture(autouse=True)
def room(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()


def test_a_live_database_is_read_as_committed_and_nothing_beside_it_changes(
    bot: tuple[Path, subprocess.Popen[bytes]],
) -> None:
    path, _ = bot
    before = folder(path.parent)
    assert "stop_loss" in bodies(path)[-1]
    assert folder(path.parent) == before
    assert set(before) == {"t.sqlite", "t.sqlite-wal", "t.sqlite-shm"}


def test_what_a_killed_bot_left_in_its_wal_is_read_and_left_there(
    bot: tuple[Path, subprocess.Popen[bytes]],
) -> None:
    path, process = bot
    process.kill()
    process.wait()
    path.with_name("t.sqlite-shm").unlink()
    before = folder(path.parent)
    assert "stop_loss" in bodies(path)[-1]
    assert folder(path.parent) == before


def test_a_resting_wal_database_gets_no_files_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path / "bot" / "t.sqlite", [simple()])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    before = folder(path.parent)
    assert bodies(path)
    assert folder(path.parent) == before


def test_a_write_that_a_crash_tore_is_rolled_back_in_the_copy_only(tmp_path: Path) -> None:
    path = write(tmp_path / "bot" / "t.sqlite", [simple(id=number) for number in range(1, 200)])
    script = """
import os, sqlite3, sys
bot = sqlite3.connect(sys.argv[1], isolation_level=None)
bot.execute("PRAGMA cache_size = 1")
bot.execute("BEGIN IMMEDIATE")
bot.execute("UPDATE trades SET exit_reason = 'torn by a crash, in the middle of a long write'")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    before = folder(path.parent)
    assert "t.sqlite-journal" in before
    assert "torn" not in "".join(bodies(path))
    assert folder(path.parent) == before


def test_a_locked_database_is_waited_for_and_then_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "bot" / "t.sqlite", [simple()])
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="is locked by another program and stayed so for 5 s"):
        bodies(path)
    connection.close()
    assert bodies(path)


# ---------------------------------------------------------------- what is no source


def _whole(path: Path) -> bytes:
    return write(path, [simple(id=number) for number in range(1, 60)]).read_bytes()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda whole: b"", "is empty"),
        (lambda whole: whole[: len(whole) // 2], "damaged or cut short"),
        (lambda whole: whole[:60], "damaged or cut short"),
        (lambda whole: whole[:-1], "damaged or cut short"),
        (lambda whole: whole[:100] + bytes(len(whole) - 100), "not an SQLite database|damaged"),
        (lambda whole: b"hello, world", "neither a freqtrade database nor a backtest result"),
        (lambda whole: b"PK\3\4 not really", "damaged or locked zip file"),
        (lambda whole: b'{"strategy": ', "not a readable JSON document"),
        (lambda whole: b'{"strategy": {"A": {"trades": 7}}}', "holds no backtest result"),
        (lambda whole: b'{"a":' + b"[" * 100_000, "not a readable JSON document"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, make: Any, words: str) -> None:
    path = tmp_path / "odd"
    path.write_bytes(make(_whole(tmp_path / "whole.sqlite")))
    with pytest.raises(InputError, match=words) as caught:
        bodies(path)
    assert "\n" not in str(caught.value)


def test_a_folder_nothing_and_a_foreign_database_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        bodies(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        bodies(tmp_path / "nothing")
    sqlite3.connect(tmp_path / "blank.sqlite").close()
    with pytest.raises(InputError, match="is empty"):
        bodies(tmp_path / "blank.sqlite")
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE trades (id INTEGER, price FLOAT)")
    connection.close()
    with pytest.raises(InputError, match="lacks pair, is_open"):
        bodies(tmp_path / "other.sqlite")


# ---------------------------------------------------------------- results


class _Bomb:
    """A pickle that would leave a mark if anything loaded it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_result_tells_the_same_trades_as_a_database_and_its_code_is_never_run(tmp_path: Path) -> None:
    trades = [simple(), simple(id=2, stop=0.0, enter_tag="dip")]
    mark = tmp_path / "ran"
    document = result(trades)
    path = zipped(
        tmp_path / "backtest-result-1.zip",
        {
            "backtest-result-1.json": document,
            "backtest-result-1_config.json": {"padding": "x" * 10_000},
            "/etc/evil.json": {"padding": "x" * 20_000},
            "../evil.json": {"padding": "x" * 20_000},
            "backtest-result-1_signals.pkl": pickle.dumps(_Bomb(mark)),
            "backtest-result-1_Sample.py": f"import os; os.mkdir({str(mark)!r})".encode(),
        },
    )
    (batch,) = read(path, now=NOW)
    assert not mark.exists()
    assert (batch.faults, batch.base_currency) == ([], {"Sample": "USDT"})
    assert batch.capital == {"Sample": 1000}
    rows = [(row.type, row.position, row.at) for row in batch.rows]
    (database,) = read(write(tmp_path / "t.sqlite", trades), now=NOW)
    assert rows == [(row.type, row.position, row.at) for row in database.rows]
    assert batch.as_of == database.as_of
    beside = tmp_path / "backtest-result-1.meta.json"
    beside.write_text("{}")
    assert bodies(beside) == [row.body for row in batch.rows]


def test_a_result_with_funding_shorts_and_two_strategies(tmp_path: Path) -> None:
    short = simple(pair="ETH/USDT:USDT", mode="FUTURES", short=True)
    short.orders[1].funding = 0.5
    both = {"strategy": result([short])["strategy"] | result([simple(strategy="Other")])["strategy"]}
    path = zipped(tmp_path / "r.zip", {"r.json": both})
    (batch,) = read(path, now=NOW)
    assert set(batch.base_currency) == {"Sample", "Other"}
    assert any('"funding_received"' in row.body and '"0.5"' in row.body for row in batch.rows)
    assert batch.faults == []
    with pytest.raises(UsageError, match="2 strategies"):
        bodies(path, agent="one")


@pytest.mark.parametrize(
    ("balance", "valid"), [(1000, True), (float("nan"), False), (-5, False), ("x", False)]
)
def test_a_result_whose_capital_is_no_amount_is_told_of_and_read(
    tmp_path: Path, balance: float | str, valid: bool
) -> None:
    backtest = result([simple()])
    backtest["strategy"]["Sample"]["starting_balance"] = balance
    (batch,) = read(zipped(tmp_path / "r.zip", {"r.json": backtest}), now=NOW)
    assert batch.rows
    assert (bool(batch.capital), [fault.reason[:16] for fault in batch.faults]) == (
        (True, []) if valid else (False, ["starting_balance"])
    )


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A large entry that unfolds two hundred times and more is refused, whatever size it declares."""
    path = zipped(tmp_path / "bomb.zip", {"r.json": b'{"strategy": {"' + b" " * (17 << 20)})
    with pytest.raises(InputError, match="would unpack to more than"):
        bodies(path)
    with pytest.raises(InputError, match="holds no backtest result"):
        bodies(zipped(tmp_path / "none.zip", {"x_config.json": {}}))


# ---------------------------------------------------------------- candles


def candles(path: Path, first: str, step: int, count: int) -> None:
    import pandas as pd

    path.parent.mkdir(exist_ok=True)
    date = pd.to_datetime(
        [(parse_instant(first) + n * step) * 1000 for n in range(count)], unit="ns", utc=True
    )
    price = [100.0 + n for n in range(count)]
    frame = {"date": date, "open": price, "high": price, "low": price, "close": price, "volume": 1.0}
    pd.DataFrame(frame).to_feather(path)


def marks(batches: list[Batch]) -> dict[str, tuple[int, int, int]]:
    """Instrument -> first stamp, last stamp (microseconds) and number of its marks."""
    series = [series for batch in batches for series in batch.marks]
    assert all(mark_series.agent is None for mark_series in series)
    return {
        mark_series.instrument: (
            int(mark_series.t[0]),
            int(mark_series.t[-1]),
            len(mark_series.t),
        )
        for mark_series in series
    }


def test_marks_come_from_the_trades_own_timeframe_a_day_before_to_a_month_after(tmp_path: Path) -> None:
    data = tmp_path / "candles"
    candles(data / "ETH_USDT-1h.feather", "2025-12-01T00:00:00Z", HOUR, 24 * 120)
    candles(data / "ETH_USDT-1d.feather", "2025-12-01T00:00:00Z", DAY, 120)
    candles(data / "ETH_USDT-5m-mark.feather", "2025-12-01T00:00:00Z", HOUR, 3)
    candles(data / "SOL_USDT-1h.feather", "2025-12-01T00:00:00Z", HOUR, 3)
    path = write(tmp_path / "t.sqlite", [simple(timeframe=60)])
    start, end = parse_instant("2025-12-31T00:00:00Z"), parse_instant("2026-02-03T00:00:00Z")
    batches = list(read(path, candles=data, now=NOW))
    assert marks(batches) == {"ETH/USDT": (start, end, (end - start) // HOUR + 1)}
    daily = write(tmp_path / "daily.sqlite", [simple(timeframe=1440)])
    assert marks(list(read(daily, candles=data, now=NOW)))["ETH/USDT"] == (start, end, 35)
    other = write(tmp_path / "other.sqlite", [simple(timeframe=5)])
    assert marks(list(read(other, candles=data, now=NOW))) == marks(batches), "else the finest there is"


@pytest.mark.parametrize(("name", "opener"), [("ETH_USDT-1h.json", open), ("ETH_USDT-1h.json.gz", gzip.open)])
def test_the_older_json_candles_give_marks_too(tmp_path: Path, name: str, opener: Any) -> None:
    start = parse_instant("2025-12-30T22:00:00Z")
    rows: list[list[float | None]] = [
        [(start + n * HOUR) // 1000, 1.0, 3.0, 1.0, 2.0 + n, 9.0] for n in range(5)
    ]
    rows[3][4] = None
    with opener(tmp_path / name, "wt") as file:
        json.dump(rows, file)
    path = write(tmp_path / "t.sqlite", [simple(timeframe=60)])
    batches = list(read(path, candles=tmp_path, now=NOW))
    (series,) = [series for batch in batches for series in batch.marks]
    assert (series.t - start).tolist() == [2 * HOUR, 3 * HOUR, 5 * HOUR]
    assert series.price.tolist() == [3.0, 4.0, 6.0]
    assert [fault.line for batch in batches for fault in batch.faults] == [4]
    (tmp_path / name).write_bytes(b"[[1, 2], [3]]")
    (fault,) = [fault for batch in read(path, candles=tmp_path, now=NOW) for fault in batch.faults]
    assert "cannot be read as candles" in fault.reason


def test_an_open_trade_is_followed_to_what_is_complete_now(tmp_path: Path) -> None:
    data = tmp_path / "candles"
    candles(data / "ETH_USDT-1h.feather", "2025-12-01T00:00:00Z", HOUR, 24 * 120)
    path = write(tmp_path / "t.sqlite", [simple(orders=simple().orders[:1], open=True, timeframe=60)])
    now = parse_instant("2026-01-05T10:30:00Z")
    complete = parse_instant("2026-01-05T10:00:00Z")
    assert marks(list(read(path, candles=data, now=now)))["ETH/USDT"][1] == complete
    much_later = now + 80 * DAY
    assert marks(list(read(path, candles=data, now=much_later)))["ETH/USDT"][1] == complete + 80 * DAY


def test_pairs_without_candles_are_told_of_and_futures_have_their_own_folder(tmp_path: Path) -> None:
    data = tmp_path / "candles"
    candles(data / "ETH_USDT_USDT-1h-futures.feather", "2025-12-31T00:00:00Z", HOUR, 9)
    (data / "futures").mkdir()
    candles(data / "futures" / "SOL_USDT_USDT-1h-futures.feather", "2025-12-31T00:00:00Z", HOUR, 9)
    candles(data / "futures" / "SOL_USDT_USDT-8h-funding_rate.feather", "2025-12-31T00:00:00Z", HOUR, 9)
    (data / "OLD_USDT-1h.feather").write_bytes(b"not a feather")
    candles(data / "LATE_USDT-1h.feather", "2026-10-01T00:00:00Z", HOUR, 9)
    pairs = ["ETH/USDT:USDT", "SOL/USDT:USDT", "BTC/USDT", "OLD/USDT", "LATE/USDT"]
    trades = [simple(id=number, pair=pair) for number, pair in enumerate(pairs, 1)]
    batches = list(read(write(tmp_path / "t.sqlite", trades), candles=data, now=NOW))
    assert set(marks(batches)) == {"ETH/USDT:USDT", "SOL/USDT:USDT"}
    (fault,) = (fault for batch in batches for fault in batch.faults)  # of a file that is not there is none
    assert "OLD_USDT" in fault.where
    assert "OLD_USDT" not in fault.reason, "its path is said once"
    (wanted,) = (batch.wanted for batch in batches if batch.wanted)
    notice = wanted.sentence({pair: wanted.days[pair] for pair in ("BTC/USDT", "LATE/USDT")})
    assert notice.startswith("2 pairs of 4 without candles for the time traded")
    assert "--pairs BTC/USDT LATE/USDT --timeframes 5m --timerange 20251231-20260204" in notice
    with pytest.raises(InputError, match="is not a folder of candles"):
        list(read(tmp_path / "t.sqlite", candles=tmp_path / "nowhere", now=NOW))


# ---------------------------------------------------------------- real databases


def profits(path: Path) -> dict[str, Decimal]:
    """What each closed position made, from its fills and funding."""
    realised: dict[str, Decimal] = {}
    closed = set()
    for batch in read(path, now=NOW):
        assert batch.faults == []
        for row in batch.rows:
            fact = decode(row.body, row.at)
            if isinstance(fact, Fill):
                value = fact.quantity * fact.price * (1 if fact.side == "sell" else -1)
                realised[fact.position] = realised.get(fact.position, Decimal(0)) + value - fact.fee
            elif isinstance(fact, Flow):
                realised[fact.position] += fact.value if fact.kind == "funding_received" else -fact.value
            elif isinstance(fact, Exit):
                closed.add(fact.position)
    return {position: money for position, money in realised.items() if position in closed}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real databases are not on this machine")
@pytest.mark.parametrize("path", sorted(SHARED.rglob("*.sqlite")), ids=lambda path: path.stem)
def test_real_databases_come_to_what_they_state(path: Any) -> None:
    realised = profits(path)
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    closed = [dict(row) for row in connection.execute("SELECT * FROM trades WHERE NOT is_open")]
    connection.close()
    assert len(realised) == len(closed)
    for row in closed:
        if "close_profit_abs" in row:
            assert abs(float(realised[f"ft-{row['id']}"]) - row["close_profit_abs"]) <= 1e-6
        else:  # the oldest schema states a ratio only
            cost = row["amount"] * row["open_rate"] * (1 + row["fee_open"])
            assert float(realised[f"ft-{row['id']}"]) / cost == pytest.approx(row["close_profit"], abs=1e-6)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real databases are not on this machine")
@pytest.mark.parametrize("name", ["tradesv3_HeuristicMix15m.sqlite", "backtest-result.zip"])
def test_a_real_backtest_gives_the_figures_freqtrade_printed(name: str) -> None:
    realised = profits(SHARED / "kucoin_15m" / name)
    assert float(sum(realised.values())) == pytest.approx(-8309.1196, abs=1e-4)
    assert sum(profit > 0 for profit in realised.values()) / len(realised) == pytest.approx(0.62109, abs=1e-5)

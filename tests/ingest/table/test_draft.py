"""`retro map`: a first mapping out of a header, which reads the file it was made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retro.errors import InputError
from retro.ingest.table.draft import draft_of
from tests.worlds.commands import Retro, retro
from tests.worlds.logs.tables import reading_of

__all__ = ["retro"]

TRADES = (
    "Trade ID,tradeCreatedAt,Symbol,Side,Qty,Price,Fee,feeCurrency,Realized PnL,junk\n"
    "1,2025-01-02T10:00:00Z,BTC-USDT,Buy,0.5,100,-0.1,USDT,0,x\n"
    "2,2025-01-03T10:00:00Z,BTC-USDT,Sell,0.5,110,-0.1,USDT,5,x\n"
    "3,2025-01-04T10:00:00Z,BTC-USDT,Liquidated,0.5,110,-0.1,USDT,5,x\n"
)


def written(folder: Path, text: str, name: str = "trades.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_known_columns_become_a_mapping_that_reads_the_file(retro: Retro, tmp_path: Path) -> None:
    path = written(tmp_path, TRADES)
    drafted = retro("map", path)
    assert drafted.code == 0, drafted.err
    (tmp_path / "mine.toml").write_text(drafted.out)
    events = reading_of(path, str(tmp_path / "mine.toml"))
    assert events.of("fill", "instrument", "side", "quantity", "price", "fee") == [
        ("BTC/USDT", "buy", "0.5", "100", "0.1"), ("BTC/USDT", "sell", "0.5", "110", "0.1"),
    ]  # fmt: skip
    assert [(check.what, str(check.stated)) for check in events.checks] == [("realized_pnl", "5")]
    assert "Liquidated" in events.faults[0][1]
    assert 'no meaning yet: "Liquidated" in "Side" (1 rows)' in drafted.err
    assert 'not used: "junk"' in drafted.err
    assert drafted.err.count('"type":"fill"') == 2


def test_the_same_as_data(retro: Retro, tmp_path: Path) -> None:
    data = retro("map", written(tmp_path, TRADES), "--json").data
    assert set(data) == {"mapping", "events", "faults", "words", "unused", "shipped"}
    assert data["words"] == [{"column": "Side", "word": "Liquidated", "rows": 1}]
    assert [json.loads(event)["type"] for event in data["events"]] == ["position", "fill", "fill"]


def test_an_agent_s_own_log_of_decisions(tmp_path: Path) -> None:
    lines = [
        {"ts": 1735725600, "equity": 100.5, "decision_parsed": {"decision": word, "reason": "because"}, "confidence": 80}
        for word in ("hold", "force_close", "**", "**")
    ]  # fmt: skip
    path = written(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "log.jsonl")
    draft = draft_of(path)
    (tmp_path / "mine.toml").write_text(draft.text)
    events = reading_of(path, str(tmp_path / "mine.toml"))
    assert events.of("decision", "action", "reasoning", "confidence") == [
        ("hold", "because", 0.8), ("exit", "because", 0.8),
    ]  # fmt: skip
    assert events.of("equity", "at", "value")[0] == ("2025-01-01T10:00:00Z", "100.5")
    assert [(word.word, word.rows) for word in draft.words] == [("**", 2)]


def test_round_trips_without_a_size(tmp_path: Path) -> None:
    text = "entry_time,exit_time,symbol,direction,entry_price,exit_price,pnl\n2025-01-02,2025-01-03,XAUUSD,short,110,100,25\n"
    path = written(tmp_path, text)
    (tmp_path / "mine.toml").write_text(draft_of(path).text)
    events = reading_of(path, str(tmp_path / "mine.toml"), zone="UTC")
    assert events.of("fill", "side", "quantity", "price") == [("sell", "2.5", "110"), ("buy", "2.5", "100")]


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "{}\n", "\0\0\0"])
def test_what_has_no_rows_with_times_is_refused(retro: Retro, tmp_path: Path, text: str) -> None:
    done = retro("map", written(tmp_path, text))
    assert done.code == 1
    assert done.err.count("\n") == 1
    with pytest.raises(InputError):
        draft_of(tmp_path / "trades.csv")


def test_names_of_columns_are_text_wherever_they_stand(retro: Retro, tmp_path: Path) -> None:
    nasty = 'pri"ce\\u202e\x1b[31m'
    header = f'time,symbol,qty,price,"{nasty.replace(chr(34), chr(34) * 2)}"\n'
    done = retro("map", written(tmp_path, header + "2025-01-02T10:00:00Z,A/USD,1,2,3\n"))
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    (tmp_path / "mine.toml").write_text(done.out)
    assert len(reading_of(tmp_path / "trades.csv", str(tmp_path / "mine.toml")).of("fill", "id")) == 1

"""`retro drift` over a bot's database and a backtest's zip, as their owner meets it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from retro.api import Mirror
from retro.app.questions.experience import Experience
from retro.config import load
from retro.errors import UsageError
from retro.report.evaluators.drift import DriftCauses, DriftLines, DriftPair, DriftReport
from retro.store.database import open_store
from retro.surface.mcp.size import LARGEST, encoded
from retro.surface.mcp.tools import Tools
from tests.evaluate.drift.bots import at, bought, month
from tests.worlds.commands import Retro, retro
from tests.worlds.freqtrade_databases import Order, Trade, result, write, zipped

__all__ = ["retro"]


def ingested(retro: Retro, live: Sequence[Trade], backtest: Sequence[Trade]) -> None:
    write(Path("live.sqlite"), list(live))
    zipped(Path("backtest.zip"), {"backtest-result-1.json": result(list(backtest))})
    assert retro("ingest", "freqtrade", "live.sqlite", "--agent", "live").code == 0
    assert retro("ingest", "freqtrade", "backtest.zip", "--agent", "bt").code == 0


def lines(retro: Retro, *words: str) -> tuple[dict[str, float], dict[str, Any]]:
    drift = retro("drift", "live", "bt", *words, "--json").data
    assert sum(drift["lines"].values()) == pytest.approx(drift["difference"], abs=1e-9)
    return {name: round(value, 6) for name, value in drift["lines"].items() if value}, drift


def test_the_database_against_its_own_backtest_is_0_everywhere(retro: Retro) -> None:
    ingested(retro, month(), month())
    drift = retro("drift", "live", "bt", "--json").data
    jsonschema.Draft202012Validator(DriftReport.model_json_schema()).validate(drift)
    assert {*drift["lines"].values()} == {0.0}
    assert (drift["matched"], drift["difference"], drift["unmatched"]) == (28, 0.0, [])
    assert list(drift)[:8] == [
        *("live", "backtest", "difference", "matched", "lines", "live_only", "backtest_only", "pairs")
    ]
    assert [row["within"] for row in drift["sensitivity"]] == [1.0, 3.0, 9.0]
    assert list(drift["lines"]) == list(DriftLines.model_fields)
    assert list(drift["backtest_only"]) == list(DriftCauses.model_fields)
    assert list(drift["pairs"][0]) == list(DriftPair.model_fields)
    itself = retro("drift", "live", "live", "--json").data
    assert {*itself["lines"].values()} == {0.0}


def test_each_planted_difference_comes_back_on_its_line(retro: Retro) -> None:
    backtest = month()
    live = month()
    late = at(2, 0, 4)
    live[1].orders[0] = replace(live[1].orders[0], price=100.5, at=late)  # ten units dearer by 0.5
    live[2].orders[1] = replace(live[2].orders[1], price=100.7)  # left 0.3 lower, for the same reason
    live[3].orders[1] = replace(live[3].orders[1], price=94.0)
    live[3].exit_reason = "stop_loss"  # left 5 lower, for another
    for order in live[4].orders:
        order.amount = 15.0  # five units more, each made 1
    live[5].fee = 0.002
    gone = live.pop(9)  # January 10th
    backtest.pop(19)  # January 20th: only live took it, -1 a unit
    ingested(retro, live, backtest)
    amounts, drift = lines(retro)
    fees = (
        -0.001 * 10 * 0.5  # what was dearer pays more of them
        + 0.001 * 10 * (0.3 + 5.0)
        - 0.001 * 5 * (100 + 101)
        - 0.001 * 10 * (100 + 99)
    )
    alone = -10 - 0.001 * 10 * (100 + 99)
    assert amounts == {
        "entry_price": -5.0,
        "exit_price": -3.0,
        "exit_reason": -50.0,
        "size": 5.0,
        "fees": pytest.approx(fees),
        "live_only": pytest.approx(alone),
        "backtest_only": pytest.approx(-alone),
    }
    assert gone.id == 10
    assert {row["trade"]: row["cause"] for row in drift["unmatched"]} == {
        "ft-10": "signal_differs",
        "ft-20": "unknown",
    }
    [delayed] = [pair for pair in drift["pairs"] if pair["entry_delay_s"]]
    assert (delayed["live"], delayed["entry_delay_s"]) == ("ft-2", 4.0)


def test_an_order_that_the_database_says_was_never_filled_is_the_cause(retro: Retro) -> None:
    live = month()
    sent = [Order(True, 10.0, 99.0, at(10, 1), filled=0.0, status="canceled")]
    live[9] = Trade(sent, id=10, enter_tag="dip", open=True)
    ingested(retro, live, month())
    drift = lines(retro)[1]
    assert drift["backtest_only"]["order_not_filled"]["n"] == 1
    # it is told as a decision, of no rule, and no position
    assert "ft-10" not in {row["position_id"] for row in retro("positions", "--agent", "live", "--json").data}
    assert retro("ingest", "freqtrade", "live.sqlite", "--agent", "live").out.count(" 0 stored")


def test_entries_in_parts_partial_exits_shorts_leverage_and_fees_in_the_coin_keep_the_identity(
    retro: Retro,
) -> None:
    def life(slip: float, dust: float) -> list[Trade]:
        parts = [
            Order(True, 4.0, 100.0 + slip, at(3)),
            Order(True, 6.0, 95.0, at(3, 60), fee_base=dust or None),
            Order(False, 5.0, 97.0, at(3, 120)),
            Order(False, 5.0 - dust, 99.0 - slip, at(3, 240)),
        ]
        short = [Order(True, 2.0, 100.0, at(5), funding=-0.2), Order(False, 2.0, 90.0 + slip, at(5, 90))]
        return [
            *month(1),
            Trade(parts, id=2, enter_tag="dip"),
            Trade(
                short, id=3, pair="SOL/USDT:USDT", short=True, leverage=3.0, mode="FUTURES", enter_tag="top"
            ),
            *month(9),
        ]

    ingested(retro, life(0.5, 0.006), life(0.0, 0.0))
    amounts, drift = lines(retro)
    assert drift["matched"] == 4
    assert amounts["entry_price"] == pytest.approx(-4 * 0.5, abs=0.02)  # dust was never sold, nor counted
    assert amounts["exit_price"] == pytest.approx(-4.994 * 0.5 - 2 * 0.5, abs=0.02)
    assert {row["difference"] for row in drift["pairs"] if row["live"] in {"ft-1", "ft-9"}} == {0.0}
    assert {row["side"] for row in drift["pairs"]} == {"long", "short"}


def test_what_is_still_held_counts_at_its_mark_and_without_one_is_left_out(retro: Retro) -> None:
    later = bought(30, 1.0, number=30, pair="BTC/USDT")
    open_trade = Trade([Order(True, 10.0, 100.0, at(29))], id=29, enter_tag="dip", open=True)
    live, backtest = [*month(), open_trade, later], [*month(), bought(29, 5.0, number=29), later]
    ingested(retro, live, backtest)
    drift = lines(retro)[1]
    assert drift["matched"] == 29
    assert drift["reasons"]["left_out"] == (
        "1 trade left out: its partner can be in no sum; 1 trade left out: no mark says what it was worth"
    )
    rows = "".join(
        f"2026-01-{day:02d} {hour:02d}:00:00,102,102,102,102,5\n"
        for day in range(1, 31)
        for hour in range(24)
    )
    Path("ETH_USDT.csv").write_text("date,open,high,low,close,volume\n" + rows)
    assert retro("ingest", "marks", "ETH_USDT.csv", "--instrument", "ETH/USDT", "--timeframe", "1h").code == 0
    amounts, drift = lines(retro)
    [pair] = [pair for pair in drift["pairs"] if pair["live"] == "ft-29"]
    assert (pair["live_exit"], pair["backtest_exit"]) == ("open", "roi")
    assert pair["exit_reason"] == pytest.approx(10 * (102 - 105))
    assert amounts["exit_reason"] == pytest.approx(-30.0)
    assert drift["reasons"]["open"] == "held at the end, at the mark: 1 of live's, 0 of the backtest's"


def test_a_stretch_of_time_is_that_stretch_and_the_past_stays_as_it_was(retro: Retro) -> None:
    live = month()
    live[1].orders[0] = replace(live[1].orders[0], price=100.5)
    live[20].orders[0] = replace(live[20].orders[0], price=102.0)
    ingested(retro, live, month())
    early = lines(retro, "--to", "2026-01-15")
    assert early[0] == {"entry_price": -5.0, "fees": -0.005}
    assert early[1]["matched"] == 14
    assert lines(retro, "--from", "2026-01-15")[0]["entry_price"] == -20.0
    before = retro("drift", "live", "bt", "--as-of", "2026-01-15", "--json").data
    assert before["lines"] == early[1]["lines"]
    longer = [*live, bought(30, 50.0, number=30)]
    Path("live.sqlite").unlink()
    write(Path("live.sqlite"), longer)
    assert retro("ingest", "freqtrade", "live.sqlite", "--agent", "live").code == 0
    assert retro("drift", "live", "bt", "--as-of", "2026-01-15", "--json").data == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["live", "nobody"], "nobody"),
        (["live", "bt", "--within", "0"], "--within"),
        (["live", "bt", "--within", "nan"], "--within"),
        (["live", "bt", "--slots", "0"], "--slots"),
        (["live", "bt", "--from", "2026-02-01", "--to", "2026-01-01"], "is not before"),
        (["live", "bt", "--from", "soon"], "--from"),
        (["live"], "BACKTEST"),
        (["live", "coins"], "base_currency"),
    ],
)
def test_a_question_that_cannot_be_asked_says_which_word_is_wrong(
    words: list[str], said: str, retro: Retro
) -> None:
    ingested(retro, month(1, 2), month(1, 2))
    write(Path("coins.sqlite"), [replace(bought(1, 1.0, number=1, pair="ETH/BTC"), stake="BTC")])
    assert retro("ingest", "freqtrade", "coins.sqlite", "--agent", "coins").code == 0
    refused = retro("drift", *words)
    assert (refused.code, refused.out) == (2, "")
    assert len(refused.err.strip().splitlines()) == 1
    assert said in refused.err


def test_two_that_have_no_time_in_common_say_so(retro: Retro) -> None:
    ingested(retro, month(1, 2, 3), month(20, 21))
    drift = retro("drift", "live", "bt", "--json").data
    assert (drift["difference"], drift["lines"], drift["matched"]) == (None, None, 0)
    assert "no time in common" in drift["reasons"]["difference"]
    assert "no time in common" in " ".join(retro("drift", "live", "bt").out.split())


def test_another_quote_is_another_instrument_and_is_named(retro: Retro) -> None:
    ingested(retro, month(), [replace(trade, pair="ETH/USDC") for trade in month()])
    drift = lines(retro)[1]
    assert drift["matched"] == 0
    assert "live trades ETH/USDT, the backtest ETH/USDC" in drift["reasons"]["instruments"]


def test_a_side_without_tags_is_matched_without(retro: Retro) -> None:
    ingested(retro, [replace(trade, enter_tag=None) for trade in month()], month())
    drift = lines(retro)[1]
    assert drift["matched"] == 28
    assert "tells no entry tag" in drift["reasons"]["tags"]


def test_the_page_is_one_screen_wide_and_a_strangers_tag_is_text(retro: Retro) -> None:
    live = month()
    live[1].orders[0] = replace(live[1].orders[0], price=100.5)
    live.pop(9)
    for side in (live, backtest := month()):
        for trade in side[:5]:
            trade.enter_tag = "<script>alert(1)</script>\x1b[31m" + "x" * 90
    ingested(retro, live, backtest)
    drift = retro("drift", "live", "bt", "--json").data
    text = retro("drift", "live", "bt")
    assert text.code == 0
    assert all(len(line) <= 80 for line in text.out.splitlines())
    assert "\x1b" not in text.out
    assert text.out.startswith("DRIFT: live\n")
    assert f"{drift['difference']:+.2f}" in text.out
    assert retro("-q", "drift", "live", "bt", "--format", "html", "-o", "page.html").code == 0
    page = Path("page.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert not re.search(r"<script|src=[\"']https?:|@import", page)
    assert "<svg" in page
    assert f"entry price: {drift['lines']['entry_price']:+.2f}" in page  # the waterfall in words
    assert retro("drift", "live", "bt", "--format", "md").out.startswith("# ")


def test_any_order_and_split_of_reading_gives_the_same_bytes(retro: Retro) -> None:
    live = month()
    live[1].orders[0] = replace(live[1].orders[0], price=100.5)
    ingested(retro, live, month())
    before = retro("drift", "live", "bt", "--json").out
    assert retro("--db", "other.db", "ingest", "freqtrade", "backtest.zip", "--agent", "bt").code == 0
    write(Path("part.sqlite"), live[:12])
    assert retro("--db", "other.db", "ingest", "freqtrade", "part.sqlite", "--agent", "live").code == 0
    assert retro("--db", "other.db", "ingest", "freqtrade", "live.sqlite", "--agent", "live").code == 0
    assert retro("--db", "other.db", "drift", "live", "bt", "--json").out == before
    assert json.loads(before)["matched"] == 28


def test_every_door_gives_the_same_answer_and_an_agent_that_of_its_configured_backtest_alone(
    retro: Retro,
) -> None:
    live = [
        bought(1 + n % 28, 1.0, number=n + 1, pair=f"C{n}/USDT", exit_reason="roi" if n % 2 else "stop")
        for n in range(200)
    ]
    ingested(retro, live, month())
    Path("config.toml").write_text('[agent.live]\nbacktest = "bt"\n')
    answer = retro("drift", "live", "--json").data
    assert answer == retro("drift", "live", "bt", "--json").data
    with Mirror(open_store("memory_data/retro.db"), load(Path("config.toml"), {})) as mirror:
        assert answer == mirror.get_drift("live") == mirror.get_drift("live", "bt")
        tools = Tools(Experience(mirror.store, mirror.experience.config, only="live"))
        assert answer == tools.get_drift(detail=True)
        short = tools.get_drift()
        assert short["difference"] == pytest.approx(answer["difference"], abs=1e-4)
        assert len(encoded({"untrusted": "x" * 120, **short}).encode()) <= LARGEST
        with pytest.raises(UsageError, match=r"\[agent\.bt\]"):
            mirror.get_drift("bt")
        with pytest.raises(TypeError):
            tools.get_drift(backtest="bt")  # type: ignore[call-arg]
    assert "BACKTEST" in retro("drift", "bt").err

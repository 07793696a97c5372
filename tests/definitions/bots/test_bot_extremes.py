"""A bot keeps no candles, but the highest and lowest rate it saw: MFE, MAE and R rest on them then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worlds.commands import Retro, retro
from tests.worlds.freqtrade_databases import D, Order, Trade, write

__all__ = ["retro"]

FLAG = "from the bot's extremes"


def lived(retro: Retro, trade: Trade) -> dict[str, Any]:
    write(Path("t.sqlite"), [trade])
    assert retro("ingest", "freqtrade", "t.sqlite").code == 0
    document: dict[str, Any] = retro("review", "position", f"ft-{trade.id}", "--format", "json").data
    return document


def figures(document: dict[str, Any]) -> tuple[float, ...]:
    return tuple(document[name] for name in ("mfe", "mae", "mfe_price", "mae_price"))


def bot(*, short: bool = False, **changes: Any) -> Trade:
    """Two units from 100 to 104 (for a short to 98) with a fee of 1 a side and a tenth, and a stop 5 away."""
    close = 98.0 if short else 104.0
    orders = [Order(True, 2.0, 100.0, D.format(5)), Order(False, 2.0, close, D.format(6))]
    row = {"max_rate": 110.0, "min_rate": 97.0, **changes.pop("row", {})}
    mode: dict[str, Any] = {"mode": "FUTURES", "pair": "ETH/USDT:USDT"} if short else {}
    stop = 105.0 if short else 95.0
    return Trade(orders, short=short, fee=0.005, stop=stop, row=row, **mode, **changes)


def test_without_candles_the_extremes_of_the_bot_are_its_excursions(retro: Retro) -> None:
    """Entry fee 1: at 110 it had made 2 x 10 - 1, at 97 lost 2 x 3 + 1; R is 2 x 5."""
    p = lived(retro, bot())
    assert figures(p) == pytest.approx((19, -7, 110, 97))
    assert (p["mfe_r"], p["mae_r"]) == pytest.approx((1.9, -0.7))
    assert FLAG in p["flags"]
    assert (p["regret"], p["optimal_exit_at"], p["reasons"]["regret"]) == (None, None, "insufficient_marks")
    assert FLAG in retro("review", "position", "ft-1").out


def test_of_a_short_the_low_is_the_best(retro: Retro) -> None:
    p = lived(retro, bot(short=True))
    assert figures(p) == pytest.approx((2 * 3 - 1, -2 * 10 - 1, 97, 110))


def test_extremes_that_the_exit_lies_beyond_leave_the_exit(retro: Retro) -> None:
    """It was left at 104 although the highest rate noted was 103: 2 x 4 - 1 before the exit's fee."""
    p = lived(retro, bot(row={"max_rate": 103.0}))
    assert figures(p) == pytest.approx((7, -7, 104, 97))


def test_candles_say_more_than_extremes(retro: Retro) -> None:
    Path("data").mkdir()
    rows = "".join(f"2026-01-05 {h:02d}:00:00,101,101,101,101,5\n" for h in range(24))
    Path("data/ETH_USDT-1h.csv").write_text("date,open,high,low,close,volume\n" + rows)
    write(Path("t.sqlite"), [bot()])
    retro("ingest", "freqtrade", "t.sqlite", "--candles", "data")
    p = retro("review", "position", "ft-1", "--format", "json").data
    assert figures(p)[0] == pytest.approx(7)
    assert FLAG not in p["flags"]


@pytest.mark.parametrize(
    "row", [{"max_rate": 110.0, "min_rate": 0.0}, {"max_rate": 70.0, "min_rate": 60.0}, {"max_rate": None}]
)
def test_extremes_that_contradict_the_fills_or_are_none_say_nothing(
    retro: Retro, row: dict[str, Any]
) -> None:
    p = lived(retro, bot(row=row))
    assert figures(p) == (None, None, None, None)
    assert "no mark" in p["reasons"]["mfe"]
    assert FLAG not in p["flags"]


@pytest.mark.parametrize(
    "orders",
    [
        pytest.param(
            [
                Order(True, 1.0, 100.0, D.format(5)),
                Order(True, 2.0, 98.0, D.format(6)),
                Order(False, 3.0, 104.0, D.format(7)),
            ],
            id="added to: at 110 it may have held one unit or three",
        ),
        pytest.param(
            [
                Order(True, 2.0, 100.0, D.format(5)),
                Order(False, 1.0, 104.0, D.format(6)),
                Order(False, 1.0, 104.0, D.format(7)),
            ],
            id="left in two parts: at 97 it may have held two units or one",
        ),
    ],
)
def test_extremes_of_a_position_whose_size_changed_have_no_size_and_say_nothing(
    retro: Retro, orders: list[Order]
) -> None:
    """That it never lost anything nobody knows either."""
    p = lived(retro, Trade(orders, row={"max_rate": 110.0, "min_rate": 97.0}))
    assert figures(p) == (None, None, None, None)
    assert FLAG not in p["flags"]


def test_a_stop_that_is_no_price_costs_the_trade_its_r_and_nothing_more(retro: Retro) -> None:
    """A public database of 2020 holds stops of -966903661.54."""
    p = lived(retro, bot(row={"initial_stop_loss": -966903661.54}))
    assert (p["pnl_r"], p["reasons"]["pnl_r"]) == (None, "the amount at risk (R) is not known")
    assert p["final_pnl"] == pytest.approx(2 * 4 - 1 - 1.04)

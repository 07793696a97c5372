"""A freqtrade backtest result, zipped or plain: the one result document in it is read, code and pickles never are.

Source: freqtrade's documentation ("Backtesting", "Understand the backtesting result").
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any, Final

from retro.errors import InputError
from retro.ingest.freqtrade.tables import Fields, RawTrade

__all__ = ["result", "run_of", "trades"]

MOST_BYTES: Final = 512 * 1024 * 1024
MOST_TIMES: Final = 200
"""A result shrinks about eightfold; what shrinks more than this, and is large, is a bomb."""
_HARMLESS: Final = 16 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_NOT_RESULTS: Final = ("_config.json", "_meta.json", ".meta.json")
_TELLING: Final = (
    "pair", "open_date", "open_timestamp", "close_date", "close_timestamp", "open_rate", "close_rate", "profit_abs",
)  # fmt: skip
_NEW_NAMES: Final = {
    "profit_abs": "close_profit_abs",
    "initial_stop_loss_abs": "initial_stop_loss",
    "sell_reason": "exit_reason",
    "buy_tag": "enter_tag",
}


def result(path: Path) -> dict[str, Fields]:
    """Strategy name -> its result, of a result zip, a plain result, or the small file that stands for one."""
    path = _result_path(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES // 1024**2} MiB: not a backtest result")
        with path.open("rb") as file:
            zipped = file.read(2) == b"PK"
        text = _unzipped(path) if zipped else path.read_bytes()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is a damaged or locked zip file ({error})") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    document = _parsed(text, path)
    strategies = document.get("strategy") if isinstance(document, dict) else None
    if not isinstance(strategies, dict) or not all(
        isinstance(backtest, dict) and isinstance(backtest.get("trades"), list)
        for backtest in strategies.values()
    ):
        raise InputError(f"{path} holds no backtest result: no strategies with their trades in it")
    return strategies


def _parsed(text: bytes, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "; for a journal use retro ingest journal" if b"\n{" in text[:_CHUNK] else ""
        raise InputError(f"{path} is not a readable JSON document ({str(error)[:120]}){hint}") from error


def _result_path(path: Path) -> Path:
    """The result beside `backtest-result-X.meta.json`, or the one `.last_result.json` names; else the path itself."""
    if path.name.endswith(".meta.json"):
        stem = path.name.removesuffix(".meta.json")
        names = [f"{stem}.zip", f"{stem}.json"]
    elif path.name == ".last_result.json":
        latest = _parsed(path.read_bytes()[:_CHUNK], path)
        names = [str(latest.get("latest_backtest", "")) if isinstance(latest, dict) else ""]
    else:
        return path
    for name in names:
        if name and name == Path(name).name and (path.parent / name).is_file():
            return path.parent / name
    raise InputError(f"{path} stands for a backtest result, but that is not beside it")


def _unzipped(path: Path) -> bytes:
    """The bytes of the largest result document in the archive; names that leave the archive are passed over."""
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if _is_result(entry.filename)]
        if not entries:
            raise InputError(f"{path} holds no backtest result (no *.json beside configuration)")
        entry = max(entries, key=lambda entry: (entry.file_size, entry.filename))
        most = min(MOST_BYTES, max(_HARMLESS, MOST_TIMES * path.stat().st_size))
        pieces, size = [], entry.file_size
        if size <= most:
            size = 0
            with archive.open(entry) as stream:
                while size <= most and (piece := stream.read(_CHUNK)):
                    pieces.append(piece)
                    size += len(piece)
        if size > most:
            raise InputError(
                f"{path} would unpack to more than {most // 1024**2} MiB: not read, it is no backtest result"
            )
        return b"".join(pieces)


def _is_result(name: str) -> bool:
    safe = "\\" not in name and not name.startswith("/") and ".." not in PurePosixPath(name).parts
    return safe and name.endswith(".json") and not name.endswith(_NOT_RESULTS)


def run_of(backtest: Fields) -> str:
    """What tells one run from every other: a digest of what was traded, when, and what came of it.

    The run id of freqtrade lies in a file of its own beside the result, and a copy may have lost it.
    """
    digest = hashlib.sha256()
    for trade in backtest["trades"]:
        fields = [trade.get(name) for name in _TELLING] if isinstance(trade, dict) else None
        digest.update(json.dumps(fields, default=str).encode())
    return digest.hexdigest()[:16]


def trades(strategy: str, backtest: Fields) -> list[RawTrade]:
    """A strategy's trades, shaped like the rows of a database; a result knows no ids, so they are counted from 1."""
    shared: Fields = {
        "strategy": strategy,
        "stake_currency": backtest.get("stake_currency"),
        "trading_mode": backtest.get("trading_mode"),
        "timeframe": backtest.get("timeframe"),
        "exchange": "",
    }
    raw_trades = []
    for number, trade in enumerate(backtest["trades"], 1):
        if not isinstance(trade, dict):
            raw_trades.append(RawTrade({"id": number, "pair": None}, [], []))
            continue
        row: Fields = {_NEW_NAMES.get(str(key), str(key)): value for key, value in trade.items()}
        row |= shared | {"id": number}
        row["open_date"] = trade.get("open_timestamp") or trade.get("open_date")
        row["close_date"] = trade.get("close_timestamp") or trade.get("close_date")
        orders = trade.get("orders")
        orders = orders if isinstance(orders, list) else []
        raw_trades.append(RawTrade(row, [_order(n, order) for n, order in enumerate(orders, 1)], []))
    return raw_trades


def _order(number: int, order: Any) -> Fields:
    if not isinstance(order, dict):
        return {"id": number, "filled": 0}
    done = order.get("order_filled_timestamp")
    return {
        "id": number,
        "order_id": str(number),
        "ft_order_side": order.get("ft_order_side"),
        "ft_is_open": done is None,
        "filled": order.get("amount") if done is not None else 0,
        "average": order.get("safe_price"),
        "order_filled_date": done,
        "ft_order_tag": order.get("ft_order_tag"),
    }

"""What the files of Hyperliquid tell, row by row, before positions are made of it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from retro.ingest.amounts import amount_of
from retro.journal import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "IN_KIND",
    "Funding",
    "Transfer",
    "VenueFill",
    "api_fill",
    "api_funding",
    "api_transfer",
    "sheet_fill",
    "web_fill",
    "web_funding",
]

Side = Literal["buy", "sell", ""]
IN_KIND: Final = "*"
"""The token of a fee that was taken of what the fill bought."""
MILLISECOND: Final = 1_000
ZERO: Final = Decimal(0)
_CROSSED: Final = re.compile(r"(Long|Short) > (Long|Short)")
_SIDES: Final[dict[str, Side]] = {
    "Open Long": "buy", "Close Short": "buy", "Buy": "buy", "Short > Long": "buy",
    "Open Short": "sell", "Close Long": "sell", "Sell": "sell", "Long > Short": "sell", "Spot Dust Conversion": "sell",
}  # fmt: skip
_NOTES: Final = re.compile(r"\s*\([^)]*\)\s*$")
_INTACT: Final = re.compile(r"[1-9]\d{3,}")


class VenueFill(msgspec.Struct, frozen=True, tag=True):
    """An execution as the venue tells it.

    `price` in the quote asset, `size` > 0 in base units, `fee` > 0 was paid, in `fee_token` ("": the quote asset). `closed_pnl` is what the venue says it realised (USDC), less the fee where `is_net`. `start` is the signed
    position just before; `step` is how far apart (microseconds) fills of one instant are put where their order matters.
    """

    where: str
    line: int
    account: str
    at: int
    id: str
    coin: str
    direction: str
    side: Side
    price: Decimal
    size: Decimal
    fee: Decimal
    fee_token: str
    closed_pnl: Decimal
    start: Decimal | None
    is_net: bool
    step: int

    @property
    def is_spot(self) -> bool:
        """Whether it is one of tokens and not of a contract."""
        return "/" in self.coin or self.coin.startswith("@")

    @property
    def crosses(self) -> bool:
        """Whether it closes a position and opens the opposite one."""
        return _CROSSED.fullmatch(self.direction) is not None


class Funding(msgspec.Struct, frozen=True, tag=True):
    """What a contract paid (`payment` > 0, USDC) or cost for an hour; `is_long`: of which side, None: not told."""

    where: str
    line: int
    account: str
    at: int
    coin: str
    payment: Decimal
    is_long: bool | None


class Transfer(msgspec.Struct, frozen=True, tag=True):
    """Money of the owner that came in (`amount` > 0) or went out, of `asset`; with `fee` (USDC) as the venue's charge."""

    where: str
    line: int
    at: int
    id: str
    kind: str
    asset: str
    amount: Decimal
    value: Decimal | None
    fee: Decimal


def web_fill(cells: Mapping[str, str], *, where: str, line: int, at: int, name: str) -> VenueFill:
    """A row of the website's trade history; `ValueError` says what is wrong with it.

    It has no token of the fee: a spot purchase is charged in what it bought, which its closedPnl gives away.
    """
    direction = _direction(cells["dir"])
    price, fee, closed_pnl = amount_of(cells["px"]), amount_of(cells["fee"]), amount_of(cells["closedPnl"])
    in_kind = direction == "Buy" and abs(closed_pnl + fee * price) < abs(closed_pnl + fee)
    return VenueFill(
        where, line, "", at, name, cells["coin"].strip(), direction, _side(direction, cells.get("side", "")),
        price, _size(cells["sz"]), fee, IN_KIND if in_kind else "",
        closed_pnl, None, is_net=True, step=MILLISECOND,
    )  # fmt: skip


def sheet_fill(cells: Mapping[str, str], *, where: str, line: int, at: int, name: str) -> VenueFill:
    """A row of fills of the API that went through a spreadsheet: figures whole, ids and instants damaged."""
    direction = _direction(cells["Direction"])
    start = cells.get("Start Position", "")
    return VenueFill(
        where, line, cells.get("Account", "").strip(), at, name, cells["Coin"].strip(), direction,
        _side(direction, cells.get("Side", "")), amount_of(cells["Execution Price"]), _size(cells["Size Tokens"]),
        amount_of(cells["Fee"]), IN_KIND if direction == "Buy" else "", amount_of(cells["Closed PnL"]),
        amount_of(start) if start.strip() else None, is_net=False, step=MILLISECOND,
    )  # fmt: skip


def api_fill(cells: Mapping[str, Any], *, where: str, line: int, name: str) -> VenueFill:
    """An entry of `userFills`; its own id is `tid`, where it has one."""
    direction = _direction(_text(cells, "dir"))
    start = cells.get("startPosition")
    tid = str(cells.get("tid") or "")
    return VenueFill(
        where, line, "", _instant_of(cells), f"{tid}" if _INTACT.fullmatch(tid) else name, _text(cells, "coin"),
        direction, _side(direction, _text(cells, "side")), amount_of(_text(cells, "px")), _size(_text(cells, "sz")),
        amount_of(_text(cells, "fee")), str(cells.get("feeToken") or ""), amount_of(_text(cells, "closedPnl")),
        None if start is None else amount_of(str(start)), is_net=False, step=1,
    )  # fmt: skip


def web_funding(cells: Mapping[str, str], *, where: str, line: int, at: int) -> Funding:
    """A row of the website's funding history: a payment above 0 was received."""
    side = cells["side"].strip()
    return Funding(
        where, line, "", at, cells["coin"].strip(), amount_of(cells["payment"]),
        {"Long": True, "Short": False}.get(side),
    )  # fmt: skip


def api_funding(cells: Mapping[str, Any], *, where: str, line: int) -> Funding:
    """An entry of `userFunding`: `usdc` above 0 was received, `szi` is the signed position."""
    delta = cells["delta"]
    size = amount_of(_text(delta, "szi")) if delta.get("szi") is not None else ZERO
    return Funding(
        where, line, "", _instant_of(cells), _text(delta, "coin"), amount_of(_text(delta, "usdc")),
        size > 0 if size else None,
    )  # fmt: skip


_MOVES: Final = {
    "deposit": ("usdc", 1), "withdraw": ("usdc", -1), "vaultDeposit": ("usdc", -1), "vaultCreate": ("usdc", -1),
    "vaultDistribution": ("usdc", 1), "vaultWithdraw": ("netWithdrawnUsd", 1), "rewardsClaim": ("amount", 1),
}  # fmt: skip
"""Kind of a ledger update -> the field of its amount, and whether it came in."""
_BETWEEN: Final = {
    "internalTransfer": "usdc",
    "subAccountTransfer": "usdc",
    "spotTransfer": "amount",
    "send": "amount",
}
"""Those between two addresses, of which one is the account's."""
_INSIDE: Final = frozenset(
    {"accountClassTransfer", "liquidation", "activateDexAbstraction", "cStakingTransfer"}
)
"""Those that leave what the account is worth as it is, or that fills tell."""


def api_transfer(cells: Mapping[str, Any], own: str, *, where: str, line: int) -> Transfer | None:
    """An entry of `userNonFundingLedgerUpdates`; None where nothing came in or went out.

    `own` is the account's address, "" where it is not known: then a transfer between two cannot be told apart.
    """
    delta = cells["delta"]
    kind = _text(delta, "type")
    if kind in _INSIDE:
        return None
    if kind in _MOVES:
        field, sign = _MOVES[kind]
        amount = sign * amount_of(_text(delta, field))
    elif kind in _BETWEEN:
        ends = (str(delta.get("user", "")).lower(), str(delta.get("destination", "")).lower())
        if not own or own not in ends:
            raise ValueError(
                f"it is a {kind} whose direction the file does not tell; write an external event for it"
            )
        if ends[0] == ends[1]:
            return None
        amount = amount_of(_text(delta, _BETWEEN[kind])) * (-1 if ends[0] == own else 1)
    else:
        raise ValueError(
            f"a ledger update of type {quote(kind)} is not known; write an external event if money moved"
        )
    asset = str(delta.get("token") or "USDC") if kind not in {"deposit", "withdraw"} else "USDC"
    worth = delta.get("usdcValue")
    fee = amount_of(str(delta.get("fee") or "0")) if amount < 0 else ZERO
    at = _instant_of(cells)
    name = f"{kind}-{at // MILLISECOND}-{str(cells.get('hash') or '')[2:18]}"
    value = None if worth is None or asset == "USDC" else amount_of(str(worth)).copy_sign(amount)
    return Transfer(where, line, at, name, kind, asset, amount, value, fee)


def _instant_of(cells: Mapping[str, Any]) -> int:
    """Microseconds since 1970 of an answer's `time`, which is in whole milliseconds."""
    text = str(cells.get("time", ""))
    if not (text.isascii() and text.isdigit() and len(text) <= 14):
        raise ValueError(f"time: {quote(text)} is not in whole milliseconds")
    return int(text) * MILLISECOND


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells.get(name)
    if value is None or isinstance(value, bool | list | dict):
        raise ValueError(f"{name}: is missing")
    return str(value)


def _direction(text: str) -> str:
    """What a fill did, without remarks such as `(Price Improved)`."""
    return _NOTES.sub("", text.strip())


def _side(direction: str, column: str) -> Side:
    """Which way it went: as the row says, else as its direction implies; "" where neither does."""
    said = column.strip().upper()
    if said in {"B", "BUY"}:
        return "buy"
    if said in {"A", "SELL"}:
        return "sell"
    if direction.startswith("Liquidated "):
        return "sell" if direction.endswith("Long") else "buy"
    return _SIDES.get(direction, "")


def _size(text: str) -> Decimal:
    size = amount_of(text)
    if size <= 0:
        raise ValueError(f"a fill of {quote(text)} is none")
    return size

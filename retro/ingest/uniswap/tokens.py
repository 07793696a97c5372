"""What tokens are called and how many decimals they have, where their addresses are among those most positions hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CHAINS", "Token", "TokenNames", "base_of"]

CHAINS: Final = {"0x03a520b32c04bf3beef7beb72e919cf822ed34f1": "base"}
"""Position manager -> its chain, where it stands on one alone."""
_WELL_KNOWN: Final = {
    "0x4200000000000000000000000000000000000006": ("WETH", 18),
    "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2": ("WETH", 18),
    "0x82af49447d8a07e3bd95bd0d56f35241523fbab1": ("WETH", 18),
    "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913": ("USDC", 6),
    "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": ("USDC", 6),
    "0xaf88d065e77c8cc2239327c5edb3a432268e5831": ("USDC", 6),
    "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359": ("USDC", 6),
    "0x0b2c639c533813f4aa9d7837caf62653d097ff85": ("USDC", 6),
    "0xdac17f958d2ee523a2206206994597c13d831ec7": ("USDT", 6),
    "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599": ("WBTC", 8),
    "0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf": ("cbBTC", 8),
    "0x6b175474e89094c44da98b954eedeac495271d0f": ("DAI", 18),
}
_STABLE: Final = ("USDC", "USDT", "DAI", "USDbC", "USDS")
_MOST_DECIMALS: Final = 36
_USUAL: Final = 18
_ADDRESS: Final = re.compile(r"0x[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token by the name it has here; `is_guess`: nobody said how many decimals it has."""

    symbol: str
    decimals: int
    is_guess: bool = False


@dataclass(slots=True)
class TokenNames:
    """TokenNames by address: those a file names before those that are well known."""

    _named: dict[str, Token] = field(default_factory=dict)

    def name(self, address: str, symbol: str, decimals: str) -> Token:
        """Take a token as a file has it; `ValueError` where its decimals are none."""
        if not (decimals.isascii() and decimals.isdigit() and int(decimals) <= _MOST_DECIMALS):
            raise ValueError(f"{decimals[:20]!r} are no decimals of a token")
        token = Token(symbol.strip()[:40] or address[:10], int(decimals))
        self._named[address.strip().lower()] = token
        return token

    def of(self, address: str) -> Token:
        """The token at an address; one nobody knows is called by it and has 18 decimals, as most have."""
        plain = address.strip().lower()
        if plain in self._named:
            return self._named[plain]
        if plain in _WELL_KNOWN:
            return Token(*_WELL_KNOWN[plain])
        return Token(
            plain[:10] if _ADDRESS.fullmatch(plain) else plain[:40] or "token", _USUAL, is_guess=True
        )


def base_of(pairs: Iterable[tuple[str, str]]) -> str:
    """What a life among these pools is counted in: a dollar, else ether, else what all pools have in common."""
    pools = list(pairs)
    common = [symbol for symbol in pools[0][::-1] if all(symbol in pool for pool in pools)]
    anywhere = {symbol for pool in pools for symbol in pool}
    for symbols in (common, anywhere):
        for symbol in (*_STABLE, "WETH"):
            if symbol in symbols:
                return symbol
    return common[0] if common else pools[0][1]

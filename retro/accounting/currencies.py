"""Which currencies count as one."""

from __future__ import annotations

from typing import Final

__all__ = ["DOLLARS"]

DOLLARS: Final = frozenset(
    {
        "USD",
        "USDC",
        "USDT",
        "DAI",
        "BUSD",
        "TUSD",
        "USDP",
        "GUSD",
        "PYUSD",
        "FDUSD",
        "USDE",
        "USDS",
        "LUSD",
        "FRAX",
        "USDD",
        "USDC.E",
        "SUSD",
    }
)
"""Currencies in which one unit is one dollar, or means to be."""

"""What a call costs: effective-dated, tiered prices from `prices.toml`, and token counts as the service reports them.

A model without a price is unknown and not called. All amounts are exact decimals in US dollars.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

__all__ = ["Price", "Tier", "Usage", "known_models", "price_of", "usage_of"]

_MILLION: Final = Decimal(1_000_000)
_ONE_REGION: Final = Decimal("1.1")
"""What inference in one region costs more; an account may ask for it without a request saying so."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as they are billed; `prompt` is what decides the tier."""

    input: int
    output: int
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    one_region: bool = False

    @property
    def prompt(self) -> int:
        """Everything that was read: fresh input, cache reads and cache writes."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h


@dataclass(frozen=True, slots=True)
class Tier:
    """Dollars per million tokens for prompts of more than `above` tokens."""

    above: int
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model on one day, its tiers in ascending order."""

    model: str
    tiers: tuple[Tier, ...]

    def cost(self, usage: Usage) -> Decimal:
        """What these tokens cost."""
        tier = [tier for tier in self.tiers if tier.above < usage.prompt or tier.above == 0][-1]
        parts = (
            usage.input * tier.input,
            usage.output * tier.output,
            usage.cache_read * tier.cache_read,
            usage.cache_write_5m * tier.cache_write_5m,
            usage.cache_write_1h * tier.cache_write_1h,
        )
        return sum(parts, Decimal(0)) / _MILLION * (_ONE_REGION if usage.one_region else 1)

    def worst(self, prompt: int, output: int) -> Decimal:
        """The most that a prompt of at most so many tokens can cost: all written to the cache, all output used."""
        return self.cost(Usage(0, output, cache_write_5m=prompt, one_region=True))


@cache
def _table() -> dict[str, dict[date, list[Tier]]]:
    text = files("retro.narrate").joinpath("prices.toml").read_text("utf-8")
    table: dict[str, dict[date, list[Tier]]] = {}
    for row in tomllib.loads(text, parse_float=Decimal)["price"]:
        model, start, above = row.pop("model"), row.pop("from"), row.pop("above", 0)
        tier = Tier(above, **{name: Decimal(value) for name, value in row.items()})
        table.setdefault(model, {}).setdefault(start, []).append(tier)
    return table


def known_models() -> list[str]:
    """Every model that has a price."""
    return sorted(_table())


def price_of(model: str, day: date) -> Price | None:
    """The model's price on a day (before its first one, that one); None for a model that is not known."""
    dated = _table().get(model)
    if dated is None:
        return None
    start = max((start for start in dated if start <= day), default=min(dated))
    return Price(model, tuple(sorted(dated[start], key=lambda tier: tier.above)))


def usage_of(usage: Any) -> Usage | None:
    """Usage as an answer states it; None when it does not, or not in whole numbers that are not negative."""
    if not isinstance(usage, dict):
        return None
    counts = [_tokens(usage, name, needed=name in _NEEDED) for name in _FIELDS]
    if any(count is None for count in counts):
        return None
    read, written, fresh, output = [count or 0 for count in counts]
    detail = usage.get("cache_creation")
    long = _tokens(detail, "ephemeral_1h_input_tokens") if isinstance(detail, dict) else 0
    if long is None or long > written:
        return None
    region = usage.get("inference_geo") not in {None, "", "global", "not_available"}
    return Usage(fresh, output, read, written - long, long, region)


_FIELDS: Final = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens", "output_tokens")
_NEEDED: Final = frozenset(_FIELDS[2:])


def _tokens(fields: Mapping[str, Any], name: str, *, needed: bool = False) -> int | None:
    value = fields.get(name)
    if value is None and not needed:
        return 0
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None

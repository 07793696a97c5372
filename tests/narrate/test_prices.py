"""Prices: dated, tiered, exact, and never nothing for a model nobody knows."""

from __future__ import annotations

import tomllib
from datetime import date
from decimal import Decimal
from importlib.resources import files

import pytest

from retro.config import Config
from retro.narrate.prices import Price, Usage, known_models, price_of, usage_of

TODAY = date(2026, 11, 20)


def price(model: str, day: date = TODAY) -> Price:
    listed_price = price_of(model, day)
    assert listed_price is not None
    return listed_price


@pytest.mark.parametrize(
    ("model", "day", "usage", "cost"),
    [
        ("claude-haiku-5-5", TODAY, Usage(1_000_000 // 10, 0), "0.01"),
        ("claude-haiku-5-5", TODAY, Usage(100_000, 1000), "0.0105"),
        (
            "claude-haiku-5-5",
            TODAY,
            Usage(100_001, 1000),
            "0.0525005",
        ),  # the long prompt's price, on everything
        ("claude-haiku-5-5", TODAY, Usage(60_000, 0, 30_000, 10_001), "0.037750625"),
        ("claude-haiku-5-5", TODAY, Usage(0, 0, 1000, 1000, 1000), "0.000335"),
        ("claude-sonnet-5-5", TODAY, Usage(1000, 1000), "0.012"),
        ("claude-sonnet-5-5", date(2026, 10, 6), Usage(0, 0, 1_000_000), "0.2"),
        ("claude-sonnet-5-5", date(2026, 10, 7), Usage(0, 0, 1_000_000), "0.1"),
        (
            "claude-sonnet-5-5",
            date(2020, 1, 1),
            Usage(0, 0, 1_000_000),
            "0.2",
        ),  # before its first price: that one
        ("claude-opus-5-5", TODAY, Usage(1000, 1000), "0.024"),
        ("claude-haiku-5-5", TODAY, Usage(100_000, 0, one_region=True), "0.011"),
    ],
)
def test_a_call_costs_what_the_list_says(model: str, day: date, usage: Usage, cost: str) -> None:
    assert price(model, day).cost(usage) == Decimal(cost)


def test_nothing_costs_more_than_the_worst() -> None:
    for model in known_models():
        for prompt in (0, 1, 99_999, 100_000, 100_001, 900_000):
            worst = price(model).worst(prompt, 8000)
            for usage in (Usage(prompt, 8000), Usage(0, 8000, prompt), Usage(0, 8000, 0, prompt)):
                assert price(model).cost(usage) <= worst


def test_an_unknown_model_has_no_price_and_the_defaults_have_one() -> None:
    assert price_of("claude-unheard-of", TODAY) is None
    llm = Config().llm
    assert {llm.t1_model, llm.t2_model} <= set(known_models())


def test_cache_prices_follow_the_vendors_rule() -> None:
    """A write costs 1.25 or 2 times the input, a read at most a tenth of it."""
    rows = tomllib.loads(
        files("retro.narrate").joinpath("prices.toml").read_text("utf-8"), parse_float=Decimal
    )
    for row in rows["price"]:
        assert row["cache_write_5m"] == row["input"] * Decimal("1.25"), row
        assert row["cache_write_1h"] == row["input"] * 2, row
        assert 0 < row["cache_read"] <= row["input"] / 10 < row["output"], row


def test_usage_is_read_as_it_is_billed() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 40},
        "inference_geo": "us",
        "something_new": "x",
    }
    assert usage_of(usage) == Usage(10, 20, 30, 10, 40, one_region=True)
    assert usage_of({"input_tokens": 1, "output_tokens": 2, "cache_creation": None}) == Usage(1, 2)


@pytest.mark.parametrize(
    "usage", [None, [], "x", {}, {"input_tokens": 1}, {"input_tokens": 1, "output_tokens": None},
             {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": "5"},
             {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 5}}]
)  # fmt: skip
def test_usage_that_is_not_stated_in_whole_numbers_is_none(usage: object) -> None:
    assert usage_of(usage) is None

"""How figures are written: a table of cases, and the law that rounding never turns something into nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.figures import (
    DASH,
    MoneyStyle,
    count,
    day_text,
    duration,
    interval,
    moment,
    money_of,
    percent,
    price,
    quantity,
    ratio,
    span,
)

USDC = MoneyStyle("USDC")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, DASH),
        (0.0, "0.00 USDC"),
        (-0.0, "0.00 USDC"),
        (1e-15, "0.00 USDC"),
        (8.41, "+8.41 USDC"),
        (-4.2, "-4.20 USDC"),
        (-12345.678, "-12,345.68 USDC"),
        (0.0031, "+0.0031 USDC"),
        (-0.000012345, "-0.000012 USDC"),
        (2.5e15, "+2.500e+15 USDC"),
    ],
)
def test_amounts_carry_sign_and_unit(value: float | None, text: str) -> None:
    assert USDC.change(value) == text


@pytest.mark.parametrize(
    ("currency", "amounts", "places"),
    [
        ("USDC", [0.001], 2),
        ("USDT", [1e6], 2),
        ("EUR", [3.0], 2),
        ("BTC", [0.0123, None, -0.001], 5),
        ("BTC", [1e-9], 8),
        ("ETH", [12.5], 2),
        ("ETH", [], 2),
        ("", [0.001], 2),
    ],
)
def test_decimals_follow_the_currency(currency: str, amounts: list[float | None], places: int) -> None:
    assert money_of(currency, amounts) == MoneyStyle(currency, places)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (price(64231.5), "64,231.50"),
        (price(1.5), "1.50"),
        (price(1.23456), "1.2346"),
        (price(0.00001234), "0.00001234"),
        (price(1.2e-12), "1.200e-12"),
        (price(0.0), "0.00"),
        (price(None), DASH),
        (quantity(0.123456789), "0.123457"),
        (quantity(1500.0), "1,500"),
        (quantity(0.0), "0"),
        (percent(1 / 3), "33 %"),
        (percent(0.999), "99.9 %"),
        (percent(0.99999), "99.999 %"),
        (percent(0.0004), "0.040 %"),
        (percent(1.0), "100 %"),
        (percent(0.0), "0 %"),
        (percent(-0.0273, 1), "-2.7 %"),
        (percent(None), DASH),
        (ratio(-0.0043), "-0.004"),
        (ratio(6.517), "6.52"),
        (interval(-11.26, 7.06), "-11.3..+7.1"),
        (interval(-0.25, 0.013), "-0.250..+0.013"),
        (interval(1200.0, 3400.4), "+1,200..+3,400"),
        (count(1, "position"), "1 position"),
        (count(1204, "position"), "1,204 positions"),
        (duration(45), "45 s"),
        (duration(4500), "75 min"),
        (duration(23400), "6.5 h"),
        (duration(172.8 * 3600), "7.2 d"),
        (duration(55 * 86400), "55 d"),
        (duration(259.2 * 86400), "37 weeks"),
        (duration(None), DASH),
    ],
)
def test_each_kind_of_figure(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("start", "end", "zone", "text"),
    [
        ("2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", "UTC", "Mon 16 to Sun 22 Nov 2026"),
        ("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "UTC", "Sat 21 Nov 2026"),
        ("2026-10-30T00:00:00Z", "2026-11-29T00:00:00Z", "UTC", "Fri 30 Oct to Sat 28 Nov 2026"),
        ("2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z", "UTC", "Mon 28 Dec 2026 to Sun 3 Jan 2027"),
        ("2026-11-15T23:00:00Z", "2026-11-22T23:00:00Z", "Europe/Berlin", "Mon 16 to Sun 22 Nov 2026"),
        ("2026-11-16T00:30:00Z", "2026-11-16T12:00:00Z", "UTC", "2026-11-16 00:30 to 2026-11-16 12:00"),
        ("2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z", "No/Where", "Mon 16 Nov 2026"),
        ("2026-11-16T00:00:00Z", "2026-11-17T00:00:01Z", "UTC", "2026-11-16 00:00 to 2026-11-17 00:00"),
    ],
)
def test_periods_read_as_the_owners_days(start: str, end: str, zone: str, text: str) -> None:
    assert span(start, end, zone) == text


def test_instants_are_told_on_the_owners_clock() -> None:
    assert moment("2026-11-16T13:05:59.123Z", "America/New_York") == "2026-11-16 08:05"
    assert day_text("2026-11-16T23:30:00Z", "Europe/Berlin") == "17 Nov 2026"
    assert moment(None) == DASH


@given(st.floats(-1e300, 1e300), st.integers(0, 8))
@settings(deadline=None, max_examples=300)
def test_a_figure_keeps_its_sign_and_is_zero_only_when_it_is(value: float, places: int) -> None:
    text = MoneyStyle("X", places).signed(value)
    digits = re.sub(r"e[+-]\d+$", "", text)
    if abs(value) >= 5e-10:
        assert any(c in "123456789" for c in digits)
        assert text[0] == ("-" if value < 0 else "+")
        assert float(text.replace(",", "")) == pytest.approx(value, rel=0.06, abs=0.5001 * 10.0**-places)
    else:
        assert not any(c in "+-123456789" for c in text)

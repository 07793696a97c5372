"""What an agent wrote loses control, bidi and invisible characters, in whatever format it is shown."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.report import Costs, RetrospectiveReport
from retro.safe import clean, plain_text, visible
from tests.worlds.samples import reports

HARMFUL = "\x00\x07\x1b\x7f\x9b\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\U000e0041\U000e007f"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text, 2.3x", "plain text, 2.3x"),
        ("", ""),
        ("two\nlines\r\nand\ta tab", "two lines and a tab"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("gnp.\u202eexe", "gnp.exe"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("zero\u200bwidth\u2060\ufeff", "zerowidth"),
        ("tags\U000e0068\U000e0069", "tags"),
        ("selectors \u2764\ufe0f \U000e0100", "selectors \u2764 "),
        ("half \ud800 a pair", "half  a pair"),
        ("héllo 日本語 👍 שלום", "héllo 日本語 👍 שלום"),
        ("no\u00a0break", "no\u00a0break"),
    ],
)
def test_what_is_taken_out_and_what_stays(text: str, expected: str) -> None:
    assert plain_text(text) == expected


@given(st.text(st.characters() | st.sampled_from(HARMFUL), max_size=40))
@settings(deadline=None, max_examples=300)
def test_no_control_or_format_character_survives_and_twice_is_once(text: str) -> None:
    cleaned = plain_text(text)
    assert not {unicodedata.category(c) for c in cleaned} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert plain_text(cleaned) == cleaned
    cleaned.encode()


def test_a_clean_document_is_the_same_object() -> None:
    report = reports.weekly()
    assert clean(report) is report


def test_every_string_of_a_document_is_cleaned_and_no_figure_moves() -> None:
    dirty = reports.week_quoting("x\u202e\x07y\nz")
    report = clean(dirty)
    text = json.dumps(report.model_dump(mode="json"), ensure_ascii=False)
    assert "xy z" in text
    assert not set(text) & {"\u202e", "\x07"}
    assert "\\n" not in text.replace("\\\\", "")
    numbers = [report.pnl, report.effectiveness, report.risk]
    assert numbers == [dirty.pnl, dirty.effectiveness, dirty.risk]


def test_keys_that_become_the_same_lose_no_row() -> None:
    tiers = {"T1": 1.0, "T1\u200b": 2.0, "T\u202e1": 4.0}
    report = reports.weekly(costs=Costs(gas=0, inference=7, data=0, by_tier=tiers))
    assert clean(report).costs.by_tier == {"T1": 1.0, "T1 (2)": 2.0, "T1 (3)": 4.0}
    assert isinstance(clean(report), RetrospectiveReport)


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
@settings(max_examples=50)
def test_json_on_the_screen_keeps_every_value_and_shows_nothing_unseen(value: object) -> None:
    rendered = visible(json.dumps([value, HARMFUL], ensure_ascii=False))
    assert json.loads(rendered) == [value, HARMFUL]
    assert not set(HARMFUL) & set(rendered)

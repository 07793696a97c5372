"""Three readers of RFC 3339 times, each with a reason of its own, read the same instant wherever two of them read one.

`retro.periods` is what owners write, `retro.ingest.journal.events` its fast lane, `memory.instants` what `memory` takes
without knowing `retro`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory import instants as of_memory
from retro import periods
from retro.ingest.journal import events

if TYPE_CHECKING:
    from collections.abc import Callable

NEAR_YEARS = st.datetimes(datetime(2, 1, 2), datetime(9998, 12, 30))  # what every reader calls the calendar


def outcome(read: Callable[[str], int], text: str) -> int | None:
    """The instant, or None where the reader refuses the text."""
    try:
        return read(text)
    except ValueError:
        return None


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """A time as somebody may write it: most are RFC 3339, some only look like it."""
    at = draw(NEAR_YEARS)
    fraction = draw(st.from_regex(r"([.,][0-9]{0,10})?", fullmatch=True))
    offset = draw(
        st.one_of(
            st.sampled_from(["Z", "z", "", "+00:00", "-00:00", "+0530", "+24:00", "+01:60", "UTC"]),
            st.builds(
                "{}{:02d}:{:02d}".format, st.sampled_from("+-"), st.integers(0, 23), st.integers(0, 59)
            ),
        )
    )
    clock = draw(st.sampled_from(["%H:%M:%S", "%H:%M:%S", "%H:%M", "24:00:00", "%H:%M:60"]))
    joint = draw(st.sampled_from("TTtt _"))
    return f"{at.year:04d}-{at:%m-%d}{joint}{at.strftime(clock)}{fraction}{offset}"


@given(spellings())
@example("2026-03-01T12:00:00Z")
@example("2026-03-01T12:00:00.1234567Z")
@example("1969-12-31T23:59:59.999999Z")
@example("2026-02-29T00:00:00Z")
@example("٢٠٢٦-03-01T12:00:00Z")
def test_no_two_readers_read_one_text_as_two_instants(text: str) -> None:
    ours = outcome(periods.parse_instant, text)
    assert outcome(events._instant, text) == ours  # a fast lane, not another grammar
    theirs = outcome(of_memory.instant, text)
    if theirs is not None:  # its grammar is the narrower: seconds are written, the offset with a colon
        assert ours == theirs


@given(st.datetimes(datetime(1971, 1, 1), datetime(8999, 12, 31)))
def test_what_one_writes_all_read(naive: datetime) -> None:
    at = (naive.replace(tzinfo=UTC) - periods.EPOCH) // timedelta(microseconds=1)
    assert of_memory.EPOCH == periods.EPOCH
    for text in (periods.format_instant(at), of_memory.written(at)):
        assert periods.parse_instant(text) == events._instant(text) == of_memory.instant(text) == at


@pytest.mark.parametrize("text", ["0001-06-01T00:00:00Z", "9999-06-01T00:00:00Z"])
def test_a_review_needs_a_calendar_around_an_instant_and_a_memory_does_not(text: str) -> None:
    assert outcome(periods.parse_instant, text) is None
    assert of_memory.written(of_memory.instant(text)) == text

"""Links and cookies: one browser a link, two minutes, and a signature that nobody else can make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.surface.guard.session import BrowserSessions


class Watch:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


def cookie_of(header: str) -> str:
    return header.partition(";")[0]


def test_a_link_lets_one_browser_in_and_its_cookie_outlives_a_restart() -> None:
    watch = Watch()
    header = BrowserSessions("key", now=watch).redeem(BrowserSessions("key", now=watch).link())
    assert header is not None
    assert "HttpOnly" in header
    assert "SameSite=Lax" in header
    watch.seconds += 300 * 86_400
    assert BrowserSessions("key", now=watch).is_let_in(f"other=1; {cookie_of(header)}")
    watch.seconds += 66 * 86_400
    assert not BrowserSessions("key", now=watch).is_let_in(cookie_of(header))


def test_a_link_opens_once_and_for_two_minutes() -> None:
    watch = Watch()
    sessions = BrowserSessions("key", now=watch)
    link, late = sessions.link(), sessions.link()
    assert sessions.redeem(link)
    assert sessions.redeem(link) is None
    watch.seconds += 121
    assert sessions.redeem(late) is None


def test_another_key_knows_neither() -> None:
    link, header = BrowserSessions("key").link(), BrowserSessions("key").redeem(BrowserSessions("key").link())
    assert header is not None
    assert BrowserSessions("other").redeem(link) is None
    assert not BrowserSessions("other").is_let_in(
        cookie_of(header).replace(BrowserSessions("key").name, BrowserSessions("other").name)
    )


def test_a_cookie_is_no_link_and_a_link_no_cookie() -> None:
    sessions = BrowserSessions("key")
    link = sessions.link()
    assert not sessions.is_let_in(f"{sessions.name}={link}")
    header = sessions.redeem(link)
    assert header is not None
    assert sessions.redeem(cookie_of(header).partition("=")[2]) is None


@given(st.text(max_size=80))
def test_whatever_is_brought_nothing_opens_and_nothing_breaks(text: str) -> None:
    sessions = BrowserSessions("key")
    assert sessions.redeem(text) is None
    assert not sessions.is_let_in(text)
    assert not sessions.is_let_in(f"{sessions.name}={text}")


@pytest.mark.parametrize("place", [0, -1])
def test_one_changed_sign_is_another_text(place: int) -> None:
    link = list(BrowserSessions("key").link())
    link[place] = "0" if link[place] != "0" else "1"
    assert BrowserSessions("key").redeem("".join(link)) is None

"""Addresses: whatever a thing is called, its address is read back as that name."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.present.links import address_of
from retro.present.references import PositionReference, ScreenReference
from retro.surface.screens.routes import Request, request_of

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(NAMES, NAMES)
def test_an_address_is_read_back_as_the_names_it_was_made_of(agent: str, position: str) -> None:
    path = urlsplit(address_of(PositionReference(agent, position))).path
    assert request_of(path.encode(), b"") == Request("p", (agent, position))
    for ending, form in ((".json", "json"), (".txt", "text"), (".md", "md"), (".csv", "csv")):
        assert request_of(f"{path}{ending}".encode(), b"") == Request("p", (agent, position), form)  # type: ignore[arg-type]


@given(st.dictionaries(st.from_regex(r"[a-z-]{1,8}", fullmatch=True), NAMES, max_size=4))
def test_filters_are_read_back(query: dict[str, str]) -> None:
    address = urlsplit(address_of(ScreenReference("reviews", tuple(query.items()))))
    assert request_of(address.path.encode(), address.query.encode()) == Request(
        "reviews", query=query, pairs=tuple(query.items())
    )


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_a_request_or_none(path: bytes, query: bytes) -> None:
    request = request_of(path, query)
    assert request is None or (request.screen and all(request.names))


@pytest.mark.parametrize("path", [b"", b"x", b"//", b"/r//", b"/r/%ff", b"/r/"])
def test_what_is_no_address_is_none(path: bytes) -> None:
    assert request_of(path, b"") is None

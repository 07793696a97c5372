"""Acts of an owner: asked once more, done by POST alone, from here alone, noted, and not there where one only reads."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import event

from retro.config import Config
from retro.store.database import open_store
from retro.store.jobs.reviews import by_id
from retro.surface.screens.house import House
from tests.surface.web.test_door import Browser, house_of, ways

HERE = "http://127.0.0.1:8600"
PARKED = "harbor-3.weekly.2026-W10"
FORM = {"do": "retry", "of": PARKED}


@pytest.fixture
def house(reviewed_db: Path, tmp_path: Path) -> Iterator[House]:
    """The reviewed agent in a file of its own, one of its reviews parked."""
    copy = shutil.copy(reviewed_db, tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as raw, raw:
        raw.execute("UPDATE reviews SET state = 'parked', reason = 'it failed' WHERE id = ?", (PARKED,))
    with closing(open_store(str(copy))) as store:
        yield house_of(store, Config())


def state(house: House) -> str:
    with house.store.read() as conn:
        return by_id(conn, PARKED).state


def send(browser: Browser, fields: dict[str, str], **headers: str | None) -> Any:
    return browser("/-/act", "POST", urlencode(fields).encode(), **({"origin": HERE} | headers))


def test_a_parked_review_is_retried_by_two_steps_and_that_is_noted(house: House) -> None:
    notes: list[str] = []
    browser = Browser(house, note=notes.append)
    (address,) = {address for address in ways(browser("/reviews").text) if "do=retry" in address}
    page = browser(address)
    assert (page.status, state(house), notes) == (200, "parked", [])
    assert 'method="post"' in page.text
    sent = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    assert sent == FORM
    reply = send(browser, sent)
    assert (reply.status, reply.headers["location"], state(house)) == (303, "/reviews", "waiting")
    assert notes == [f"the owner (127.0.0.1): retry {PARKED}: waiting"]
    again = send(browser, sent)
    assert (again.status, len(notes)) == (409, 1)


def test_to_skip_takes_a_reason(house: House) -> None:
    browser = Browser(house, note=lambda _: None)
    assert send(browser, {"do": "skip", "of": PARKED}).status == 400
    assert state(house) == "parked"
    assert send(browser, {"do": "skip", "of": PARKED, "why": "the bot was moved"}).status == 303
    assert state(house) == "skipped"


def test_today_is_marked_as_seen_and_a_review_sent_again(house: House) -> None:
    browser = Browser(house, note=lambda _: None)
    (address,) = {address for address in ways(browser("/").text) if "do=seen" in address}
    page = browser(address).text
    sent = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    assert send(browser, sent).headers["location"] == "/"
    assert send(browser, {"do": "seen", "of": "soon"}).status == 409
    assert send(browser, {"do": "resend", "of": "nobody.weekly.2026-W10"}).status == 409


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": None, "authorization": None, "cookie": "COOKIE"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://evil.example:8600", "host": "evil.example:8600"}, 421),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}, 403),
        ({"authorization": None}, 401),
        ({"authorization": "Bearer wrong"}, 401),
    ],
)
def test_nobody_else_s_page_does_anything(house: House, headers: dict[str, str | None], status: int) -> None:
    notes: list[str] = []
    browser = Browser(house, note=notes.append)
    if headers.get("cookie"):
        header = browser.sessions.redeem(browser.sessions.link())
        assert header is not None
        headers = headers | {"cookie": header.partition(";")[0]}
    assert send(browser, FORM, **headers).status == status
    assert (state(house), notes) == ("parked", [])


def test_where_one_only_reads_no_act_is_offered_or_done(house: House) -> None:
    browser = Browser(house)
    assert not [address for address in ways(browser("/reviews").text) if "/-/act" in address]
    assert browser("/-/act?do=retry&of=x").status == 404
    assert send(browser, FORM).status == 405
    assert state(house) == "parked"


def test_what_is_no_act_is_none_and_a_get_does_nothing(house: House) -> None:
    browser = Browser(house, note=lambda _: None)
    for fields in ({"do": "drop", "of": "x"}, {"do": "retry"}, {}):
        assert browser(f"/-/act?{urlencode(fields)}").status == 404
        assert send(browser, fields).status == 404
    assert browser("/", "POST", origin=HERE).status == 405
    page = browser("/-/act?do=retry&of=%3Cscript%3E").text
    assert "<script>" not in page


def test_no_screen_writes_a_row(house: House) -> None:
    """SQLite itself is asked: an authorizer of every connection refuses whatever is not reading, on a crawl of every link."""
    refused: list[tuple[int, str | None]] = []
    reading = {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_TRANSACTION,
    }
    reading |= {sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_RECURSIVE}

    declared = {  # how json_each says which columns it has: no table is made by it
        (sqlite3.SQLITE_CREATE_TABLE, "x"),
        *((action, "sqlite_master") for action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE)),
    }

    def authorize(action: int, first: str | None, *_: str | None) -> int:
        if action in reading or (action, first) in declared:
            return sqlite3.SQLITE_OK
        refused.append((action, first))
        return sqlite3.SQLITE_DENY

    house.store.engine.dispose()

    @event.listens_for(house.store.engine, "connect")
    def watch(connection: Any, _: Any) -> None:
        connection.set_authorizer(authorize)

    browser, visited, waiting = (
        Browser(house, note=lambda _: None),
        set[str](),
        {"/", "/metrics", "/search?q=w"},
    )
    explained = False  # a figure's page is one screen, however many figures lead to it
    while waiting:
        address = waiting.pop()
        visited.add(address)
        reply = browser(address)
        assert reply.status in {200, 404}, address  # what the parked review alone would tell is not there
        if reply.headers["content-type"].startswith("text/html"):
            waiting |= {address for address in ways(reply.text) if not address.startswith("/-/s/")} - visited
        waiting -= {address for address in waiting if "explain" in address and explained}
        explained = explained or "explain" in address
    assert len(visited) > 60
    assert refused == []
    assert send(browser, FORM).status == 503, "what does write is refused: it is watched"


def test_no_page_holds_a_transaction_while_it_is_sent(house: House) -> None:
    """Whoever reads slowly keeps nobody from writing: when the first byte goes out, every connection is back."""
    open_connections: list[int] = []
    browser = Browser(house, sending=lambda: open_connections.append(depth[0]))
    depth = [0]
    event.listen(house.store.engine, "checkout", lambda *_: depth.__setitem__(0, depth[0] + 1))
    event.listen(house.store.engine, "checkin", lambda *_: depth.__setitem__(0, depth[0] - 1))
    for address in (
        "/",
        "/reviews",
        f"/r/{PARKED}",
        "/positions",
        "/positions.csv",
        "/reviews.csv",
        "/metrics",
        "/memory/harbor-3",
    ):
        assert browser(address).status == 200
    assert len(open_connections) >= 16
    assert set(open_connections) == {0}

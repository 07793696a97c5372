"""The screens as a browser gets them: behind the guard, every way leads somewhere, and reading changes nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from retro.app.settlement.settings import settings_of
from retro.config import Config
from retro.store.database import Store, open_store
from retro.surface.guard.guard import Guard
from retro.surface.guard.session import BrowserSessions
from retro.surface.screens.catalogue import SCREENS
from retro.surface.screens.house import House
from retro.surface.web.door import door
from tests.worlds.commands import Retro, retro

__all__ = ["retro"]

KEY = "the-owner's-key"
NOW = 1_772_900_000_000_000


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Browser:
    """Asks the door as a program with the key does, unless its headers say otherwise."""

    house: House
    sessions: BrowserSessions = field(default_factory=lambda: BrowserSessions(KEY))
    note: Callable[[str], None] | None = None
    sending: Callable[[], None] = field(default=lambda: None)

    @cached_property
    def door(self) -> Guard:
        return door(self.house, KEY, self.sessions, note=self.note)

    def __call__(
        self, target: str, method: str = "GET", body: bytes = b"", /, **headers: str | None
    ) -> Reply:
        given: dict[str, str | None] = {"host": "127.0.0.1:8600", "authorization": f"Bearer {KEY}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8600),
            "headers": [(k.encode(), v.encode()) for k, v in given.items() if v is not None],
        }
        messages: list[dict[str, Any]] = []
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return parts.pop() if parts else await asyncio.sleep(3600, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            self.sending()
            messages.append(message)

        asyncio.run(self.door(scope, receive, send))
        headers_sent = {k.decode(): v.decode() for k, v in messages[0]["headers"]}
        return Reply(messages[0]["status"], headers_sent, b"".join(part["body"] for part in messages[1:]))


@pytest.fixture
def house(reviewed_db: Path) -> Iterator[House]:
    store = open_store(str(reviewed_db))
    config = Config()
    yield house_of(store, config)
    store.close()


def house_of(store: Store, config: Config) -> House:
    return House(store, config, lambda agent: settings_of(config, agent, None), lambda: NOW, lambda: [
        ("ok", "database", "it opens"), ("note", "model", "no key"),
    ])  # fmt: skip


@pytest.fixture
def browser(house: House) -> Browser:
    return Browser(house)


def ways(page: str) -> set[str]:
    """Where a page leads; of the thousands of figures of all reviews, to one of each kind of review."""
    paths = {path.replace("&amp;", "&") for path in re.findall(r'href="(/[^"#]*)"', page)}
    return {path for path in paths if "figure=" not in path or path.endswith(("=regret", "=risk.sharpe"))}


def test_every_way_leads_somewhere_and_a_crawl_changes_no_byte(browser: Browser, reviewed_db: Path) -> None:
    before = reviewed_db.read_bytes()
    visited: set[str] = set()
    waiting = {"/"}
    explained = False  # the page of a figure is one screen, however many figures lead to it
    while waiting:
        address = waiting.pop()
        visited.add(address)
        reply = browser(address)
        assert reply.status == 200, address
        if reply.headers["content-type"].startswith("text/html"):
            waiting |= ways(reply.text) - visited
        explained = explained or "explain" in address
        waiting = {address for address in waiting if not (explained and "explain" in address)}
    assert reviewed_db.read_bytes() == before
    reached = {urlsplit(address).path.split("/")[1].split(".")[0] or "today" for address in visited}
    assert {screen.name for screen in SCREENS} <= reached


def test_a_page_has_nothing_from_elsewhere_and_no_style_or_script_of_its_own(browser: Browser) -> None:
    for address in ("/", "/reviews", "/r/harbor-3.weekly.2026-W10", "/positions"):
        page = browser(address).text
        assert not re.search(
            r'\sstyle=|<style|<script(?! src="/-/s/)|(?:href|src)="https?:|\son\w+=', page
        ), address
    policy = browser("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/r/harbor-3.weekly.2026-W10.json", ("show", "harbor-3.weekly.2026-W10")),
        ("/reviews.json", ("reviews", "--newest", "--limit", "100")),
        ("/positions.json", ("positions", "--newest", "--limit", "100")),
        ("/proposals.json", ("playbook", "status")),
        ("/memory/harbor-3.json", ("memory", "--agent", "harbor-3")),
        (
            "/memory/harbor-3/recall.json?context=%7B%22regime%22%3A%22ranging%22%7D",
            ("recall", "--context", '{"regime":"ranging"}'),
        ),
        ("/search.json?q=W10", ("search", "W10")),
        (
            "/positions.json?q=pnl%3E0+-open&sort=-pnl",
            ("positions", "--where", "pnl>0 -open", "--sort", "-pnl"),
        ),
        (
            "/memory/harbor-3.json?as-of=2026-03-04",
            ("memory", "--agent", "harbor-3", "--as-of", "2026-03-04"),
        ),
    ],
)
def test_json_is_what_the_command_prints_to_the_byte(
    browser: Browser, reviewed_db: Path, retro: Retro, address: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    copy = shutil.copy(reviewed_db, tmp_path / "copy.db")
    assert browser(address).text.strip() == retro("--db", copy, "--json", *words).out.strip()


def test_the_same_figures_stand_in_text_and_markdown(browser: Browser) -> None:
    address = "/r/harbor-3.weekly.2026-W10"
    figures = set(re.findall(r"[+-]\d+\.\d\d", browser(f"{address}.txt").text))
    assert len(figures) > 20
    markdown = browser(f"{address}.md").text
    assert {figure for figure in figures if figure not in markdown} == set()


def test_nobody_comes_in_without_key_or_cookie(browser: Browser) -> None:
    assert browser("/", authorization=None).status == 401
    assert browser("/", authorization="Bearer wrong").status == 401
    link = browser.sessions.link()
    entry = browser(f"/in?once={link}", authorization=None)
    assert (entry.status, entry.headers["location"]) == (303, "/")
    cookie = entry.headers["set-cookie"].partition(";")[0]
    assert browser("/", authorization=None, cookie=cookie).status == 200
    assert browser(f"/in?once={link}", authorization=None).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example:8600"}, 421),
        ({"host": "evil.example:8600", "origin": "http://evil.example:8600"}, 421),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}, 200),
    ],
)
def test_foreign_pages_and_rebound_names_get_nothing(
    browser: Browser, headers: dict[str, str], status: int
) -> None:
    assert browser("/", **headers).status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_but_reading_is_answered(browser: Browser, method: str) -> None:
    assert browser("/", method, origin="http://127.0.0.1:8600").status == 405


def test_its_health_is_told_to_everybody_and_nothing_else(browser: Browser) -> None:
    reply = browser("/healthz", authorization=None)
    assert (reply.status, reply.body) == (200, b"ok\n")


@pytest.mark.parametrize(
    "address",
    [
        "/<script>",
        "/r/%3Cscript%3E",
        "/r/%ff",
        "/nothing",
        "/r",
        "/p/x",
        "//",
        "/p//x",
        "/a/%2e%2e",
        "/r/x@y.csv",
        "/proposals/%3Cscript%3E",
        "/memory/%3Cscript%3E",
        "/memory/harbor-3/%3Cscript%3E",
        "/memory/harbor-3/recall?context=%3Cscript%3E",
    ],
)
def test_what_is_not_there_is_not_repeated(browser: Browser, address: str) -> None:
    reply = browser(address)
    assert reply.status in {400, 404}
    assert "<script>" not in reply.text
    assert "&lt;script" not in reply.text
    assert "%3C" not in reply.text


def test_a_browser_that_has_a_page_is_not_sent_it_again(browser: Browser) -> None:
    first = browser("/reviews")
    again = browser("/reviews", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    head = browser("/reviews", "HEAD")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", first.headers["etag"])


def test_long_pages_are_packed_and_small(browser: Browser) -> None:
    reply = browser("/r/harbor-3.weekly.2026-W10", accept_encoding="gzip")
    assert reply.headers["content-encoding"] == "gzip"
    assert len(reply.body) < 20 << 10
    assert len(browser("/", accept_encoding="gzip").body) < 14 << 10
    assert gzip.decompress(reply.body).startswith(b"<!doctype html>")


def test_no_file_of_a_page_ever_changes_under_its_name(browser: Browser) -> None:
    names = re.findall(r'(?:href|src)="(/-/s/[^"]+)"', browser("/").text)
    assert {name.rpartition(".")[2] for name in names} >= {"css", "svg"}
    for name in names:
        file = browser(name, accept_encoding="gzip")
        assert "immutable" in file.headers["cache-control"]
        assert len(file.body) < (5 << 10 if name.endswith("css") else 6 << 10)
        assert browser(name, "HEAD").headers["etag"] == file.headers["etag"]
        assert browser(name.replace(".", ".0", 1)).status == 404


def test_an_empty_house_says_what_to_do(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "empty.db"))
    browser = Browser(house_of(store, Config()))
    assert "retro ingest journal FILE" in browser("/").text
    for address in ("/reviews", "/positions", "/proposals", "/service"):
        assert browser(address).status == 200, address
    assert json.loads(browser("/reviews.json").text) == []
    store.close()


def test_names_of_strangers_are_shown_and_never_run(tmp_path: Path, retro: Retro) -> None:
    name = '"><script>alert(1)</script>/../\u202e'
    event = {"agent": "bot", "at": "2026-03-02T10:00:00Z"}
    lines = [
        {"type": "position", "id": "p", "position": name, "kind": "spot", "instrument": name, **event},
        {"type": "fill", "id": "f", "position": name, "side": "buy", "quantity": 1, "price": 10, **event},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert retro("--db", "h.db", "ingest", "journal", "a.jsonl").code == 0
    assert retro("--db", "h.db", "positions").code == 0
    store = open_store("h.db")
    browser = Browser(house_of(store, Config()))
    page = browser("/positions").text
    assert "alert(1)" in page
    assert "<script>" not in page
    assert "\u202e" not in page
    (address,) = {address for address in ways(page) if address.startswith("/p/")}
    assert browser(address).status == 200
    store.close()


def test_the_command_prints_a_link_that_lets_in_and_a_new_key_ends_it(retro: Retro, tmp_path: Path) -> None:
    words = ("--db", "k.db", "web", "link", "--port", "8601")
    printed = retro(*words).out.strip()
    address, _, token = printed.partition("?once=")
    assert address == "http://mirror.localhost:8601/in"
    (key_file,) = tmp_path.rglob("web.key")
    assert key_file.stat().st_mode & 0o077 == 0
    assert BrowserSessions(key_file.read_text().strip()).redeem(token)
    assert retro("--db", "k.db", "web", "revoke").code == 0
    assert BrowserSessions(key_file.read_text().strip()).redeem(token) is None


def test_the_other_formats_of_a_screen_are_reached_whatever_it_is_called(
    tmp_path: Path, retro: Retro
) -> None:
    event = {"agent": "bot", "at": "2026-03-02T10:00:00Z", "position": "lp/1.json"}
    lines = [
        {"type": "position", "id": "p", "kind": "spot", "instrument": "ETH/USDC", **event},
        {"type": "fill", "id": "f", "side": "buy", "quantity": 1, "price": 10, **event},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert retro("--db", "s.db", "ingest", "journal", "a.jsonl").code == 0
    store = open_store("s.db")
    browser = Browser(house_of(store, Config()))
    page = browser("/p/bot/lp%2F1%2Ejson").text
    forms = {address for address in ways(page) if address.endswith((".json", ".txt", ".md"))}
    assert len(forms) == 3
    assert {browser(address).status for address in forms} == {200}
    store.close()

"""Who gets in, as a browser tries it, and whether windows that listen keep another one waiting."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.browser.conftest import Owner, Site


def test_eight_windows_that_listen_do_not_keep_the_ninth_waiting(owner: Owner) -> None:
    pages = [owner.open("/") for _ in range(8)]
    for page in pages:
        assert page.evaluate("document.hidden") is False
    ninth = owner.open("/service")
    assert ninth.locator("h1").is_visible()


def test_a_page_hears_what_comes_in_and_moves_nobody_who_reads(owner: Owner, site: Site) -> None:
    page = owner.open("/r/harbor-3.weekly.2026-W10")
    with page.expect_response("**/-/pulse"):
        pass
    assert page.locator("#news").is_hidden()
    event = (
        '{"type": "mark", "id": "m-new", "agent": "harbor-9", "at": "2026-03-20T09:30:00Z",'
        ' "instrument": "ETH/USDC", "price": "2410"}\n'
    )
    (site.folder / "new.jsonl").write_text(event)
    words = [sys.executable, "-m", "retro", "--db", "mirror.db", "ingest", "journal", "new.jsonl"]
    subprocess.run(words, cwd=site.folder, check=True, capture_output=True)
    page.locator("#news").wait_for(state="visible", timeout=12_000)
    page.keyboard.press("r")
    page.wait_for_load_state()
    assert page.locator("#news").is_hidden()


class _Stranger(BaseHTTPRequestHandler):
    """A page of somebody else on another port of this machine."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>stranger</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """It is quiet."""


@pytest.fixture
def stranger() -> Any:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Stranger)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_page_of_another_port_reads_and_posts_nothing(
    site: Site, chromium: Any, let_in: Any, stranger: int
) -> None:
    context = chromium.new_context(storage_state=let_in)
    page = context.new_page()
    statuses: list[int] = []
    page.on(
        "response", lambda reply: statuses.append(reply.status) if f":{site.port}/" in reply.url else None
    )
    page.goto(f"http://mirror.localhost:{stranger}/")
    for method in ("GET", "POST"):
        sent = (
            f"fetch('{site.origin}/reviews', {{method: '{method}', mode: 'no-cors', credentials: 'include'}})"
        )
        page.evaluate(f"{sent}.then(() => 'sent', () => 'refused')")
        read = f"fetch('{site.origin}/reviews', {{method: '{method}', credentials: 'include'}})"
        assert page.evaluate(f"{read}.then((r) => r.text(), () => 'refused')") == "refused"
    context.close()
    assert statuses
    assert set(statuses) <= {403, 405}


def test_a_name_that_was_rebound_to_this_machine_is_turned_away(
    site: Site, launch: Callable[..., Any]
) -> None:
    browser = launch(
        "--host-resolver-rules=MAP evil.example 127.0.0.1",
        "--disable-features=LocalNetworkAccessChecks",  # so that it is ours alone that turns it away
    )
    page = browser.new_page()
    page.route("**/lure", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
    page.goto(f"http://evil.example:{site.port}/lure")  # the stranger's own page; then its name means us
    for address in ("/", "/reviews", "/healthz", "/-/pulse"):
        for request in ("{method: 'GET'}", "{method: 'POST', body: 'x'}"):
            assert page.evaluate(f"fetch('{address}', {request}).then((r) => r.status)") == 421
    browser.close()

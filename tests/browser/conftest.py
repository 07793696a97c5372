"""A real Chromium before a real `retro web`: the owner's browser. Without one this layer is skipped, and says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from playbook.amendment import Amendment, Grounds
from retro.store import proposals
from retro.store.database import open_store
from tests.worlds.places import ROOT

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
HOST = "mirror.localhost"
ATTACK = "'\"><script>window.pwned=1</script><img src=//evil.example/x onerror=window.pwned=1></dd>"


def executable() -> str:
    """The browser: RETRO_BROWSER names it, or one of those that are usual; `required` lets none be an error."""
    wish = os.environ.get("RETRO_BROWSER", "")
    if wish not in {"", "required"}:
        return wish
    path = next((path for path in map(shutil.which, NAMES) if path), None)
    if path is None:
        no_browser = pytest.fail if wish == "required" else pytest.skip
        no_browser("no Chromium here: RETRO_BROWSER names one, or apt-get install chromium-headless-shell")
    return path


@dataclass(frozen=True)
class Site:
    """A `retro web` that runs, over two agents: an honest one, and one whose every text is an attack."""

    folder: Path
    port: int

    @property
    def origin(self) -> str:
        return f"http://{HOST}:{self.port}"

    def link(self) -> str:
        """Another link that lets one browser in."""
        words = [sys.executable, "-m", "retro", "--db", "mirror.db", "web", "link", "--port", str(self.port)]
        return subprocess.run(
            words, cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()


def hostile(line: str) -> str:
    """An event of the honest agent as the other one tells it: its own names and words are attacks."""
    event: dict[str, Any] = json.loads(line)
    event["agent"] = "mallory"
    for key in ("reasoning", "strategy", "venue", "regime", "item", "exit_reason"):
        if isinstance(event.get(key), str):
            event[key] = ATTACK + event[key]
    for key in ("position", "positions"):
        if isinstance(event.get(key), str):
            event[key] = f"<b>/{event[key]}"
    if "cites" in event:
        event["cites"] = [*event["cites"], ATTACK]
    return json.dumps(event)


def propose(database: str) -> None:
    """A change of a rule, every word of which is an attack."""
    old, new = (f"- H-7 [{share}] {ATTACK}" for share in ("0.62", "0.53"))
    amendment = Amendment("set_confidence", ATTACK, old, new, Grounds({"role": ATTACK}, ATTACK))
    with closing(open_store(database)) as store, store.write() as conn:
        proposals.suggest(conn, "mallory", [amendment], 0, 0)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    executable()
    folder = tmp_path_factory.mktemp("site")
    journal = (ROOT / "examples" / "agent.jsonl").read_text()
    (folder / "both.jsonl").write_text(journal + "\n".join(map(hostile, journal.splitlines())) + "\n")
    retro = [sys.executable, "-m", "retro", "--db", "mirror.db"]
    for words in (("ingest", "journal", "both.jsonl"), ("run", "--once")):
        subprocess.run([*retro, *words], cwd=folder, check=True, capture_output=True)
    propose(str(folder / "mirror.db"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [*retro, "web", "--port", str(port), "--no-open"], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        assert f":{port}/in?once=" in server.stderr.readline()
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
                probe.settimeout(0.05)
        yield Site(folder, port)
        server.send_signal(signal.SIGINT)
        server.wait(10)


@dataclass
class Owner:
    """An owner's window, and everything that went wrong in it."""

    site: Site
    context: Any
    faults: list[str] = field(default_factory=list)

    def open(self, address: str = "/", **options: Any) -> Any:
        """A page; whatever its console says, whatever it asks of strangers, whatever runs is a fault."""
        page = self.context.new_page()
        page.on("console", lambda message: self.faults.append(f"{page.url}: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: {error}"))
        page.on("request", lambda request: self._ask(request.url))
        if options:
            page.emulate_media(**options)
        page.goto(self.site.origin + address)
        return page

    def _ask(self, url: str) -> None:
        if urlsplit(url).netloc != f"{HOST}:{self.site.port}" and not url.startswith("data:"):
            self.faults.append(f"asks {url}")


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Any]]:
    """Starts a browser with these arguments."""
    path = executable()
    with playwright.sync_playwright() as driver:
        yield lambda *args: driver.chromium.launch(executable_path=path, args=["--no-sandbox", *args])


@pytest.fixture(scope="module")
def chromium(launch: Callable[..., Any]) -> Iterator[Any]:
    """One browser a module; every test has windows of its own."""
    browser = launch()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def let_in(site: Site, chromium: Any) -> Any:
    """What a browser keeps of the link it came in by."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site.link())
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def owner(site: Site, chromium: Any, let_in: Any) -> Iterator[Owner]:
    context = chromium.new_context(storage_state=let_in, viewport={"width": 1100, "height": 900})
    context.set_default_timeout(5000)
    window = Owner(site, context)
    yield window
    context.close()
    assert window.faults == []


@pytest.fixture
def scriptless(site: Site, chromium: Any, let_in: Any) -> Iterator[Owner]:
    """The same without JavaScript."""
    context = chromium.new_context(storage_state=let_in, java_script_enabled=False)
    context.set_default_timeout(5000)
    window = Owner(site, context)
    yield window
    context.close()
    assert window.faults == []


def paths_of(page: Any) -> set[str]:
    """Where a page leads to, on this server; of the thousands of figures of all reviews, to one of each kind of review."""
    links = page.eval_on_selector_all("a[href^='/']", "all => all.map(a => a.getAttribute('href'))")
    paths = {re.sub("#.*", "", link) for link in links}
    return {path for path in paths if "figure=" not in path or path.endswith(("=regret", "=risk.sharpe"))}

"""The pictures of docs/screens.md: the sample agent's screens in a Chromium, and one in a terminal.

    .venv/bin/python examples/pictures.py [FOLDER]

It needs playwright (the group `browser`) and a Chromium on the path. The files are for people; no test compares them.
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
FOLDER = HERE.parent / "docs"
RETRO = (sys.executable, "-m", "retro", "--config", "sample/config.toml")
LIFE = "/p/sample/t-58"
PICTURES = (
    ("screens-light.png", LIFE, "light", 1000),
    ("screens-dark.png", "/", "dark", 1000),
    ("screens-phone.png", "/r/sample.weekly.2026-W09", "light", 390),
)
"""File, address, colours, width."""
HEIGHT = 820


def main() -> None:
    """Make the sample's reviews in a folder of their own, and photograph them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(HERE / "sample", place / "a" / "sample")
        home = place / "a"
        config = home / "sample" / "config.toml"
        config.write_text(config.read_text(encoding="utf-8").replace("../../demo", ".."), encoding="utf-8")
        for words in (("ingest", "journal", "sample/agent.jsonl"), ("run", "--once")):
            subprocess.run([*RETRO, *words], cwd=home, check=True, capture_output=True)
        photograph(home, folder)


def photograph(home: Path, folder: Path) -> None:
    """Serve the screens, look at each, and stop."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [*RETRO, "web", "--no-open", "--port", str(port)], cwd=home, stderr=subprocess.PIPE, text=True
    )
    try:
        link = re.search(r"http\S+", server.stderr.readline() if server.stderr else "")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            first = browser.new_context()
            page = first.new_page()
            for _ in range(50):
                try:
                    page.goto(link[0] if link else "")
                    break
                except Exception:  # noqa: BLE001  it is not up yet
                    page.wait_for_timeout(100)
            state: Any = first.storage_state()
            for file, address, colours, width in PICTURES:
                context = browser.new_context(
                    storage_state=state,
                    color_scheme="dark" if colours == "dark" else "light",
                    viewport={"width": width, "height": HEIGHT},
                )
                shot = context.new_page()
                shot.goto(f"http://mirror.localhost:{port}{address}")
                if address == LIFE:
                    shot.locator("#trajectory").scroll_into_view_if_needed()
                    shot.evaluate("document.getElementById('trajectory').scrollIntoView()")
                    shot.locator("svg[data-rows]").focus()
                    shot.keyboard.press("b")
                shot.screenshot(path=folder / file)
                context.close()
            terminal(home, browser, folder / "screens-terminal.png")
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(10)


def terminal(home: Path, browser: Any, file: Path) -> None:
    """What `retro show` prints, as a terminal draws it."""
    words = ("show", "sample.position.t-58")
    text = subprocess.run([*RETRO, *words], cwd=home, check=True, capture_output=True, text=True).stdout
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text.from_ansi("\n".join(text.splitlines()[:70])))
    page = browser.new_page(viewport={"width": 1000, "height": 1760})
    page.set_content(console.export_svg(title="retro show sample.position.t-58"))
    page.locator("svg").screenshot(path=file)


def chromium() -> str:
    """The browser that is here."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    path = next((path for path in map(shutil.which, names) if path), None)
    if path is None:
        raise SystemExit("no Chromium here: apt-get install chromium-headless-shell")
    return path


if __name__ == "__main__":
    main()

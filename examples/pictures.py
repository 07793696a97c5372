"""The pictures of docs/screens.md: the sample agent's screens in a Chromium, and a list in a terminal.

    .venv/bin/python examples/pictures.py [FOLDER]

It needs playwright and Pillow (the group `browser`) and a Chromium on the path. The files are for people; no test compares them.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from retro.app.settlement.settings import settings_of
from retro.config import load
from retro.store.database import open_store
from retro.surface.screens.house import House
from retro.surface.tui.app import MirrorApp

HERE = Path(__file__).parent
FOLDER = HERE.parent / "docs"
RETRO = (sys.executable, "-m", "retro", "--config", "sample/config.toml")
LIFE = "/p/sample/lp-2"
MORNING = "/?as-of=2026-03-08T18:00:00Z"
"""While the agent lived: with its month."""
PICTURES = (
    ("screens-light.png", LIFE, "light", 1000, 1240),
    ("screens-dark.png", MORNING, "dark", 1000, 1420),
    ("screens-phone.png", "/r/sample.weekly.2026-W10", "light", 390, 844),
)
"""File, address, colours, width and height."""
COLUMNS, LINES = 140, 36
COLOURS = 64
"""Screens have few: a third of the bytes."""


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
    drawing = terminal(home)  # before the driver, which has a loop of its own
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
            for file, address, colours, width, height in PICTURES:
                context = browser.new_context(
                    storage_state=state,
                    color_scheme="dark" if colours == "dark" else "light",
                    viewport={"width": width, "height": height},
                )
                shot = context.new_page()
                shot.goto(f"http://mirror.localhost:{port}{address}")
                if address == LIFE:
                    shot.locator("svg[data-rows]").focus()
                    shot.keyboard.press("b")
                shot.screenshot(path=folder / file)
                context.close()
            drawn = browser.new_page(viewport={"width": 1200, "height": 900})
            drawn.set_content(drawing)
            drawn.locator("svg").screenshot(path=folder / "screens-terminal.png")
            browser.close()
        for file in (*(picture[0] for picture in PICTURES), "screens-terminal.png"):
            few = Image.open(folder / file).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            few.save(folder / file, optimize=True)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(10)


def terminal(home: Path) -> str:
    """The list of positions beside the page of one, as a wide terminal draws it: an SVG."""
    config = load(home / "sample" / "config.toml", {})
    with closing(open_store(str(home / "retro.db"), create=False)) as store:
        house = House(
            store,
            config,
            lambda agent: settings_of(config, agent, None),
            lambda: time.time_ns() // 1000,
            list,
        )
        return asyncio.run(looked_at(MirrorApp(house, "/positions?agent=sample")))


async def looked_at(app: MirrorApp) -> str:
    """The terminal as SVG, once everything is drawn, with a life that lost pointed at."""
    async with app.run_test(size=(COLUMNS, LINES)) as pilot:
        for key in ("", *"jjjj"):
            if key:
                await pilot.press(key)
            for _ in range(5):
                await app.workers.wait_for_complete()
                await pilot.pause()
        return app.export_screenshot(title="retro tui")


def chromium() -> str:
    """The browser that is here."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    path = next((path for path in map(shutil.which, names) if path), None)
    if path is None:
        raise SystemExit("no Chromium here: apt-get install chromium-headless-shell")
    return path


if __name__ == "__main__":
    main()

"""Every screen of nothing, of one life and of hostile words, in every format: one set of figures, and nothing executes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from retro.app.reviews.week_lines import summing_up
from retro.present.markdown import markdown_of
from retro.present.screen import ScreenFrame, plain_page, screen_of
from retro.present.text.page import text_of
from retro.store.database import open_store
from retro.surface.screens.catalogue import SCREENS, answer
from retro.surface.screens.house import House
from retro.surface.screens.routes import Request
from tests.worlds.service_world import MONDAY, World, life

HOSTILE = '<img src=x onerror=alert(1)>"&'
RULE = "H-7<script>alert(1)</script>"
FIGURE = re.compile(r"[+-]?\d[\d,]*\.\d+")
DAY = 86_400_000_000
NAMES = {
    ("r", 1): ("bot.weekly.2026-W11",),
    ("diff", 1): ("bot.weekly.2026-W10...bot.weekly.2026-W11",),
    ("p", 2): ("bot", HOSTILE),
    ("a", 1): ("bot",),
    ("memory", 1): ("bot",),
    ("rules", 1): ("bot",),
    ("rules", 2): ("bot", RULE),
}
OF_OTHERS = {("proposals", 1), ("memory", 2), ("r", 2)}
"""Screens of a thing that this life does not have, or that is asked of one figure."""


def hostile_life() -> list[dict[str, Any]]:
    """Two weeks; one of the positions, what it is called for and why are somebody else's tricks."""
    text = json.dumps(life(14)).replace('"p3"', json.dumps(HOSTILE)).replace('"H-7"', json.dumps(RULE))
    events: list[dict[str, Any]] = json.loads(text.replace("H-7 says so", "**so** <u>so</u> \\u001b[2J"))
    return events


def findings() -> list[tuple[str, str, str]]:
    return [("broken", "source", HOSTILE)]


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, House]]:
    folder = tmp_path_factory.mktemp("matrix")
    opened = {}
    for kind in ("empty", "hostile"):
        store = open_store(str(folder / f"{kind}.db"))
        world = World(store, folder, at=MONDAY + 14 * DAY + DAY // 2)
        if kind == "hostile":
            world.tell(hostile_life())
            world.knock(consequences=(summing_up(),))
        opened[kind] = House(store, world.config, world.settings_for, world.clock, findings)
    yield opened
    for house in opened.values():
        house.store.close()


def drawn(house: House, request: Request) -> dict[str, str]:
    reply = answer(house, request)
    page = plain_page(reply.page)
    return {
        "text": text_of(page),
        "md": markdown_of(page),
        "html": screen_of(page, ScreenFrame(())),
        "json": reply.document,
    }


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: f"{screen.name}-{screen.names}")
def test_a_screen_says_the_same_in_every_format(houses: dict[str, House], screen: Any) -> None:
    names = NAMES.get((screen.name, screen.names), ())
    if len(names) != screen.names:
        assert (screen.name, screen.names) in OF_OTHERS, "say here what it is asked of"
        pytest.skip("its own test has what it is asked of")
    query = {"agent": "bot"} if screen.name == "positions" else {}
    formats = drawn(houses["hostile"], Request(screen.name, names, query=query))
    axis = re.compile("^.*[┤│].*$", re.MULTILINE)  # each drawing has steps of its own
    figures = set(FIGURE.findall(axis.sub("", formats["text"])))
    for form in ("md", "html"):
        assert {figure for figure in figures if figure not in formats[form]} == set(), form
    assert max(map(len, formats["text"].splitlines())) <= 80
    assert not re.search(r"<(img|script|u)[ >]", formats["html"].replace('<script src="', ""))
    assert "\x1b" not in "".join(formats.values())
    json.loads(formats["json"])


@pytest.mark.parametrize("screen", [screen for screen in SCREENS if not screen.names], ids=lambda s: s.name)
def test_nothing_is_a_screen_too(houses: dict[str, House], screen: Any) -> None:
    formats = drawn(houses["empty"], Request(screen.name))
    assert json.loads(formats["json"]) is not None
    assert "<main" in formats["html"]
    assert formats["text"].strip()

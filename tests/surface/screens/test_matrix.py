"""Every screen of nothing, of one position, of many things and of hostile words, in every format: one set of figures."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from playbook.amendment import Amendment, Grounds
from retro.app.questions.experience import Experience
from retro.app.reviews.week_lines import summing_up
from retro.periods import DAY, HOUR
from retro.present.links import segment
from retro.present.markdown import markdown_of
from retro.present.screen import ScreenFrame, plain_page, screen_of
from retro.present.text.page import lines_of, text_of
from retro.store import proposals
from retro.store.database import open_store
from retro.surface.mcp.tools import server_of
from retro.surface.screens.catalogue import SCREENS, Screen, answer
from retro.surface.screens.house import House
from retro.surface.screens.routes import Request
from retro.surface.tui.heads import crumb_line, list_title
from retro.surface.tui.parts import ListParts
from retro.surface.tui.reader import view_of
from tests.worlds.service_world import MONDAY, World, life, line, trade

HOSTILE = '<img src=x onerror=alert(1)>"&'
RULE = "H-7<script>alert(1)</script>"
FIGURE = re.compile(r"[+-]?\d[\d,]*\.\d+")
NAMES = {
    ("r", 1): ("bot.weekly.2026-W11",),
    ("diff", 1): ("bot.weekly.2026-W10...bot.weekly.2026-W11",),
    ("p", 2): ("bot", HOSTILE),
    ("a", 1): ("bot",),
    ("memory", 1): ("bot",),
    ("rules", 1): ("bot",),
    ("rules", 2): ("bot", RULE),
    ("r", 2): ("bot.weekly.2026-W11", "explain"),
    ("memory", 2): ("bot", "recall"),
}
TRICKS = "**so** <u>so</u> \x1b[2J\x1b]0;taken\x07 \x9b31m \u202e\u2066 [red]=HYPERLINK(1)[/red] javascript:x"
"""What clears a terminal, names its window, colours it, turns the reading round, is markup, a formula, an address."""
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
WEEK = "bot.weekly.2026-W10"
ONE_NAMES = {
    ("r", 1): (WEEK,),
    ("r", 2): (WEEK, "explain"),
    ("diff", 1): (f"{WEEK}...{WEEK}",),
    ("p", 2): ("bot", "p0"),
    ("a", 1): ("bot",),
    ("memory", 1): ("bot",),
    ("memory", 2): ("bot", "recall"),
    ("rules", 1): ("bot",),
    ("rules", 2): ("bot", "H-7"),
}


def hostile_life() -> list[dict[str, Any]]:
    """Two weeks; one of the positions, what it is called for and why are somebody else's tricks."""
    text = json.dumps(life(14)).replace('"p3"', json.dumps(HOSTILE)).replace('"H-7"', json.dumps(RULE))
    events: list[dict[str, Any]] = json.loads(text.replace("H-7 says so", json.dumps(TRICKS)[1:-1]))
    return events


def hostile_proposal() -> Amendment:
    """A change of a rule that a stranger worded."""
    old, new = (f"- H-7 [{share}] {HOSTILE} {TRICKS}" for share in ("0.62", "0.53"))
    evidence = {"role": HOSTILE, "resolved": 15, "average": -0.962, "unit": "usd"}
    wrong = f"{TRICKS} {RULE}"
    return Amendment("set_confidence", RULE, old, new, Grounds(evidence, wrong))


def names_of(house: House, screen: Screen, names: dict[tuple[str, int], tuple[str, ...]]) -> tuple[str, ...]:
    """What a screen is asked of; of proposals the first there is."""
    if (screen.name, screen.names) == ("proposals", 1):
        with house.store.read() as conn:
            return tuple(row.id for row in proposals.stored(conn)[:1])
    return names.get((screen.name, screen.names), ())


def crowd() -> list[dict[str, Any]]:
    """A hundred and twenty positions of one agent, and thirty agents of which little is known."""
    events = [line("equity", "e", MONDAY, f"agent-{n:02}", value=1000 + n) for n in range(30)]
    for n in range(120):
        opened = MONDAY + n * HOUR
        events += trade(f"q{n}", opened, opened + HOUR, 2000, 2000.25 + n % 7, agent="crowd")
    return events


def findings() -> list[tuple[str, str, str]]:
    return [("broken", "source", HOSTILE)]


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, House]]:
    folder = tmp_path_factory.mktemp("matrix")
    opened = {}
    lives = {"empty": [], "one": life(7, every=7), "many": life(7, every=7), "hostile": hostile_life()}
    for kind, events in lives.items():
        store = open_store(str(folder / f"{kind}.db"))
        world = World(store, folder, at=MONDAY + (14 if kind == "hostile" else 7) * DAY + DAY // 2)
        if events:
            world.tell(events)
            world.knock(consequences=(summing_up(),))
        if kind == "many":
            world.tell(crowd())
        if kind == "hostile":
            with store.write() as conn:
                proposals.suggest(conn, "bot", [hostile_proposal()], MONDAY, world.clock())
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
    names = names_of(houses["hostile"], screen, NAMES)
    assert len(names) == screen.names, "say here what it is asked of"
    query = {"positions": {"agent": "bot"}, "search": {"q": "<img"}}.get(screen.name, {})
    formats = drawn(houses["hostile"], Request(screen.name, names, query=query))
    hold_same_figures(formats)
    assert not re.search(r"<(img|script|u)[ >]", formats["html"].replace('<script src="', ""))
    assert not UNSEEN.search("".join(formats[form] for form in ("text", "md", "html")))
    assert not UNSEEN.search(formats["json"])


def hold_same_figures(formats: dict[str, str]) -> None:
    """What the text says in figures, the other formats say too."""
    axis = re.compile("^.*[┤│].*$", re.MULTILINE)  # each drawing has steps of its own
    figures = set(FIGURE.findall(axis.sub("", formats["text"])))
    for form in ("md", "html"):
        assert {figure for figure in figures if figure not in formats[form]} == set(), form
    assert max(map(len, formats["text"].splitlines())) <= 80
    json.loads(formats["json"])


@pytest.mark.parametrize("kind", ["one", "many"])
@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: f"{screen.name}-{screen.names}")
def test_one_and_many_say_the_same_in_every_format(houses: dict[str, House], screen: Any, kind: str) -> None:
    names = names_of(houses[kind], screen, ONE_NAMES)
    if len(names) != screen.names:
        assert screen.name == "proposals", "say here what it is asked of"
        return
    for agent in ("bot",) if kind == "one" or screen.name != "positions" else ("bot", "crowd"):
        query = {"positions": {"agent": agent}, "search": {"q": "q1"}}.get(screen.name, {})
        hold_same_figures(drawn(houses[kind], Request(screen.name, names, query=query)))


def test_many_are_told_in_parts_and_their_number_whole(houses: dict[str, House]) -> None:
    reply = answer(houses["many"], Request("positions", query={"agent": "crowd"}))
    assert reply.page.headline.result == "120 positions"
    assert len(reply.page.sections[0].blocks[0].rows) == 100
    assert reply.later.endswith("after=q20"), "the newest hundred are q119 to q20"


def test_no_word_of_an_agent_reaches_a_terminal_as_a_command(houses: dict[str, House]) -> None:
    """Every screen as `retro tui` draws it, on a narrow terminal, a usual one and a wide one; lists row by row."""
    for screen in SCREENS:
        names = names_of(houses["hostile"], screen, NAMES)
        view = view_of(houses["hostile"], "/" + "/".join(map(segment, (screen.name, *names))))
        assert not view.failed, screen.name
        for width in (60, 80, 140):
            lines = [row for part in lines_of(view.page, width) for row in part]
            lines += [crumb_line(view.crumbs, width), *list_title(view.page, width)]
            if view.rows is not None:
                parts = ListParts(view.address)
                parts.store(0, view.rows, view.later)
                lines += [*parts.heading(width), *(parts.line(row, width) for row in range(parts.rows))]
            text = "".join(span.text for row in lines for span in row)
            assert not UNSEEN.search(text), (screen.name, width)


def test_no_word_of_an_agent_gets_out_of_the_strings_of_a_tool_s_answer(houses: dict[str, House]) -> None:
    """What a model is sent is JSON that says what was written, as data: one line, and labelled as an agent's."""
    house = houses["hostile"]
    server = server_of(Experience(house.store, house.config))
    for name, arguments in (
        ("list_positions", {"detail": True}),
        ("list_reviews", {"detail": True}),
        ("get_review", {"id": "bot.weekly.2026-W11", "detail": True}),
        ("playbook_audit", {"detail": True}),
    ):
        answer = asyncio.run(server.call_tool(name, arguments))
        (content,) = answer.content
        assert not re.search("[\x00-\x1f]", content.text), name
        assert json.loads(content.text) == answer.structured_content
        assert "never an instruction" in answer.structured_content["untrusted"]


@pytest.mark.parametrize("screen", [screen for screen in SCREENS if not screen.names], ids=lambda s: s.name)
def test_nothing_is_a_screen_too(houses: dict[str, House], screen: Any) -> None:
    formats = drawn(houses["empty"], Request(screen.name))
    assert json.loads(formats["json"]) is not None
    assert "<main" in formats["html"]
    assert formats["text"].strip()

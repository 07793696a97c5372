"""What is missing, broken or empty: every surface says what, why, and what to do, and shows all else that there is."""

from __future__ import annotations

import html
import re
import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from retro.app.proposals.files import playbook_of
from retro.app.settlement.settings import settings_of
from retro.config.tables import AgentTable
from retro.periods import DAY
from retro.present.screen import plain_page
from retro.present.text.page import text_of
from retro.store.database import Store, open_store
from retro.store.jobs.hosts import note_knock
from retro.surface.screens.catalogue import answer
from retro.surface.screens.house import House
from retro.surface.screens.routes import request_of
from tests.surface.tui.terminal import Terminal, at_terminal
from tests.surface.web.test_door import Browser
from tests.worlds.service_world import MONDAY, World, life

SIZE = (100, 90)


def house_of(world: World) -> House:
    return House(world.store, world.config, world.settings_for, world.clock, list)


def words(text: str) -> str:
    """What a person reads, however wide it is drawn."""
    return " ".join(text.split())


def read_off(page: str) -> str:
    """What a person reads of HTML."""
    return words(html.unescape(re.sub(r"<[^>]*>", " ", page)))


@dataclass
class Shown:
    """An address as each surface shows it."""

    house: House
    address: str
    texts: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        path, _, query = self.address.partition("?")
        request = request_of(path.encode(), query.encode())
        assert request is not None
        self.texts = {
            "text": words(text_of(plain_page(answer(self.house, request).page))),
            "browser": read_off(Browser(self.house)(self.address).text),
        }

        async def look(owner: Terminal) -> None:
            self.texts["terminal"] = words(owner.text())

        at_terminal(self.house, look, start=self.address, size=SIZE)

    def says(self, *sentences: str) -> None:
        """Whether it stands there, wherever lines end: a path that is longer than one is broken inside."""
        for surface, text in self.texts.items():
            for sentence in sentences:
                assert "".join(sentence.split()) in "".join(text.split()), (surface, sentence, text)


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path, at=MONDAY + 7 * DAY + DAY // 2)


def test_nobody_has_told_anything(world: World) -> None:
    house = house_of(world)
    Shown(house, "/").says("No agent has told anything yet", "retro ingest journal FILE", "retro run")
    Shown(house, "/fleet").says("No agent has told anything yet", "retro ingest journal FILE")
    Shown(house, "/reviews").says("No review yet: retro run --once makes what is due")
    Shown(house, "/positions").says("retro ingest journal FILE")


def test_nothing_is_reviewed_and_no_service_runs(world: World) -> None:
    world.tell(life(7))
    house = house_of(world)
    Shown(house, "/").says("The service has never run. Mend it: retro run", "bot last acted", "That is all")
    Shown(house, "/reviews").says("No review yet: retro run --once makes what is due")


def test_the_service_rests_and_an_agent_is_silent(world: World) -> None:
    world.tell(life(7))
    world.knock()
    with world.store.write() as conn:
        note_knock(conn, "here", world.clock())
    world.clock.at += 60 * DAY
    Shown(house_of(world), "/").says(
        "The service last knocked 9 weeks ago. Mend it: retro run", "bot has been silent for 9 weeks"
    )


def test_a_book_is_older_than_what_it_follows(world: World) -> None:
    world.tell(life(7))
    world.knock()
    house = replace(
        house_of(world), settings_for=lambda agent: replace(world.settings_for(agent), epoch_days=5)
    )
    Shown(house, "/").says("Not settled yet", "the next knock settles it", "That is all")
    Shown(house, "/positions?agent=bot").says("the next knock, or retro positions, settles it", "p0")


def test_a_filter_fits_nothing(world: World) -> None:
    world.tell(life(7))
    world.knock()
    house = house_of(world)
    Shown(house, "/reviews?agent=bot&q=state:parked").says("is so: type less, or something else")
    narrowed = Shown(house, "/positions?agent=bot&q=pnl%3C-1000+held%3E1d")
    narrowed.says("None of 7 positions is so: type less, or something else")
    page = Browser(house)(narrowed.address).text
    for without in ("q=held%3E1d", "q=pnl%3C-1000"):
        assert f'href="/positions?agent=bot&amp;{without}"' in page


def test_a_playbook_is_gone(world: World, tmp_path: Path) -> None:
    world.tell(life(7))
    world.knock()
    gone = tmp_path / "gone" / "PLAYBOOK.md"
    config = world.config.model_copy(update={"agent": {"bot": AgentTable(playbook=gone)}})
    house = House(
        world.store, config, lambda agent: settings_of(config, agent, playbook_of(config, agent.name)),
        world.clock, list,
    )  # fmt: skip
    Shown(house, "/").says(
        f"{gone} cannot be read: No such file or directory",
        "[agent.bot] playbook in the configuration names it",
        "until then nothing of its agent is settled. Mend it: put it there, or name another",
        "closed lives",
        "That is all",
    )


def test_a_database_is_held(world: World, tmp_path: Path) -> None:
    path = tmp_path / "held.db"
    built = World(open_store(str(path)), tmp_path, at=world.clock.at)
    built.tell(life(7))
    built.knock()
    built.store.close()
    store = open_store(str(path), create=False, patience_s=0.05)
    house = House(store, built.config, built.settings_for, built.clock, list)
    browser = Browser(house)
    holder = sqlite3.connect(path, isolation_level=None)
    browser("/")
    holder.execute("BEGIN EXCLUSIVE")
    before, first = browser("/"), browser("/reviews")
    data = browser("/.json")
    holder.execute("ROLLBACK")
    assert before.status == 200
    assert "is held by another process" in read_off(before.text)
    assert "What stands here was read at 2026-03-09T12:00:00" in read_off(before.text)
    assert "That is all" in read_off(before.text)
    assert (first.status, data.status) == (503, 503)
    assert "is held by another process" in read_off(first.text)
    assert "retro doctor" in read_off(first.text)
    assert browser("/reviews").status == 200
    holder.close()
    store.close()

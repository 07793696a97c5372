"""Who waits for whom: screens are drawn one after the other, and what nobody changed is not drawn again."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from retro.config import Config
from retro.periods import DAY, SECOND
from retro.store.database import Store, open_store
from retro.store.jobs.looks import OwnerLook, note_look
from retro.surface.guard.session import BrowserSessions
from retro.surface.web.door import application
from tests.surface.web.test_door import KEY, NOW, house_of
from tests.worlds.commands import reviewed_db

if TYPE_CHECKING:
    from retro.app.settlement.settings import AgentSettings
    from retro.store.facts.agents import Agent
    from retro.surface.screens.house import House

__all__ = ["reviewed_db"]

REVIEW = "/r/harbor-3.weekly.2026-W10"


@pytest.fixture
def store(reviewed_db: Path, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(shutil.copy(reviewed_db, tmp_path / "mirror.db")))
    yield opened
    opened.close()


def ask(house: House, *waves: tuple[str, ...] | Callable[[], None]) -> list[list[tuple[int, bytes]]]:
    """Waves of addresses, those of one asked for at the same time: status and body of each answer.

    What is to be done between two waves stands between them.
    """
    screens = application(house, BrowserSessions(KEY))

    async def one(path: str) -> tuple[int, bytes]:
        messages: list[MutableMapping[str, Any]] = []
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [],
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            messages.append(message)

        await screens(scope, receive, send)
        return messages[0]["status"], b"".join(part["body"] for part in messages[1:])

    async def every() -> list[list[tuple[int, bytes]]]:
        answers = []
        for wave in waves:
            if callable(wave):
                wave()
            else:
                answers.append(await asyncio.gather(*map(one, wave)))
        return answers

    return asyncio.run(every())


def test_screens_are_drawn_one_after_the_other(store: Store) -> None:
    house = house_of(store, Config())
    drawing, most, lock = 0, 0, threading.Lock()

    def settings_for(agent: Agent) -> AgentSettings:
        nonlocal drawing, most
        with lock:
            drawing += 1
            most = max(most, drawing)
        threading.Event().wait(0.01)
        with lock:
            drawing -= 1
        return house.settings_for(agent)

    (answers,) = ask(replace(house, settings_for=settings_for), ("/positions",) * 6)
    assert {status for status, _ in answers} == {200}
    assert most == 1


def test_nobody_waits_for_an_examination_that_waits_for_others(store: Store) -> None:
    house = house_of(store, Config())
    drawn = threading.Event()

    def settings_for(agent: Agent) -> AgentSettings:
        drawn.set()
        return house.settings_for(agent)

    def examine() -> list[tuple[str, str, str]]:
        return [("ok" if drawn.wait(30) else "broken", "mail", "it answers")]

    waiting = replace(house, settings_for=settings_for, examine=examine)
    ((_, findings), (_, _)) = ask(waiting, ("/service", "/positions"))[0]
    assert b"0 broken" in findings or b"Everything works" in findings


def transactions(store: Store) -> list[None]:
    """One more for each transaction from now on."""
    begun: list[None] = []
    event.listen(store.engine, "begin", lambda _: begun.append(None))
    return begun


def test_a_review_is_read_once_until_something_is_stored_or_a_day_begins(store: Store) -> None:
    assert store.path is not None
    path, later = store.path, [2 * SECOND]
    house = replace(house_of(store, Config()), clock=lambda: path.stat().st_mtime_ns // 1000 + later[0])
    begun = transactions(store)
    reads = []

    def count() -> None:
        reads.append(len(begun))
        begun.clear()

    def commit() -> None:
        with store.write() as conn:
            note_look(conn, OwnerLook(NOW, "digest"))
        begun.clear()

    def wait_a_day() -> None:
        later[0] += DAY

    (first,), (again,), *_ = ask(
        house,
        *((REVIEW,), count, (REVIEW,), count),
        *(commit, (REVIEW,), count, (REVIEW,), count),
        *(wait_a_day, (REVIEW,), count, (REVIEW,), count),
        *((f"{REVIEW}.txt",), count),
    )
    assert first[0] == 200
    assert again == first
    assert [number > 0 for number in reads] == [True, False, True, False, True, False, True]

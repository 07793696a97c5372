"""Agents whose first week is reviewed under thresholds that have changed since: what a rework looks at anew."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from retro.app.engine import rework
from retro.app.engine.stages import moved_figures
from retro.periods import DAY, HOUR
from retro.store.database import Store, open_store
from retro.store.jobs import interventions
from retro.store.jobs.tables import documents, reviews
from retro.store.rework import enlist, open_units
from tests.worlds.service_world import MONDAY, World, life

__all__ = [
    "AGENTS",
    "Texts",
    "agents_left",
    "document_texts",
    "enlist_all",
    "fail_for",
    "reviewed_world",
    "service_texts",
]

AGENTS = ("ada", "bob", "eve")
BEFORE: dict[str, Any] = {"daily_review_enabled": False, "epoch_review_enabled": False}
AFTER: dict[str, Any] = {**BEFORE, "heuristic_min_citations": 50}
"""Thresholds by which the figures of a week come out otherwise, and those of positions do not."""

Texts = dict[tuple[str, int], str]
"""(review, revision) -> its text."""


def reviewed_world(store: Store, folder: Path, url: str, names: Sequence[str] = AGENTS) -> World:
    """Agents after their first week, all reviewed; the thresholds have changed."""
    tables: dict[str, Any] = {"retrospective": BEFORE, "store": {"url": url}}
    world = World(store, folder, at=MONDAY + 8 * DAY + HOUR, configuration=tables)
    for name in names:
        world.tell(life(2, agent=name))
    world.knock()
    world.configuration = {**tables, "retrospective": AFTER}
    return world


def service_texts(folder: Path, names: Sequence[str] = AGENTS) -> Texts:
    """What the service writes where it is to look at all of them anew; in a new folder."""
    folder.mkdir()
    url = str(folder / "retro.db")
    with closing(open_store(url)) as store:
        world = reviewed_world(store, folder, url, names)
        with store.write() as conn:
            interventions.remake_since(conn, 0)
        world.knock()
        return document_texts(world)


def document_texts(world: World) -> Texts:
    """Every document that is stored."""
    columns = (reviews.c.id, documents.c.revision, documents.c.document)
    query = select(*columns).join(documents, documents.c.review == reviews.c.key)
    with world.store.read() as conn:
        return {(name, revision): text for name, revision, text in conn.execute(query)}


def enlist_all(world: World, names: Sequence[str] = AGENTS) -> None:
    """Write down that these agents are to be looked at anew."""
    with world.store.write() as conn:
        enlist(conn, names, 0, world.clock())


def agents_left(world: World) -> list[str]:
    """The agents of a rework that is not finished."""
    with world.store.read() as conn:
        return [name for unit in open_units(conn) for name in unit.agents]


def fail_for(patch: pytest.MonkeyPatch, name: str) -> None:
    """Let computing fail for one agent."""

    def failing(terms: Any, book: Any, *rest: Any) -> Any:
        if book.name == name:
            raise ValueError("a fault of ours")
        return moved_figures(terms, book, *rest)

    patch.setattr(rework, "moved_figures", failing)

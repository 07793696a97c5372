"""An episode's risk is R by the rule of the review: stated by the entry, and not better known after it."""

from __future__ import annotations

import io

import pytest

from retro.app.intake.ingest import IngestTerms, ingest
from retro.ingest.journal.reader import read
from retro.periods import parse_instant
from retro.store.database import Store
from tests.worlds.commands import round_trip
from tests.worlds.reviews import House, one_store

__all__ = ["one_store"]

STORY = round_trip("lost", profit=-5.0).replace('"kind": "spot"', '"kind": "spot", "risk": "10"')
LINES = STORY.splitlines(keepends=True)
DECLARED = next(line for line in LINES if '"position"' in line and '"risk"' in line)
"""The line in which the position says what it is."""


def learned(house: House) -> tuple[object, object]:
    house.learn(house.position("lost"))
    episode = house.episodes()["lost"]
    return episode.get("risk"), episode.get("pnl_r")


def test_a_risk_stated_by_the_entry_is_the_episodes(one_store: Store) -> None:
    assert learned(House(one_store, STORY)) == (10, -0.5)


def test_a_risk_stated_after_the_entry_is_none(one_store: Store) -> None:
    """Declared an hour after it was filled: 5 of 10 lost, and no R."""
    at = DECLARED.split('"at": "')[1].split('"')[0]
    later = DECLARED.replace(at, f"{at[:11]}{int(at[11:13]) + 1:02d}{at[13:]}")
    assert learned(House(one_store, STORY.replace(DECLARED, later))) == (None, None)


def test_a_risk_corrected_after_the_entry_stays_as_it_was_stated(one_store: Store) -> None:
    """Told afterwards to have risked 100 all along: the loss of 5 would be a twentieth of it and not a half."""
    house = House(one_store, STORY)
    lines = io.BytesIO(DECLARED.replace('"risk": "10"', '"risk": "100"').encode())
    batches = read(lines, "again", now=parse_instant("2026-06-01T00:00:00Z"))
    terms = IngestTerms(replace="the agent says otherwise")
    assert ingest(house.store, "again", batches, house.settings, terms).clean
    assert learned(house) == (10, pytest.approx(-0.5))

"""What a position's instrument cost while it was held and afterwards: the marks, thinned, and none that was told later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from retro.app.questions.reviews import stored
from retro.app.questions.screens.prices import price_track
from retro.periods import DAY, HOUR
from retro.present.formats import page_of
from retro.present.html import html_of
from retro.present.page.screens.lives import with_price
from retro.present.text.page import text_of
from retro.report import PositionRetrospective
from tests.worlds.service_world import MONDAY, World, line, trade

if TYPE_CHECKING:
    from pathlib import Path

    from retro.present.page.market import PriceTrack
    from retro.store.database import Store

ENTRY, EXIT = MONDAY + 9 * HOUR, MONDAY + 15 * HOUR
NOW = MONDAY + 3 * DAY
STEP = HOUR // 60


def price_at(n: int) -> float:
    """Falls to 1,900 on the way and is 2,100 for a minute of the life; 2,500 at the end."""
    at = MONDAY + n * STEP
    if at == ENTRY + HOUR:
        return 1_900.0
    if at == ENTRY + 2 * HOUR:
        return 2_100.0
    return 2_500.0 if at > EXIT + 12 * HOUR else 2_000.0 + (n % 7)


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=NOW)
    marks = [
        line("mark", f"m{n}", MONDAY + n * STEP, asset="ETH", price=price_at(n))
        for n in range(2 * DAY // STEP)
    ]
    world.tell([line("equity", "e0", MONDAY, value=10_000, balances={"USDC": 10_000}), *marks])
    world.tell(trade("p", ENTRY, EXIT, 2000, 2010))
    world.knock()
    return world


def review_of(world: World) -> PositionRetrospective:
    document = stored(world.store, "bot.position.p", "bot").document
    assert isinstance(document, PositionRetrospective)
    return document


def track_of(world: World, known_until: int = NOW) -> PriceTrack | None:
    return price_track(world.store, "USDC", review_of(world), known_until)


def test_the_track_begins_with_the_entry_and_goes_on_for_a_day_at_least(world: World) -> None:
    track = track_of(world)
    assert track is not None
    instants = [at for at, _ in track.points]
    assert instants == sorted(set(instants))
    assert (instants[0], instants[-1]) == (ENTRY, EXIT + DAY)
    assert track.held == (EXIT - ENTRY) // STEP + 1
    assert track.after == DAY // STEP


def test_thinned_it_has_the_extremes_and_what_held_at_the_exit(world: World) -> None:
    track = track_of(world)
    assert track is not None
    assert len(track.points) < 250
    in_life = [price for at, price in track.points if at <= EXIT]
    assert (min(in_life), max(in_life)) == (track.low, track.high) == (1_900.0, 2_100.0)
    assert dict(track.points)[EXIT] == price_at((EXIT - MONDAY) // STEP)


@pytest.mark.parametrize("known_until", [EXIT, EXIT + HOUR, EXIT + 13 * HOUR])
def test_who_looks_back_sees_no_price_of_later(world: World, known_until: int) -> None:
    track = track_of(world, known_until)
    assert track is not None
    assert track.points[-1][0] == known_until
    assert track.after == (known_until - EXIT) // STEP


def test_without_marks_while_it_was_held_there_is_no_track(world: World) -> None:
    assert track_of(world, ENTRY) is None


def test_what_is_paid_in_another_coin_is_not_drawn_in_money(world: World) -> None:
    life = replace(review_of(world), instrument="ETH/BTC")
    assert price_track(world.store, "USDC", life, NOW) is None


def test_the_sentence_says_what_the_drawing_shows(world: World) -> None:
    track, life = track_of(world), review_of(world)
    page = with_price(page_of(life, "USDC"), life, track)
    words = "Entered at 2,000.00, left at 2,010.00; between 1,900.00 and 2,100.00 in 361 marks of its life."
    later = "24 h after the exit it stood at 2,500.00, +24.4 % from where it was left (1,440 marks), which nobody knew then."
    text = " ".join(text_of(page, width=400).split())
    assert f"{words} {later}" in text
    drawn = html_of(page)
    assert "Price of ETH/USDC" in drawn
    assert "after the exit" in drawn
    keys = [section.key for section in page.sections]
    assert keys.index("price") == keys.index("trajectory") + 1

"""What an agent was worth just before an action, by which great losses are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from retro.app.reviews.build import equity_before, inputs_of
from retro.app.reviews.window import Window
from retro.app.settlement.settle import settled_book
from retro.periods import FOREVER, Period
from retro.store.database import open_store
from retro.store.facts.events import TYPES
from tests.worlds import lives
from tests.worlds.chance.acts import live
from tests.worlds.chance.nonsense import babble
from tests.worlds.chance.world import WorldFacts, lines_of


@pytest.mark.parametrize("world", [*map(live, range(5)), *map(babble, range(5))])
def test_before_any_fact_equity_is_what_books_kept_at_it_say(tmp_path: Path, world: WorldFacts) -> None:
    """In worlds of every kind of position, with flags, snapshots and prices that are late or never come."""
    store = open_store(str(tmp_path / "world.db"))
    lives.live(store, lines_of(world.events), configuration=world.configuration)
    settings = lives.settings_for(world.configuration)(lives.agent_of(store, world.agent))
    with settled_book(store, world.agent, settings) as book:
        names = [row.position for row in book.positions()]
        instants = sorted({fact.at for fact in book.life.between(-FOREVER, FOREVER, types=TYPES)})
        start, end = instants[0] - 1, instants[-1] + 1

        def window(*grid: int) -> Window:
            period = Period("custom", start, end, "")
            return Window(period, [start, *grid, end], known_until=end, marks_until=end)

        books = inputs_of(book, window(*instants), names).books
        equity = equity_before(book, window(), names, instants)
    store.close()
    assert equity == pytest.approx(books.equity[1:-1], rel=1e-9, abs=1e-6)

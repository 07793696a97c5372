"""The smallest journal that still breaks a law: positions go first, then events, halves before single ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.worlds.chance.market import Event
    from tests.worlds.chance.world import WorldFacts


def smallest(world: WorldFacts, breaks: Callable[[WorldFacts], bool]) -> WorldFacts:
    """A world of which nothing can be left out any more; `breaks` says whether one still breaks its law."""
    if world.neighbours and breaks(without := replace(world, neighbours=[])):
        world = without
    for name in sorted({e["position"] for e in world.events if e["type"] == "position"}):
        fewer = [e for e in world.events if e.get("position") != name]
        if breaks(smaller := replace(world, events=fewer)):
            world = smaller
    kept = fewest(world.shared, lambda series: breaks(replace(world, shared=list(series))))
    world = replace(world, shared=list(kept))
    facts = [e for e in world.events if e["type"] != "mark"]
    marks = [e for e in world.events if e["type"] == "mark"]
    facts = list(fewest(facts, lambda some: breaks(replace(world, events=[*whole(some), *marks]))))
    facts = whole(facts)
    marks = list(fewest(marks, lambda some: breaks(replace(world, events=[*facts, *some]))))
    return replace(world, events=sorted([*facts, *marks], key=lambda e: e["at"]))


def whole(events: Sequence[Event]) -> list[Event]:
    """Events without those of positions that nothing opens any more, lest orphans are what breaks the law."""
    named = {e["position"] for e in events if e["type"] == "position"}
    return [e for e in events if e["type"] == "cost" or e.get("position") is None or e["position"] in named]


def fewest(items: Sequence[Any], breaks: Callable[[Sequence[Any]], bool]) -> Sequence[Any]:
    """Leave out runs of items, ever shorter ones, as long as it breaks without them."""
    size = max(1, len(items) // 2)
    while items:
        start, before = 0, len(items)
        while start < len(items):
            fewer = [*items[:start], *items[start + size :]]
            if breaks(fewer):
                items = fewer
            else:
                start += size
        if size == 1 and len(items) == before:
            break
        size = max(1, size // 2)
    return items

"""The order of fills that share an instant, by the position each says it found: one's end is the next one's beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    from retro.ingest.table.cells import Cells
    from retro.ingest.table.executions import Item

__all__ = ["in_chain"]


def in_chain(
    items: Sequence[Item],
    before: Callable[[Cells], Decimal | None],
    change: Callable[[Item], tuple[str, Decimal, Decimal] | None],
) -> list[Item]:
    """The rows of one instant, those of each instrument in the order in which their positions follow each other.

    `before` is the signed position a row states it found, `change` its instrument, its signed quantity and what is
    held before the instant. An instrument whose chain does not close keeps the order of its file.
    """
    places: dict[str, list[int]] = {}
    links: dict[int, tuple[Decimal, Decimal]] = {}
    holding: dict[str, Decimal] = {}
    for place, item in enumerate(items):
        changed = change(item)
        if changed is None:
            continue
        instrument, quantity, holding[changed[0]] = changed
        start = before(item.cells)
        places.setdefault(instrument, []).append(place)
        if start is not None:
            links[place] = (start, start + quantity)
    ordered = list(items)
    for instrument, slots in places.items():
        if len(slots) > 1 and all(slot in links for slot in slots):
            for slot, source in zip(slots, _chain(slots, links, holding[instrument]), strict=True):
                ordered[slot] = items[source]
    return ordered


def _chain(slots: list[int], links: dict[int, tuple[Decimal, Decimal]], holding: Decimal) -> list[int]:
    """The slots from the one that found what is held, else from a beginning that is nobody's end; else as they are."""
    ends = [links[slot][1] for slot in slots]
    heads = [slot for slot in slots if links[slot][0] == holding]
    heads += [slot for slot in slots if links[slot][0] not in ends]
    for head in heads:
        waiting, chain = [slot for slot in slots if slot != head], [head]
        while waiting:
            end = links[chain[-1]][1]
            following = next((slot for slot in waiting if links[slot][0] == end), None)
            if following is None:
                break
            waiting.remove(following)
            chain.append(following)
        if not waiting:
            return chain
    return slots

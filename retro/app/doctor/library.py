"""Is the library whole and indexed: counts, layers, vectors, edges of nothing, the archive, how long searches take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.app.doctor.origin import is_ours
from retro.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.library.stats import LibraryStats
    from memory.library.steps import LayerFlow
    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "library", "without_index"]


_MANY: Final = 200_000
"""Items from which one might look for an index of the database's own."""


def library(house: Installation) -> Iterator[Check]:
    """Every library, agent by agent; one that holds nothing is not spoken of."""
    if house.store is None or not is_ours("memory"):
        return
    from memory.library.models.finance import MODEL  # noqa: PLC0415  only now it is known to be ours
    from memory.library.models.minilm import PLAIN, is_installed  # noqa: PLC0415  as above
    from memory.library.stats import library_stats  # noqa: PLC0415  as above
    from memory.library.steps import layer_flow  # noqa: PLC0415  as above

    with house.store.read() as conn:
        libraries = [size for size in library_stats(conn) if size.items or size.forgotten]
        flows = {size.agent: layer_flow(conn, size.agent or "") for size in libraries}
    for size in libraries:
        yield from _one(size)
        named = house.config.memory.model
        if {size.model, named} == {MODEL, PLAIN}:
            yield note(
                "library",
                f"{size.agent or 'everybody'}: indexed by {size.model}, not by {named}: words alone are compared;"
                " `retro library reindex` embeds anew",
            )
        if house.store.dialect == "postgresql":
            yield from without_index(size)
        if flows[size.agent].steps:
            yield _flow(size.agent or "everybody", flows[size.agent])
    if libraries and not is_installed():
        yield note(
            "library",
            f"{PLAIN} is not installed: words alone are compared; pip install 'slow-mirror[library]'",
        )


def _one(size: LibraryStats) -> Iterator[Check]:
    whose = size.agent or "everybody"
    for problem in size.problems:
        yield broken("library", f"{whose}: {problem}")
    if size.building is not None:
        yield note("library", f"{whose}: {size.building} is half built; `retro library reindex` goes on")
    elif size.unindexed:
        items = count(size.unindexed, "item")
        yield note("library", f"{whose}: {items} found by words alone; `retro library reindex` embeds them")
    layers = "".join(f", {number:,} {name}" for name, number in size.layers.items())
    importance = "" if size.mean_importance is None else f", mean importance {size.mean_importance:.1f}"
    latency = "" if size.latency_ms is None else f", searches take {size.latency_ms:.0f} ms"
    yield ok(
        "library",
        f"{whose}: {count(size.items, 'item')} in {count(len(size.collections), 'collection')}{layers}{importance}, by"
        f" {size.model}, {size.archive.items:,} archived in {size.archive.bytes:,} bytes{latency}",
    )


def without_index(size: LibraryStats) -> Iterator[Check]:
    """Why a large library on PostgreSQL is not searched by pgvector, whether it is installed or not."""
    if size.items > _MANY:
        yield note(
            "library",
            f"{size.agent or 'everybody'}: {count(size.items, 'item')}; pgvector is not used: searched exactly it reads"
            " every vector too, and takes longer than this process does",
        )


def _flow(whose: str, flow: LayerFlow) -> Check:
    """How much moves between the layers, by the step."""
    up, down, cleaned = flow.up_per_step or 0.0, flow.down_per_step or 0.0, flow.cleaned_per_step or 0.0
    return ok(
        "library",
        f"{whose}: {count(flow.steps, 'step')} of its layers; in one {up:.2f} items rise, {down:.2f} fall,"
        f" {cleaned:.2f} are cleaned up",
    )


CHECKS: Final = (Examination("library", library, reads_all=True),)
"""In the order in which they are told."""

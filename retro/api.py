"""The mirror for Python: `retro.open(url)`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from retro.pipeline import shelf
from retro.store.engine import open_store

if TYPE_CHECKING:
    from retro.store.engine import Store

__all__ = ["Mirror", "open_mirror"]


def open_mirror(url: str) -> Mirror:
    """Open the database at a path or URL; it is made when it is not there."""
    return Mirror(open_store(url))


class Mirror:
    """An open database, with the questions an agent or its owner asks of it. A context manager; `close` ends it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def reviews(self, agent: str | None = None) -> list[dict[str, Any]]:
        """Every review that is owed or made, as `retro reviews --json` prints them."""
        return shelf.rows(self.store, agent)

    def review(self, id: str) -> dict[str, Any]:  # noqa: A002  the field's name
        """A stored review, as `retro show ID --format json` prints it; `ID@1` names a revision."""
        document: dict[str, Any] = json.loads(shelf.stored(self.store, id).text)
        return document

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

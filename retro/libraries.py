"""The library for Python: what is known in words, found by meaning."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from retro.app.questions.experience import stated_instant
from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from retro.app.questions.experience import Experience

__all__ = ["LibraryAnswers"]


class LibraryAnswers:
    """The library, under the names of the tools of `retro mcp`. `agent` None sees everybody's."""

    experience: Experience

    def search_library(
        self,
        text: str,
        agent: str | None = None,
        *,
        collection: str | None = None,
        symbol: str | None = None,
        layer: str | None = None,
        where: Sequence[str] = (),
        since: str | datetime | None = None,
        as_of: str | datetime | None = None,
        min_score: float | None = None,
        min_confidence: float | None = None,
        archived: bool = False,
        k: int = 5,
    ) -> list[dict[str, Any]]:
        """The k items nearest in meaning, as `retro library search --json` prints them."""
        from retro.app.questions.library.items import LibrarySearch, search_items  # noqa: PLC0415  loaded by who asks

        asked = LibrarySearch(
            text=text,
            agent=agent,
            collection=collection,
            symbol=symbol,
            layer=layer,
            where=where,
            since=stated_instant(since),
            as_of=stated_instant(as_of),
            min_score=min_score,
            min_confidence=min_confidence,
            archived=archived,
            k=k,
        )
        return search_items(self.experience, asked, now=time.time_ns() // 1000).list_document()

    def add_to_library(self, items: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Keep one text or several; the document that `retro library add --json` prints. Idempotent by (agent, id)."""
        from retro.app.experience.imports import ImportResult  # noqa: PLC0415  as above
        from retro.app.questions.library.items import add_items  # noqa: PLC0415  as above

        batch = [items] if isinstance(items, Mapping) else items
        return ImportResult(
            "-", add_items(self.experience, batch, not_after=time.time_ns() // 1000 + DAY)
        ).document()

    def get_lineage(self, id: str, agent: str | None = None) -> dict[str, Any]:  # noqa: A002  the field's name
        """What an item rests on and what rests on it, as `retro library lineage --json` prints it."""
        from retro.app.questions.document import document_of  # noqa: PLC0415  as above
        from retro.app.questions.library.items import item_lineage  # noqa: PLC0415  as above

        return document_of(item_lineage(self.experience, agent, id, now=time.time_ns() // 1000))

    def list_strategies(self, agent: str | None = None, status: str | None = None) -> list[dict[str, Any]]:
        """The strategies in the library, newest first, each version an item of its own."""
        from retro.app.questions.library.items import strategies  # noqa: PLC0415  as above

        return [view.document() for view in strategies(self.experience, agent, status)]

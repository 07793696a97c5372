"""Tools about the library: what is known in words, where it comes from; and telling it of more."""

from __future__ import annotations

from typing import Annotated, Final

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from retro.app.questions.document import document_of
from retro.app.questions.library import items
from retro.periods import DAY
from retro.surface.mcp.size import brief, fitted, page
from retro.surface.mcp.subjects.parameters import (
    Agent,
    AsOf,
    Cursor,
    Desk,
    Detail,
    Document,
    clock,
    instant_of,
)

__all__ = ["LibraryTools"]

_SHORT: Final = ("id", "score", "layer", "collection", "symbol", "at", "text", "metadata", "archived")


class LibraryTools(Desk):
    """An agent's own library and the shared one; a caller that is bound to no agent sees all of them."""

    def search_library(
        self,
        text: Annotated[str, Field(description="what is looked for, in any words: it is found by meaning")],
        agent: Agent = None,
        collection: Annotated[
            str | None, Field(description="such as research_findings, lessons_learned, strategy_library")
        ] = None,
        symbol: str | None = None,
        layer: Annotated[str | None, Field(description="short, mid, long or reflection")] = None,
        where: Annotated[
            list[str], Field(description="conditions on metadata: KEY=VALUE, also != < <= > >=")
        ] = [],  # noqa: B006  it is read only, and stands in the schema as what it is
        since: Annotated[str | None, Field(description="RFC 3339 time; nothing older")] = None,
        as_of: AsOf = None,
        min_score: float | None = None,
        min_confidence: Annotated[float | None, Field(description="0 to 1", ge=0, le=1)] = None,
        archived: Annotated[bool, Field(description="what lies in the archive too")] = False,
        k: Annotated[int, Field(description="how many", ge=1, le=1000)] = 5,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """Texts that mean something like this, best first: research, lessons, strategies, regimes, reflections."""
        asked = items.LibrarySearch(
            text=text,
            agent=None if agent is None else self.experience.agent(agent),
            collection=collection,
            symbol=symbol,
            layer=layer,
            where=where,
            since=instant_of(since, "since"),
            as_of=instant_of(as_of),
            min_score=min_score,
            min_confidence=min_confidence,
            archived=archived,
            k=k,
        )
        answer = items.search_items(self.experience, asked, now=clock())
        documents, beside = answer.list_document(), {"model": answer.model, "note": answer.note}
        return (
            {"items": documents, **beside}
            if detail
            else page("items", documents, cursor, beside, _item_in_brief)
        )

    def add_to_library(
        self,
        id: Annotated[str, Field(description="unique for the agent; telling it again changes nothing")],  # noqa: A002  the field's name
        agent: str,
        at: Annotated[str, Field(description="RFC 3339: when it was known")],
        text: Annotated[str, Field(description="at most 64 KiB")],
        collection: Annotated[str, Field(description="where it belongs; a new name makes a new collection")],
        symbol: str | None = None,
        layer: Annotated[str | None, Field(description="short, mid, long or reflection")] = None,
        importance: Annotated[float | None, Field(description="0 or above, 50 is usual")] = None,
        metadata: Annotated[Document, Field(description="text, numbers, true or false, lists of them")] = {},  # noqa: B006  as above
        parents: Annotated[list[str], Field(description="ids of what it rests on")] = [],  # noqa: B006  as above
        version_of: Annotated[str | None, Field(description="id of the item it is a new version of")] = None,
        session: str | None = None,
        confidence: Annotated[float | None, Field(description="0 to 1")] = None,
        status: Annotated[
            str | None, Field(description="of a strategy: draft, tested, approved, deprecated")
        ] = None,
    ) -> Document:
        """Keep a text: a finding, a lesson, a strategy. Idempotent by (agent, id); another content is refused."""
        item = {name: value for name, value in locals().items() if name != "self" and value is not None}
        done = items.add_items(self.experience, [item], not_after=clock() + DAY)
        for fault in done.faults:
            raise ToolError(fault.reason)
        for conflict in done.conflicts:
            raise ToolError(f"{conflict.id}: {conflict.reason}")
        return {"stored": done.stored, "unchanged": done.unchanged}

    def get_lineage(
        self,
        id: Annotated[str, Field(description="the item's id")],  # noqa: A002  as above
        agent: Agent = None,
        detail: Detail = False,
    ) -> Document:
        """What an item rests on, over any number of generations, and what rests on it."""
        document = document_of(items.item_lineage(self.experience, agent, id, now=clock()))
        if detail:
            return document
        totals = {name: len(document[name]) for name in ("ancestors", "descendants", "roots")}
        return fitted(lambda most, characters: brief(document, most, characters) | {"totals": totals})

    def list_strategies(
        self,
        agent: Agent = None,
        status: Annotated[str | None, Field(description="draft, tested, approved or deprecated")] = None,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """The strategies in the library, newest first, each version an item of its own."""
        documents = [view.document() for view in items.strategies(self.experience, agent, status)]
        return {"strategies": documents} if detail else page("strategies", documents, cursor)


def _item_in_brief(document: Document) -> Document:
    """An item without the parts of its score."""
    return {name: document[name] for name in _SHORT}

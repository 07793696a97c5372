"""Tools that list: what is stored, as much of it as an answer holds."""

from __future__ import annotations

import time
from typing import Annotated, Final

from pydantic import Field

from retro.app.questions import agents, positions, reviews
from retro.app.questions.bounds import ListBounds
from retro.app.questions.experience import facts_and_settings
from retro.app.questions.lists.filters import POSITIONS, REVIEWS, owner_selection
from retro.surface.mcp.items import position_item, review_item
from retro.surface.mcp.size import page
from retro.surface.mcp.subjects.parameters import Agent, Cursor, Desk, Detail, Document

__all__ = ["ListTools"]

_FITTING: Final = 64
"""Rows of which no answer of 4 KB holds more."""
Where = Annotated[
    str, Field(description="only these: 'eth pnl<0 held>1d rule:H-7 -open', 'kind:weekly state:parked'")
]


class ListTools(Desk):
    """The lists of an agent, of reviews also of all."""

    def list_positions(
        self,
        agent: Agent = None,
        where: Where = "",
        after: Annotated[str | None, Field(description="a position's id: those that follow it")] = None,
        limit: Annotated[int, Field(description="at most so many", ge=1, le=1000)] = 100,
        detail: Annotated[bool, Field(description="all of `limit`; default: at most 4 KB")] = False,
    ) -> Document:
        """An agent's positions, the newest first: result, against doing nothing, peak, deepest loss, regret.

        `next` in an answer is the `after` of what follows.
        """
        record, settings = facts_and_settings(self.experience, self.experience.agent(agent))
        store = self.experience.store
        bounds = ListBounds(limit if detail else min(limit, _FITTING), after, newest=True)
        selection = owner_selection(self.experience.config, where, POSITIONS)
        part = positions.positions(store, record, settings, bounds, selection)
        documents = [
            row.document() | {"mfe": row.mfe, "mae": row.mae, "regret": row.regret} for row in part.rows
        ]
        total = positions.count_positions(store, record, selection)
        answer: Document = {"positions": documents, "total": total}
        following = part.next
        if not detail:
            answer = page("positions", documents, 0, {"total": total}, position_item)
            following = part.rows[answer["next"] - 1].name if "next" in answer else part.next
        return {**answer, "next": following} if following is not None else answer

    def list_reviews(
        self,
        agent: Agent = None,
        state: Annotated[str | None, Field(description="only those due, done, parked ...")] = None,
        where: Where = "",
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """The reviews that are owed or made, the newest first; of every agent unless one is named."""
        everybodys = agent is None and self.experience.only is None
        name = None if everybodys else self.experience.agent(agent)
        bounds = ListBounds(None if detail else cursor + _FITTING, newest=True)
        selection = owner_selection(self.experience.config, where, REVIEWS)
        question = reviews.ReviewsQuestion(name, state, bounds, selection)
        rows = reviews.every_review(self.experience.store, question)
        documents = [reviews.overview_of(review).document() for review in rows]
        silent = {} if name is None else self._silence(name)
        if detail:
            return {"reviews": documents, **silent}
        total = reviews.count_reviews(self.experience.store, question)
        return page("reviews", documents, cursor, {"total": total, **silent}, review_item)

    def _silence(self, agent: str) -> dict[str, str]:
        """Since when an agent is silent that gets no reviews any more; nothing of one that is awake."""
        known = self.experience
        since = agents.silent_since_of(known.store, known.config, agent, time.time_ns() // 1000)
        return {} if since is None else {"silent_since": since}

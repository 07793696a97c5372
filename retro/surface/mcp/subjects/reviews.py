"""Tools about reviews, and about what the rules they judge have made."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field

from retro.app.questions import audit, reviews
from retro.surface.mcp.items import rule_item
from retro.surface.mcp.review import review_in_brief, without_paths
from retro.surface.mcp.size import page
from retro.surface.mcp.subjects.parameters import Agent, AsOf, Cursor, Desk, Detail, Document, instant_of

__all__ = ["ReviewTools"]


class ReviewTools(Desk):
    """The reviews of an agent, or of all."""

    def get_review(
        self,
        id: Annotated[str, Field(description="as list_reviews gives it; ID@1 for a revision")],  # noqa: A002  the field's name
        agent: Annotated[str | None, Field(description="only if it is this agent's")] = None,
        detail: Detail = False,
        paths: Annotated[bool, Field(description="with detail: also the paths that its page draws")] = False,
    ) -> Document:
        """One review: figures, the positions and heuristics that matter most, words; with detail as it was written."""
        owner = self.experience.only if agent is None else agent
        stored = reviews.stored(self.experience.store, id, owner)
        if not detail:
            return {"review": review_in_brief(stored.document)}
        document = json.loads(stored.text)
        return {"review": document if paths else without_paths(document)}

    def playbook_audit(
        self,
        agent: Agent = None,
        as_of: AsOf = None,
        history: Annotated[bool, Field(description="with every complete week of each rule")] = False,
        where: Annotated[str, Field(description="only these, e.g. 'verdict:demote n>=10'")] = "",
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """What citing each rule made over the whole life, and the odds for or against it that hold at every look."""
        named, at = self.experience.agent(agent), instant_of(as_of)
        rules = audit.narrowed_audit_document(self.experience, where, agent=named, as_of=at, history=history)
        return {"rules": rules} if detail else page("rules", rules, cursor, shorten=rule_item)

    def playbook_ripening(
        self, agent: Agent = None, as_of: AsOf = None, cursor: Cursor = 0, detail: Detail = False
    ) -> Document:
        """How many weeks until each rule can be judged, and whether one has stopped working."""
        documents = audit.ripening_document(self.experience, self.question(agent, as_of))
        return {"rules": documents} if detail else page("rules", documents, cursor)

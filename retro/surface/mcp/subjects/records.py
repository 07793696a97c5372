"""Tools about the records on file: experiments and hypotheses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from retro.app.questions import records
from retro.app.questions.brief import prompt_brief
from retro.surface.mcp.items import experiment_item, hypothesis_item
from retro.surface.mcp.size import brief, page
from retro.surface.mcp.subjects.parameters import (
    ONLY,
    Agent,
    AsOf,
    Cursor,
    Desk,
    Detail,
    Document,
    instant_of,
)

if TYPE_CHECKING:
    from memory.records import Trouble

__all__ = ["RecordTools"]

_PROMPT: Final = 1200
"""Characters of the prompt section beside the experiments themselves."""


class RecordTools(Desk):
    """The records of an agent."""

    def list_hypotheses(
        self,
        status: Annotated[
            str | None, Field(description="untested, validated, refuted or inconclusive; default: all")
        ] = None,
        agent: Agent = None,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """What is still open for an agent, and what was settled by which experiments."""
        question = self._records_question(agent)
        history = records.hypotheses(self.experience.config.memory.directory, question, status)
        hypotheses, damaged = list(history.hypotheses.records), _damaged(history.hypotheses.troubles)
        if detail:
            return {"hypotheses": hypotheses, "damaged": damaged}
        beside = {"damaged": brief(damaged, 3, 160)}
        return page("hypotheses", hypotheses, cursor, beside, hypothesis_item)

    def experiment_history(
        self,
        n: Annotated[int, Field(description="how many of the newest", ge=0, le=1000)] = 15,
        as_of: AsOf = None,
        agent: Agent = None,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """An agent's newest experiments, and the section for its next prompt: rules, lessons, drawdown, what is open."""
        at = instant_of(as_of)
        history = records.experiment_history(
            self.experience.config.memory.directory, self._records_question(agent, n, at)
        )
        experiments, damaged = list(history.records), _damaged(history.troubles)
        if detail:
            return {"experiments": experiments, "prompt": history.prompt(), "damaged": damaged}
        beside: Document = {"damaged": brief(damaged, 3, 160)}
        if not cursor:
            beside["prompt"] = prompt_brief(history, self.experience, as_of=at, longest=_PROMPT)
        return page("experiments", experiments, cursor, beside, experiment_item)

    def _records_question(
        self, agent: str | None, n: int | None = None, as_of: int | None = None
    ) -> records.RecordsQuestion:
        mine = self.experience.only
        everybody = self._experience.agents()
        names = everybody if mine is None else [*everybody, mine]
        return records.RecordsQuestion(agent=agent or mine, known=names, n=n, as_of=as_of)


def _damaged(troubles: tuple[Trouble, ...]) -> list[Document]:
    """The files that cannot be read; a session that is bound to an agent is told how many, for whose they are is unknown."""
    if ONLY.get() is None:
        return [{"file": trouble.path, "reason": trouble.reason} for trouble in troubles]
    if not troubles:
        return []
    return [{"reason": f"{len(troubles)} of all agents' records cannot be read; the owner is told which"}]

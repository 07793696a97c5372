"""From facts and reviews to memory: an episode for every resolved decision, amended by the reviews that judged it.

Written in the transaction that finishes a review. What the agent told of an episode itself stands as it told it; a
review adds what is missing and amends what it judged. The memory is an enhancement: when it is damaged, or another
package has its name, the review is finished without it and the log says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from retro.app.context import Consequence
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from memory.records import Trouble
    from retro.app.experience.writer import Learned
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.report.document import Document
    from retro.store.facts.agents import Agent
    from retro.store.jobs.reviews import Review

__all__ = ["damaged_records", "learning", "remember_review"]


def learning(
    config: Config, settings_for: Callable[[Agent], AgentSettings], log: Callable[..., None]
) -> Consequence:
    """What the memory does when a review is finished, as the service calls it."""

    def learn(conn: Connection, review: Review, document: Document) -> None:
        agent = agents.existing_agent(conn, review.agent)
        learned = remember_review(conn, review, document, settings_for(agent), config)
        if isinstance(learned, str):
            log("not_remembered", level="warning", review=review.id, reason=learned)
        elif learned.faults:
            log("partly_remembered", level="warning", review=review.id, reasons=list(learned.faults))

    return Consequence("learning", learn)


def remember_review(
    conn: Connection, review: Review, document: Document, settings: AgentSettings, config: Config
) -> Learned | str:
    """Tell the memory of everything a review judged, in the caller's transaction: all of it, or nothing and why.

    Doing so again changes nothing. Only a database that fails is raised.
    """
    try:
        from retro.app.experience.writer import write_review  # noqa: PLC0415  another package may have the memory's name

        with conn.begin_nested():
            return write_review(conn, review, document, settings, config)
    except DBAPIError:
        raise
    except Exception as error:  # noqa: BLE001  a review is worth more than its memory; the log tells of it
        return f"{type(error).__name__}: {error}"


def damaged_records(config: Config) -> tuple[Trouble, ...]:
    """The YAML files a person has to look at; none when records are off."""
    from memory.records import read_experiments, read_hypotheses  # noqa: PLC0415  files of YAML need it alone

    if not config.memory.records:
        return ()
    where = config.memory.directory
    return (*read_experiments(where).troubles, *read_hypotheses(where).troubles)

"""The lists of the mirror for Python: what is stored, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.questions import reviews
from retro.app.questions.bounds import ListBounds, rows_of

if TYPE_CHECKING:
    from retro.app.questions.experience import Experience
    from retro.store.database import Store

__all__ = ["Lists"]


class Lists:
    """What is stored, in lists: `after` names the row that ended the one before, `limit` says how many (None: all).

    `newest` turns the order round. `where` is what stands after `--where` on the command line, `sort` after `--sort`
    (docs/screens.md); `FilterError` names the word that makes no sense.
    """

    store: Store
    experience: Experience

    def reviews(
        self,
        agent: str | None = None,
        *,
        state: str | None = None,
        where: str = "",
        limit: int | None = None,
        after: str | None = None,
        newest: bool = False,
    ) -> list[dict[str, Any]]:
        """Reviews that are owed or made, as `retro reviews --json` prints them; `after` is a review's id."""
        from retro.app.questions.lists.filters import REVIEWS, owner_selection  # noqa: PLC0415  as below

        selection = owner_selection(self.experience.config, where, REVIEWS)
        question = reviews.ReviewsQuestion(agent, state, ListBounds(limit, after, newest), selection)
        return [
            reviews.overview_of(review).document() for review in reviews.every_review(self.store, question)
        ]

    list_reviews = reviews

    def positions(
        self,
        agent: str | None = None,
        *,
        where: str = "",
        sort: str = "",
        limit: int | None = None,
        after: str | None = None,
        newest: bool = False,
    ) -> list[dict[str, Any]]:
        """An agent's positions, as `retro positions --json` prints them; `after` is a position's id."""
        from retro.app.questions import positions  # noqa: PLC0415  the book is loaded by who asks for it
        from retro.app.questions.experience import facts_and_settings  # noqa: PLC0415  as above
        from retro.app.questions.lists.filters import POSITIONS, owner_selection  # noqa: PLC0415  as above

        record, settings = facts_and_settings(self.experience, self.experience.agent(agent))
        selection = owner_selection(self.experience.config, where, POSITIONS, sort)
        bounds = ListBounds(limit, after, newest)
        rows = rows_of(
            lambda part: positions.positions(self.store, record, settings, part, selection), bounds
        )
        return [row.document() for row in rows]

    def faults(
        self,
        agent: str | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        newest: bool = False,
    ) -> list[dict[str, Any]]:
        """What could not be used, as `retro faults --json` prints it; `after` is how the line under a list names it."""
        from retro.app.questions import faults  # noqa: PLC0415  as above

        rows = faults.every_fault(self.store, ListBounds(limit, after, newest), agent)
        return [faults.fault_document(row.fault) for row in rows]

    def checks(
        self,
        agent: str | None = None,
        *,
        failing: bool = False,
        limit: int | None = None,
        after: str | None = None,
        newest: bool = False,
    ) -> list[dict[str, Any]]:
        """Figures that sources computed themselves beside ours, as `retro checks --json` prints them.

        Of every agent unless one is named; `failing`: only those that rounding does not explain. `after` is what the line
        under a list names.
        """
        from retro.app.questions.checks import rows as subject  # noqa: PLC0415  as above
        from retro.app.questions.experience import facts_and_settings  # noqa: PLC0415  as above

        named = None if agent is None else self.experience.agent(agent)
        names = [named] if named is not None else subject.agents_with_checks(self.store)
        both = [facts_and_settings(self.experience, name) for name in names]
        settings = {record.name: of_agent for record, of_agent in both}
        question = subject.ChecksQuestion(
            [record for record, _ in both], lambda record: settings[record.name], failing
        )
        rows = subject.every_check(self.store, question, ListBounds(limit, after, newest))
        return [row.document() for row in rows]

    def deliveries(
        self, *, limit: int | None = None, after: str | None = None, newest: bool = False
    ) -> list[dict[str, Any]]:
        """The messages to people, as `retro deliver --json` prints them; `after` is the id of one."""
        from retro.app.questions import deliveries  # noqa: PLC0415  as above

        rows = deliveries.every_delivery(self.store, ListBounds(limit, after, newest))
        return [deliveries.delivery_document(row) for row in rows]

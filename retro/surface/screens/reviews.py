"""The ledger, a review, and two of them. Nothing here computes, settles or writes."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from retro.app.questions import reviews as review_questions
from retro.app.questions.lists.filters import REVIEWS
from retro.present.formats import page_of
from retro.present.json_parts import data_as_json
from retro.present.links import command_of
from retro.present.page.screens.pages import differences_page, reviews_page
from retro.present.references import ReviewReference, ScreenReference
from retro.present.screen import ScreenPlace
from retro.safe import clean
from retro.surface.screens.answer import Answer
from retro.surface.screens.lens import (
    NEWEST,
    as_of_request,
    bounds_of_request,
    command_of_list,
    filter_form,
    is_from_the_end,
    paging,
    selection_of_request,
)
from retro.surface.screens.steps import earlier_of_kind, list_steps, review_steps

if TYPE_CHECKING:
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["difference", "review", "reviews"]


def reviews(house: House, request: Request) -> Answer:
    """The ledger, the newest first."""
    agent, state = request.query.get("agent"), request.query.get("state")
    selection = selection_of_request(house, request, REVIEWS)
    question = review_questions.ReviewsQuestion(agent, state, bounds_of_request(request), selection)
    part = review_questions.reviews(house.store, question)
    rows = [review_questions.overview_of(row) for row in part.rows]
    if is_from_the_end(request):
        rows.reverse()
    total = review_questions.count_reviews(house.store, question)
    whole = replace(question, selection=replace(selection, where=()))
    every = review_questions.count_reviews(house.store, whole) if selection.where else total
    return Answer(
        reviews_page(rows, total, agent, state, every=every),
        data_as_json([row.document() for row in rows]),
        command=command_of_list(request, "reviews", *_options(agent, state), "--newest"),
        steps=() if agent is None else list_steps(agent),
        filters=filter_form(request, REVIEWS),
        acts=tuple(act for row in rows if row.state == "parked" for act in _parked_acts(row.id)),
        rows=(
            review_questions.overview_of(row).document()
            for row in review_questions.every_review(house.store, replace(question, bounds=NEWEST))
        ),
        **paging("reviews", request, part.next, total),
    )


def _options(agent: str | None, state: str | None) -> list[str]:
    pairs = (("--agent", agent), ("--state", state))
    return [word for option, value in pairs if value is not None for word in (option, value)]


def _parked_acts(review: str) -> tuple[tuple[str, str, str], ...]:
    return (f"Retry {review}", "retry", review), (f"Skip {review}", "skip", review)


def review(house: House, request: Request) -> Answer:
    """A review exactly as it was written."""
    (name,) = request.names
    stored = review_questions.stored(house.store, name, as_of=as_of_request(house, request))
    currency = house.currency(stored.review.agent)
    crumbs = (
        ScreenPlace("Reviews", ScreenReference("reviews", (("agent", stored.review.agent),))),
        ScreenPlace(name, ReviewReference(name), current=True),
    )
    return Answer(
        page_of(clean(stored.document), currency, stored.twins),
        stored.text,
        crumbs,
        command_of(ReviewReference(name)),
        steps=review_steps(house.store, stored),
        explains=name,
        acts=(("Send it again", "resend", stored.review.id),),
    )


def difference(house: House, request: Request) -> Answer:
    """What differs between two reviews; of one, since the one of its kind before it."""
    before, dots, after = request.names[0].partition("...")
    if not dots:
        before, after = earlier_of_kind(house.store, before), before
    as_of = as_of_request(house, request)
    earlier, later = (review_questions.stored(house.store, name, as_of=as_of) for name in (before, after))
    changes = review_questions.compare(earlier, later, house.currency(later.review.agent))
    document = [{"what": c.label, "before": c.before, "after": c.after} for c in changes]
    command = shlex.join(["retro", "diff", before, after])
    return Answer(
        differences_page(later.review.agent, before, after, changes), data_as_json(document), command=command
    )

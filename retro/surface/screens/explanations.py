"""Where a figure comes from: the screen behind each figure of a stored review."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from retro.app.questions.reviews import stored
from retro.app.questions.screens.explain import explain, figures_of
from retro.errors import UnknownError
from retro.present.json_parts import data_as_json
from retro.present.links import address_of, command_of
from retro.present.page.screens.explanation import figures_page, page_of_explanation
from retro.present.references import ExplanationReference, ReviewReference
from retro.present.screen import ScreenPlace
from retro.surface.screens.answer import Answer

if TYPE_CHECKING:
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["explanation"]


def explanation(house: House, request: Request) -> Answer:
    """One figure's definition, the figures beside it and the lines it rests on; without a name, which figures there are."""
    review, word = request.names
    if word != "explain":
        raise UnknownError("there is no such screen")
    figure = request.query.get("figure", "")
    place = ExplanationReference(review, figure)
    crumbs = (
        ScreenPlace(review, ReviewReference(review)),
        ScreenPlace(figure or "Figures", place, current=True),
    )
    if not figure:
        figures = figures_of(stored(house.store, review).document)
        document = data_as_json([asdict(row) for row in figures])
        return Answer(figures_page(review, figures), document, crumbs, command_of(place))
    answered = explain(house.store, review, figure, after=request.query.get("after"))
    later, following = "", answered.next
    if following is not None:
        later = f"{address_of(place)}&{urlencode({'after': following})}"
    earlier = address_of(place) if "after" in request.query else ""
    return Answer(
        page_of_explanation(answered, house.currency(stored(house.store, review).review.agent)),
        data_as_json(answered.document()),
        crumbs,
        command_of(place),
        later=later,
        earlier=earlier,
    )

"""Where a day begins: what came in, and what will be known when. Nothing here computes, settles or writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.questions.screens.ripening import RipeningQuestion
from retro.app.questions.screens.ripening import ripening as ripening_of
from retro.app.questions.screens.today import TodayQuestion
from retro.app.questions.screens.today import today as today_of
from retro.periods import SECOND
from retro.present.json_parts import data_as_json
from retro.present.links import command_of
from retro.present.page.screens.ripening import ripening_page
from retro.present.page.screens.today import page_of_today
from retro.present.references import ScreenReference
from retro.report.form import dump
from retro.safe import clean
from retro.surface.screens.answer import Answer
from retro.surface.screens.lens import as_of_request, now_of_request

if TYPE_CHECKING:
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["ripening", "today"]


def today(house: House, request: Request) -> Answer:
    """The page of the morning, of all agents or of one."""
    question = TodayQuestion(now_of_request(house, request), request.query.get("agent"))
    report = clean(today_of(house.store, house.config, house.settings_for, question))
    looks_back = as_of_request(house, request) is not None
    minute = question.now - question.now % (
        60 * SECOND
    )  # by the minute, so that an unchanged page is the same bytes
    acts = () if looks_back else (("Mark as seen", "seen", f"{minute}.{report.digest}"),)
    return Answer(
        page_of_today(report),
        dump(report),
        command=command_of(ScreenReference("today")),
        acts=acts,
    )


def ripening(house: House, request: Request) -> Answer:
    """When what will be known, and why nobody can say of the others."""
    question = RipeningQuestion(now_of_request(house, request), request.query.get("agent"))
    rows = ripening_of(house.store, house.config, question)
    document = data_as_json([row.model_dump(mode="json") for row in rows])
    return Answer(ripening_page(rows), document, command=command_of(ScreenReference("ripening")))

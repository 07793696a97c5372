"""Positions, and each of them: its review as it was made, a part of its path, other lives beside it. Nothing here computes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

from retro.app.questions import positions as position_questions
from retro.app.questions import reviews as review_questions
from retro.app.questions.bounds import rows_of
from retro.app.questions.experience import Experience
from retro.app.questions.lists.filters import POSITIONS
from retro.app.questions.screens.kin import kin_of
from retro.app.questions.screens.prices import price_track
from retro.errors import UnknownError, UsageError
from retro.figures import seconds_between
from retro.kinds import POSITION
from retro.periods import format_instant, parse_instant
from retro.present.formats import page_of
from retro.present.json_parts import data_as_json
from retro.present.links import command_of
from retro.present.page.screens.lives import Alignment, Comparison, beside, with_price, with_views
from retro.present.page.screens.pages import choice_page, positions_page, unreviewed_page
from retro.present.references import AgentReference, PositionReference, ScreenReference
from retro.present.screen import ScreenPlace
from retro.report import PositionRetrospective
from retro.safe import clean
from retro.store.conditions import Selection
from retro.store.facts.agents import agents as known_agents
from retro.surface.screens.answer import Answer
from retro.surface.screens.catalogue import MOST_BESIDE
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
from retro.surface.screens.steps import life_steps, list_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.app.questions.bounds import ListBounds, ListPart
    from retro.app.questions.reviews import Stored
    from retro.report.overviews import PositionOverview
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["position", "positions"]


def positions(house: House, request: Request) -> Answer:
    """An agent's positions as the book has them now, the newest first."""
    name = request.query.get("agent")
    if name is None:
        with house.store.read() as conn:
            names = [known.name for known in known_agents(conn)]
        if len(names) != 1:
            return Answer(choice_page("Positions", "positions", names), data_as_json(names))
    record = house.agent(name)
    settings = house.settings_for(record)
    bounds = bounds_of_request(request)
    selection = selection_of_request(house, request, POSITIONS)
    part, behind = position_questions.stored_positions(house.store, record, settings, bounds, selection)
    rows = part.rows[::-1] if is_from_the_end(request) else part.rows
    total = position_questions.count_positions(house.store, record, selection)
    whole = Selection(as_of=selection.as_of)
    every = position_questions.count_positions(house.store, record, whole) if selection.where else total
    made = position_questions.closed_money(
        house.store, record, settings.base_currency, replace(selection, sort=None)
    )
    return Answer(
        positions_page(
            rows,
            total,
            record.name,
            settings.base_currency,
            behind=behind is not None,
            facts=behind and behind.facts,
            every=every,
            made=made,
        ),
        data_as_json([row.document() for row in rows]),
        (
            ScreenPlace(record.name, AgentReference(record.name)),
            ScreenPlace("Positions", ScreenReference("positions"), current=True),
        ),
        command_of_list(request, "positions", "--agent", record.name, "--newest"),
        steps=list_steps(record.name),
        filters=filter_form(request, POSITIONS),
        rows=(row.document() for row in rows_of(_reader(house, record, selection), NEWEST)),
        **paging("positions", request, part.next, total),
    )


def _reader(
    house: House, record: Agent, selection: Selection
) -> Callable[[ListBounds], ListPart[PositionOverview]]:
    settings = house.settings_for(record)
    return lambda bounds: position_questions.stored_positions(
        house.store, record, settings, bounds, selection
    )[0]


def position(house: House, request: Request) -> Answer:
    """The review of a position as it was made; before it is, what the book knows of it."""
    owner, name = request.names
    record = house.agent(owner)
    crumbs = (
        ScreenPlace(owner, AgentReference(owner)),
        ScreenPlace("Positions", ScreenReference("positions", (("agent", owner),))),
        ScreenPlace(name, PositionReference(owner, name), current=True),
    )
    command = command_of(PositionReference(owner, name))
    currency = house.currency(owner)
    as_of = as_of_request(house, request)
    try:
        stored = _stored(house.store, owner, name, as_of)
    except UnknownError:
        row = position_questions.stored_position(house.store, record, name, as_of)
        kin = clean(kin_of(Experience(house.store, house.config), row, as_of)) if row.open else None
        document = row.document() | ({} if kin is None else {"kin": kin.model_dump(mode="json")})
        return Answer(unreviewed_page(row, currency, kin), data_as_json(document), crumbs, command)
    review = _life(stored)
    track = price_track(house.store, currency, review, as_of or house.clock())
    life = clean(review)
    page = with_price(page_of(life, currency, stored.twins), life, track)
    page = with_views(page, life, _window(life, request))
    if names := request.every("with"):
        page = beside(page, life, _comparison(house, owner, names, request))
    return Answer(
        page,
        stored.text,
        crumbs,
        command,
        steps=life_steps(life, stored.review.id),
        explains=stored.review.id,
    )


def _stored(store: Store, agent: str, position_id: str, as_of: int | None) -> Stored:
    return review_questions.stored(store, f"{agent}.{POSITION.name}.{position_id}", agent, as_of=as_of)


def _life(stored: Stored) -> PositionRetrospective:
    if not isinstance(stored.document, PositionRetrospective):
        raise UnknownError("that is no review of a position")
    return stored.document


def _window(life: PositionRetrospective, request: Request) -> tuple[float, float] | None:
    """The part between `from` and `to` in seconds since the entry, within the life; None: the whole of it."""
    if len(life.path) < 2 or not {"from", "to"} & request.query.keys():
        return None
    whole = seconds_between(life.entry_at, life.path[-1].at)
    start, end = 0.0, whole
    try:
        if "from" in request.query:
            start = _offset(life, request.query["from"])
        if "to" in request.query:
            end = _offset(life, request.query["to"])
    except ValueError as error:
        raise UsageError(f"from and to are instants: {error}") from error
    start, end = max(start, 0.0), min(end, whole)
    if start >= end:
        raise UsageError("from has to lie before to, and both within the position's life")
    return start, end


def _offset(life: PositionRetrospective, instant: str) -> float:
    return seconds_between(life.entry_at, format_instant(parse_instant(instant)))


def _comparison(house: House, agent: str, names: tuple[str, ...], request: Request) -> Comparison:
    align = request.query.get("align") or "entry"
    if align not in get_args(Alignment):
        raise UsageError(f"align is one of {', '.join(get_args(Alignment))}")
    as_of = as_of_request(house, request)
    lives, absent = [], []
    for name in dict.fromkeys(names):
        if name == request.names[1]:
            continue
        try:
            lives.append(clean(_life(_stored(house.store, agent, name, as_of))))
        except UnknownError:
            absent.append(name)
    if len(lives) > MOST_BESIDE:
        raise UsageError(f"at most {MOST_BESIDE} lives are laid over one")
    return Comparison(lives, cast("Alignment", align), absent)

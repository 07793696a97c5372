"""The server of the screens: what a request asks for, in the format it asks for it, behind the guard."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import replace
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route, Router, request_response

from retro.app.questions.metrics import metrics
from retro.errors import FilterError, RetroError, UnknownError, UsageError
from retro.present.links import segment
from retro.present.markdown import markdown_of
from retro.present.openmetrics import openmetrics_of
from retro.present.page.blocks import absence_page, unreadable_page
from retro.present.references import ScreenReference
from retro.present.screen import STYLE_PREFIX, FilterForm, ScreenFrame, ScreenPlace, plain_page, screen_of
from retro.present.sheet import sheet_lines
from retro.present.text.page import text_of
from retro.safe import plain_text
from retro.surface.guard.access import Access, Keyring
from retro.surface.guard.guard import Guard, Limits
from retro.surface.screens.catalogue import SCREENS, answer
from retro.surface.screens.findings import RecentFindings
from retro.surface.screens.lens import instant_form
from retro.surface.screens.pulse import Pulse
from retro.surface.screens.routes import FORMATS, request_of
from retro.surface.screens.steps import KEYS
from retro.surface.web.acts import ACT, act_address, asked, done
from retro.surface.web.cache import PageCache
from retro.surface.web.last import LastAnswers
from retro.surface.web.replies import IMMUTABLE, TYPES, reply, streamed
from retro.surface.web.static import icon_address, script_addresses, static_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    from retro.surface.guard.session import BrowserSessions
    from retro.surface.screens.answer import Answer
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["HEALTH", "LINK", "METRICS", "PULSE", "application", "door"]

HEALTH: Final = "/healthz"
"""Says `ok`, to whoever asks, and nothing else."""
METRICS: Final = "/metrics"
"""Says in OpenMetrics what waits, who works and how old sources are, to whoever has the key."""
LINK: Final = "/in"
"""Where a link of `retro web` leads."""
PULSE: Final = "/-/pulse"
"""Where a page hears whether something has come in."""

_MENDED: Final = frozenset({"q", "sort", "as-of", "after", "before"})
"""What may be why a list cannot be asked, or says how far it was read."""
_LIVE: Final = frozenset({"today", "service"})
"""Screens that are drawn anew when something comes in: nobody loses his place there."""
_EXAMINATION: Final = "service"
_OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_READING: Final = frozenset({"GET", "HEAD"})
_LIMITS: Final = Limits(target=8 << 10, body=64 << 10, of_one=32, served_of_one=4)


def door(
    house: House,
    key: str,
    sessions: BrowserSessions,
    hosts: Iterable[str] = (),
    *,
    note: Callable[[str], None] | None = None,
) -> Guard:
    """The screens behind the guard: `key` for programs, links and cookies of `sessions` for browsers.

    `note` is told who did what; None: nothing can be done here, only read.
    """
    access = Access(
        Keyring({key: None}),
        frozenset(hosts),
        pages=True,
        sessions=sessions,
        keyless=frozenset({HEALTH, LINK}),
    )
    methods = _READING if note is None else _READING | {"POST"}
    return Guard(application(house, sessions, note), access, limits=_LIMITS, methods=methods)


def application(house: House, sessions: BrowserSessions, note: Callable[[str], None] | None = None) -> Router:
    """The routes: what is no file, link or health is a screen, read off the path as it was sent.

    Every answer is drawn in a thread of its own, but for a link: that it opens once is decided in one place. Screens are
    drawn one after the other: threads of one process would draw none of them sooner, and each would only read for longer,
    while on SQLite no commit ends. The examination takes no turn, for it may wait for others, such as a mail server.
    """
    house = replace(house, examine=RecentFindings(house.examine))

    def health(request: HttpRequest) -> Response:
        return _health(house, request)

    async def let_in(request: HttpRequest) -> Response:
        return _let_in(sessions, request)

    pulse, last = Pulse(house), LastAnswers()

    def hear(request: HttpRequest) -> Response:
        try:
            return reply(request, pulse.text())
        except RetroError as error:
            return _later(request, error)

    turn, cache = asyncio.Semaphore(), PageCache(house)

    async def screen(http: HttpRequest) -> Response:
        if http.method not in _READING:
            return reply(http, status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"allow": "GET, HEAD"})
        request = request_of(http.scope["raw_path"], http.scope["query_string"])
        if request is None:
            return _absent(http, HTTPStatus.NOT_FOUND, "There is no such screen.")
        if (page := cache.page(cache.place(request))) is not None:
            return reply(http, page, TYPES[request.format])
        async with contextlib.nullcontext() if request.screen == _EXAMINATION else turn:
            return await run_in_threadpool(
                _screen, house, cache, last, http, request, may_act=note is not None
            )

    def measured(request: HttpRequest) -> Response:
        return _metrics(house, request)

    routes = [
        Route(HEALTH, health),
        Route(METRICS, measured),
        Route(LINK, let_in),
        Route(PULSE, hear),
        Route(STYLE_PREFIX + "{name}", _static),
    ]
    return Router(
        routes if note is None else [*routes, *_acts(house, note)],
        redirect_slashes=False,
        default=request_response(screen),
    )


def _acts(house: House, note: Callable[[str], None]) -> list[Route]:
    def ask(request: HttpRequest) -> Response:
        return asked(request, _frame(""), request.scope["query_string"])

    async def do(request: HttpRequest) -> Response:
        body = await request.body()
        return await run_in_threadpool(done, house, request, body, note)

    return [Route(ACT, ask), Route(ACT, do, methods=["POST"])]


def _health(house: House, request: HttpRequest) -> Response:
    try:
        with house.store.read() as conn:
            conn.exec_driver_sql("SELECT 1")
    except RetroError:
        return reply(request, "not ok\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
    return reply(request, "ok\n")


def _let_in(sessions: BrowserSessions, request: HttpRequest) -> Response:
    """A link gives a cookie once; no address is built from what was asked."""
    token = parse_qs(request.scope["query_string"].decode("latin-1")).get("once", [""])[0]
    cookie = sessions.redeem(token)
    if cookie is None:
        why = "this link was used, or is too old; make one: retro web link\n"
        return reply(request, why, status=HTTPStatus.FORBIDDEN)
    headers = {"location": "/", "set-cookie": cookie}
    return reply(request, status=HTTPStatus.SEE_OTHER, headers=headers)


def _static(request: HttpRequest) -> Response:
    file = static_file(request.path_params["name"])
    if file is None:
        return reply(request, status=HTTPStatus.NOT_FOUND)
    return reply(request, file.content, file.type, kept=IMMUTABLE)


def _screen(
    house: House,
    cache: PageCache,
    last: LastAnswers,
    http: HttpRequest,
    request: Request,
    *,
    may_act: bool,
) -> Response:
    """A screen in the format its address asks for; what is not there says nothing of what was asked.

    A page that cannot be read now stands as it was read before, and says so; data that may be old is never given.
    """
    place = cache.place(request)
    try:
        answered = answer(house, request)
    except UnknownError:
        return _absent(http, HTTPStatus.NOT_FOUND, "There is no such screen, or nothing of that name.")
    except FilterError as error:
        return _unreadable(http, request, plain_text(str(error)))
    except UsageError:
        return _absent(http, HTTPStatus.BAD_REQUEST, "That cannot be asked here.")
    except RetroError as error:
        before = last.of(request, plain_text(str(error))) if request.format == "html" else None
        if before is None:
            return _later(http, error)
        frame = _frame_of(before, request)
        return reply(http, screen_of(plain_page(before.page), frame), TYPES["html"])
    if request.format == "html":
        last.keep(request, answered, house.clock())
    if request.format == "csv":
        if answered.rows is None:
            return _absent(http, HTTPStatus.NOT_FOUND, "That is no list.")
        return streamed(http, _sheet(answered.rows), TYPES["csv"])
    page = _drawn(house, answered, request, may_act=may_act)
    cache.keep(place, page)
    return reply(http, page, TYPES[request.format])


def _sheet(documents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A list as CSV; its columns are those of its first row."""
    rows = iter(documents)
    first = next(rows, None)
    if first is not None:
        yield from sheet_lines(list(first), (list(row.values()) for row in chain([first], rows)))


def _metrics(house: House, request: HttpRequest) -> Response:
    """What a monitoring system watches, to whoever has the key."""
    try:
        with house.store.read() as conn:
            families = metrics(conn, house.config, socket.gethostname(), house.clock())
    except RetroError as error:
        return _later(request, error)
    return reply(request, openmetrics_of(families), _OPENMETRICS)


def _absent(http: HttpRequest, status: HTTPStatus, why: str, commands: Sequence[str] = ()) -> Response:
    text = screen_of(absence_page("The slow mirror", why, commands), _frame(""))
    return reply(http, text, TYPES["html"], status)


def _unreadable(http: HttpRequest, request: Request, why: str) -> Response:
    """A filter or an instant that says nothing: which word it is, and the filter to mend it in."""
    words = tuple(pair for pair in request.pairs if pair[0] not in _MENDED)
    form = FilterForm(request.query["q"], "", (), words) if request.query.get("q") else None
    text = screen_of(unreadable_page(f"{why[:1].upper()}{why[1:]}."), replace(_frame(""), filters=form))
    return reply(http, text, TYPES["html"], HTTPStatus.BAD_REQUEST)


def _later(http: HttpRequest, error: RetroError) -> Response:
    """What cannot be read now, why, and what to do: a database that is held or gone, a playbook that is gone."""
    sentence = plain_text(str(error)).rstrip(".") + "."
    return _absent(
        http, HTTPStatus.SERVICE_UNAVAILABLE, f"{sentence[:1].upper()}{sentence[1:]}", ("retro doctor",)
    )


def _drawn(house: House, answered: Answer, request: Request, *, may_act: bool) -> str:
    if request.format == "json":
        return answered.document
    page = plain_page(answered.page)
    if request.format == "text":
        return text_of(page)
    if request.format == "md":
        return markdown_of(page)
    frame = replace(
        _frame_of(answered, request),
        past=instant_form(house, request),
        acts=tuple((title, act_address(verb, of)) for title, verb, of in answered.acts if may_act),
    )
    return screen_of(page, frame)


def _frame_of(answered: Answer, request: Request) -> ScreenFrame:
    """What a screen has around it, as far as no database is asked."""
    return replace(
        _frame(request.screen),
        crumbs=answered.crumbs,
        forms=_forms(request),
        command=answered.command,
        earlier=answered.earlier,
        later=answered.later,
        steps=answered.steps,
        live=request.screen in _LIVE,
        beside=request.screen == "p",
        filters=answered.filters,
        question=answered.question,
        explains=answered.explains,
    )


def _frame(current: str) -> ScreenFrame:
    """What every screen has around it."""
    return ScreenFrame(_ways(current), scripts=script_addresses(), icon=icon_address(), keys=KEYS)


def _ways(current: str) -> tuple[ScreenPlace, ...]:
    return tuple(
        ScreenPlace(screen.title, ScreenReference(screen.name), screen.name == current, screen.key)
        for screen in SCREENS
        if screen.listed
    )


def _forms(request: Request) -> tuple[tuple[str, str], ...]:
    """The same figures in other formats: the address with another end."""
    path = "/" + "/".join(map(segment, (request.screen, *request.names)))
    query = f"?{urlencode(request.query)}" if request.query else ""
    names = {"text": "text", "md": "Markdown", "json": "JSON"}
    return tuple((names[form], f"{path}{end}{query}") for end, form in FORMATS.items() if form in names)

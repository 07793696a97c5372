"""The server of the screens: what a request asks for, in the format it asks for it, behind the guard."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

from retro.errors import RetroError, UnknownError, UsageError
from retro.present.links import segment
from retro.present.markdown import markdown_of
from retro.present.page.screens.pages import absence_page
from retro.present.references import ScreenReference
from retro.present.screen import (
    STYLE_PREFIX,
    ScreenFrame,
    ScreenPlace,
    plain_page,
    screen_of,
    style_name,
    style_text,
)
from retro.present.text.page import text_of
from retro.surface.guard.access import Access, Keyring
from retro.surface.guard.guard import Guard, Limits
from retro.surface.web.routes import FORMATS, request_of
from retro.surface.web.screens import SCREENS, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from retro.surface.guard.session import BrowserSessions
    from retro.surface.web.answers import Answer, House
    from retro.surface.web.routes import Request

__all__ = ["HEALTH", "LINK", "application", "door"]

HEALTH: Final = "/healthz"
"""Says `ok`, to whoever asks, and nothing else."""
LINK: Final = "/in"
"""Where a link of `retro web` leads."""

_LIMITS: Final = Limits(target=8 << 10, body=64 << 10, of_one=32, served_of_one=4)
_PACKED_FROM: Final = 1024
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "css": "text/css; charset=utf-8",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"vary", b"cookie, authorization, accept-encoding"),
)
_PRIVATE: Final = (b"cache-control", b"private, no-cache")
_FOREVER: Final = (b"cache-control", b"private, max-age=31536000, immutable")


def door(house: House, key: str, sessions: BrowserSessions, hosts: Iterable[str] = ()) -> Guard:
    """The screens behind the guard: `key` for programs, links and cookies of `sessions` for browsers."""
    access = Access(
        Keyring({key: None}),
        frozenset(hosts),
        pages=True,
        sessions=sessions,
        keyless=frozenset({HEALTH, LINK}),
    )
    return Guard(application(house, sessions), access, limits=_LIMITS, methods=frozenset({"GET", "HEAD"}))


def application(house: House, sessions: BrowserSessions) -> Callable[..., Any]:
    """Plain ASGI: every answer is whole, and drawn in a thread of its own."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        path, query = scope["raw_path"], scope["query_string"]
        if path == HEALTH.encode():
            status, headers, body = await asyncio.to_thread(_health, house)
        elif path == LINK.encode():
            status, headers, body = _let_in(sessions, query)
        elif path.startswith(STYLE_PREFIX.encode()):
            status, headers, body = _style(path)
        else:
            status, headers, body = await asyncio.to_thread(_screen, house, path, query)
        asked = {name.lower(): value for name, value in scope["headers"]}
        await _send(send, asked, status, headers, body, bodiless=scope["method"] == "HEAD")

    return serve


_Reply = tuple[int, list[tuple[bytes, bytes]], bytes]


def _health(house: House) -> _Reply:
    try:
        with house.store.read() as conn:
            conn.exec_driver_sql("SELECT 1")
    except RetroError:
        return 503, [_type("text"), _PRIVATE], b"not ok\n"
    return 200, [_type("text"), _PRIVATE], b"ok\n"


def _let_in(sessions: BrowserSessions, query: bytes) -> _Reply:
    """A link gives a cookie once; no address is built from what was asked."""
    token = parse_qs(query.decode("latin-1")).get("once", [""])[0]
    cookie = sessions.redeem(token)
    if cookie is None:
        return (
            403,
            [_type("text"), _PRIVATE],
            b"this link was used, or is too old; make one: retro web link\n",
        )
    return 303, [(b"location", b"/"), (b"set-cookie", cookie.encode()), _PRIVATE], b""


def _style(path: bytes) -> _Reply:
    if path.decode("latin-1") != STYLE_PREFIX + style_name():
        return 404, [_type("text"), _PRIVATE], b""
    return 200, [_type("css"), _FOREVER], style_text().encode()


def _screen(house: House, path: bytes, query: bytes) -> _Reply:
    """A screen in the format its address asks for; what is not there says nothing of what was asked."""
    request = request_of(path, query)
    if request is None or request.format == "csv":
        return _absent(HTTPStatus.NOT_FOUND, "There is no such screen.")
    try:
        reply = answer(house, request)
    except UnknownError:
        return _absent(HTTPStatus.NOT_FOUND, "There is no such screen, or nothing of that name.")
    except UsageError:
        return _absent(HTTPStatus.BAD_REQUEST, "That cannot be asked here.")
    body = _drawn(reply, request).encode("utf-8", "replace")
    return HTTPStatus.OK, [_type(request.format), _PRIVATE], body


def _absent(status: HTTPStatus, why: str) -> _Reply:
    page = absence_page("The slow mirror", why)
    return status, [_type("html"), _PRIVATE], screen_of(page, ScreenFrame(_ways(""))).encode()


def _drawn(reply: Answer, request: Request) -> str:
    if request.format == "json":
        return reply.document
    page = plain_page(reply.page)
    if request.format == "text":
        return text_of(page)
    if request.format == "md":
        return markdown_of(page)
    frame = ScreenFrame(
        screens=_ways(request.screen),
        crumbs=reply.crumbs,
        forms=_forms(request),
        command=reply.command,
        earlier=reply.earlier,
        later=reply.later,
    )
    return screen_of(page, frame)


def _ways(current: str) -> tuple[ScreenPlace, ...]:
    return tuple(
        ScreenPlace(screen.title, ScreenReference(screen.name), current=screen.name == current)
        for screen in SCREENS
        if screen.listed
    )


def _forms(request: Request) -> tuple[tuple[str, str], ...]:
    """The same figures in other formats: the address with another end."""
    path = "/" + "/".join(map(segment, (request.screen, *request.names)))
    query = f"?{urlencode(request.query)}" if request.query else ""
    names = {"text": "text", "md": "Markdown", "json": "JSON"}
    return tuple((names[form], f"{path}{end}{query}") for end, form in FORMATS.items() if form in names)


def _type(form: str) -> tuple[bytes, bytes]:
    return b"content-type", _TYPES[form].encode()


async def _live(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _send(
    send: Any,
    asked: dict[bytes, bytes],
    status: int,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
    *,
    bodiless: bool,
) -> None:
    """One answer: packed where that is asked for, and not at all where the asker has it already."""
    if status == HTTPStatus.OK:
        tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'.encode()
        headers = [*headers, (b"etag", tag)]
        if asked.get(b"if-none-match") == tag:
            status, body = HTTPStatus.NOT_MODIFIED, b""
    if len(body) >= _PACKED_FROM and b"gzip" in asked.get(b"accept-encoding", b""):
        body = gzip.compress(body, 5, mtime=0)
        headers = [*headers, (b"content-encoding", b"gzip")]
    headers = [*headers, *_HEADERS, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bodiless else body})

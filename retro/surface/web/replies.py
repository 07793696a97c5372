"""What is sent back: the headers of every answer, packed where that is asked for, not at all where it is there already."""

from __future__ import annotations

import gzip
import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.responses import Response, StreamingResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request

__all__ = ["IMMUTABLE", "TYPES", "reply", "streamed"]

TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
}
"""What each format of a screen is called on the wire."""
IMMUTABLE: Final = "private, max-age=31536000, immutable"
"""How long a browser may keep what never changes under its address."""

_FRESH: Final = "private, no-cache"
_PACKED_FROM: Final = 1024
_LEVEL: Final = 5
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "vary": "cookie, authorization, accept-encoding",
}


def reply(
    request: Request,
    body: str | bytes = b"",
    type_: str = TYPES["text"],
    status: int = HTTPStatus.OK,
    *,
    kept: str = _FRESH,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """One whole answer; `kept` says how long a browser may keep it. Of an equal body the bytes are equal."""
    content = body.encode("utf-8", "replace") if isinstance(body, str) else body
    fields = {"content-type": type_, "cache-control": kept, **_HEADERS, **(headers or {})}
    if status == HTTPStatus.OK:
        fields["etag"] = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        if request.headers.get("if-none-match") == fields["etag"]:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=fields)
    if len(content) >= _PACKED_FROM and "gzip" in request.headers.get("accept-encoding", ""):
        content = gzip.compress(content, _LEVEL, mtime=0)
        fields["content-encoding"] = "gzip"
    response = Response(content, status, fields)
    if request.method == "HEAD":
        response.body = b""
    return response


def streamed(request: Request, parts: Iterable[str], type_: str) -> Response:
    """An answer part by part, each made when the one before is sent: a long list is never whole in memory."""
    fields = {"content-type": type_, "cache-control": _FRESH, **_HEADERS}
    if request.method == "HEAD":
        return Response(headers=fields)
    return StreamingResponse((part.encode("utf-8", "replace") for part in parts), headers=fields)

"""What stands before an application: its access rule, and the bounds of what a caller may send and hold.

Plain ASGI, so that it stands before whatever speaks it. A refusal has a status and no body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from retro.surface.guard.access import CALLER, Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from retro.surface.guard.access import Access, Caller, Scope

__all__ = ["Application", "Guard", "Limits"]

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]
"""Anything that speaks ASGI."""

_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every answer that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a request may be, and how many may be at hand; the default suits questions and a remembered trade."""

    target: int = 8 << 10
    """Bytes of path and query."""
    headers: int = 8 << 10
    """Bytes of all header names and values."""
    body: int = 1 << 20
    """Bytes."""
    body_s: float = 10.0
    """Seconds until the body must be here."""
    of_one: int = 16
    """Requests at hand of one caller."""
    of_all: int = 64
    served_of_one: int = 1
    """Of those, how many are with the application: the others wait, so that each caller has its turn after one of each."""


_DEFAULTS: Final = Limits()


@dataclass(slots=True)
class _Share:
    """What one caller has at hand, and the turns it has with the application."""

    turns: asyncio.Semaphore
    at_hand: int = 0


class Guard:
    """Lets in what the rule admits and the limits allow; the application finds its caller in the scope."""

    def __init__(
        self,
        application: Application,
        access: Access,
        *,
        limits: Limits = _DEFAULTS,
        methods: Collection[str] | None = None,
    ) -> None:
        self._application = application
        self._access = access
        self._limits = limits
        self._methods = methods
        self._shares: dict[str, _Share] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        verdict = self._access.judge(scope)
        refusal = verdict if isinstance(verdict, Refusal) else self._too_much(scope, verdict)
        if refusal is not None:
            await _refuse(refusal, send)
        elif not isinstance(verdict, Refusal):
            with self._share_of(verdict) as share:
                await self._hand_on({**scope, CALLER: verdict}, receive, send, share.turns)

    def _too_much(self, scope: Scope, caller: Caller) -> Refusal | None:
        """What speaks against a request before its body is read."""
        if self._methods is not None and scope["method"] not in self._methods:
            return Refusal(405, ((b"allow", ", ".join(sorted(self._methods)).encode()),))
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > self._limits.target:
            return Refusal(414)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > self._limits.headers:
            return Refusal(431)
        lengths = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
        if any(not value.isdigit() or int(value[:19]) > self._limits.body for value in lengths):
            return Refusal(413)
        later = ((b"retry-after", b"1"),)
        share = self._shares.get(caller.name)
        if share is not None and share.at_hand >= self._limits.of_one:
            return Refusal(429, later)
        total = sum(share.at_hand for share in self._shares.values())
        return Refusal(503, later) if total >= self._limits.of_all else None

    @contextmanager
    def _share_of(self, caller: Caller) -> Iterator[_Share]:
        """One more at hand of this caller; who has nothing at hand is forgotten."""
        share = self._shares.setdefault(caller.name, _Share(asyncio.Semaphore(self._limits.served_of_one)))
        share.at_hand += 1
        try:
            yield share
        finally:
            share.at_hand -= 1
            if not share.at_hand:
                del self._shares[caller.name]

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send, turns: asyncio.Semaphore) -> None:
        body: bytes | Refusal | None
        try:
            async with asyncio.timeout(self._limits.body_s):
                body = await self._body(receive)
        except TimeoutError:
            body = Refusal(408)
        if isinstance(body, Refusal):
            await _refuse(body, send)
            return
        if body is None:  # it has hung up
            return
        messages = [Message(type="http.request", body=body, more_body=False)]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        async with turns:
            await self._application(scope, again, _with_headers(send))

    async def _body(self, receive: Receive) -> bytes | Refusal | None:
        parts = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts += message.get("body", b"")
            if len(parts) > self._limits.body:
                return Refusal(413)
            if not message.get("more_body", False):
                return bytes(parts)


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            own = {name.lower() for name, _ in headers}
            message = {**message, "headers": [*headers, *(pair for pair in _ALWAYS if pair[0] not in own)]}
        await send(message)

    return answer


async def _refuse(refusal: Refusal, send: Send) -> None:
    headers = [*refusal.headers, *_ALWAYS, (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})

"""Who came in by a link: a cookie that the key has signed, and the links that give one. Pure but for its clock.

Nothing is stored. A cookie outlives restarts, for it is known by its signature alone; a new key ends them all. A link can
be made by another process than the one that takes it, is good for two minutes, and opens once.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BrowserSessions"]

_LINK_S: Final = 120
_COOKIE_S: Final = 365 * 86_400
_USED: Final = 4096
"""Links remembered as used: each is forgotten when it would not be good any more."""


class BrowserSessions:
    """The links and cookies of one key, `now` in seconds since 1970. `name` tells the cookies of two mirrors apart."""

    def __init__(self, key: str, *, now: Callable[[], float] = time.time) -> None:
        self._key, self._now = key.encode(), now
        self.name = f"retro-{self._signature('name')[:8]}"
        self._used: dict[str, float] = {}

    def link(self) -> str:
        """What a link carries that lets one browser in."""
        return self._signed("once", f"{int(self._now()) + _LINK_S}.{token_urlsafe(12)}")

    def redeem(self, token: str) -> str | None:
        """The header that sets the cookie of whoever brings a link; None where it is not ours, too old, or used."""
        text = self._told("once", token)
        if text is None or token in self._used or len(self._used) >= _USED:
            return None
        until = float(text.partition(".")[0])
        self._used = {link: end for link, end in self._used.items() if end > self._now()}
        if until < self._now():
            return None
        self._used[token] = until
        cookie = self._signed("session", f"{int(self._now()) + _COOKIE_S}.{token_urlsafe(12)}")
        return f"{self.name}={cookie}; Max-Age={_COOKIE_S}; Path=/; HttpOnly; SameSite=Lax"

    def is_let_in(self, header: str) -> bool:
        """Whether a Cookie header holds one of ours that is still good."""
        try:
            morsel = SimpleCookie(header).get(self.name)
        except CookieError:
            return False
        text = None if morsel is None else self._told("session", morsel.value)
        return text is not None and float(text.partition(".")[0]) >= self._now()

    def _signed(self, use: str, text: str) -> str:
        return f"{text}.{self._signature(f'{use}:{text}')}"

    def _told(self, use: str, token: str) -> str | None:
        """What a token says, where its signature is ours and for this use; every byte is compared."""
        text, _, signature = token.rpartition(".")
        genuine = hmac.compare_digest(
            signature.encode("utf-8", "surrogatepass"), self._signature(f"{use}:{text}").encode()
        )
        return text if genuine else None

    def _signature(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

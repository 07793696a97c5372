"""Whether a request may come in at all: by its Host, by where a browser says it comes from, and by its key. Pure.

In that order, for every method, before anything is read. The Host is asked first because a page whose name was bound
to our address (DNS rebinding) sends an Origin that equals its Host and no Sec-Fetch-Site: only the name betrays it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from retro.surface.guard.session import BrowserSessions

__all__ = ["CALLER", "Access", "Caller", "Keyring", "Refusal", "host_of", "is_loopback"]

Scope = MutableMapping[str, Any]
"""What ASGI says of a request."""

CALLER: Final = "retro.caller"
"""The key of a scope under which the application finds who is calling."""

_LOCAL_NAMES: Final = frozenset({"localhost", "mirror.localhost"})
_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII)
_ORIGIN: Final = re.compile(r"(https?)://(.+)", re.ASCII)
_USUAL_PORTS: Final = {"http": "80", "https": "443"}
_OWN: Final = frozenset({"same-origin", "none"})
_READING: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who was let in. What one caller may hold is counted by `name`; bound to an `agent` it may ask of it alone."""

    name: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not: a status, with what HTTP wants beside it; never a body."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Keyring:
    """The keys that open a door, each an agent's or (None) the owner's. Without any the door is open."""

    def __init__(self, keys: Mapping[str, str | None]) -> None:
        self._owners = [(_digest(key), agent) for key, agent in keys.items()]

    def __bool__(self) -> bool:
        return bool(self._owners)

    def caller(self, authorization: str) -> Caller | None:
        """Whose key a header `Authorization: Bearer KEY` carries; every key is compared, in constant time."""
        scheme, _, token = authorization.partition(" ")
        given, caller = _digest(token.strip()), None
        for digest, agent in self._owners:
            if hmac.compare_digest(given, digest):
                caller = Caller("the owner" if agent is None else f"agent {agent}", agent)
        return caller if scheme.lower() == "bearer" else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one door.

    `hosts` are names by which it is reached beside the loopback ones and the address that a connection came in on.
    `pages`: browsers open pages here, so a link from elsewhere may lead in, and what is sent without a key has to say
    that it comes from here. `sessions` know browsers by their cookies; the paths in `keyless` are open without a key.
    """

    keyring: Keyring
    hosts: frozenset[str] = frozenset()
    pages: bool = False
    sessions: BrowserSessions | None = None
    keyless: frozenset[str] = frozenset()

    def judge(self, scope: Scope) -> Caller | Refusal:
        """Who calls, or why it is turned away: 421 at a foreign Host, 403 from a foreign page, 401 without a key."""
        headers = _headers(scope)
        if any(len(headers.get(name, ())) > 1 for name in ("host", "origin", "authorization")):
            return Refusal(400)
        host = headers.get("host", [""])[0]
        if not self._is_ours(host_of(host), scope):
            return Refusal(421)
        if self._is_foreign(host, headers, scope["method"]):
            return Refusal(403)
        if not self.keyring:
            return Caller(f"address {(scope.get('client') or ('unknown',))[0]}")
        caller = self.keyring.caller(headers.get("authorization", [""])[0]) or self._guest(scope, headers)
        return caller or Refusal(401, ((b"www-authenticate", b"Bearer"),))

    def _guest(self, scope: Scope, headers: Mapping[str, list[str]]) -> Caller | None:
        """Who comes without a key: a browser that was let in, or anybody where no key is asked for."""
        if self.sessions is not None and self.sessions.is_let_in("; ".join(headers.get("cookie", ()))):
            return Caller("the owner")
        if (scope.get("raw_path") or b"").decode("latin-1") in self.keyless:
            return Caller(f"address {(scope.get('client') or ('unknown',))[0]}")
        return None

    def _is_ours(self, host: str | None, scope: Scope) -> bool:
        if host is None:
            return False
        if host in _LOCAL_NAMES or host in self.hosts:
            return True
        address = _address(host)
        return address is not None and (
            address.is_loopback or address == _address(str((scope.get("server") or ("",))[0]))
        )

    def _is_foreign(self, host: str, headers: Mapping[str, list[str]], method: str) -> bool:
        if not _OWN.issuperset(headers.get("sec-fetch-site", ())) and not (
            self.pages
            and method in _READING
            and headers.get("sec-fetch-mode") == ["navigate"]
            and headers.get("sec-fetch-dest") == ["document"]
        ):
            return True
        origin = headers.get("origin")
        if origin is None:
            return self.pages and method not in _READING and "authorization" not in headers
        match = _ORIGIN.fullmatch(origin[0].lower())
        if match is None:
            return True
        scheme, authority = match.groups()
        return _place(authority, scheme) != _place(host.lower(), scheme)


def host_of(authority: str) -> str | None:
    """The name or address of `host[:port]`, in lower case and without a last dot; None where it is neither."""
    match = _AUTHORITY.fullmatch(authority.lower())
    return None if match is None else match[1].strip("[]").removesuffix(".")


def is_loopback(host: str) -> bool:
    """Whether what is bound to this address is reached from this machine alone."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _place(authority: str, scheme: str) -> tuple[str, str] | None:
    """Name and port, the usual one where none is written."""
    match = _AUTHORITY.fullmatch(authority)
    return None if match is None else (match[1].removesuffix("."), match[2] or _USUAL_PORTS[scheme])


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip(" \t"))
    return headers

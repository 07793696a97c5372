"""`retro mcp --http`: the tools behind the guard, over streamable HTTP.

Nothing is remembered between two requests: each carries its key, is answered by itself with one JSON document, and
leaves nothing behind. So there is no session that could be left open, hoarded, or used with another's key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp.server.transport_security import TransportSecuritySettings

from retro.errors import UsageError
from retro.secret import MCP_KEY, find_secret, find_tokens, key_file
from retro.surface.guard.access import Access, Keyring, is_loopback
from retro.surface.guard.guard import Guard
from retro.surface.mcp.tools import server_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.app.questions.experience import Experience
    from retro.config import Config
    from retro.secret import Secret

__all__ = ["LARGEST_ANSWER", "door", "keyring_of", "owner_key"]

LARGEST_ANSWER: Final = 8 << 20
"""Bytes of the largest answer with detail."""


def door(experience: Experience, keyring: Keyring, *, agent: str | None = None) -> Guard:
    """The application to serve. `agent`: whom every request is bound to; None: whom its key belongs to."""
    application = server_of(experience, agent=agent, largest=LARGEST_ANSWER).streamable_http_app(
        stateless_http=True,
        json_response=True,
        # the guard judges Host and Origin, on every address
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    access = Access(keyring, frozenset(experience.config.mcp.hosts))
    return Guard(application, access, methods=frozenset({"POST"}))


def keyring_of(config: Config, env: Mapping[str, str], host: str, *, agent: str | None = None) -> Keyring:
    """The keys that a server on this address asks for: none on loopback, unless agents have tokens.

    A server that is bound to one agent takes its token alone; the owner's key opens every one.
    """
    tokens = find_tokens(config.mcp.tokens, env)
    if not tokens and is_loopback(host):
        return Keyring({})
    owner = owner_key(config, env)
    keys: dict[str, str | None] = {
        token.reveal(): name for name, token in tokens.items() if agent in (None, name)
    }
    if owner.reveal() in keys:
        raise UsageError(f"{owner.origin}: the owner's key is an agent's token too; it needs one of its own")
    return Keyring({**keys, owner.reveal(): None})


def owner_key(config: Config, env: Mapping[str, str]) -> Secret:
    """The owner's key: as a secret, else in the file mcp.key that is made with its first use."""
    return find_secret(MCP_KEY, env) or key_file(config.home / "mcp.key", MCP_KEY)

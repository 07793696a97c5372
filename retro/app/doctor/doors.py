"""Who may ask through `retro mcp --http`: agents' tokens, and the owner's key."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.errors import ConfigError
from retro.figures import count
from retro.secret import find_tokens
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "keys", "tokens"]

_SHORTEST: Final = 16
_OTHERS: Final = 0o077


def tokens(house: Installation) -> Iterator[Check]:
    """`[mcp.tokens]`: each given, each agent's own, and long enough that nobody guesses it."""
    names = house.config.mcp.tokens
    if not names:
        return
    try:
        given = find_tokens(names, house.env)
    except ConfigError as error:
        for fault in error.faults:
            yield broken("mcp", f"[mcp.tokens] {fault}")
        return
    yield ok("mcp", f"{count(len(given), 'agent')} with a token")
    for agent, secret in given.items():
        if len(secret.reveal()) < _SHORTEST:
            yield note("mcp", f"the token of {agent} is short; `openssl rand -hex 32` makes one")
    if house.store is not None:
        with house.store.read() as conn:
            agents_there = {agent.name for agent in agents.agents(conn)}
        for agent in sorted(set(names) - agents_there):
            yield note("mcp", f"[mcp.tokens] {agent}: nobody has told of an agent of that name yet")


def keys(house: Installation) -> Iterator[Check]:
    """The file of the owner's key, where there is one: for its owner's eyes alone."""
    file = house.config.home / "mcp.key"
    if not file.exists():
        return
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _OTHERS:
        yield broken(
            "mcp", f"others can read {file} (mode {mode:03o}): delete it, a new key is made; or chmod 600 it"
        )
    else:
        yield ok("mcp", f"the owner's key is in {file}")


CHECKS: Final = (Examination("mcp", tokens), Examination("mcp", keys))
"""In the order in which they are told."""

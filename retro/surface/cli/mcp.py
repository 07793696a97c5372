"""`retro mcp`: the memory, reviews and records as tools for agents, over stdio or HTTP."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import RetroError, UsageError
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from retro.app.questions.experience import Experience

__all__ = ["add_to"]

_LOOPBACK = "127.0.0.1"


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("mcp")(mcp)


def mcp(
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="A", help="bound to this agent: nobody else's memory is read or written"
        ),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="streamable HTTP at /mcp instead of stdio")] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="with --http; beyond this machine a key is asked for")
    ] = _LOOPBACK,
    port: Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="with --http")] = 8765,
) -> None:
    """Serve agents through the Model Context Protocol; with stdio it ends when its input ends.

    Example: retro --db memory_data/retro.db mcp --agent my-agent
    """
    if not http and host != _LOOPBACK:
        raise UsageError("--host goes with --http")
    from retro.app.questions.experience import Experience

    _check_name(agent)
    experience = Experience(
        call.store, call.config
    )  # what stands in its way is said before anything heavy is loaded
    try:
        from retro.surface.mcp.tools import server_of
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise RetroError("retro mcp needs the extra `mcp`: pip install 'slow-mirror[mcp]'") from error
    if http:
        _serve_http(experience, agent, host, port)
    else:
        server_of(experience, agent=agent).run("stdio")


def _check_name(agent: str | None) -> None:
    """An agent may ask before it has told anything, so a name need not be known; but it has to be one."""
    from retro.journal.values import wrong_with

    if agent is not None and (wrong := wrong_with(agent, "agent")):
        raise UsageError(f"--agent: {wrong}")


def _serve_http(experience: Experience, agent: str | None, host: str, port: int) -> None:
    from retro.surface.guard.server import serve
    from retro.surface.mcp.http import door, keyring_of, owner_key

    keyring = keyring_of(call.config, os.environ, host, agent=agent)
    url_host = f"[{host}]" if ":" in host else host
    call.say(f"serving http://{url_host}:{port}/mcp")
    if keyring:
        origin = owner_key(call.config, os.environ).origin
        call.say(f"who asks sends `Authorization: Bearer KEY`: the owner's key is in {origin}")
    serve(door(experience, keyring, agent=agent), host, port)

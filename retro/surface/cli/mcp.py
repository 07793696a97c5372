"""`retro mcp`: the memory, reviews and records as tools for agents, over stdio or HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from retro.errors import RetroError, UsageError
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["add_to"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_to(parent: typer.Typer) -> None:
    """Hang the command into the tree."""
    parent.command("mcp")(mcp)


def mcp(
    http: Annotated[bool, typer.Option("--http", help="streamable HTTP at /mcp instead of stdio")] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="with --http; anybody who reaches it can ask it")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="with --http")] = 8765,
) -> None:
    """Serve agents through the Model Context Protocol; with stdio it ends when its input ends.

    Example: retro --db memory_data/retro.db mcp
    """
    if not http and host not in _LOOPBACK:
        raise UsageError("--host goes with --http")
    from retro.app.questions.experience import Experience

    experience = Experience(
        call.store, call.config
    )  # what stands in its way is said before anything heavy is loaded
    try:
        from retro.surface.mcp.tools import server_of
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise RetroError("retro mcp needs the extra `mcp`: pip install 'slow-mirror[mcp]'") from error
    server = server_of(experience)
    if http:
        _serve_http(server, host, port)
    else:
        server.run("stdio")


def _serve_http(server: MCPServer[Any], host: str, port: int) -> None:
    import uvicorn

    if host not in _LOOPBACK:
        call.say(
            f"note: whoever reaches {host}:{port} can read and write this memory; nobody is asked who they are"
        )
    url_host = f"[{host}]" if ":" in host else host
    call.say(f"serving http://{url_host}:{port}/mcp")
    app = server.streamable_http_app(host=host)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)

"""`retro web`: the owner's screens in a browser of this machine."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from retro.errors import RetroError
from retro.surface.cli.context import call

if TYPE_CHECKING:
    from retro.surface.web.answers import House

__all__ = ["add_to"]

web_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Serve the owner's screens to a browser of this machine.",
    epilog="Example: retro web --open",
)

Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535)]
_HOST = "127.0.0.1"
_NAME = "mirror.localhost"
_PORT = 8600


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.add_typer(web_app, name="web")


@web_app.callback()
def web(
    context: typer.Context,
    port: Port = _PORT,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="open it in the browser")] = False,
) -> None:
    """Serve the owner's screens to a browser of this machine, until ctrl+c. It reads what is stored, and changes nothing.

    Example: retro web --open
    """
    if context.invoked_subcommand is not None:
        return
    house = _house()
    try:
        from retro.surface.guard.server import serve
        from retro.surface.web.door import door
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "uvicorn":
            raise
        raise RetroError("retro web needs the extra `mcp`: pip install 'slow-mirror[mcp]'") from error
    from retro.surface.guard.session import BrowserSessions

    key = _key()
    address = _link(key, port)
    call.say(f"open {address}")
    if open_:
        import webbrowser

        webbrowser.open(address)
    serve(door(house, key, BrowserSessions(key)), _HOST, port)


@web_app.command("link")
def link(port: Port = _PORT) -> None:
    """Print a link that lets one browser in, once, within two minutes.

    Example: retro web link
    """
    call.out(_link(_key(), port))


@web_app.command("revoke")
def revoke() -> None:
    """Make a new key: every browser that was let in is out, and programs need the new one. Start `retro web` again then.

    Example: retro web revoke
    """
    path = call.config.home / "web.key"
    path.unlink(missing_ok=True)
    _key()
    call.out(f"{path} is new; start `retro web` again")


def _key() -> str:
    from retro.secret import key_file

    return key_file(call.config.home / "web.key", "RETRO_WEB_KEY").reveal()


def _link(key: str, port: int) -> str:
    from retro.surface.guard.session import BrowserSessions

    return f"http://{_NAME}:{port}/in?once={BrowserSessions(key).link()}"


def _house() -> House:
    from retro.app.doctor.examine import examine
    from retro.surface.web.answers import House

    config_path, db = call.config_path, call.db

    def clock() -> int:
        return time.time_ns() // 1000

    def findings() -> list[tuple[str, str, str]]:
        return [(c.state, c.name, c.detail) for c in examine(config_path, db, os.environ, now=clock())]

    return House(call.store, call.config, call.settings, clock, findings)

"""`retro web`: the owner's screens in a browser of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.operator.house import house_of_call

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
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="beyond this machine [web] hosts has to name it")
    ] = _HOST,
    uds: Annotated[
        Path | None, typer.Option("--uds", metavar="PATH", help="a Unix socket instead of an address")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="nothing can be retried, skipped, resent")
    ] = False,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="open it in the browser")] = False,
) -> None:
    """Serve the owner's screens to a browser of this machine, until ctrl+c. Reading changes nothing.

    Example: retro web --open
    """
    if context.invoked_subcommand is not None:
        return
    from retro.surface.guard.access import is_loopback
    from retro.surface.guard.server import serve
    from retro.surface.guard.session import BrowserSessions
    from retro.surface.web.door import door

    table, is_here = call.config.web, uds is not None or is_loopback(host)
    if not is_here and not table.hosts:
        raise UsageError(
            f"--host {host} is reached from other machines: name it in config.toml, [web] hosts = [...]"
        )
    house, key = house_of_call(), _key()
    address = _link(key, port)
    call.say(f"open {address}" if uds is None else f"serving {uds}; a link is made by: retro web link")
    if open_ and uds is None:
        import webbrowser

        webbrowser.open(address)
    note = None if read_only or not (is_here or table.writable) else _note
    application = door(house, key, BrowserSessions(key), table.hosts, note=note)
    serve(application, host, port, uds=None if uds is None else str(uds))


def _note(sentence: str) -> None:
    """Write down on stderr who did what, and when."""
    import time

    from retro.periods import format_instant

    call.say(f"{format_instant(time.time_ns() // 1000)} {sentence}")


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

"""`retro`, the one command: each subcommand opens what it needs and prints one result."""

from __future__ import annotations

import sys
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import Abort, TyperException
from typer.main import get_command, get_command_name

from retro.errors import RetroError
from retro.surface.cli import (
    behaviour,
    doctor,
    ingest,
    library,
    lists,
    mcp,
    memory,
    outbox,
    playbook,
    proposals,
    records,
    review,
    service,
    start,
    tables,
)
from retro.surface.cli.context import call, complain, drop_output, split_globals
from retro.surface.cli.evaluators import (
    checks,
    claims,
    context,
    dreams,
    drift,
    evaluations,
    learning,
    luck,
    shadows,
    tiers,
    validate,
    whatif,
)
from retro.surface.cli.help import Commands, everywhere
from retro.surface.cli.operator import (
    agents,
    backup,
    explain,
    find,
    fleet,
    rework,
    rule,
    today,
    transfer,
    tui,
    web,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typer.models import CommandInfo

__all__ = ["app", "run"]

app = typer.Typer(
    name="retro",
    cls=Commands,
    help="The slow mirror for trading agents: was the decision good, now that the consequences are in?",
    epilog="Start: `retro ingest freqtrade tradesv3.sqlite --candles DIR`, then `retro review weekly`."
    " The options above may also stand after the command.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:  # the callback's form is typer's
    if show:
        from retro.version import __version__

        call.out(f"retro {__version__}")
        raise typer.Exit


@app.callback()
def _globals(
    _config: Annotated[
        str,
        typer.Option("--config", metavar="FILE", help="config.toml  [default: $RETRO_CONFIG, ./config.toml]"),
    ] = "",
    _db: Annotated[
        str,
        typer.Option(
            "--db", metavar="URL", help="database instead of the configured one; a path means SQLite"
        ),
    ] = "",
    _json: Annotated[bool, typer.Option("--json", help="print data as JSON")] = False,
    _quiet: Annotated[bool, typer.Option("-q", "--quiet", help="nothing but the result and errors")] = False,
    _verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="say more; errors with their traceback")
    ] = False,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Global options; they may stand before or after the subcommand."""


ingest.add_to(app)
tables.add_to(app)
today.add_to(app)
rule.add_to(app)
review.add_to(app)
agents.add_to(app)
lists.add_to(app)
fleet.add_to(app)
checks.add_to(app)
playbook.add_to(app)
proposals.add_to(playbook.app)
service.add_to(app)
explain.add_to(app)
transfer.add_to(app)
rework.add_to(app)
backup.add_to(app)
find.add_to(app)
outbox.add_to(app)
memory.add_to(app)
behaviour.add_to(app)
library.add_to(app)
claims.add_to(app)
context.add_to(app)
tiers.add_to(app)
dreams.add_to(app)
whatif.add_to(app)
shadows.add_to(app)
luck.add_to(app)
drift.add_to(app)
learning.add_to(app)
evaluations.add_to(app)
records.add_to(app)
validate.add_to(app)
mcp.add_to(app)
web.add_to(app)
tui.add_to(app)
start.add_to(app)
doctor.add_to(app)
everywhere(app)


def run(argv: Sequence[str]) -> int:
    """Run one command line; gives the exit code. One clear line on stderr instead of a traceback."""
    call.begin()
    _speak_utf8()
    try:
        words = split_globals(argv)
        result = _commands(words[0] if words else "")(words, prog_name="retro", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except TyperException as error:
        return _misused(error)
    except (Abort, KeyboardInterrupt):
        complain("retro: interrupted")
        return 130
    except RetroError as error:
        return _failed(error, str(error), error.exit_code)
    except BrokenPipeError:
        drop_output()
        return 0
    except OSError as error:
        drop_output()
        where = f": {error.filename}" if error.filename else ""
        return _failed(error, f"{error.strerror or error}{where}", 1)
    except Exception as error:  # noqa: BLE001  # the last resort: a sentence, never a traceback, unless asked for
        return _failed(error, f"internal error, please report it: {type(error).__name__}: {error}", 1)
    finally:
        call.close()
    return result if isinstance(result, int) and result else call.code


@cache
def _commands(word: str) -> Callable[..., Any]:
    """What a command line is parsed by: the branch that its first word names, else all; most run quicker than all are made."""
    branch = copy(app)
    branch.registered_commands = [command for command in app.registered_commands if _name(command) == word]
    branch.registered_groups = [group for group in app.registered_groups if group.name == word]
    return get_command(branch if branch.registered_commands or branch.registered_groups else app)


def _name(command: CommandInfo) -> str | None:
    return command.name or (command.callback and get_command_name(command.callback.__name__))


def _speak_utf8() -> None:
    """The same bytes whatever the locale; what UTF-8 cannot carry (half a file name) is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and not stream.isatty():
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _misused(error: TyperException) -> int:
    """A command line that does not parse: one line and where to read more; the help where nothing was asked for."""
    sentence = error.format_message()
    if sentence.startswith("Usage:"):
        complain(sentence)
    else:
        context = getattr(error, "ctx", None)
        end = "" if sentence.endswith((".", "?")) else "."
        complain(f"retro: {sentence}{end} See `{context.command_path if context else 'retro'} --help`.")
    return error.exit_code


def _failed(error: BaseException, sentence: str, code: int) -> int:
    if call.verbose:
        import traceback

        complain("".join(traceback.format_exception(error)).rstrip())
    complain(f"retro: {sentence}")
    return code

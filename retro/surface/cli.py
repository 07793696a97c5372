"""`retro`, the one command: each subcommand opens what it needs and prints one result."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import click
import typer

from retro.errors import RetroError
from retro.surface import doctor, ingest, lists, playbook, review, start
from retro.surface.context import call, split_globals

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "run"]

app = typer.Typer(
    name="retro",
    help="The slow mirror for trading agents: was the decision good, now that the consequences are in?",
    epilog="Start: `retro ingest freqtrade tradesv3.sqlite --candles DIR`, then `retro review weekly`.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:  # the callback's form is typer's
    if show:
        from retro import __version__

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
review.add_to(app)
lists.add_to(app)
playbook.add_to(app)
start.add_to(app)
doctor.add_to(app)


def run(argv: Sequence[str]) -> int:
    """Run one command line; gives the exit code. One clear line on stderr instead of a traceback."""
    try:
        words = split_globals(argv)
        result = app(words, prog_name="retro", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show(sys.stderr)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("retro: interrupted\n")
        return 130
    except RetroError as error:
        return _failed(error, str(error), error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _failed(
            error, f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 1
        )
    except Exception as error:  # noqa: BLE001  # the last resort: a sentence, never a traceback, unless asked for
        return _failed(error, f"internal error, please report it: {type(error).__name__}: {error}", 1)
    finally:
        call.close()
    return result if isinstance(result, int) and result else call.code


def _failed(error: BaseException, sentence: str, code: int) -> int:
    if call.verbose:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    sys.stderr.write(f"retro: {sentence}\n")
    return code

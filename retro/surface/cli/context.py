"""One call of the command line: its global options, and the things they open when first needed."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from retro.errors import RetroError, UnknownError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from zoneinfo import ZoneInfo

    from playbook import Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["CommandContext", "call", "complain", "drop_output", "instant", "split_globals"]

_EMPTY = (
    "the database holds no agent yet; start with `retro ingest journal FILE` or `retro ingest freqtrade DB`"
)


@dataclass(slots=True)
class CommandContext:
    """Global options, and what they lead to."""

    config_path: Path | None = None
    db: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    serves: bool = False
    code: int = 0
    _config: Config | None = None
    _store: Store | None = None
    _books: dict[str, Playbook | None] = field(default_factory=dict)

    def begin(self) -> None:
        """Forget an earlier call of this process."""
        self.config_path = self.db = self._config = self._store = None
        self.json = self.quiet = self.verbose = self.serves = False
        self.code = 0
        self._books = {}

    @property
    def config(self) -> Config:
        """The configuration, read once."""
        if self._config is None:
            from retro.config import load, with_database

            config = load(self.config_path, os.environ)
            self._config = with_database(config, self.db) if self.db else config
        return self._config

    @property
    def store(self) -> Store:
        """The database, opened (and made) once."""
        if self._store is None:
            from retro.store.database import open_store

            self._store = open_store(self.config.store.url, pool=self.serves)
            if self._store.created:
                self.say(f"created {self._store.path}")
        return self._store

    def playbook_of(self, agent: str) -> Playbook | None:
        """The agent's PLAYBOOK.md, when the configuration names one."""
        if agent not in self._books:
            table = self.config.agent.get(agent)
            is_named = table is not None and table.playbook is not None
            self._books[agent] = _playbook_of(self.config, agent) if is_named else None
        return self._books[agent]

    def settings(self, agent: Agent) -> AgentSettings:
        """What the agent's numbers depend on."""
        from retro.app.settlement.settings import settings_of

        return settings_of(self.config, agent, self.playbook_of(agent.name))

    def agents(self) -> list[str]:
        """The names of all agents, sorted."""
        from retro.store.facts.agents import agents

        with self.store.read() as conn:
            return [agent.name for agent in agents(conn)]

    def agent(self, name: str | None) -> Agent:
        """The agent of that name, or the only one."""
        from retro.app.settlement.lookup import named_agent

        if not self.agents():
            raise UnknownError(_EMPTY)
        with self.store.read() as conn:
            return named_agent(conn, name)

    @property
    def colour(self) -> bool:
        """Whether the result may be coloured: on a terminal that can, for a person who did not say no."""
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def command(self, *words: str) -> str:
        """A command line for the person to type next, on the same configuration and database as this one."""
        given = [
            *(["--config", str(self.config_path)] if self.config_path is not None else []),
            *(["--db", self.db] if self.db else []),
        ]
        return shlex.join(["retro", *given, *words])

    def say(self, text: str) -> None:
        """A word for the person at the terminal: stderr, silent with -q."""
        if not self.quiet:
            complain(text)

    def out(self, text: str) -> None:
        """The result: stdout, nothing else goes there."""
        with _standard_output() as stream:
            stream.write(text if text.endswith("\n") else text + "\n")

    def out_parts(self, parts: Iterable[str]) -> None:
        """The result as it comes, part by part: as much memory as one of them takes."""
        with _standard_output() as stream:
            for part in parts:
                stream.write(part)

    def out_json_rows(self, rows: Iterable[Any]) -> None:
        """A list as JSON, the very text that `out_json` prints of it, row by row as it comes."""
        self.out_parts(_json_rows(rows))

    def out_bytes(self, data: bytes) -> None:
        """The result as it is."""
        with _standard_output() as stream:
            stream.flush()
            stream.buffer.write(data)

    def out_json(self, data: Any) -> None:
        """The result as JSON; what a screen would not show stands there as an escape."""
        self.out(_json_text(data))

    def close(self) -> None:
        """Let go of the database."""
        if self._store is not None:
            self._store.close()


def _playbook_of(config: Config, agent: str) -> Playbook | None:
    from retro.app.proposals.files import playbook_of

    return playbook_of(config, agent)


def _json_text(data: Any) -> str:
    from retro.present.json_parts import data_as_json

    return data_as_json(data)


def _json_rows(rows: Iterable[Any]) -> Iterator[str]:
    begun = False
    for row in rows:
        text = _json_text(row).replace("\n", "\n  ")
        yield f",\n  {text}" if begun else f"[\n  {text}"
        begun = True
    yield "\n]\n" if begun else "[]\n"


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    if sys.stdout is None:
        raise RetroError("there is no standard output to print the result to")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except (
        BrokenPipeError
    ):  # the reader has seen enough; left to itself, the parser would call that a failure
        drop_output()
        raise typer.Exit from None
    except OSError as error:
        drop_output()
        raise RetroError(f"the result could not be printed: {error.strerror or error}") from error


def drop_output() -> None:
    """Nobody takes what stdout still holds; without this the interpreter would complain of it at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # no stdout, or one that is no file
        return


def complain(text: str) -> None:
    """Lines on stderr, without what would move a terminal's cursor; nothing where there is no stderr."""
    from retro.safe import plain_text

    if sys.stderr is None:
        return
    try:
        sys.stderr.write("".join(f"{plain_text(line)}\n" for line in text.split("\n")))
        sys.stderr.flush()
    except OSError:  # nobody listens; the exit code still speaks
        return


call = CommandContext()
"""The call this process serves."""

_FLAGS = {"--json": "json", "-q": "quiet", "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose"}
_VALUES = {"--config": "config_path", "--db": "db"}


def split_globals(argv: Sequence[str]) -> list[str]:
    """Take the global options, wherever they stand before `--`, into `call`; gives the rest."""
    remainder: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            remainder += [word, *words]
        elif word in _FLAGS:
            setattr(call, _FLAGS[word], True)
        elif name in _VALUES:
            given = value if equals else next(words, None)
            if given is None or not given:
                raise UsageError(f"{name} needs a value")
            setattr(call, _VALUES[name], Path(given) if name == "--config" else given)
        else:
            remainder.append(word)
    return remainder


def instant(text: str, option: str, tz: ZoneInfo | None = None) -> int:
    """An RFC 3339 instant with offset, or a date, in microseconds: its midnight in `tz`, else in the owner's zone."""
    from retro.periods import midnight, parse_instant, zone

    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return midnight(date.fromisoformat(text), tz or zone(call.config.owner.time_zone))
        return parse_instant(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}; a date such as 2026-03-01 will do") from None

"""`retro doctor`: every examination there is, one after the other; what one cannot finish keeps no other from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.doctor import agents as checks_agents
from retro.app.doctor import doors as checks_doors
from retro.app.doctor import fleet as checks_fleet
from retro.app.doctor import library as checks_library
from retro.app.doctor import machine as checks_machine
from retro.app.doctor import memory as checks_memory
from retro.app.doctor import model as checks_model
from retro.app.doctor import place as checks_place
from retro.app.doctor import playbook as checks_playbook
from retro.app.doctor import rows as checks_rows
from retro.app.doctor import service as checks_service
from retro.app.doctor import source_figures as checks_source_figures
from retro.app.doctor import sources as checks_sources
from retro.app.doctor import watch as checks_watch
from retro.app.doctor.check import Check, Installation, broken
from retro.config import Config, load, with_database
from retro.errors import ConfigError, RetroError, UsageError
from retro.store.database import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from retro.app.doctor.check import Examination
    from retro.store.database import Store

__all__ = ["Check", "examine"]

_CHECKS: Final[tuple[Examination, ...]] = (
    *checks_place.CHECKS,
    *checks_sources.CHECKS,
    *checks_agents.CHECKS,
    *checks_source_figures.CHECKS,
    *checks_rows.CHECKS,
    *checks_memory.CHECKS,
    *checks_library.CHECKS,
    *checks_playbook.CHECKS,
    *checks_model.CHECKS,
    *checks_service.CHECKS,
    *checks_watch.CHECKS,
    *checks_fleet.CHECKS,
    *checks_doors.CHECKS,
)


def examine(
    config_path: Path | None, db: str | None, env: Mapping[str, str], *, now: int, whole: bool = True
) -> list[Check]:
    """What works and what does not. Nothing is made or changed, but that tables of an older version are brought up.

    A quick look, not `whole`, leaves out what reads every row: on SQLite no commit ends while somebody reads.

    Without a readable configuration only the machine is examined: everything else depends on what the file says.
    """
    machine = [
        check
        for examination in checks_machine.CHECKS
        for check in _run(examination, Installation(Config(), env, now))
    ]
    try:
        config = load(config_path, env)
        config = with_database(config, db) if db else config
    except UsageError as error:
        faults = (
            [f"{error.path}: {fault}" for fault in error.faults]
            if isinstance(error, ConfigError)
            else [str(error)]
        )
        return [*machine, *(broken("configuration", fault) for fault in faults)]
    checks: list[Check] = []
    house = Installation(config, env, now, _opened(config, checks), whole)
    try:
        for examination in _CHECKS:
            if whole or not examination.reads_all:
                checks += _run(examination, house)
    finally:
        if house.store is not None:
            house.store.close()
    return [*machine, *checks]


def _opened(config: Config, checks: list[Check]) -> Store | None:
    """The database, when there is one; what keeps it from opening goes to the findings."""
    try:
        file = checks_place.file_of(config)
        if file is None or file.exists():
            return open_store(config.store.url, create=False, patience_s=5)
    except (RetroError, OSError) as error:
        checks.append(broken("database", str(error)))
    return None


def _run(examination: Examination, house: Installation) -> Iterator[Check]:
    try:
        yield from examination.look(house)
    except (RetroError, OSError) as error:
        yield broken(examination.name, str(error))

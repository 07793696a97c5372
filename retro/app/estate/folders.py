"""Where the files of agents lie, and the errands that bring them in line with what the database says of their agents."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memory.records import forget_records, reassign_records, records_of_agent
from retro.deliver.file import reviews_directory, safe_name
from retro.forge.request import branch_of
from retro.store.estate import errands

if TYPE_CHECKING:
    from pathlib import Path

    from retro.config import Config
    from retro.store.database import Store
    from retro.store.estate.errands import Errand

__all__ = ["EstateFolders", "FileCounts", "file_counts", "folders_of", "remove_files", "run_errands"]

_PREFIX: Final = "retro/playbook/"


@dataclass(frozen=True, slots=True)
class EstateFolders:
    """The folders in which every agent has files: reviews, records in YAML, patches of proposals."""

    reviews: Path
    records: Path
    patches: Path

    def reviews_of(self, agent: str) -> Path:
        """Where the files of an agent's reviews lie."""
        return self.reviews / safe_name(agent)

    def patches_of(self, agent: str) -> Path:
        """Where the patches of an agent's proposals lie."""
        return self.patches / branch_of(agent, "week").removeprefix(_PREFIX).rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How many files and records an agent has on this machine."""

    reviews: int
    patches: int
    experiments: int
    hypotheses: int


def folders_of(store: Store, config: Config) -> EstateFolders:
    """As configured; patches lie beside a SQLite database, else beside the records."""
    beside = store.path.parent if store.path is not None else config.memory.directory
    return EstateFolders(reviews_directory(config), config.memory.directory, beside / "playbook")


def file_counts(folders: EstateFolders, agent: str) -> FileCounts:
    """What an agent has in the folders."""
    records = records_of_agent(agent, folders.records)
    return FileCounts(
        _files_in(folders.reviews_of(agent)),
        _files_in(folders.patches_of(agent)),
        len(records.experiments),
        len(records.hypotheses),
    )


def _files_in(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def run_errands(store: Store, folders: EstateFolders) -> list[Errand]:
    """Do what is still to be done with files; what was done. An error leaves the errand for the next who comes."""
    with store.read() as conn:
        waiting = errands.open_errands(conn)
    for errand in waiting:
        _run(errand, folders)
        with store.write() as conn:
            errands.done(conn, errand)
    return waiting


def _run(errand: Errand, folders: EstateFolders) -> None:
    if errand.successor is None:
        remove_files(folders, errand.agent)
        return
    reassign_records(errand.agent, errand.successor, folders.records)
    if errand.kind == "rename":
        _move(folders.reviews_of(errand.agent), folders.reviews_of(errand.successor))


def remove_files(folders: EstateFolders, agent: str) -> None:
    """Delete everything of an agent in the folders of this machine."""
    forget_records(agent, folders.records)
    for folder in (folders.reviews_of(agent), folders.patches_of(agent)):
        if folder.is_dir():
            shutil.rmtree(folder)


def _move(old: Path, new: Path) -> None:
    """Rename a folder; where there is one already, file by file into it."""
    if not old.is_dir():
        return
    if not new.exists():
        old.rename(new)
        return
    for path in sorted(path for path in old.rglob("*") if path.is_file()):
        place = new / path.relative_to(old)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.replace(place)
    shutil.rmtree(old)

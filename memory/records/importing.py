"""Records from elsewhere: files of the same shape are taken in as they are, letter by letter.

Nothing is filled in: a metric that is missing stays missing. What is here already under the same id stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memory.errors import DamagedError, ExperienceError
from memory.records.experiment import EXPERIMENTS_DIR, experiment_of, files_in, path_of
from memory.records.files import Trouble, locked, read_text, update
from memory.records.hypothesis import HYPOTHESES_FILE, change_registry, entries_of, read_hypotheses

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True)
class Imported:
    """What became of the records of a source: each is stored, unchanged, a conflict or at fault."""

    source: str
    stored: int = 0
    unchanged: int = 0
    conflicts: list[Trouble] = field(default_factory=list)
    faults: list[Trouble] = field(default_factory=list)

    @property
    def events(self) -> int:
        """How many records were met."""
        return self.stored + self.unchanged + len(self.conflicts) + len(self.faults)

    def document(self) -> dict[str, Any]:
        """The document of an ingestion."""
        return {
            "source": self.source,
            "events": self.events,
            "stored": self.stored,
            "unchanged": self.unchanged,
            "conflicts": len(self.conflicts),
            "faults": [{"where": one.path, "line": None, "reason": one.reason} for one in self.faults],
        }


def import_records(source: Path, *, directory: Path) -> Imported:
    """Take in the experiments and hypotheses below a folder: one with `experiments/`, or one with the files.

    Doing so twice changes nothing. Raises `DamagedError` when the registry that is here cannot be read.
    """
    done = Imported(str(source))
    folder = source / EXPERIMENTS_DIR if (source / EXPERIMENTS_DIR).is_dir() else source
    for path in files_in(folder):
        if path.name == HYPOTHESES_FILE:
            continue
        try:
            _experiment(path, directory, done)
        except ExperienceError as error:
            done.faults.append(Trouble(str(path), str(error)))
        except OSError as error:
            done.faults.append(Trouble(str(path), error.strerror or str(error)))
    for registry in (source / HYPOTHESES_FILE, source.parent / HYPOTHESES_FILE):
        if registry.is_file() and (registry.parent == source or source.name == EXPERIMENTS_DIR):
            _hypotheses(registry, directory, done)
            break
    return done


def _experiment(path: Path, directory: Path, done: Imported) -> None:
    text = read_text(path) or ""
    record = experiment_of(text, path.stem)
    here = path_of(record["id"], directory)
    if here.resolve() == path.resolve():
        done.unchanged += 1
        return
    with locked(directory):
        known = read_text(here)
        if known is None:
            update(here, lambda there: text if there is None else None)
            done.stored += 1
        elif _same(known, record, here.stem):
            done.unchanged += 1
        else:
            done.conflicts.append(Trouble(str(path), f"{record['id']} is known here with other content"))


def _same(known: str, record: dict[str, Any], stem: str) -> bool:
    try:
        return experiment_of(known, stem) == record
    except DamagedError:
        return False


def _copied(path: Path, here: Path, directory: Path) -> bool:
    """Take a whole registry in as it is written, where there is none yet."""
    text = read_text(path)
    with locked(directory):
        return update(here, lambda there: text if there is None else None)


def _hypotheses(path: Path, directory: Path, done: Imported) -> None:
    found = read_hypotheses(path.parent)
    done.faults += found.troubles
    here = directory / HYPOTHESES_FILE
    if here.resolve() == path.resolve():
        done.unchanged += len(found.records)
        return
    if not found.troubles and _copied(path, here, directory):
        done.stored += len(found.records)
        return
    entries_of(read_text(here))  # a registry that cannot be read is told of at once
    counted = Imported(done.source)

    def change(entries: list[Any]) -> None:
        counted.stored, counted.unchanged, counted.conflicts = 0, 0, []
        known = {entry.get("id"): entry for entry in entries if isinstance(entry, dict)}
        for told in found.records:
            there = known.get(told["id"])
            if there is None:
                entries.append(told)
                counted.stored += 1
            elif there == told:
                counted.unchanged += 1
            else:
                reason = f"{told['id']} is another hypothesis here; give one of them another id"
                counted.conflicts.append(Trouble(str(path), reason))

    if found.records:
        change_registry(change, directory)
    done.stored += counted.stored
    done.unchanged += counted.unchanged
    done.conflicts += counted.conflicts

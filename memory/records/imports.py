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
            "faults": [{"where": fault.path, "line": None, "reason": fault.reason} for fault in self.faults],
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
    target = path_of(record["id"], directory)
    if target.resolve() == path.resolve():
        done.unchanged += 1
        return
    with locked(directory):
        stored_text = read_text(target)
        if stored_text is None:
            update(target, lambda current: text if current is None else None)
            done.stored += 1
        elif _same(stored_text, record, target.stem):
            done.unchanged += 1
        else:
            done.conflicts.append(Trouble(str(path), f"{record['id']} is known here with other content"))


def _same(stored_text: str, record: dict[str, Any], stem: str) -> bool:
    try:
        return experiment_of(stored_text, stem) == record
    except DamagedError:
        return False


def _copied(path: Path, target: Path, directory: Path) -> bool:
    """Take a whole registry in as it is written, where there is none yet."""
    text = read_text(path)
    with locked(directory):
        return update(target, lambda current: text if current is None else None)


def _hypotheses(path: Path, directory: Path, done: Imported) -> None:
    registry = read_hypotheses(path.parent)
    done.faults += registry.troubles
    target = directory / HYPOTHESES_FILE
    if target.resolve() == path.resolve():
        done.unchanged += len(registry.records)
        return
    if not registry.troubles and _copied(path, target, directory):
        done.stored += len(registry.records)
        return
    entries_of(read_text(target))  # a registry that cannot be read is told of at once
    counted = Imported(done.source)

    def change(entries: list[Any]) -> None:
        counted.stored, counted.unchanged, counted.conflicts = 0, 0, []
        entry_by_id = {entry.get("id"): entry for entry in entries if isinstance(entry, dict)}
        for record in registry.records:
            stored = entry_by_id.get(record["id"])
            if stored is None:
                entries.append(record)
                counted.stored += 1
            elif stored == record:
                counted.unchanged += 1
            else:
                reason = f"{record['id']} is another hypothesis here; give one of them another id"
                counted.conflicts.append(Trouble(str(path), reason))

    if registry.records:
        change_registry(change, directory)
    done.stored += counted.stored
    done.unchanged += counted.unchanged
    done.conflicts += counted.conflicts

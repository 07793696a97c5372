"""Hypotheses: what is still open and what was settled, one registry `hypotheses.yaml`. Source: docs/memory.md, Records."""

from __future__ import annotations

import logging
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from memory.errors import DamagedError, MissingError, RefusedError
from memory.records.experiment import MEMORY_DIR, TIMED_ID, overlaid
from memory.records.files import Trouble, locked, read_text, update
from memory.records.splice import rewritten
from memory.records.text import block, read, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

HYPOTHESES_FILE: Final = "hypotheses.yaml"
Status = Literal["untested", "validated", "refuted", "inconclusive"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
_NUMBERED: Final = re.compile(r"H_(\d{1,9})", re.ASCII)
_KEY: Final = "hypotheses"
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A testable claim. An empty `id` is given the next number when it is saved; `created` is RFC 3339 text."""

    id: str
    text: str
    source_experiment: str
    rationale: str
    status: str = "untested"
    tested_by: list[str] = field(default_factory=list)
    created: str = ""
    agent: str | None = None

    def document(self) -> dict[str, Any]:
        """The entry as it is written; one that names no agent has no such key."""
        return {name: value for name, value in asdict(self).items() if name != "agent" or value is not None}


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The hypotheses that can be read, in the order of the file, and what could not be."""

    records: tuple[dict[str, Any], ...]
    troubles: tuple[Trouble, ...]


def get_open_hypotheses(*, directory: Path = MEMORY_DIR) -> list[dict[str, Any]]:
    """The hypotheses nobody has tested yet."""
    return [hypothesis for hypothesis in get_all_hypotheses(directory=directory) if is_open(hypothesis)]


def is_open(hypothesis: Mapping[str, Any]) -> bool:
    """Whether it waits to be tested; one that states no status does."""
    return hypothesis.get("status") in ("untested", None)


def get_all_hypotheses(*, directory: Path = MEMORY_DIR) -> list[dict[str, Any]]:
    """All hypotheses whatever their status; none without a file. What is damaged is logged and passed over."""
    registry = read_hypotheses(directory)
    for trouble in registry.troubles:
        _log.warning("%s: %s", trouble.path, trouble.reason)
    return list(registry.records)


def read_hypotheses(directory: Path = MEMORY_DIR) -> Hypotheses:
    """The registry of a directory, with what is damaged beside it."""
    path = directory / HYPOTHESES_FILE
    try:
        entries = entries_of(read_text(path))
    except (DamagedError, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Hypotheses((), (Trouble(str(path), reason),))
    sound: list[dict[str, Any]] = []
    troubles: list[Trouble] = []
    ids: set[str] = set()
    for number, entry in enumerate(entries, 1):
        fault = _fault(entry, ids)
        if fault:
            troubles.append(Trouble(str(path), f"entry {number}: {fault}"))
        else:
            ids.add(entry["id"])
            sound.append(entry)
    return Hypotheses(tuple(sound), tuple(troubles))


def _fault(entry: Any, ids: set[str]) -> str | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
        return "holds no hypothesis: a mapping with id, text and status"
    if entry["id"] in ids:
        return f"the id {entry['id']} stands twice"
    return None if isinstance(entry.get("text"), str) else f"{entry['id']} has no text"


def entries_of(text: str | None) -> list[Any]:
    """The entries of the registry's text, sound or not; raises `DamagedError` when it holds no list of them."""
    content = read(text or "")
    if isinstance(content, dict):
        content = content.get(_KEY)
    if content is None:
        return []
    if not isinstance(content, list):
        raise DamagedError(f"holds no list of {_KEY}")
    return content


def generate_hypothesis_id(*, directory: Path = MEMORY_DIR) -> str:
    """The id the next hypothesis would be given; `save_hypothesis` takes it under the lock."""
    return next_id(entries_of(read_text(directory / HYPOTHESES_FILE)))


def next_id(entries: Iterable[Any]) -> str:
    """`H_001` and so on: one more than the largest number in use."""
    matches = [_NUMBERED.fullmatch(str(entry.get("id"))) for entry in entries if isinstance(entry, dict)]
    return f"H_{max((int(match[1]) for match in matches if match), default=0) + 1:03d}"


def save_hypothesis(hypothesis: Hypothesis | Mapping[str, Any], *, directory: Path = MEMORY_DIR) -> str:
    """Add a hypothesis, or write over the one of its id, whose other keys stay; gives its id.

    Raises `RefusedError` for a status that is none, or a missing text.
    """
    document = storable(hypothesis.document() if isinstance(hypothesis, Hypothesis) else dict(hypothesis))
    if document.get("status") not in STATUSES:
        raise RefusedError(f"status: must be one of {', '.join(STATUSES)}")
    if not isinstance(document.get("text"), str) or not document["text"].strip():
        raise RefusedError("text: is required")
    saved = str(document.get("id") or "")

    def change(entries: list[Any]) -> None:
        nonlocal saved
        saved = str(document.get("id") or "") or next_id(entries)
        for place, entry in enumerate(entries):
            if isinstance(entry, dict) and entry.get("id") == saved:
                entries[place] = overlaid(entry, document)
                return
        entries.append({**document, "id": saved})

    change_registry(change, directory)
    return saved


def update_hypothesis_status(
    hypothesis_id: str, status: str, tested_by_experiment: str, *, directory: Path = MEMORY_DIR
) -> None:
    """Set a hypothesis' status and note which experiment tested it; raises `MissingError` without such a one."""
    if status not in STATUSES:
        raise RefusedError(f"status: must be one of {', '.join(STATUSES)}")

    def change(entries: list[Any]) -> None:
        for place, entry in enumerate(entries):
            if isinstance(entry, dict) and entry.get("id") == hypothesis_id:
                entries[place] = tested(entry, tested_by_experiment) | {"status": status}
                return
        raise MissingError(f"there is no hypothesis {hypothesis_id}")

    change_registry(change, directory)


def tested(entry: Mapping[str, Any], experiment: str) -> dict[str, Any]:
    """The entry with one more experiment that tested it, each once, in the order of the time their ids name."""
    before = entry.get("tested_by")
    by = list(before) if isinstance(before, list) else []
    if experiment not in by:
        later = (place for place, name in enumerate(by) if _is_later(name, experiment))
        by.insert(next(later, len(by)), experiment)
    return {**entry, "tested_by": by}


def _is_later(name: object, experiment: str) -> bool:
    """Whether both ids name a time and the first comes after the second; ids of one time go by their digest."""
    is_timed = isinstance(name, str) and TIMED_ID.match(name) and TIMED_ID.match(experiment)
    return bool(is_timed) and str(name) > experiment


def change_registry(change: Callable[[list[Any]], None], directory: Path) -> None:
    """Let `change` alter the entries in place, under the lock and on what the file holds by then.

    Raises `DamagedError` when the file cannot be read: it is never written over.
    """

    def rewrite(text: str | None) -> str:
        entries = entries_of(text)
        change(entries)
        whole = read(text or "")
        wanted: Any = entries
        if not isinstance(whole, list):
            wanted = {**(whole or {}), _KEY: entries}
        if text is None:
            return block(wanted)
        return rewritten(text, wanted)

    with locked(directory):
        update(directory / HYPOTHESES_FILE, rewrite)

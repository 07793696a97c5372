"""Experiments: what was tried and what came of it, one YAML file each.

Ids and verdicts of other people's records are kept as they are, as is every key we do not know. A metric that is
missing is missing: it is never 0, and no symbol or timeframe stands in for one that was not stated.
Source: docs/memory.md, Records.
"""

from __future__ import annotations

import hashlib
import logging
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from memory.errors import DamagedError, RefusedError
from memory.instants import EPOCH
from memory.records.files import Trouble, locked, read_text, update
from memory.records.splice import rewritten
from memory.records.text import block, read, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MEMORY_DIR: Final = Path("memory_data")
EXPERIMENTS_DIR: Final = "experiments"
Verdict = Literal["strong_signal", "weak_signal", "no_signal", "overfit"]
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}", re.ASCII)
TIMED_ID: Final = re.compile(r"exp_\d{8}_\d{6}_", re.ASCII)
"""How the ids begin that `generate_experiment_id` makes: their order is that of the instants."""
LONG_AGO: Final = -(1 << 62)
"""What stands for the time of a record that states none."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExperimentRecord:
    """One experiment: `context` says what was tried, `results` what happened, `assessment` what was made of it.

    `assessment` holds verdict (strong_signal, weak_signal, no_signal, overfit), observations, hypotheses, limitations
    and capability_requests; `source` is `agent`, `review`, or whatever a foreign record says. `agent` is whose it is.
    """

    id: str
    timestamp: str
    strategy_name: str
    context: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    assessment: dict[str, Any] = field(default_factory=dict)
    source: str = "agent"
    agent: str | None = None

    def document(self) -> dict[str, Any]:
        """The record as it is written; one that names no agent has no such key."""
        return {name: value for name, value in asdict(self).items() if name != "agent" or value is not None}


@dataclass(frozen=True, slots=True)
class Experiments:
    """The records that can be read, newest first, and what could not be."""

    records: tuple[dict[str, Any], ...]
    troubles: tuple[Trouble, ...]


def generate_experiment_id(at: int, *of: str) -> str:
    """The id `exp_YYYYMMDD_HHMMSS_xxxxxx` of the experiment at an instant (microseconds) about these words.

    The same instant and words give the same id, so that whoever writes a record again writes the same file.
    """
    digest = hashlib.blake2b("\0".join(of).encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"exp_{EPOCH + timedelta(microseconds=at):%Y%m%d_%H%M%S}_{digest}"


def load_experiments(
    n: int | None = 15, *, directory: Path = MEMORY_DIR, as_of: int | None = None
) -> list[dict[str, Any]]:
    """The n newest experiments (None: all) by their timestamp; those later than `as_of` are left out first.

    No directory is no experiments. Damaged files are logged and passed over.
    """
    experiments = read_experiments(directory, as_of=as_of)
    for trouble in experiments.troubles:
        _log.warning("%s: %s", trouble.path, trouble.reason)
    return list(experiments.records[:n])


def read_experiments(directory: Path = MEMORY_DIR, *, as_of: int | None = None) -> Experiments:
    """Every experiment of a directory, newest first, with what is damaged beside them."""
    records: dict[str, dict[str, Any]] = {}
    troubles = []
    for path in files_in(directory / EXPERIMENTS_DIR):
        try:
            record = experiment_of(read_text(path), path.stem)
            if records.setdefault(record["id"], record) is not record:
                troubles.append(Trouble(str(path), f"the id {record['id']} stands in another file too"))
        except DamagedError as error:
            troubles.append(Trouble(str(path), str(error)))
        except OSError as error:
            troubles.append(Trouble(str(path), error.strerror or str(error)))
    selected = [
        experiment
        for experiment in records.values()
        if as_of is None or moment(experiment.get("timestamp")) <= as_of
    ]
    return Experiments(tuple(sorted(selected, key=_order)), tuple(troubles))


def files_in(folder: Path) -> list[Path]:
    """The YAML files of a folder in order of name; none when there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if path.suffix in (".yaml", ".yml") and path.name[:1] != "."
    )


def experiment_of(text: str | None, stem: str) -> dict[str, Any]:
    """The record of a file's text; its name stands in for a missing id. Raises `DamagedError`."""
    record = read(text or "")
    if not isinstance(record, dict):
        raise DamagedError("holds no experiment: a mapping with id, timestamp, context, results, assessment")
    for name in ("context", "results", "assessment"):
        part = record.get(name)
        if part is not None and not isinstance(part, dict):
            raise DamagedError(f"{name} is no mapping")
        record[name] = part or {}
    identity = record.get("id")
    return {**record, "id": stem if identity is None or identity == "" else str(identity)}


def moment(stated: object) -> int:
    """Microseconds of a stated time, however loosely written; no offset means UTC. Long ago when it is no time."""
    try:
        at = datetime.fromisoformat(str(stated))
    except ValueError:
        return LONG_AGO
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    try:
        return (at - EPOCH) // timedelta(microseconds=1)
    except OverflowError:
        return LONG_AGO


def _order(record: dict[str, Any]) -> tuple[int, bool, str]:
    """Newest first; of one instant the whole before its parts (one heuristic each), then by id."""
    return -moment(record.get("timestamp")), "heuristic" in record["context"], record["id"]


def save_experiment(record: ExperimentRecord | Mapping[str, Any], *, directory: Path = MEMORY_DIR) -> Path:
    """Write an experiment to `experiments/ID.yaml`; a file that is there keeps its comments and its other keys.

    Raises `RefusedError` for an id that is no file name or a value that is not finite, `DamagedError` when the file that is
    there cannot be read.
    """
    document = storable(record.document() if isinstance(record, ExperimentRecord) else dict(record))
    path = path_of(document.get("id"), directory)
    with locked(directory):
        update(path, _onto(document))
    return path


def path_of(identity: object, directory: Path) -> Path:
    """Where the experiment of that id is kept; raises `RefusedError` for one that cannot name a file."""
    if not isinstance(identity, str) or not _NAME.fullmatch(identity):
        raise RefusedError("id: must be 1 to 200 of A-Za-z0-9._+- and begin with a letter, digit or _")
    return directory / EXPERIMENTS_DIR / f"{identity}.yaml"


def _onto(document: dict[str, Any]) -> Callable[[str | None], str]:
    def change(text: str | None) -> str:
        if text is None:
            return block(document)
        stored = experiment_of(text, document["id"])
        return rewritten(text, overlaid(stored, document))

    return change


def overlaid(stored: dict[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """The stored entry with a document written over it; keys that the document lacks stay."""
    out = dict(stored)
    for name, value in document.items():
        mine = out.get(name)
        out[name] = overlaid(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return out

"""Every record of one agent in a folder of several: counted, deleted, given to another name, carried elsewhere.

Damaged files belong to nobody that can be read off them, and stay. Doing a thing twice is as good as once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from memory.errors import DamagedError, RefusedError
from memory.records.experiment import EXPERIMENTS_DIR, experiment_of, files_in, path_of
from memory.records.files import locked, read_text, update
from memory.records.hypothesis import HYPOTHESES_FILE, change_registry, entries_of, next_id
from memory.records.owner import agent_of_experiment, agent_of_hypothesis
from memory.records.splice import Unwritable, rewritten
from memory.records.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["AgentRecords", "forget_records", "import_copies", "reassign_records", "records_of_agent"]


@dataclass(frozen=True, slots=True)
class AgentRecords:
    """An agent's experiments, id -> the text of the file, and its entries of the registry of hypotheses."""

    experiments: dict[str, str]
    hypotheses: tuple[dict[str, Any], ...]


def records_of_agent(agent: str, directory: Path) -> AgentRecords:
    """What a folder holds of an agent; nothing where there is no folder."""
    owners: dict[str, str | None] = {}
    own: dict[str, str] = {}
    for _, identity, text, owner in _experiments(directory):
        owners[identity] = owner
        if owner == agent:
            own[identity] = text
    try:
        entries = entries_of(read_text(directory / HYPOTHESES_FILE))
    except DamagedError:
        entries = []
    mine = [entry for entry in entries if _is_of(entry, agent, owners)]
    return AgentRecords(own, tuple(mine))


def _experiments(directory: Path) -> Iterator[tuple[Path, str, str, str | None]]:
    """(file, id, text, agent) of every experiment that can be read."""
    for path in files_in(directory / EXPERIMENTS_DIR):
        text = read_text(path)
        if text is None:
            continue
        try:
            record = experiment_of(text, path.stem)
        except DamagedError:
            continue
        yield path, record["id"], text, agent_of_experiment(record)


def _is_of(entry: Any, agent: str, owners: Mapping[str, str | None]) -> bool:
    return isinstance(entry, dict) and agent_of_hypothesis(entry, owners) == agent


def forget_records(agent: str, directory: Path) -> None:
    """Delete an agent's records. The registry goes before the experiments, which say whose some of its entries are."""
    if not directory.is_dir():
        return
    mine = records_of_agent(agent, directory)
    owners = {identity: owner for _, identity, _, owner in _experiments(directory)}
    if mine.hypotheses:
        _drop(agent, directory, owners)
    with locked(directory):
        for path, _, _, owner in list(_experiments(directory)):
            if owner == agent:
                path.unlink(missing_ok=True)


def _drop(agent: str, directory: Path, owners: Mapping[str, str | None]) -> None:
    def change(entries: list[Any]) -> None:
        entries[:] = [entry for entry in entries if not _is_of(entry, agent, owners)]

    try:
        change_registry(change, directory)
    except Unwritable:  # nothing would be left in it
        path = directory / HYPOTHESES_FILE
        if not all(_is_of(entry, agent, owners) for entry in entries_of(read_text(path))):
            raise
        with locked(directory):
            path.unlink()


def reassign_records(agent: str, successor: str, directory: Path) -> None:
    """Let an agent's records name its successor. Review ids in them stay as they were written."""
    if not directory.is_dir():
        return
    owners = {identity: owner for _, identity, _, owner in _experiments(directory)}

    def change(entries: list[Any]) -> None:
        for place, entry in enumerate(entries):
            if _is_of(entry, agent, owners):
                entries[place] = {**entry, "agent": successor}

    if records_of_agent(agent, directory).hypotheses:
        change_registry(change, directory)
    with locked(directory):
        for path, _, _, owner in list(_experiments(directory)):
            if owner == agent:
                update(path, lambda text: _renamed(text, agent, successor))


def _renamed(text: str | None, agent: str, successor: str) -> str | None:
    if text is None:
        return None
    stored = experiment_of(text, "")
    wanted = {name: value for name, value in stored.items() if name != "id" or value}
    wanted["agent"] = successor
    if wanted["context"].get("agent") == agent:
        wanted["context"] = {**wanted["context"], "agent": successor}
    if wanted.get("strategy_name") == agent:
        wanted["strategy_name"] = successor
    return rewritten(text, wanted)


def import_copies(
    experiments: Mapping[str, str], hypotheses: Sequence[Mapping[str, Any]], directory: Path
) -> None:
    """Write an agent's records as they were carried here; what stands here with the same content stays.

    An experiment of that id with other content is refused before anything is written. A hypothesis whose number is in
    use gets the next.
    """
    if not experiments and not hypotheses:
        return
    clashes = [
        name for name, text in experiments.items() if read_text(path_of(name, directory)) not in (None, text)
    ]
    if clashes:
        raise RefusedError(
            f"experiments of these ids are there with other content: {', '.join(sorted(clashes))}"
        )

    def change(entries: list[Any]) -> None:
        unnumbered = [_unnumbered(entry) for entry in entries if isinstance(entry, dict)]
        for entry in hypotheses:
            if _unnumbered(entry) in unnumbered:
                continue
            in_use = {other.get("id") for other in entries if isinstance(other, dict)}
            identity = next_id(entries) if entry.get("id") in in_use else entry["id"]
            entries.append(storable({**entry, "id": identity}))

    with locked(directory):
        for name, text in experiments.items():
            update(path_of(name, directory), partial(_instead, text))
    if hypotheses:
        change_registry(change, directory)


def _instead(text: str, _: str | None) -> str:
    return text


def _unnumbered(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "id"}

"""`retro export --to`: everything of all agents as Parquet, by bucket and quarter, for questions asked of a fleet.

Each agent is read in a transaction of its own, settled first where it is behind: no snapshot is held for long. A file is
named after its digest and stands before the manifest names it; what no manifest names any more goes last. So whoever
reads by the manifest sees one export, whole, whenever this is killed.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.app.estate.fleet.manifest import FLEET_MANIFEST, TABLES, FleetManifest, PartitionFile, is_ours
from retro.app.estate.fleet.partitions import BucketPartitions, arrow_types, require_parquet
from retro.app.estate.fleet.places import opened_place
from retro.app.estate.fleet.rows import add_agent, add_marks
from retro.app.settlement.settle import settled_book
from retro.errors import RetroError
from retro.store.facts import agents
from retro.store.facts.agents import Agent
from retro.store.locks import BUCKETS, bucket_of
from retro.version import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from retro.app.settlement.settings import AgentSettings
    from retro.secret import Secret
    from retro.store.database import Store

__all__ = ["SHARED_BUCKET", "FleetExport", "export_fleet"]

SHARED_BUCKET: Final = BUCKETS
"""Where marks lie that are nobody's own: after the buckets of agents."""


@dataclass(slots=True)
class FleetExport:
    """What an export came to: its rows by table, its files, how many of them were new, how many old ones went."""

    rows: Counter[str] = field(default_factory=Counter)
    files: int = 0
    bytes: int = 0
    written: int = 0
    removed: int = 0


def export_fleet(
    store: Store,
    settings_for: Callable[[Agent], AgentSettings],
    location: str,
    secrets: Iterable[Secret] = (),
    progress: Callable[[int, int], None] = lambda *_: None,
) -> FleetExport:
    """Bring the export at a path or `s3://` up to date; `progress` is told how many agents of how many are done.

    `RetroError` where pyarrow is missing, the place refuses, or a line holds the value of a secret; then what was
    there stands.
    """
    require_parquet()
    with (
        tempfile.TemporaryDirectory(prefix="retro-export-") as spool,
        opened_place(location, Path(spool)) as place,
    ):
        before = place.read(FLEET_MANIFEST)
        if before is not None:
            FleetManifest.read(before, location.partition("?")[0])
        there = {name for table in TABLES for name in place.names(table)}
        export, files = FleetExport(), list[PartitionFile]()
        for partitions in _partitions(store, settings_for, place.spool, _refusal_of(secrets), progress):
            for path, file in partitions.finish():
                files.append(file)
                if file.name in there:
                    path.unlink()
                else:
                    place.put(file.name, path)
                    export.written += 1
        manifest = FleetManifest(DEFINITIONS, tuple(files)).text()
        if manifest != before:
            written = place.spool / FLEET_MANIFEST
            written.write_text(manifest, encoding="utf-8")
            place.put(FLEET_MANIFEST, written)
        for name in sorted(filter(is_ours, there - {file.name for file in files})):
            place.remove(name)
            export.removed += 1
    for file in files:
        export.rows[file.table] += file.rows
        export.bytes += file.bytes
    export.files = len(files)
    return export


def _partitions(
    store: Store,
    settings_for: Callable[[Agent], AgentSettings],
    spool: Path,
    refuse: Callable[[str, str], None],
    progress: Callable[[int, int], None],
) -> Iterator[BucketPartitions]:
    """The buckets that have agents, one after another, and then the shared marks."""
    types = arrow_types()
    with store.read() as conn:
        known_agents = agents.agents(conn)
    buckets = defaultdict[int, list[Agent]](list)
    for agent in known_agents:
        buckets[bucket_of(agent.name)].append(agent)
    done = 0
    for bucket, some in sorted(buckets.items()):
        partitions = BucketPartitions(bucket, spool, types)
        for agent in some:
            with settled_book(store, agent.name, settings_for(agent)) as book:
                add_agent(book, partitions.add, refuse)
            done += 1
            progress(done, len(known_agents))
        yield partitions
    shared = BucketPartitions(SHARED_BUCKET, spool, types)
    with store.read() as conn:
        add_marks(conn, None, shared.add)
    yield shared


def _refusal_of(secrets: Iterable[Secret]) -> Callable[[str, str], None]:
    """What refuses a text, called by its name, that holds the value of a secret."""
    values = {spelling for secret in secrets for spelling in _spellings(secret.reveal())}

    def refuse(name: str, text: str) -> None:
        if any(value in text for value in values):
            raise RetroError(
                f"{name} would hold the value of a secret that is set here: nothing is exported;"
                " change that secret, and correct the event that tells it"
            )

    return refuse


def _spellings(value: str) -> set[str]:
    """A secret as text and as JSON writes it."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]} if value else set()

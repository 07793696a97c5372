"""Items that grow into one: short ones about one thing become a mid item, a reflection is not stored twice."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from memory.errors import RefusedError
from memory.instants import written
from memory.library import intake
from memory.library.embedder import Embedded
from memory.library.item import LibraryItem, from_document
from memory.library.layers.groups import medoid, similar_groups
from memory.library.layers.preset import LAYERS, MID
from memory.library.layers.reflections import SAME_FROM
from memory.library.steps import archive_texts
from memory.store import layers as rows
from memory.store import library as items
from memory.store import vectors as meanings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from memory.library.layers.preset import LayerPreset
    from memory.store.layers import StoredState

__all__ = [
    "CondensedGroup",
    "ReflectionNote",
    "condensable",
    "condense",
    "condensed_id",
    "reflect",
    "reflection_id",
]

_DIGITS: Final = 5
_REFLECTION: Final = "reflection"


@dataclass(frozen=True, slots=True)
class CondensedGroup:
    """Short items of a symbol that are about one thing, in order of arrival; `medoid` speaks for them."""

    members: tuple[str, ...]
    medoid: str


@dataclass(frozen=True, slots=True)
class ReflectionNote:
    """A reflection on a symbol to store: its words, what it rests on, and what its metadata says of it."""

    symbol: str
    at: int
    text: str
    parents: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


def condensable(conn: Connection, agent: str, symbol: str, *, at: int) -> tuple[CondensedGroup, ...]:
    """The groups that may condense now: by vectors of the model that is searched; none where there are no vectors."""
    model = items.head(conn, agent).model
    short = [row for row in rows.states_of(conn, agent, symbol) if row.layer == LAYERS[0] and row.at <= at]
    if model is None:
        return ()
    blobs = meanings.of_ids(conn, agent, model, [row.id for row in short])
    ids = [row.id for row in short if row.id in blobs]
    matrix = np.array([np.frombuffer(blobs[name], dtype="<f4") for name in ids], dtype=np.float32)
    return tuple(
        CondensedGroup(tuple(ids[row] for row in group), ids[medoid(matrix, group)])
        for group in (similar_groups(matrix) if ids else ())
    )


def condense(
    conn: Connection,
    agent: str,
    symbol: str,
    group: CondensedGroup,
    *,
    at: int,
    preset: LayerPreset,
    words: str | None = None,
    embedded: Embedded | None = None,
) -> str | None:
    """Make one mid item of a group; its id, or None where a member is no longer short. The caller owns the transaction.

    `words` are a model's, `embedded` holds their vector under (agent, the new id: `condensed_id`); without words the
    medoid speaks, with its vector. The members are the parents; they lie in the archive and say into what they went.
    """
    now = items.lock(conn, agent)
    present = {row.id: row for row in rows.states_of(conn, agent, symbol) if row.layer == LAYERS[0]}
    if not set(group.members) <= present.keys():
        return None
    stored = items.rows(conn, agent, group.members)
    speaker = stored[group.medoid]
    identity = condensed_id(group)
    if speaker.text is None:
        return None
    spokesman = from_document(agent, speaker.document, speaker.text)
    item = LibraryItem(
        id=identity,
        agent=agent,
        at=at,
        text=words or spokesman.text,
        collection=spokesman.collection,
        symbol=symbol or None,
        layer=LAYERS[MID],
        importance=preset.start_importance(MID, identity, f"{agent}\0{symbol}"),
        metadata={"condensed": len(group.members), "worded_by": "model" if words else "code"},
        parents=tuple(sorted(group.members)),
    )
    if words is None and now.model is not None and now.dimensions is not None:
        blob = meanings.of_ids(conn, agent, now.model, [group.medoid]).get(group.medoid)
        vectors = {} if blob is None else {(agent, identity): blob}
        embedded = Embedded(now.model, now.dimensions, vectors)
    if intake.add(conn, [item], embedded=embedded).stored != 1:
        raise RefusedError(f"item {identity} is in the library already, with other content")
    archive_texts(conn, agent, at, dict.fromkeys(group.members, f"condensed into {identity}"))
    rows.drop_states(conn, agent, group.members)
    items.changed(conn, agent, items.lock(conn, agent), "condense", identity)
    return identity


def condensed_id(group: CondensedGroup) -> str:
    """The id of what a group becomes: that of its members, in any order."""
    return (
        "condensed-" + hashlib.blake2b("\0".join(sorted(group.members)).encode(), digest_size=8).hexdigest()
    )


def reflect(conn: Connection, agent: str, note: ReflectionNote, embedded: Embedded | None = None) -> str:
    """Store a reflection; one like it, or with its very words, takes the date instead. The id it stands under.

    `embedded` holds its vector under (agent, `reflection_id`); without it only the same words are the same.
    """
    items.lock(conn, agent)
    identity = reflection_id(note)
    twin = _twin(conn, agent, note, None if embedded is None else embedded.vectors.get((agent, identity)))
    if twin is None:
        item = LibraryItem(
            id=identity,
            agent=agent,
            at=note.at,
            text=note.text,
            collection="lessons_learned",
            symbol=note.symbol or None,
            layer=_REFLECTION,
            metadata={"worded_by": "code", **note.metadata},
            parents=note.parents,
        )
        done = intake.add(conn, [item], embedded=embedded)
        if done.conflicts or done.faults:
            raise RefusedError(f"reflection {identity} could not be stored")
    subject = twin or identity
    document = msgspec.json.encode({"again": twin is not None}).decode()
    rows.note(conn, agent, [rows.LayerEvent(note.symbol, note.at, _REFLECTION, subject, document)])
    return subject


def reflection_id(note: ReflectionNote) -> str:
    """The id of a reflection on a symbol at an instant."""
    return f"reflection-{note.symbol or 'all'}-{written(note.at)}"


def _twin(conn: Connection, agent: str, note: ReflectionNote, vector: bytes | None) -> str | None:
    """The reflection on this symbol that the new one repeats; None where there is none."""
    earlier = [row for row in rows.states_of(conn, agent, note.symbol) if row.layer == _REFLECTION]
    stored = items.rows(conn, agent, [row.id for row in earlier])
    twin = next((row.id for row in earlier if stored[row.id].text == note.text), None)
    model = items.head(conn, agent).model
    if twin is not None or vector is None or model is None or not earlier:
        return twin
    return _nearest(conn, agent, model, earlier, vector)


def _nearest(
    conn: Connection, agent: str, model: str, earlier: Sequence[StoredState], vector: bytes
) -> str | None:
    """The first of the reflections most like a vector, where it is at least `SAME_FROM`."""
    blobs = meanings.of_ids(conn, agent, model, [row.id for row in earlier])
    ids = [row.id for row in earlier if row.id in blobs]
    if not ids:
        return None
    matrix = np.array([np.frombuffer(blobs[name], dtype="<f4") for name in ids], dtype=np.float64)
    alike = (matrix * np.frombuffer(vector, dtype="<f4").astype(np.float64)).sum(axis=1).round(_DIGITS)
    best = int(alike.argmax())
    return ids[best] if alike[best] >= SAME_FROM else None

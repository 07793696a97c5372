"""A library as lines of JSON and back: the same bytes from SQLite and from PostgreSQL, and from what was imported again.

One line is the head of a library, an item with its vector, layer and place, or a tombstone. When an item was last used is
not carried: that is a matter of the database it lies in.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memory.errors import RefusedError
from memory.instants import instant, written
from memory.json_lines import parsed
from memory.library.archive import archive_items
from memory.library.columns import seal
from memory.library.embedder import Embedded
from memory.library.intake import AddedItems, add, get_many
from memory.library.item import ItemFault, LibraryItem, item_as_json, item_of
from memory.store import archives, vectors
from memory.store import library as rows
from memory.store.layers import drop_states
from memory.store.library import Edge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

__all__ = ["export_lines", "import_lines"]

_AT_ONCE: Final = 500
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def export_lines(conn: Connection, agents: Sequence[str]) -> Iterator[str]:
    """Every line of these libraries, in order of agent and id, without line ends."""
    for agent in sorted(agents):
        now = rows.head(conn, agent)
        head = {"kind": "library", "agent": agent or None, "model": now.model, "dimensions": now.dimensions}
        yield _ENCODER.encode(head).decode("utf-8")
        stored = rows.all_rows(conn, agent)
        while batch := [row.id for row in islice(stored, _AT_ONCE)]:
            yield from _item_lines(conn, agent, now.model, batch)
        for stone in rows.all_tombstones(conn, agent):
            links = [[edge.parent, edge.kind] for edge in rows.edges_up(conn, (agent,), [stone.id])]
            line = {"kind": "forgotten", "agent": agent or None, "id": stone.id, "at": written(stone.at)}
            yield _ENCODER.encode(line | {"who": stone.who, "edges": links}).decode("utf-8")


def _item_lines(conn: Connection, agent: str, model: str | None, ids: Sequence[str]) -> Iterator[str]:
    stored = rows.rows(conn, agent, ids)
    meanings = vectors.of_ids(conn, agent, model, ids) if model else {}
    states = rows.layer_rows(conn, agent, ids)
    for item in get_many(conn, agent, ids):
        row, raw, state = stored[item.id], meanings.get(item.id), states.get(item.id)
        line: dict[str, Any] = {
            "kind": "item",
            "item": item_as_json(item),
            "state": state and state._asdict(),
        }
        if row.archived_at is not None:
            line["archived"] = {"at": written(row.archived_at), "reason": row.archive_reason}
        if raw is not None:
            line["vector"] = {
                "data": b64encode(raw).decode("ascii"),
                "sha256": hashlib.sha256(raw).hexdigest(),
            }
        yield _ENCODER.encode(line).decode("utf-8")


def import_lines(
    conn: Connection,
    lines: Iterable[bytes | str],
    where: str = "-",
    *,
    first: int = 1,
    models: dict[str, tuple[str, int]] | None = None,
) -> AddedItems:
    """Take in what `export_lines` gave, in the caller's transaction; what is there already stays as it is.

    A line that is none, or whose vector is not what its checksum says, is a fault and nothing of it is stored. A part
    of an export says the number of its `first` line; all parts share `models` (agent -> name, dimensions), which fill.
    """
    total, models = AddedItems(), {} if models is None else models
    for number, text in enumerate(lines, start=first):
        try:
            plain = text.decode("utf-8") if isinstance(text, bytes) else text
            if plain.strip():
                total += _take(conn, parsed(plain), models)
        except (RefusedError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            total += AddedItems(faults=(ItemFault(where, number, reason),))
    for agent in sorted(models):
        seal(conn, agent, rows.lock(conn, agent))
    return total


def _take(conn: Connection, line: Mapping[str, Any], models: dict[str, tuple[str, int]]) -> AddedItems:
    kind = line.get("kind")
    if kind == "library":
        if line["model"] is not None:
            models[line["agent"] or ""] = (str(line["model"]), int(line["dimensions"]))
        return AddedItems()
    if kind == "forgotten":
        return _bury(conn, line)
    if kind != "item":
        raise RefusedError("kind: must be library, item or forgotten")
    item = item_of(line["item"])
    done = add(conn, [item], embedded=_vector(line, item, models), sealing=False)
    if done.stored:
        if line.get("state") is not None:
            rows.put_layer(conn, item.agent, item.id, line["state"])
        else:
            drop_states(conn, item.agent, [item.id])  # it has left the layers in which it would begin
        if line.get("archived") is not None:
            archive_items(
                conn, item.agent, [item.id], instant(line["archived"]["at"]), str(line["archived"]["reason"])
            )
    return done


def _vector(
    line: Mapping[str, Any], item: LibraryItem, models: Mapping[str, tuple[str, int]]
) -> Embedded | None:
    if line.get("vector") is None:
        return None
    if item.agent not in models:
        raise RefusedError("vector: no line before it says which model made it")
    model, dimensions = models[item.agent]
    raw = b64decode(line["vector"]["data"], validate=True)
    if hashlib.sha256(raw).hexdigest() != line["vector"]["sha256"] or len(raw) != 4 * dimensions:
        raise RefusedError("vector: is not what its checksum says")
    return Embedded(model, dimensions, {(item.agent, item.id): raw})


def _bury(conn: Connection, line: Mapping[str, Any]) -> AddedItems:
    agent, identity = line["agent"] or "", str(line["id"])
    rows.lock(conn, agent)
    if rows.tombstones_of(conn, (agent,), [identity]):
        return AddedItems(unchanged=1)
    if rows.contents(conn, agent, [identity]):
        raise RefusedError(
            f"{identity} was forgotten where this comes from and is an item here; forget it first"
        )
    archives.bury(conn, agent, identity, instant(line["at"]), str(line["who"]))
    rows.link(conn, agent, [Edge(identity, parent, kind) for parent, kind in line["edges"]])
    return AddedItems(stored=1)

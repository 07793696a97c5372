"""The tables of the library as queries see them: items, where they come from, what they mean, where they lie.

An item as it was told never changes. What does change lies beside it: its layer, its place in the archive, when it was
last used. Each agent has a library of its own; that of `SHARED` is everybody's.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from memory.store.tables import metadata

libraries: Final = sa.Table(
    "memory_library",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("items", sa.BigInteger, nullable=False),
    sa.Column("item_digest", sa.LargeBinary, nullable=False),
    sa.Column("change_digest", sa.LargeBinary, nullable=False),
    sa.Column("model", sa.Text),
    sa.Column("dimensions", sa.BigInteger),
    sa.Column("building", sa.Text),
)
"""The head of each library: how many items were ever added, digests of all that was added and changed, and the model
whose vectors are searched; `building` names the one that a re-indexing is making vectors of."""

items: Final = sa.Table(
    "memory_item",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("symbol", sa.Text),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("text", sa.Text),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("used_at", sa.BigInteger, nullable=False),
    sa.Column("archive", sa.BigInteger),
    sa.Column("archived_at", sa.BigInteger),
    sa.Column("archive_reason", sa.Text),
    sa.UniqueConstraint("agent", "number", name="memory_item_number"),
)
"""Items as they were told, numbered from 0 in order of arrival; `document` is all of one but agent and text.

`content` is the digest of what was told. The text of an archived item lies in block `archive` instead.
"""

edges: Final = sa.Table(
    "memory_item_edge",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("child", sa.Text, primary_key=True),
    sa.Column("parent", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Index("memory_item_edge_parent", "agent", "parent"),
)
"""What an item rests on (`parent`), and of which it is a version (`version`); the edges of a forgotten one stay."""

tombstones: Final = sa.Table(
    "memory_item_tombstone",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
)
"""Items that were forgotten: which, when, at whose word."""

vectors: Final = sa.Table(
    "memory_item_vector",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)
"""What an item means to a model: little-endian float32 of length 1."""

archives: Final = sa.Table(
    "memory_item_archive",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("items", sa.BigInteger, nullable=False),
    sa.Column("crc", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""Blocks of texts that were archived together, compressed."""

item_blocks: Final = sa.Table(
    "memory_block_item",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("layout", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("crc", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""Column copies of consecutive items, so that a cold search reads a few large values; they may be deleted."""

layer_states: Final = sa.Table(
    "memory_layer_state",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("symbol", sa.Text, nullable=False),
    sa.Column("layer", sa.Text, nullable=False),
    sa.Column("importance", sa.Float),
    sa.Column("recency", sa.Float, nullable=False),
    sa.Column("delta", sa.BigInteger, nullable=False),
    sa.Column("access_counter", sa.BigInteger, nullable=False),
    sa.Index("memory_layer_state_symbol", "agent", "symbol"),
)
"""Where an item stands in the layers now; `importance` is null until it was told or a step has begun it."""

layer_events: Final = sa.Table(
    "memory_layer_event",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("symbol", sa.Text, primary_key=True),
    sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("document", sa.Text, nullable=False),
)
"""What happened in the layers of a symbol: steps, feedback of items, reflections that were asked for."""

searches: Final = sa.Table(
    "memory_search",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False),
)
"""How long the latest searches took: 100 slots, the oldest is written over."""

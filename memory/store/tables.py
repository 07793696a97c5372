"""The tables as queries see them; `migrations` makes them, and a test holds the two descriptions together.

Two ledgers per agent are append-only and chained by digest: episodes as told, and what reviews later found out about
them. Blocks are column copies of full stretches of either ledger; they hold nothing of their own and may be deleted.
Beliefs, habits and the state are not stored: they are functions of the ledgers as of an instant.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

metadata: Final = sa.MetaData()

agents: Final = sa.Table(
    "memory_agent",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("episodes", sa.BigInteger, nullable=False),
    sa.Column("episode_digest", sa.LargeBinary, nullable=False),
    sa.Column("retrospectives", sa.BigInteger, nullable=False),
    sa.Column("retrospective_digest", sa.LargeBinary, nullable=False),
)
"""The head of each agent's ledgers: how long they are and the digest of their last row."""

episodes: Final = sa.Table(
    "memory_episode",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("agent", "id", name="memory_episode_id"),
)
"""Episodes as they were told, numbered from 0 in order of arrival."""

retrospectives: Final = sa.Table(
    "memory_retrospective",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("episode", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("review", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Index("memory_retrospective_episode", "agent", "episode"),
)
"""What reviews found out about an episode: their figures, when they knew, and the amendments that followed."""

amendments: Final = sa.Table(
    "memory_amendment",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("retrospective", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("field", sa.Text, primary_key=True),
    sa.Column("episode", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("old", sa.Text, nullable=False),
    sa.Column("new", sa.Text, nullable=False),
    sa.Column("review", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Index("memory_amendment_episode", "agent", "episode"),
)
"""One row per field that a retrospective changed: old value, new value (JSON), the review and why."""

blocks: Final = sa.Table(
    "memory_block",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("layout", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("crc", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""Column copies of `BLOCK` consecutive rows of a ledger, so that a cold recall reads a few large values."""

beliefs: Final = sa.Table(
    "memory_belief",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
"""Beliefs that somebody seeded; induced ones follow from the episodes."""

plans: Final = sa.Table(
    "memory_plan",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
"""Plans as they were made."""

plan_events: Final = sa.Table(
    "memory_plan_event",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("plan", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
"""What became of a plan: triggered, rearmed, cancelled, scored."""

halts: Final = sa.Table(
    "memory_halt",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("halted", sa.Boolean, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)
"""The explicit halt flag, set and lifted."""

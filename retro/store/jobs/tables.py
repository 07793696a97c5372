"""The tables of the service: what is owed, what was written, what is on its way, how far each source was read."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Integer, Table, Text, text

from retro.store.schema import bucket_column, metadata, reference
from retro.store.texts import PackedText

__all__ = [
    "IS_FOR_WORKERS",
    "documents",
    "enrolments",
    "hosts",
    "outbox",
    "owner_looks",
    "reviews",
    "rework_agents",
    "rule_weeks",
    "sources",
]

reviews: Final = Table(
    "reviews",
    metadata,
    Column("key", BigInteger, primary_key=True),
    reference("agent", "agents"),
    Column("id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("period_start", BigInteger, nullable=False),
    Column("period_end", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("again_at", BigInteger),
    Column("state", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("backfill", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("owner", Text),
    Column("leased_until", BigInteger),
    Column("late", Integer, nullable=False),
    Column("facts", Text),
    Column("reason", Text),
    Column("done_at", BigInteger),
    Column("result", Double),
    Column("against_nothing", Double),
    Column("reversal", Double),
    Column("summed", BigInteger, nullable=False, server_default="0"),
    bucket_column(),
)
"""One row an obligation, unique on (agent, kind, subject, period_start).

`due_at`: the wall clock from which it can be made; `again_at`: from which it has to be looked at once more; `late`:
bits of what arrived after its figures were read (1 facts, 2 marks); `facts`: a digest of the facts inside its period.
`result` to `reversal` are what revision `summed` says, for lists that read no document (`retro.store.jobs.results`).
"""

documents: Final = Table(
    "review_documents",
    metadata,
    reference("review", "reviews", is_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("numbers", Text),
    Column("document", PackedText),
    Column("done_at", BigInteger),
    Column("line", Text),
    Column("purged_at", BigInteger),
    Column("twins", Text),
)
"""The exact JSON text of each revision: `numbers` while its words are missing, then `document`; shown once done.

`digest` is taken of the figures, so that a later look can tell whether anything changed; `line` sums up a week's review
for a page of all agents. `purged_at`: when the text was put away by `[service]` keep_daily_reviews or keep_documents;
its row stays. `twins`: of a closed trade what its twins made, as JSON; drawn beside the document, and no part of it.
"""

enrolments: Final = Table(
    "enrolments",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("enrolled_at", BigInteger, nullable=False),
    Column("next_at", BigInteger),
    Column("losses_from", BigInteger),
    bucket_column(),
)
"""When an agent's first facts came in. `next_at`: nothing falls due before (None: look); `losses_from`: actions from
then on have not been looked at."""

sources: Final = Table(
    "sources",
    metadata,
    Column("key", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("alarm", Text),
)
"""How far a `[[source]]` was read, and what stands in its way."""

hosts: Final = Table(
    "hosts",
    metadata,
    Column("host", Text, primary_key=True),
    Column("knocked_at", BigInteger, nullable=False),
    Column("version", Text, nullable=False),
)
"""When each machine last worked on the database, and by which version of this program."""

outbox: Final = Table(
    "outbox",
    metadata,
    Column("key", BigInteger, primary_key=True),
    reference("review", "reviews"),
    Column("revision", BigInteger, nullable=False),
    Column("channel", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("digest", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("owner", Text),
    Column("leased_until", BigInteger),
    Column("written_at", BigInteger, nullable=False),
    Column("sent_at", BigInteger),
    Column("reason", Text),
    Column("asked_until", BigInteger),
    Column("agent", BigInteger, ForeignKey("agents.key")),
    Column("period_end", BigInteger),
    bucket_column(),
)
"""One row a message: a revision of a review on its way to one recipient through one channel.

`asked_until`: before then its channel asked not to be tried again; NULL where it named no time. `agent` and `period_end`
are its review's as it was written: by them a letter is found without a look at all that wait.
"""

rule_weeks: Final = Table(
    "rule_weeks",
    metadata,
    reference("review", "reviews", is_key=True),
    Column("rule", Text, primary_key=True),
    Column("role", Text, primary_key=True),
    Column("n", BigInteger, nullable=False),
    Column("mean", Double),
    Column("low", Double),
    Column("high", Double),
    Column("unit", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("e_against", Double),
    Column("e_for", Double),
    Column("ripe_in", BigInteger),
    Column("unripe", Text),
)
"""What the review of a week says of each rule it audits: whose week it is says the review, so that a rename, a merger or
a new grid need not touch these rows. `ripe_in` more weeks until it can be judged, or `unripe`: why nobody can say."""

rework_agents: Final = Table(
    "rework_agents",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("unit", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    bucket_column(),
    Column("by_workers", BigInteger, nullable=False, server_default="0"),
    Column("tries", BigInteger, nullable=False, server_default="0"),
    Column("failure", Text),
)
"""Whose reviews of periods that end after `since` are still to be looked at anew, as of `at` (`retro.store.rework`).

`by_workers` 1: by the workers of a fleet, who have begun `tries` times, until there is a `failure`."""

IS_FOR_WORKERS: Final = text("rework_agents.by_workers = 1 AND rework_agents.failure IS NULL")
"""True of agents that workers are to look at, spelled as the partial index spells it."""

owner_looks: Final = Table(
    "seen",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
)
"""Until when an owner has said to have looked, and a digest of what then wanted a person."""

"""The two append-only ledgers of an agent, their head, and the blocks that copy them into columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from memory.store.tables import agents, amendments, blocks, episodes, retrospectives

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BLOCK: Final = 1024
"""Rows of a block."""
_CHUNK: Final = 500
"""Parameters of one IN list: below every database's limit."""
_START: Final = b"\0" * 16


class LedgerHead(NamedTuple):
    """How far an agent's ledgers reach; the digests name their whole content."""

    episodes: int
    episode_digest: bytes
    retrospectives: int
    retrospective_digest: bytes


@dataclass(frozen=True, slots=True)
class Judged:
    """One row of the retrospective ledger: `episode` is the number of the episode it judged."""

    number: int
    episode: int
    at: int
    review: str
    document: str


EMPTY: Final = LedgerHead(0, _START, 0, _START)
_HEAD = sa.select(
    agents.c.episodes, agents.c.episode_digest, agents.c.retrospectives, agents.c.retrospective_digest
).where(agents.c.agent == sa.bindparam("agent"))


def head(conn: Connection, agent: str) -> LedgerHead:
    """The head of the agent's ledgers; `EMPTY` for an agent nobody told us about."""
    row = conn.execute(_HEAD, {"agent": agent}).one_or_none()
    return LedgerHead(*row) if row is not None else EMPTY


def lock(conn: Connection, agent: str) -> LedgerHead:
    """The head, held against other writers until the caller's transaction ends."""
    make = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    values = {"agent": agent, **EMPTY._asdict()}
    conn.execute(make(agents).values(values).on_conflict_do_nothing())
    return LedgerHead(*conn.execute(_HEAD.with_for_update(), {"agent": agent}).one())


def names(conn: Connection) -> list[str]:
    """Every agent with a memory, in order of name."""
    return sorted(conn.execute(sa.select(agents.c.agent)).scalars())


def chained(previous: bytes, *parts: str) -> bytes:
    """The digest of a row: of the row before it and of its own content."""
    digest = hashlib.blake2b(previous, digest_size=16)
    for part in parts:
        raw = part.encode("utf-8")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.digest()


def documents_of(conn: Connection, agent: str, ids: Sequence[str]) -> dict[str, str]:
    """The stored documents of those of these ids that are known."""
    texts: dict[str, str] = {}
    for start in range(0, len(ids), _CHUNK):
        query = sa.select(episodes.c.id, episodes.c.document).where(
            episodes.c.agent == agent, episodes.c.id.in_(ids[start : start + _CHUNK])
        )
        texts.update((row.id, row.document) for row in conn.execute(query))
    return texts


def append(conn: Connection, agent: str, now: LedgerHead, rows: Sequence[tuple[str, int, str]]) -> LedgerHead:
    """Add (id, at, document) rows to the episode ledger behind the locked head; the new head."""
    digest, values = now.episode_digest, []
    for number, (identity, at, text) in enumerate(rows, start=now.episodes):
        digest = chained(digest, text)
        values.append(
            {"agent": agent, "number": number, "id": identity, "at": at, "document": text, "digest": digest}
        )
    if not values:
        return now
    conn.execute(sa.insert(episodes), values)
    then = now._replace(episodes=now.episodes + len(values), episode_digest=digest)
    _move(conn, agent, then)
    return then


def judge(
    conn: Connection, agent: str, now: LedgerHead, judged: Judged, changes: Sequence[Mapping[str, Any]]
) -> LedgerHead:
    """Add one retrospective and its amendment rows behind the locked head; the new head."""
    digest = chained(
        now.retrospective_digest, str(judged.episode), str(judged.at), judged.review, judged.document
    )
    row = {name: getattr(judged, name) for name in ("number", "episode", "at", "review", "document")}
    conn.execute(sa.insert(retrospectives), [{"agent": agent, **row, "digest": digest}])
    if changes:
        common = {"agent": agent, "retrospective": judged.number, "episode": judged.episode}
        conn.execute(
            sa.insert(amendments),
            [{**common, "at": judged.at, "review": judged.review, **change} for change in changes],
        )
    then = now._replace(retrospectives=now.retrospectives + 1, retrospective_digest=digest)
    _move(conn, agent, then)
    return then


def _move(conn: Connection, agent: str, then: LedgerHead) -> None:
    conn.execute(sa.update(agents).where(agents.c.agent == agent).values(then._asdict()))


def numbered(conn: Connection, agent: str, numbers: Sequence[int]) -> dict[int, str]:
    """The documents of the episodes with these numbers."""
    texts: dict[int, str] = {}
    for start in range(0, len(numbers), _CHUNK):
        query = sa.select(episodes.c.number, episodes.c.document).where(
            episodes.c.agent == agent, episodes.c.number.in_(numbers[start : start + _CHUNK])
        )
        texts.update((row.number, row.document) for row in conn.execute(query))
    return texts


def identities(conn: Connection, agent: str, numbers: Sequence[int]) -> dict[int, str]:
    """The ids of the episodes with these numbers."""
    ids: dict[int, str] = {}
    for start in range(0, len(numbers), _CHUNK):
        query = sa.select(episodes.c.number, episodes.c.id).where(
            episodes.c.agent == agent, episodes.c.number.in_(numbers[start : start + _CHUNK])
        )
        ids.update((row.number, row.id) for row in conn.execute(query))
    return ids


def documents(conn: Connection, agent: str, first: int, last: int) -> Iterator[str]:
    """The documents numbered from `first` up to but not including `last`, in order."""
    query = (
        sa.select(episodes.c.document)
        .where(episodes.c.agent == agent, episodes.c.number >= first, episodes.c.number < last)
        .order_by(episodes.c.number)
    )
    return iter(conn.execute(query).scalars())


def number_of(conn: Connection, agent: str, identity: str) -> int | None:
    """The number of the episode with this id, or None."""
    query = sa.select(episodes.c.number).where(episodes.c.agent == agent, episodes.c.id == identity)
    return conn.execute(query).scalar_one_or_none()


def numbers_of(conn: Connection, agent: str, ids: Sequence[str]) -> dict[str, int]:
    """The numbers of those of these ids that are known."""
    numbers: dict[str, int] = {}
    for start in range(0, len(ids), _CHUNK):
        query = sa.select(episodes.c.id, episodes.c.number).where(
            episodes.c.agent == agent, episodes.c.id.in_(ids[start : start + _CHUNK])
        )
        numbers.update((row.id, row.number) for row in conn.execute(query))
    return numbers


def digest_at(conn: Connection, agent: str, ledger: str, number: int) -> bytes | None:
    """The digest of one row of a ledger (`episodes` or `retrospectives`), or None when there is no such row."""
    table = episodes if ledger == "episodes" else retrospectives
    query = sa.select(table.c.digest).where(table.c.agent == agent, table.c.number == number)
    return conn.execute(query).scalar_one_or_none()


def judged_between(conn: Connection, agent: str, first: int, last: int) -> list[tuple[int, int]]:
    """(episode number, instant) of the retrospectives numbered from `first` up to but not including `last`."""
    query = (
        sa.select(retrospectives.c.episode, retrospectives.c.at)
        .where(
            retrospectives.c.agent == agent,
            retrospectives.c.number >= first,
            retrospectives.c.number < last,
        )
        .order_by(retrospectives.c.number)
    )
    return [(row.episode, row.at) for row in conn.execute(query)]


def judgements(conn: Connection, agent: str, numbers: Sequence[int] | None = None) -> list[Judged]:
    """The retrospectives of these episodes (None: of all), in the order in which they were known."""
    wanted = [None] if numbers is None else range(0, len(numbers), _CHUNK)
    rows: list[Judged] = []
    for start in wanted:
        query = sa.select(retrospectives).where(retrospectives.c.agent == agent)
        if numbers is not None and start is not None:
            query = query.where(retrospectives.c.episode.in_(numbers[start : start + _CHUNK]))
        rows.extend(
            Judged(row.number, row.episode, row.at, row.review, row.document) for row in conn.execute(query)
        )
    return sorted(rows, key=lambda judged: (judged.at, judged.number))


def latest_judgements(conn: Connection, agent: str, as_of: int | None) -> Iterator[Judged]:
    """The retrospectives known by then (None: ever), newest first, read page by page as they are asked for."""
    table = retrospectives.c
    query = (
        sa.select(retrospectives).where(table.agent == agent).order_by(table.at.desc(), table.number.desc())
    )
    if as_of is not None:
        query = query.where(table.at <= as_of)
    size, page = _CHUNK, list(conn.execute(query.limit(_CHUNK)))
    while page:
        yield from (Judged(row.number, row.episode, row.at, row.review, row.document) for row in page)
        if len(page) < size:
            return
        last, size = page[-1], 4 * size  # few pages even of a long ledger, for each costs a sort
        older = sa.or_(table.at < last.at, sa.and_(table.at == last.at, table.number < last.number))
        page = list(conn.execute(query.where(older).limit(size)))


def changes(conn: Connection, agent: str, episode: int | None = None) -> list[dict[str, Any]]:
    """The amendment rows of one episode (None: of all), oldest first."""
    query = sa.select(amendments).where(amendments.c.agent == agent)
    if episode is not None:
        query = query.where(amendments.c.episode == episode)
    query = query.order_by(amendments.c.retrospective, amendments.c.field)
    return [dict(row) for row in conn.execute(query).mappings()]


def sealed(conn: Connection, agent: str, layout: str, count: int) -> dict[int, tuple[int, bytes]]:
    """Block number to (crc, data) of the blocks of this layout within the first `count` rows."""
    query = sa.select(blocks.c.number, blocks.c.crc, blocks.c.data).where(
        blocks.c.agent == agent, blocks.c.layout == layout, blocks.c.number < count // BLOCK
    )
    return {row.number: (row.crc, row.data) for row in conn.execute(query)}


def unsealed(conn: Connection, agent: str, layout: str, count: int) -> list[int]:
    """The numbers of the full blocks within the first `count` rows that are not stored."""
    query = sa.select(blocks.c.number).where(blocks.c.agent == agent, blocks.c.layout == layout)
    stored = set(conn.execute(query).scalars())
    return [number for number in range(count // BLOCK) if number not in stored]


def seal(conn: Connection, agent: str, layout: str, number: int, crc: int, data: bytes) -> None:
    """Store one block."""
    values = {"agent": agent, "layout": layout, "number": number, "crc": crc, "data": data}
    conn.execute(sa.insert(blocks), [values])


def unseal(conn: Connection, agent: str, keep: Sequence[str]) -> None:
    """Delete the agent's blocks of every layout but these."""
    conn.execute(sa.delete(blocks).where(blocks.c.agent == agent, blocks.c.layout.not_in(keep)))


def counts(conn: Connection, agent: str) -> dict[str, int]:
    """How many rows there are of each ledger and of amendments."""
    tables = {"episodes": episodes, "retrospectives": retrospectives, "amendments": amendments}
    totals = {}
    for name, table in tables.items():
        query = sa.select(sa.func.count()).select_from(table).where(table.c.agent == agent)
        totals[name] = int(conn.execute(query).scalar_one())
    return totals


def orphans(conn: Connection, agent: str) -> int:
    """How many retrospectives and amendments point at an episode that is not there."""
    total = 0
    for table in (retrospectives, amendments):
        episode_exists = sa.exists().where(
            episodes.c.agent == table.c.agent, episodes.c.number == table.c.episode
        )
        query = sa.select(sa.func.count()).select_from(table).where(table.c.agent == agent, ~episode_exists)
        total += int(conn.execute(query).scalar_one())
    return total


def broken(conn: Connection, agent: str, now: LedgerHead) -> list[str]:
    """Where a ledger's content no longer gives its chained digests: one sentence per broken ledger."""
    faults = []
    digest = _START
    query = sa.select(episodes.c.number, episodes.c.document, episodes.c.digest)
    for row in conn.execute(query.where(episodes.c.agent == agent).order_by(episodes.c.number)):
        digest = chained(digest, row.document)
        if digest != row.digest:
            faults.append(f"episode number {row.number} is not what was told")
            break
    else:
        if digest != now.episode_digest:
            faults.append("the episodes do not end where their head says")
    digest = _START
    later = sa.select(retrospectives).where(retrospectives.c.agent == agent)
    for row in conn.execute(later.order_by(retrospectives.c.number)):
        digest = chained(digest, str(row.episode), str(row.at), row.review, row.document)
        if digest != row.digest:
            faults.append(f"retrospective number {row.number} is not what was found")
            break
    else:
        if digest != now.retrospective_digest:
            faults.append("the retrospectives do not end where their head says")
    return faults

"""The columnar cache: each process's columns of an agent, kept in step with the store.

The head of the ledgers names their whole content by digest, so a cached copy is used only when it is that content or
a beginning of it. Rolled-back writes, other processes and restored backups are all noticed by that comparison.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from memory.episodic.columns import NEVER, EpisodeColumns, Packed, arranged, layout_of, merged, pack, rejudged
from memory.episodic.episode import from_document
from memory.store import ledger
from memory.store.ledger import BLOCK, LedgerHead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine

    from memory.situation.context import Codes, Registry

JUDGED: Final = "retrospective"
"""The layout name of blocks that copy the retrospective ledger."""
JUDGED_ROW: Final = np.dtype([("episode", "<i8"), ("at", "<i8")])
"""One record of such a block."""
_MOST_AGENTS: Final = 32
_MOST_MERGED: Final = 4 * BLOCK

_Cache = OrderedDict[tuple[str, str], tuple[LedgerHead, EpisodeColumns]]
_caches: WeakKeyDictionary[Engine, _Cache] = WeakKeyDictionary()
_lock = Lock()


def columns(conn: Connection, agent: str, registry: Registry) -> EpisodeColumns:
    """The agent's episodes as columns, exactly as far as this connection sees the ledgers."""
    now = ledger.head(conn, agent)
    key = (agent, registry.layout)
    with _lock:
        cache = _caches.setdefault(conn.engine, OrderedDict())
        head, episodes = cache.get(key, (None, None))
    if head == now and episodes is not None:
        return episodes
    if head is not None and episodes is not None and _begins(conn, agent, head, now):
        episodes = _caught_up(conn, agent, registry, head, now, episodes)
    else:
        episodes = built(conn, agent, registry, now)
    with _lock:
        cache[key] = (now, episodes)
        cache.move_to_end(key)
        while len(cache) > _MOST_AGENTS:
            cache.popitem(last=False)
    return episodes


def forget(conn: Connection) -> None:
    """Drop what this process has cached of the connection's database."""
    with _lock:
        _caches.pop(conn.engine, None)


def _begins(conn: Connection, agent: str, old: LedgerHead, now: LedgerHead) -> bool:
    """Whether the old head's content is a beginning of the present one, and close enough to catch up."""
    if not 0 <= now.episodes - old.episodes <= _MOST_MERGED or old.retrospectives > now.retrospectives:
        return False
    return _same(conn, agent, "episodes", old.episodes, old.episode_digest) and _same(
        conn, agent, "retrospectives", old.retrospectives, old.retrospective_digest
    )


def _same(conn: Connection, agent: str, name: str, count: int, digest: bytes) -> bool:
    return count == 0 or ledger.digest_at(conn, agent, name, count - 1) == digest


def _caught_up(
    conn: Connection,
    agent: str,
    registry: Registry,
    old: LedgerHead,
    now: LedgerHead,
    episodes: EpisodeColumns,
) -> EpisodeColumns:
    def identities(wanted: Sequence[int]) -> dict[int, str]:
        return ledger.identities(conn, agent, wanted)

    if now.episodes > old.episodes:
        packed = pack(map(from_document, ledger.documents(conn, agent, old.episodes, now.episodes)), registry)
        numbers = np.arange(old.episodes, now.episodes, dtype=np.int64)
        fresh = arranged(packed, numbers, np.full(len(numbers), NEVER, dtype=np.int64), identities)
        episodes = merged(episodes, fresh, identities)
    return rejudged(episodes, ledger.judged_between(conn, agent, old.retrospectives, now.retrospectives))


def built(conn: Connection, agent: str, registry: Registry, now: LedgerHead) -> EpisodeColumns:
    """The columns read anew: sealed blocks where there are sound ones, rows elsewhere."""
    packed = _episodes(conn, agent, registry, now.episodes)
    numbers = np.arange(now.episodes, dtype=np.int64)
    judged, reviewed = _judged(conn, agent, now)
    return arranged(packed, numbers, judged, lambda wanted: ledger.identities(conn, agent, wanted), reviewed)


def _episodes(conn: Connection, agent: str, registry: Registry, count: int) -> Packed:
    dtype = layout_of(registry)
    sound = _sound(conn, agent, registry.layout, count, dtype)
    parts = []
    for first, last in _stretches(sound, count):
        if first // BLOCK in sound:
            parts.append(np.frombuffer(sound[first // BLOCK], dtype=dtype))
        else:
            parts.append(pack(map(from_document, ledger.documents(conn, agent, first, last)), registry))
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _judged(conn: Connection, agent: str, now: LedgerHead) -> tuple[Codes, int]:
    """(the earliest review of each episode by ledger number, the newest review of any)."""
    earliest, newest = np.full(now.episodes, NEVER, dtype=np.int64), 0
    sound = _sound(conn, agent, JUDGED, now.retrospectives, JUDGED_ROW)
    for first, last in _stretches(sound, now.retrospectives):
        if first // BLOCK in sound:
            rows = np.frombuffer(sound[first // BLOCK], dtype=JUDGED_ROW)
        else:
            rows = np.array(ledger.judged_between(conn, agent, first, last), dtype=JUDGED_ROW)
        np.minimum.at(earliest, rows["episode"], rows["at"])
        newest = max(newest, int(rows["at"].max()))
    return earliest, newest


def _sound(
    conn: Connection, agent: str, layout: str, count: int, dtype: np.dtype[np.void]
) -> dict[int, bytes]:
    """The stored blocks whose length and checksum are right; a damaged one is read from its rows instead."""
    return {
        number: data
        for number, (crc, data) in ledger.sealed(conn, agent, layout, count).items()
        if len(data) == BLOCK * dtype.itemsize and zlib.crc32(data) == crc
    }


def _stretches(sound: dict[int, bytes], count: int) -> list[tuple[int, int]]:
    """Half-open row ranges that cover the ledger: one per sound block, neighbouring others together."""
    ranges: list[tuple[int, int]] = []
    for number in range(-(-count // BLOCK)):
        first, last = number * BLOCK, min(count, (number + 1) * BLOCK)
        if ranges and number not in sound and number - 1 not in sound:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    return ranges


def seal_episodes(conn: Connection, agent: str, registry: Registry, now: LedgerHead) -> None:
    """Store every full block of episodes that is missing; the caller holds the agent's lock."""
    layout = registry.layout
    missing = ledger.unsealed(conn, agent, layout, now.episodes)
    if missing:
        ledger.unseal(conn, agent, (layout, JUDGED))
    for number in missing:
        rows = ledger.documents(conn, agent, number * BLOCK, (number + 1) * BLOCK)
        data = pack(map(from_document, rows), registry).tobytes()
        ledger.seal(conn, agent, layout, number, zlib.crc32(data), data)


def seal_judged(conn: Connection, agent: str, now: LedgerHead) -> None:
    """Store every full block of retrospectives that is missing; the caller holds the agent's lock."""
    for number in ledger.unsealed(conn, agent, JUDGED, now.retrospectives):
        judged = ledger.judged_between(conn, agent, number * BLOCK, (number + 1) * BLOCK)
        data = np.array(judged, dtype=JUDGED_ROW).tobytes()
        ledger.seal(conn, agent, JUDGED, number, zlib.crc32(data), data)

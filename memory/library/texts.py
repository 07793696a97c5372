"""Texts in the archive: how a block of them is packed, and how one is read back bit for bit."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Final

from memory.errors import DamagedError
from memory.store import archives

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from memory.store.library import StoredItem

__all__ = ["archived_texts", "pack_texts", "unpack_texts"]

_LEVEL: Final = 6


def pack_texts(texts: Mapping[str, str]) -> tuple[int, bytes]:
    """(CRC-32, zlib of JSON) of texts by id, the same for the same texts."""
    data = zlib.compress(json.dumps(texts, sort_keys=True, ensure_ascii=False).encode("utf-8"), _LEVEL)
    return zlib.crc32(data), data


def unpack_texts(crc: int, data: bytes, where: str) -> dict[str, str]:
    """The texts of a block; raises `DamagedError` for one whose bytes are not those that were written."""
    if zlib.crc32(data) != crc:
        raise DamagedError(f"{where} is damaged: its bytes are not those that were written")
    texts: dict[str, str] = json.loads(zlib.decompress(data))
    return texts


def archived_texts(conn: Connection, agent: str, rows: Sequence[StoredItem]) -> dict[str, str]:
    """The texts of those of these rows that lie in the archive, each block read once."""
    texts: dict[str, str] = {}
    for number in sorted({row.archive for row in rows if row.archive is not None}):
        stored = archives.block(conn, agent, number)
        if stored is None:
            raise DamagedError(f"archive block {number} of {agent or 'the shared library'} is not there")
        block = unpack_texts(*stored, where=f"archive block {number} of {agent or 'the shared library'}")
        texts.update((row.id, block[row.id]) for row in rows if row.archive == number)
    return texts

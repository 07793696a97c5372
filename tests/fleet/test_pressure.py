"""What a PostgreSQL says of itself before anything fails: who waits for a lock, and how far a standby is behind."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from retro.store.database import open_store
from retro.store.health import ServerPressure, server_pressure
from tests.fleet.servers import Servers, connected

PATIENCE_S = 60


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of its own with a standby: sessions of other tests wait for locks, too."""
    with tempfile.TemporaryDirectory() as name:  # of a short name: sockets lie there
        servers = Servers(Path(name), standby=True)
        yield servers.url
        servers.stop()


def pressure(url: str) -> ServerPressure:
    store = open_store(url)
    with store.read() as conn:
        state = server_pressure(conn, "fleet")
    store.close()
    return state


def test_who_waits_for_a_lock_is_counted_while_it_waits(url: str) -> None:
    assert pressure(url).lock_waits == 0
    with connected(url) as holder, connected(url) as waiter:
        holder.execute("SELECT pg_advisory_lock(7)")
        waiting = threading.Thread(target=waiter.execute, args=("SELECT pg_advisory_lock(7)",))
        waiting.start()
        deadline = time.monotonic() + PATIENCE_S
        while pressure(url).lock_waits != 1:
            assert time.monotonic() < deadline
        holder.execute("SELECT pg_advisory_unlock(7)")
        waiting.join(PATIENCE_S)
    assert pressure(url).lock_waits == 0


def test_a_standby_shows_how_far_it_is_behind_and_none_shows_nothing(url: str, new_postgres_url: str) -> None:
    lag_s = pressure(url).standby_lag_s
    assert lag_s is not None
    assert 0 <= lag_s < PATIENCE_S
    assert pressure(new_postgres_url).standby_lag_s is None

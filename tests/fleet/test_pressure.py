"""What is watched of a fleet before anything fails: who waits for a lock, how far a standby is behind, and the alarms."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from retro.app.questions.metrics import metrics, worker_metrics
from retro.store.database import open_store
from retro.store.health import ServerPressure, server_pressure
from tests.fleet.servers import Servers, connected
from tests.worlds.places import ROOT
from tests.worlds.service_world import World

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


def test_every_alarm_stands_on_a_figure_that_somebody_shows(new_postgres_url: str, tmp_path: Path) -> None:
    store = open_store(new_postgres_url)
    world = World(store, tmp_path)
    with store.read() as conn:
        families = [
            *metrics(conn, world.config, "here", world.clock()),
            *worker_metrics(conn, world.clock(), {}, {}, {}),
        ]
    store.close()
    (group,) = yaml.safe_load((ROOT / "retro" / "deploy" / "alerts.yaml").read_text(encoding="utf-8"))[
        "groups"
    ]
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for", "annotations"}
        names = set(re.findall(r"\bretro_\w+", rule["expr"]))
        assert names <= {family.name for family in families} | {"retro_stalled_knocks"}, rule["alert"]
        assert names

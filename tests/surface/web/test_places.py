"""Where the screens are served: on this machine, beyond it by names alone, on a socket; and what their health says."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from retro.config import Config
from retro.store.database import open_store
from retro.surface.guard import server
from retro.surface.screens.findings import RecentFindings
from tests.surface.web.test_door import Browser, house_of
from tests.worlds.commands import Retro, retro

__all__ = ["retro"]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, str, int, str | None]]:
    """What would be served: the application, its host and port, its socket."""
    calls: list[tuple[Any, str, int, str | None]] = []

    def serve(application: Any, host: str, port: int, *, uds: str | None = None) -> None:
        calls.append((application, host, port, uds))

    monkeypatch.setattr(server, "serve", serve)
    return calls


def status(application: Any, method: str, **headers: str) -> int:
    """What an application says to a request for `/-/act`."""
    scope = {
        "type": "http",
        "method": method,
        "path": "/-/act",
        "raw_path": b"/-/act",
        "query_string": b"",
        "client": None,
        "server": None,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    asyncio.run(application(scope, receive, send))
    return int(messages[0]["status"])


def test_beyond_this_machine_it_wants_names_and_only_reads_unless_it_is_told_to(
    retro: Retro, served: list[tuple[Any, str, int, str | None]], tmp_path: Path
) -> None:
    refused = retro("--db", "m.db", "web", "--no-open", "--host", "192.0.2.1")
    assert (refused.code, served) == (2, [])
    assert "[web] hosts" in refused.err
    for writable, expected in (("false", 405), ("true", 404)):
        Path("config.toml").write_text(f'[web]\nhosts = ["mirror.example.org"]\nwritable = {writable}\n')
        words = (
            "--config",
            "config.toml",
            "--db",
            "m.db",
            "web",
            "--no-open",
            "--host",
            "192.0.2.1",
            "--port",
            "8601",
        )
        assert retro(*words).code == 0
        application, host, port, uds = served.pop()
        assert (host, port, uds) == ("192.0.2.1", 8601, None)
        key = {"authorization": f"Bearer {(tmp_path / 'web.key').read_text().strip()}"}
        origin = {"origin": "http://mirror.example.org:8601"}
        ours = {"host": "mirror.example.org:8601"}
        assert status(application, "POST", **ours, **origin, **key) == expected
        assert status(application, "POST", **ours, **origin) == 401
        assert status(application, "POST", host="evil.example:8601", **key) == 421
        assert status(application, "POST", **ours, origin="http://evil.example", **key) == 403


def test_a_socket_is_served_instead_of_an_address_and_wants_the_key_too(
    retro: Retro, served: list[tuple[Any, str, int, str | None]], tmp_path: Path
) -> None:
    result = retro("--db", "m.db", "web", "--uds", "mirror.sock")
    assert result.code == 0
    assert "retro web link" in result.err
    assert "once=" not in result.err, "a link to a port that nobody listens on leads nowhere"
    application, _, _, uds = served.pop()
    assert uds == "mirror.sock"
    key = (tmp_path / "web.key").read_text().strip()
    assert status(application, "GET", host="localhost") == 401
    assert status(application, "GET", host="localhost", authorization=f"Bearer {key}") == 404
    assert status(application, "GET", host="evil.example", authorization=f"Bearer {key}") == 421


def test_its_health_is_bad_while_the_database_cannot_be_read(reviewed_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "held.db"
    path.write_bytes(reviewed_db.read_bytes())
    with (
        closing(open_store(str(path), create=False, patience_s=0.05)) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
    ):
        browser = Browser(house_of(store, Config()))
        holder.execute("BEGIN EXCLUSIVE")
        reply = browser("/healthz", authorization=None)
        assert (reply.status, reply.body) == (503, b"not ok\n")
        holder.execute("ROLLBACK")
        assert browser("/healthz", authorization=None).status == 200


def test_many_who_look_at_once_have_one_examination_made(reviewed_db: Path) -> None:
    """It reads every table, and what reads keeps a SQLite file's writer waiting."""
    examinations: list[int] = []
    seconds = [100.0]

    def examine() -> list[tuple[str, str, str]]:
        examinations.append(1)
        return [("ok", "database", str(len(examinations)))]

    findings = RecentFindings(examine, now=lambda: seconds[0])
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda _: findings()[0][2], range(20)))
    assert set(seen) == {"1"}
    seconds[0] += 15
    assert findings() == [("ok", "database", "2")]

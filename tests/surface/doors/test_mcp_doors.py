"""`retro mcp --http` as an operator starts it: who gets in, whose each key is, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retro.app.questions.experience import Experience
from retro.config import Config
from retro.secret import MCP_KEY
from retro.store.database import open_store
from retro.surface.guard.access import Keyring
from retro.surface.mcp.http import door
from tests.worlds.commands import process, retro
from tests.worlds.episodes import episode
from tests.worlds.places import ROOT

__all__ = ["retro"]

ANYWHERE = "0.0.0" + ".0"
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "0"},
}
TOKENS = {"RETRO_MCP_ADA": "the-token-of-ada", "RETRO_MCP_ZOE": "the-token-of-zoe"}


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


class Door(NamedTuple):
    """A server that runs, its folder and what it said."""

    port: int
    home: Path
    process: subprocess.Popen[bytes]

    def send(self, method: str = "POST", body: bytes = b"", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        with closing(connection):
            connection.request(method, "/mcp", body, fields)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()})

    def ask(
        self, method: str, key: str = "", /, *, headers: dict[str, str] | None = None, **params: Any
    ) -> Answer:
        """One message of the protocol, by itself, with a key where one is given."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        with_key = {"authorization": f"Bearer {key}"} if key else {}
        return self.send("POST", json.dumps(message).encode(), **with_key, **(headers or {}))

    def call(self, tool: str, key: str = "", /, **arguments: Any) -> tuple[bool, str]:
        """Whether a tool failed, and what it said."""
        answer = self.ask("tools/call", key, name=tool, arguments=arguments)
        assert answer.status == 200
        result = json.loads(answer.body)["result"]
        return bool(result.get("isError")), result["content"][0]["text"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents, each with two memories."""
    home = tmp_path_factory.mktemp("doors")
    rows = [episode(f"{agent}-{n}", 1 + n, agent) for agent in ("ada", "zoe") for n in range(2)]
    (home / "e.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    process("--db", home / "r.db", "remember", home / "e.jsonl", cwd=home, check=True)
    (home / "config.toml").write_text('[store]\nurl = "r.db"\n')
    lines = "".join(f'{name.rpartition("_")[2].lower()} = "{name}"\n' for name in TOKENS)
    (home / "tokens.toml").write_text(
        f'[store]\nurl = "r.db"\n[mcp]\nhosts = ["mirror.example.org"]\n[mcp.tokens]\n{lines}'
    )
    return home


@contextmanager
def running(
    home: Path, *words: str, config: str = "config.toml", env: dict[str, str] | None = None
) -> Iterator[Door]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "retro",
        "--config",
        str(home / config),
        "mcp",
        "--http",
        "--port",
        str(port),
        *words,
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RETRO_")}
    log = (home / "log.txt").open("wb")
    with (
        log,
        subprocess.Popen(
            command,
            cwd=home,
            env={**environment, "PYTHONPATH": str(ROOT), **(env or {})},
            stdout=log,
            stderr=log,
        ) as run,
    ):
        until = time.monotonic() + 30
        while time.monotonic() < until and run.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        try:
            yield Door(port, home, run)
        finally:
            run.terminate()
            run.wait(30)


def test_on_loopback_everybody_here_is_answered_and_no_page_from_elsewhere(home: Path) -> None:
    with running(home) as door:
        assert door.ask("initialize", **HELLO).status == 200
        assert door.ask("initialize", **HELLO, headers={"host": "localhost.:1"}).status == 200
        assert door.ask("initialize", **HELLO, headers={"host": "evil.example"})[:2] == (421, b"")
        assert door.ask("initialize", **HELLO, headers={"sec_fetch_site": "same-site"}).status == 403
        assert door.ask("initialize", **HELLO, headers={"origin": "http://localhost:9999"}).status == 403
        for method in ("GET", "DELETE", "OPTIONS", "PUT"):
            assert door.send(method).status == 405
            assert door.send(method, host="evil.example").status == 421
        assert door.send("POST", b"x" * ((1 << 20) + 1)).status == 413
        assert door.send("POST", b"{}", x_long="y" * 9000).status == 431
        assert json.loads(door.call("recall_memories", agent="zoe")[1])["total"] == 2
    assert not (home / "mcp.key").exists()


def test_beyond_loopback_nobody_is_answered_without_the_key_in_its_file(home: Path) -> None:
    key_of = home / "mcp.key"
    with running(home, "--host", ANYWHERE) as door:
        key = key_of.read_text().strip()
        assert stat.S_IMODE(key_of.stat().st_mode) == 0o600
        assert len(key) >= 43
        for wrong in ("", "x", key[:-1], f"{key}x", key.swapcase()):
            answer = door.ask("initialize", wrong, **HELLO)
            assert (answer.status, answer.body, answer.headers["www-authenticate"]) == (401, b"", "Bearer")
        assert door.ask("initialize", key, **HELLO, headers={"host": "evil.example"}).status == 421
        assert door.ask("initialize", key, **HELLO, headers={"origin": "http://evil.example"}).status == 403
        assert json.loads(door.call("recall_memories", key, agent="zoe")[1])["total"] == 2
    with running(home, "--host", ANYWHERE) as door:  # the same key after a restart
        assert door.ask("initialize", key, **HELLO).status == 200
    log = (home / "log.txt").read_text()
    assert str(key_of) in log
    assert key not in log
    key_of.chmod(0o644)
    refused = process("--config", home / "config.toml", "mcp", "--http", "--host", ANYWHERE, cwd=home)
    assert (refused.code, refused.out) == (2, "")
    assert "others can read this secret" in refused.err
    checked = process("--config", home / "config.toml", "doctor", cwd=home)
    assert "others can read" in checked.out
    key_of.unlink()


def test_a_token_binds_each_request_to_its_agent_and_the_owner_s_key_to_nobody(home: Path) -> None:
    env = {**TOKENS, MCP_KEY: "the-owner-s-own-key"}
    with running(home, config="tokens.toml", env=env) as door:
        assert door.ask("initialize", **HELLO).status == 401  # on loopback too
        assert (
            door.ask("initialize", "the-token-of-ada", **HELLO, headers={"host": "mirror.example.org"}).status
            == 200
        )
        memories = json.loads(door.call("recall_memories", "the-token-of-ada", detail=True)[1])["memories"]
        assert {memory["id"] for memory in memories} == {"ada-0", "ada-1"}
        for tool in ("recall_memories", "list_reviews", "get_agent_state"):
            refused, why = door.call(tool, "the-token-of-ada", agent="zoe")
            assert refused
            assert why.endswith("this session is ada's: it neither reads nor writes another's")
        hers = {"id": "m", "agent": "zoe", "at": "2026-03-09T00:00:00Z"}
        assert door.call("remember_trade", "the-token-of-ada", **hers)[0]
        assert json.loads(door.call("remember_trade", "the-token-of-zoe", **hers)[1])["stored"] == 1
        for agent in ("ada", "zoe"):
            assert (
                json.loads(door.call("recall_memories", "the-owner-s-own-key", agent=agent)[1])["total"] >= 2
            )
    assert not set(env.values()) & set((home / "log.txt").read_text().split())
    assert not any(value in (home / "log.txt").read_text() for value in env.values())
    assert not (home / "mcp.key").exists()


def test_a_server_that_is_bound_takes_its_own_agent_s_token_alone(home: Path) -> None:
    env = {**TOKENS, MCP_KEY: "the-owner-s-own-key"}
    with running(home, "--agent", "ada", config="tokens.toml", env=env) as door:
        assert door.ask("initialize", "the-token-of-zoe", **HELLO).status == 401
        for key in ("the-token-of-ada", "the-owner-s-own-key"):
            assert json.loads(door.call("recall_memories", key)[1])["total"] == 2
            assert door.call("recall_memories", key, agent="zoe")[0]


@asynccontextmanager
async def alive(application: Any) -> AsyncIterator[None]:
    """An application between its start and its end, as a server drives it."""
    messages: asyncio.Queue[Any] = asyncio.Queue()
    answers: asyncio.Queue[Any] = asyncio.Queue()
    messages.put_nowait({"type": "lifespan.startup"})
    life = asyncio.create_task(application({"type": "lifespan"}, messages.get, answers.put))
    assert (await answers.get())["type"] == "lifespan.startup.complete"
    yield
    messages.put_nowait({"type": "lifespan.shutdown"})
    await life


def test_requests_that_are_opened_and_left_leave_nothing_behind(home: Path) -> None:
    """Two hundred more or less are the same number of objects: there is no session to keep."""
    experience = Experience(open_store(str(home / "r.db")), Config())
    application = door(experience, Keyring({}))
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    headers = [
        (b"host", b"localhost"),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json"),
    ]

    async def open_and_leave() -> int:
        sent: list[Any] = []
        messages = [{"type": "http.request", "body": hello, "more_body": False}]

        async def receive() -> Any:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/mcp",
            "raw_path": b"/mcp", "root_path": "", "query_string": b"", "scheme": "http", "headers": headers,
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        }  # fmt: skip
        await application(scope, receive, send)
        names = {name for name, _ in sent[0]["headers"]}
        assert b"mcp-session-id" not in names
        return int(sent[0]["status"])

    async def script() -> list[int]:
        sizes = []
        async with alive(application):
            for number in (20, 100, 200):
                for _ in range(number):
                    assert await open_and_leave() == 200
                await asyncio.sleep(0.05)
                gc.collect()
                sizes.append(len(asyncio.all_tasks()))
                sizes.append(sum("mcp.server" in str(type(item).__module__) for item in gc.get_objects()))
        return sizes

    tasks_before, before, *after = asyncio.run(script())
    assert after == [tasks_before, before] * 2
    experience.store.close()


def test_an_answer_beyond_the_bound_is_refused_with_its_size(home: Path) -> None:
    from mcp import Client

    from retro.surface.mcp.tools import server_of

    experience = Experience(open_store(str(home / "r.db")), Config())

    async def script() -> None:
        async with Client(server_of(experience, largest=400)) as client:
            large = await client.call_tool("recall_memories", {"agent": "ada", "detail": True})
            assert large.is_error
            assert "MB is the most" in large.content[0].text
            small = await client.call_tool("list_reviews", {"agent": "ada"})
            assert not small.is_error

    asyncio.run(script())
    experience.store.close()


def test_stdio_bound_to_an_agent(home: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "recall_memories", "arguments": {"agent": "zoe"}},
    }
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call]  # fmt: skip
    text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    for words, refused in ((("--agent", "ada"), True), ((), False)):
        with subprocess.Popen(
            [sys.executable, "-m", "retro", "--db", str(home / "r.db"), "mcp", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as run:  # fmt: skip
            assert run.stdin is not None
            assert run.stdout is not None
            run.stdin.write(text)
            run.stdin.flush()
            answers = [json.loads(run.stdout.readline()) for _ in range(2)]
            run.stdin.close()
        assert bool(answers[1]["result"].get("isError")) is refused
    wrong = process("--db", home / "r.db", "mcp", "--agent", "a b", cwd=home)
    assert (wrong.code, "--agent" in wrong.err) == (2, True)

"""The connections beneath the guard, by real sockets: nobody keeps the server waiting, and a newcomer gets in."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
import uvicorn

from retro.surface.guard.server import ConnectionLimits, serve

PATIENCE_S = 0.6


class Running:
    """A server in a thread; its application answers with `size` bytes, when `gate` is open."""

    def __init__(self) -> None:
        self.size = 2
        self.gate = threading.Event()
        self.gate.set()
        self.port = 0

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        while (await receive()).get("more_body"):
            pass
        await asyncio.to_thread(self.gate.wait)
        headers = [(b"content-length", str(self.size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * self.size})

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def asked(self, line: bytes = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") -> bytes:
        with self.connect() as client:
            client.sendall(line)
            return client.recv(1 << 16)


@contextmanager
def running(bounds: ConnectionLimits, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """`serve` as it is, told to stop at the end; only the server object is caught in passing."""
    state, servers = Running(), []

    class Caught(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            servers.append(self)

    monkeypatch.setattr(uvicorn, "Server", Caught)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        state.port = free.getsockname()[1]
    thread = threading.Thread(
        target=serve, args=(state.application, "127.0.0.1", state.port), kwargs={"bounds": bounds}
    )
    thread.start()
    until = time.monotonic() + 10
    while not (servers and servers[0].started) and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield state
    finally:
        state.gate.set()
        servers[0].should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def is_dropped(client: socket.socket, within_s: float = 8.0) -> bool:
    """Whether the server has let go of a connection, after whatever it still had to say."""
    client.settimeout(within_s)
    try:
        while client.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"POST / HTTP/1.1\r\nHost: x\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nh",
    ],
)
def test_who_does_not_say_it_whole_is_let_go(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    with running(ConnectionLimits(patience_s=PATIENCE_S), monkeypatch) as state, state.connect() as client:
        client.sendall(said)
        assert is_dropped(client)


def test_a_byte_now_and_then_buys_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(ConnectionLimits(patience_s=PATIENCE_S), monkeypatch) as state, state.connect() as client:
        sent = 0
        with pytest.raises(OSError, match=r"(?i)reset|broken"):
            for byte in b"POST / HTTP/1.1\r\nHost: x\r\n" + b"X-A: y\r\n" * 100:
                client.sendall(bytes([byte]))
                sent += 1
                time.sleep(0.1)
        assert sent * 0.1 < 5 * PATIENCE_S


def test_who_does_not_read_the_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(ConnectionLimits(patience_s=PATIENCE_S), monkeypatch) as state, state.connect() as client:
        state.size = 60_000_000  # beyond what the kernel takes for both ends
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(3 * PATIENCE_S)
        got = 0
        client.settimeout(10)
        with pytest.raises(OSError, match="reset"):
            while data := client.recv(1 << 20):
                got += len(data)
        assert got < state.size


def test_what_is_being_answered_is_waited_for_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(ConnectionLimits(patience_s=0.2), monkeypatch) as state, state.connect() as client:
        state.gate.clear()
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(1.0)
        state.gate.set()
        client.settimeout(10)
        answers = b""
        while answers.count(b"\r\n\r\nxx") < 2 and (data := client.recv(1 << 16)):
            answers += data
        assert answers.count(b" 200 OK\r\n") == 2


@pytest.mark.parametrize(
    "bounds", [ConnectionLimits(of_one=8, of_all=99), ConnectionLimits(of_one=99, of_all=8)]
)
def test_connections_that_are_opened_and_left_give_way_to_a_newcomer(
    monkeypatch: pytest.MonkeyPatch, bounds: ConnectionLimits
) -> None:
    """The oldest goes first; what is being answered stays."""
    with running(bounds, monkeypatch) as state, ExitStack() as clients:
        state.gate.clear()
        busy = clients.enter_context(state.connect())
        busy.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.2)
        idle = [clients.enter_context(state.connect()) for _ in range(40)]
        assert all(is_dropped(client) for client in idle[:30])
        state.gate.set()
        assert b"200 OK" in state.asked()
        busy.settimeout(10)
        assert b"200 OK" in busy.recv(1 << 16)


def test_where_everything_is_busy_the_newcomer_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(ConnectionLimits(of_one=3), monkeypatch) as state, ExitStack() as clients:
        state.gate.clear()
        busy = [clients.enter_context(state.connect()) for _ in range(3)]
        for client in busy:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.3)
        assert is_dropped(clients.enter_context(state.connect()))
        state.gate.set()
        for client in busy:
            client.settimeout(10)
            assert b"200 OK" in client.recv(1 << 16)


def test_a_head_beyond_all_measure_is_not_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(ConnectionLimits(), monkeypatch) as state:
        answer = b""
        with suppress(OSError):  # it may have hung up before everything is sent
            answer = state.asked(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 900_000 + b"\r\n\r\n")
        assert b" 200 " not in answer
        assert b" 200 " in state.asked(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 9_000 + b"\r\n\r\n")

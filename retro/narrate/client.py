"""The one door to the model: a request goes in, what came back comes out, and it never takes longer than it may.

A call runs in a thread of its own, because no timeout of a socket bounds a server that sends a byte now and then: when
its time is up the connection is cut and the thread left to end. Nothing here is retried and nothing raises; what an
answer means is not decided here either.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from retro.secret import Secret

__all__ = ["Reply", "ask", "model_state"]

Failure = Literal["timeout", "unreachable", "cut off", "too long", "refused by the service", "broken"]

_BREATH_S: Final = 1.0
_LARGEST: Final = 4 * 1024 * 1024
_URL: Final = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: `body` as it was received, and how it failed, if it did.

    `billed` is False when the service cannot have charged for it, None when that is not known.
    """

    body: str = ""
    status: int | None = None
    failure: Failure | None = None
    request_id: str | None = None
    billed: bool | None = None

    @property
    def message(self) -> dict[str, Any]:
        """The message in the body; empty when it holds none."""
        if self.failure is not None:
            return {}
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}


def ask(
    request: Mapping[str, Any],
    key: Secret,
    base_url: str | None,
    timeout_s: float,
    beat: Callable[[], None] = lambda: None,
) -> Reply:
    """Send one `messages.create` and wait for the whole answer, at most `timeout_s` by the wall clock.

    `beat` is called about once a second meanwhile; what it raises ends the wait.
    """
    import anthropic  # noqa: F401, PLC0415  # loaded before the clock starts

    wire = _Wire()
    return _bounded(lambda: _post(request, key, base_url, timeout_s, wire), wire, timeout_s, beat)


def model_state(
    model: str, key: Secret, base_url: str | None, timeout_s: float
) -> tuple[Reply, dict[str, Any]]:
    """What the service says of a model (`models.retrieve`), with the reply it came in."""
    import anthropic  # noqa: F401, PLC0415

    wire = _Wire()
    reply = _bounded(lambda: _look_up(model, key, base_url, timeout_s, wire), wire, timeout_s)
    return reply, reply.message


class _Wire:
    """The connection of one call, so that it can be cut from outside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_cut = False
        self.sent = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called at every step of the connection; remembers sockets and whether anything was sent."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            connection = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.append(connection)
                late = self._is_cut
            if late:
                self.cut()
        elif event.endswith(".send_request_headers.started"):
            self.sent = True

    def cut(self) -> None:
        """End every read and write on the connection, now and later."""
        with self._lock:
            self._is_cut = True
            for connection in self._sockets:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def _bounded(
    work: Callable[[], Reply], wire: _Wire, timeout_s: float, beat: Callable[[], None] = lambda: None
) -> Reply:
    """Do the work in a thread, for so long and no longer; `beat` is called now and then, and may raise to give up."""
    box: queue.SimpleQueue[Reply] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put(work())
        except BaseException as error:  # noqa: BLE001  # whatever it is, the review goes on without the model
            box.put(_failed(error, wire))

    threading.Thread(target=run, name="retro model call", daemon=True).start()
    until = time.monotonic() + timeout_s
    try:
        while (remaining := until - time.monotonic()) > 0:
            with suppress(queue.Empty):
                return box.get(timeout=min(remaining, _BREATH_S))
            beat()
    except BaseException:
        wire.cut()
        raise
    wire.cut()
    return Reply(failure="timeout", billed=None if wire.sent else False)


def _client(key: Secret, base_url: str | None, timeout_s: float, wire: _Wire) -> Any:
    import anthropic  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    def traced(request: Any) -> None:
        request.extensions = {**request.extensions, "trace": wire.trace}

    url = base_url or _URL
    own = urlsplit(url).hostname in {
        "localhost",
        "127.0.0.1",
        "::1",
    }  # a proxy of the house is not asked for these
    http = httpx2.Client(
        timeout=timeout_s, follow_redirects=False, trust_env=not own, event_hooks={"request": [traced]}
    )
    return anthropic.Anthropic(
        api_key=key.reveal(),
        base_url=url,
        max_retries=0,
        timeout=timeout_s,
        http_client=http,
        default_headers={"Accept-Encoding": "identity"},
    )


def _post(
    request: Mapping[str, Any], key: Secret, base_url: str | None, timeout_s: float, wire: _Wire
) -> Reply:
    with (
        _client(key, base_url, timeout_s, wire) as client,
        client.messages.with_streaming_response.create(**request) as response,
    ):
        return _read(response)


def _look_up(model: str, key: Secret, base_url: str | None, timeout_s: float, wire: _Wire) -> Reply:
    with (
        _client(key, base_url, timeout_s, wire) as client,
        client.models.with_streaming_response.retrieve(model) as response,
    ):
        return _read(response)


def _read(response: Any) -> Reply:
    """The whole body, unless it grows beyond anything an answer can be."""
    parts: list[bytes] = []
    chunks: Iterator[bytes] = response.iter_bytes()
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _LARGEST:
            return Reply(status=response.status_code, failure="too long")
        parts.append(chunk)
    body = b"".join(parts).decode("utf-8", "replace")
    request_id = response.headers.get("request-id")
    if response.status_code != 200:
        return Reply(body, response.status_code, "refused by the service", request_id, billed=False)
    return Reply(body, response.status_code, request_id=request_id)


def _failed(error: BaseException, wire: _Wire) -> Reply:
    """A reply that says how it failed; nothing of the error's own words."""
    import anthropic  # noqa: PLC0415

    status = getattr(error, "status_code", None)
    if isinstance(error, anthropic.APIStatusError) and isinstance(status, int):
        with suppress(Exception):
            body = error.response.text[:_LARGEST]
            return Reply(body, status, "refused by the service", error.request_id, billed=False)
        return Reply("", status, "refused by the service", billed=False)
    if not wire.sent:
        failure: Failure = "timeout" if isinstance(error, anthropic.APITimeoutError) else "unreachable"
        return Reply(failure=failure, billed=False)
    if isinstance(error, anthropic.APITimeoutError) or "Timeout" in type(error).__name__:
        return Reply(failure="timeout")
    if isinstance(error, anthropic.APIConnectionError) or type(error).__module__.startswith("httpx2"):
        return Reply(failure="cut off")
    return Reply(failure="broken")

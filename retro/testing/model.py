"""A model that answers on the loopback interface as told: the Messages API as far as this package speaks it.

    with FakeModel([said({"what_worked": ...}), overloaded()]) as model:
        ...  # [llm] base_url = model.url

It keeps every request, counts tokens its own way and adds up what it has billed, so that a ledger can be held against
it. No key is checked. A prefix before `/v1/...` is kept in `requests`.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "Answer",
    "FakeModel",
    "Request",
    "cut",
    "dripping",
    "failing",
    "overloaded",
    "raw",
    "refused",
    "said",
    "silent",
    "tokens",
    "truncated",
]

_BYTES_A_TOKEN: Final = (
    3  # English has four or five, JSON and figures fewer: rather too many tokens than too few
)
_ERRORS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def tokens(text: str) -> int:
    """How many tokens this model takes a text for."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)


@dataclass(frozen=True, slots=True)
class Answer:
    """What to answer, and how badly. `body` replaces the whole message; `usage` replaces what it would say of tokens.

    The body is written `step` bytes at a time with `pause_s` after each, only up to `cut_at` bytes, after `delay_s`;
    `drip_head` slows the headers too.
    """

    text: str = ""
    stop_reason: str = "end_turn"
    status: int = 200
    body: bytes | None = None
    usage: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    content: list[dict[str, Any]] | None = None
    delay_s: float = 0.0
    step: int = 1 << 16
    pause_s: float = 0.0
    cut_at: int | None = None
    drip_head: bool = False


Script: TypeAlias = Callable[[dict[str, Any]], Answer] | Sequence[Answer] | Answer


def said(answer: Any, **fields: Any) -> Answer:
    """A finished answer: a text as it is, anything else as JSON."""
    return Answer(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False), **fields)


def refused(text: str = "") -> Answer:
    """The model declines."""
    return Answer(text, stop_reason="refusal")


def truncated(text: str) -> Answer:
    """The answer ran into max_tokens."""
    return Answer(text, stop_reason="max_tokens")


def failing(status: int, message: str = "no", **headers: str) -> Answer:
    """An error of the service, with the body it gives such errors."""
    error = {"type": _ERRORS.get(status, "api_error"), "message": message}
    body = json.dumps({"type": "error", "error": error}).encode()
    return Answer(
        status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def overloaded() -> Answer:
    """529."""
    return failing(529, "Overloaded")


def raw(body: bytes, **fields: Any) -> Answer:
    """Exactly these bytes as the body of a 200."""
    return Answer(body=body, **fields)


def dripping(answer: Any, pause_s: float = 0.2, *, head: bool = False) -> Answer:
    """A sound answer that arrives a byte at a time, each soon enough for any timeout of a socket."""
    return replace(said(answer), step=1, pause_s=pause_s, drip_head=head)


def silent(seconds: float) -> Answer:
    """Nothing for so long."""
    return Answer(delay_s=seconds)


def cut(answer: Any, at: int) -> Answer:
    """A sound answer whose connection breaks after so many bytes of the body."""
    return replace(said(answer), cut_at=at)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class FakeModel:
    """The server. `script` is one answer for all, answers in turn (the last one stays), or a function of the request.

    A system prompt that ends in cache_control and has at least `cache_minimum` tokens is written to the cache once
    and read from it afterwards. `billed` counts tokens of complete answers.
    """

    def __init__(
        self, script: Script, *, cache_minimum: int = 4096, models: dict[str, dict[str, Any]] | None = None
    ) -> None:
        self.script = script
        self.models = models or {}
        self.requests: list[Request] = []
        self.billed: Counter[str] = Counter()
        self._cache_minimum = cache_minimum
        self._cached: set[str] = set()
        self._turn = count()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Where it listens, as `[llm] base_url` takes it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def calls(self) -> list[Request]:
        """The requests for messages."""
        return [request for request in self.requests if request.path.endswith("/v1/messages")]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> tuple[Answer, dict[str, Any]]:
        """What the script says to a request, and the usage it comes with."""
        with self._lock:
            self.requests.append(request)
            if request.method == "GET":
                return self._model(request.path.rsplit("/", 1)[-1]), {}
            chosen = self._chosen(request.body)
            return chosen, chosen.usage if chosen.usage is not None else self._usage(request.body, chosen)

    def _chosen(self, body: dict[str, Any]) -> Answer:
        if isinstance(self.script, Answer):
            return self.script
        if callable(self.script):
            return self.script(body)
        return self.script[min(next(self._turn), len(self.script) - 1)]

    def _model(self, name: str) -> Answer:
        if name not in self.models:
            return failing(404, f"model: {name}")
        model = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        return raw(
            json.dumps(model | {"lifecycle": "active", "retires_at": None} | self.models[name]).encode()
        )

    def _usage(self, body: dict[str, Any], answer: Answer) -> dict[str, Any]:
        blocks = body.get("system") or []
        stable = "".join(block["text"] for block in blocks if "cache_control" in block)
        request = {
            name: value for name, value in body.items() if name not in {"system", "max_tokens", "model"}
        }
        fresh, cacheable = tokens(json.dumps(request, ensure_ascii=False)), tokens(stable)
        written = read = 0
        if cacheable < self._cache_minimum:
            fresh += cacheable
        elif stable in self._cached:
            read = cacheable
        else:
            written = cacheable
            self._cached.add(stable)
        return {
            "input_tokens": fresh,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": min(tokens(answer.text), body.get("max_tokens") or 1 << 30),
            "service_tier": "standard",
            "inference_geo": "global",
        }

    def bill(self, usage: dict[str, Any]) -> None:
        """Count the tokens of an answer that went out whole."""
        with self._lock:
            self.billed.update({name: value for name, value in usage.items() if isinstance(value, int)})

    def wait(self, seconds: float) -> bool:
        """Pause, unless the server stops first."""
        return not self._stopping.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    model: FakeModel
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""

    def _serve(self, body: dict[str, Any]) -> None:
        request = Request(self.command, self.path, dict(self.headers.items()), body)
        answer, usage = self.model.answer(request)
        if answer.delay_s and not self.model.wait(answer.delay_s):
            return
        with suppress(OSError):
            if self._write(answer, _body(answer, usage, body)) and answer.body is None:
                self.model.bill(usage)

    def _write(self, answer: Answer, body: bytes) -> bool:
        """Write head and body; True when all of it went out."""
        self.close_connection = True
        head = [
            f"HTTP/1.1 {answer.status} X",
            f"Content-Length: {len(body)}",
            "Content-Type: application/json",
        ]
        head += [f"{name}: {value}" for name, value in {"request-id": "req_fake", **answer.headers}.items()]
        whole = "\r\n".join([*head, "Connection: close", "", ""]).encode()
        if not self._drip(whole, 1 if answer.drip_head else len(whole), answer.pause_s):
            return False
        sent = body if answer.cut_at is None else body[: answer.cut_at]
        return self._drip(sent, answer.step, answer.pause_s) and len(sent) == len(body)

    def _drip(self, data: bytes, step: int, pause_s: float) -> bool:
        for start in range(0, len(data), step):
            self.wfile.write(data[start : start + step])
            self.wfile.flush()
            if pause_s and not self.model.wait(pause_s):
                return False
        return True


def _body(answer: Answer, usage: dict[str, Any], request: dict[str, Any]) -> bytes:
    if answer.body is not None:
        return answer.body
    content = answer.content if answer.content is not None else [{"type": "text", "text": answer.text}]
    message = {
        "id": f"msg_{time.monotonic_ns():x}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": content,
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")

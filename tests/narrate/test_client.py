"""The door to the model: one request, one answer, never later than agreed, and every failure a value."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from retro.narrate.client import Reply, ask, model_state
from retro.secret import Secret
from retro.testing.model import (
    Answer,
    FakeModel,
    cut,
    dripping,
    failing,
    raw,
    refused,
    said,
    silent,
    truncated,
)

KEY = Secret("ANTHROPIC_API_KEY", "sk-test-0123456789")
REQUEST: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "Hello"}],
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
}


def reply_to(answer: Answer, timeout_s: float = 10.0) -> Reply:
    with FakeModel(answer) as model:
        reply = ask(REQUEST, KEY, model.url, timeout_s)
        assert len(model.calls) <= 1, "a hidden retry"
    return reply


@pytest.mark.parametrize("prefix", ["", "/", "/proxy", "/a/b/"])
def test_the_path_of_the_service_is_appended_to_base_url(prefix: str) -> None:
    with FakeModel(said("{}")) as model:
        reply = ask(REQUEST, KEY, model.url + prefix, 10)
        [request] = model.requests
    assert request.path == f"{prefix.rstrip('/')}/v1/messages"
    assert request.body == REQUEST
    assert request.headers["Authorization"] == f"Bearer {KEY.reveal()}"
    assert reply.failure is None
    assert reply.message["content"] == [{"type": "text", "text": "{}"}]


@pytest.mark.parametrize("answer", [said('{"a":1}'), refused("no"), truncated('{"a"')])
def test_whatever_the_model_says_comes_back_as_it_came(answer: Answer) -> None:
    message = reply_to(answer).message
    assert message["stop_reason"] == answer.stop_reason
    assert message["content"][0]["text"] == answer.text
    assert message["usage"]["output_tokens"] > 0


@pytest.mark.parametrize("status", [302, 400, 401, 402, 403, 404, 408, 409, 413, 429, 500, 503, 529])
def test_an_error_of_the_service_is_a_value_costs_nothing_and_is_not_tried_again(status: int) -> None:
    reply = reply_to(failing(status, "secret words", location="http://127.0.0.1:1/", retry_after="1"))
    assert (reply.failure, reply.status, reply.billed) == ("refused by the service", status, False)
    assert reply.message == {}


@pytest.mark.parametrize("at", [0, 1, 40])
def test_a_connection_that_breaks_may_have_cost_something(at: int) -> None:
    reply = reply_to(cut({"a": 1}, at))
    assert (reply.failure, reply.billed, reply.message) == ("cut off", None, {})


@pytest.mark.parametrize(
    "body", [b"", b"<html>no</html>", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000]
)
def test_a_body_that_is_no_message_is_an_empty_one(body: bytes) -> None:
    reply = reply_to(raw(body))
    assert (reply.failure, reply.message) == (None, {})


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    assert reply_to(raw(b"x" * 9_000_000)).failure == "too long"


def calls_left(within_s: float) -> int:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not (calls := [t for t in threading.enumerate() if t.name == "retro model call"]):
            return 0
        time.sleep(0.02)
    return len(calls)


@pytest.mark.parametrize(
    "answer",
    [dripping({"a": 1}, 0.05), dripping({"a": 1}, 0.05, head=True), silent(30)],
    ids=["a byte of the body now and then", "a byte of the head now and then", "nothing"],
)
def test_a_call_ends_on_time_however_slowly_bytes_arrive(answer: Answer) -> None:
    """The clock on the wall counts, not the pause between two bytes; and the connection is let go."""
    began = time.monotonic()
    reply = reply_to(answer, timeout_s=0.6)
    assert 0.5 < time.monotonic() - began < 2.5
    assert (reply.failure, reply.billed) == ("timeout", None)
    assert calls_left(3) == 0


def test_a_slow_answer_within_its_time_is_an_answer() -> None:
    assert reply_to(dripping({"a": 1}, 0.001)).failure is None


def test_nobody_there_costs_nothing() -> None:
    with FakeModel(said("{}")) as model:
        url = model.url
    reply = ask(REQUEST, KEY, url, 5)
    assert (reply.failure, reply.billed) == ("unreachable", False)


def test_who_waits_can_give_up() -> None:
    """What the beat raises ends the wait: a service that is told to stop does not wait for a model."""

    class StoppedError(Exception):
        pass

    def stops() -> None:
        raise StoppedError

    began = time.monotonic()
    with FakeModel(silent(30)) as model, pytest.raises(StoppedError):
        ask(REQUEST, KEY, model.url, 20, stops)
    assert time.monotonic() - began < 5
    assert calls_left(3) == 0


def test_a_proxy_of_the_house_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert reply_to(said("{}")).failure is None


def test_the_state_of_a_model_is_looked_up() -> None:
    with FakeModel(said("{}"), models={"m": {"lifecycle": "deprecated"}}) as model:
        reply, state = model_state("m", KEY, f"{model.url}/x", 10)
        assert (reply.failure, state["lifecycle"]) == (None, "deprecated")
        reply, state = model_state("n", KEY, model.url, 10)
        assert (reply.failure, reply.status, state) == ("refused by the service", 404, {})
        assert [request.path for request in model.requests] == ["/x/v1/models/m", "/v1/models/n"]

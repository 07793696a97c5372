"""Ten lines through apprise to a real web server on loopback: what arrives, what is tried again, what never leaks."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from retro.config import Config
from retro.deliver.channel import Message, Rejected, Retry, Sent
from retro.deliver.notify import NotifyChannel, notify_channel, summary
from retro.errors import ConfigError
from retro.secret import Secret
from tests.worlds.mails import lived, message
from tests.worlds.smtp_server import free_port, scripted

TOKEN = "tok3n-and-a-half"


@contextlib.contextmanager
def webhook(status: int = 200) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """A web server that keeps what is posted to it."""
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, posted
        finally:
            server.shutdown()
            thread.join(10)


def channel(*urls: str, secret: str = "", **options: Any) -> NotifyChannel:
    config = Config.model_validate({"notify": {"urls": list(urls)}})
    return NotifyChannel(config, Secret("RETRO_NOTIFY_URLS", secret) if secret else None, **options)


@pytest.fixture(scope="module")
def weekly(tmp_path_factory: pytest.TempPathFactory) -> Message:
    return message(lived(tmp_path_factory.mktemp("life")).weekly)


def test_a_summary_is_ten_lines_at_most_and_says_the_five_answers(weekly: Message) -> None:
    title, body = summary(replace(weekly, subject_line="Week 10"))
    lines = [title, *body.splitlines()]
    assert len(lines) <= 10
    assert all(0 < len(line) <= 180 for line in lines)
    assert title == "Week 10"
    for word in (
        "USDC",
        "Did acting beat doing nothing?",
        "Best position:",
        "Worst position:",
        "What is proposed?",
    ):
        assert word in body
    assert lines[-1] == f"retro show {weekly.review_id}"


def test_a_revision_in_a_digest_still_has_ten_lines(weekly: Message) -> None:
    before = weekly.document.model_copy(update={"confidence": 0.01})
    busy = replace(weekly, revision=3, previous=before, digest_of=(weekly.document,) * 4)
    title, body = summary(busy)
    lines = [title, *body.splitlines()]
    assert len(lines) <= 10
    assert f"Revision 3: Confidence 0.01, now {weekly.document.confidence:.2f}" in body
    assert "What is proposed?" in body
    assert "4 older reviews, caught up with." in lines
    assert lines[-1].startswith("retro show ")


def test_what_an_agent_calls_things_is_no_markup_and_calls_nobody(weekly: Message) -> None:
    rows = [
        p.model_copy(update={"position_id": "<@U1> @everyone [x](https://evil.example) `rm`\u202e\x07"})
        for p in weekly.document.positions
    ]
    hostile = replace(weekly, document=weekly.document.model_copy(update={"positions": rows}))
    _, body = summary(hostile)
    assert "U1" in body
    for piece in ("<", ">", "@everyone", "](", "://", "`", "\u202e", "\x07"):
        assert piece not in body


def test_it_arrives_as_plain_text_under_our_name(weekly: Message) -> None:
    with webhook() as (port, posted):
        notify = channel(f"json://127.0.0.1:{port}/hook")
        assert notify.send(replace(weekly, recipient="json-1")) == Sent()
    title, body = summary(weekly)
    assert [(post["title"], post["message"]) for post in posted] == [(title, body)]


def test_recipients_are_names_without_secrets() -> None:
    """They stand in the database."""
    notify = channel(
        "ntfys://ntfy.sh/topic",
        secret=f"tgram://123:{TOKEN}/1\ntgram://456:{TOKEN}/2,json://u:{TOKEN}@h.example/p?to=a,b",
    )
    names = notify.recipients(Config())
    assert names == ("ntfys-1", "tgram-1", "tgram-2", "json-1")
    assert notify.recipients(Config()) == names


def test_secret_urls_come_from_the_environment(weekly: Message) -> None:
    with webhook() as (port, posted):
        notify = notify_channel(Config(), {"RETRO_NOTIFY_URLS": f"json://127.0.0.1:{port}/{TOKEN}"})
        assert notify.send(replace(weekly, recipient="json-1")) == Sent()
    assert len(posted) == 1
    assert notify_channel(Config(), {}).recipients(Config()) == ()
    with pytest.raises(ConfigError):
        notify_channel(Config(), {"RETRO_NOTIFY_URLS_FILE": "/nowhere"})


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_url_that_refuses_is_tried_again_and_not_told(
    status: int, weekly: Message, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with webhook(status) as (port, posted):
        notify = channel(secret=f"json://ada:{TOKEN}@127.0.0.1:{port}/{TOKEN}-path?k={TOKEN}-key")
        outcome = notify.send(replace(weekly, recipient="json-1"))
    assert isinstance(outcome, Retry)
    assert outcome.reason.startswith("json-1 did not take it")
    assert len(posted) >= 1
    captured = capfd.readouterr()
    for place in (outcome.reason, repr(notify.__dict__["_masked"]), caplog.text, captured.err, captured.out):
        assert TOKEN not in place


def test_nobody_there_is_tried_again(weekly: Message) -> None:
    outcome = channel(f"json://127.0.0.1:{free_port()}/x").send(replace(weekly, recipient="json-1"))
    assert isinstance(outcome, Retry)


def test_a_silent_server_is_given_up_at_the_deadline(weekly: Message) -> None:
    with scripted(lambda connection: (connection.recv(1 << 20), connection.recv(1 << 20), None)[2]) as port:
        notify = channel(f"json://127.0.0.1:{port}/x?rto=20", deadline_s=0.5)
        assert isinstance(notify.send(replace(weekly, recipient="json-1")), Retry)


def test_a_url_apprise_does_not_know_waits_for_the_owner(weekly: Message) -> None:
    outcome = channel(secret=f"nosuch://{TOKEN}").send(replace(weekly, recipient="nosuch-1"))
    assert outcome == Retry("nosuch-1: apprise knows no such URL; see [notify] urls", 3600.0)


def test_a_url_taken_out_of_the_configuration_is_refused(weekly: Message) -> None:
    outcome = channel("json://127.0.0.1/x").send(replace(weekly, recipient="json-2"))
    assert outcome == Rejected("json-2 is not configured any more")

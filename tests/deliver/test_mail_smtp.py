"""One mail over real SMTP on loopback: what is sent, what comes later, what never, and what no reason may hold."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any, Literal

import pytest

from retro.deliver.channel import Outcome, Rejected, Retry, Sent
from retro.deliver.mail.smtp import Server, transmit
from retro.secret import Secret
from tests.worlds.smtp_server import Certificate, Mailbox, certificate, free_port, scripted, serve

PASSWORD = "pässwörd hunter2=&"
BODY = b"From: a@x.test\r\nTo: b@x.test\r\nSubject: s\r\n\r\nline\r\n.dot\r\nlast\r\n"


def send(port: int, to: str = "b@x.test", *, host: str = "127.0.0.1", **options: Any) -> Outcome:
    options = {"security": "none", "patience_s": 5.0, "deadline_s": 10.0, **options}
    return transmit(Server(host, port, **options), "a@x.test", to, BODY)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusted(identity: Certificate, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    monkeypatch.setenv("SSL_CERT_FILE", str(identity.path))
    return identity


def test_a_mail_arrives_byte_for_byte() -> None:
    box = Mailbox()
    with serve(box) as port:
        assert send(port) == Sent()
    assert [(t.sender, t.recipients, t.data) for t in box.received] == [("a@x.test", ["b@x.test"], BODY)]


# TLS and log-in


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_under_tls_with_a_log_in(security: Literal["starttls", "tls"], trusted: Certificate) -> None:
    box = Mailbox(users={"ada": PASSWORD})
    with serve(box, security=security, identity=trusted) as port:
        outcome = send(
            port, security=security, username="ada", password=Secret("RETRO_SMTP_PASSWORD", PASSWORD)
        )
    assert outcome == Sent()
    assert box.logged_in == [("ada", PASSWORD)]
    assert len(box.received) == 1


@pytest.mark.parametrize("off", [("LOGIN",), ("PLAIN",)])
def test_log_in_by_either_mechanism_also_with_a_password_beyond_ascii(off: tuple[str]) -> None:
    box = Mailbox(users={"ada": PASSWORD})
    with serve(box, mechanisms_off=off) as port:
        assert send(port, username="ada", password=Secret("RETRO_SMTP_PASSWORD", PASSWORD)) == Sent()
    assert box.logged_in == [("ada", PASSWORD)]


def test_a_wrong_password_waits_for_the_owner_and_is_not_told() -> None:
    box = Mailbox(users={"ada": "right"})
    with serve(box) as port:
        outcome = send(port, username="ada", password=Secret("RETRO_SMTP_PASSWORD", "wrong-guess"))
    assert outcome == Retry(
        "127.0.0.1 did not accept the user name and RETRO_SMTP_PASSWORD (535)", after_s=3600.0
    )
    assert box.received == []


def test_a_server_that_wants_a_log_in_nobody_configured_is_the_owners_to_mend() -> None:
    with serve(Mailbox(users={"ada": "x"})) as port:
        outcome = send(port, username="ada")
    assert isinstance(outcome, Retry)
    assert "530" in outcome.reason
    assert "RETRO_SMTP_PASSWORD is not set" in outcome.reason


def test_nothing_is_sent_in_clear_when_starttls_is_asked_for_and_not_offered() -> None:
    box = Mailbox()
    with serve(box) as port:
        outcome = send(port, security="starttls")
    assert outcome == Retry("127.0.0.1 offers no STARTTLS; nothing was sent in clear", after_s=3600.0)
    assert box.received == []


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_nobody_vouches_for_is_not_trusted(
    security: Literal["starttls", "tls"], identity: Certificate
) -> None:
    box = Mailbox()
    with serve(box, security=security, identity=identity) as port:
        outcome = send(port, security=security)
    assert isinstance(outcome, Retry)
    assert "certificate is not trusted" in outcome.reason
    assert box.received == []


def test_a_certificate_for_another_name_is_not_trusted(
    trusted: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *a, **k: [(socket.AF_INET, 1, 6, "", ("127.0.0.1", a[1]))]
    )
    with serve(Mailbox(), security="tls", identity=trusted) as port:
        outcome = send(port, host="mail.example.org", security="tls")
    assert isinstance(outcome, Retry)
    assert "certificate is not trusted" in outcome.reason


def test_tls_spoken_to_a_server_in_clear_says_what_to_look_at() -> None:
    with serve(Mailbox()) as port:
        outcome = send(port, security="tls")
    assert isinstance(outcome, Retry)
    assert "is security right for this port?" in outcome.reason


# Fault 15: refused, 421, greylisted, hanging


def test_15_a_server_that_is_not_there_is_tried_later() -> None:
    port = free_port()
    assert send(port) == Retry(f"127.0.0.1:{port}: Connection refused")


def test_a_name_that_nobody_knows_is_tried_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_args: object, **_named: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    outcome = send(25, host="mail.invalid")
    assert outcome == Retry("mail.invalid:25: Name or service not known")


@pytest.mark.parametrize(
    ("reply", "after"),
    [
        ("451 4.7.1 Greylisted, try again in 300 seconds", 300.0),
        ("450 please wait 5 minutes", 300.0),
        ("451 come back in 2 s", 60.0),
        ("451 try in 99999 seconds", 3600.0),
        ("450 mailbox busy", None),
        ("452 4.2.2 over quota", None),
    ],
)
def test_15_a_recipient_put_off_is_tried_when_the_server_says(reply: str, after: float | None) -> None:
    box = Mailbox(to_recipient={"b@x.test": [reply]})
    with serve(box) as port:
        outcome = send(port)
        assert isinstance(outcome, Retry)
        assert outcome.after_s == after
        assert reply in outcome.reason
        assert send(port) == Sent(), "the next try goes through"
    assert len(box.received) == 1


def test_content_put_off_is_tried_later_and_refused_content_never() -> None:
    box = Mailbox(to_content=["451 scanner busy", "552 too big"])
    with serve(box) as port:
        assert send(port) == Retry("127.0.0.1 did not take the mail: 451 scanner busy")
        assert send(port) == Rejected("127.0.0.1 did not take the mail: 552 too big")


@pytest.mark.parametrize("greeting", [b"421 closing\r\n", b"554 no service\r\n"])
def test_15_a_server_that_takes_no_mail_at_all_is_tried_later(greeting: bytes) -> None:
    def refuse(connection: socket.socket) -> None:
        connection.sendall(greeting)
        connection.recv(100)

    with scripted(refuse) as port:
        outcome = send(port)
    assert isinstance(outcome, Retry)
    assert greeting.decode().strip() in outcome.reason


def test_15_a_silent_server_costs_no_more_than_our_patience() -> None:
    with scripted(lambda connection: (connection.recv(1), None)[1]) as port:
        begun = time.monotonic()
        outcome = send(port, patience_s=0.3)
    assert outcome == Retry(f"127.0.0.1:{port} was silent for 0.3 s")
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("security", ["none", "tls"])
def test_15_a_dripping_server_is_cut_at_the_deadline(
    security: Literal["starttls", "tls"], trusted: Certificate
) -> None:
    def drip(connection: socket.socket) -> None:
        end = trusted.context.wrap_socket(connection, server_side=True) if security == "tls" else connection
        with end:
            for _ in range(600):
                end.send(b"2")
                time.sleep(0.05)

    with scripted(drip) as port:
        begun = time.monotonic()
        outcome = send(port, security=security, patience_s=5.0, deadline_s=0.6)
        assert time.monotonic() - begun < 4
    assert outcome == Retry(f"127.0.0.1:{port} took longer than 0.6 s")


def test_a_server_that_stalls_after_the_content_is_cut_too() -> None:
    def stall(connection: socket.socket) -> None:
        connection.sendall(b"220 hi\r\n")
        received = b""
        while b"\r\n.\r\n" not in received:
            data = connection.recv(65536)
            if not data:
                return
            received += data
            if not data.startswith(b"From:") and b"\r\nFrom:" not in data:
                connection.sendall(b"354 go\r\n" if data.upper().startswith(b"DATA") else b"250 ok\r\n")
        connection.recv(1)

    with scripted(stall) as port:
        assert send(port, patience_s=0.4) == Retry(f"127.0.0.1:{port} was silent for 0.4 s")


def test_2_a_server_that_vanishes_after_taking_the_mail_may_get_it_twice_the_same() -> None:
    """Between its 250 and us nobody can know: the mail is sent again, with the same bytes."""
    box = Mailbox(vanishes="after taking")
    with serve(box) as port:
        assert send(port) == Retry(f"127.0.0.1:{port} closed the connection")
        box.vanishes = "never"
        assert send(port) == Sent()
    assert [delivered.data for delivered in box.received] == [BODY, BODY]


def test_a_broken_farewell_does_not_undo_what_was_taken() -> None:
    def rude(connection: socket.socket) -> None:
        connection.sendall(b"220 hi\r\n")
        while data := connection.recv(65536):
            if data.upper().startswith(b"DATA"):
                connection.sendall(b"354 go\r\n")
            elif data.endswith(b"\r\n.\r\n"):
                connection.sendall(b"250 taken\r\n")
                return
            else:
                connection.sendall(b"250 ok\r\n")

    with scripted(rude) as port:
        assert send(port) == Sent()


# Fault 16: one of three rejected


def test_16_one_recipient_of_three_rejected_the_others_served() -> None:
    box = Mailbox(to_recipient={"gone@x.test": "550 5.1.1 no such user"})
    with serve(box) as port:
        outcomes = {to: send(port, to) for to in ("one@x.test", "gone@x.test", "two@x.test")}
    assert outcomes == {
        "one@x.test": Sent(),
        "gone@x.test": Rejected("127.0.0.1 did not take the recipient gone@x.test: 550 5.1.1 no such user"),
        "two@x.test": Sent(),
    }
    assert [delivered.recipients for delivered in box.received] == [["one@x.test"], ["two@x.test"]]


def test_a_sender_the_server_will_not_have_is_refused() -> None:
    with serve(Mailbox(to_sender={"a@x.test": "553 not yours"})) as port:
        assert send(port) == Rejected("127.0.0.1 did not take the sender a@x.test: 553 not yours")


# Secrets and strangers' words


def test_a_server_that_repeats_what_it_heard_does_not_put_the_password_into_a_reason() -> None:
    """Some servers quote the command they do not know, and the log-in is a command."""
    heard: list[bytes] = []

    def parrot(connection: socket.socket) -> None:
        connection.sendall(b"220 hi\r\n")
        while data := connection.recv(65536):
            heard.append(data)
            if data.upper().startswith(b"EHLO"):
                connection.sendall(b"250-hi\r\n250 AUTH PLAIN\r\n")
            else:
                connection.sendall(b"500 unknown: " + data.strip() + b" " + PASSWORD.encode() + b"\r\n")

    with scripted(parrot) as port:
        outcome = send(port, username="ada", password=Secret("RETRO_SMTP_PASSWORD", PASSWORD))
    assert isinstance(outcome, Retry)
    spoken = b"".join(heard).split()
    assert b"AUTH" in spoken
    assert PASSWORD not in outcome.reason
    assert spoken[-1].decode() not in outcome.reason


def test_a_reason_is_one_short_line_without_controls_or_secrets() -> None:
    def hostile(connection: socket.socket) -> None:
        connection.sendall(b"421 \x1b[31mred\x07 \xe2\x80\xae" + PASSWORD.encode() + b" x" * 300 + b"\r\n")
        connection.recv(100)

    with scripted(hostile) as port:
        outcome = send(port, password=Secret("RETRO_SMTP_PASSWORD", PASSWORD))
    assert isinstance(outcome, Retry)
    assert outcome.reason.isprintable()
    assert len(outcome.reason) < 300
    assert PASSWORD not in outcome.reason


def test_no_error_of_the_channel_holds_the_password(tmp_path: Path) -> None:
    """Whatever the settings, the password shows itself neither in the server's repr nor in an outcome."""
    server = Server("127.0.0.1", 1, password=Secret("RETRO_SMTP_PASSWORD", PASSWORD))
    assert PASSWORD not in repr(server)
    assert PASSWORD not in repr(transmit(server, "a@x.test", "b@x.test", BODY))

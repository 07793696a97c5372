"""A real SMTP server on loopback for tests: STARTTLS, implicit TLS, log-ins, and every way to refuse, stall and vanish."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Literal

from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class ReceivedMail:
    """A message the server said 250 to, or vanished after."""

    sender: str
    recipients: list[str]
    data: bytes

    @property
    def mail(self) -> EmailMessage:
        return message_from_bytes(self.data, policy=policy.default)


@dataclass
class Mailbox:
    """What arrives, and the replies that a test asks for: by sender, by recipient, to the content."""

    to_sender: dict[str, str] = field(default_factory=dict)
    to_recipient: dict[str, list[str] | str] = field(default_factory=dict)  # a list is used up, then 250
    to_content: list[str] = field(default_factory=list)
    vanishes: Literal["never", "after taking"] = "never"
    received: list[ReceivedMail] = field(default_factory=list)
    logged_in: list[tuple[str, str]] = field(default_factory=list)
    users: dict[str, str] = field(default_factory=dict)

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if self.users and not session.authenticated:
            return "530 5.7.0 log in first"
        if address in self.to_sender:
            return self.to_sender[address]
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        reply = self.to_recipient.get(address)
        if isinstance(reply, list):
            reply = reply.pop(0) if reply else None
        if reply:
            return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.to_content:
            return self.to_content.pop(0)
        self.received.append(ReceivedMail(envelope.mail_from, list(envelope.rcpt_tos), envelope.content))
        if self.vanishes == "after taking":
            server.transport.abort()
        return "250 taken"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        user, password = data.login.decode(), data.password.decode()
        self.logged_in.append((user, password))
        return AuthResult(success=self.users.get(user) == password, handled=False)


@dataclass(frozen=True)
class Certificate:
    """A certificate of its own authority for localhost and 127.0.0.1."""

    path: Path
    context: ssl.SSLContext


def certificate(directory: Path) -> Certificate:
    """A fresh one; whoever sets SSL_CERT_FILE to its path trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path, both = directory / "server.pem", directory / "server-and-key.pem"
    pem = signed.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(pem)
    both.write_bytes(pem + secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return Certificate(path, context)


@contextlib.contextmanager
def serve(
    mailbox: Mailbox,
    *,
    security: Literal["none", "starttls", "tls"] = "none",
    identity: Certificate | None = None,
    mechanisms_off: tuple[str, ...] = (),
) -> Iterator[int]:
    """The mailbox behind a port; log-ins are asked for when it has users."""
    context = identity.context if identity else None

    def protocol() -> SMTP:
        return SMTP(
            mailbox,
            hostname="mx.test",
            ident="test",
            loop=loop,
            tls_context=context if security == "starttls" else None,
            require_starttls=security == "starttls",
            authenticator=mailbox.authenticate,
            auth_require_tls=security == "starttls",
            auth_exclude_mechanism=mechanisms_off,
        )

    loop = asyncio.new_event_loop()
    started: list[int] = []
    ready, stop = threading.Event(), asyncio.Event()

    async def live() -> None:
        server = await loop.create_server(
            protocol, "127.0.0.1", 0, ssl=context if security == "tls" else None
        )
        started.append(server.sockets[0].getsockname()[1])
        ready.set()
        await stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@contextlib.contextmanager
def scripted(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that does to each connection what a test says: silence, one byte a second, hanging up."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threads.append(threading.Thread(target=attend, args=(connection,)))
            threads[-1].start()

    def attend(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            behave(connection)

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(10)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(10)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])

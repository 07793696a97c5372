"""One mail to one recipient over SMTP, and what became of it.

A reply of 4xx, a silent server and a broken network mean later; 5xx to the sender, the recipient or the content means
never, for this recipient. A wrong password or certificate is the owner's to mend, so the mail waits for that. Whatever
a server says is a stranger's text, and no secret passes into a reason.
"""

from __future__ import annotations

import base64
import hmac
import re
import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Final, Literal

from retro.deliver.channel import Rejected, Retry, Sent
from retro.safe import plain_text
from retro.secret import SMTP_PASSWORD, redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.deliver.channel import Outcome
    from retro.secret import Secret

__all__ = ["Server", "reach", "transmit"]

_OWNERS: Final = frozenset({530, 534, 535, 538})  # authentication: no fault of this mail
_HOUR: Final = 3600.0
_FAREWELL_S: Final = 5.0
_WAIT: Final = re.compile(
    r"\b(?:in|after|for|wait)\s+(\d{1,5})\s*(s|sec|seconds?|m|min|minutes?)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Server:
    """A mail server and how to talk to it.

    `patience_s` bounds one silence, `deadline_s` the whole conversation, however slowly bytes arrive.
    """

    host: str
    port: int
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: str | None = None
    password: Secret | None = None
    patience_s: float = 20.0
    deadline_s: float = 45.0


class _Unmet(Exception):  # noqa: N818  an outcome on its way out, not an error
    """The conversation ends here, with this outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()


class _Connection(smtplib.SMTP):
    """An SMTP connection that can be cut from outside at any moment, in clear or under TLS."""

    def __init__(self, server: Server) -> None:
        super().__init__(timeout=server.patience_s, local_hostname="localhost")
        self._host = server.host  # the name its certificate must carry
        self.implicit = ssl.create_default_context() if server.security == "tls" else None
        self.wire: socket.socket | None = None
        self.is_over = False

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        opened = socket.create_connection((host, port), timeout)
        self.wire = opened.dup()
        address = opened.getsockname()[0]
        self.local_hostname = f"[IPv6:{address}]" if ":" in address else f"[{address}]"
        if self.is_over:
            opened.close()
            raise TimeoutError
        return self.implicit.wrap_socket(opened, server_hostname=host) if self.implicit else opened

    def cut(self) -> None:
        """End it now: whatever waits for the server fails."""
        self.is_over = True
        if self.wire is not None:
            with suppress(OSError):
                self.wire.shutdown(socket.SHUT_RDWR)


def transmit(server: Server, sender: str, recipient: str, message: bytes) -> Outcome:
    """Hand the message over for one recipient; addresses are bare and in ASCII."""
    return _converse(server, lambda wire: _hand_over(wire, server, sender, recipient, message))


def reach(server: Server) -> Outcome:
    """Go as far as a mail would go and send none: connected, under TLS as configured, logged in."""
    return _converse(server, _take_leave)


def _converse(server: Server, talk: Callable[[_Connection], Outcome]) -> Outcome:
    connection = _Connection(server)
    watch = Timer(server.deadline_s, connection.cut)
    watch.daemon = True
    watch.start()
    try:
        _open(connection, server)
        outcome = talk(connection)
    except _Unmet as unmet:
        outcome = unmet.outcome
    except (OSError, smtplib.SMTPException) as error:
        outcome = Retry(_trouble(error, server, is_over=connection.is_over))
    finally:
        watch.cancel()
        connection.close()
        if connection.wire is not None:
            connection.wire.close()
    return outcome


def _open(connection: _Connection, server: Server) -> None:
    """Connected, under TLS as configured, and authenticated."""
    _expect(connection.connect(server.host, server.port), server)
    connection.ehlo_or_helo_if_needed()
    if server.security == "starttls":
        if not connection.has_extn("starttls"):
            raise _Unmet(Retry(f"{server.host} offers no STARTTLS; nothing was sent in clear", _HOUR))
        _expect(connection.starttls(context=ssl.create_default_context()), server)
        connection.ehlo_or_helo_if_needed()
    if server.username and server.password:
        _authenticate(connection, server, server.username, server.password)


def _expect(reply: tuple[int, bytes], server: Server) -> None:
    code, text = reply
    if not 200 <= code < 300:
        after = None if code == 421 or 400 <= code < 500 else _HOUR
        raise _Unmet(Retry(f"{server.host} does not take mail now: {_quoted(code, text, server)}", after))


def _authenticate(connection: _Connection, server: Server, username: str, password: Secret) -> None:
    """Log in with the strongest usual mechanism the server knows; its reply, which may echo us, is never quoted."""
    mechanisms = set(connection.esmtp_features.get("auth", "").upper().split())

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    secret = password.reveal()
    if "PLAIN" in mechanisms:
        code, _ = connection.docmd("AUTH", f"PLAIN {encoded(f'{chr(0)}{username}{chr(0)}{secret}')}")
    elif "LOGIN" in mechanisms:
        code, _ = connection.docmd("AUTH", "LOGIN")
        for answer in (username, secret):
            if code == 334:
                code, _ = connection.docmd(encoded(answer))
    elif "CRAM-MD5" in mechanisms:
        code, challenge = connection.docmd("AUTH", "CRAM-MD5")
        if code == 334:
            with suppress(ValueError):
                challenge = base64.b64decode(challenge)
            proof = hmac.new(secret.encode(), challenge, "md5").hexdigest()
            code, _ = connection.docmd(encoded(f"{username} {proof}"))
    else:
        raise _Unmet(
            Retry(f"{server.host} offers no way to log in that we know; a username is configured", _HOUR)
        )
    if code != 235:
        reason = f"{server.host} did not accept the user name and {SMTP_PASSWORD} ({code})"
        raise _Unmet(Retry(reason, None if 400 <= code < 500 else _HOUR))


def _hand_over(
    connection: _Connection, server: Server, sender: str, recipient: str, message: bytes
) -> Outcome:
    """MAIL, RCPT, DATA; what the server said to the first that it did not take."""
    options = [f"SIZE={len(message)}"] if connection.has_extn("size") else []
    code, text = connection.mail(sender, options)
    if code != 250:
        return _refusal(code, text, f"the sender {sender}", server)
    code, text = connection.rcpt(recipient)
    if code not in {250, 251}:
        return _refusal(code, text, f"the recipient {recipient}", server)
    try:
        code, text = connection.data(message)
    except smtplib.SMTPDataError as error:
        return _refusal(error.smtp_code, _bytes(error.smtp_error), "the mail", server)
    if not 200 <= code < 300:
        return _refusal(code, text, "the mail", server)
    return _take_leave(connection)


def _take_leave(connection: _Connection) -> Outcome:
    """It has all that it was to get: nothing after this can undo that."""
    if connection.sock is not None:
        with suppress(OSError, smtplib.SMTPException):
            connection.sock.settimeout(_FAREWELL_S)
            connection.quit()
    return Sent()


def _refusal(code: int, text: bytes, part: str, server: Server) -> Outcome:
    """4xx: later, in as long as the server asks for; 5xx: never; what only the owner can mend: in an hour."""
    reason = f"{server.host} did not take {part}: {_quoted(code, text, server)}"
    if code in _OWNERS:
        hint = "" if server.password or not server.username else f"; {SMTP_PASSWORD} is not set"
        return Retry(reason + hint, _HOUR)
    if 500 <= code < 600:
        return Rejected(reason)
    return Retry(reason, _requested_delay(text))


def _requested_delay(text: bytes) -> float | None:
    """Seconds a greylisting server asks us to wait, between a minute and an hour; None when it does not say."""
    match = _WAIT.search(text.decode("ascii", "replace"))
    if not match:
        return None
    seconds = int(match[1]) * (60 if match[2].lower().startswith("m") else 1)
    return float(min(max(seconds, 60), _HOUR))


def _quoted(code: int, text: bytes, server: Server) -> str:
    """The reply as one short line without secrets."""
    secrets = () if server.password is None else (server.password,)
    reply = plain_text(str(redact(text.decode("utf-8", "replace"), secrets)))
    return f"{code} {reply[:200]}".rstrip()


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _trouble(error: OSError | smtplib.SMTPException, server: Server, *, is_over: bool) -> str:
    """What went wrong on the way, without what was sent."""
    place = f"{server.host}:{server.port}"
    if is_over:
        return f"{place} took longer than {server.deadline_s:g} s"
    if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        return f"{place} was silent for {server.patience_s:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted ({error.verify_message})"
        return f"{place}: {why}; SSL_CERT_FILE names an authority of your own"
    if isinstance(error, ssl.SSLError):
        return f"{place}: no TLS ({error.reason or 'the connection was closed'}); is security right for this port?"
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return f"{place} closed the connection"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{place}: {_quoted(error.smtp_code, _bytes(error.smtp_error), server)}"
    if isinstance(error, OSError) and not isinstance(error, smtplib.SMTPException):
        return f"{place}: {error.strerror or type(error).__name__}"
    return f"{place}: {type(error).__name__}"

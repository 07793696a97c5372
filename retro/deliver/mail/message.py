"""A mail as bytes: headers that thread and cannot be injected into, both parts, the pictures. Pure.

The same review gives the same bytes: nothing here looks at a clock, a host or chance.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime, parseaddr
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retro.kinds import KINDS
from retro.periods import EPOCH
from retro.safe import plain_text

if TYPE_CHECKING:
    from retro.deliver.channel import Message
    from retro.deliver.mail.body import Parts

__all__ = ["Envelope", "address_of", "content_id", "mail_bytes", "message_id"]

_WHOLE: Final = frozenset(
    {"message-id", "in-reply-to", "references", "list-id", "list-unsubscribe", "content-id"}
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*")
_SINGLE: Final = re.compile(
    r"(?!\d{4}-W\d\d$)[A-Za-z0-9_+-]+"
)  # no dot, no week: apart from any agent's weekly id
_LONGEST_SUBJECT: Final = 200


class _Policy(EmailPolicy):
    """SMTP's, but ids and addresses in angle brackets are never broken up or encoded, however long they are."""

    def fold_binary(self, name: str, value: Any) -> bytes:
        if name.lower() in _WHOLE:
            return f"{name}: {str(value).replace('> <', f'>{self.linesep} <')}{self.linesep}".encode("ascii")
        return super().fold_binary(name, value)


@dataclass(frozen=True, slots=True)
class Envelope:
    """Whom a mail is from and to, and where a wish to unsubscribe goes, if anywhere."""

    sender: Address
    recipient: Address
    unsubscribe: str | None = None

    @property
    def domain(self) -> str:
        """The sender's domain: ids of ours end with it."""
        return self.sender.domain


def address_of(text: str, default_name: str = "") -> Address | None:
    """`ada@example.org` or `Ada <ada@example.org>` as headers need it, its domain in ASCII; None: no address."""
    if re.search(r"[\x00-\x1f\x7f]", text):
        return None
    name, bare = parseaddr(text)
    local, at, domain = bare.rpartition("@")
    try:
        host = domain.encode("idna").decode("ascii")
        if not (at and host and local.isascii()):
            return None
        return Address(_header(name or default_name), local, host)
    except (UnicodeError, ValueError):
        return None


def message_id(message: Message, domain: str, revision: int | None = None) -> str:
    """The id of a review's revision, the same at every try: <review.AGENT.2026-W47.r1@DOMAIN>.

    Kinds other than weekly stand before the period, so that a day and an epoch that begin together stay apart.
    """
    if message.fleet is not None:
        return f"<fleet.{_atom(message.period_key)}@{domain}>"
    parts = ["review", _atom(message.agent)]
    key_tells_kind = KINDS[message.kind].key_tells_kind
    if not key_tells_kind:
        parts.append(_atom(message.kind))
    if message.period_key:
        pattern = _PLAIN if key_tells_kind else _SINGLE
        parts.append(_atom(message.period_key, pattern))
    return f"<{'.'.join(parts)}.r{message.revision if revision is None else revision}@{domain}>"


def content_id(message: Message, name: str, domain: str) -> str:
    """The content id of a picture in this mail, without brackets."""
    return f"{name}.{message_id(message, domain)[1:-1]}"


def mail_bytes(message: Message, envelope: Envelope, subject: str, parts: Parts) -> bytes:
    """The whole mail, ready to be sent."""
    mail = EmailMessage(_Policy(linesep="\r\n", max_line_length=76))
    _head(mail, message, envelope, subject)
    mail.set_content(parts.text, cte="quoted-printable")
    mail.add_alternative(parts.html, subtype="html", cte="quoted-printable")
    html_part: Any = list(mail.iter_parts())[1]
    for cid, (filename, png) in parts.pictures.items():
        html_part.add_related(png, "image", "png", cid=f"<{cid}>", disposition="inline", filename=filename)
    mail["Content-Language"] = "en"  # on the whole: what set_content touches loses it
    _bound(
        mail, hashlib.sha256(repr((message_id(message, envelope.domain), parts.text)).encode()).hexdigest()
    )
    return mail.as_bytes()


def _head(mail: EmailMessage, message: Message, envelope: Envelope, subject: str) -> None:
    domain, agent = envelope.domain, _atom(message.agent)
    thread, list_id = f"<review.{agent}@{domain}>", f"Reviews of {agent} <{agent}.reviews.{domain}>"
    if message.fleet is not None:  # no agent's thread or list can be called so
        agent, thread, list_id = "fleet", f"<fleet@{domain}>", f"Weeks of all agents <fleet.{domain}>"
    earlier = [message_id(message, domain, n) for n in range(1, message.revision)][-10:]
    mail["From"] = envelope.sender
    mail["To"] = envelope.recipient
    mail["Subject"] = _header(subject)[:_LONGEST_SUBJECT].strip()
    # when it was ready to go, not when it is handed over: sent again after a crash it is the same mail, byte for byte
    at = message.generated_at_us if message.written_at_us is None else message.written_at_us
    mail["Date"] = format_datetime(EPOCH + timedelta(microseconds=at))
    mail["Message-ID"] = message_id(message, domain)
    mail["In-Reply-To"] = earlier[-1] if earlier else thread
    mail["References"] = " ".join([thread, *earlier])
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    mail["List-ID"] = list_id
    if envelope.unsubscribe:
        about = quote(f"unsubscribe {agent}")
        mail["List-Unsubscribe"] = f"<mailto:{envelope.unsubscribe}?subject={about}>"


def _header(text: str) -> str:
    """A text for a header: one line, and nothing a mail program would decode a second time."""
    return plain_text(text).replace("=?", "= ?")


def _atom(text: str, plain: re.Pattern[str] = _PLAIN) -> str:
    """The text as part of a message id: itself where it may stand there, else a safe spelling with a digest."""
    if plain.fullmatch(text) and len(text) <= 80:
        return text
    safe = re.sub(r"[^A-Za-z0-9_+-]+", "-", text).strip("-")[:40]
    return f"{safe or 'x'}-{hashlib.sha256(text.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def _bound(mail: EmailMessage, digest: str) -> None:
    """Boundaries from the content instead of from chance."""
    for n, part in enumerate(part for part in mail.walk() if part.is_multipart()):
        part.set_boundary(f"=_{digest[:40]}_{n}")

"""Reviews by mail: one message to one recipient, the same bytes whenever the same review is sent again.

SMTP cannot be exactly-once: a crash between the server's 250 and our commit repeats one mail, with the same Message-ID.
"""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Final

from retro.deliver.briefing import briefing_of, sanitise
from retro.deliver.channel import Rejected
from retro.deliver.mail.body import parts_of
from retro.deliver.mail.message import Envelope, address_of, content_id, mail_bytes
from retro.deliver.mail.smtp import Server, reach, transmit
from retro.present.widths import cut
from retro.secret import SMTP_PASSWORD, find_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.config import Config
    from retro.deliver.briefing import Briefing
    from retro.deliver.channel import Message, Outcome
    from retro.deliver.mail.body import Parts
    from retro.secret import Secret

__all__ = ["MailChannel", "mail_channel"]

_NAME: Final = "Slow Mirror"
_NOWHERE: Final = "retro@localhost"
_NO_HOST: Final = "no [mail] host is configured"


def mail_channel(config: Config, env: Mapping[str, str], **patience: float) -> MailChannel:
    """The channel as configured, with its password from the environment."""
    return MailChannel(config, find_secret(SMTP_PASSWORD, env), **patience)


class MailChannel:
    """The channel `mail`."""

    name: Final = "mail"

    def __init__(
        self,
        config: Config,
        password: Secret | None = None,
        *,
        patience_s: float = 20.0,
        deadline_s: float = 45.0,
    ) -> None:
        mail = config.mail
        self._owner = sanitise(config.owner.name, 100)
        self._from = mail.from_address or _NOWHERE
        self._unsubscribe = mail.sender
        self._server = (
            Server(
                mail.host,
                mail.server_port,
                mail.security,
                mail.username,
                password,
                patience_s=patience_s,
                deadline_s=deadline_s,
            )
            if mail.host
            else None
        )

    def recipients(self, config: Config) -> tuple[str, ...]:
        """Whom each mail goes to; nobody while no host is configured."""
        return config.mail.recipients if config.mail.host else ()

    def reach(self) -> Outcome:
        """Whether the server would take a mail from us; none is sent."""
        return Rejected(_NO_HOST) if self._server is None else reach(self._server)

    def send(self, message: Message) -> Outcome:
        """Hand the mail to the server for this recipient."""
        if self._server is None:
            return Rejected(_NO_HOST)
        envelope = self._envelope(message.recipient)
        if envelope is None:
            return Rejected("the sender or the recipient is no mail address that can be written in ASCII")
        whole, _ = self._compose(message, envelope)
        sender, recipient = envelope.sender.addr_spec, envelope.recipient.addr_spec
        return transmit(self._server, sender, recipient, whole)

    def preview(self, message: Message) -> tuple[bytes, str]:
        """The mail as it would be sent (.eml), and its HTML part with the pictures inside, to look at."""
        envelope = self._envelope(message.recipient) or self._envelope(_NOWHERE)
        if envelope is None:
            raise ValueError("the sender is no mail address")
        whole, parts = self._compose(message, envelope)
        html = parts.html
        for cid, (_, png) in parts.pictures.items():
            data = base64.b64encode(png).decode()
            html = html.replace(f"cid:{escape(cid)}", f"data:image/png;base64,{data}")
        return whole, html

    def _envelope(self, recipient: str) -> Envelope | None:
        sender, to = address_of(self._from, _NAME), address_of(recipient)
        if sender is None or to is None:
            return None
        leaving = address_of(self._unsubscribe) if self._unsubscribe else None
        return Envelope(sender, to, leaving.addr_spec if leaving else None)

    def _compose(self, message: Message, envelope: Envelope) -> tuple[bytes, Parts]:
        page = briefing_of(message)
        subject = sanitise(message.subject_line, 200) or _subject(page)
        parts = parts_of(
            page,
            subject,
            self._owner,
            _foot(page),
            lambda name: content_id(message, name, envelope.domain),
        )
        return mail_bytes(message, envelope, subject, parts), parts


def _subject(page: Briefing) -> str:
    """Whose, which, and how it went: sample, weekly review 2026-W10: down 10.87 USDC."""
    which = f"{cut(page.agent, 60)}, {page.kicker.lower()}{f' {page.period}' if page.period else ''}"
    older = f" (and {len(page.older) + page.more_older:,} older)" if page.older else ""
    return f"{which}{older}: {page.outcome[:1].lower()}{page.outcome[1:]}"


def _foot(page: Briefing) -> tuple[str, ...]:
    """Where it came from, how to see it again, and why it came."""
    if page.review_id == "fleet":
        return (
            "`retro fleet` prints this page as it is now; nothing in this mail is remote.",
            "You get one for all agents because [mail] fleet = true in config.toml; each review is a file as well.",
            *page.foot,
        )
    return (
        f"`retro show {page.review_id}` prints this review again, with every figure; nothing in this mail is remote.",
        "You get it because [mail] recipients in config.toml names you; kinds there says which reviews are mailed.",
        *page.foot,
    )

"""Messages about real documents, mails made of them and how to read them, for the tests of what is delivered."""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from retro.config import Config
from retro.deliver.channel import Message
from retro.deliver.mail.channel import MailChannel
from retro.narrate.plain import words
from retro.periods import parse_instant
from retro.report import PositionRetrospective, RetrospectiveReport
from retro.store.database import open_store
from tests.worlds import lives
from tests.worlds.places import SAMPLE

JOURNAL = SAMPLE / "agent.jsonl"


@dataclass(frozen=True)
class Life:
    """Documents of the sample agent: its last week and the one before, a day, an epoch, one position."""

    weekly: RetrospectiveReport
    week_before: RetrospectiveReport
    daily: RetrospectiveReport
    epoch: RetrospectiveReport
    position: PositionRetrospective


@cache
def lived(directory: Path) -> Life:
    """The sample agent's life, reviewed."""
    store = open_store(str(directory / "retro.db"))
    try:
        lives.live(store, JOURNAL.read_bytes())
        weekly = words(lives.report(store, "sample"))
        before = parse_instant(weekly.period_start) - 1
        return Life(
            weekly=weekly,
            week_before=words(lives.report(store, "sample", at=before)),
            daily=words(lives.report(store, "sample", "daily")),
            epoch=words(lives.report(store, "sample", "epoch")),
            position=lives.position(store, "sample", weekly.positions[0].position_id),
        )
    finally:
        store.close()


def message(document: RetrospectiveReport | PositionRetrospective, **overrides: object) -> Message:
    """A message about a document, as the outbox makes it."""
    if isinstance(document, RetrospectiveReport):
        review_id, kind, at = document.id, str(document.horizon), parse_instant(document.generated_at)
    else:
        review_id, kind = f"{document.agent}.position.{document.position_id}", "position"
        at = parse_instant(document.exit_at or document.entry_at)
    defaults: dict[str, Any] = {
        "review_id": review_id,
        "agent": document.agent,
        "kind": kind,
        "revision": 1,
        "period_key": review_id.split(".", 2)[2] if review_id.count(".") > 1 else "",
        "subject_line": "",
        "document": document,
        "generated_at_us": at,
        "recipient": "ada@example.org",
    }
    if not isinstance(document, RetrospectiveReport):
        defaults["currencies"] = {document.agent: "USDC"}
    return Message(**(defaults | overrides))


def messages(life: Life) -> dict[str, Message]:
    """One message of every sort."""
    report = life.weekly
    before = report.model_copy(update={"confidence": 0.01, "pnl": life.week_before.pnl})
    return {
        "weekly": message(report),
        "daily": message(life.daily),
        "epoch": message(life.epoch),
        "death": message(life.epoch, kind="death", review_id="sample.death", period_key=""),
        "loss": message(life.position, kind="loss", review_id="sample.loss.f-1", period_key="f-1"),
        "position": message(life.position),
        "revision": message(report, revision=2, previous=before),
        "digest": message(report, digest_of=(life.week_before, life.daily, life.position)),
    }


def configured(**mail: Any) -> Config:
    defaults = {"host": "smtp.example.org", "sender": "retro@example.org", "recipients": ["ada@example.org"]}
    return Config.model_validate({"owner": {"name": "Ada"}, "mail": defaults | mail})


def eml(message_: Message, **mail: Any) -> bytes:
    return MailChannel(configured(**mail)).preview(message_)[0]


def parsed(data: bytes) -> EmailMessage:
    return message_from_bytes(data, policy=policy.default)


def parts(data: bytes) -> tuple[str, str]:
    """The text part and the HTML part."""
    mail = parsed(data)
    return mail.get_body(("plain",)).get_content(), mail.get_body(("html",)).get_content()


class RenderedMail(HTMLParser):
    """What a mail program reads: tags with attributes, and the text a person sees, picture texts included."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.hidden = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.hidden += tag in {"style", "title"}
        self.texts += [value for name, value in attrs if name == "alt" and value]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"style", "title"}

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

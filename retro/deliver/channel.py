"""What a channel is: it takes one message to one recipient and says what became of it.

A channel neither opens a transaction nor knows the outbox. The same message sent twice must do no harm: a file is
written to the same path with the same bytes, a mail carries the same Message-ID.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.config import Config
    from retro.report import PositionRetrospective, RetrospectiveReport
    from retro.report.fleet import FleetReport

__all__ = ["Channel", "Message", "Outcome", "Rejected", "Retry", "Sent"]


@dataclass(frozen=True, slots=True)
class Message:
    """One revision of one review on its way to one recipient.

    `period_key` is the part of the review's id after its kind (`2026-W47`, a position's id, empty for a death).
    `digest_of` holds, in a catch-up digest, the older reviews that go into the same message, oldest first; `previous`
    is the revision before this one, for what changed. A position does not say its unit: `currencies` names, by agent,
    the base currency of each whose documents are here. `written_at_us` is when it was ready to be sent, None in a preview.
    With a `fleet` it speaks of all agents, in place of its document.
    `notices` say, a line each, what a person should know besides: reviews that are parked, agents that went silent.
    """

    review_id: str
    agent: str
    kind: str
    revision: int
    period_key: str
    subject_line: str
    document: RetrospectiveReport | PositionRetrospective
    generated_at_us: int
    recipient: str
    digest_of: tuple[RetrospectiveReport | PositionRetrospective, ...] = ()
    previous: RetrospectiveReport | PositionRetrospective | None = None
    currencies: Mapping[str, str] = field(default_factory=dict)
    written_at_us: int | None = None
    fleet: FleetReport | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """It is there."""


@dataclass(frozen=True, slots=True)
class Retry:
    """It may work later: in `after_s` seconds, or when the outbox thinks best."""

    reason: str
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """It will never work for this recipient."""

    reason: str


Outcome = Sent | Retry | Rejected


class Channel(Protocol):
    """A way to people, registered by name."""

    @property
    def name(self) -> str:
        """The word in the outbox: file, mail, notify."""

    def recipients(self, config: Config) -> tuple[str, ...]:
        """Whom each message goes to, by this configuration; none when the channel is off.

        A recipient stands in the database: it must not hold a secret.
        """

    def send(self, message: Message) -> Outcome:
        """Take a message to its recipient. Failures are values; anything raised counts as `Retry`."""

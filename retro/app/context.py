"""What work is done with: the database, the owner's terms, channels, and a clock, dice and words that are arguments."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple, dataclass, field
from operator import add
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from retro.kinds import CALENDAR, DAILY, EPOCH, WEEKLY
from retro.periods import HOUR, SECOND
from retro.report.document import Document
from retro.store.jobs.queue import BucketHolder
from retro.store.jobs.reviews import Review

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.deliver.channel import Channel
    from retro.periods import Horizon
    from retro.secret import Secret
    from retro.store.database import Store
    from retro.store.facts.agents import Agent


__all__ = [
    "LONGEST_WAIT",
    "Ask",
    "Consequence",
    "Knock",
    "PassSummary",
    "Queue",
    "ReviewPolicy",
    "Words",
    "WorkContext",
    "backoff",
    "policy_of",
]

LONGEST_WAIT: Final = 3600 * SECOND
_FIRST_WAIT: Final = 30 * SECOND

Words = Callable[[Review, Document, "AgentSettings"], tuple[Document, bool]]
"""Puts words to a document without touching a figure, and says whether a model was paid for them.

`ModelAwayError`: there may be better ones at the next knock, and the review waits for them.
"""


Queue = Literal["stream", "letters", "rework"]
"""What a worker takes part in: settling and reviewing, sending, or making history again."""


@dataclass(frozen=True, slots=True)
class Knock:
    """Something may be to be done for the agents of a bucket; `bucket` None: for all together, or for none of them."""

    queue: Queue
    bucket: int | None


Ask = Callable[[Knock], None]
"""Ask an engine for a knock. It waits for nobody, and may come to nothing."""


class Consequence(NamedTuple):
    """What else a finished review does, in the transaction that makes it done, and the name of it."""

    name: str
    draw: Callable[[Connection, Review, Document], None]


@dataclass(slots=True)
class WorkContext:
    """Everything a worker needs. `owner` names this process among others, `host` the machine whose files it reads.

    `look_back` tells what became of what was sent and gives how many things a person has to look at.
    `worded_kinds` are those that a model words. `alone`: no other process works on the database, so what is held by somebody else is held by nobody.
    `beat` is called between steps, `stopping` says that no new step should begin, `log` takes an event and its fields,
    `bound` adds fields to whatever is logged inside it. `bucket`: whose agents alone are worked on; None: all. `ask` has a
    fleet's engine knock; without a fleet nobody hears it.
    """

    store: Store
    config: Config
    terms: ReviewPolicy
    settings_for: Callable[[Agent], AgentSettings]
    channels: Mapping[str, Channel]
    clock: Callable[[], int]
    words: Words
    owner: str
    worded_kinds: frozenset[str] = frozenset()
    host: str = ""
    alone: bool = True
    rng: random.Random = field(default_factory=random.Random)
    secrets: tuple[Secret, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    look_back: Callable[[], int] = lambda: 0
    beat: Callable[[], None] = lambda: None
    stopping: Callable[[], bool] = lambda: False
    log: Callable[..., None] = lambda *_, **__: None
    bound: Callable[..., AbstractContextManager[None]] = lambda **_: nullcontext()
    bucket: int | None = None
    ask: Ask = lambda _: None

    @property
    def lease(self) -> int:
        """How long what we hold is ours without a sign of life."""
        return round(self.config.service.lease_seconds * SECOND)

    @property
    def holder(self) -> BucketHolder | None:
        """As whom we hold the bucket at hand; None where we work on all."""
        return None if self.bucket is None else BucketHolder(self.bucket, self.owner)


@dataclass(slots=True)
class PassSummary:
    """What a knock came to. `unworded`: reviews whose model was away, to be tried again at the next; `lost`: what another took over."""

    done: int = 0
    unchanged: int = 0
    failed: int = 0
    parked: int = 0
    sent: int = 0
    postponed: int = 0
    refused: int = 0
    sources_failed: int = 0
    amiss: int = 0
    unworded: int = 0
    unreached: int = 0
    lost: int = 0

    def __add__(self, other: PassSummary) -> PassSummary:
        """What two knocks came to."""
        return PassSummary(*map(add, astuple(self), astuple(other)))

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong that stays wrong."""
        return not (self.failed or self.parked or self.refused or self.sources_failed or self.amiss)


def backoff(attempt: int, rng: random.Random) -> int:
    """Microseconds to wait after the n-th failure: doubling from half a minute to an hour, a quarter more or less."""
    wait = min(_FIRST_WAIT << min(attempt - 1, 20), LONGEST_WAIT)
    return round(wait * rng.uniform(0.75, 1.25))


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """What the owner wants reviewed, and what to do after an outage."""

    periods: tuple[Horizon, ...] = CALENDAR
    positions: bool = True
    loss_pct: float = 5.0
    lag: int = HOUR
    catch_up: Literal["all", "latest"] = "all"
    dormant_weeks: int = 4
    """After so many whole weeks without a word an agent is dormant; 0: never."""

    @property
    def tells_silence(self) -> Horizon | None:
        """The kind whose review says that an agent fell dormant: the first of these that is made; None: none is."""
        return next((kind for kind in (WEEKLY.name, DAILY.name, EPOCH.name) if kind in self.periods), None)


def policy_of(config: Config) -> ReviewPolicy:
    """The terms of a configuration."""
    review = config.retrospective
    wanted = {
        DAILY.name: review.daily_review_enabled,
        WEEKLY.name: review.weekly_review_enabled,
        EPOCH.name: review.epoch_review_enabled,
    }
    return ReviewPolicy(
        periods=tuple(kind for kind in CALENDAR if wanted[kind]),
        positions=review.position_close_review,
        loss_pct=review.loss_review_threshold_pct,
        lag=round(review.settle_lag_hours * HOUR),
        catch_up=config.service.catch_up,
        dormant_weeks=config.service.dormant_weeks,
    )

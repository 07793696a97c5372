"""The kinds of reviews and what each of them does: one table that every room asks.

A kind's name is a word of the configuration, the command line, the ledger and stored documents. Code does not compare
names, it asks what is meant: `KINDS[review.kind].proposes`. A new kind is one row here and one name in `KindName`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, get_args

from retro.periods import Horizon, PeriodKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CALENDAR",
    "CUSTOM",
    "DAILY",
    "DEATH",
    "EPOCH",
    "KINDS",
    "LIFE",
    "LOSS",
    "MAILED",
    "POSITION",
    "WEEKLY",
    "FileFormat",
    "KindName",
    "OwedKind",
    "ReviewKind",
]

KindName = Literal[PeriodKind, "position"]
FileFormat = Literal["json", "md", "html"]
OwedKind = Literal[Horizon, "position", "loss", "death"]
"""The kinds that the ledger owes and an owner can choose by name; the others are asked for by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewKind:
    """What a kind of review does. What most kinds do not do is False unless the row says so."""

    name: KindName
    title: str
    """What stands above it on a page and in a mail."""
    scope: Literal["period", "position", "action", "life"]
    """What it looks at: a stretch of time, one position, one action and the day before it, or everything."""
    days: int | None = None
    """The length of a period on the calendar; None: it has another one, or does not follow the calendar."""
    from_birth: bool = False
    """Its periods are counted in the owner's length from the agent's first event, and the last ends with the agent."""
    waits: bool = True
    """The marks after its end are waited for; without them it is made of what is there at its end."""
    epoch_tier: bool = False
    """The owner's model for epochs words it, not the one for reviews."""
    compares: bool = False
    """Its figures stand beside those of the period before."""
    weighs_claims: bool = False
    """It says what the agent's own forecasts and stated confidence have come to: one day changes neither."""
    weighs_drift: bool = False
    """It says why live was not the backtest, where one is configured."""
    weighs_regimes: bool = False
    """It says what was made in which regime: a week sees too few."""
    proposes: bool = False
    """It draws amendments of the playbook from its evidence: one day or one loss is no evidence for a rule."""
    requests: bool = False
    """Its proposals enter the ledger of proposals and are brought to the owner as a pull request."""
    records: bool = False
    """It leaves records of experiments."""
    plans: bool = False
    """It suggests plans to the memory."""
    mailed: bool = False
    """People are told of it unless they choose otherwise."""
    tells_history: bool = False
    """The newest of it is told to people although it is backfill, so that they see that history was read."""
    brief: bool = False
    """Its mail leaves out what a short time says nothing of."""
    key_in_mail: bool = False
    """Its mail names the key of its period, or its position."""
    tells_of_others: bool = False
    """A message of it names the owner's other agents that have gone silent: nobody is sent a page of theirs."""
    key_tells_kind: bool = False
    """Its key (2026-W47) cannot be another kind's: mail ids need no kind before it, and a page shows it."""
    formats: tuple[FileFormat, ...] = ("json", "md", "html")
    """What files are written of it; of a day on which nothing happened "json" alone."""

    @property
    def calendar(self) -> bool:
        """Whether it comes round by the clock: its periods follow one another without a gap."""
        return self.days is not None or self.from_birth


DAILY: Final = ReviewKind(
    name="daily", title="Daily review", scope="period", days=1, brief=True, key_in_mail=True
)
WEEKLY: Final = ReviewKind(
    name="weekly",
    title="Weekly review",
    scope="period",
    days=7,
    compares=True,
    weighs_claims=True,
    weighs_drift=True,
    proposes=True,
    requests=True,
    records=True,
    plans=True,
    mailed=True,
    tells_history=True,
    tells_of_others=True,
    key_in_mail=True,
    key_tells_kind=True,
)
EPOCH: Final = ReviewKind(
    name="epoch",
    title="Epoch review",
    scope="period",
    from_birth=True,
    epoch_tier=True,
    weighs_claims=True,
    weighs_regimes=True,
    proposes=True,
    records=True,
    plans=True,
    mailed=True,
    key_in_mail=True,
)
POSITION: Final = ReviewKind(
    name="position",
    title="Position retrospective",
    scope="position",
    key_in_mail=True,
    formats=("json", "md"),  # positions come by the thousand; `retro show ID` draws the one that is looked at
)
LOSS: Final = ReviewKind(
    name="loss", title="Loss review", scope="action", waits=False, plans=True, mailed=True, brief=True
)
DEATH: Final = ReviewKind(
    name="death", title="Last review", scope="life", epoch_tier=True, proposes=True, mailed=True
)
CUSTOM: Final = ReviewKind(name="custom", title="Review", scope="period", weighs_regimes=True, proposes=True)
"""Asked for by hand, owed to nobody."""
LIFE: Final = ReviewKind(
    name="life", title="Whole life", scope="life", waits=False, epoch_tier=True, proposes=True
)
"""Everything so far, while the agent lives; asked for by hand, too."""

KINDS: Final[Mapping[str, ReviewKind]] = MappingProxyType(
    {kind.name: kind for kind in (DAILY, WEEKLY, EPOCH, POSITION, LOSS, DEATH, CUSTOM, LIFE)}
)
"""Name -> kind, in the order in which kinds are listed."""

CALENDAR: Final[tuple[Horizon, ...]] = tuple(name for name in get_args(Horizon) if KINDS[name].calendar)
"""The kinds that follow the calendar."""

MAILED: Final[tuple[OwedKind, ...]] = tuple(name for name in get_args(OwedKind) if KINDS[name].mailed)
"""The kinds people are told of unless they choose otherwise."""

"""What reviewing an agent cost, as costs of that agent: an inference cost like its own, at the instant of the call.

These are no facts: nobody told them, they move no K, they are in no digest, and a review that is made again because of
late facts finds the same ones. They are dollars: an agent that counts in anything else has them in the ledger alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from retro.model import Cost
from retro.pipeline.settings import DOLLARS
from retro.store.spend import calls_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.pipeline.settings import Settings

__all__ = ["costs_of_reviewing"]

_TIERS: Final = frozenset({"T0", "T1", "T2"})


def costs_of_reviewing(
    conn: Connection, agent: str, settings: Settings, start: int, until: int
) -> list[Cost]:
    """The model calls of [start, until) about an agent, in order of time; none where its base is no dollar."""
    if settings.base_currency.upper() not in DOLLARS:
        return []
    return [
        Cost(
            id=f"reviewing-{call.key}",
            agent=agent,
            at=call.at,
            kind="inference",
            amount=call.usd,
            tier=cast("Literal['T0', 'T1', 'T2']", call.tier) if call.tier in _TIERS else None,
            model=call.model,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
        )
        for call in calls_of(conn, agent, start, until)
        if call.usd
    ]

"""Keep an agent's claims settled: what resolved, and what was in force when each was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.evaluate.claims.fold import folded
from retro.model import Decision, Prediction, Resolution
from retro.periods import FOREVER
from retro.store.books.claims import claims_of, replace_claims
from retro.store.facts import events

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.evaluate.claims.record import ClaimHistory
    from retro.evaluate.terms import ClaimTerms

__all__ = ["settle_claims"]


def settle_claims(conn: Connection, agent: str, since: int, terms: ClaimTerms) -> ClaimHistory | None:
    """Settle anew what resolved from `since` on; claims that resolved before stand, and nothing later can change them.

    Gives all of them, None where nothing has changed.
    """
    resolutions = events.between(conn, agent, since, FOREVER, types=[Resolution])
    history = claims_of(conn, agent)
    earlier = history.before(since)
    if not resolutions and len(earlier) == len(history):
        return None  # most agents make no claims at all
    wanted = sorted({resolution.prediction for resolution in resolutions})
    predictions = {fact.id: fact for fact in events.by_ids(conn, agent, Prediction, wanted)}
    pairs = [(predictions[r.prediction], r) for r in resolutions if r.prediction in predictions]
    named = sorted({prediction.decision for prediction, _ in pairs if prediction.decision is not None})
    decisions = {fact.id: fact for fact in events.by_ids(conn, agent, Decision, named)}
    settled = folded(earlier, pairs, terms, decisions)
    replace_claims(conn, agent, settled, since, terms.ring.size)
    return settled

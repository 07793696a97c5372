"""A light look: whether there is anything to do at all. It loads nothing that computes, so that waiting costs little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.intake.fingerprints import key_of, signature_of
from retro.store.jobs import cursors, enrolments, outbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.app.intake.fingerprints import Fingerprinted
    from retro.store.database import Store

__all__ = ["has_pending_work"]


def has_pending_work(store: Store, sources: Sequence[Fingerprinted], host: str, now: int) -> bool:
    """Whether a knock would find work; a few index look-ups and file dates, however long the history is."""
    with store.read() as conn:
        return bool(
            enrolments.any_unsettled(conn, now)
            or enrolments.anything_to_do(conn, now)
            or outbox.ripe(conn, now)
            or any(
                cursors.state_of(conn, key_of(source, host)).get("signature") != signature_of(source)
                for source in sources
            )
        )

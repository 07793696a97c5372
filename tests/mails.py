"""Messages about real documents, for the tests of what is delivered: the sample agent's reviews."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import living

from retro.deliver.channel import Message
from retro.narrate.plain import words
from retro.periods import parse_instant
from retro.report import PositionRetrospective, RetrospectiveReport
from retro.store.engine import open_store

SAMPLE = Path(__file__).parents[1] / "examples" / "sample" / "agent.jsonl"


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
        living.live(store, SAMPLE.read_bytes())
        weekly = words(living.report(store, "sample"))
        before = parse_instant(weekly.period_start) - 1
        return Life(
            weekly=weekly,
            week_before=words(living.report(store, "sample", at=before)),
            daily=words(living.report(store, "sample", "daily")),
            epoch=words(living.report(store, "sample", "epoch")),
            position=living.position(store, "sample", weekly.positions[0].position_id),
        )
    finally:
        store.close()


def message(document: RetrospectiveReport | PositionRetrospective, **more: object) -> Message:
    """A message about a document, as the outbox makes it."""
    if isinstance(document, RetrospectiveReport):
        review_id, kind, at = document.id, document.horizon, parse_instant(document.generated_at)
    else:
        review_id, kind = f"{document.agent}.position.{document.position_id}", "position"
        at = parse_instant(document.exit_at or document.entry_at)
    told = {
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
    return Message(**(told | more))

"""The journal: its writer, and what makes a line of it an event, which writer and reader share.

`Journal` and `retro.ingest` both call `check`; a line it refuses is a `RejectedError` whose text says field,
fault and remedy in one sentence, with at most 40 characters of the line. The room lies above `retro.model`.
"""

from __future__ import annotations

from retro.journal.fields import FIELDS, REQUIRED
from retro.journal.line import Event, RejectedError, check, instant
from retro.journal.rules import RULES
from retro.journal.values import LARGEST, LONGEST_LINE, LONGEST_NAME, is_name, quote
from retro.journal.writer import Common, Journal, JournalError

__all__ = [
    "FIELDS",
    "LARGEST",
    "LONGEST_LINE",
    "LONGEST_NAME",
    "REQUIRED",
    "RULES",
    "Common",
    "Event",
    "Journal",
    "JournalError",
    "RejectedError",
    "check",
    "instant",
    "is_name",
    "quote",
]

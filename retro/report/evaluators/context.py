"""What was in front of an agent when it decided, and what that was worth."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["ContextItem"]


class ContextItem(Document):
    """One item of `context_items`; a signal is how a decision turned out, -1 to 1. Presence is not cause."""

    item: str
    appearances: int = Field(description="decisions with it that have turned out")
    weight: float = Field(description="the same, decayed to the last of them")
    value: float = Field(description="-1 to 1: decayed signals with it, shrunk towards 0")
    multiplier: float = Field(description="0.5 to 1.5: 1 + value, at most a half more or less")
    lift: float | None = Field(description="mean signal with it less the mean without it")
    p: float | None = Field(description="two-sided, that chance alone differs as much; whole days are moved")
    q: float | None = Field(description="adjusted over all items, Benjamini and Hochberg")
    last_at: str = Field(description="when the last such decision was made")
    reasons: Reasons = Field(default={})

"""What strategies made that ran beside the real one, without money."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retro.report.form import Document, Reasons

__all__ = ["ShadowRow", "ShadowVerdict"]

ShadowVerdict = Literal["insufficient", "promote", "less_bad", "reject", "keep_running"]


class ShadowRow(Document):
    """One shadow beside what really happened on the same days. Money in base currency; it is never applied."""

    name: str
    rule: str | None = Field(description="null where the agent runs it itself and tells what it made")
    since: str = Field(description="its first day, in the owner's zone")
    days: int = Field(description="whole days that it has run")
    paired: int = Field(description="of those with a difference")
    real: float
    shadow: float
    outperformance: float | None = Field(
        description="shadow less real, as a share of the real result's size or of 0.5 % of the capital"
    )
    bound: float | None = Field(
        description="lower bound of the mean daily difference: 5 %, divided by Holm among several shadows, whole behind the first of them that fails"
    )
    verdict: ShadowVerdict
    reasons: Reasons = Field(default={})

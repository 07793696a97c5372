"""Measurements of the service, as a monitoring system takes them."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document

__all__ = ["EngineCounts", "MetricFamily", "MetricSample", "ReworkCounts", "WorkersReport"]


class MetricSample(Document):
    """One value under its labels."""

    labels: dict[str, str]
    value: float


class MetricFamily(Document):
    """Every value of one name, a gauge each: what is so now, never a count since some start."""

    name: str
    help: str
    samples: list[MetricSample] = Field(description="none where nothing is to be said")


class EngineCounts(Document):
    """What the engine of a fleet says: knocks that wait and that are answered, by queue, and its workers."""

    waiting: dict[str, int]
    answered: dict[str, int]
    stalled: int = Field(description="knocks whose worker gives no sign of life; the next sweep asks again")
    workers: int


class ReworkCounts(Document):
    """A rework that is not finished."""

    left: int = Field(
        description="agents whose reviews are still to be looked at anew, with those that failed"
    )
    failed: int = Field(
        description="of them those that workers leave as they are until `retro rework` is called again"
    )
    failures: dict[str, str] = Field(description="why, by agent: the first of them")


class WorkersReport(Document):
    """How a fleet of workers is: what waits, and who works."""

    has_server: bool = Field(description="false on SQLite, which has no workers")
    engine: EngineCounts | None = Field(description="null before `retro fleet init`")
    buckets: int
    ripe: int = Field(description="buckets with work")
    with_letters: int = Field(description="buckets with letters to be sent")
    due: int
    lag_s: float | None = Field(
        description="for how long the oldest review that is due has been; null: none is"
    )
    running: int
    parked: int
    rework: ReworkCounts | None = Field(description="null: none is going on")

"""Measurements of the service, as a monitoring system takes them."""

from __future__ import annotations

from pydantic import Field

from retro.report.form import Document

__all__ = ["MetricFamily", "MetricSample"]


class MetricSample(Document):
    """One value under its labels."""

    labels: dict[str, str]
    value: float


class MetricFamily(Document):
    """Every value of one name, a gauge each: what is so now, never a count since some start."""

    name: str
    help: str
    samples: list[MetricSample] = Field(description="none where nothing is to be said")

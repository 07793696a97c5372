"""Measurements as OpenMetrics text, which node_exporter's textfile collector and any scraper read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.figures import finite
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from retro.report.metrics import MetricFamily

__all__ = ["openmetrics_of"]


def openmetrics_of(families: Iterable[MetricFamily]) -> str:
    """One line a sample under the type and help of its family, and the end that OpenMetrics asks for.

    All are gauges: those have the same form in OpenMetrics and in the older text that the collector parses.
    """
    return "".join(f"{line}\n" for family in families for line in _lines(family)) + "# EOF\n"


def _lines(family: MetricFamily) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# TYPE {family.name} gauge"
    yield f"# HELP {family.name} {_escaped(family.help)}"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        yield (
            f"{family.name}{{{labels}}} {_number(sample.value)}"
            if labels
            else f"{family.name} {_number(sample.value)}"
        )


def _escaped(text: str) -> str:
    return plain_text(text).replace("\\", r"\\").replace('"', r"\"")


def _number(value: float) -> str:
    """Whole numbers without a fraction, others as short as they read back the same."""
    return f"{value:.0f}" if finite(value) == int(value) and abs(value) < 1e15 else repr(value)

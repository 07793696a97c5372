"""The part of a page that lists what a review proposes for the playbook. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retro.figures import count
from retro.present.page.amendments import describe_change, evidence_in_words
from retro.present.page.blocks import Figure, FigureList, Notes, Section

if TYPE_CHECKING:
    from retro.report import RetrospectiveReport

__all__ = ["proposals_section"]

_LISTED: Final = 15
_ORIGINS: Final = {"audit": "the audit", "model": "a model; the figures are the audit's"}


def proposals_section(report: RetrospectiveReport) -> Section | None:
    """Changes to the playbook that this review proposes."""
    if not report.playbook_proposals:
        return None
    blocks = tuple(
        FigureList(tuple(_proposal(entry, report.base_currency)))
        for entry in report.playbook_proposals[:_LISTED]
    )
    omitted = len(report.playbook_proposals) - len(blocks)
    notes = (Notes((), omitted),) if omitted else ()
    aside = count(len(report.playbook_proposals), "proposal")
    return Section("proposals", "Proposed for the playbook", (*blocks, *notes), aside)


def _proposal(entry: dict[str, Any], currency: str) -> list[Figure]:
    def text(name: str) -> str:
        value = entry.get(name)
        return "" if value is None else str(value)

    change, name = describe_change(entry)
    rows = [Figure(change.capitalize(), name, evidence_in_words(entry, currency))]
    for name, label in (("old", "Now"), ("new", "Then"), ("falsified_by", "Falsified by")):
        if text(name):
            rows.append(Figure(label, "", text(name)))
    if text("origin"):
        rows.append(Figure("Proposed by", "", _ORIGINS.get(text("origin"), text("origin"))))
    return rows

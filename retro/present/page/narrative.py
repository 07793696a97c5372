"""The part of a page that is prose: what worked, what failed, what only hindsight shows, and who wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.present.page.blocks import Prose, Section

if TYPE_CHECKING:
    from retro.report import Narrative, RetrospectiveReport

__all__ = ["authorship", "words_section"]


def authorship(narrative: Narrative) -> str:
    """Who wrote the words."""
    if narrative.source == "model":
        text = f"Words by {narrative.model or 'a model'}; every figure in them was filled in by code."
        return text if narrative.cost is None else f"{text} They cost ${narrative.cost:.4f}."
    why = f" ({narrative.why})" if narrative.why else ""
    return f"Words written by code from the figures on this page{why}."


def words_section(report: RetrospectiveReport) -> Section | None:
    """What worked, what failed, and what is known only now."""
    texts = (
        ("What worked", report.what_worked),
        ("What failed", report.what_failed),
        ("In hindsight (it knew the ending)", report.hindsight),
    )
    blocks = tuple(Prose(text, label) for label, text in texts if text.strip())
    if not blocks:
        return None
    return Section("words", "In words", (*blocks, Prose(authorship(report.narrative), tone="faint")))

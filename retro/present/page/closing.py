"""The parts of a page that are words: what worked, proposals, the quality of the data, and where it all came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retro.figures import count, moment
from retro.present.page.blocks import Cell, Column, Figure, FigureList, Notes, Prose, Section, Table, TableRow
from retro.present.page.proposals import describe_change, evidence_in_words

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.report import Narrative, RetrospectiveReport

__all__ = ["authorship", "proposals_section", "provenance_lines", "quality_section", "words_section"]

_LISTED: Final = 15
_ORIGINS: Final = {"audit": "the audit", "model": "a model; the figures are the audit's"}


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


def quality_section(report: RetrospectiveReport, money: MoneyStyle) -> Section:
    """What to keep in mind: implausible positions apart, missing marks, warnings, foreign rows left out."""
    quality = report.data_quality
    blocks: list[Prose | Notes | Table] = []
    if quality.provisional:
        blocks.append(
            Prose("Provisional: some marks are missing or old, so figures may still change.", tone="warn")
        )
    if quality.missing_marks:
        blocks.append(_notes(quality.missing_marks))
    if quality.implausible:
        unit = f" ({money.currency})" if money.currency else ""
        rows = tuple(
            TableRow((Cell(row.position_id), Cell(row.reason), Cell(money.signed(row.pnl))))
            for row in quality.implausible[:_LISTED]
        )
        blocks.append(
            Table(
                (
                    Column("Implausible, kept apart", right=False, cut=12),
                    Column("Why", right=False, cut=20),
                    Column(f"Claimed{unit}"),
                ),
                rows,
                omitted=len(quality.implausible) - len(rows),
                note="They enter no rate, audit or component; the attribution carries them as its own line.",
            )
        )
    if quality.warnings:
        blocks.append(_notes(quality.warnings))
    if quality.quarantined:
        rows_left = count(quality.quarantined, "foreign row")
        blocks.append(Prose(f"{rows_left} could not be used: `retro faults` lists them.", tone="warn"))
    if not blocks:
        blocks.append(
            Prose("Nothing to report: every mark was there, every row was used, every fill is believable.")
        )
    return Section("quality", "Data quality", tuple(blocks))


def _notes(items: list[str]) -> Notes:
    return Notes(tuple(items[:_LISTED]), max(0, len(items) - _LISTED), "warn")


def provenance_lines(report: RetrospectiveReport) -> tuple[str, ...]:
    """Same facts, same bytes: what to compare when two reviews differ."""
    source, known_until = report.provenance, f"{moment(report.known_until)} UTC"
    asked = f", words asked for by {report.narrative.prompt}" if report.narrative.prompt else ""
    return (
        f"{report.id}, revision {report.revision}",
        f"knows the agent's events until {known_until}; written for {moment(report.generated_at)} UTC",
        f"slow-mirror {source.code_version}, data {source.data_digest[:16]}, seed {source.seed}{asked}",
    )

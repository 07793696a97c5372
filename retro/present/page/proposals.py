"""Proposals for the playbook: their part of a page; each in a few words: what it changes, on what evidence. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from playbook import parse
from retro.figures import count, interval, ratio
from retro.present.page.blocks import Figure, FigureList, Notes, Section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retro.report import RetrospectiveReport

__all__ = ["describe_change", "evidence_in_words", "proposals_section"]

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


def describe_change(entry: Mapping[str, Any]) -> tuple[str, str]:
    """What is to be done, and to which heuristic: `lower to 0.53` and `H-7`; one that is new by the id it gets."""
    op, name = str(entry.get("op") or "change").replace("_", " "), str(entry.get("heuristic") or "")
    old, new = (parse(str(entry.get(side) or "")).heuristics for side in ("old", "new"))
    if op == "set confidence" and old and new and new[0].confidence is not None:
        verb = "raise" if new[0].confidence > (old[0].confidence or 0) else "lower"
        return f"{verb} to {new[0].confidence:.2f}", name
    if op == "merge" and len(old) > 1:
        return f"merge {old[1].id} into it", name
    return op, new[0].id if new and not old else name


def evidence_in_words(entry: Mapping[str, Any], currency: str) -> str:
    """The figures a proposal rests on, each with its unit and out of how many."""
    evidence = entry.get("evidence")
    if not isinstance(evidence, dict):
        return "" if evidence is None else str(evidence)
    if "prompted_by" in evidence or "its_resolved" in evidence:
        return _of_a_candidate(evidence, currency)
    parts = [_average(evidence.get("average"), str(evidence.get("unit") or "usd"), currency)]
    resolved, role = evidence.get("resolved"), str(evidence.get("role") or "")
    parts[0] += f" over {resolved} resolved {role} citation{'' if resolved == 1 else 's'}"
    if isinstance(evidence.get("wins"), int):
        parts.append(f"{evidence['wins']} won")
    bounds = evidence.get("interval")
    if isinstance(bounds, list) and len(bounds) == 2 and all(map(_is_number, bounds)):
        parts.append(f"95 % {interval(*bounds)}")
    if _is_number(evidence.get("q")):
        parts.append(f"q {ratio(evidence['q'])}")
    if evidence.get("grade"):
        parts.append(f"evidence {evidence['grade']}")
    if evidence.get("since"):
        parts.append(f"since {evidence['since']}")
    return ", ".join(parts)


def _of_a_candidate(evidence: Mapping[str, Any], currency: str) -> str:
    rule = evidence.get("prompted_by") or "another rule"
    average = _average(evidence.get("its_average"), "usd", currency)
    return f"none of its own yet; beside {rule}: {average} over {evidence.get('its_resolved')} resolved citations"


def _average(value: Any, unit: str, currency: str) -> str:
    if not _is_number(value):
        return "no average"
    unit_name = {"usd": currency or "in money", "r": "R", "bps": "bps of notional"}.get(unit, unit)
    return f"average {value:+,.2f} {unit_name}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

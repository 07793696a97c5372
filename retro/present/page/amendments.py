"""The words of a proposal for the playbook: what it changes, and on what evidence. Pure; for pages, mail and requests.

The one home of these words. A page has a report's entry, which another version may have written: what is not there is
left out. A request has the amendment itself; it takes the figures from here and makes strangers' words harmless.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from playbook import Amendment, parse
from retro.figures import interval, odds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from playbook import Heuristic

__all__ = [
    "EXTRA_FIGURES",
    "FIGURES",
    "ProposedChange",
    "change_in_words",
    "change_of",
    "describe_change",
    "evidence_in_words",
    "figures_of",
    "grounds_in_words",
]

FIGURES = ("Role", "Cited", "Resolved", "Won", "Average", "95 %", "Odds", "Evidence", "Since")
"""The titles of the figures every proposal of the audit rests on."""
EXTRA_FIGURES = ("vs_inaction", "regret")
"""Figures that only some proposals have, by their key in the evidence."""
_UNITS = {"r": "R", "bps": "bps of notional"}


class ProposedChange(NamedTuple):
    """What a proposal does to which heuristic.

    `verb` is such as `demote`, or `raise` to a `confidence` in 0..1; a merge has what is `absorbed`. `subject` is the
    id; of a label that becomes a heuristic, the id it gets.
    """

    verb: str
    subject: str
    confidence: float | None = None
    absorbed: str | None = None


def change_of(proposal: Amendment | Mapping[str, Any]) -> ProposedChange:
    """The change an amendment makes, or a report's entry speaks of."""
    if isinstance(proposal, Amendment):
        return _change(proposal.op, proposal.heuristic, proposal.before, proposal.after)
    before, after = (parse(str(proposal.get(side) or "")).heuristics for side in ("old", "new"))
    return _change(str(proposal.get("op") or "change"), str(proposal.get("heuristic") or ""), before, after)


def _change(op: str, name: str, before: Sequence[Heuristic], after: Sequence[Heuristic]) -> ProposedChange:
    verb = op.replace("_", " ")
    if verb == "set confidence" and before and after and after[0].confidence is not None:
        is_raise = after[0].confidence > (before[0].confidence or 0)
        return ProposedChange("raise" if is_raise else "lower", name, confidence=after[0].confidence)
    if verb == "merge" and len(before) > 1:
        return ProposedChange(verb, name, absorbed=before[1].id)
    return ProposedChange(verb, after[0].id if after and not before else name)


def describe_change(proposal: Amendment | Mapping[str, Any]) -> tuple[str, str]:
    """What is to be done and to which heuristic, such as `lower to 0.53` and `H-7`; one that is new by the id it gets."""
    change = change_of(proposal)
    if change.confidence is not None:
        return f"{change.verb} to {change.confidence:.2f}", change.subject
    if change.absorbed is not None:
        return f"{change.verb} {change.absorbed} into it", change.subject
    return change.verb, change.subject


def change_in_words(proposal: Amendment, harmless: Callable[[str], str]) -> str:
    """The same as one phrase, such as `lower H-7 to 0.53`; `harmless` is what is done to names before they are written."""
    change = change_of(proposal)
    subject = harmless(change.subject)
    if change.confidence is not None:
        return f"{change.verb} {subject} to {change.confidence:.2f}"
    if change.absorbed is not None:
        return f"{change.verb} {harmless(change.absorbed)} into {subject}"
    return f"{change.verb} {subject}"


# Evidence


def evidence_in_words(entry: Mapping[str, Any], currency: str) -> str:
    """The figures a report's proposal rests on, each with its unit and out of how many."""
    evidence = entry.get("evidence")
    if not isinstance(evidence, dict):
        return "" if evidence is None else str(evidence)
    return _in_words(evidence, currency, str)


def _in_words(evidence: Mapping[str, Any], currency: str, harmless: Callable[[str], str]) -> str:
    """Average with unit and n, how many won, interval, the word for all that with its odds, and since when."""
    if "prompted_by" in evidence or "its_resolved" in evidence:
        return _of_a_candidate(evidence, currency, harmless)
    unit = harmless(str(evidence.get("unit") or "usd"))
    resolved, role = evidence.get("resolved"), harmless(str(evidence.get("role") or "-")).strip("-")
    average = _average(evidence.get("average"), unit, currency)
    number = str(resolved) if isinstance(resolved, int) else harmless(str(resolved))
    if isinstance(evidence.get("averaged"), int):
        number = f"{evidence['averaged']} of {number}"
    is_exit = role == "exit"
    average = f"avoided on {average}" if is_exit and average.startswith("average") else average
    parts = [f"{average} over {number} resolved {role} citation{'' if resolved == 1 else 's'}"]
    if isinstance(evidence.get("wins"), int):
        of = f" of {harmless(str(resolved))}" if isinstance(evidence.get("averaged"), int) else ""
        parts.append(f"{evidence['wins']}{of} {'right' if is_exit else 'won'}")
    if bounds := _interval(evidence):
        parts.append(f"95 % {bounds}{' at every look' if 'e' in evidence else ''}")
    if word := _word(evidence):
        parts.append(f"evidence {harmless(word)}{_odds(evidence)}")
    gain = evidence.get("break_even")
    if isinstance(gain, dict):
        parts.append(_break_even(gain))
    if evidence.get("since"):
        parts.append(f"since {harmless(str(evidence['since']))}")
    return ", ".join(parts)


def _word(evidence: Mapping[str, Any]) -> str | None:
    """How sure the evidence makes it; what it carries no word for, and was bet on, is `supported` (`playbook.audit`)."""
    if evidence.get("grade"):
        return str(evidence["grade"])
    if _is_number(evidence.get("e")):
        return "supported"
    # proposals that were made before there were bets
    return "supported" if "awaited" in evidence and _is_number(evidence.get("q")) else None


def _odds(evidence: Mapping[str, Any]) -> str:
    return f" ({odds(evidence['e'])})" if _is_number(evidence.get("e")) else ""


def _interval(evidence: Mapping[str, Any]) -> str | None:
    bounds = evidence.get("interval")
    if not isinstance(bounds, list) or len(bounds) != 2 or bounds == [None, None]:
        return None
    return interval(*bounds) if all(end is None or _is_number(end) for end in bounds) else None


def _break_even(gain: Mapping[str, Any]) -> str:
    """The gain that would undo a loser's losses, beside the largest it ever made."""
    if not _is_number(gain.get("gain")):
        return "no gain known that would undo it"
    largest = gain.get("largest")
    beside = f"its largest so far {largest:,.2f}" if _is_number(largest) else "it has had none"
    return f"one gain of {gain['gain']:,.2f} would undo it, {beside}"


def _of_a_candidate(evidence: Mapping[str, Any], currency: str, harmless: Callable[[str], str]) -> str:
    rule = harmless(str(evidence["prompted_by"])) if evidence.get("prompted_by") else "another rule"
    average = _average(evidence.get("its_average"), "usd", currency)
    return f"none of its own yet; beside {rule}: {average} over {harmless(str(evidence.get('its_resolved')))} resolved citations"


def grounds_in_words(amendment: Amendment, harmless: Callable[[str], str]) -> str:
    """The evidence in a line of a commit's message, and what would prove it wrong; a model's own words are left out."""
    evidence = amendment.grounds.evidence
    if not _is_number(evidence.get("average")) and "its_resolved" not in evidence:
        return "no resolved citation yet"
    text = _in_words(evidence, harmless(str(evidence.get("currency") or "in money")), harmless)
    if amendment.grounds.origin == "audit" and amendment.grounds.falsified_by:
        text += f"; wrong if {' '.join(map(_percent_or(harmless), amendment.grounds.falsified_by.split()))}"
    return text


def _percent_or(harmless: Callable[[str], str]) -> Callable[[str], str]:
    """A word made harmless; the percent sign of our own words is."""
    return lambda word: word if word == "%" else harmless(word)


def figures_of(amendment: Amendment, extra: Sequence[str]) -> list[str | None]:
    """The cells under `FIGURES`, then those of these `EXTRA_FIGURES`; None for what is not known."""
    evidence = amendment.grounds.evidence
    average = _signed(evidence.get("average"))
    cells = [
        evidence.get("role"),
        evidence.get("citations"),
        evidence.get("resolved"),
        evidence.get("wins"),
        None if average is None else f"{average} {_unit_of(evidence)}",
        _interval(evidence),
        odds(evidence["e"]) if _is_number(evidence.get("e")) else None,
        _word(evidence),
        evidence.get("since"),
        *(_signed(evidence.get(key)) for key in extra),
    ]
    return [None if cell is None else str(cell) for cell in cells]


def _unit_of(evidence: Mapping[str, Any]) -> str:
    unit = str(evidence.get("unit") or "")
    return str(evidence.get("currency") or unit) if unit == "usd" else _UNITS.get(unit, unit)


def _average(value: Any, unit: str, currency: str) -> str:
    average = _signed(value)
    if average is None:
        return "no average"
    unit_name = (currency or "in money") if unit in {"usd", ""} else _UNITS.get(unit, unit)
    return f"average {average} {unit_name}"


def _signed(value: Any) -> str | None:
    return f"{value:+,.2f}" if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

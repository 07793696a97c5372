"""A proposal for the playbook in a few words: what it changes, and on what evidence. Pure, for every page and mail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from playbook import parse
from retro.figures import interval, ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["describe_change", "evidence_in_words"]


def describe_change(entry: Mapping[str, Any]) -> tuple[str, str]:
    """What is to be done and to which heuristic, such as `lower to 0.53` and `H-7`; one that is new by the id it gets."""
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
    told = entry.get("evidence")
    if not isinstance(told, dict):
        return "" if told is None else str(told)
    if "prompted_by" in told or "its_resolved" in told:
        return _of_a_candidate(told, currency)
    parts = [_average(told.get("average"), str(told.get("unit") or "usd"), currency)]
    resolved, role = told.get("resolved"), str(told.get("role") or "")
    parts[0] += f" over {resolved} resolved {role} citation{'' if resolved == 1 else 's'}"
    if isinstance(told.get("wins"), int):
        parts.append(f"{told['wins']} won")
    bounds = told.get("interval")
    if isinstance(bounds, list) and len(bounds) == 2 and all(map(_is_number, bounds)):
        parts.append(f"95 % {interval(*bounds)}")
    if _is_number(told.get("q")):
        parts.append(f"q {ratio(told['q'])}")
    if told.get("grade"):
        parts.append(f"evidence {told['grade']}")
    if told.get("since"):
        parts.append(f"since {told['since']}")
    return ", ".join(parts)


def _of_a_candidate(told: Mapping[str, Any], currency: str) -> str:
    rule = told.get("prompted_by") or "another rule"
    shown = _average(told.get("its_average"), "usd", currency)
    return f"none of its own yet; beside {rule}: {shown} over {told.get('its_resolved')} resolved citations"


def _average(value: Any, unit: str, currency: str) -> str:
    if not _is_number(value):
        return "no average"
    shown = {"usd": currency or "in money", "r": "R", "bps": "bps of notional"}.get(unit, unit)
    return f"average {value:+,.2f} {shown}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

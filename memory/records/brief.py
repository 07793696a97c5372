"""The section of an agent's next prompt, in brief: rules with their evidence, lessons, how it stands, what is open.

At most `LONGEST` characters: what does not fit is counted, never cut in the middle of a figure. No figure stands here
without its n, and one of a few outcomes is called noisy. Every line is one line, whoever wrote the words in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from memory.records.hypothesis import is_open
from memory.records.prompt import brief_line, day_of, part_of, printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["LONGEST", "brief"]

LONGEST: Final = 2000
_WORDS: Final = 60
_NOISY_BELOW: Final = 30
_MILLION: Final = 1e6
_ORDER: Final = ("supported", "suggestive", "weak", "none")
_VERDICTS: Final = {
    "keep": "keep",
    "demote": "demote",
    "investigate": "investigate",
    "insufficient_data": "too few to say",
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """How many lines each list may have."""

    rules: int
    lessons: int
    hypotheses: int
    experiments: int


def brief(
    experiments: Sequence[Mapping[str, Any]],
    hypotheses: Iterable[Mapping[str, Any]],
    *,
    n: int,
    lessons: Sequence[str] = (),
    standing: str = "",
    longest: int = LONGEST,
) -> str:
    """The section in Markdown, of records of one agent; `n`: how many experiments were asked for, newest first.

    `lessons` and `standing` are sentences of figures; the latter says how the agent stands.
    """
    registry = list(hypotheses)
    rules = sorted((rule for rule in registry if _outcomes(rule)), key=_by_evidence)
    waiting = [entry for entry in registry if is_open(entry) and not _outcomes(entry)]
    lists = (
        [_rule(rule) for rule in rules],
        [f"- {printable_line(lesson)}" for lesson in lessons],
        [_hypothesis(entry) for entry in waiting],
        [line for line in map(brief_line, experiments) if line][:n],
    )
    shown = _Shown(*map(len, lists))
    text = _section(lists, shown, standing, n)
    while len(text) > longest and any((shown.experiments, shown.hypotheses, shown.rules, shown.lessons)):
        shown = _fewer(shown)
        text = _section(lists, shown, standing, n)
    return text


def _fewer(shown: _Shown) -> _Shown:
    """One line less where it is missed least."""
    least = (("experiments", 3), ("hypotheses", 4), ("rules", 5), ("experiments", 0), ("hypotheses", 1))
    for name, floor in (*least, ("rules", 1), ("hypotheses", 0), ("lessons", 0), ("rules", 0)):
        if (count := getattr(shown, name)) > floor:
            return replace(shown, **{name: count - 1})
    return shown


def _section(lists: Sequence[Sequence[str]], shown: _Shown, standing: str, n: int) -> str:
    rules, lessons, hypotheses, experiments = lists
    blocks = [["## Experiment History", ""]]
    if standing:
        blocks.append([printable_line(standing), ""])
    if rules:
        blocks.append(["### Rules Under Audit", "", *_some(rules, shown.rules), ""])
    if lessons:
        heading = "### Largest Lessons (one trade each: examples, no rate)"
        blocks.append([heading, "", *_some(lessons, shown.lessons), ""])
    blocks.append(
        [f"### Recent Experiments (last {n})", "", *_some(experiments, shown.experiments), ""]
        if experiments
        else [f"### Recent Experiments (last {n})", ""]
    )
    blocks.append(["## Open Hypotheses", "", *_some(hypotheses, shown.hypotheses)])
    return "\n".join(line for block in blocks for line in block).rstrip("\n") + "\n"


def _some(lines: Sequence[str], count: int) -> list[str]:
    left = len(lines) - count
    return [*lines[:count], *([f"- and {left} more"] if left else [])]


# rules


def _evidence(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return part_of(entry, "evidence")


def _outcomes(entry: Mapping[str, Any]) -> int:
    """How many outcomes its evidence rests on; 0 of what was never tested."""
    n = _evidence(entry).get("n")
    return n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 0


def _by_evidence(entry: Mapping[str, Any]) -> tuple[int, int, str]:
    grade = _evidence(entry).get("grade")
    place = _ORDER.index(grade) if grade in _ORDER else len(_ORDER)
    return place, -_outcomes(entry), str(entry.get("id"))


def _rule(entry: Mapping[str, Any]) -> str:
    """`H_001 H-7 Size up: demote (n 2 in its last review); evidence weak, n 4, noisy, 95 % -11.26..+7.06 USDC each`."""
    evidence = _evidence(entry)
    name, text = (printable_line(entry.get(key) or "", _WORDS) for key in ("heuristic", "text"))
    words = text if name and name in text else f"{name} {text}".strip()
    period_n = evidence.get("period_n")
    latest = f" (n {period_n} in its last review)" if isinstance(period_n, int) else ""
    verdict = _VERDICTS.get(str(evidence.get("recommendation")), "no verdict")
    n = _outcomes(entry)
    parts = [f"evidence {printable_line(evidence.get('grade') or 'none', 20)}{_odds(evidence)}", f"n {n}"]
    if n < _NOISY_BELOW:
        parts.append("noisy")
    if interval := _interval(evidence):
        parts.append(interval)
    if evidence.get("one_outcome") is True:
        parts.append("one outcome carries it")
    rule = f"- **{printable_line(entry.get('id'), 20)}** {words}: {verdict}{latest}; {', '.join(parts)}"
    return f"{rule}{_open(evidence)}"


def _open(evidence: Mapping[str, Any]) -> str:
    """The positions it brought in that are open, which no outcome counts: `; 5 open positions not counted, at -9.00 USDC`."""
    n, pnl = evidence.get("open_count"), evidence.get("open_pnl")
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        return ""
    priced = isinstance(pnl, int | float) and not isinstance(pnl, bool)
    unit = printable_line(evidence.get("open_unit") or evidence.get("unit") or "", 12)
    stand = f"at {pnl:+,.2f} {unit}".rstrip() if priced else "without a price"
    return f"; {n:,} open position{'' if n == 1 else 's'} not counted, {stand}"


def _odds(evidence: Mapping[str, Any]) -> str:
    """How many to one stand behind the word, rounded down: ` (61 to 1)`; nothing where no bet was made."""
    e = evidence.get("e")
    if not isinstance(e, int | float) or isinstance(e, bool) or not 0 <= e < math.inf:
        return ""
    if e >= _MILLION:
        return " (over a million to 1)"
    return f" ({math.floor(e):,} to 1)" if e >= 2 else f" ({math.floor(10 * e) / 10:.1f} to 1)"


def _interval(evidence: Mapping[str, Any]) -> str | None:
    """`95 % -11.26..+7.06 USDC each`; an end that is null is open: `95 % at least +0.20 USDC each`."""
    limits = evidence.get("interval")
    if not isinstance(limits, list) or len(limits) != 2 or limits == [None, None]:
        return None
    if not all(
        limit is None or (isinstance(limit, int | float) and not isinstance(limit, bool)) for limit in limits
    ):
        return None
    low, high = (None if limit is None else f"{limit:+,.2f}" for limit in limits)
    unit = printable_line(evidence.get("unit") or "", 12)
    bounds = f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low}..{high}"
    return f"95 % {bounds}{f' {unit}' if unit else ''} each"


def _hypothesis(entry: Mapping[str, Any]) -> str:
    since = f" ({day_of(entry.get('created'))})" if entry.get("created") else ""
    return (
        f"- **{printable_line(entry.get('id'), 20)}**: {printable_line(entry.get('text'), 2 * _WORDS)}{since}"
    )

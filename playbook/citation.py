"""From what an agent cited to the heuristic it meant.

A heuristic claims labels of the agent (`tags`); citing a claimed label is citing the heuristic. A label nobody claims
stays itself and is audited under its own name. A retired heuristic keeps a label only while no living one claims it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from playbook.heuristic import Heuristic

__all__ = ["claims", "resolve"]


def claims(heuristics: Sequence[Heuristic]) -> dict[str, str]:
    """Map each claimed tag to the id that claims it; the first living claim wins."""
    claimed: dict[str, str] = {}
    for heuristic in sorted(heuristics, key=lambda rule: not rule.live):
        for tag in heuristic.tags:
            claimed.setdefault(tag, heuristic.id)
    return claimed


def resolve(cites: Iterable[str], claimed: Mapping[str, str]) -> tuple[str, ...]:
    """Turn cited ids and labels into heuristic ids, each once, in the order cited.

    `claimed` says of a label which heuristic claims it; what nobody claims stays itself.
    """
    heuristics = [claimed.get(cite, cite) for cite in cites]
    return tuple(dict.fromkeys(heuristics) if len(heuristics) > 1 else heuristics)

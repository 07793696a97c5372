"""From what an agent cited to the heuristic it meant.

A heuristic claims labels of the agent (`tags`); citing a claimed label is citing the heuristic. A label nobody claims
stays itself and is audited under its own name. A retired heuristic keeps a label only while no living one claims it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from playbook.heuristic import Heuristic

__all__ = ["claims", "resolve"]


def claims(heuristics: Sequence[Heuristic]) -> dict[str, str]:
    """Map each claimed tag to the id that claims it; the first living claim wins."""
    claimed: dict[str, str] = {}
    for heuristic in sorted(heuristics, key=lambda rule: not rule.live):
        for tag in heuristic.tags:
            claimed.setdefault(tag, heuristic.id)
    return claimed


def resolve(heuristics: Sequence[Heuristic], cites: Iterable[str]) -> tuple[str, ...]:
    """Turn cited ids and labels into heuristic ids, each once, in the order cited; unclaimed labels stay themselves."""
    ids = {heuristic.id for heuristic in heuristics}
    claimed = claims(heuristics)

    def meant(cite: str) -> str:
        for name in (cite, " ".join(cite.split())):
            if name in ids:
                return name
            if name in claimed:
                return claimed[name]
        return cite

    return tuple(dict.fromkeys(map(meant, cites)))

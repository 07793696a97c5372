"""What a word or a figure of a page leads to, without saying how: each format has its own way, or none.

A reference names a thing by the names the owner knows it by. Addresses of screens and commands of a terminal are made of
it in `retro.present.links`, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AgentReference",
    "ExplanationReference",
    "MemoryReference",
    "PeriodReference",
    "PositionReference",
    "ProposalReference",
    "Reference",
    "ReviewReference",
    "RuleReference",
    "RulesReference",
    "ScreenReference",
]


@dataclass(frozen=True, slots=True)
class ReviewReference:
    """A review as it was written; of None the newest `revision`."""

    review: str
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class ExplanationReference:
    """Where a figure of a stored review comes from; "": which figures it has."""

    review: str
    figure: str = ""


@dataclass(frozen=True, slots=True)
class PositionReference:
    """A position of an agent; with a query, seen in another way: a part of its path, or beside others."""

    agent: str
    position: str
    query: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RuleReference:
    """A heuristic of an agent's playbook, or a tag it cites."""

    agent: str
    rule: str


@dataclass(frozen=True, slots=True)
class RulesReference:
    """All of an agent's rules."""

    agent: str


@dataclass(frozen=True, slots=True)
class ProposalReference:
    """A proposed change of an agent's playbook."""

    agent: str
    proposal: str


@dataclass(frozen=True, slots=True)
class AgentReference:
    """All about one agent."""

    agent: str


@dataclass(frozen=True, slots=True)
class MemoryReference:
    """What one agent remembers."""

    agent: str


@dataclass(frozen=True, slots=True)
class PeriodReference:
    """What an agent did in a period of its calendar: a day such as 2026-11-22, a week such as 2026-W47."""

    agent: str
    period: str


@dataclass(frozen=True, slots=True)
class ScreenReference:
    """A screen by its name, with the filters it is seen through: pairs of a key and a value."""

    screen: str
    query: tuple[tuple[str, str], ...] = ()


Reference = (
    ReviewReference
    | ExplanationReference
    | PositionReference
    | RuleReference
    | RulesReference
    | ProposalReference
    | AgentReference
    | MemoryReference
    | PeriodReference
    | ScreenReference
)

"""When each rule of a playbook was born and died: by the file's commits, else by the proposals that were merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from playbook.citation import resolve
from retro.kernels.evaluators.survival import survival
from retro.periods import DAY, midnight

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from zoneinfo import ZoneInfo

    from playbook import Amendment, Playbook
    from playbook.heuristic import Heuristic
    from retro.evaluate.position.summary import PositionSummary
    from retro.kernels.evaluators.survival import SurvivalCurve

__all__ = [
    "Birthdays",
    "PlaybookVersion",
    "RuleLife",
    "RuleLives",
    "first_citations",
    "lives_by_commits",
    "lives_by_proposals",
]

_ENDED: Final = frozenset({"demoted", "retired"})


@dataclass(frozen=True, slots=True)
class PlaybookVersion:
    """A playbook as a commit left it, at its committer's date; `book` None where the commit removed the file."""

    at: int
    book: Playbook | None


@dataclass(frozen=True, slots=True)
class RuleLife:
    """From the instant at which a rule was first active to the one at which it was no more; None: it lives."""

    rule: str
    born_at: int
    died_at: int | None = None


@dataclass(frozen=True, slots=True)
class RuleLives:
    """The lives of a playbook's rules, in the order of their ids; `undated` are rules of which nobody knows when."""

    lives: Sequence[RuleLife] = ()
    undated: int = 0

    def living(self, at: int) -> set[str]:
        """The rules that were active just before an instant."""
        return {
            life.rule
            for life in self.lives
            if life.born_at < at and (life.died_at is None or life.died_at >= at)
        }

    def survival(self, now: int) -> SurvivalCurve:
        """The Kaplan-Meier curve of ages in days as known at an instant, the living censored then."""
        born = [life for life in self.lives if life.born_at <= now]
        died = np.array([life.died_at is not None and life.died_at <= now for life in born], dtype=np.bool_)
        ends = [life.died_at if life.died_at is not None and life.died_at <= now else now for life in born]
        ages = [max(0, end - life.born_at) / DAY for life, end in zip(born, ends, strict=True)]
        return survival(np.array(ages, dtype=np.float64), died)

    def deaths(self, now: int) -> int:
        """How many had died by an instant."""
        return sum(life.died_at is not None and life.died_at <= now for life in self.lives)


@dataclass(frozen=True, slots=True)
class Birthdays:
    """What tells how old a rule is that was there before anybody looked: its `since`, else its first citation."""

    zone: ZoneInfo
    cited_at: Mapping[str, int] = field(default_factory=dict)

    def of(self, rule: str, since: date | None) -> int | None:
        """The instant; None where neither is known."""
        return self.cited_at.get(rule) if since is None else midnight(since, self.zone)


def first_citations(rows: Iterable[PositionSummary], claims: Mapping[str, str]) -> dict[str, int]:
    """Rule -> the instant of the first decision about a position that cites it."""
    first: dict[str, int] = {}
    for row in rows:
        for cited in row.decisions:
            for rule in resolve(cited.cites, claims):
                first[rule] = min(cited.at, first.get(rule, cited.at))
    return first


def lives_by_commits(versions: Sequence[PlaybookVersion], birthdays: Birthdays) -> RuleLives:
    """Lives by the file's commits, oldest first.

    A rule is born at the first that shows it active, and dead at the first since that shows it demoted, retired or not at all.
    What is active in the first of all may be older: it was born by its `since`, else its first citation, else that commit.
    """
    born: dict[str, int] = {}
    died: dict[str, int] = {}
    for number, version in enumerate(versions):
        rules = _rules(version.book)
        for id_, rule in rules.items():
            if rule.status == "active" and id_ not in born:
                known = birthdays.of(id_, rule.since) if number == 0 else None
                born[id_] = version.at if known is None else known
        for id_ in born.keys() - died.keys():
            if id_ not in rules or rules[id_].status in _ENDED:
                died[id_] = version.at
    return RuleLives([RuleLife(id_, at, died.get(id_)) for id_, at in sorted(born.items())])


def lives_by_proposals(
    book: Playbook | None, merged: Iterable[tuple[int, Amendment]], birthdays: Birthdays
) -> RuleLives:
    """Lives by what was merged of proposals, each with its instant: a rule dies with the first that ends it.

    A rule that is demoted or retired, and no proposal tells since when, is `undated`, as one of unknown birth.
    """
    rules = _rules(book)
    died: dict[str, int] = {}
    for at, amendment in sorted(merged, key=lambda pair: pair[0]):
        after = {rule.id: rule.status for rule in amendment.after}
        for rule in amendment.before:
            rules.setdefault(rule.id, rule)
            if after.get(rule.id, "retired") in _ENDED:
                died.setdefault(rule.id, at)
    lives, undated = [], 0
    for id_, rule in sorted(rules.items()):
        born = birthdays.of(id_, rule.since)
        if rule.status == "candidate":
            continue
        if born is None or (rule.status in _ENDED and id_ not in died):
            undated += 1
        else:
            lives.append(RuleLife(id_, born, died.get(id_)))
    return RuleLives(lives, undated)


def _rules(book: Playbook | None) -> dict[str, Heuristic]:
    """The heuristics of a playbook by id, the first of those that stand twice."""
    rules: dict[str, Heuristic] = {}
    for heuristic in book.heuristics if book is not None else ():
        rules.setdefault(heuristic.id, heuristic)
    return rules

"""What resolved in a period and does not cite a heuristic: what the outcomes of each row are held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro.evaluate.audit.tally import by_position
from retro.kernels.audit import OutcomeSample, sample_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.evaluate.audit.citations import CreditItem, Role
    from retro.kernels.uncertainty import DaySums

__all__ = ["RoleOutcomes", "outcomes_by_role"]


@dataclass(frozen=True, slots=True, eq=False)
class RoleOutcomes:
    """The outcomes of a role in a period, one a position, whoever was cited; `number` of a position in the `sample`."""

    sample: OutcomeSample
    number: Mapping[str, int]

    def count_without(self, cited: Iterable[CreditItem]) -> int:
        """How many positions are left without those that these outcomes are of."""
        return len(self.number) - len(self._numbers(cited))

    def mean_without(self, cited: Iterable[CreditItem]) -> float | None:
        """The mean of those that are left; None of none."""
        return self.sample.mean_without(self._numbers(cited))

    def days_without(self, cited: Iterable[CreditItem]) -> DaySums:
        """Those that are left, by entry day."""
        return self.sample.days_without(self._numbers(cited))

    def _numbers(self, cited: Iterable[CreditItem]) -> list[int]:
        return [self.number[position] for position in dict.fromkeys(item.position for item in cited)]


def outcomes_by_role(within: Iterable[CreditItem]) -> dict[Role, RoleOutcomes]:
    """The outcomes that resolved in a period."""
    items: dict[Role, list[CreditItem]] = {"entry": [], "exit": []}
    for item in within:
        items[item.role].append(item)
    return {role: _of_role(chosen) for role, chosen in items.items()}


def _of_role(items: list[CreditItem]) -> RoleOutcomes:
    outcomes = by_position(items)
    sample = sample_of([value for _, value in outcomes], [item.day for item, _ in outcomes])
    return RoleOutcomes(sample, {item.position: number for number, (item, _) in enumerate(outcomes)})

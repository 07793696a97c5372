"""Where a figure comes from: what it means, what stands beside it, and the lines it rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retro.report.definitions import FigureDefinition

__all__ = ["Explanation", "FigureValue", "JournalLine"]


@dataclass(frozen=True, slots=True)
class FigureValue:
    """A figure by its path in the document, as it is stored; `reason` says why it is absent."""

    name: str
    value: float | int | str | bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JournalLine:
    """An event as the agent told it: `line` is what was written."""

    at: str
    type: str
    id: str
    position: str | None
    line: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A figure, its definition (None: the pages have none), the figures beside it, and the events it rests on.

    The events lie in [`start`, `end`); those of a figure of one `position` name it, whenever they were told. `lines` is a page of the
    `count` there are; `next` is the cursor after which the following ones come.
    """

    review: str
    figure: FigureValue
    definition: FigureDefinition | None
    beside: tuple[FigureValue, ...]
    position: str | None
    start: str | None
    end: str | None
    types: tuple[str, ...]
    count: int
    lines: tuple[JournalLine, ...]
    next: str | None

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

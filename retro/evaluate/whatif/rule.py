"""One rule of a what-if, as somebody types it: `stop -3%`, `without H-7`, `exit-after 48h`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from retro.errors import UsageError
from retro.periods import parse_duration

if TYPE_CHECKING:
    from datetime import date

__all__ = ["GRID", "ShadowStrategy", "Trait", "WhatIfRule", "parse_rule"]

Kind = Literal["exit-after", "stop", "take", "trail", "without", "size-cap", "half-size"]
Trait = Literal["heuristic", "tag", "regime", "hour"]

GRID: Final = (
    *(
        "exit-after 4h",
        "exit-after 12h",
        "exit-after 24h",
        "exit-after 48h",
        "exit-after 72h",
        "exit-after 168h",
    ),
    *("stop -1%", "stop -2%", "stop -3%", "stop -5%", "stop -0.5R", "stop -1R"),
    *("take 2%", "take 3%", "take 5%", "take 10%", "take 1R", "take 2R"),
    *("trail 1%", "trail 2%", "trail 3%", "trail 5%", "trail 0.5R", "trail 1R"),
)
"""The standard search: six of each way to leave."""

_GRAMMAR: Final = (
    "exit-after 48h | stop -3% | stop -1.5R | take 5% | take 2R | trail 2% | trail 1R | without H-7 | without tag:NAME"
    " | without regime:NAME | without hour:14 | size-cap 500 | half-size H-7"
)
_AMOUNT: Final = re.compile(r"(-?)(\d+(?:\.\d+)?)(%|R)")


@dataclass(frozen=True, slots=True)
class WhatIfRule:
    """One change. `amount` is microseconds, a share of the price, R or money, by kind; `name` whom a trait rule means."""

    text: str
    kind: Kind
    amount: float = 0.0
    in_risks: bool = False
    trait: Trait | None = None
    name: str = ""

    @property
    def meaning(self) -> tuple[Kind, float, bool, Trait | None, str]:
        """What it does: the same of rules that are only typed differently."""
        return self.kind, self.amount, self.in_risks, self.trait, self.name

    @property
    def leaves(self) -> bool:
        """Whether it is a way to leave earlier, so that marks decide."""
        return self.kind in {"exit-after", "stop", "take", "trail"}


@dataclass(frozen=True, slots=True)
class ShadowStrategy:
    """A rule that runs forward from the start of a day on."""

    name: str
    rule: WhatIfRule
    since: date


def parse_rule(text: str) -> WhatIfRule:
    """Read a rule; `UsageError` says what rules there are."""
    kind, _, operand = text.strip().partition(" ")
    operand = operand.strip()
    rule = _exit(text, kind, operand) or _selection(text, kind, operand)
    if rule is None:
        raise UsageError(f"{text!r} is no rule of a what-if; there are: {_GRAMMAR}")
    return rule


def _exit(text: str, kind: str, operand: str) -> WhatIfRule | None:
    if kind == "exit-after":
        try:
            duration = parse_duration(operand)
        except ValueError:
            return None
        return WhatIfRule(text, "exit-after", float(duration)) if duration > 0 else None
    if kind not in {"stop", "take", "trail"}:
        return None
    match = _AMOUNT.fullmatch(operand)
    if match is None or (match[1] == "-") != (kind == "stop") or not float(match[2]):
        return None
    in_risks = match[3] == "R"
    amount = float(match[2]) if in_risks else float(match[2]) / 100
    return WhatIfRule(text, kind, amount, in_risks)  # type: ignore[arg-type]  # one of the three


def _selection(text: str, kind: str, operand: str) -> WhatIfRule | None:
    if not operand:
        return None
    if kind == "size-cap":
        cap = re.fullmatch(r"\d+(?:\.\d+)?", operand)
        return WhatIfRule(text, "size-cap", float(operand)) if cap and float(operand) else None
    if kind == "half-size":
        return WhatIfRule(text, "half-size", trait="heuristic", name=operand)
    if kind != "without":
        return None
    trait, colon, name = operand.partition(":")
    if not colon:
        return WhatIfRule(text, "without", trait="heuristic", name=operand)
    if trait == "hour" and re.fullmatch(r"\d{1,2}", name) and int(name) < 24:
        return WhatIfRule(text, "without", trait="hour", name=str(int(name)))
    if trait in {"tag", "regime"} and name:
        return WhatIfRule(text, "without", trait=trait, name=name)  # type: ignore[arg-type]  # one of the two
    return None

"""A review in a few lines, as it stands among others: its period, what was done, what it came to. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.figures import count, percent
from retro.kinds import KINDS
from retro.present.page.blocks import Figure, FigureList, Section
from retro.present.page.report import money_of_report, page_of_report
from retro.present.page.screens.lists import audit_table
from retro.present.references import ReviewReference

if TYPE_CHECKING:
    from retro.present.page.blocks import Block
    from retro.report import RetrospectiveReport

__all__ = ["summary_section"]

_NOUNS: Final = {"enter": ("entry", "entries"), "exit": ("exit", "exits"), "hold": ("hold", "holds")}
_FIRST: Final = tuple(_NOUNS)


def summary_section(report: RetrospectiveReport, review: str, aside: str = "") -> Section:
    """What the first screen of a period's review says, and its audit; the period leads to the whole of it."""
    head = page_of_report(report).headline
    money = money_of_report(report)
    rows = (
        Figure("Period", head.subtitle, ref=ReviewReference(review)),
        Figure("Actions", _actions(report)),
        Figure("Net PnL", money.change(report.result), head.why, head.tone),
        *head.facts,
        _accuracy(report),
    )
    blocks: list[Block] = [FigureList(rows)]
    if cited := [row for row in report.heuristic_performance if row.citation_count]:
        blocks.append(replace(audit_table(report.agent, cited, report.base_currency), note=""))
    kind = KINDS[report.horizon]
    return Section(f"newest-{kind.name}", kind.title.capitalize(), tuple(blocks), aside)


def _actions(report: RetrospectiveReport) -> str:
    """12 entries, 4 exits, 289 holds; whatever else it did after these."""
    counts = Counter(action.action for action in report.actions_taken)
    names = sorted(counts, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    words = (count(counts[name], *_NOUNS.get(name, (name, f"{name}s"))) for name in names)
    return ", ".join(words) or "none"


def _accuracy(report: RetrospectiveReport) -> Figure:
    accuracy = report.prediction_accuracy
    note = f"{accuracy.hits:,} of {accuracy.judged:,} that can be judged were right"
    if accuracy.hit_rate is None:
        note = "no prediction that can be judged was resolved"
    return Figure("Prediction accuracy", percent(accuracy.hit_rate, 1), note)

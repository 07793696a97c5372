"""What a revision changed: the figures that differ between two documents of one review, the weightiest first. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retro.figures import DASH, money_of, percent, ratio
from retro.present.page.labels import VERDICTS
from retro.report import RetrospectiveReport
from retro.report.lines import signed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retro.figures import MoneyStyle
    from retro.report import PnlAttribution, PositionRetrospective

    Document = RetrospectiveReport | PositionRetrospective

__all__ = ["Change", "changes"]


@dataclass(frozen=True, slots=True)
class Change:
    """A figure as it was and as it is; a dash where it was or is absent. `position`: it is the result of that one.

    What it leads to is no part of what changed.
    """

    label: str
    before: str
    after: str
    position: str | None = field(default=None, compare=False)


def changes(before: Document, after: Document, currency: str = "") -> tuple[Change, ...]:
    """What differs in a reader's eyes: result, its parts, verdicts, positions; empty when every figure stands.

    A position does not say its unit: `currency` does.
    """
    if isinstance(before, RetrospectiveReport) and isinstance(after, RetrospectiveReport):
        money = money_of(after.base_currency, (after.pnl.total, before.pnl.total))
        differences = _of_report(before, after, money)
    elif not isinstance(before, RetrospectiveReport) and not isinstance(after, RetrospectiveReport):
        differences = _of_position(before, after, money_of(currency, (after.final_pnl, before.final_pnl)))
    else:
        return ()
    return tuple(change for change in differences if change.before != change.after)


def _of_report(
    before: RetrospectiveReport, after: RetrospectiveReport, money: MoneyStyle
) -> Iterator[Change]:
    was, now = before.effectiveness, after.effectiveness
    yield Change("Result", money.change(before.pnl.total), money.change(after.pnl.total))
    yield Change(
        "Against doing nothing",
        before.open_positions.beside(was.sum_vs_inaction, money),
        after.open_positions.beside(now.sum_vs_inaction, money),
    )
    yield Change("Closed positions", f"{was.closed_positions:,}", f"{now.closed_positions:,}")
    yield from _verdicts(before, after)
    yield Change("Proposals", f"{len(before.playbook_proposals):,}", f"{len(after.playbook_proposals):,}")
    yield from _parts(before.pnl, after.pnl, money)
    yield from _positions(before.positions, after.positions, money)
    yield Change("Effectiveness score", ratio(was.score), ratio(now.score))
    yield Change(
        "Prediction accuracy",
        percent(before.prediction_accuracy.hit_rate, 1),
        percent(after.prediction_accuracy.hit_rate, 1),
    )
    yield Change("Confidence", ratio(before.confidence), ratio(after.confidence))
    yield Change("Provisional", _yes(before.data_quality.provisional), _yes(after.data_quality.provisional))
    yield Change(
        "Rows that could not be used",
        f"{before.data_quality.quarantined:,}",
        f"{after.data_quality.quarantined:,}",
    )


def _of_position(
    before: PositionRetrospective, after: PositionRetrospective, money: MoneyStyle
) -> Iterator[Change]:
    figures: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
        ("final_pnl", "Result", money.change),
        ("vs_inaction", "Against doing nothing", money.change),
        ("optimal_exit_pnl", "Optimal exit", money.change),
        ("regret", "Regret", money.amount),
        ("regret_ratio", "Regret ratio", ratio),
        ("left_on_table", "Left on the table", money.change),
        ("hold_on", "Holding on", money.change),
    )
    for name, label, formatter in figures:
        yield Change(label, formatter(getattr(before, name)), formatter(getattr(after, name)))
    yield Change("State", "open" if before.open else "closed", "open" if after.open else "closed")
    yield from _parts(before.attribution, after.attribution, money)


def _parts(before: PnlAttribution, after: PnlAttribution, money: MoneyStyle) -> Iterator[Change]:
    """Lines of the attribution, those of the present first."""
    was, now = ({line.label: amount for line, amount in signed_lines(pnl)} for pnl in (before, after))
    for label in (*now, *(label for label in was if label not in now)):
        yield Change(label, money.signed(was.get(label, 0.0)), money.signed(now.get(label, 0.0)))


def _verdicts(before: RetrospectiveReport, after: RetrospectiveReport) -> Iterator[Change]:
    def verdicts_of(report: RetrospectiveReport) -> dict[tuple[str, str], str]:
        return {
            (row.heuristic_id, row.role): VERDICTS[row.recommendation.kind]
            for row in report.heuristic_performance
            if row.citation_count
        }

    was, now = verdicts_of(before), verdicts_of(after)
    for key in (*now, *(key for key in was if key not in now)):
        yield Change(" ".join(key), was.get(key, DASH), now.get(key, DASH))


def _positions(
    before: list[PositionRetrospective], after: list[PositionRetrospective], money: MoneyStyle
) -> Iterator[Change]:
    """Positions by how far they moved, those that came or went among them."""
    was, now = ({p.position_id: p for p in rows} for rows in (before, after))

    def pnl(rows: dict[str, PositionRetrospective], name: str) -> float | None:
        return rows[name].period_pnl if name in rows else None

    names = sorted(
        {*was, *now}, key=lambda name: (-abs((pnl(now, name) or 0.0) - (pnl(was, name) or 0.0)), name)
    )
    for name in names:
        yield Change(name, money.signed(pnl(was, name)), money.signed(pnl(now, name)), name)


def _yes(value: bool) -> str:
    return "yes" if value else "no"

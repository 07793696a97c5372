"""What a life leaves behind: the plain lines a death review adds to its words, made by code from its own figures.

What was kept and what was demoted with its counts, the largest regrets, and what it would change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import count, money_of, percent

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.report import HeuristicReport, RetrospectiveReport

__all__ = ["testament"]

_SHOWN: Final = 5


def testament(report: RetrospectiveReport) -> RetrospectiveReport:
    """The report of a whole life with what it gathered, after whatever words it has."""
    money = money_of(report.base_currency, [p.final_pnl for p in report.positions])
    rows = sorted(report.heuristic_performance, key=lambda row: (-row.evaluated_count, row.heuristic_id))
    by_kind = {
        kind: [row for row in rows if row.recommendation.kind == kind]
        for kind in ("keep", "demote", "investigate")
    }
    return report.model_copy(
        update={
            "what_worked": _joined(
                report.what_worked, _totals(report, money), _gathered("Kept", by_kind["keep"], money)
            ),
            "what_failed": _joined(
                report.what_failed, _gathered("Demoted", by_kind["demote"], money), _regrets(report, money)
            ),
            "hindsight": _joined(report.hindsight, _changes(by_kind["demote"], by_kind["investigate"])),
        }
    )


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _totals(report: RetrospectiveReport, money: MoneyStyle) -> str:
    closed = [p for p in report.believed_positions if not p.open]
    won = sum((p.final_pnl or 0.0) > 0 for p in closed)
    share = f", {percent(won / len(closed))} of them with a gain" if closed else ""
    total = f"In its whole life it made {money.change(report.result)}"
    standing = f"; {report.open_positions.words(money)}" if report.open_positions.size else ""
    return f"{total} over {count(len(closed), 'closed position')}{share}{standing}."


def _gathered(verb: str, rows: list[HeuristicReport], money: MoneyStyle) -> str:
    if not rows:
        return ""
    entries = [
        f"{row.heuristic_id} ({row.role}, cited {count(row.citation_count, 'time')}, "
        f"{count(row.evaluated_count, 'outcome')}, average {money.change(row.avg_pnl_per_citation)})"
        for row in rows[:_SHOWN]
    ]
    remainder = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"{verb}, by the thresholds: {'; '.join(entries)}{remainder}."


def _regrets(report: RetrospectiveReport, money: MoneyStyle) -> str:
    judged = [p for p in report.believed_positions if p.regret]
    judged.sort(key=lambda p: (-(p.regret or 0.0), p.position_id))
    if not judged:
        return ""
    entries = [f"{p.position_id} ({p.instrument}) {money.amount(p.regret)}" for p in judged[:_SHOWN]]
    return f"Largest regrets: {'; '.join(entries)}."


def _changes(demoted: list[HeuristicReport], doubtful: list[HeuristicReport]) -> str:
    clauses = []
    if demoted:
        clauses.append(f"no longer act on {_names(demoted)}")
    if doubtful:
        clauses.append(f"look again at {_names(doubtful)} before acting on it")
    if not clauses:
        return "By its own figures it would change no rule."
    return f"By its own figures it would {' and '.join(clauses)}."


def _names(rows: list[HeuristicReport]) -> str:
    return ", ".join(dict.fromkeys(row.heuristic_id for row in rows[:_SHOWN]))

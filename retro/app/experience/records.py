"""The channel `records`: what a weekly or epoch review tried and found, as YAML files beside the agent's memory.

Ids come from the review and files cannot join a transaction, so a retry rewrites the same files; a new revision keeps
its experiment's id. Verdicts and statuses follow from the figures; only observations are anybody's words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from playbook import parse
from retro.app.experience.signals import (
    FEW_DECISIONS,
    heuristic_verdict,
    hypothesis_status,
    rests_on_one_outcome,
    rests_on_one_trade,
    review_verdict,
)
from retro.deliver.channel import Rejected, Retry, Sent
from retro.figures import count
from retro.kinds import KINDS
from retro.periods import parse_instant
from retro.present.page.report import money_of_report
from retro.report import RetrospectiveReport
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory.records import Claim, Judgement
    from retro.config import Config
    from retro.deliver.channel import Message, Outcome
    from retro.report import HeuristicReport, PositionRetrospective

__all__ = ["Records", "records_channel", "records_of"]

_LONGEST: Final = 2000
_ITEM: Final = re.compile(r"[-*+]\s+\S+\s+\[[0-9.]+\]\s+(.*?)\s*(?:\{[^{}]*\})?\s*", re.DOTALL)


def records_channel(config: Config) -> Records:
    """The channel as configured."""
    return Records(config.memory.directory)


class Records:
    """The channel `records`: DIRECTORY/experiments/ID.yaml and DIRECTORY/hypotheses.yaml."""

    name: Final = "records"

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def recipients(self, config: Config) -> tuple[str, ...]:
        """The one folder, by a name that is the same on every machine; nobody when records are off."""
        return ("memory",) if config.memory.records else ()

    def send(self, message: Message) -> Outcome:
        """Write the records of the message's reviews; those of other kinds have none."""
        from memory.errors import (  # noqa: PLC0415  a file of YAML is all that needs the package
            ExperienceError,
            RefusedError,
        )
        from memory.records import keep  # noqa: PLC0415  as above

        previous = records_of(message.previous)
        try:
            for document in (*message.digest_of, message.document):
                judgement = records_of(document)
                is_same_review = (
                    previous is not None and judgement is not None and previous.review == judgement.review
                )
                if judgement is not None:
                    keep(judgement, directory=self.directory, previous=previous if is_same_review else None)
        except RefusedError as error:
            return Rejected(str(error))
        except ExperienceError as error:
            # damaged, held by somebody, or laid out so that a person has to do it
            return Retry(str(error))
        except OSError as error:
            return Retry(f"{error.filename or self.directory}: {error.strerror or error}")
        return Sent()


def records_of(document: RetrospectiveReport | PositionRetrospective | None) -> Judgement | None:
    """The records of a review: its experiment, one for each heuristic it tested, and what becomes of their hypotheses.

    None for a review that leaves none. The same report gives the same records.
    """
    from memory.records import Judgement  # noqa: PLC0415  as in `send`

    if not isinstance(document, RetrospectiveReport) or not KINDS[document.horizon].records:
        return None
    by_name: dict[str, list[HeuristicReport]] = {}
    for row in document.heuristic_performance:
        by_name.setdefault(row.heuristic_id, []).append(row)
    grouped = list(by_name.values())
    tested = [group for group in grouped if any(row.evaluated_count for row in group)]
    whole = _review(document)
    return Judgement(
        review=document.id,
        at=document.period_end,
        experiments=(whole, *(_heuristic(document, group) for group in tested)),
        claims=(
            *(_claim(document, group, str(whole["id"])) for group in grouped),
            *_candidates(document, str(whole["id"])),
        ),
    )


def _id(report: RetrospectiveReport, *of: str) -> str:
    from memory.records import generate_experiment_id  # noqa: PLC0415  as in `send`

    return generate_experiment_id(parse_instant(report.period_end), report.id, *of)


def _known_values(**values: Any) -> dict[str, Any]:
    """What is known, to a millionth: a metric that could not be computed is not there, rather than 0."""
    return {name: _rounded(value) for name, value in values.items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def _words(*texts: str | None) -> list[str]:
    plain_texts = (plain_text(text or "").strip()[:_LONGEST] for text in texts)
    return [text for text in plain_texts if text]


# the review


def _review(report: RetrospectiveReport) -> dict[str, Any]:
    start, end = parse_instant(report.period_start), parse_instant(report.period_end)
    closed = [p for p in report.believed_positions if p.closed_in(start, end)]
    wins = sum((p.final_pnl or 0.0) > 0 for p in closed)
    strategies = sorted({plain_text(p.strategy) for p in report.positions if p.strategy})
    return {
        "id": _id(report),
        "timestamp": report.generated_at,
        "strategy_name": strategies[0] if len(strategies) == 1 else report.agent,
        "agent": report.agent,
        "context": _known_values(
            review=report.id,
            revision=report.revision,
            agent=report.agent,
            horizon=report.horizon,
            period_start=report.period_start,
            period_end=report.period_end,
            base_currency=report.base_currency,
            instruments=sorted({plain_text(p.instrument) for p in report.positions}) or None,
            strategies=strategies or None,
        ),
        "results": _known_values(
            net_pnl=report.pnl.total,
            vs_inaction=report.effectiveness.sum_vs_inaction,
            total_trades=len(closed),
            win_rate=wins / len(closed) if closed else None,
            sharpe_ratio=report.risk.sharpe,
            sharpe_standard_error=report.risk.sharpe_standard_error,
            daily_returns=None if report.risk.sharpe is None else report.risk.days,
            max_drawdown=report.risk.max_drawdown,
            inaction_superiority_rate=report.effectiveness.inaction_superiority_rate,
            effectiveness=report.effectiveness.score,
        ),
        "assessment": {
            "verdict": review_verdict(report),
            "observations": _words(report.what_worked, report.what_failed, report.hindsight),
            "hypotheses": [{"text": text, "status": "untested"} for text, _, _ in _proposed(report)],
            "limitations": _limits(report, len(closed)),
            "capability_requests": [],
        },
        "source": "review",
    }


def _limits(report: RetrospectiveReport, closed: int) -> list[str]:
    limits = []
    if rests_on_one_trade(report):
        limits.append(f"one of {count(closed, 'trade')} made all of its net gain")
    if report.resolved_decisions < FEW_DECISIONS:
        limits.append(f"only {count(report.resolved_decisions, 'resolved decision')}")
    if report.open_positions.size:
        standing = report.open_positions.words(money_of_report(report))
        limits.append(f"of closed trades alone: {standing}")
    if report.data_quality.provisional:
        limits.append("provisional: marks are missing or old")
    if report.data_quality.implausible:
        implausible = len(report.data_quality.implausible)
        limits.append(
            f"{count(implausible, 'position')} {'is' if implausible == 1 else 'are'} implausible; no gain of theirs counts"
        )
    return limits


# heuristics

_UNITS: Final = {"r": "R", "bps": "bps"}  # of thresholds and so of intervals; else money


def _main(rows: Sequence[HeuristicReport]) -> HeuristicReport:
    """The row that speaks for a heuristic: as an entry if it was ever judged there, else as an exit."""
    return min(rows, key=lambda row: (not row.evidence_n, row.role != "entry"))


def _heuristic(report: RetrospectiveReport, rows: Sequence[HeuristicReport]) -> dict[str, Any]:
    row = min(rows, key=lambda row: (not row.evaluated_count, row.role != "entry"))
    name = plain_text(row.heuristic_id)
    partners = ", ".join(sorted(plain_text(partner.heuristic_id) for partner in row.inseparable_from))
    return {
        "id": _id(report, name),
        "timestamp": report.generated_at,
        "strategy_name": report.agent,
        "agent": report.agent,
        "context": _known_values(
            review=report.id,
            revision=report.revision,
            agent=report.agent,
            horizon=report.horizon,
            period_start=report.period_start,
            period_end=report.period_end,
            base_currency=report.base_currency,
            heuristic=name,
            text=plain_text(row.heuristic_text) if row.heuristic_text else None,
            role=row.role,
        ),
        "results": _known_values(
            citations=row.citation_count,
            evaluated=row.evaluated_count,
            average_pnl=row.avg_pnl_per_citation,
            win_rate=row.win_rate,
            associated_pnl=row.associated_pnl,
            shared_pnl=row.shared_pnl,
            evidence=row.evidence,
            evidence_n=row.evidence_n,
            interval=row.interval,
            e_against=row.e_against,
            e_for=row.e_for,
        ),
        "assessment": {
            "verdict": heuristic_verdict(row),
            "observations": _words(
                *(f"{role_row.role}: {role_row.recommendation.reason}" for role_row in rows)
            ),
            "hypotheses": [],
            "limitations": [
                *([f"cited together with {partners}: not separable"] if partners else []),
                *(
                    f"as {role_row.role} one of {count(role_row.evaluated_count, 'outcome')} carries it:"
                    f" {role_row.recommendation_without_largest} without it"
                    for role_row in rows
                    if rests_on_one_outcome(role_row)
                ),
            ],
            "capability_requests": [],
        },
        "source": "review",
    }


def _claim(report: RetrospectiveReport, rows: Sequence[HeuristicReport], whole: str) -> Claim:
    from memory.records import Claim  # noqa: PLC0415  as in `send`

    row = _main(rows)
    name = plain_text(row.heuristic_id)
    tests = any(role_row.evaluated_count for role_row in rows)
    text = plain_text(row.heuristic_text) if row.heuristic_text else f"Decisions that cite {name} gain"
    return Claim(
        key={"agent": report.agent, "heuristic": name},
        text=text,
        rationale=f"heuristic {name}, first audited by {report.id}",
        experiment=_id(report, name) if tests else whole,
        created=report.generated_at,
        tests=tests,
        verdict=hypothesis_status(row),
        evidence=_known_values(
            grade=row.evidence,
            n=row.evidence_n,
            recommendation=row.recommendation.kind,
            e=row.e,
            interval=row.interval,
            period_n=row.evaluated_count,
            unit=_UNITS.get(row.threshold_unit, report.base_currency),
            one_outcome=True if rests_on_one_outcome(row) else None,
            open_count=row.open_count or None,
            open_pnl=row.open_pnl if row.open_count else None,
            open_unit=report.base_currency if row.open_count else None,
        ),
    )


def _proposed(report: RetrospectiveReport) -> list[tuple[str, str, str]]:
    """(text, name, what would falsify it) of each candidate the review proposes.

    One that gives an audited label its number is none: the label is a hypothesis already.
    """
    audited = {plain_text(row.heuristic_id) for row in report.heuristic_performance}
    candidates = []
    for proposal in report.playbook_proposals:
        if proposal.get("op") == "add" and proposal.get("new"):
            tags = (tag for heuristic in parse(str(proposal["new"])).heuristics for tag in heuristic.tags)
            if audited.intersection(map(plain_text, tags)):
                continue
            line = plain_text(str(proposal["new"])).strip()
            item = _ITEM.fullmatch(line)
            name = plain_text(str(proposal.get("heuristic") or proposal.get("id") or line))
            candidates.append(
                (item[1] if item else line, name, plain_text(str(proposal.get("falsified_by") or "")))
            )
    return candidates


def _candidates(report: RetrospectiveReport, whole: str) -> list[Claim]:
    from memory.records import Claim  # noqa: PLC0415  as in `send`

    audited = {plain_text(row.heuristic_id) for row in report.heuristic_performance}
    return [
        Claim(
            key={"agent": report.agent, "heuristic": name},
            text=text,
            rationale=f"candidate of {report.id}" + (f"; falsified by: {falsified}" if falsified else ""),
            experiment=whole,
            created=report.generated_at,
            tests=False,
            verdict=None,
            evidence={},
        )
        for text, name, falsified in _proposed(report)
        if name not in audited
    ]

"""What of a row is evidence: the estimate of one look, and the bets that hold at every look; and why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.kernels import uncertainty
from retro.kernels.betting import BOUND_FROM
from retro.periods import format_instant, week_name
from retro.report import BreakEvenGain, DetectorState, OddsPath, Partner

if TYPE_CHECKING:
    from retro.evaluate.audit.bets import RuleEvidence
    from retro.evaluate.audit.rules import Rule
    from retro.evaluate.audit.tally import Tally
    from retro.evaluate.audit.uncited import RoleOutcomes

__all__ = ["Partners", "RowFacts", "add_evidence"]

_OF_BOUND: Final = (
    "bound",
    "bound_since",
    "e_against",
    "e_for",
    "anytime_p",
    "interval",
    "clipped",
    "weeks_to_verdict",
    "stopped_working",
    "odds",
)
_OF_BETS: Final = (*_OF_BOUND, "break_even", "evidence_avg")
_NO_INTERVAL: Final = {
    "no_outcome": "no outcome resolved in the weeks bet on",
    "empty": "so much lies beyond the bound that no mean is left between the ends",
}
_UNRIPE: Final = {
    "no_bound": "its scale is not known yet",
    "one_week": "one week alone says nothing of how its weeks scatter",
    "no_outcome": "no outcome resolved in the weeks bet on",
    "never": "at its rate never: in more than 520 weeks",
}


class Partners(NamedTuple):
    """The heuristics that one cannot be told apart from, by id: the nearest of `total`."""

    nearest: list[Partner]
    total: int


class RowFacts(NamedTuple):
    """What a row is judged by besides its own outcomes of the period; `outcomes` are all of its role, its own among them."""

    estimate: uncertainty.MeanEstimate | None
    evidence: RuleEvidence | None
    role_mean: float | None
    outcomes: RoleOutcomes
    partners: Partners


def add_evidence(
    fields: dict[str, Any], row: Tally, rule: Rule | None, facts: RowFacts, reasons: dict[str, str]
) -> None:
    """Add to a row's fields how sure everything since its text changed makes it: the one look, and the bets."""
    only_sign = uncertainty.rule_of_three(row.ever["value"], row.ever["day"])
    if only_sign is None:
        reasons["rule_of_three"] = "the outcomes have no one sign"
    first = None if facts.evidence is None else facts.evidence.since
    since = rule.since if rule is not None and rule.since is not None else first
    if since is None:
        reasons["evidence_since"] = "nothing was held for it yet"
    fields |= {
        "evidence_since": None if since is None else format_instant(since),
        "rule_of_three": only_sign,
        **_one_look(facts, reasons),
        **_bets(facts.evidence, reasons),
    }


def _one_look(facts: RowFacts, reasons: dict[str, str]) -> dict[str, Any]:
    """The estimate of a single look: its interval and p are too sure for who looks every week."""
    estimate, names = facts.estimate, ("interval_one_look", "interval_method", "p_value")
    if estimate is None:
        reasons["shrunk_mean"] = "no outcome resolved since the heuristic's text stands"
        reasons |= dict.fromkeys(names, "outcomes on fewer than 2 days, or all alike")
        return dict.fromkeys((*names, "shrunk_mean"))
    if estimate.interval is None:
        reasons |= dict.fromkeys(names[:2], "outcomes on fewer than 2 days, or all alike")
    if estimate.p is None:
        reasons["p_value"] = "outcomes on fewer than 2 days, or all 0"
    shrunk = None
    if estimate.mean is not None and facts.role_mean is not None:
        shrunk = uncertainty.shrunk_mean(estimate.mean * estimate.n, estimate.n, facts.role_mean)
    return {
        "interval_one_look": list(estimate.interval) if estimate.interval is not None else None,
        "interval_method": estimate.method,
        "p_value": estimate.p,
        "shrunk_mean": shrunk,
    }


def _bets(evidence: RuleEvidence | None, reasons: dict[str, str]) -> dict[str, Any]:
    """What the bets say, with why they do not."""
    if evidence is None:
        reasons |= dict.fromkeys(_OF_BETS, "nothing that cites it was held in a complete week")
        return {"evidence": "none", "evidence_n": 0, "evidence_days": 0, "bets": 0, **dict.fromkeys(_OF_BETS)}
    if evidence.bound is None:
        why = (
            f"its scale is not known yet: {evidence.pool} of {BOUND_FROM} weeks"
            if evidence.pool < BOUND_FROM
            else "nothing was held in a complete week since its scale is known"
        )
        reasons |= dict.fromkeys(_OF_BOUND, why)
    else:
        if evidence.interval is None:
            reasons["interval"] = _NO_INTERVAL[evidence.no_interval or "no_outcome"]
        if not evidence.average:
            why = "no outcome in a complete week" if evidence.average is None else "the average is exactly 0"
            reasons |= dict.fromkeys(("anytime_p", "clipped"), why)
    if evidence.average is None:
        reasons["evidence_avg"] = "no outcome resolved in a complete week"
    if evidence.break_even is None:
        reasons["break_even"] = "the average is not below 0"
    ripening = evidence.ripening
    if ripening is not None and ripening.reason is not None:
        reasons["weeks_to_verdict"] = _UNRIPE[ripening.reason]
    gain, stopped = evidence.break_even, evidence.stopped_working
    if gain is not None and gain.largest is None:
        reasons["break_even.largest"] = "it has had no gain"
    if stopped is not None and stopped.since is None:
        reasons["stopped_working.since"] = "no alarm"
    return {
        "evidence": evidence.grade,
        "evidence_n": evidence.n,
        "evidence_days": evidence.days,
        "evidence_avg": evidence.average,
        "bets": evidence.bets,
        "bound": evidence.bound,
        "bound_since": None if evidence.bound_since is None else format_instant(evidence.bound_since),
        "e_against": evidence.e_against,
        "e_for": evidence.e_for,
        "anytime_p": evidence.anytime_p,
        "interval": None if evidence.interval is None else list(evidence.interval),
        "clipped": evidence.clipped,
        "break_even": None if gain is None else BreakEvenGain(gain=gain.gain, largest=gain.largest),
        "weeks_to_verdict": None if ripening is None else ripening.weeks,
        "stopped_working": None
        if stopped is None
        else DetectorState(
            alarm=stopped.alarm,
            since=None if stopped.since is None else week_name(stopped.since),
            m=stopped.m,
        ),
        "odds": None
        if evidence.path is None
        else OddsPath(
            first=week_name(evidence.path.first),
            against=evidence.path.against,
            in_favour=evidence.path.in_favour,
        ),
    }

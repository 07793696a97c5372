"""What the audit lets us propose: a pure function of the playbook and the audit's rows.

Status follows the entry role only, where a position's whole outcome is at stake: what loses with supported evidence is
demoted, a demoted one that goes on losing is retired, a candidate that earns with supported evidence is promoted. A
confidence moves when the outcomes since it was stated are 10 to 1 against it, and only the way the money went: a rule
that wins seldom but earns is not talked down. Two rules always cited together, going the same way, are merged. One amendment per heuristic at a time.

Labels no heuristic claims: into an empty playbook those with outcomes enough for a verdict enter as candidates, worded as
the tags they are, with what they made beside them; into one that exists only those with a supported verdict.

What would prove an amendment wrong is never what the evidence it rests on says already: of a tag that lost it is a gain.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from playbook import operations
from playbook.amendment import Amendment, Grounds, Op
from playbook.audit import MIN_RESOLVED, AuditRow, evidence
from playbook.confidence import CANDIDATE, STEP, posterior
from playbook.document import Playbook, next_number, parse
from playbook.edit import amended, apply
from playbook.errors import AmendmentError
from playbook.ids import id_of, is_own_id
from playbook.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from playbook.heuristic import Heuristic

__all__ = ["BLANK", "TEN_TO_ONE", "LaterCitations", "first", "judge", "propose"]

BLANK = """\
# Playbook

Rules this agent lives by: id, confidence, rule, and in braces the labels that stand for it in its records.
They change only with evidence.

## Global
"""

TEN_TO_ONE = 10.0
_PATIENCE = 60  # later citations after which a change that neither side has shown to be right stays undecided
_CLIPPED = 0.2  # of its gains: a rule whose bets left out more than that is not demoted on them
_APART = 10
_INSEPARABLE = 0.8
_ENOUGH_TO_MERGE = 10  # a handful of shared citations shows nothing
_STILL_LOSING = 3
_ORDER: tuple[Op, ...] = ("demote", "retire", "merge", "promote", "set_confidence", "revise", "add")


def propose(playbook: Playbook, rows: Sequence[AuditRow]) -> list[Amendment]:
    """The amendments the audit justifies, in the order to apply them; all of them apply, one after the other.

    Rows are cumulative (since the heuristic's text last changed). Every entry row recommended `demote` with supported
    evidence has its `demote` here, unless the playbook has demoted or retired it already.
    """
    best = _rows_by_heuristic(rows)
    counts = Counter(heuristic.id for heuristic in playbook.heuristics)
    heuristics = {heuristic.id: heuristic for heuristic in playbook.heuristics if counts[heuristic.id] == 1}
    amendments = [
        amendment
        for name, row in best.items()
        if name in heuristics and (amendment := _verdict(playbook, heuristics[name], row))
    ]
    amended_ids = {amendment.heuristic for amendment in amendments}
    merges = list(
        _merges(playbook, {k: v for k, v in best.items() if k in heuristics and k not in amended_ids})
    )
    merged_ids = {heuristic.id for amendment in merges for heuristic in amendment.after}
    amendments += merges
    for name, row in best.items():
        if (
            name in heuristics
            and name not in amended_ids | merged_ids
            and (amendment := _rated(playbook, heuristics[name], row))
        ):
            amendments.append(amendment)
    amendments.sort(key=lambda amendment: (_ORDER.index(amendment.op), _natural(amendment.heuristic)))
    unclaimed = [row for name, row in best.items() if name not in counts]
    return _applicable(playbook, [*amendments, *_newcomers(playbook, unclaimed)])


def first(rows: Sequence[AuditRow]) -> str:
    """A first PLAYBOOK.md for an agent that has none, out of the labels it cited."""
    blank = parse(BLANK)
    return apply(blank, propose(blank, rows))


@dataclass(frozen=True, slots=True)
class LaterCitations:
    """The citations made after a proposal: how many resolved, and what they say.

    `e_against` and `e_for` are the bets on them alone. Of a change of confidence `e_old` and `e_new` are against the
    number before and after it, `won` the share that won. None: not known.
    """

    resolved: int
    e_against: float | None = None
    e_for: float | None = None
    e_old: float | None = None
    e_new: float | None = None
    won: float | None = None


def judge(proposal: Amendment, later: LaterCitations) -> Literal["open", "validated", "refuted", "undecided"]:
    """What later citations say of a proposal: the side that first has 10 to 1; after 60 of them `undecided`.

    A merge, and a change of words, stay open.
    """
    if proposal.op in ("merge", "revise"):
        return "open"
    if proposal.op == "set_confidence" and proposal.old:
        right, wrong = _rejects_old(proposal, later), later.e_new
    else:
        claim = proposal.grounds.evidence.get("claim")
        is_against = proposal.op in ("demote", "retire") or claim == "loses"
        right, wrong = (later.e_against, later.e_for) if is_against else (later.e_for, later.e_against)
    if (right or 0.0) >= TEN_TO_ONE:
        return "validated"
    if (wrong or 0.0) >= TEN_TO_ONE:
        return "refuted"
    return "undecided" if later.resolved >= _PATIENCE else "open"


def _rejects_old(proposal: Amendment, later: LaterCitations) -> float | None:
    """E against the confidence before the change, where it was wrong the way the change says."""
    old, new = proposal.before[0].confidence or 0.0, proposal.after[0].confidence or 0.0
    if later.won is None or (later.won > old) != (new > old):
        return None
    return later.e_old


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts H-9 before H-10."""
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"([0-9]+)", name) if part
    )


def _rows_by_heuristic(rows: Sequence[AuditRow]) -> dict[str, AuditRow]:
    """One row each: the entry row, or the exit row of what was never judged at entry."""
    best: dict[str, AuditRow] = {}
    for row in sorted(rows, key=lambda row: (row.role == "entry", row.evaluated_count > 0)):
        previous = best.get(row.heuristic_id)
        if previous is None or row.evaluated_count > 0 or previous.evaluated_count == 0:
            best[row.heuristic_id] = row
    return {name: best[name] for name in sorted(best, key=_natural) if name}


def _supported(row: AuditRow, kind: str) -> bool:
    return row.role == "entry" and row.kind == kind and row.grade == "supported"


def _grounds(row: AuditRow, falsified_by: str, **figures: object) -> Grounds:
    return Grounds(evidence(row) | figures, falsified_by)


def _contrary(row: AuditRow) -> str:
    """What would speak against the way its outcomes went; of exits, what they avoid against what they miss."""
    loses = row.avg is not None and row.avg < 0
    return f"later {row.role} citations speak {'for' if loses else 'against'} it at 10 to 1"


def _posterior(stated: float, row: AuditRow) -> float:
    """Where the outcomes since it was stated put a confidence; it stays when that is against the way the money went."""
    since = row.stated
    if since is None or since.wins + since.losses < MIN_RESOLVED or not row.avg:
        return stated
    moved = posterior(stated, since.wins, since.wins + since.losses)
    return max(moved, stated) if row.avg > 0 else min(moved, stated)


def _verdict(playbook: Playbook, heuristic: Heuristic, row: AuditRow) -> Amendment | None:
    """A change of status, when the evidence is supported."""
    stated = heuristic.confidence
    confidence = None if stated is None else _posterior(stated, row)
    grounds = _grounds(row, _contrary(row), prior=stated)
    if _loses(row) and heuristic.status in ("candidate", "active"):
        return operations.demote(playbook, heuristic.id, grounds, confidence=confidence)
    if _loses(row) and heuristic.status == "demoted":
        if row.resolved_since is not None and row.resolved_since < _STILL_LOSING:
            return None
        reason = f"average {row.avg:+.2f} {row.measure} over {row.evaluated_count} citations"
        return operations.retire(playbook, heuristic.id, reason, grounds)
    if _supported(row, "keep") and heuristic.status in ("candidate", "demoted"):
        return operations.promote(playbook, heuristic.id, grounds, confidence=confidence)
    return None


def _loses(row: AuditRow) -> bool:
    """Whether a row carries a demotion: supported, and not because great gains went uncounted."""
    return _supported(row, "demote") and (row.clipped or 0.0) <= _CLIPPED


def _rated(playbook: Playbook, heuristic: Heuristic, row: AuditRow) -> Amendment | None:
    """A change of confidence: 10 to 1 against the number that is stated."""
    stated, since = heuristic.confidence, row.stated
    if stated is None or since is None or not heuristic.live or since.e < TEN_TO_ONE:
        return None
    confidence = _posterior(stated, row)
    if round(abs(confidence - stated), 9) < STEP:
        return None
    words = f"later {row.role} citations are 10 to 1 against {100 * confidence:.0f} %"
    figures = {"stated_wins": since.wins, "stated_resolved": since.wins + since.losses}
    grounds = _grounds(row, words, prior=stated, e=float(f"{since.e:.6g}"), **figures)
    return operations.set_confidence(playbook, heuristic.id, confidence, grounds)


def _merges(playbook: Playbook, rows: Mapping[str, AuditRow]) -> Iterator[Amendment]:
    """Merge pairs that are never cited apart and go the same way, the closest first, each heuristic once."""
    living = {heuristic.id: heuristic for heuristic in playbook.heuristics if heuristic.live}
    pairs: set[tuple[float, str, str]] = set()
    for name, row in rows.items():
        for other, shared in row.partners:
            if shared > _INSEPARABLE and name != other and other in rows and {name, other} <= living.keys():
                survivor, absorbed = sorted(
                    (name, other), key=lambda rival: (-_cited(rows[rival]), _natural(rival))
                )
                pairs.add((-shared, survivor, absorbed))
    used: set[str] = set()
    for minus_shared, survivor, absorbed in sorted(pairs):
        if {survivor, absorbed} & used or not _same_way(rows[survivor], rows[absorbed]):
            continue
        if (living[survivor].section, living[survivor].status) != (
            living[absorbed].section,
            living[absorbed].status,
        ):
            continue
        used |= {survivor, absorbed}
        words = f"{_APART} later decisions cite one of {survivor} and {absorbed} without the other"
        grounds = _grounds(
            rows[survivor], words, jaccard=round(-minus_shared, 4), absorbed=evidence(rows[absorbed])
        )
        yield operations.merge(playbook, survivor, absorbed, grounds)


def _same_way(row: AuditRow, partner: AuditRow) -> bool:
    return (
        (row.role, row.kind) == (partner.role, partner.kind)
        and min(row.evaluated_count, partner.evaluated_count) >= _ENOUGH_TO_MERGE
        and (row.avg or 0) * (partner.avg or 0) > 0
    )


def _newcomers(playbook: Playbook, rows: Sequence[AuditRow]) -> Iterator[Amendment]:
    """Heuristics for labels that no heuristic claims, numbered by citation count, then label."""
    is_first = not playbook.heuristics
    ranked = sorted(rows, key=lambda row: (-_cited(row), row.heuristic_id))
    chosen = [row for row in ranked if _loses(row) or _supported(row, "keep") or (is_first and _judged(row))]
    spoken_for = {row.heuristic_id for row in chosen}
    number = next_number(playbook)
    for row in chosen:
        label = row.heuristic_id
        while id_of(number) in spoken_for:
            number += 1
        heuristic = label if is_own_id(label) else id_of(number)
        number += heuristic != label
        yield _newcomer(playbook, row, heuristic)


def _judged(row: AuditRow) -> bool:
    """Whether there are outcomes enough for a verdict, of whatever kind."""
    return row.kind != "insufficient_data" and row.avg is not None and row.evaluated_count >= MIN_RESOLVED


def _newcomer(playbook: Playbook, row: AuditRow, heuristic: str) -> Amendment:
    label, since = row.heuristic_id, row.since
    text = f"Tag at {row.role}: {plain(label, 80) or 'one that has no visible character'}"
    if heuristic == label:
        text = f"The agent cites {label} at {row.role}; its wording is not known"
    confidence, shown = _first_confidence(row), _beside(row)
    claim = "loses" if row.avg is not None and row.avg < 0 else "earns"
    grounds = _grounds(row, _contrary(row), prior=CANDIDATE, claim=claim)
    if _loses(row):
        return operations.demote_label(
            playbook,
            label,
            text,
            grounds,
            heuristic=heuristic,
            confidence=confidence,
            since=since,
            evidence=shown,
        )
    return operations.add(
        playbook,
        text,
        grounds,
        heuristic=heuristic,
        tags=() if heuristic == label else (label,),
        since=since,
        confidence=confidence,
        evidence=shown,
    )


def _first_confidence(row: AuditRow) -> float:
    """What a label's own outcomes make of a candidate's confidence, the way its money went."""
    if row.evaluated_count < MIN_RESOLVED or not row.avg:
        return CANDIDATE
    moved = posterior(CANDIDATE, row.win_count, row.evaluated_count)
    return max(moved, CANDIDATE) if row.avg > 0 else min(moved, CANDIDATE)


def _beside(row: AuditRow) -> str:
    """What a label made, in the line that brings it in: so that one that loses does not look like one that wins."""
    if row.avg is None:
        return "no average known"
    what = "avoided on average" if row.role == "exit" else "average"
    interval = "no interval"
    if row.interval is not None:
        low, high = ("open" if end is None else f"{end:+.2f}" for end in row.interval)
        interval = f"95 % {low} to {high} at every look"
    return f"{what} {row.avg:+.2f} {row.measure} over {row.averaged_of} resolved, {interval}, evidence {row.grade}"


def _cited(row: AuditRow) -> int:
    return max(row.citation_count or 0, row.evaluated_count)


def _applicable(playbook: Playbook, proposals: Sequence[Amendment]) -> list[Amendment]:
    """Leave out what the document's own faults stand in the way of; the rest applies in order."""
    applicable: list[Amendment] = []
    for proposal in proposals:
        try:
            playbook, _ = amended(playbook, proposal)
        except AmendmentError:
            continue
        applicable.append(proposal)
    return applicable

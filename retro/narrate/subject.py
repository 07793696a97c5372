"""What is to be worded: one review's figures and texts as a model is shown them, and what its answer may become. Pure.

Code decides which positions may be worded and which heuristics may prompt a candidate; a model chooses words only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from playbook.plain import MAX_TEXT
from retro.narrate.answer import (
    POSITION_SCHEMA,
    REPORT_SCHEMA,
    PositionAnswer,
    ReportAnswer,
    read,
)
from retro.narrate.ground import Ground, Objection, faults_in, folded, tidy
from retro.narrate.slots import fill, position_slots, report_slots
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from retro.narrate.slots import Slots
    from retro.report import HeuristicReport, PositionRetrospective, RetrospectiveReport

__all__ = ["GroundedWords", "Subject", "check", "openings", "position_subject", "report_subject"]

_NO_JSON: Final = "not a JSON object of the schema"
_DIGIT: Final = re.compile(r"[1-9]")
_POSITIONS: Final = 8
_HEURISTICS: Final = 10
_GROUPS: Final = 12
_OPENINGS: Final = 3
_RUN: Final = 5  # words in a row that nobody writes twice by chance
_TEXT: Final = 400
_HEURISTIC_FIELDS: Final = ("name", "role", "avg", "win_rate", "resolved", "evidence", "recommendation")
_POSITION_FIELDS: Final = (
    "name", "instrument", "strategy", "side", "final_pnl", "period_pnl", "vs_inaction", "vs_hold", "mfe", "mae",
    "regret", "regret_ratio", "optimal_exit_at", "optimal_exit_pnl", "left_on_table", "hold_on", "held", "entry_at",
    "exit_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """One review as a model sees it. `figures` and `notes` are JSON values, `ground` is what an answer must rest on.

    `positions` may be worded and `heuristics` may prompt a candidate: the key a model writes -> the id. `reasons` is
    what the agent itself wrote, which must not become a rule.
    """

    kind: Literal["report", "position"]
    schema: dict[str, Any]
    figures: dict[str, Any]
    notes: list[dict[str, str]]
    ground: Ground
    positions: Mapping[str, str]
    heuristics: Mapping[str, str]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroundedWords:
    """Grounded words with every slot filled: by field, by (position, field), and candidates by heuristic."""

    fields: Mapping[str, str]
    positions: Mapping[str, tuple[str, str]]
    candidates: Mapping[str, str]


def openings(report: RetrospectiveReport) -> list[HeuristicReport]:
    """The heuristics beside which a candidate may be worded: entry rules the audit would change, worst first."""
    rows = [
        row
        for row in report.heuristic_performance
        if row.role == "entry" and row.recommendation.kind in {"demote", "investigate"}
    ]
    return sorted(rows, key=lambda row: (row.avg_pnl_per_citation or 0.0, row.heuristic_id))[:_OPENINGS]


def report_subject(report: RetrospectiveReport) -> Subject:
    """A period's report, already with its plain words: where those are silent on a position, a model is too."""
    slots = report_slots(report)
    believed = report.believed_positions
    judged = sorted(believed, key=_weight)[:_POSITIONS]
    audited = sorted(report.heuristic_performance, key=_doubt)[:_HEURISTICS]
    worded = {slots.keys["p", p.position_id]: p.position_id for p in judged if p.what_went_wrong is not None}
    prompting = {slots.keys["h", row.heuristic_id]: row.heuristic_id for row in openings(report)}
    slot_names = [f"p.{slots.keys['p', p.position_id]}.{name}" for p in judged for name in _POSITION_FIELDS]
    for row in audited:
        prefix = f"h.{slots.keys['h', row.heuristic_id]}.{row.role}"
        slot_names += [f"{prefix}.{name}" for name in _HEURISTIC_FIELDS]
    figures = {
        "figures": _whole(slots) | _listed(slots, slot_names),
        "may_be_worded": list(worded),
        "may_be_proposed": list(prompting),
    }
    notes = [note for p in judged for note in _notes(p)]
    notes += [
        _note(row.heuristic_id, "rule in the playbook", row.heuristic_text)
        for row in audited
        if row.heuristic_text
    ]
    agent_texts = [text for p in report.positions for _, text in _agent_texts(p)]
    rules = [row.heuristic_text for row in report.heuristic_performance if row.heuristic_text]
    ground = _ground(slots, [*agent_texts, *rules])
    return Subject(
        "report", REPORT_SCHEMA, figures, notes, ground, worded, prompting, tuple(dict.fromkeys(agent_texts))
    )


def position_subject(position: PositionRetrospective, currency: str, zone: str = "UTC") -> Subject:
    """One position's own review."""
    slots = position_slots(position, currency, zone)
    figures = {"figures": _listed(slots, slots.by_name)}
    agent_texts = [text for _, text in _agent_texts(position)]
    return Subject(
        "position", POSITION_SCHEMA, figures, _notes(position), _ground(slots, agent_texts), {}, {}
    )


def check(subject: Subject, text: str) -> GroundedWords | list[Objection]:
    """The answer as grounded words with its slots filled, or everything that is wrong with it."""
    if subject.kind == "position":
        return _check_position(subject, read(PositionAnswer, text))
    answer = read(ReportAnswer, text)
    if answer is None:
        return [Objection("answer", _NO_JSON)]
    faults = _misnamed(subject, answer)
    fields = {name: tidy(getattr(answer, name)) for name in ("what_worked", "what_failed", "hindsight")}
    position_texts = {p.position_id: (tidy(p.what_went_wrong), tidy(p.lesson)) for p in answer.positions}
    rules = {wording.heuristic_id: tidy(wording.text) for wording in answer.proposals}
    for name, words in fields.items():
        faults += faults_in(name, words, subject.ground)
    for name, both in position_texts.items():
        for field, words in zip(("what_went_wrong", "lesson"), both, strict=True):
            faults += faults_in(f"positions {name} {field}", words, subject.ground, about=name)
    for name, words in rules.items():
        faults += faults_in(f"proposals {name}", words, subject.ground, slots=False)
        faults += _unfit(f"proposals {name}", words, subject.reasons)
    if faults:
        return faults
    slots = subject.ground.slots
    return GroundedWords(
        {name: fill(words, slots) for name, words in fields.items()},
        {
            subject.positions[name]: (fill(wrong, slots), fill(lesson, slots))
            for name, (wrong, lesson) in position_texts.items()
        },
        {subject.heuristics[name]: words for name, words in rules.items() if words},
    )


def _check_position(subject: Subject, answer: PositionAnswer | None) -> GroundedWords | list[Objection]:
    if answer is None:
        return [Objection("answer", _NO_JSON)]
    fields = {name: tidy(getattr(answer, name)) for name in ("what_went_wrong", "lesson")}
    faults = [fault for name, words in fields.items() for fault in faults_in(name, words, subject.ground)]
    return faults or GroundedWords(
        {name: fill(words, subject.ground.slots) for name, words in fields.items()}, {}, {}
    )


def _misnamed(subject: Subject, answer: ReportAnswer) -> list[Objection]:
    """Words about what was not asked for, or twice about the same."""
    faults = [
        Objection("positions", "words for a position not listed", p.position_id)
        for p in answer.positions
        if p.position_id not in subject.positions
    ]
    faults += [
        Objection("proposals", "a proposal about a heuristic not listed", wording.heuristic_id)
        for wording in answer.proposals
        if wording.heuristic_id not in subject.heuristics
    ]
    faults += _twice("positions", [p.position_id for p in answer.positions])
    return faults + _twice("proposals", [wording.heuristic_id for wording in answer.proposals])


def _twice(where: str, names: list[str]) -> list[Objection]:
    return [
        Objection(where, "the same one twice", name) for name in dict.fromkeys(names) if names.count(name) > 1
    ]


def _unfit(where: str, words: str, reasons: Iterable[str]) -> Iterator[Objection]:
    """A rule goes back into the agent's prompt: it is short, and the agent has not worded it itself."""
    if len(words) > MAX_TEXT:
        yield Objection(where, "too long")
    tokens = _words(words)
    runs = {" ".join(tokens[i : i + _RUN]) for i in range(max(1, len(tokens) - _RUN + 1))} - {""}
    if any(f" {run} " in f" {' '.join(_words(reason))} " for reason in reasons for run in runs):
        yield Objection(where, "a proposal in the agent's own words")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", folded(text))


def _ground(slots: Slots, texts: list[str]) -> Ground:
    return Ground(slots, tuple(dict.fromkeys(tidy(plain_text(text)) for text in texts)))


def _weight(p: PositionRetrospective) -> tuple[float, str]:
    """Positions that moved most, or left most behind, first."""
    return -max(abs(p.period_pnl or 0.0), abs(p.final_pnl or 0.0), p.regret or 0.0), p.position_id


def _doubt(row: HeuristicReport) -> tuple[float, str, str]:
    return -abs(row.associated_pnl or 0.0), row.heuristic_id, row.role


def _whole(slots: Slots) -> dict[str, str]:
    """The figures of the period as a whole and of its groups; lines that are nothing are left out."""
    own = {
        name: slot.text for name, slot in slots.by_name.items() if not name.startswith(("h.", "p.", "by_"))
    }
    groups = [(name, slot.text) for name, slot in slots.by_name.items() if name.startswith("by_")]
    nothing = {name for name in own if name.startswith(("pnl.", "costs.")) and not _DIGIT.search(own[name])}
    return {name: text for name, text in own.items() if name not in nothing} | dict(groups[: 3 * _GROUPS])


def _listed(slots: Slots, names: Iterable[str]) -> dict[str, str]:
    return {name: slots.by_name[name].text for name in names if name in slots.by_name}


def _agent_texts(p: PositionRetrospective) -> Iterator[tuple[str, str]]:
    """What the agent wrote about a position, by what it is."""
    for kind, text in (
        ("entry", p.entry_reasoning),
        ("exit", p.exit_reasoning),
        ("exit label", p.exit_reason),
    ):
        if text:
            yield kind, text


def _notes(p: PositionRetrospective) -> list[dict[str, str]]:
    return [_note(p.position_id, kind, text) for kind, text in _agent_texts(p)]


def _note(of: str, kind: str, text: str) -> dict[str, str]:
    """A quotation as a model sees it: harmless characters only, cut short."""
    quotation = tidy(plain_text(text))
    return {
        "of": plain_text(of)[:64],
        "kind": kind,
        "wrote": quotation if len(quotation) <= _TEXT else f"{quotation[:_TEXT]}…",
    }

"""The ripening calendar: when which rule, exit, prediction or shadow will be known, and what nobody can say of when.

Dates of rules are the reviews' own (docs/evidence.md: at the rate of outcomes so far, were the average just the threshold).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.app.settlement.lookup import named_agent
from retro.evaluate.claims.target import target_of
from retro.kinds import POSITION
from retro.model import Prediction, Resolution
from retro.periods import day_of, zone
from retro.report.today import RipeningRow
from retro.store.facts import agents, events
from retro.store.jobs import results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from pathlib import Path
    from zoneinfo import ZoneInfo

    from sqlalchemy import Connection

    from retro.config import Config
    from retro.report.today import RipeningKind
    from retro.store.database import Store
    from retro.store.facts.agents import Agent
    from retro.store.jobs.results import RuleWeek
    from retro.store.jobs.reviews import Review

__all__ = [
    "RipeningQuestion",
    "RuleReading",
    "last_readings",
    "records_waiting",
    "ripening",
    "ripening_rows",
    "zone_of",
]

RuleReading = tuple["Review", "RuleWeek"]
"""What a week's review says of a rule."""

_READ: Final = 20
"""Agents whose newest week is opened for its shadows."""
_EXITS: Final = 50
_FORETOLD: Final = 200
"""Predictions of an agent, the newest, among which those that are due later are looked for."""
_NO_TRIALS: Final = "no experiment says yet how many trials would decide it"
_NO_VERDICT: Final = "it states no verdict: an assessment gives it one"
_OF_RATE: Final = "no day of it had a difference yet: its rate is not known"


class _Shadow(msgspec.Struct):
    name: str
    days: int = 0
    paired: int = 0
    verdict: str = ""


class _Evaluators(msgspec.Struct):
    shadows: list[_Shadow] = []


class _Week(msgspec.Struct):
    """Of a stored week what it says of shadows alone."""

    evaluators: _Evaluators | None = None


_WEEKS: Final = msgspec.json.Decoder(_Week)


@dataclass(frozen=True, slots=True)
class RipeningQuestion:
    """What ripens after `now` (microseconds), of one agent or (None) of all."""

    now: int
    agent: str | None = None


def ripening(store: Store, config: Config, question: RipeningQuestion) -> list[RipeningRow]:
    """The whole calendar: what has a day first, the soonest before the others."""
    with store.read() as conn:
        every = agents.agents(conn) if question.agent is None else [named_agent(conn, question.agent)]
        readings = results.newest_weeks(conn, (agent.name for agent in every))
        rows = ripening_rows(conn, config, every, last_readings(readings), question.now)
    return (
        [*rows, *records_waiting(config.memory.directory, question.agent)] if config.memory.records else rows
    )


def last_readings(readings: Sequence[RuleReading]) -> list[RuleReading]:
    """Of each agent those of its newest week; the older weeks come first."""
    last = {review.agent: review.key for review, _ in readings}
    return [reading for reading in readings if reading[0].key == last[reading[0].agent]]


def zone_of(config: Config, agent: Agent) -> ZoneInfo:
    """The zone of an agent's days: that of its reviews, else the owner's."""
    return zone(config.owner.time_zone if agent.grid is None else agent.grid.time_zone)


def ripening_rows(
    conn: Connection, config: Config, of: Sequence[Agent], newest: Iterable[RuleReading], now: int
) -> list[RipeningRow]:
    """What is not known yet of these agents, the soonest first, then what has no date; `newest` is each one's last week."""
    zones = {agent.name: zone_of(config, agent) for agent in of}
    readings = [reading for reading in newest if reading[0].agent in zones]
    weeks = {review.agent: review for review, _ in readings}
    rows = [
        *(_of_rule(review, rule, zones) for review, rule in readings if _is_open(rule)),
        *_exits(conn, zones, now),
        *_predictions(conn, zones, now),
        *_shadows(conn, weeks, zones, config.retrospective.shadow_min_duration_days),
    ]
    return sorted(rows, key=_order)


def _order(row: RipeningRow) -> tuple[bool, str, str, str, str]:
    return row.date is None, row.date or "", row.agent or "", row.kind, f"{row.name} {row.role}"


def _is_open(rule: RuleWeek) -> bool:
    return rule.evidence not in {"suggestive", "supported"}


def _of_rule(review: Review, rule: RuleWeek, zones: Mapping[str, ZoneInfo]) -> RipeningRow:
    ripe_on = None
    if rule.ripe_in is not None:
        ripe_on = day_of(review.period_end, zones[review.agent]) + timedelta(weeks=rule.ripe_in)
    return _row("rule", review, rule.rule, ripe_on, rule.n, rule.unripe or "not known", role=rule.role)


def _row(
    kind: Any, review: Review, name: str, ripe_on: date | None, n: int | None, why: str, *, role: str = ""
) -> RipeningRow:
    return RipeningRow(
        kind=kind,
        agent=review.agent,
        name=name,
        role=role,
        date=None if ripe_on is None else ripe_on.isoformat(),
        n=n,
        review=review.id,
        reasons={} if ripe_on is not None else {"date": why},
    )


def _exits(conn: Connection, zones: Mapping[str, ZoneInfo], now: int) -> list[RipeningRow]:
    """Closed positions that are looked at once more: what holding on would have made is not in yet."""
    return [
        _row("exit", review, review.subject, day_of(review.again_at, zones[review.agent]), None, "")
        for review in results.looked_at_again(conn, now, _EXITS)
        if review.agent in zones and review.kind == POSITION.name and review.again_at is not None
    ]


def _predictions(conn: Connection, zones: Mapping[str, ZoneInfo], now: int) -> list[RipeningRow]:
    """What was foretold of an instant that has not come, among the newest predictions, and is not resolved yet."""
    rows = []
    for name in sorted(zones)[:_READ]:
        newest = events.newest_of(conn, name, Prediction, _FORETOLD)
        due = {fact.id: at for fact in newest if (at := target_of(fact)) is not None and at > now}
        if not due:
            continue
        resolved = {fact.prediction for fact in events.newest_of(conn, name, Resolution, _FORETOLD)}
        rows += [
            RipeningRow(
                kind="prediction",
                agent=name,
                name=fact,
                date=day_of(at, zones[name]).isoformat(),
                n=None,
            )
            for fact, at in due.items()
            if fact not in resolved
        ]
    return rows


def _shadows(
    conn: Connection, weeks: Mapping[str, Review], zones: Mapping[str, ZoneInfo], enough: int
) -> list[RipeningRow]:
    """Shadows that have not run long enough, at the rate at which their days differ from the real ones."""
    chosen = {weeks[name].key: weeks[name] for name in sorted(weeks)[:_READ]}
    rows = []
    for key, text in results.texts_of(conn, chosen.values()).items():
        review, week = chosen[key], _WEEKS.decode(text)
        for shadow in [] if week.evaluators is None else week.evaluators.shadows:
            if shadow.verdict != "insufficient":
                continue
            days = _days_until(shadow, enough)
            ripe_on = None if days is None else day_of(review.period_end, zones[review.agent]) + days
            rows.append(_row("shadow", review, shadow.name, ripe_on, shadow.paired, _OF_RATE))
    return rows


def _days_until(shadow: _Shadow, enough: int) -> timedelta | None:
    """How long until it has run, and has differed on, so many days; None where it never has differed yet."""
    lacking = max(0, enough - shadow.paired)
    if lacking and not shadow.paired:
        return None
    more = ceil(lacking * shadow.days / shadow.paired) if lacking else 0
    return timedelta(days=max(more, enough - shadow.days, 0))


def records_waiting(directory: Path, agent: str | None = None) -> list[RipeningRow]:
    """Hypotheses that nobody has tested, and experiments that nobody has judged: nothing says when that will be."""
    from memory.records import read_experiments, read_hypotheses  # noqa: PLC0415  YAML, which Today has no need of
    from memory.records.hypothesis import is_open  # noqa: PLC0415  as above

    rows = [
        _record_row("hypothesis", record, len(record.get("tested_by") or []), _NO_TRIALS)
        for record in read_hypotheses(directory).records
        if is_open(record)
    ]
    rows += [
        _record_row("experiment", record, None, _NO_VERDICT)
        for record in read_experiments(directory).records
        if not record["assessment"].get("verdict")
    ]
    return [row for row in rows if agent in (None, row.agent)]


def _record_row(kind: RipeningKind, record: Mapping[str, Any], n: int | None, why: str) -> RipeningRow:
    return RipeningRow(
        kind=kind, agent=record.get("agent"), name=str(record["id"]), date=None, n=n, reasons={"date": why}
    )

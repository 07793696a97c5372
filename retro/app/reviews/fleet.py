"""All agents at once: who wants a person, and what the last complete week came to. Reads what is stored; settles nothing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from math import fsum
from typing import TYPE_CHECKING, Final

from retro.app.settlement.settings import base_currency_of
from retro.app.settlement.silence import dormant_from
from retro.errors import UsageError
from retro.figures import count, day_text
from retro.kinds import WEEKLY
from retro.periods import HOUR, format_instant, week_name, week_of, week_start, zone
from retro.report.fleet import (
    AgentWeek,
    FleetCurrency,
    FleetReport,
    FleetWish,
    WeekLine,
    line_of,
)
from retro.store.facts import agents
from retro.store.jobs import cursors, fleet
from retro.store.jobs.grids import calendar_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from retro.config import Config
    from retro.report.fleet import AgentState, WeekCorrection, WishKind
    from retro.store.facts.agents import Agent
    from retro.store.jobs.fleet import AgentCounts, StoredWeek

__all__ = ["FleetQuestion", "agent_states", "fleet_report", "lines_of_revisions", "name_of_week", "week_ends"]

_ORDER: Final[tuple[WishKind, ...]] = ("alarm", "silence", "parked", "delivery", "proposal")
"""What a person is wanted for most, first."""
_ZONES: Final = 15 * HOUR
"""By how much the end of a week differs from UTC's, in whatever zone its agent lives."""
_NONE_CLOSED: Final = "no position was closed in the week"
_UNQUOTED: Final = "nothing says what its positions were quoted in was worth"
_READ: Final = 100
"""Reviews that are read because the version that made them kept no line of them."""


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """The fleet as it stands at `now` (microseconds), at most `limit` agents by name, and a week (None: the newest)."""

    now: int
    limit: int = 50
    week: str | None = None
    corrections: tuple[WeekCorrection, ...] = ()
    corrections_omitted: int = 0
    older: int = 0


def fleet_report(conn: Connection, config: Config, question: FleetQuestion) -> FleetReport:
    """Every agent, those that want a person first; sums are of all, also of those that are not listed."""
    week, weeks = _weeks(conn, question.week)
    lines = _lines(conn, weeks)
    known_agents = agents.agents(conn)
    states = agent_states(conn, config, known_agents, question.now)
    reader = _Reader(config, week, weeks, lines, fleet.counts_by_agent(conn), states)
    rows = sorted(map(reader.row, known_agents), key=_rank)
    return FleetReport(
        week=week,
        generated_at=format_instant(question.now),
        agents=len(rows),
        wanting=sum(bool(row.wishes) for row in rows),
        reviewed=sum(agent.name in lines for agent in known_agents),
        currencies=_currencies(rows),
        sources=sorted(cursors.alarms(conn).values()),
        rows=rows[: question.limit],
        omitted=max(0, len(rows) - question.limit),
        corrections=list(question.corrections),
        corrections_omitted=question.corrections_omitted,
        older=question.older,
    )


def agent_states(
    conn: Connection, config: Config, known_agents: Sequence[Agent], now: int
) -> dict[str, AgentState]:
    """How each agent stands: nothing told yet, awake, dormant, or ended."""
    dead = fleet.dead_agents(conn)
    return {agent.name: _state(agent, config, dead, now) for agent in known_agents}


def week_ends(week: str) -> tuple[int, int]:
    """After when, and until when, a week ends, in whatever zone; `UsageError` where it is no week."""
    try:
        year, number = week.split("-W")
        monday = date.fromisocalendar(int(year), int(number), 1)
    except ValueError:
        raise UsageError(f"{week!r} is no week; name one such as 2026-W47") from None
    end = week_start((monday.toordinal() - 1) // 7 + 1, None)
    return end - _ZONES, end + _ZONES


def name_of_week(end: int) -> str:
    """The name of the week that ends at an instant, in whatever zone: half a week back is inside it in all of them."""
    return week_name(week_of(end - 84 * HOUR, None))


def lines_of_revisions(conn: Connection, review: int, revisions: Sequence[int]) -> list[WeekLine | None]:
    """What sums up revisions of a week's review: as it was kept, or read from the document; None where it is not done."""
    return [_line(conn, review, revision, fleet.line_text(conn, review, revision)) for revision in revisions]


def _line(conn: Connection, review: int, revision: int, line: str | None) -> WeekLine | None:
    if line is not None:
        return WeekLine.model_validate_json(line)
    text = fleet.document_text(conn, review, revision)
    if text is None:
        return None
    from retro.report import RetrospectiveReport  # noqa: PLC0415  whoever finds lines reads no document
    from retro.report.document import read  # noqa: PLC0415  as above

    document = read(text, WEEKLY.name)
    return line_of(document) if isinstance(document, RetrospectiveReport) else None


def _weeks(conn: Connection, week: str | None) -> tuple[str | None, dict[str, StoredWeek]]:
    """The week's name, and its reviews by agent: on the newest of an agent's grids."""
    if week is None:
        end = fleet.newest_week_end(conn)
        if end is None:
            return None, {}
        week = name_of_week(end)
    after, until = week_ends(week)
    stored = fleet.weeks_ended(conn, after, until)
    return week, {
        row.agent: row for row in stored if calendar_key(_key(row)) == week and row.state != "superseded"
    }


def _key(week: StoredWeek) -> str:
    return week.review[len(week.agent) + len(WEEKLY.name) + 2 :]


def _lines(conn: Connection, weeks: Mapping[str, StoredWeek]) -> dict[str, WeekLine]:
    """Agent -> its week in a line; of those that keep none at most so many documents are read."""
    lines: dict[str, WeekLine] = {}
    unread = _READ
    for name, week in sorted(weeks.items()):
        if week.line is None:
            if week.revision is None or not unread:
                continue
            unread -= 1
        line = None if week.revision is None else _line(conn, week.key, week.revision, week.line)
        if line is not None:
            lines[name] = line
    return lines


@dataclass(frozen=True, slots=True)
class _Reader:
    """What was read of all agents, to make a row of each."""

    config: Config
    week: str | None
    weeks: Mapping[str, StoredWeek]
    lines: Mapping[str, WeekLine]
    counts: AgentCounts
    states: Mapping[str, AgentState]

    def row(self, agent: Agent) -> AgentWeek:
        week, line = self.weeks.get(agent.name), self.lines.get(agent.name)
        state = self.states[agent.name]
        return AgentWeek(
            agent=agent.name,
            state=state,
            last_event=None if agent.last_at is None else format_instant(agent.last_at),
            wishes=self._wishes(agent, line, state),
            review=None if week is None else week.review,
            revision=None if week is None else week.revision,
            currency=base_currency_of(self.config, agent) if line is None else line.currency,
            pnl=None if line is None else line.pnl,
            against_nothing=None if line is None else line.against_nothing,
            over_market=None if line is None else line.over_market,
            mover=None if line is None else line.mover,
            mover_pnl=None if line is None else line.mover_pnl,
            reasons={"pnl": self._absence(agent, state)} if line is None else _reasons(line),
        )

    def _wishes(self, agent: Agent, line: WeekLine | None, state: str) -> list[FleetWish]:
        wishes = []
        if line is not None and line.alarm:
            wishes.append(FleetWish(kind="alarm", number=1, text=line.alarm))
        if state == "dormant":
            last = day_text(format_instant(agent.last_at or 0))
            wishes.append(FleetWish(kind="silence", number=1, text=f"silent since {last}"))
        counted: tuple[tuple[WishKind, Mapping[str, int], str], ...] = (
            ("parked", self.counts.parked, "parked review"),
            ("delivery", self.counts.failed, "message that failed"),
            ("proposal", self.counts.proposals, "proposal"),
        )
        for kind, numbers, noun in counted:
            if number := numbers.get(agent.name):
                plural = noun.replace("message that", "messages that") if kind == "delivery" else None
                wishes.append(FleetWish(kind=kind, number=number, text=count(number, noun, plural)))
        return wishes

    def _absence(self, agent: Agent, state: str) -> str:
        """Why an agent has no figures of the week."""
        week = self.weeks.get(agent.name)
        if self.week is None:
            return "no week has been reviewed yet"
        if week is not None and week.revision is not None:
            return "made by an older version, and not summed up; retro reviews remake does"
        if week is not None:
            return f"its review of {self.week} is {week.state}"
        if state == "awake":
            return f"no review of {self.week} is owed yet"
        return {"new": "nothing is known of it yet", "dead": "it has ended"}.get(state, "it is dormant")


def _state(agent: Agent, config: Config, dead: set[str], now: int) -> AgentState:
    if agent.last_at is None:
        return "new"
    if agent.name in dead:
        return "dead"
    tz = zone(config.owner.time_zone if agent.grid is None else agent.grid.time_zone)
    rests = dormant_from(agent.last_at, tz, config.service.dormant_weeks) <= now
    return "dormant" if rests else "awake"


def _reasons(line: WeekLine) -> dict[str, str]:
    """Why figures of a week that is reviewed are absent."""
    absent = {
        "pnl": (line.pnl, _UNQUOTED),
        "against_nothing": (line.against_nothing, _NONE_CLOSED),
        "over_market": (line.over_market, "its return or that of its pairs is not known"),
        "mover": (line.mover, "no position moved"),
        "mover_pnl": (line.mover_pnl, "no position moved"),
    }
    return {name: reason for name, (value, reason) in absent.items() if value is None}


def _rank(row: AgentWeek) -> tuple[int, str]:
    return min((_ORDER.index(wish.kind) for wish in row.wishes), default=len(_ORDER)), row.agent


def _currencies(rows: Sequence[AgentWeek]) -> list[FleetCurrency]:
    """The sums, a currency each: of what counts in different ones nothing is added up."""
    groups: dict[str, list[AgentWeek]] = defaultdict(list)
    for row in rows:
        if row.pnl is not None:
            groups[row.currency].append(row)
    sums = []
    for currency, members in sorted(groups.items()):
        against = [row.against_nothing for row in members if row.against_nothing is not None]
        pnl = fsum(row.pnl for row in members if row.pnl is not None)
        sums.append(
            FleetCurrency(
                currency=currency,
                agents=len(members),
                pnl=pnl,
                against_nothing=fsum(against) if against else None,
                reasons={} if against else {"against_nothing": _NONE_CLOSED},
            )
        )
    return sums

"""What sources computed themselves, one row a figure; told again it is one row, told otherwise the later word stands.

A realised result is known by its position and fill, whenever it is said to have been made; a state by its instant too.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sqlalchemy import BigInteger, Column, Table, Text, and_, delete, func, insert, literal, select, tuple_

from retro.checks import SourceCheck
from retro.store.facts.agents import key_of, key_query, known_key
from retro.store.locks import lock_agents
from retro.store.schema import DecimalMoney, agents, metadata, name_of, reference, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

    from retro.checks import CheckSubject, PaidPart

__all__ = ["AddedChecks", "CheckPlace", "add", "after", "agents_with_checks", "checks", "firsts", "forget"]

checks: Final = Table(
    "checks",
    metadata,
    reference("agent", "agents", is_key=True),
    Column("what", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("fill", Text, primary_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("stated", DecimalMoney, nullable=False),
    Column("tolerance", DecimalMoney, nullable=False),
    Column("booked", DecimalMoney, nullable=False),
    Column("net_of", Text, nullable=False),
)
"""`subject` is a position, an asset or empty, `fill` empty unless it is the result of one; `net_of` a list in words."""

_c: Final = checks.c
_ORDER: Final = (_c.at, _c.what, _c.subject, _c.fill)
_REALIZED: Final = "realized_pnl"
_AT_ONCE: Final = 500


class AddedChecks(NamedTuple):
    """What became of figures: `stored` anew or in place of another, known already, or told otherwise and passed over."""

    stored: int = 0
    unchanged: int = 0
    differing: int = 0


class CheckPlace(NamedTuple):
    """Where a figure stands in the order of an agent's list."""

    at: int
    what: str
    subject: str
    fill: str


def add(conn: Connection, stated: Sequence[SourceCheck], *, replace: bool) -> AddedChecks:
    """Store figures; of those that are known otherwise the new word stands where `replace`, else the old one."""
    if not stated:
        return AddedChecks()
    lock_agents(conn, {check.agent for check in stated})
    stored = unchanged = differing = 0
    by_agent: dict[str, dict[tuple[str, ...], SourceCheck]] = defaultdict(dict)
    for check in stated:
        plain = _plain(check)
        by_agent[check.agent][_identity(plain)] = plain
    for agent, wanted in sorted(by_agent.items()):
        key = key_of(conn, agent)
        stored_before = {_identity(check): check for check in _alike(conn, agent, key, list(wanted.values()))}
        fresh, stale = [], []
        for identity, check in wanted.items():
            before = stored_before.get(identity)
            if before == check:
                unchanged += 1
            elif before is not None and not replace:
                differing += 1
            else:
                fresh.append(check)
                stale += [] if before is None else [before]
        _delete(conn, key, stale)
        if fresh:
            conn.execute(insert(checks), [_row(key, check) for check in fresh])
        stored += len(fresh)
    return AddedChecks(stored, unchanged, differing)


def after(
    conn: Connection, agent: str, place: CheckPlace | None, limit: int, *, newest: bool = False
) -> list[SourceCheck]:
    """At most `limit` figures of an agent that follow a place (None: from the first on), in order of time."""
    query = select(checks).where(_c.agent == key_query(agent))
    if place is not None:
        columns, values = tuple_(*_ORDER), tuple_(*map(literal, place))
        query = query.where(columns < values if newest else columns > values)
    order = [column.desc() for column in _ORDER] if newest else _ORDER
    return [_check(agent, row) for row in conn.execute(query.order_by(*order).limit(limit))]


def firsts(conn: Connection, agent: str, subjects: Iterable[tuple[str, str]]) -> list[SourceCheck]:
    """The first figure of each (what, subject) that has one."""
    first: list[SourceCheck] = []
    for kind, subject in sorted(subjects):
        mine = (_c.agent == key_query(agent), _c.what == kind, _c.subject == subject)
        row = conn.execute(select(checks).where(*mine).order_by(_c.at, _c.fill).limit(1)).one_or_none()
        first += [] if row is None else [_check(agent, row)]
    return first


def agents_with_checks(conn: Connection) -> list[str]:
    """The names of the agents of whom a source told a figure of its own, in order."""
    has_some = select(_c.agent).where(_c.agent == agents.c.key).exists()
    return list(conn.execute(select(agents.c.name).where(has_some).order_by(agents.c.name)).scalars())


def forget(conn: Connection, agent: str, prefix: str) -> None:
    """Forget the results of positions whose ids begin with `prefix`: another source speaks in their place."""
    # LIKE would not tell upper from lower case
    named = func.substr(_c.subject, 1, len(prefix)) == prefix
    conn.execute(delete(checks).where(_c.agent == known_key(conn, agent), _c.what == _REALIZED, named))


def _identity(check: SourceCheck) -> tuple[str, ...]:
    instant = "" if check.what == _REALIZED else str(check.at)
    return check.what, check.subject, check.fill or "", instant


def _plain(check: SourceCheck) -> SourceCheck:
    """The figure in the form in which every database keeps it: names as keys, digits without an exponent."""
    return check._replace(
        subject=name_of(check.subject),
        fill=None if check.fill is None else name_of(check.fill),
        net_of=tuple(sorted(check.net_of)),
        stated=_digits(check.stated),
        tolerance=_digits(check.tolerance),
        booked=_digits(check.booked),
    )


def _digits(number: Decimal) -> Decimal:
    return Decimal(f"{number:f}") if number else Decimal(0)


def _alike(conn: Connection, agent: str, key: int, wanted: Sequence[SourceCheck]) -> list[SourceCheck]:
    """What is kept of the subjects of these figures, of states between the first and the last of their instants."""
    groups: dict[str, list[SourceCheck]] = defaultdict(list)
    for check in wanted:
        groups[check.what].append(check)
    alike: list[SourceCheck] = []
    for kind, group in sorted(groups.items()):
        of_subject = within(conn, _c.subject, {check.subject for check in group})
        query = select(checks).where(_c.agent == key, _c.what == kind, of_subject)
        if kind != _REALIZED:
            instants = [check.at for check in group]
            query = query.where(_c.at >= min(instants), _c.at <= max(instants))
        alike += [_check(agent, row) for row in conn.execute(query)]
    return alike


def _delete(conn: Connection, key: int, stale: Sequence[SourceCheck]) -> None:
    for check in stale:
        conn.execute(delete(checks).where(_c.agent == key, _is(check)))


def _is(check: SourceCheck) -> ColumnElement[bool]:
    fill = check.fill or ""
    return and_(_c.what == check.what, _c.subject == check.subject, _c.fill == fill, _c.at == check.at)


def _row(key: int, check: SourceCheck) -> dict[str, Any]:
    return check._asdict() | {"agent": key, "fill": check.fill or "", "net_of": " ".join(check.net_of)}


def _check(agent: str, row: Any) -> SourceCheck:
    return SourceCheck(
        agent,
        cast("CheckSubject", row.what),
        row.subject,
        row.at,
        row.stated,
        row.tolerance,
        row.fill or None,
        cast("tuple[PaidPart, ...]", tuple(row.net_of.split())),
        row.booked,
    )

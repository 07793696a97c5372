"""What each review came to, beside its row of the ledger: so that lists, and the page of the morning, read no document.

Written in the transaction that finishes a review; of reviews that an older version made it is filled in bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import and_, delete, func, insert, select, text, update

from retro.kinds import WEEKLY
from retro.store.facts.agents import key_query
from retro.store.jobs.reviews import IS_AGAIN, IS_WAITING, NEVER, Review, columns, review_of
from retro.store.jobs.tables import documents, reviews, rule_weeks
from retro.store.schema import agents, name_of, within_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection


__all__ = [
    "FinishedReview",
    "ReviewSummary",
    "RuleWeek",
    "finished_of",
    "finished_since",
    "keep_summaries",
    "looked_at_again",
    "newest_weeks",
    "next_due",
    "reversals",
    "texts_of",
    "unsummed",
    "weeks_of_rule",
]

_IS_UNSUMMED: Final = text("reviews.state = 'done' AND reviews.summed < reviews.revision")
_IS_REVERSED: Final = text("reviews.reversal IS NOT NULL")
"""As the partial indexes spell them."""
_AT_ONCE: Final = 50
"""Documents that are read at once: some dozen kilobytes each."""


class RuleWeek(NamedTuple):
    """What a week's review says of a rule in a role, since its text stands: amounts in `unit` (usd, r or bps).

    `low` and `high` are 95 % of the mean at every look, None: no end; `ripe_in` is None with the reason in `unripe`.
    """

    rule: str
    role: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: str
    evidence: str
    e_against: float | None
    e_for: float | None
    ripe_in: int | None
    unripe: str | None


class ReviewSummary(NamedTuple):
    """What a revision came to: its result and that less the result of doing nothing, in its agent's currency.

    `reversal`: of a position that ended on the other side of 0 than its first hours stood, by how much of what was put in.
    """

    review: int
    revision: int
    result: float | None
    against_nothing: float | None
    reversal: float | None
    rules: tuple[RuleWeek, ...] = ()


class FinishedReview(NamedTuple):
    """The newest finished revision of a review: what it came to, and its text, None where that was put away."""

    id: str
    kind: str
    subject: str
    period_start: int
    period_end: int
    revision: int
    result: float | None
    against_nothing: float | None
    digest: str
    document: str | None


def keep_summaries(conn: Connection, summaries: Iterable[ReviewSummary]) -> None:
    """Keep what these revisions came to, where they are still the newest that is done."""
    of_review = delete(rule_weeks)
    for summary in summaries:
        mine = and_(
            reviews.c.key == summary.review,
            reviews.c.revision == summary.revision,
            reviews.c.state == "done",
            reviews.c.summed <= summary.revision,
        )
        values = {
            "result": summary.result,
            "against_nothing": summary.against_nothing,
            "reversal": summary.reversal,
            "summed": summary.revision,
        }
        if not conn.execute(update(reviews).where(mine).values(values)).rowcount:
            continue  # another process made a newer revision meanwhile, and keeps what that says
        if summary.rules or summary.revision > 1:
            conn.execute(of_review.where(rule_weeks.c.review == summary.review))
        if summary.rules:
            rows = [{"review": summary.review, **rule._asdict()} for rule in summary.rules]
            conn.execute(insert(rule_weeks), rows)


def unsummed(conn: Connection, limit: int) -> list[tuple[Review, str | None]]:
    """Finished reviews of which nobody noted what they came to, each with its document; None where that was put away."""
    chosen = [
        review_of(row)
        for row in conn.execute(columns().where(_IS_UNSUMMED).order_by(reviews.c.key).limit(limit))
    ]
    texts = texts_of(conn, chosen)
    return [(review, texts.get(review.key)) for review in chosen]


def finished_since(conn: Connection, since: int, limit: int, agent: str | None = None) -> list[Review]:
    """At most `limit` reviews that were finished after an instant, those finished last first."""
    query = columns().where(reviews.c.done_at > since, reviews.c.state == "done", *_of(agent))
    order = (reviews.c.done_at.desc(), reviews.c.period_end.desc(), reviews.c.key.desc())
    return [review_of(row) for row in conn.execute(query.order_by(*order).limit(limit))]


def finished_of(conn: Connection, agent: str) -> Iterator[FinishedReview]:
    """The newest finished revision of each review of an agent, by the end of its period and its id; read one by one."""
    c, d = reviews.c, documents.c
    newest = (
        select(func.max(d.revision))
        .where(d.review == c.key, d.done_at.is_not(None))
        .correlate(reviews)
        .scalar_subquery()
    )
    id_ = c.id.collate("C") if conn.dialect.name == "postgresql" else c.id
    query = (
        select(
            *(c.id, c.kind, c.subject, c.period_start, c.period_end, d.revision),
            *(c.result, c.against_nothing, d.digest, d.document),
        )
        .join(documents, d.review == c.key)
        .where(c.agent == key_query(agent), d.revision == newest)
        .order_by(c.period_end, id_)
    )
    with conn.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        yield from map(FinishedReview._make, rows)


def reversals(conn: Connection, until: int, limit: int, agent: str | None = None) -> list[Review]:
    """At most `limit` positions that ended on the other side of 0 than they began, by an instant; those closed last first."""
    c = reviews.c
    query = columns().where(_IS_REVERSED, c.state == "done", c.period_end < until, *_of(agent))
    return [review_of(row) for row in conn.execute(query.order_by(c.period_end.desc(), c.key).limit(limit))]


def newest_weeks(conn: Connection, names: Iterable[str]) -> list[tuple[Review, RuleWeek]]:
    """What the two newest reviewed weeks of each of these agents say of each rule; the older week first."""
    c = reviews.c
    keys = list[int]()
    for name in names:
        of_agent = select(c.key).where(
            c.agent == key_query(name), c.kind == WEEKLY.name, c.state == "done", c.summed > 0
        )
        keys += conn.execute(of_agent.order_by(c.period_end.desc(), c.key).limit(2)).scalars()
    return _rule_weeks(conn, within_keys(conn, c.key, keys))


def looked_at_again(conn: Connection, now: int, limit: int) -> list[Review]:
    """Finished reviews that are looked at once more after an instant, because something is not known yet; the next first."""
    again = columns().where(IS_AGAIN, reviews.c.again_at > now)
    return [
        review_of(row) for row in conn.execute(again.order_by(reviews.c.again_at, reviews.c.key).limit(limit))
    ]


def next_due(conn: Connection, now: int) -> int | None:
    """When the first of the reviews that wait for their data can be made, after an instant; None: none waits."""
    c = reviews.c
    waiting = select(c.due_at).where(IS_WAITING, c.due_at > now).order_by(c.due_at).limit(1)
    at: int | None = conn.execute(waiting).scalar_one_or_none()
    return None if at is None or at >= NEVER else at


def texts_of(conn: Connection, chosen: Iterable[Review]) -> dict[int, str]:
    """The documents of these reviews by their keys, each of the newest revision that is done and not put away."""
    wanted = {review.key: review.revision for review in chosen}
    d = documents.c
    query = select(d.review, d.revision, d.document).where(
        within_keys(conn, d.review, wanted), d.done_at.is_not(None), d.document.is_not(None)
    )
    return {review: text for review, revision, text in conn.execute(query) if wanted[review] == revision}


def weeks_of_rule(conn: Connection, agent: str, rule: str) -> list[tuple[Review, RuleWeek]]:
    """What each reviewed week of an agent says of one rule, in each of its roles, the oldest week first."""
    named = (agents.c.name == name_of(agent), rule_weeks.c.rule == name_of(rule), reviews.c.state == "done")
    return _rule_weeks(conn, *named)


def _rule_weeks(conn: Connection, *conditions: ColumnElement[bool]) -> list[tuple[Review, RuleWeek]]:
    own = [column for column in rule_weeks.c if column.name != "review"]
    query = columns().add_columns(*own).join(rule_weeks, rule_weeks.c.review == reviews.c.key)
    order = (reviews.c.period_end, agents.c.name, reviews.c.key, rule_weeks.c.rule, rule_weeks.c.role)
    width = len(Review._fields)
    rows = conn.execute(query.where(*conditions).order_by(*order))
    return [(review_of(row[:width]), RuleWeek._make(row[width:])) for row in rows]


def _of(agent: str | None) -> list[ColumnElement[bool]]:
    return [] if agent is None else [agents.c.name == name_of(agent)]

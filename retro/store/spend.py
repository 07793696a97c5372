"""What calls to a model cost: reserved before, settled after, with the exact request and answer of each.

A reservation counts at its worst cost until it is settled; one whose process died stays spent. Caps are checked in the
transaction that reserves, one at a time, so that no number of processes can overdraw them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    Table,
    Text,
    and_,
    func,
    insert,
    select,
    update,
)

from retro.store.schema import DecimalMoney, metadata, name_of, reference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection

__all__ = [
    "Caps",
    "Exchange",
    "ModelCall",
    "Order",
    "Spent",
    "Tokens",
    "answered",
    "calls_of",
    "exchanges",
    "reserve",
    "settle",
    "spent",
]

_SPEND_LOCK: Final = 0x52455452_02
_ZERO: Final = Decimal(0)
_OF_SPEND: Final = ("at", "revision", "model", "cost", "worst")
_OF_EXCHANGE: Final = ("prompt", "request", "answer", "status", "outcome", "request_id")


spend: Final = Table(
    "spend",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("review", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("tier", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("worst", DecimalMoney, nullable=False),
    Column("cost", DecimalMoney),
    Column("tokens_in", BigInteger),
    Column("cache_read", BigInteger),
    Column("cache_write", BigInteger),
    Column("tokens_out", BigInteger),
)
"""One row a call. `cost` is null until it is settled, and for ever when nobody learned what it was."""

exchange: Final = Table(
    "exchanges",
    metadata,
    reference("spend", "spend", is_key=True),
    Column("digest", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("answer", Text),
    Column("status", Integer),
    Column("outcome", Text),
    Column("request_id", Text),
)
"""What was sent and what came back, to the byte; `prompt` names the prompt files and their digests."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The most US dollars for one review, for calls since `day`, and for calls since `month` (instants)."""

    review: Decimal
    a_day: Decimal
    a_month: Decimal
    day: int
    month: int


@dataclass(frozen=True, slots=True)
class Order:
    """A call about to be made; `digest` is that of the request."""

    agent: str
    review: str
    revision: int
    at: int
    tier: str
    model: str
    worst: Decimal
    digest: str
    prompt: str
    request: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a call was billed for."""

    fresh: int
    cache_read: int
    cache_write: int
    out: int


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of reviewing over some calls: US dollars (reservations at their worst), and tokens of settled ones."""

    usd: Decimal
    calls: int
    by_tier: Mapping[str, Decimal]
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call as the books of an agent take it: US dollars, at its worst cost where no other is known."""

    key: int
    at: int
    tier: str
    model: str
    usd: Decimal
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call as it was made and answered; `cost` is None where only its `worst` is known."""

    at: int
    revision: int
    model: str
    prompt: str
    request: str
    answer: str | None
    status: int | None
    outcome: str | None
    request_id: str | None
    cost: Decimal | None
    worst: Decimal


def reserve(conn: Connection, order: Order, caps: Caps) -> int | str:
    """Set the worst cost aside and keep the request; gives the receipt, or which cap stands in the way."""
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_SPEND_LOCK,))
    table = spend.c
    for name, cap, among in (
        ("a review", caps.review, and_(*_of_review(order.review, order.revision))),
        ("a day", caps.a_day, table.at >= caps.day),
        ("a month", caps.a_month, table.at >= caps.month),
    ):
        used = _total(conn, among)
        if used + order.worst > cap:
            return (
                f"the cap of {cap.normalize():f} USD {name} leaves no room: {used:.4f} spent or reserved, "
                f"{order.worst:.4f} may be needed"
            )
    row = insert(spend).values(
        agent=name_of(order.agent),
        review=name_of(order.review),
        revision=order.revision,
        at=order.at,
        tier=order.tier,
        model=order.model,
        worst=order.worst,
    )
    key = int(conn.execute(row.returning(table.key)).scalar_one())
    values = {"digest": order.digest, "prompt": order.prompt, "request": _storable(order.request)}
    conn.execute(insert(exchange).values(spend=key, **values))
    return key


def _total(conn: Connection, among: ColumnElement[bool]) -> Decimal:
    # summed here: SQLite keeps decimals as text and would add them as binary fractions
    query = select(func.coalesce(spend.c.cost, spend.c.worst, type_=DecimalMoney)).where(among)
    return sum(conn.execute(query).scalars(), _ZERO)


def settle(
    conn: Connection,
    receipt: int,
    *,
    cost: Decimal | None,
    tokens: Tokens | None,
    answer: str,
    status: int | None,
    outcome: str,
    request_id: str | None,
) -> None:
    """Write down what came back and what it cost; without a cost the reservation stays spent. The first time counts."""
    billed: dict[str, Any] = {"cost": cost}
    if tokens is not None:
        billed |= {
            "tokens_in": tokens.fresh,
            "cache_read": tokens.cache_read,
            "cache_write": tokens.cache_write,
            "tokens_out": tokens.out,
        }
    conn.execute(update(spend).where(spend.c.key == receipt, spend.c.cost.is_(None)).values(billed))
    values = {
        "answer": _storable(answer),
        "status": status,
        "outcome": outcome,
        "request_id": None if request_id is None else _storable(request_id)[:200],
    }
    conn.execute(
        update(exchange).where(exchange.c.spend == receipt, exchange.c.outcome.is_(None)).values(values)
    )


def _storable(text: str) -> str:
    """The text as both databases can hold it: PostgreSQL takes no U+0000, neither takes halves of pairs."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{SYMBOL FOR NULL}")


def spent(conn: Connection, since: int = 0) -> Spent:
    """What reviewing everybody cost since an instant."""
    calls = _calls(conn, spend.c.at >= since)
    tiers = dict.fromkeys(sorted({call.tier for call in calls}), _ZERO)
    for call in calls:
        tiers[call.tier] += call.usd
    return Spent(
        usd=sum(tiers.values(), _ZERO),
        calls=len(calls),
        by_tier=tiers,
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
    )


def calls_of(conn: Connection, agent: str, start: int, end: int) -> list[ModelCall]:
    """The calls of [start, end) about an agent, in order of time."""
    return _calls(conn, (spend.c.agent == name_of(agent)) & (spend.c.at >= start) & (spend.c.at < end))


def _calls(conn: Connection, among: ColumnElement[bool]) -> list[ModelCall]:
    calls = []
    for row in conn.execute(select(spend).where(among).order_by(spend.c.at, spend.c.key)):
        usd = row.worst if row.cost is None else row.cost
        read = sum(count or 0 for count in (row.tokens_in, row.cache_read, row.cache_write))
        calls.append(ModelCall(row.key, row.at, row.tier, row.model, usd, read, row.tokens_out or 0))
    return calls


def exchanges(conn: Connection, review: str, revision: int | None = None) -> list[Exchange]:
    """Every call made for a review (of one revision), in the order they were made."""
    return list(_exchanges(conn, *_of_review(review, revision)))


def answered(conn: Connection, review: str, revision: int, digest: str) -> Exchange | None:
    """The last paid answer to exactly this request of a review, so that a review that is resumed pays once."""
    paid = (exchange.c.digest == digest, exchange.c.status == 200, spend.c.cost.is_not(None))
    answers = list(_exchanges(conn, *_of_review(review, revision), *paid))
    return answers[-1] if answers else None


def _of_review(review: str, revision: int | None) -> list[ColumnElement[bool]]:
    conditions = [spend.c.review == name_of(review)]
    return conditions if revision is None else [*conditions, spend.c.revision == revision]


def _exchanges(conn: Connection, *among: ColumnElement[bool]) -> Iterator[Exchange]:
    columns = [getattr(spend.c, name) for name in _OF_SPEND] + [
        getattr(exchange.c, name) for name in _OF_EXCHANGE
    ]
    query = (
        select(*columns).join(exchange, exchange.c.spend == spend.c.key).where(*among).order_by(spend.c.key)
    )
    for row in conn.execute(query):
        yield Exchange(**row._asdict())

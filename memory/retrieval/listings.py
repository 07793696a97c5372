"""What there is: agents, their episodes, and how each strategy has done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memory.episodic import cache
from memory.episodic.columns import FOREVER
from memory.episodic.episode import from_document
from memory.episodic.results import results_of
from memory.experience.hindsight import remembered, retrospectives
from memory.retrieval.hit import Filters
from memory.retrieval.recall import chosen
from memory.settings import STANDARD, Settings
from memory.store import ledger

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memory.episodic.episode import Episode

_EVERYTHING = Filters()


@dataclass(frozen=True, slots=True)
class Performance:
    """How one strategy has done; money is the agent's own, None where nothing is known.

    `win_rate` is of the trades that won or lost; `profit_factor` gains over losses, None without a loss.
    """

    strategy: str | None
    trades: int
    inactions: int
    wins: int
    losses: int
    win_rate: float | None
    total_pnl: float | None
    mean_r: float | None
    profit_factor: float | None
    first_at: int
    last_at: int


def agents(conn: Connection) -> list[str]:
    """Every agent with a memory, in order of name."""
    return ledger.names(conn)


def told_episodes(conn: Connection, agent: str, *, as_of: int | None = None) -> list[Episode]:
    """Every episode of the agent as it was told, in order of arrival: what `validate` replays."""
    texts = ledger.documents(conn, agent, 0, ledger.head(conn, agent).episodes)
    return [episode for episode in map(from_document, texts) if as_of is None or episode.at <= as_of]


def episodes(
    conn: Connection,
    agent: str,
    *,
    as_of: int | None = None,
    limit: int = 100,
    filters: Filters = _EVERYTHING,
    settings: Settings = STANDARD,
) -> list[dict[str, Any]]:
    """The agent's newest episodes as they stand as of an instant, newest first."""
    columns = cache.columns(conn, agent, settings.registry)
    until = FOREVER if as_of is None else as_of
    n = columns.until(until)
    through = chosen(columns, n, filters, settings)
    places = (np.arange(n) if through is None else through)[::-1][:limit]
    numbers = [int(number) for number in columns.number[places]]
    documents = ledger.numbered(conn, agent, numbers)
    since = retrospectives(conn, agent, numbers, until)
    return [remembered(from_document(documents[number]), since.get(number)) for number in numbers]


def performance(
    conn: Connection, agent: str, *, as_of: int | None = None, settings: Settings = STANDARD
) -> tuple[Performance, ...]:
    """Each strategy's record as of an instant (default: now), the most traded first."""
    columns = cache.columns(conn, agent, settings.registry)
    n = columns.until(FOREVER if as_of is None else as_of)
    results = results_of(columns)[:n]
    records = []
    codes, inverse = np.unique(columns.strategy[:n], return_inverse=True)
    for group in range(len(codes)):
        places = np.flatnonzero(inverse == group)
        number = int(columns.number[places[-1]])
        name = from_document(ledger.numbered(conn, agent, [number])[number]).strategy
        records.append(
            _performance(name, results[places], columns.pnl[places], columns.r[places], columns.at[places])
        )
    return tuple(sorted(records, key=lambda record: (-record.trades, record.strategy or "")))


def _performance(name: str | None, results: Any, pnl: Any, r: Any, at: Any) -> Performance:
    wins, losses = int(np.count_nonzero(results > 0)), int(np.count_nonzero(results < 0))
    trades = int(np.count_nonzero(~np.isnan(results)))
    money, multiples = pnl[~np.isnan(pnl)], r[~np.isnan(r)]
    lost = -math.fsum(money[money < 0].tolist())
    return Performance(
        strategy=name,
        trades=trades,
        inactions=len(results) - trades,
        wins=wins,
        losses=losses,
        win_rate=wins / (wins + losses) if wins + losses else None,
        total_pnl=math.fsum(money.tolist()) if len(money) else None,
        mean_r=math.fsum(multiples.tolist()) / len(multiples) if len(multiples) else None,
        profit_factor=math.fsum(money[money > 0].tolist()) / lost if lost > 0 else None,
        first_at=int(at[0]),
        last_at=int(at[-1]),
    )

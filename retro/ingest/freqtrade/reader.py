"""`retro ingest freqtrade`: a bot's database or a backtest result becomes facts, its candle folder becomes marks."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from retro.errors import InputError, UsageError
from retro.ingest.freqtrade import results as freqtrade_results
from retro.ingest.freqtrade import tables as freqtrade_tables
from retro.ingest.freqtrade.candles import CandleFile, candle_files, choose, series
from retro.ingest.freqtrade.facts import checks_of, equity_fact, facts_of, unfilled_fact
from retro.ingest.freqtrade.legs import settled
from retro.ingest.freqtrade.omissions import candles_wanted, never_filled
from retro.ingest.freqtrade.span import Span
from retro.ingest.freqtrade.trades import ZERO, instant_of, number_of, owner_of, positive_of, trade_of
from retro.ingest.sample import refuse_special
from retro.ingest.source import SQLITE
from retro.journal.values import AGENT_NAME
from retro.model import Batch, Fault
from retro.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from retro.ingest.freqtrade.span import PairTraded
    from retro.ingest.freqtrade.tables import Fields, RawTrade
    from retro.model import EventRow

__all__ = ["read"]

TRADES_A_BATCH: Final = 500
_NOT_AGENT: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(slots=True)
class _Source:
    """What a database and a backtest result have in common."""

    owners: Iterable[Fields]
    trades: Iterable[RawTrade]
    wallet: Iterable[tuple[str, str, list[Fields]]] = ()
    capital: dict[str, Decimal | None] = field(default_factory=dict)
    """Strategy -> what it started with, where the source says so."""
    runs: dict[str, str] = field(default_factory=dict)
    """Strategy -> which run of a backtest this is; none of a database."""
    faults: list[Fault] = field(default_factory=list)

    def origin_of(self, strategy: str) -> str:
        """What kind of source tells of a strategy's agent; two runs of a backtest are two sources."""
        run = self.runs.get(strategy)
        return "freqtrade database" if run is None else f"freqtrade backtest {run}"


def read(
    path: Path, *, agent: str | None = None, candles: Path | None = None, as_of: int | None = None, now: int
) -> Iterator[Batch]:
    """The facts of a freqtrade database (or backtest result), then the marks of the pairs traded, pair by pair.

    `agent` names whose life it is (default: the strategy's name; with several stake currencies each gets its own
    agent, NAME-USDT). `candles` is freqtrade's data folder. `as_of` keeps only what is at or before it; the last
    batch of facts says how far the source was seen. `now` is the ingest clock: later times are faults, and candles
    that end later are not complete. Raises `InputError` when the source cannot be read at all.
    """
    if agent is not None and not AGENT_NAME.fullmatch(agent):
        raise UsageError(f"agent {agent!r}: a name is 1 to 64 of A-Z a-z 0-9 . _ -")
    files = candle_files(candles) if candles is not None else {}
    span = Span()
    with _opened(path, agent) as source:
        for batch in _facts(source, agent, span, str(path), as_of=as_of, now=now):
            if batch.as_of and candles is None:  # the last one: the whole life is known
                batch.wanted = candles_wanted(span, span.pairs, as_of, now, were_given=False)
            yield batch
    if candles is None or span.first is None:
        return
    damaged = set()
    for pair, traded in sorted(span.pairs.items()):
        start, end = span.window(pair, as_of, now)
        batch = _marks(files, pair, traded, start, end)
        if batch.faults and not batch.marks:
            damaged.add(pair)
        yield batch
    readable = {pair: traded for pair, traded in span.pairs.items() if pair not in damaged}
    yield Batch(origin=span.origins, wanted=candles_wanted(span, readable, as_of, now, were_given=True))


@contextmanager
def _opened(path: Path, agent: str | None) -> Iterator[_Source]:
    if path.is_dir():
        raise InputError(
            f"{path} is a folder: give the bot's database (tradesv3.sqlite) or a backtest result"
        )
    refuse_special([path])
    try:
        with path.open("rb") as file:
            head = file.read(len(SQLITE))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if not head:
        raise InputError(f"{path} is empty; give the bot's database or a backtest result")
    if head == SQLITE:
        with freqtrade_tables.open_copy(path) as connection:
            yield _Source(
                freqtrade_tables.owners(connection),
                freqtrade_tables.trades(connection),
                freqtrade_tables.wallet_states(connection),
            )
    elif head.startswith(b"PK") or head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        yield _result(path, agent)
    else:
        raise InputError(f"{path} is neither a freqtrade database nor a backtest result (.zip or .json)")


def _result(path: Path, agent: str | None) -> _Source:
    strategies = freqtrade_results.result(path)
    if agent is not None and len(strategies) > 1:
        raise UsageError(f"{path} holds {len(strategies)} strategies, each its own agent: leave --agent out")
    trades = [
        raw for name, backtest in strategies.items() for raw in freqtrade_results.trades(name, backtest)
    ]
    source = _Source([raw.row for raw in trades], trades)
    source.runs = {name.strip(): freqtrade_results.run_of(backtest) for name, backtest in strategies.items()}
    for name, backtest in strategies.items():
        try:
            source.capital[name] = positive_of(backtest, "starting_balance") or None
        except ValueError as error:
            source.faults.append(Fault(f"{path}, strategy {name}", None, f"{error}; --capital can tell it"))
    return source


def _facts(
    source: _Source, agent: str | None, span: Span, where: str, *, as_of: int | None, now: int
) -> Iterator[Batch]:
    names = _names(source.owners, agent)
    batch, pending = Batch(faults=source.faults), 0
    given_up: list[
        EventRow
    ] = []  # told last, and only of whoever has traded: they make no agent and hold no pair
    for raw in source.trades:
        place = f"{where}, trade {raw.row.get('id')}"
        try:
            trade = trade_of(raw, latest=now + DAY)
            done = settled(trade)
            rows = list(facts_of(trade, done.legs, names[trade.strategy, trade.stake]))
            refused = None if rows else unfilled_fact(trade, raw.orders, names[trade.strategy, trade.stake])
        except ValueError as error:
            batch.faults.append(Fault(place, None, str(error)))
            continue
        if done.misfit:
            batch.faults.append(Fault(place, None, done.misfit))
        span.unfilled += not rows
        given_up += [refused] if refused is not None else []
        rows = [row for row in rows if as_of is None or row.at <= as_of]
        span.add(trade, rows, source.origin_of(trade.strategy))
        batch.rows += rows
        batch.checks += checks_of(rows, done)
        pending += 1
        if pending == TRADES_A_BATCH:
            yield _labelled(batch, span)
            batch, pending = Batch(), 0
    if span.unfilled:
        batch.notices.append(never_filled(span.unfilled))
    horizon = span.horizon(as_of)
    batch.rows += [row for row in given_up if row.agent in span.agents and row.at <= horizon]
    _add_equity(batch, source, span, where, horizon)
    batch.as_of = dict.fromkeys(span.agents, horizon)
    started = ((name, source.capital.get(owner[0])) for owner, name in names.items() if name in span.agents)
    batch.capital = {name: capital for name, capital in started if capital is not None}
    yield _labelled(batch, span)


def _labelled(batch: Batch, span: Span) -> Batch:
    batch.events = len(batch.rows)
    batch.base_currency = dict(span.agents)
    batch.origin = dict(span.origins)
    return batch


def _add_equity(batch: Batch, source: _Source, span: Span, where: str, horizon: int) -> None:
    """The bot's own totals, up to the horizon; one total for several agents of one currency cannot be divided."""
    for written, quote, rows in source.wallet:
        agents = sorted(name for name, base in span.agents.items() if base == quote)
        place = f"{where}, wallet_history {written}"
        if len(agents) > 1:
            reason = f"one total for {' and '.join(agents)} together (--agent NAME takes them as one)"
            batch.faults.append(Fault(f"{where}, wallet_history", None, reason))
            return
        try:
            at = instant_of({"timestamp": written}, "timestamp")
            value = sum((_worth(row, quote) for row in rows), ZERO)
        except ValueError as error:
            batch.faults.append(Fault(place, None, str(error)))
            continue
        if agents and at is not None and at <= horizon:
            batch.rows.append(equity_fact(agents[0], at, value))


def _worth(row: Fields, quote: str) -> Decimal:
    total, balance = number_of(row, "total_quote"), number_of(row, "balance") or ZERO
    if total is not None:
        return total
    rate = Decimal(1) if row.get("currency") == quote else number_of(row, "rate")
    if rate is None and balance:
        raise ValueError(f"{row.get('currency')} has no value in {quote}, so the total is not known")
    return balance * (rate or ZERO)


def _marks(files: dict[str, list[CandleFile]], pair: str, traded: PairTraded, start: int, end: int) -> Batch:
    """A pair's marks; an empty batch where no file has any of that time."""
    names = [pair, traded.settled_name] if traded.spot else [traded.settled_name, pair]
    choice = next(filter(None, (choose(files, name, traded.timeframes) for name in names)), None)
    if choice is None:
        return Batch()
    path, timeframe = choice
    faults: list[Fault] = []
    try:
        marks = series(path, pair, timeframe, start, end, faults)
    except InputError as error:
        reason = str(error).removeprefix(str(path)).removeprefix(":").lstrip()  # the fault says where already
        return Batch(faults=[Fault(str(path), None, reason)])
    return Batch(marks=[marks] if len(marks.t) else [], faults=faults, events=len(marks.t))


def _names(rows: Iterable[Fields], agent: str | None) -> dict[tuple[str, str], str]:
    """(strategy, stake currency) -> agent: the strategy, and the stake too where one name has several."""
    plain = {key: agent or _NOT_AGENT.sub("-", key[0])[:64] or "freqtrade" for key in map(owner_of, rows)}
    stakes: dict[str, set[str]] = {}
    for (_, stake), name in plain.items():
        stakes.setdefault(name, set()).add(stake)
    return {
        key: name if len(stakes[name]) == 1 else f"{name[:50]}-{_NOT_AGENT.sub('-', key[1])[:13]}"
        for key, name in plain.items()
    }

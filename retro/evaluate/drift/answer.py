"""Why live was not the backtest: one identity over all trades of both, and how much of it hangs on the matching window."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce
from math import fsum, gcd
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from retro.accounting.prices import base_and_quote
from retro.evaluate.drift.causes import causes_of, limit_of
from retro.evaluate.drift.pairs import MatchingWindow, lines_of, paired
from retro.figures import count
from retro.periods import HOUR, SECOND, format_instant
from retro.report.evaluators.drift import (
    CauseTotal,
    DriftCause,
    DriftCauses,
    DriftPair,
    DriftReport,
    DriftSensitivity,
    DriftSummary,
    DriftTag,
    UnmatchedTrade,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from retro.evaluate.drift.causes import Cause, Witness
    from retro.evaluate.drift.pairs import Pairing, TradePair
    from retro.evaluate.drift.trades import ComparedTrade

__all__ = ["SENSITIVITY", "DriftTerms", "drift_of", "summary_of"]

SENSITIVITY: Final = (1 / 3, 1.0, 3.0)
"""The windows that are tried, in those asked for."""
_MINUTE: Final = 60 * SECOND
_USUAL_CANDLE: Final = 5 * _MINUTE
_ENOUGH: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftTerms:
    """What is compared: trades entered in [start, end), microseconds; None: from and to where both tell anything.

    `within` candles may lie between the entries of one trade; `slots` is how many trades live may hold, where told.
    """

    within: float = 3.0
    start: int | None = None
    end: int | None = None
    slots: int | None = None


class _Span(NamedTuple):
    """The time compared, [start, end)."""

    start: int
    end: int


def drift_of(live: Witness, backtest: Witness, gaps: Mapping[str, int], terms: DriftTerms) -> DriftReport:
    """Live less backtest. `gaps`: median candle gap by instrument, microseconds, where marks are known.

    Trades are matched over all that both tell and chosen then, so that no border of the time asked for tears a pair apart.
    """
    usual, usual_from = _usual_gap(gaps, backtest.trades)
    window = MatchingWindow(gaps, usual, terms.within)
    span = _span(live, backtest, terms)
    with_tags = all(any(trade.tag for trade in side.trades) for side in (live, backtest))
    if span is None:
        return _nothing(terms, live, backtest)
    every = paired(live.trades, backtest.trades, window, with_tags=with_tags)
    pairing = every.within(*span)
    causes = causes_of(every, live, backtest, window, terms.slots)
    total_live, total_backtest = pairing.live, pairing.backtest
    unmatched = [
        *(_unmatched("live", trade, causes) for trade in pairing.live_only),
        *(_unmatched("backtest", trade, causes) for trade in pairing.backtest_only),
    ]
    reasons = {
        name: "; ".join(words)
        for name, words in {
            "within": [usual_from] if _needs_usual(live, backtest, gaps) else [],
            "tags": [] if with_tags else ["one of the two tells no entry tag: trades are matched without"],
            "left_out": list(_left_out(every, pairing, span)),
            "instruments": list(_other_quotes(live, backtest)),
            "slot_taken": list(_limits(live, backtest, terms)),
            "knock_on": list(_knock_on(unmatched)),
            "open": list(_open(pairing)),
            "prices": list(_unsure(pairing)),
        }.items()
        if words
    }
    return DriftReport(
        live=total_live,
        backtest=total_backtest,
        difference=total_live - total_backtest,
        matched=len(pairing.pairs),
        lines=lines_of(pairing),
        live_only=_totals(row for row in unmatched if row.only == "live"),
        backtest_only=_totals(row for row in unmatched if row.only == "backtest"),
        pairs=[_pair(pair) for pair in pairing.pairs],
        unmatched=unmatched,
        by_tag=[_tag(tag, part) for tag, part in pairing.by_tag()],
        sensitivity=list(_sensitivity(pairing, window, with_tags=with_tags)),
        within=terms.within,
        start=format_instant(span.start),
        end=format_instant(span.end),
        reasons=reasons,
    )


def summary_of(agent: str, drift: DriftReport) -> DriftSummary:
    """The answer in a line: the totals and the line that adds most; `agent` is whom the backtest was read as."""
    lines = {} if drift.lines is None else dict(drift.lines)
    name = max(lines, key=lambda line: abs(lines[line]), default=None)
    largest = name if name is not None and lines[name] else None
    why = "live was the backtest" if lines else drift.reasons.get("lines", "")
    return DriftSummary(
        agent=agent,
        live=drift.live,
        backtest=drift.backtest,
        difference=drift.difference,
        matched=drift.matched,
        live_only=sum(row.only == "live" for row in drift.unmatched),
        backtest_only=sum(row.only == "backtest" for row in drift.unmatched),
        line=largest,
        amount=None if largest is None else lines[largest],
        reasons={} if largest is not None else dict.fromkeys(("line", "amount"), why),
    )


def _span(live: Witness, backtest: Witness, terms: DriftTerms) -> _Span | None:
    """The time asked for, else from the later first word of the two to the earlier last one."""
    if not (live.words and backtest.words):
        return None
    start = max(live.first, backtest.first) if terms.start is None else terms.start
    end = min(live.last, backtest.last) + 1 if terms.end is None else terms.end
    return _Span(start, end) if start < end else None


def _nothing(terms: DriftTerms, live: Witness, backtest: Witness) -> DriftReport:
    def span_text(side: Witness) -> str:
        return f"{format_instant(side.first)} to {format_instant(side.last)}" if side.words else "never"

    why = f"no time in common: live tells of {span_text(live)}, the backtest of {span_text(backtest)}"
    return DriftReport(
        live=None, backtest=None, difference=None, matched=0, lines=None, live_only=None, backtest_only=None,
        pairs=[], unmatched=[], by_tag=[], sensitivity=[], within=terms.within, start=None, end=None,
        reasons=dict.fromkeys(("live", "backtest", "difference", "lines", "live_only", "backtest_only", "start", "end"), why),
    )  # fmt: skip


def _usual_gap(gaps: Mapping[str, int], trades: Sequence[ComparedTrade]) -> tuple[int, str]:
    """What stands for the candles of an instrument without marks, and the sentence that says so."""
    if gaps:
        usual = sorted(gaps.values())[len(gaps) // 2]
        return usual, f"where an instrument has no marks, candles of {usual / _MINUTE:g} min as others have"
    entries = sorted({trade.opened_at for trade in trades})
    step = reduce(gcd, (later - entries[0] for later in entries[1:]), 0)
    if len(entries) >= _ENOUGH and step >= _MINUTE:
        step = min(step, HOUR)  # entries far apart show no candle
        return step, f"no marks: candles of {step / _MINUTE:g} min, on which all entries of the backtest lie"
    return _USUAL_CANDLE, "no marks, and the entries of the backtest show no candles: 5 min stand for one"


def _needs_usual(live: Witness, backtest: Witness, gaps: Mapping[str, int]) -> bool:
    return any(trade.instrument not in gaps for trade in (*live.trades, *backtest.trades))


def _unmatched(only: str, trade: ComparedTrade, causes: Mapping[tuple[str, str], Cause]) -> UnmatchedTrade:
    cause = causes[only, trade.name]
    return UnmatchedTrade(
        only="live" if only == "live" else "backtest",
        trade=trade.name,
        instrument=trade.instrument,
        side=trade.side,
        tag=trade.tag,
        entry_at=format_instant(trade.opened_at),
        pnl=trade.pnl,
        cause=cause.name,
        knock_on=list(cause.knock_on),
    )


def _totals(rows: Iterable[UnmatchedTrade]) -> DriftCauses:
    """By cause, as what they add to live less backtest."""
    amounts: dict[DriftCause, list[float]] = {name: [] for name in get_args(DriftCause)}
    for row in rows:
        amounts[row.cause].append(row.pnl if row.only == "live" else -row.pnl)
    return DriftCauses(
        **{name: CauseTotal(n=len(parts), amount=fsum(parts)) for name, parts in amounts.items()}
    )


def _pair(pair: TradePair) -> DriftPair:
    live, other = pair
    return DriftPair(
        live=live.name,
        backtest=other.name,
        instrument=live.instrument,
        side=live.side,
        tag=live.tag,
        entry_at=format_instant(live.opened_at),
        entry_delay_s=(live.opened_at - other.opened_at) / SECOND,
        live_exit=live.exit_reason,
        backtest_exit=other.exit_reason,
        difference=live.pnl - other.pnl,
        **pair.lines._asdict(),
    )


def _tag(tag: str, part: Pairing) -> DriftTag:
    live, backtest = part.live, part.backtest
    return DriftTag(
        tag=tag,
        matched=len(part.pairs),
        live_only=len(part.live_only),
        backtest_only=len(part.backtest_only),
        live=live,
        backtest=backtest,
        difference=live - backtest,
        lines=lines_of(part),
    )


def _sensitivity(pairing: Pairing, window: MatchingWindow, *, with_tags: bool) -> Iterator[DriftSensitivity]:
    """The trades compared, matched within other windows: the totals stay, what stands on which line does not."""
    live = [*(pair.live for pair in pairing.pairs), *pairing.live_only]
    backtest = [*(pair.backtest for pair in pairing.pairs), *pairing.backtest_only]
    for factor in SENSITIVITY:
        tried = replace(window, within=factor * window.within)
        part = paired(live, backtest, tried, with_tags=with_tags)
        yield DriftSensitivity(within=tried.within, matched=len(part.pairs), lines=lines_of(part))


def _left_out(every: Pairing, chosen: Pairing, span: _Span) -> Iterator[str]:
    """Trades of the time compared that can be in no sum, with their partners; trades of another time."""
    why = Counter(
        trade.unfit or "its partner can be in no sum"
        for pair in every.pairs
        for trade in pair
        if (pair.live.unfit or pair.backtest.unfit) and span.start <= pair.live.opened_at < span.end
    )
    alone = (*every.live_only, *every.backtest_only)
    why += Counter(trade.unfit for trade in alone if trade.unfit and span.start <= trade.opened_at < span.end)
    yield from (f"{count(n, 'trade')} left out: {words}" for words, n in sorted(why.items()))
    of_all = 2 * len(every.pairs) + len(alone)
    inside = 2 * len(chosen.pairs) + len(chosen.live_only) + len(chosen.backtest_only)
    if beyond := of_all - inside - why.total():
        yield f"{count(beyond, 'trade')} entered before or after the time compared"


def _other_quotes(live: Witness, backtest: Witness) -> Iterator[str]:
    """The same thing traded against another currency is another instrument, and nothing of it is matched."""
    ours, theirs = ({trade.instrument for trade in side.trades} for side in (live, backtest))
    for instrument in sorted(ours - theirs):
        base, _ = base_and_quote(instrument)
        if twins := sorted(other for other in theirs - ours if base_and_quote(other)[0] == base):
            yield f"live trades {instrument}, the backtest {', '.join(twins)}: other instruments, not matched"


def _limits(live: Witness, backtest: Witness, terms: DriftTerms) -> Iterator[str]:
    """How many trades each side may hold, and where that comes from."""
    if terms.slots is not None:
        yield f"live may hold {terms.slots} at once, as you say"
    for name, side, other in (("live", live, backtest), ("the backtest", backtest, live)):
        if side is live and terms.slots is not None:
            continue
        limit = limit_of(side, other)
        if limit is None:
            yield f"how many trades {name} may hold does not show: it came to {side.life.most} at once, not often enough to be a limit"
        else:
            yield f"{name} is taken to hold {limit} at most: more it never held"


def _knock_on(rows: Sequence[UnmatchedTrade]) -> Iterator[str]:
    n = sum(bool(row.knock_on) for row in rows)
    if n:
        yield f"{n} of {count(len(rows), 'unmatched trade')} met a slot that another difference held: they follow from it (`knock_on`)"


def _unsure(pairing: Pairing) -> Iterator[str]:
    """Assets whose price cannot be relied on, in which trades that are compared paid or received something."""
    assets = Counter(asset for trade in pairing.trades for asset in trade.unsure)
    yield from (
        f"no fresh mark prices {asset}, in {count(n, 'trade')}" for asset, n in sorted(assets.items())
    )


def _open(pairing: Pairing) -> Iterator[str]:
    live = sum(trade.closed_at is None for trade in (*(p.live for p in pairing.pairs), *pairing.live_only))
    other = sum(
        trade.closed_at is None for trade in (*(p.backtest for p in pairing.pairs), *pairing.backtest_only)
    )
    if live or other:
        yield f"held at the end, at the mark: {live} of live's, {other} of the backtest's"

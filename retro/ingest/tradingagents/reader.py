"""TradingAgents: decisions with their prose, the claim each makes of a ticker's return, and what came of it.

There are no fills, sizes or times of day: a date is the close of its market, at 16:00 in the zone that is named. A
reflection is written when the return is known: it stands with the resolution and is nobody's reason.

Source: tradingagents/agents/utils/memory.py and graph/trading_graph.py of TauricResearch/TradingAgents (research, 1.3).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from retro.errors import InputError
from retro.ingest.batches import BatchWriter
from retro.ingest.prose import prose
from retro.ingest.source import magic
from retro.ingest.times import Clock
from retro.ingest.tradingagents.entries import END, memory_entries, state_entries
from retro.ingest.tradingagents.ratings import ACTIONS, DIRECTIONS
from retro.journal import quote
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from retro.ingest.sample import SourceSample
    from retro.ingest.tradingagents.entries import RatedEntry
    from retro.model import Batch

__all__ = ["read", "sniff"]

_CLOSE: Final = time(16)
_DAYS: Final = 5
"""Trading days after which a decision is looked back on."""
_MEMORY: Final = "*memory*.md"
_STATES: Final = "*full_states_log*.json"


def sniff(sample: SourceSample) -> str | None:
    """Why this is TradingAgents', in a few words; None where it is not."""
    if sample.is_folder:
        named = {"TradingAgentsStrategy_logs", "trading_memory.md"} & set(sample.names)
        logs = [name for name in sample.names if "full_states_log" in name]
        return "a folder with logs of TradingAgents" if named or logs else None
    if END in sample.text and " | " in sample.text.partition("\n")[0]:
        return "entries that end with ENTRY_END, as TradingAgents' memory log has them"
    if '"company_of_interest"' in sample.text and '"trade_date"' in sample.text:
        return "a state with company_of_interest, as TradingAgents logs it"
    return None


def read(paths: Sequence[Path], *, agent: str | None, zone: str | None, now: int) -> Iterator[Batch]:
    """Decisions, predictions and resolutions of memory logs and state logs, as one agent's."""
    writer = BatchWriter(str(paths[0]), now)
    life = _Life(writer, agent or "tradingagents", Clock(zone, str(paths[0])))
    count = 0
    for file in _files(paths):
        writer.where = str(file)
        for entry in memory_entries(file) if file.suffix == ".md" else state_entries(file):
            if isinstance(entry, tuple):
                line, reason = entry
                writer.fault(reason, line)
                continue
            count += 1
            life.take(entry)
            if writer.full:
                yield writer.batch()
    if not count:
        batch = writer.batch()
        why = f" ({batch.faults[0].reason})" if batch.faults else ""
        raise InputError(
            f"{paths[0]} holds no decision of TradingAgents; name its trading_memory.md or results folder{why}"
        )
    life.end()
    yield writer.batch()


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Memory logs first: of a decision that both tell, theirs is the one with its return."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += [
                file
                for pattern in (_MEMORY, _STATES)
                for file in sorted(path.rglob(pattern))
                if file.is_file()
            ]
        else:
            magic(str(path))
            files.append(path)
    yield from sorted(dict.fromkeys(files), key=lambda file: file.suffix != ".md")


class _Life:
    """Writes the entries of one agent."""

    def __init__(self, writer: BatchWriter, agent: str, clock: Clock) -> None:
        self._writer, self._agent, self._clock = writer, agent, clock
        self._names: set[str] = set()
        self._resolved: set[str] = set()
        self._unknown: Counter[str] = Counter()
        writer.base_currency(agent, "USD")

    def take(self, entry: RatedEntry) -> None:
        """A decision and its claim, once; its return when it is known."""
        if entry.rating not in ACTIONS:
            self._unknown[entry.rating or "(none stated)"] += 1
            return
        digest = hashlib.sha256(entry.prose.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = f"{entry.ticker}-{entry.day}-{digest}"
        if name not in self._names:
            self._names.add(name)
            self._decision(entry, name)
        if entry.outcome and name not in self._resolved:
            self._resolved.add(name)
            self._resolution(entry, name)

    def end(self) -> None:
        """What was left out, counted."""
        for word, count in sorted(self._unknown.items()):
            self._writer.notice(f"{self._agent}: unknown ratings, left out: {count} x {quote(word)}")
        self._writer.notice(
            f"{self._agent}: there are no fills in these logs: decisions and forecasts are judged, no money is"
        )

    def _decision(self, entry: RatedEntry, name: str) -> None:
        at = self._close(entry.day)
        self._writer.event(
            "decision", name, self._agent, at, line=entry.line, action=ACTIONS[entry.rating or ""],
            instrument=entry.ticker, strategy="TradingAgents", cites=[entry.rating],
            reasoning=prose(entry.prose) or None,
        )  # fmt: skip
        self._writer.event(
            "prediction", name, self._agent, at, line=entry.line, decision=name, category="return",
            item=entry.ticker, target_at=format_instant(self._close(_later(entry.day, _DAYS))), unit="fraction",
            predicted=None, source="rating",
        )  # fmt: skip

    def _resolution(self, entry: RatedEntry, name: str) -> None:
        outcome = entry.outcome
        if outcome is None:
            return
        at = self._close(outcome.resolved or _later(entry.day, outcome.days))
        direction = DIRECTIONS[entry.rating or ""]
        judged = direction != 0 and outcome.raw != 0
        self._writer.event(
            "resolution", name, self._agent, at, line=entry.line, prediction=name,
            actual=float(outcome.raw), correct=(outcome.raw > 0) == (direction > 0) if judged else None,
            alpha=float(outcome.alpha) if outcome.alpha is not None else None,
            reflection=prose(outcome.reflection) or None,
        )  # fmt: skip

    def _close(self, day: date) -> int:
        return self._clock.instant(datetime.combine(day, _CLOSE))


def _later(day: date, count: int) -> date:
    """So many weekdays after a date; holidays are not known."""
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < 5
    return day

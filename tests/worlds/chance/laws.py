"""The laws that every life obeys, whatever happened in it, and the search for one that breaks them.

`figures` holds reviews to the ledger of balances: closure, days and weeks, positions and wallet. `bytes_alike` tells the
same life in pieces, in another order, beside a neighbour, and asks for the same documents.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Any

from retro.app.intake.ingest import IngestTerms, ingest
from retro.ingest.journal import reader as journal
from retro.model import Batch
from retro.periods import format_instant, parse_instant
from retro.report import dump
from retro.report.lines import COMPONENTS, SIGNS
from retro.store.database import Store, open_store
from tests.worlds.chance.market import ZERO, micros
from tests.worlds.chance.world import WorldFacts, lines_of
from tests.worlds.lives import LATER, position, report, settings_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from retro.report import RetrospectiveReport
    from tests.worlds.chance.ledger import Ledger
    from tests.worlds.chance.market import Event

NEAR = 1e-9
TOTAL = "the total is what the balances moved by"
STATED = "what is stated beyond the events is unattributed"
WALLET = "positions, wallet, costs and income add up to the total"
EQUITY = "equity is balances at marks"
CLOSURE = "the components add up to the total"
POSITION = "a position makes what its balances move by"
LIFE = "a position's own attribution is its pnl"
DAYS = "a longer period is the sum of its days"
EARLY = "a day says what it said when it was over"
BYTES = "same facts, same bytes"
FINITE = "every figure is a number or absent"
LAWS = (TOTAL, STATED, WALLET, EQUITY, CLOSURE, POSITION, LIFE, DAYS, EARLY, BYTES, FINITE)


@dataclass(frozen=True)
class Breach:
    """A law, where it was broken, and by how much."""

    law: str
    where: str
    got: object
    expected: object

    def __str__(self) -> str:
        return f"{self.law}: {self.where}: got {self.got}, expected {self.expected}"


def tell(store: Store, world: WorldFacts, events: list[Event], name: str, replace: str | None = None) -> None:
    """Ingest a piece of a journal."""
    batches = journal.read(io.BytesIO(lines_of(events)), name, now=LATER)
    done = ingest(store, name, batches, settings_for(world.configuration), IngestTerms(replace=replace))
    if not done.clean:
        raise AssertionError(f"seed {world.seed}: {done.faults[:2]} {done.conflicts[:2]}")


def whole(world: WorldFacts, path: Path) -> Store:
    """A database that was told everything at once."""
    store = open_store(str(path))
    ingest(store, "candles", [Batch(marks=world.shared)], settings_for(world.configuration))
    tell(store, world, world.events, "w.jsonl")
    return store


def reviewed(store: Store, world: WorldFacts, horizon: Any, at: int) -> RetrospectiveReport:
    """A review of the world's agent."""
    return report(store, world.agent, horizon, at=at, configuration=world.configuration)


def every_review(store: Store, world: WorldFacts) -> dict[str, RetrospectiveReport]:
    """The days, the weeks and epochs that they lie in, and a span from no hour to no other."""
    found = {}
    some = {world.days[0], world.days[len(world.days) // 2], world.days[-2]}
    for start in world.days[:-1]:
        for horizon in ("daily", "weekly", "epoch") if start in some else ("daily",):
            document = reviewed(store, world, horizon, start)
            found[document.id] = document
    rng = random.Random(world.seed)
    edges = sorted(rng.randint(world.days[0], world.days[-1]) for _ in range(2))
    if edges[0] < edges[1]:
        span = (edges[0], edges[1])
        found["span"] = report(store, world.agent, span=span, configuration=world.configuration)
    return found


# figures against balances


def figures(world: WorldFacts, reviews: Mapping[str, RetrospectiveReport]) -> list[Breach]:
    """Every law of sums on every review of a world."""
    ledger = world.ledger
    breaches: list[Breach] = []
    size = float(1 + sum(abs(m.quantity * m.price) for p in ledger.positions.values() for m in p.moves))
    size += float(sum(abs(value) for _, value in ledger.owner))
    for name, document in reviews.items():
        start, end = parse_instant(document.period_start), parse_instant(document.period_end)
        breaches += [
            Breach(law, f"{name} {where}".strip(), got, expected)
            for law, where, got, expected in [*_sums(document, ledger, start, end), _parts(document)]
            if not abs(got - expected) <= NEAR * size
        ]
        breaches += _positions(document, ledger, start, end, NEAR * size)
    return breaches + _days(reviews, world)


def _between(ledger: Ledger, start: int, end: int) -> tuple[float, float]:
    """What equity moved by without the owner's money, and what statements say beyond it."""
    owner = sum(value for at, value in ledger.owner if start <= at < end)
    before, after = (ledger.equity(at) if at > ledger.birth else ZERO for at in (start, end))
    gap = ledger.gap(end) - ledger.gap(start)
    return float(after - before - owner), float(gap)


Row = tuple[str, str, float, float]
"""Law, where, what is said, what is right."""


def _sums(document: RetrospectiveReport, ledger: Ledger, start: int, end: int) -> list[Row]:
    pnl = document.pnl
    if _unpriced(ledger, start) or _unpriced(ledger, end):
        return []
    moved, gap = _between(ledger, start, end)
    unattributed = pnl.unattributed or 0.0
    made = sum((p.pnl(end) - p.pnl(start) for p in ledger.positions.values()), ZERO)
    outside = sum((v for at, v in ledger.incomes if start <= at < end), ZERO)
    outside -= sum((v for at, v in ledger.costs if start <= at < end), ZERO)
    rows = [
        (TOTAL, "", pnl.total - unattributed, moved),
        (STATED, "", unattributed, gap),
    ]
    rest = moved - float(made) - float(outside)
    rows.append((WALLET, "", pnl.wallet_pnl, rest))
    return rows + [
        (EQUITY, day.at, day.equity, float(ledger.equity(at)))
        for day in document.equity
        if day.equity is not None
        and (at := parse_instant(day.at)) > ledger.birth
        and not _unpriced(ledger, at)
    ]


def _unpriced(ledger: Ledger, at: int) -> bool:
    """Whether something stands in the books at what it cost: no balances say that."""
    return any(p.unpriced(at) for p in ledger.positions.values())


def _parts(document: RetrospectiveReport) -> Row:
    """The components add up."""
    pnl = document.pnl
    signed = [SIGNS[name] * getattr(pnl, name) for name in COMPONENTS]
    return CLOSURE, "", fsum([*signed, pnl.unattributed or 0.0]), pnl.total


def _positions(
    document: RetrospectiveReport, ledger: Ledger, start: int, end: int, near: float
) -> list[Breach]:
    """Each position's money of the period, and of its life; none of what nothing prices."""
    breaches = []
    for p in document.positions:
        truth = ledger.positions[p.position_id]
        if truth.unpriced(end):
            got = [figure for figure in (p.period_pnl, p.final_pnl) if figure is not None]
            breaches += [Breach(POSITION, f"{document.id} {p.position_id}", figure, None) for figure in got]
            continue
        rows: list[tuple[str, float | None, float | None]] = [(LIFE, p.attribution.total, p.final_pnl)]
        if not truth.unpriced(start):
            rows.append((POSITION, p.period_pnl, float(truth.pnl(end) - truth.pnl(start))))
        if p.exit_at is None or parse_instant(p.exit_at) < end:
            rows.append((POSITION, p.final_pnl, float(truth.pnl(end))))
        breaches += [
            Breach(law, f"{document.id} {p.position_id}", got, expected)
            for law, got, expected in rows
            if got is None or expected is None or not abs(got - expected) <= near
        ]
    return breaches


def _days(reviews: Mapping[str, RetrospectiveReport], world: WorldFacts) -> list[Breach]:
    """Weeks and epochs are the sums of their days, to the last bit."""
    first, last = format_instant(world.days[0]), format_instant(world.days[-1])
    days = {d.period_start: d.pnl for d in reviews.values() if d.horizon == "daily"}
    breaches = []
    for name, document in reviews.items():
        start, end = document.period_start, document.period_end
        if document.horizon not in {"weekly", "epoch"} or not first <= start <= end <= last:
            continue
        inside = [pnl for day, pnl in days.items() if start <= day < end]
        for line in (*COMPONENTS, "total"):
            got, expected = getattr(document.pnl, line), fsum(getattr(pnl, line) for pnl in inside)
            if got != expected:
                breaches.append(Breach(DAYS, f"{name} {line}", got, expected))
    return breaches


# the same bytes


def documents(store: Store, world: WorldFacts, reviews: Mapping[str, RetrospectiveReport]) -> dict[str, str]:
    """Everything that is printed of a life."""
    out = {name: dump(document) for name, document in reviews.items()}
    for name in sorted({e["position"] for e in world.events if e["type"] == "position"}):
        out[f"position {name}"] = dump(position(store, world.agent, name, world.configuration))
    return out


@dataclass
class Pieces:
    """How a life is told a second time: its pieces, when the shared marks come, and what days said as they ended."""

    world: WorldFacts
    store: Store
    early: dict[str, float] = field(default_factory=dict)

    def tell(self) -> None:
        """In another order, in overlapping pieces, reviewed in between, beside a neighbour, some of it first told wrong."""
        world, rng = self.world, random.Random(self.world.seed + 1)
        events, jumbled = world.events[:], rng.random() < 0.6
        if jumbled:
            rng.shuffle(events)
        else:
            events.sort(key=lambda event: event["at"])
        edges = sorted({0, len(events), *(rng.randint(0, len(events)) for _ in range(rng.randint(1, 4)))})
        pieces = [events[max(0, a - rng.choice((0, 3))) : b] for a, b in pairwise(edges)]
        marks_at = rng.randrange(len(pieces)) if jumbled else 0
        if world.neighbours:
            tell(self.store, world, world.neighbours, "neighbour.jsonl")
        for i, piece in enumerate(pieces):
            if i == marks_at:
                ingest(self.store, "candles", [Batch(marks=world.shared)], settings_for(world.configuration))
            wrong = [altered(event) for event in piece if rng.random() < 0.05]
            tell(self.store, world, [e for e in wrong if e], f"wrong-{i}.jsonl", replace="told wrong first")
            tell(self.store, world, piece, f"piece-{i}.jsonl", replace="told right")
            if not jumbled:
                self._note(micros(piece[-1]))
            elif rng.random() < 0.5:
                reviewed(self.store, world, "weekly", world.days[rng.randrange(len(world.days))])

    def _note(self, now: int) -> None:
        """What the last day that is over says while it is the last; all that is of its last instant has been told."""
        start = next((a for a, b in reversed(list(pairwise(self.world.days))) if b < now), None)
        if start is not None:
            day = reviewed(self.store, self.world, "daily", start)
            self.early[day.id] = day.pnl.total - (day.pnl.unattributed or 0.0)

    def changed(self, reviews: Mapping[str, RetrospectiveReport]) -> list[Breach]:
        """Days that say something else once more is known, although all their prices were there."""
        market, birth = self.world.ledger.market, self.world.ledger.birth
        if any(times[0] > birth for times in market.times.values()):
            return []
        rows = [(name, reviews[name].pnl, total) for name, total in self.early.items()]
        return [
            Breach(EARLY, name, pnl.total - (pnl.unattributed or 0.0), total)
            for name, pnl, total in rows
            if not abs(pnl.total - (pnl.unattributed or 0.0) - total) <= 1e-6
        ]


def altered(event: Event) -> Event:
    """An event as it was told by mistake; an empty one where a mistake would be remembered."""
    if event["type"] == "fill":
        return {**event, "price": str(float(event["price"]) * 1.01)}
    if event["type"] in {"cost", "external"} and event.get("quantity") is not None:
        return {**event, "quantity": str(float(event["quantity"]) * 1.5)}
    return {}


def bytes_alike(one: Mapping[str, str], other: Mapping[str, str]) -> list[Breach]:
    """Two databases with the same facts print the same, and print numbers."""
    breaches = [
        Breach(BYTES, name, *difference(text, other.get(name, "")))
        for name, text in one.items()
        if text != other.get(name)
    ]
    wild = [name for name, text in one.items() if "NaN" in text or "Infinity" in text]
    return breaches + [Breach(FINITE, name, "NaN", "") for name in wild]


def difference(one: str, other: str) -> tuple[str, str]:
    """The first place at which two documents differ."""
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return one[max(0, at - 60) : at + 60], other[max(0, at - 60) : at + 60]


def broken(
    world: WorldFacts, folder: Path, *, pieces: bool = True, url: str | None = None, sense: bool = True
) -> list[Breach]:
    """The laws that a world breaks; with `pieces` it is told a second time, in the database of `url` or in a file.

    Without `sense` no ledger says what it comes to: parts, days and bytes are held to their laws.
    """
    first = whole(world, folder / f"{world.seed}.db")
    reviews = every_review(first, world)
    breaches = figures(world, reviews) if sense else _days(reviews, world)
    if pieces:
        second = Pieces(world, open_store(url or str(folder / f"{world.seed}-pieces.db")))
        second.tell()
        again = every_review(second.store, world)
        breaches += second.changed(again) if sense else []
        breaches += bytes_alike(documents(first, world, reviews), documents(second.store, world, again))
        second.store.close()
    first.close()
    return breaches

"""One step of a symbol's layers in the store: the kernel of `layers.step` between a read and a write of one transaction.

What a step cleans up goes into the archive with its reason; nothing is deleted. A step told again changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from memory.errors import ConflictError, DamagedError, MissingError, RefusedError
from memory.instants import written
from memory.library.layers.columns import LayerColumns, LayerState
from memory.library.layers.content import IMPORTANCE_PARTS, stated_importance
from memory.library.layers.preset import LAYERS
from memory.library.layers.step import Feedback, step
from memory.library.texts import pack_texts
from memory.store import archives
from memory.store import layers as rows
from memory.store import library as items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from memory.library.layers.preset import LayerPreset
    from memory.store.layers import StoredState

__all__ = [
    "Addition",
    "LayerFlow",
    "LayerStanding",
    "LayersReport",
    "SteppedLayers",
    "archive_texts",
    "layer_flow",
    "layers",
    "step_layers",
]

_STEP, _FEEDBACK = "step", "feedback"
_AT: Final = 3
"""The place of an item's instant in a row of `fresh_states`."""


@dataclass(frozen=True, slots=True)
class Addition:
    """An item of the library that comes into a layer with a step; `importance` None: what it states, or the preset's."""

    id: str
    layer: str
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class SteppedLayers:
    """What one step did; `unchanged`: it had been taken before. `items` are left in the layers of the symbol."""

    agent: str
    symbol: str
    at: int
    preset: str
    added: int
    moved_up: int
    moved_down: int
    cleaned: int
    feedback: int
    skipped: int
    items: int
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class LayerStanding:
    """How a layer stands: how many items, their means (None where there is none), the age of the oldest in steps."""

    items: int
    mean_importance: float | None
    mean_recency: float | None
    oldest_delta: int | None


@dataclass(frozen=True, slots=True)
class LayerFlow:
    """What all steps so far did, and shares of it a step; None before the first."""

    steps: int
    added: int
    moved_up: int
    moved_down: int
    cleaned: int
    feedback: int
    skipped: int
    up_per_step: float | None
    down_per_step: float | None
    cleaned_per_step: float | None


@dataclass(frozen=True, slots=True)
class LayersReport:
    """The layers of an agent, of one symbol or all, and what flowed between them."""

    layers: dict[str, LayerStanding]
    flow: LayerFlow

    def document(self) -> dict[str, Any]:
        """Layer by layer, and `flow` beside them."""
        return {
            **{name: asdict(standing) for name, standing in self.layers.items()},
            "flow": asdict(self.flow),
        }


_FLOWS: Final = ("added", "moved_up", "moved_down", "cleaned", "feedback", "skipped")


def step_layers(
    conn: Connection,
    agent: str,
    symbol: str,
    *,
    at: int,
    preset: LayerPreset,
    additions: Sequence[Addition] = (),
    feedback: Iterable[Feedback] = (),
) -> SteppedLayers:
    """Take the symbol's layers one trading day on, by what was known at `at`. The caller owns the transaction.

    Raises `ConflictError` for a step before the last one, `MissingError` for an addition that is no item.
    """
    now = items.lock(conn, agent)
    last = rows.latest(conn, agent, symbol, _STEP)
    if last is not None and last.at == at:
        return _earlier(agent, last)
    if last is not None and last.at > at:
        raise ConflictError(
            f"{symbol or 'no symbol'} has stepped to {written(last.at)}; a step goes forward only"
        )
    mentions = list(feedback)
    aged = rows.aged_states(conn, agent, symbol)
    fresh = rows.fresh_states(conn, agent, symbol, at, f'"{IMPORTANCE_PARTS}"')
    begins = _Beginning(preset, f"{agent}\0{symbol}")
    if additions:
        known = [row for row in fresh if last is not None and row[_AT] <= last.at]
        begun = _additions(conn, agent, at, additions, {row[0] for row in (*aged, *known)}, begins)
        fresh = [row for row in fresh if row[0] not in begun]
    else:
        begun = {}
    present = LayerColumns.of_rows(aged) + begins.columns(fresh)
    done = step(present, list(begun.values()), mentions, preset)
    rows.drop_states(conn, agent, [*begun, *done.cleaned.ids])
    staying = begun.keys() & set(done.items.ids)
    items.begin_layers(
        conn, agent, [{"id": name, "symbol": symbol, "layer": begun[name].layer} for name in sorted(staying)]
    )
    rows.update_states(conn, agent, done.items.columns())
    reasons = {state.id: _reason(state, preset) for state in done.cleaned.states()}
    archive_texts(conn, agent, at, reasons)
    archives.use(conn, agent, sorted({mention.id for mention in mentions}), at)
    told_since = sum(last is None or row[_AT] > last.at for row in fresh)
    outcome = SteppedLayers(
        agent, symbol, at, preset.name, done.added + told_since, done.moved_up, done.moved_down,
        len(reasons), done.feedback, done.skipped, len(done.items.ids),
    )  # fmt: skip
    _note(conn, outcome, mentions)
    items.changed(conn, agent, now, _STEP, symbol, str(at))
    return outcome


def _additions(
    conn: Connection,
    agent: str,
    at: int,
    additions: Sequence[Addition],
    settled: Collection[str],
    begins: _Beginning,
) -> dict[str, LayerState]:
    repeated = next((addition.id for addition in additions if addition.id in settled), None)
    if repeated is not None:
        raise RefusedError(f"item {repeated} is in a layer already")
    stored = items.rows(conn, agent, [addition.id for addition in additions])
    begun: dict[str, LayerState] = {}
    for addition in additions:
        row = stored.get(addition.id)
        if row is None:
            raise MissingError(f"no item {addition.id!r} in the library of {agent or 'all'}: add it first")
        if row.at > at:
            raise RefusedError(f"item {addition.id} is of {written(row.at)}, after the step")
        if row.archive is not None:
            raise RefusedError(f"item {addition.id} lies in the archive: restore it first")
        if addition.id in begun:
            raise RefusedError(f"item {addition.id} is in a layer already")
        importance = addition.importance
        if importance is None:
            importance = begins.importance(addition.id, addition.layer, row.document)
        begun[addition.id] = LayerState(addition.id, addition.layer, importance)
    return begun


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What items begin with: what their content is worth by their own word, else the preset's start of their layer."""

    preset: LayerPreset
    seed: str

    def importance(self, identity: str, layer: str, document: str | None) -> float:
        """Of one item; `document` None: it states nothing of its worth."""
        if document is not None:
            stated = stated_importance(msgspec.json.decode(document).get("metadata") or {})
            if stated is not None:
                return stated
        return self.preset.start_importance(LAYERS.index(layer), identity, self.seed)

    def columns(self, fresh: Sequence[Sequence[Any]]) -> LayerColumns:
        """Rows of `fresh_states` as items that nothing has aged."""
        ids, layers, told, _, documents = zip(*fresh, strict=True) if fresh else ((),) * 5
        importance = [
            self.importance(identity, layer, document) if told is None else told
            for identity, layer, told, document in zip(ids, layers, told, documents, strict=True)
        ]
        return LayerColumns.unaged(ids, layers, importance)


def _reason(state: LayerState, preset: LayerPreset) -> str:
    code = LAYERS.index(state.layer)
    if state.importance < preset.clean_importance[code]:
        return f"importance {state.importance:.2f} below {preset.clean_importance[code]:g} in {state.layer}"
    return f"recency {state.recency:.4f} below {preset.clean_recency[code]:g} in {state.layer}"


def archive_texts(conn: Connection, agent: str, at: int, reasons: Mapping[str, str]) -> None:
    """Put items away, each with its reason, their texts in one compressed block; those that lie there already stay."""
    stored = items.rows(conn, agent, sorted(reasons))
    texts = {row.id: row.text for row in stored.values() if row.text is not None}
    if not texts:
        return
    number = archives.next_number(conn, agent)
    crc, data = pack_texts(texts)
    archives.put(conn, agent, number, at, len(texts), crc, data)
    by_reason: dict[str, list[str]] = {}
    for identity in sorted(texts):
        by_reason.setdefault(reasons[identity], []).append(identity)
    for reason, ids in by_reason.items():
        archives.move_in(conn, agent, ids, number, at, reason)


def _note(conn: Connection, outcome: SteppedLayers, mentions: Sequence[Feedback]) -> None:
    signs: dict[str, int] = {}
    for mention in mentions:
        signs[mention.id] = signs.get(mention.id, 0) + mention.sign
    figures = {name: getattr(outcome, name) for name in ("preset", *_FLOWS, "items")}
    events = [rows.LayerEvent(outcome.symbol, outcome.at, _STEP, "", _json(figures))]
    events += [
        rows.LayerEvent(outcome.symbol, outcome.at, _FEEDBACK, name, _json({"sign": (sign > 0) - (sign < 0)}))
        for name, sign in sorted(signs.items())
    ]
    rows.note(conn, outcome.agent, events)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _figures(event: rows.LayerEvent) -> dict[str, Any]:
    try:
        figures: dict[str, Any] = msgspec.json.decode(event.document)
    except msgspec.MsgspecError as error:
        raise DamagedError(
            f"the step of {event.symbol} at {written(event.at)} cannot be read: {error}"
        ) from error
    return figures


def _earlier(agent: str, event: rows.LayerEvent) -> SteppedLayers:
    return SteppedLayers(agent=agent, symbol=event.symbol, at=event.at, unchanged=True, **_figures(event))


def layers(conn: Connection, agent: str, symbol: str | None = None) -> LayersReport:
    """How the agent's layers stand now, of one symbol or of all, and what the steps so far did."""
    symbols = rows.symbols(conn, agent) if symbol is None else [symbol]
    states = [row for name in symbols for row in rows.states_of(conn, agent, name)]
    return LayersReport(
        {name: _standing([row for row in states if row.layer == name]) for name in LAYERS},
        layer_flow(conn, agent, symbol),
    )


def layer_flow(conn: Connection, agent: str, symbol: str | None = None) -> LayerFlow:
    """What the steps of a symbol's layers so far did, or those of all symbols."""
    return _flow([_figures(event) for event in rows.events(conn, agent, _STEP, symbol)])


def _standing(states: Sequence[StoredState]) -> LayerStanding:
    begun = [row.importance for row in states if row.importance is not None]
    if not states:
        return LayerStanding(0, None, None, None)
    return LayerStanding(
        len(states),
        float(np.mean(begun)) if begun else None,
        float(np.mean([row.recency for row in states])),
        max(row.delta for row in states),
    )


def _flow(steps: Sequence[Mapping[str, Any]]) -> LayerFlow:
    sums = {name: sum(int(figures[name]) for figures in steps) for name in _FLOWS}

    def rate(name: str) -> float | None:
        return sums[name] / len(steps) if steps else None

    return LayerFlow(len(steps), **sums, up_per_step=rate("moved_up"), down_per_step=rate("moved_down"), cleaned_per_step=rate("cleaned"))  # fmt: skip

"""Recall: what happened when I was in a situation like this.

Score = Q * Sim * Rec * Conf * Aff * boost over every candidate in one vectorised pass; nothing is filtered out before
ranking except what was not asked for and what was not known yet. Source: docs/memory.md, Formulas: Scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memory.episodic import cache
from memory.episodic.episode import from_document
from memory.episodic.factors import affect, boost, quality, recency, scale_at, sharpe_weight
from memory.episodic.results import drawdown_state, results_of, streaks
from memory.errors import RefusedError
from memory.experience.hindsight import remembered, retrospectives
from memory.experience.markers import markers_of, usual_outcome
from memory.retrieval.candidates import belief_hits, plan_hits
from memory.retrieval.hit import Filters, Hit
from memory.retrieval.reasons import episode_reason
from memory.settings import STANDARD, Settings
from memory.situation.context import MISSING_CODE, checked, code, similarity
from memory.store import ledger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from memory.episodic.columns import EpisodeColumns
    from memory.situation.context import Codes, Context, Floats

TYPES: Final = ("episode", "belief", "plan")
LOSS_SHARE: Final = 0.20
_CHUNKS: Final = 16
_EVERYTHING: Final = Filters()


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Candidate episodes: their places in the columns, ascending, with `score` and `sim` of the same shape."""

    places: Codes
    score: Floats
    sim: Floats


def recall(
    conn: Connection,
    agent: str,
    context: Context,
    *,
    as_of: int | None = None,
    k: int = 10,
    filters: Filters = _EVERYTHING,
    types: Sequence[str] = ("episode",),
    losses_first: bool = False,
    loss_floor: bool = False,
    by_likeness: bool = False,
    attributed: Mapping[str, float] | None = None,
    settings: Settings = STANDARD,
) -> list[Hit]:
    """The k most relevant memories for a situation, best first; ties by newer, then by id.

    `by_likeness`: episodes are chosen by how like their situation was, however they turned out, the most like first.

    `as_of` (default: the agent's newest episode or review) hides everything not known by then. `losses_first` puts every losing
    episode before the rest; `loss_floor` gives losses at least 20 % of the places while there are any. `attributed`: id of a
    memory -> a factor of its score, the component `Att`; 1 for those it does not name. Raises `RefusedError` for a context
    value of the wrong kind.
    """
    checked(settings.registry, context)
    unknown = sorted(set(types) - set(TYPES))
    if unknown or not types:
        raise RefusedError(f"types: choose among {', '.join(TYPES)}")
    if k < 1:
        raise RefusedError("k: must be at least 1")
    columns = cache.columns(conn, agent, settings.registry)
    instant = as_of if as_of is not None else columns.complete_at
    hits: list[Hit] = []
    if "episode" in types:
        scored = score(columns, context, as_of=instant, filters=filters, settings=settings)
        if attributed:
            scored = _attributed(conn, agent, columns, scored, attributed)
        ranked = replace(scored, score=scored.sim) if by_likeness else scored
        best = best_of(columns, ranked, k, losses_first=losses_first, loss_floor=loss_floor)
        hits = _hits(conn, agent, columns, scored, best, context, instant, settings)
    notions: list[Hit] = []
    if "belief" in types:
        notions += belief_hits(conn, agent, context, as_of, instant, filters, settings)
    if "plan" in types:
        notions += plan_hits(conn, agent, context, as_of, instant, filters, settings)
    if attributed is not None:
        hits = [_showing(hit, attributed) for hit in hits]
        notions = [
            replace(_showing(hit, attributed), score=hit.score * attributed.get(hit.id, 1.0))
            for hit in notions
        ]
    if notions:
        hits = sorted(
            [*hits, *notions], key=lambda hit: (losses_first and not hit.lost, -hit.score, -hit.at, hit.id)
        )
    return hits[:k]


def _attributed(
    conn: Connection, agent: str, columns: EpisodeColumns, scored: Scored, attributed: Mapping[str, float]
) -> Scored:
    """The scores times the factors of the episodes that are named."""
    numbers = columns.number[scored.places]
    weighted = scored.score.copy()
    for identity, number in ledger.numbers_of(conn, agent, sorted(attributed)).items():
        weighted[numbers == number] *= attributed[identity]
    return Scored(scored.places, weighted, scored.sim)


def _showing(hit: Hit, attributed: Mapping[str, float]) -> Hit:
    """The hit with its factor among the components."""
    return replace(hit, components={**hit.components, "Att": attributed.get(hit.id, 1.0)})


def score(
    columns: EpisodeColumns,
    context: Context,
    *,
    as_of: int,
    filters: Filters = _EVERYTHING,
    settings: Settings = STANDARD,
) -> Scored:
    """Score every episode known at `as_of` that the filters let through."""
    n = columns.until(as_of)
    prior = _prior(columns, n, as_of, settings)
    through = chosen(columns, n, filters, settings)
    if through is None:
        sim = similarity(settings.registry, context, [column[:n] for column in columns.context], n)
        return Scored(np.arange(n), prior * sim, sim)
    fields = [column[through] for column in columns.context]
    sim = similarity(settings.registry, context, fields, len(through))
    return Scored(through, prior[through] * sim, sim)


def chosen(columns: EpisodeColumns, n: int, filters: Filters, settings: Settings) -> Codes | None:
    """The places the filters let through, ascending; None: all of the first n."""
    asked = [
        (getattr(columns, name)[:n], getattr(filters, name))
        for name in ("strategy", "symbol", "direction")
        if getattr(filters, name) is not None
    ]
    if filters.regime is not None:
        asked.append((_category(columns, "regime", settings)[:n], filters.regime))
    if not asked:
        return None
    through = np.ones(n, dtype=np.bool_)
    for column, value in asked:
        through &= column == code(value)
    return np.flatnonzero(through)


def _category(columns: EpisodeColumns, name: str, settings: Settings) -> Codes:
    for position, field in enumerate(settings.registry.fields):
        if field.name == name and field.kind == "category":
            return columns.context[position]
    return np.full(len(columns), MISSING_CODE, dtype=np.int64)


def _prior(columns: EpisodeColumns, n: int, as_of: int, settings: Settings) -> Floats:
    """Everything but Sim, for the first n episodes; kept for the instant asked about last."""
    key = (n, as_of, settings.capital, settings.drawdown_limit, settings.sharpe_weight)
    cached_key, prior = columns.memo.get("prior", (None, None))
    if cached_key == key and prior is not None:
        return np.asarray(prior)
    parts = factors(columns, np.s_[:n], n, as_of, settings)
    total = parts.pop("Q")
    for part in parts.values():
        total *= part
    columns.memo["prior"] = (key, total)
    return total


def factors(
    columns: EpisodeColumns, at: slice | Codes, n: int, as_of: int, settings: Settings
) -> dict[str, Floats]:
    """The factors other than Sim of the chosen episodes, given the first n that were known at `as_of`."""
    r = columns.r[at]
    losing = streaks(results_of(columns)[:n])[1]
    parts = {
        "Q": quality(r, scale_at(columns, n)),
        "Rec": recency(columns.at[at], as_of),
        "Conf": columns.conf[at],
        "Aff": affect(r, drawdown_state(columns, n, settings), losing),
        "boost": boost(columns.judged[at], as_of),
    }
    if settings.sharpe_weight:
        parts["Sharpe"] = sharpe_weight(columns, n)[at]
    return parts


def best_of(
    columns: EpisodeColumns, scored: Scored, k: int, *, losses_first: bool = False, loss_floor: bool = False
) -> Codes:
    """Indices into `scored` of the k best, best first: by score, then newer, then id."""
    at = columns.at[scored.places]
    if not losses_first and not loss_floor:
        return top(scored.score, at, k)
    lost = results_of(columns)[scored.places] < 0
    losses, non_losses = np.flatnonzero(lost), np.flatnonzero(~lost)
    worst = losses[top(scored.score[losses], at[losses], k)]
    best_non_losses = non_losses[top(scored.score[non_losses], at[non_losses], k)]
    if losses_first:
        return np.concatenate((worst, best_non_losses))[:k]
    best = top(scored.score, at, k)
    need = min(len(worst), math.ceil(LOSS_SHARE * k))
    if np.count_nonzero(lost[best]) >= need:
        return best
    mixed = np.sort(np.concatenate((worst[:need], best_non_losses[: k - need])))
    return mixed[top(scored.score[mixed], at[mixed], k)]


def top(score: Floats, at: Codes, k: int) -> Codes:
    """Indices of the k largest scores, best first; ties by later `at`, then by position (`at` ascends)."""
    candidates = _promising(score, k)
    scores = score[candidates]
    if len(candidates) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = candidates[scores > least]
        level = candidates[scores == least]
        newest = at[level[len(level) - (k - len(above))]]
        candidates = np.concatenate((above, level[at[level] >= newest]))
    order = np.lexsort((candidates, -at[candidates], -score[candidates]))
    return np.asarray(candidates[order[:k]])


def _promising(score: Floats, k: int) -> Codes:
    """Ascending indices that surely include the k largest scores, ties of the k-th among them.

    The k-th largest of the maxima of disjoint chunks is a lower bound of the k-th largest score: one cheap pass
    leaves a handful to sort.
    """
    chunks = _CHUNKS * k
    width = len(score) // chunks
    if width < 2:
        return np.arange(len(score))
    maxima = score[: chunks * width].reshape(chunks, width).max(axis=1)
    return np.flatnonzero(score >= np.partition(maxima, chunks - k)[chunks - k])


def _hits(
    conn: Connection,
    agent: str,
    columns: EpisodeColumns,
    scored: Scored,
    best: Codes,
    context: Context,
    as_of: int,
    settings: Settings,
) -> list[Hit]:
    places = scored.places[best]
    numbers = [int(number) for number in columns.number[places]]
    episodes = {number: from_document(text) for number, text in ledger.numbered(conn, agent, numbers).items()}
    judged = bool(np.any(columns.judged[places] <= as_of))
    since = retrospectives(conn, agent, numbers, as_of) if judged else {}
    known = columns.until(as_of)
    parts = factors(columns, places, known, as_of, settings)
    usual = usual_outcome(columns, known, settings) if since else None
    hits = []
    for i, number in enumerate(numbers):
        episode, hindsight = episodes[number], since.get(number)
        components: dict[str, Any] = {"Q": float(parts["Q"][i]), "Sim": float(scored.sim[best[i]])}
        components |= {name: float(values[i]) for name, values in parts.items() if name != "Q"}
        marks = [] if hindsight is None else markers_of(episode, hindsight, usual)
        hits.append(
            Hit(
                id=episode.id,
                type="episode",
                score=float(scored.score[best[i]]),
                components=components,
                reason=episode_reason(episode, components, context, as_of, marks, settings.registry),
                amended=hindsight is not None,
                memory=remembered(episode, hindsight),
                at=episode.at,
                lost=episode.result is not None and episode.result < 0,
            )
        )
    return hits

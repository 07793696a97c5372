"""What the tests of the memory share: a database with its tables, episodes, and the definitions written out slowly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st

from memory import MIGRATIONS
from memory.instants import DAY, instant
from retro.store.database import Store, open_store

START = instant("2026-01-01T00:00:00Z")


@contextmanager
def experience(url: str) -> Iterator[Store]:
    """A store that holds the tables of the memory and nothing else."""
    store = open_store(url, components={"memory": tuple(step for _, step in MIGRATIONS)})
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def db(new_database_url: str) -> Iterator[Store]:
    """An empty memory in each kind of database."""
    with experience(new_database_url) as store:
        yield store


def raw_episode(identity: str, day: float = 0.0, **fields: Any) -> dict[str, Any]:
    """An episode as an agent tells it, `day` days after the start of 2026."""
    at = (START + round(day * DAY)) // 1000
    return {
        "id": identity,
        "agent": "ada",
        "at": at,
        "strategy": "breakout",
        "symbol": "ETH/USDC",
        "direction": "long",
        **fields,
    }


def many(size: int, first: int = 0, **fields: Any) -> list[dict[str, Any]]:
    """`size` different episodes, fifty a day, from the `first` of an endless row of them."""
    regimes = ("volatile", "ranging", "trending_up")
    return [
        raw_episode(
            f"e{i:05}",
            day=i / 50,
            pnl_r=((i * 7919) % 41 - 20) / 8,
            pnl=float((i * 104729) % 83 - 40),
            context={"regime": regimes[i % 3], "atr_d1": 10.0 + i % 17},
            **fields,
        )
        for i in range(first, first + size)
    ]


WEIGHTS = {
    "regime": 0.25,
    "volatility_regime": 0.15,
    "session": 0.10,
    "atr_d1": 0.15,
    "atr_h1": 0.10,
    "price": 0.10,
    "spread_as_atr_pct": 0.05,
}
BANDWIDTHS = {"atr_d1": 0.3, "atr_h1": 0.3, "price": 0.2, "spread_as_atr_pct": 0.5}


def slow_similarity(query: dict[str, Any], memory: dict[str, Any]) -> float:
    """docs/memory.md's similarity, field by field: the mean over shared fields times coverage."""
    shared = matched = asked = 0.0
    for name, weight in WEIGHTS.items():
        if query.get(name) is None:
            continue
        asked += weight
        if memory.get(name) is None:
            continue
        shared += weight
        if name in BANDWIDTHS:
            distance = math.log(query[name] / memory[name]) / math.log(1 + BANDWIDTHS[name])
            matched += weight * math.exp(-0.5 * distance**2)
        else:
            matched += weight * (query[name] == memory[name])
    return matched / shared * (shared / asked) if shared else 0.0


def slow_sigma(outcomes: list[float]) -> float:
    """The scale of the last 100 outcomes in R."""
    last = outcomes[-100:]
    return max(0.5, math.sqrt((sum(r * r for r in last) + 10 * 1.5**2) / (len(last) + 10)))


def slow_scores(episodes: list[dict[str, Any]], query: dict[str, Any], as_of: int) -> list[tuple[float, str]]:
    """Every known episode's score, best first, by the formula of docs/memory.md (no capital, no reviews)."""
    past = sorted(
        (episode for episode in episodes if episode["at"] * 1000 <= as_of),
        key=lambda episode: (episode["at"], episode["id"]),
    )
    sigma = slow_sigma([episode["pnl_r"] for episode in past if episode.get("pnl_r") is not None])
    results = [
        episode["pnl_r"] if episode.get("pnl_r") is not None else episode.get("pnl") for episode in past
    ]
    losing = 0
    for result in reversed([result for result in results if result is not None]):
        if result >= 0:
            break
        losing += 1
    ranking = []
    for episode in past:
        r = episode.get("pnl_r")
        quality = 0.5 if r is None else 1 / (1 + math.exp(-2 * r / sigma))
        age = (as_of - episode["at"] * 1000) / DAY
        recency = (1 + age / 30) ** -0.5
        confidence = 0.5 + 0.5 * (0.5 if episode.get("confidence") is None else episode["confidence"])
        affect = 1 + 0.3 * 0.3 if losing >= 3 and r is not None and r > 0 else 1.0
        sim = slow_similarity(query, episode.get("context") or {})
        ranking.append((quality * sim * recency * confidence * affect, episode["at"], episode["id"]))
    ranking.sort(key=lambda row: (-row[0], -row[1], row[2]))
    return [(score, identity) for score, _, identity in ranking]


positive = st.floats(min_value=0.01, max_value=1e5, allow_nan=False)
contexts = st.fixed_dictionaries(
    {},
    optional={
        "regime": st.sampled_from(["trending_up", "ranging", "volatile"]),
        "volatility_regime": st.sampled_from(["low", "high"]),
        "session": st.sampled_from(["asia", "london"]),
        "atr_d1": positive,
        "atr_h1": positive,
        "price": positive,
        "spread_as_atr_pct": positive,
        "note": st.text(max_size=5),
    },
)
"""Situations in which every field may be missing."""

full_contexts = st.fixed_dictionaries(
    {
        "regime": st.sampled_from(["trending_up", "ranging", "volatile"]),
        "volatility_regime": st.sampled_from(["low", "high"]),
        "session": st.sampled_from(["asia", "london"]),
        "atr_d1": positive,
        "atr_h1": positive,
        "price": positive,
        "spread_as_atr_pct": positive,
    }
)
"""Situations in which every field is known."""

outcomes = st.one_of(
    st.none(), st.floats(min_value=-5, max_value=5, allow_nan=False).map(lambda r: round(r, 3))
)


@st.composite
def histories(draw: st.DrawFn, most: int = 40) -> list[dict[str, Any]]:
    """A history of distinct episodes, many at the same instant, some without an outcome."""
    size = draw(st.integers(min_value=1, max_value=most))
    return [
        raw_episode(
            f"e{i}",
            day=draw(st.integers(min_value=0, max_value=20)),
            pnl_r=draw(outcomes),
            pnl=draw(outcomes),
            confidence=draw(st.one_of(st.none(), st.floats(min_value=0, max_value=1))),
            direction=draw(st.sampled_from(["long", "short", "skip"])),
            strategy=draw(st.sampled_from(["breakout", "carry"])),
            held_for_s=draw(st.integers(min_value=0, max_value=10**6)),
            size=draw(st.integers(min_value=1, max_value=9)),
            context=draw(contexts),
        )
        for i in range(size)
    ]

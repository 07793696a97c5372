"""Positions measured together: what marks tell of one is the same in any company, and what a walk along its marks tells."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.accounting.prices import Prices
from retro.accounting.replay import replay
from retro.evaluate.position.after_exit import holding_on
from retro.evaluate.position.checkpoints import sampled
from retro.evaluate.position.excursions import walked
from retro.evaluate.position.life import HoldingTerms, Lookahead, PositionPath
from retro.evaluate.position.measures import _split, endings_of, measures_of
from retro.model import Fill, MarkSeries, Position
from retro.periods import DAY, HOUR

T0 = 20_000 * DAY
OFFSETS = (("1h", HOUR), ("4h", 4 * HOUR), ("1d", DAY), ("3d", 3 * DAY))


def lives(seed: int, count: int = 12) -> list[PositionPath]:
    """Spot and perps of three instruments, one hardly ever marked; some bought in two fills, some still open."""
    rng = np.random.default_rng(seed)
    own = {}
    for name, size in (("A/USDC", 300), ("B/USDC", 120), ("C/USDC", 3)):
        t = np.sort(rng.choice(9 * 24 * 6, size, replace=False)) * (HOUR // 6) + T0
        walk = np.round(100 * np.exp(np.cumsum(rng.normal(0, 0.01, size))), 2)
        own[name] = MarkSeries("bot", name, t, walk)
    prices = Prices("USDC", own, {})
    horizon = Lookahead(T0 + 7 * DAY, T0 + 9 * DAY, T0 + 8 * DAY, OFFSETS)
    return [_life(rng, f"p{n}", list(own), prices, horizon) for n in range(count)]


def _life(rng: Any, name: str, instruments: list[str], prices: Prices, horizon: Lookahead) -> PositionPath:
    kind: Any
    kind, short = ("perp", bool(rng.integers(2))) if rng.integers(2) else ("spot", False)
    entry = T0 + int(rng.integers(1, 6 * 24)) * HOUR
    leave = entry + int(rng.integers(0, 72)) * HOUR
    sides: Any
    sides, quantity = (("sell", "buy") if short else ("buy", "sell")), int(rng.integers(1, 9))
    fills = [(entry, sides[0], quantity)]
    if rng.integers(4) == 0:
        fills.append((entry + HOUR // 2, sides[0], 1))
    if rng.integers(5):
        fills.append((max(leave, fills[-1][0]), sides[1], sum(size for *_, size in fills)))
    told: Any = {"agent": "bot", "position": name}
    facts: list[Any] = [
        Position(
            id=name,
            at=entry,
            kind=kind,
            instrument=instruments[rng.integers(3)],
            side="short" if short else "long",
            **told,
        )
    ]
    for number, (at, side, size) in enumerate(fills):
        price = Decimal(int(rng.integers(9_000, 11_000))) / 100
        facts.append(
            Fill(
                id=f"{name}-{number}",
                at=at,
                side=side,
                quantity=Decimal(size),
                price=price,
                fee=Decimal("0.1"),
                **told,
            )
        )
    track = replay(facts, prices, "fifo")
    assert track is not None
    ruin = float(rng.integers(5, 80)) if kind == "perp" and rng.integers(2) else None
    return PositionPath(track, horizon, prices, HoldingTerms(ruin=ruin))


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_a_position_measures_the_same_in_any_company(seed: int) -> None:
    together = lives(seed)
    alone = [measures_of([life])[0] for life in lives(seed)]
    assert measures_of(together) == alone
    assert [life.reasons for life in together] == [life.reasons for life in lives_measured(seed)]
    assert endings_of(lives(seed)[::-1])[::-1] == [measures.ending for measures in alone]


def lives_measured(seed: int) -> list[PositionPath]:
    out = lives(seed)
    for life in out:
        measures_of([life])
    return out


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_measured_together_or_walked_from_mark_to_mark_the_figures_agree(seed: int) -> None:
    """All are equal to the digit but the ratio, whose steps are squared in prices and not in money."""
    many, one_by_one = lives(seed), lives(seed)
    batch, _ = _split(many)
    for place in batch.places:
        got, life = measures_of([many[place]])[0], one_by_one[place]
        wanted = walked(life).regret
        for field in fields(wanted):
            value = getattr(wanted, field.name)
            if field.name == "regret_ratio" and value is not None:
                value = pytest.approx(value, rel=1e-10)
            assert getattr(got.ending.regret, field.name) == value, field.name
        assert got.after == holding_on(life, wanted.mae)
        assert got.samples == sampled(life)
        assert many[place].gap == one_by_one[place].gap


def test_most_lives_here_are_measured_together_and_some_are_not() -> None:
    batch, rest = _split(lives(1, 60))
    assert len(batch.places) > 20
    assert len(rest) > 8

"""When two lines tell the same event: values are compared, spellings are not."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.store.facts.codec import differences

AT = 1_772_323_200_000_000


def line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, "id": "e1", "agent": "bot", "at": AT // 1000, **fields})


FILL = {"position": "p1", "side": "buy", "quantity": "1.5", "price": 10}


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("fill", FILL, {**FILL, "price": "10.000"}),
        ("fill", FILL, {**FILL, "price": 1e1, "quantity": 1.5}),
        ("fill", FILL, {**FILL, "fee": 0}),
        ("fill", FILL, {**FILL, "fee_asset": None}),
        ("fill", FILL, dict(reversed(FILL.items()))),
        ("equity", {"balances": {"A": "1", "B": 2}}, {"balances": {"B": "2.0", "A": 1}}),
        ("decision", {"action": "hold", "context": {"x": 1.0}}, {"action": "hold", "context": {"x": 1}}),
        ("exit", {"position": "p1", "note": {"b": [1, 2.50], "a": None}}, {"position": "p1", "note": {"a": None, "b": [1.0, 2.5]}}),
        ("prediction", {"target_at": "2026-03-01T12:00:00Z"}, {"target_at": "2026-03-01T13:00:00.000+01:00"}),
        ("prediction", {"target_at": "2026-03-01T12:00:00Z"}, {"target_at": 1_772_366_400_000}),
    ],
)  # fmt: skip
def test_another_spelling_is_the_same_event(kind: str, first: dict[str, Any], second: dict[str, Any]) -> None:
    assert differences((AT, line(kind, **first)), (AT, line(kind, **second))) == []


@pytest.mark.parametrize(
    ("kind", "first", "second", "names"),
    [
        ("fill", FILL, {**FILL, "price": "10.000000000000000000000000000001"}, ["price"]),
        ("fill", FILL, {**FILL, "side": "sell", "fee": "1"}, ["fee", "side"]),
        ("fill", {**FILL, "order": 1}, {**FILL, "order": "1"}, ["order"]),
        ("fill", FILL, {**FILL, "note": "x"}, ["note"]),
        ("fill", {**FILL, "note": None}, FILL, ["note"]),
        ("fill", {**FILL, "note": "1"}, {**FILL, "note": 1}, ["note"]),
        ("fill", {**FILL, "note": 1}, {**FILL, "note": True}, ["note"]),
        ("fill", {**FILL, "note": [0]}, {**FILL, "note": [False]}, ["note"]),
        ("decision", {"action": "hold", "context": {"x": 1}}, {"action": "hold", "context": {"x": True}}, ["context"]),
        ("decision", {"action": "hold", "cites": []}, {"action": "hold"}, ["cites"]),
        ("equity", {"balances": {"A": 1}}, {"balances": {"A": 1, "B": 0}}, ["balances"]),
        ("prediction", {"target_at": "2026-03-01T12:00:00Z"}, {"target_at": "soon"}, ["target_at"]),
    ],
)  # fmt: skip
def test_another_value_is_another_event(kind: str, first: Any, second: Any, names: list[str]) -> None:
    assert differences((AT, line(kind, **first)), (AT, line(kind, **second))) == names
    assert differences((AT, line(kind, **second)), (AT, line(kind, **first))) == names


def test_the_instant_counts_and_its_spelling_does_not() -> None:
    body = line("fill", **FILL)
    respelled = body.replace(str(AT // 1000), '"2026-03-01T01:00:00+01:00"')
    assert differences((AT, body), (AT, respelled)) == []
    assert differences((AT, body), (AT + 1000, body)) == ["at"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def shuffled(value: Any, draw: random.Random) -> Any:
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(inner, draw)) for key, inner in value.items()]
        draw.shuffle(items)
        return dict(items)
    return [shuffled(inner, draw) for inner in value] if isinstance(value, list) else value


@settings(deadline=None, max_examples=60)
@given(JSON, st.randoms(use_true_random=False))
def test_unknown_fields_are_compared_as_json(value: Any, draw: random.Random) -> None:
    fields = {**FILL, "note": value, "more": 1}
    first, second = line("fill", **fields), line("fill", **shuffled(fields, draw))
    assert differences((AT, first), (AT, second)) == []
    assert differences((AT, first), (AT, line("fill", **{**fields, "note": [value]}))) == ["note"]

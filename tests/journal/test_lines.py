"""One line of a journal: what is a fault and what it says, and how a good one is kept."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import pytest

from retro.ingest.journal import reader as journal
from retro.journal import LONGEST_LINE
from retro.model import Decision, Fill, Prediction, decode
from retro.periods import DAY, parse_instant
from tests.worlds.journal_lines import (
    BASE,
    COST,
    DEATH,
    DECISION,
    FILL,
    FLOW,
    LP,
    MARK,
    PREDICTION,
    SHADOW,
    SNAPSHOT,
    line,
    read,
)


def fault_of(data: bytes) -> str:
    """The reason of the one fault of a line that stands between two good ones, which are kept."""
    before, after = line(DEATH, id="before"), line(DEATH, id="after")
    batch = read(before + data + after)
    assert [row.id for row in batch.rows] == ["before", "after"]
    assert batch.lines == [1, 3]
    assert batch.events == 2
    (fault,) = batch.faults
    assert (fault.where, fault.line) == ("j.jsonl", 2)
    return fault.reason


FAULTS = [
    (line(FILL, type=...), "type: is missing"),
    (line(FILL, type="fil"), 'type: "fil" is unknown; use one of position, fill'),
    (line(FILL, type=3), "type: 3 is unknown"),
    (line(FILL, type=None), "type: is missing"),
    (line(FILL, type=["fill"]), "type: a list is unknown"),
    (line(FILL, id=...), "id: is missing; every fill needs one"),
    (line(FILL, id=None), "id: is missing"),
    (line(FILL, id=7), "id: 7 is not a string"),
    (line(FILL, id=""), "id: is empty"),
    (line(FILL, id="a\0b"), "holds a control character"),
    (line(FILL, id="x" * 501), "id: is longer than 500 characters"),
    (line(FILL, agent=...), "agent: is missing"),
    (line(FILL, agent="a b"), 'agent: "a b" is not 1 to 64 of'),
    (line(FILL, agent="ä"), "agent:"),
    (line(FILL, agent="x" * 65), "agent:"),
    (line(FILL, agent=""), "agent:"),
    (line(FILL, at=...), "at: is missing"),
    (line(FILL, at="2026-03-01T12:00:00"), "has no offset; write it with Z or +hh:mm"),
    (line(FILL, at="2026-03-01"), "is not an RFC 3339 instant"),
    (line(FILL, at="2026-W09-7T12:00:00Z"), "is not an RFC 3339 instant"),
    (line(FILL, at="20260301T120000.000Z"), "is not an RFC 3339 instant"),
    (line(FILL, at="2026-02-30T12:00:00Z"), "at: time"),
    (line(FILL, at="2026-03-01T12:00:00.Z"), "is not an RFC 3339 instant"),
    (line(FILL, at="yesterday" * 9), "is not an RFC 3339 instant"),
    (line(FILL, at=True), "at: true is not a time"),
    (line(FILL, at=1772366400000.0), "is not a whole number of Unix milliseconds"),
    (line(FILL, at="1772366400000"), "is not an RFC 3339 instant"),
    (line(FILL, at=-1), "lies before 1970"),
    (line(FILL, at="2026-11-22T12:00:00.000001Z"), "lies more than a day after 2026-11-21T12:00:00Z"),
    (line(FILL, at=10**30), "lies more than a day after"),
    (line(FILL, tick=1.5), "tick: 1.5 is not a whole number"),
    (line(FILL, tick=True), "tick: true is not a whole number"),
    (line(FILL, position=...), "position: is missing"),
    (line(FILL, side="short"), 'side: "short" is unknown; use one of buy, sell'),
    (line(FILL, quantity=0), "quantity: 0 must be above 0"),
    (line(FILL, quantity="-1"), "quantity: -1 must be above 0"),
    (line(FILL, quantity="1e-400"), "quantity: 1e-400 must be above 0"),
    (line(FILL, quantity=True), "quantity: true is not a finite number"),
    (line(FILL, quantity=None), "quantity: is missing"),
    (line(FILL, quantity="1_000"), 'quantity: "1_000" is not a finite number'),
    (line(FILL, quantity=" 1"), "quantity:"),
    (line(FILL, quantity="1\n"), "quantity:"),
    (line(FILL, quantity="١٢"), "quantity:"),
    (line(FILL, quantity="0x10"), "quantity:"),
    (line(FILL, quantity="1e400"), "quantity: 1e400 is not finite as float64"),
    (line(FILL, price=-0.01), "price: -0.01 is negative"),
    (line(FILL, price="NaN"), 'price: "NaN" is not a finite number'),
    (line(FILL, price="Infinity"), 'price: "Infinity" is not a finite number'),
    (line(FILL, quantity="1e51"), "quantity: 1e51 is beyond 1e+50; correct it"),
    (line(FILL).replace(b"3000.25", b"1e300"), "price: 1e300 is beyond 1e+50"),
    (line(COST, amount=-1e300, kind="gas"), "amount: -1e+300 is beyond 1e+50"),
    (line(SNAPSHOT, holdings={"WETH": 1e300}), 'of "WETH", 1e+300 is beyond 1e+50'),
    (line(FILL, price=float("nan")), "price: nan is not finite as float64"),
    (line(FILL, price=float("-inf")), "price: -inf is not finite as float64"),
    (line(FILL).replace(b"3000.25", b"1e400"), "price: 1e400 is not finite as float64"),
    (line(FILL).replace(b"3000.25", b"9" * 400), "is not finite as float64"),
    (line(FILL, fee=[1]), "fee: a list is not a finite number"),
    (line(FILL, order=1.5), "order: 1.5 is not a whole number"),
    (line(FILL, note=1).replace(b": 1}", b": 1e999}"), "note: 1e999 is not finite as float64"),
    (line(FILL, note=1).replace(b": 1}", b": [1, [-1e999]]}"), "note: -1e999 is not finite"),
    (line(FILL, note=10**400), "note: 1000000000000000000000000000000000000000 is not finite"),
    (line(DECISION, context={"a": 10**400}), "a: 1000000000000000000000000000000000000000 is not finite"),
    (line(FLOW, position=..., kind="deposit"), "position: is missing; a deposit goes into or out of one"),
    (line(FLOW, kind="gift"), 'kind: "gift" is unknown'),
    (line(FLOW, quantity=-1), "quantity: -1 must be above 0"),
    (line(FLOW, value=-1), "value: -1 is negative"),
    (line(LP, kind="farm"), 'kind: "farm" is unknown'),
    (line(LP, token1=...), "token1: is missing; an lp position needs both tokens"),
    (line(LP, token1="WETH"), "token1: is token0 again"),
    (line(LP, lower=2, upper=1), "lower: must be below upper"),
    (line(LP, lower="1.10", upper=1.1), "lower: must be below upper"),
    (line(LP, lower=2), "lower: needs upper and upper lower"),
    (line(LP, liquidity=0), "liquidity: 0 must be above 0"),
    (line(LP, funded_with={"USDC": -1}), 'funded_with: of "USDC", -1 is negative'),
    (line(LP, funded_with=[["USDC", 1]]), "funded_with: a list is not an object"),
    (line(SNAPSHOT, holdings={"": 1}), "holdings: an asset is empty"),
    (line(SNAPSHOT, debt={"USDC": "x"}), 'debt: of "USDC", "x" is not a finite number'),
    (line(MARK, price="-3"), "price: -3 is negative"),
    (line(MARK, asset="ETH"), "instrument: give either instrument or asset"),
    (line(MARK, instrument=...), "instrument: give either instrument or asset"),
    (line(COST, amount=...), "amount: give either amount, or asset and quantity"),
    (line(COST, asset="ETH", quantity=1), "amount: give either amount, or asset and quantity"),
    (line(COST, amount=..., asset="ETH"), "quantity: is missing"),
    (line(COST, amount=-1), "amount: -1 is negative"),
    (line(COST, tier="T3"), 'tier: "T3" is unknown'),
    (line(COST, tokens_in=-1), "tokens_in: -1 is negative"),
    (line(COST, tokens_in="5"), 'tokens_in: "5" is not a whole number'),
    (line(DECISION, action=...), "action: is missing"),
    (line(DECISION, confidence=1.01), "confidence: 1.01 must lie between 0 and 1"),
    (line(DECISION, confidence="0.5"), 'confidence: "0.5" is not a number'),
    (line(DECISION, valence=-1.5), "valence: -1.5 must lie between -1 and 1"),
    (line(DECISION, cites="H-7"), 'cites: "H-7" is not a list'),
    (line(DECISION, cites=["H-7", 7]), "cites: 7 is not a string"),
    (line(DECISION, context=["a"]), "context: a list is not an object"),
    (line(DECISION, reasoning=5), "reasoning: 5 is not a string"),
    (line(DECISION, context_items="H-7"), 'context_items: "H-7" is not a list'),
    (line(DECISION, context_items=["H-7", 7]), "context_items: name 2 of 2: 7 is not a string"),
    (line(DECISION, context_items=[""]), "context_items: name 1 of 1: is empty"),
    (line(DECISION, context_items=["a\nb"]), 'context_items: name 1 of 1: "ab" holds a control character'),
    (line(DECISION, context_items=["x" * 501]), "context_items: name 1 of 1: is longer than 500 characters"),
    (line(DECISION, context_items=["x"] * 1001), "context_items: lists 1001 names, more than 1000"),
    (line(DECISION, difficulty=3), "difficulty: 3 is not a string"),
    (line(DECISION, difficulty=""), "difficulty: is empty"),
    (line(SHADOW, day=...), "day: is missing; every shadow needs one"),
    (line(SHADOW, day="2026-02-29"), 'day: "2026-02-29" is not a day; write it as "2026-03-01"'),
    (line(SHADOW, day="2026-02-28T00:00:00Z"), "is not a day"),
    (line(SHADOW, day="20260228"), "is not a day"),
    (line(SHADOW, day="1969-12-31"), "is not a day"),
    (line(SHADOW, day=20260228), "day: 20260228 is not a day"),
    (line(SHADOW, shadow=""), "shadow: is empty"),
    (line(SHADOW, pnl=...), "pnl: is missing"),
    (line(SHADOW, pnl="NaN"), 'pnl: "NaN" is not a finite number'),
    (line(SHADOW, pnl=1e51), "pnl: 1e+51 is beyond 1e+50"),
    (line(SHADOW, note=5), "note: 5 is not a string"),
    (line(PREDICTION, low=2, high=1), "low: is above high"),
    (line(PREDICTION, target_at="2026-12-01T00:00:00"), "target_at: time '2026-12-01T00:00:00' has no offset"),
    (line(PREDICTION, target_at=""), "target_at: '' is not an RFC 3339 instant"),
    (line({"type": "resolution", **BASE, "prediction": "p"}), "actual: is missing; give actual or correct"),
    (line({"type": "resolution", **BASE, "prediction": "p", "correct": "yes"}), 'correct: "yes" must be true'),
    (line({"type": "equity", **BASE}), "value: is missing; give value, balances or both"),
    (line({"type": "equity", **BASE, "balances": {"USDC": -1}}), 'balances: of "USDC", -1 is negative'),
    (line({"type": "external", **BASE, "quantity": 0}), "quantity: 0 must not be 0"),
    (b'{"type":"death","id":"x","id":"y","agent":"a","at":0}\n', "id: is given twice; keep one"),
    (b'{"type":"death","id":"x","\\u0069d" : "x","agent":"a","at":0}\n', "id: is given twice"),
    (line(FILL, note=1).replace(b'"note": 1', b'"note": 1, "note": 1'), "note: is given twice"),
    (line(SNAPSHOT).replace(b'{"WETH": "1"', b'{"WETH": "1", "WETH": "1"'), "WETH: is given twice"),
    (line(DECISION, context={"a": {"b": 1}}).replace(b'"b": 1', b'"b": 1, "b":2'), "b: is given twice"),
    (line(DECISION, reasoning="a").replace(b'"a"', b'"a\\u003a", "tick":1, "tick":1'), "tick: is given twice"),
    (line(DEATH, cause="x").replace(b'"x"', b'"\\ud800"'), "half a character"),
    (line(DEATH, cause="x").replace(b'"x"', b'"\\udc00x"'), "half a character"),
    (line(DEATH, zz="x").replace(b'"x"', b'"\\ud83dx"'), "half a character"),
    (line(DEATH, **{"a\0b": 1}), "a field's name holds a control character"),
    (line(DEATH, cause="é").replace(b"\\u00e9", b"\xe9"), "(0xe9) is not UTF-8; save the file as UTF-8"),
    (line(DEATH, zz=json.loads("[" * 100 + "]" * 100)), "nests deeper than 100 levels"),
    (b'{"type":"death","x":' + b"[" * 100_000 + b"\n", "nests deeper than 100 levels"),
    (b"[1]\n", "line: a list is not an object"),
    (b'"death"\n', 'line: "death" is not an object'),
    (b"null\n", "line: null is not an object"),
    (b"NaN\n", "is not an object"),
    (b"hello\n", "line: is not JSON (expecting value at character 1)"),
    (b"{}{}\n", "line: is not JSON (extra data at character 3)"),
    (line(DEATH)[:-1] + line(DEATH), "line: is not JSON (extra data"),
    (b'{"type":"death",\n', "line: is not JSON"),
    (b"\x00\x00\x00\n", "line: is not JSON"),
    (b'{"type":"death","cause":"\x01"}\n', "line: is not JSON"),
    (b'{"cause":"' + b"x" * LONGEST_LINE + b'"}\n', "line: the line is longer than 4 MiB; split it"[6:]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "reason"), FAULTS, ids=[f"{n}-{reason[:30]}" for n, (_, reason) in enumerate(FAULTS)]
)
def test_a_bad_line_is_one_fault_with_its_number_and_reason(data: bytes, reason: str) -> None:
    message = fault_of(data)
    assert reason in message
    assert "\n" not in message
    assert len(message) < 200


GOOD = [
    line(FILL, at=1772366400000),
    line(FILL, at=0),
    line(FILL, at="2026-11-22T12:00:00Z"),
    line(FILL, at="2026-03-01t14:00:00.5+02:00"),
    line(FILL, fee=-0.25, order=17, fee_asset="ETH"),
    line(FILL, quantity="1E-30", price=0),
    line(FILL, price="3.14159265358979323846264338327950288"),
    line(FILL, venue=None, fee=None, tick=None),
    line(FILL, at_us="x", **{"": [{}]}),
    line(LP),
    line(LP, lower=None, upper=None),
    line(LP, lower="1600", upper=2100.5, liquidity="12.5", risk=0, funded_with={}),
    line(LP, kind="lending", instrument="USDC", token0=..., token1=...),
    line(LP, kind="spot", side="long"),
    line(FLOW, position=...),
    line(FLOW, kind="withdrawal", value="0"),
    line(SNAPSHOT, claimable={"USDC": "0E-42"}, value=-3),
    line(SNAPSHOT, holdings={"币安人生": 1}),
    line(DECISION, reasoning='said "yes": ok\n\tplease — 😀 : :', confidence=1, valence=-1, cites=[], trace=5),
    line(DECISION, context={"a": [1, {"b": 2.5}], "c": None}),
    line(DECISION, context_items=["H-7", "币安", "H-7"] + ["x" * 500] * 997, difficulty="hard: why?"),
    line(DECISION, context_items=[], difficulty=None),
    line(SHADOW),
    line(SHADOW, day="2028-02-29", pnl="-0", note=""),
    line(SHADOW, day="2026-12-31", pnl=-3.25, note="12 %: wider"),
    line(PREDICTION, predicted="0.10", low="-2", high="1e3", target_at="2027-01-01T00:00:00Z", source={"m": 1}),
    line({"type": "resolution", **BASE, "prediction": "p", "correct": False}),
    line({"type": "equity", **BASE, "value": "-1"}),
    line({"type": "external", **BASE, "quantity": "-5", "asset": "ETH", "value": 3}),
    line(COST, amount=0),
    line(COST, amount=..., asset="ETH", quantity="0.001"),
    line(DEATH, zz=json.loads("[" * 99 + "]" * 99)),
    line(DEATH, cause="\x07\x7f\u202e"),
    b' \t{ "type" : "death" , "id":"x", "agent":"a", "at":0 }  \r\n',
]  # fmt: skip


@pytest.mark.parametrize("data", GOOD, ids=range(len(GOOD)))
def test_a_good_line_is_kept_as_it_was_written(data: bytes) -> None:
    batch = read(data)
    assert not batch.faults
    (row,) = batch.rows
    assert row.body == data.decode().strip()
    event = json.loads(data)
    assert (row.agent, row.type, row.id) == (event["agent"], event["type"], event["id"])
    assert row.position == event.get("position")
    assert decode(row.body, row.at).at == row.at


def test_instants_become_microseconds() -> None:
    spellings = [
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00+00:00",
        "2026-03-01T13:30:00.000000+01:30",
        1772366400000,
    ]
    batch = read(b"".join(line(DEATH, id=str(n), at=at) for n, at in enumerate(spellings)))
    assert {row.at for row in batch.rows} == {1772366400_000_000}
    assert len(batch.rows) == len(spellings)


def test_every_digit_of_a_quantity_is_kept() -> None:
    digits = "2.3988316024960503946855548112437066"
    for written in (f'"{digits}"', digits):
        (row,) = read(line(FILL).replace(b'"1.50"', written.encode())).rows
        fact = decode(row.body, row.at)
        assert isinstance(fact, Fill)
        assert fact.quantity == Decimal(digits)


def test_a_null_is_a_field_that_was_not_given() -> None:
    (row,) = read(line(LP, venue=None, strategy=None, risk=None, side=None)).rows
    assert decode(row.body, row.at) == decode(line(LP), row.at)


def test_what_a_line_told_under_a_name_before_it_meant_anything_still_reads() -> None:
    """Stored while nobody knew `context_items` and `difficulty`: whatever stands there, the decision is as it was."""
    for items, difficulty in (("H-7", 3), ([1], {"a": 1}), ({"a": 1}, [2.5]), (7, True)):
        event = {**DECISION, "context_items": items, "difficulty": difficulty}
        decision = decode(json.dumps(event), 0)
        assert isinstance(decision, Decision)
        assert (decision.action, decision.context_items, decision.difficulty) == ("hold", None, None)


def test_a_prediction_in_decimal_strings_is_read_as_numbers() -> None:
    (row,) = read(line(PREDICTION, predicted="1.5", low="1", high=None)).rows
    fact = decode(row.body, row.at)
    assert isinstance(fact, Prediction)
    assert (fact.predicted, fact.low, fact.high) == (1.5, 1.0, None)


def test_unknown_fields_are_kept_and_counted() -> None:
    data = (
        line(FILL, mood="good", weather=1)
        + line(FILL, id="2", mood="bad")
        + line(FILL, id="3", at="x", mood=0)
    )
    batch = read(data)
    assert batch.unknown == {"mood": 2, "weather": 1}
    assert '"mood": "good"' in batch.rows[0].body
    assert len(batch.faults) == 1


def test_no_field_can_pose_as_the_stored_instant() -> None:
    (row,) = read(line(DEATH, at_us=5)).rows
    assert decode(row.body, row.at).at == row.at != 5
    assert "control character" in fault_of(line(DEATH).replace(b'"id"', b'"\x7fat": 5, "id"'))


def test_the_clock_decides_what_is_too_late() -> None:
    data = line(DEATH, at="2026-03-01T12:00:00Z")
    at = parse_instant("2026-03-01T12:00:00Z")
    for now, accepted in ((at - DAY, 1), (at - DAY - 1, 0), (at, 1)):
        assert sum(b.events for b in journal.read(io.BytesIO(data), "x", now=now)) == accepted

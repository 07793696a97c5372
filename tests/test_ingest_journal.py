"""Reading a journal: what is a fault and what it says, what is kept, and that nothing around a fault is lost."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from retro.errors import InputError, RetroError
from retro.ingest import journal
from retro.ingest.ahead import read_ahead, worth_it
from retro.model import FACT_TYPES, Batch, Fill, Prediction, decode
from retro.periods import DAY, parse_instant
from retro.validation import FIELDS, LONGEST_LINE

NOW = parse_instant("2026-11-21T12:00:00Z")
EXAMPLE = Path(__file__).parent.parent / "examples" / "agent.jsonl"
BASE = {"id": "e1", "agent": "alpha", "at": "2026-03-01T12:00:00Z"}
FILL = {"type": "fill", **BASE, "position": "p1", "side": "buy", "quantity": "1.50", "price": 3000.25}
LP = {
    "type": "position",
    **BASE,
    "position": "p1",
    "kind": "lp",
    "instrument": "WETH/USDC",
    "token0": "WETH",
    "token1": "USDC",
}
MARK = {"type": "mark", **BASE, "instrument": "ETH/USDC", "price": 3000}
COST = {"type": "cost", **BASE, "kind": "gas", "amount": "1.2"}
FLOW = {"type": "flow", **BASE, "position": "p1", "kind": "interest", "asset": "USDC", "quantity": 1}
DECISION = {"type": "decision", **BASE, "action": "hold"}
PREDICTION = {"type": "prediction", **BASE, "predicted": 1.5}
SNAPSHOT = {"type": "snapshot", **BASE, "position": "p1", "holdings": {"WETH": "1"}}
DEATH = {"type": "death", **BASE}


def read(data: bytes, size: int = 2000) -> Batch:
    """All batches of a journal as one."""
    whole = Batch()
    for batch in journal.read(io.BytesIO(data), "j.jsonl", now=NOW, size=size):
        whole.rows += batch.rows
        whole.lines += batch.lines
        whole.marks += batch.marks
        whole.faults += batch.faults
        whole.events += batch.events
        whole.unknown = dict(Counter(whole.unknown) + Counter(batch.unknown))
    return whole


def line(event: dict, **changes: object) -> bytes:
    fields = {name: value for name, value in {**event, **changes}.items() if value is not ...}
    return json.dumps(fields).encode() + b"\n"


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
    said = fault_of(data)
    assert reason in said
    assert "\n" not in said
    assert len(said) < 200


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
    told = json.loads(data)
    assert (row.agent, row.type, row.id) == (told["agent"], told["type"], told["id"])
    assert row.position == told.get("position")
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


def test_blank_lines_are_ignored_but_counted_as_lines() -> None:
    data = b"\n \t\r\n" + line(DEATH, id="a") + b"\n\r\n" + line(DEATH, id="b") + b"x\n\n"
    batch = read(data)
    assert batch.lines == [3, 6]
    assert [fault.line for fault in batch.faults] == [7]
    assert batch.events == 2


def test_an_empty_file_is_no_fault() -> None:
    for data in (b"", b"\n\n", b"\xef\xbb\xbf", b"  "):
        batch = read(data)
        assert (batch.events, batch.faults) == (0, [])


def test_a_byte_order_mark_is_tolerated_at_the_start_only() -> None:
    data = b"\xef\xbb\xbf" + line(DEATH, id="a")
    assert [row.id for row in read(data).rows] == ["a"]
    batch = read(line(DEATH, id="b") + data)
    assert [row.id for row in batch.rows] == ["b"]
    assert len(batch.faults) == 1


def test_windows_line_ends_are_line_ends() -> None:
    data = b"".join(line(DEATH, id=str(n)) for n in range(300)).replace(b"\n", b"\r\n")
    batch = read(data)
    assert batch.events == 300
    assert not batch.faults
    assert not any(row.body.endswith("\r") for row in batch.rows)


def test_utf_16_is_one_fault_that_names_it() -> None:
    for encoding in ("utf-16", "utf-16-be"):
        mark = b"" if encoding == "utf-16" else b"\xfe\xff"
        batch = read(mark + line(DEATH).decode().encode(encoding) * 3)
        assert [fault.reason for fault in batch.faults] == [
            "line: the file is UTF-16; save it as UTF-8 and ingest it again"
        ]


def test_a_last_line_without_newline_is_torn_wherever_it_ends() -> None:
    first, last = line(DEATH, id="a"), line(FILL, id="b")
    for end in range(1, len(last)):
        batch = read(first + last[:end])
        assert [row.id for row in batch.rows] == ["a"]
        (fault,) = batch.faults
        assert (fault.line, "is torn" in fault.reason) == (2, True)
    assert read(first + last).events == 2


def test_a_torn_line_completed_later_is_read_then() -> None:
    data = line(DEATH, id="a")[:-1]
    assert read(data).events == 0
    assert read(data + b"\n").events == 1


def test_a_line_too_long_is_passed_over_in_constant_memory() -> None:
    class Endless(io.RawIOBase):
        """1 GB without a newline, then a good line."""

        left = 1 << 30

        def readable(self) -> bool:
            return True

        def read1(self, size: int) -> bytes:
            self.left -= size
            if self.left > 0:
                return b"x" * size
            if self.left > -2 * size:
                self.left = -2 * size
                return b"\n" + line(DEATH, id="after")
            return b""

    import tracemalloc

    tracemalloc.start()
    (batch,) = journal.read(Endless(), "big", now=NOW)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [fault.reason for fault in batch.faults] == ["the line is longer than 4 MiB; split it"]
    assert (batch.rows[0].id, batch.lines) == ("after", [2])
    assert peak < 32 << 20


def test_memory_does_not_grow_with_the_file() -> None:
    import tracemalloc

    class Repeated(io.RawIOBase):
        def __init__(self, lines: int) -> None:
            self.numbers = iter(range(lines))

        def readable(self) -> bool:
            return True

        def read1(self, size: int) -> bytes:
            return b"".join(line(FILL, id=str(n)) for _, n in zip(range(500), self.numbers, strict=False))

    peaks = []
    for lines in (5_000, 20_000):
        tracemalloc.start()
        assert sum(b.events for b in journal.read(Repeated(lines), "big", now=NOW)) == lines  # type: ignore[arg-type]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_marks_become_series_of_their_agent() -> None:
    at = parse_instant("2026-03-01T12:00:00Z")
    events = [
        line(MARK, id="1", at=at // 1000 + 60_000, price="3001.5"),
        line(MARK, id="2", price=3000),
        line(MARK, id="3", price=3000),
        line(MARK, id="4", price=3999),
        line(MARK, id="5", instrument=..., asset="ETH", price=2990),
        line(MARK, id="6", agent="beta", price=1),
        line(DEATH),
    ]
    batch = read(b"".join(events))
    assert batch.events == 7
    assert [row.type for row in batch.rows] == ["death"]
    told = {(m.agent, m.instrument, tuple(m.t.tolist()), tuple(m.price.tolist())) for m in batch.marks}
    t = at // 1000
    assert told == {
        ("alpha", "ETH/USDC", (t, t + 60_000), (3000.0, 3001.5)),
        ("alpha", "ETH/USDC", (t,), (3999.0,)),  # the second price for an instant, for the store to refuse
        ("alpha", "ETH", (t,), (2990.0,)),
        ("beta", "ETH/USDC", (t,), (1.0,)),
    }


def test_batches_are_bounded_and_in_order() -> None:
    data = b"".join(line(DEATH, id=str(n)) for n in range(1000))
    batches = list(journal.read(io.BytesIO(data), "x", now=NOW, size=100))
    assert len(batches) > 3
    assert [row.id for batch in batches for row in batch.rows] == [str(n) for n in range(1000)]
    assert [number for batch in batches for number in batch.lines] == list(range(1, 1001))


def test_a_bad_line_anywhere_in_a_large_file_costs_only_itself() -> None:
    rng = random.Random(4)
    lines = [line(FILL, id=str(n)) for n in range(1000)]
    bad = sorted(rng.sample(range(1000), 40))
    for n in bad:
        lines[n] = rng.choice([b"{\n", line(FILL, price=-1), b"\xff\n", line(FILL, extra=1, at="x")])
    batch = read(b"".join(lines))
    assert [fault.line for fault in batch.faults] == [n + 1 for n in bad]
    assert [int(row.id) for row in batch.rows] == [n for n in range(1000) if n not in bad]


def test_the_example_shows_every_type_and_every_field_of_it_is_known() -> None:
    (batch,) = journal.read_path(str(EXAMPLE), now=NOW)
    assert not batch.faults
    assert not batch.unknown
    told = {json.loads(text)["type"] for text in EXAMPLE.read_text().splitlines()}
    assert told == FACT_TYPES.keys() == FIELDS.keys()


def test_a_gzip_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(gzip.compress(line(DEATH, id="a")) + gzip.compress(line(DEATH, id="b")))
    (batch,) = journal.read_path(str(path), now=NOW)
    assert [row.id for row in batch.rows] == ["a", "b"]


def test_a_gzip_file_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    rng = random.Random(1)
    whole = b"".join(line(DEATH, id=str(n), cause=rng.randbytes(40).hex()) for n in range(2000))
    packed = gzip.compress(whole)
    path = tmp_path / "journal.gz"
    for end in (len(packed) // 2, len(packed) - 4, 11):
        path.write_bytes(packed[:end])
        batches = list(journal.read_path(str(path), now=NOW))
        rows = [row for batch in batches for row in batch.rows]
        (fault,) = [fault for batch in batches for fault in batch.faults]
        assert "gzip data end early" in fault.reason
        assert fault.line == len(rows) + 1
        assert [int(row.id) for row in rows] == list(range(len(rows)))
    path.write_bytes(packed[:-8] + bytes(8))
    assert "gzip data are damaged" in next(
        f.reason for b in journal.read_path(str(path), now=NOW) for f in b.faults
    )
    half = bytearray(packed)
    half[len(half) // 2] ^= 0xFF
    path.write_bytes(half)
    assert (
        "gzip data are damaged"
        in [f.reason for b in journal.read_path(str(path), now=NOW) for f in b.faults][-1]
    )


def test_a_gzip_bomb_stops_with_a_sentence_and_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(line(DEATH, id="first"))
        for _ in range(160):
            file.write(bytes(1 << 20))
    (batch,) = journal.read_path(str(path), now=NOW)
    assert [row.id for row in batch.rows] == ["first"]
    assert "unfold more than 250-fold" in batch.faults[-1].reason


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.mkdir(), "is a directory; name a file"),
        (lambda path: None, "does not exist; check the path"),
        (lambda path: path.symlink_to(path), "cannot be opened"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(100)), "is a SQLite database"),
        (
            lambda path: path.write_bytes(b"ARROW1\0\0"),
            "is a column file; for candles use retro ingest marks",
        ),
        (lambda path: path.write_bytes(b"PK\x03\x04..."), "is a zip archive"),
    ],
)
def test_what_is_no_journal_at_all_is_one_sentence(tmp_path: Path, make, says: str) -> None:
    path = tmp_path / "source"
    make(path)
    with pytest.raises(InputError, match=says) as caught:
        list(journal.read_path(str(path), now=NOW))
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, RetroError)


def test_a_path_that_cannot_be_a_path_is_one_sentence() -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        list(journal.read_path("a\0b", now=NOW))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (line(DEATH, id="a"), gzip.compress(line(DEATH, id="a"))):
        reader, writer = os.pipe()
        os.write(writer, data)
        os.close(writer)
        with open(reader, "rb") as stdin:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
            (batch,) = journal.read_path("-", now=NOW)
        assert [row.id for row in batch.rows] == ["a"]


def test_a_child_process_reads_exactly_what_we_would(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    kinds = [FILL, MARK, DECISION, LP, line(FILL, quantity=-1), b"{\n"]
    parts = [
        kind if isinstance(kind, bytes) else line(kind, id=str(n), cause2="x", tick=n)
        for n in range(400)
        for kind in kinds
    ]
    path.write_bytes(b"".join(parts) + b"torn")
    here = list(journal.read_path(str(path), now=NOW, size=500, ahead=False))
    there = list(read_ahead(str(path), now=NOW, size=500))
    assert [b.rows for b in there] == [b.rows for b in here]
    assert [b.lines for b in there] == [b.lines for b in here]
    assert [b.faults for b in there] == [b.faults for b in here]
    assert [b.unknown for b in there] == [b.unknown for b in here]
    assert [b.events for b in there] == [b.events for b in here]
    for ours, theirs in zip(here, there, strict=True):
        assert [(m.agent, m.instrument, m.t.tolist(), m.price.tolist()) for m in ours.marks] == [
            (m.agent, m.instrument, m.t.tolist(), m.price.tolist()) for m in theirs.marks
        ]


def test_a_child_process_fails_in_the_same_words_and_can_be_left_early(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; check the path"):
        list(read_ahead(str(tmp_path / "none"), now=NOW, size=10))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(line(DEATH, id=str(n)) for n in range(20_000)))
    batches = read_ahead(str(path), now=NOW, size=100)
    assert next(batches).rows[0].id == "0"
    batches.close()  # type: ignore[attr-defined]


def test_only_large_regular_files_are_worth_a_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x" * 100)
    assert not worth_it(str(path))
    assert not worth_it("-")
    assert not worth_it(str(tmp_path))


def test_the_clock_decides_what_is_too_late() -> None:
    data = line(DEATH, at="2026-03-01T12:00:00Z")
    at = parse_instant("2026-03-01T12:00:00Z")
    for now, kept in ((at - DAY, 1), (at - DAY - 1, 0), (at, 1)):
        assert sum(b.events for b in journal.read(io.BytesIO(data), "x", now=now)) == kept

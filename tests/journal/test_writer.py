"""The writer an agent holds: what it writes reads back, what it refuses is never written, and nothing stops the agent."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.errors import RetroError
from retro.ingest.journal.parallel import read_path
from retro.journal import FIELDS, Journal, JournalError
from retro.model import Batch, Decision, Fill, Shadow, Snapshot, decode
from retro.periods import parse_instant

AT = parse_instant("2026-03-01T12:00:00Z")


def clock() -> float:
    return AT / 1e6


def read(path: Path) -> Batch:
    batches = list(read_path(str(path), now=AT))
    assert len(batches) <= 1
    return batches[0] if batches else Batch()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.jsonl"


@pytest.fixture
def journal(path: Path) -> Journal:
    return Journal(path, "alpha", clock=clock)


def test_every_type_has_a_method_with_every_field_of_it(journal: Journal) -> None:
    for kind, fields in FIELDS.items():
        arguments = getattr(Journal, kind).__annotations__.keys() - {"return", "common"}
        assert arguments == fields.keys() - {"type", "id", "agent", "at", "tick"}, kind


def test_what_every_method_writes_reads_back(journal: Journal, path: Path) -> None:
    ids = [
        journal.position(position="p1", kind="spot", instrument="ETH/USDC", side="long", risk=Decimal("12.50"),
                         funded_with={"USDC": Decimal("3000.1")}),
        journal.fill(position="p1", side="buy", quantity=Decimal("1.20"), price=3000.5, fee="-0.1", order=17, tick=3),
        journal.flow(kind="interest", asset="USDC", quantity=1),
        journal.snapshot(position="p1", holdings={"ETH": "1.2"}, claimable={"USDC": 0.5}),
        journal.exit(position="p1", reason="target"),
        journal.mark(instrument="ETH/USDC", price="3001"),
        journal.decision(action="hold", cites=("H-7",), confidence=0.5, context={"a": {"b": [1, None]}},
                         context_items=(name for name in ("H-7", "memory:m1")), difficulty="hard"),
        journal.prediction(predicted="1.5", target_at=datetime(2026, 4, 1, tzinfo=UTC)),
        journal.resolution(prediction="x", correct=True),
        journal.cost(kind="gas", asset="ETH", quantity="0.001"),
        journal.equity(value=10_000, balances={"USDC": 10_000}),
        journal.external(quantity=-5),
        journal.shadow(shadow="wide", day=date(2026, 2, 28), pnl=Decimal("-3.10"), note="12 %"),
        journal.death(cause="retired — \u202e\n"),
    ]  # fmt: skip
    batch = read(path)
    assert not batch.faults
    assert not batch.unknown
    assert [row.id for row in batch.rows] == [i for n, i in enumerate(ids) if n != 5]
    assert {row.agent for row in batch.rows} == {"alpha"}
    assert {row.at for row in batch.rows} == {AT}
    assert [m.price.tolist() for m in batch.marks] == [[3001.0]]
    fill = decode(batch.rows[1].body, AT)
    assert isinstance(fill, Fill)
    assert (str(fill.quantity), str(fill.price), str(fill.fee), fill.tick) == ("1.20", "3000.5", "-0.1", 3)
    facts = [decode(row.body, AT) for row in batch.rows]
    (decision,) = [fact for fact in facts if isinstance(fact, Decision)]
    assert (decision.context_items, decision.difficulty) == (["H-7", "memory:m1"], "hard")
    (shadow,) = [fact for fact in facts if isinstance(fact, Shadow)]
    assert (shadow.shadow, shadow.day, str(shadow.pnl), shadow.note) == (
        "wide",
        "2026-02-28",
        "-3.10",
        "12 %",
    )


def test_ids_made_here_are_unique_and_compare_in_the_order_they_were_made(path: Path) -> None:
    first, second = Journal(path, "alpha", clock=clock), Journal(path, "alpha", clock=clock)
    ids = [writer.death() for _ in range(30) for writer in (first, second)]
    assert len(set(ids)) == 60
    numbers = [tuple(int(part) for part in i.split("-")[:2]) for i in ids[::2]]
    assert numbers == sorted(numbers)


def test_given_id_and_instant_are_kept(journal: Journal, path: Path) -> None:
    assert journal.death(id="end", at="2026-02-01T00:00:00+01:00", tick=9) == "end"
    journal.death(id="later", at=datetime(2026, 2, 1, tzinfo=UTC))
    journal.death(id="ms", at=1772366400000)
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert [t["at"] for t in lines] == [
        "2026-02-01T00:00:00+01:00",
        "2026-02-01T00:00:00+00:00",
        1772366400000,
    ]
    assert read(path).events == 3


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"type": "fill"}, "position: is missing"),
        ({"type": "fil"}, 'type: "fil" is unknown'),
        ({}, "type: is missing"),
        ({"type": "death", "agent": "beta"}, "this journal is alpha's"),
        ({"type": "death", "at": datetime(2026, 3, 1)}, "has no offset"),
        ({"type": "death", "at": "2026-03-02T12:00:01Z"}, "more than a day after"),
        ({"type": "external", "quantity": float("nan")}, "quantity: nan is not finite"),
        (
            {"type": "external", "quantity": Decimal("Infinity")},
            'quantity: "Infinity" is not a finite number',
        ),
        ({"type": "death", "cause": "\ud800"}, "half a character"),
        ({"type": "death", "cause": {1, 2}}, "set has no JSON"),
        ({"type": "death", "cause": 5}, "cause: 5 is not a string"),
        ({"type": "death", "x": {1: 1, "1": 2}}, '"1": is given twice'),
        ({"type": "death", "x": {(1, 2): 1}}, "cannot be written as JSON"),
        ({"type": "death", "id": ""}, "id: is empty"),
        ({"type": "death", "cause": "x" * (4 << 20)}, "is longer than 4 MiB"),
    ],
)
def test_what_is_no_event_is_refused_before_anything_is_written(
    journal: Journal, path: Path, event: dict[str, Any], says: str
) -> None:
    with pytest.raises(JournalError, match=": ") as caught:
        journal.write(event)
    assert says in str(caught.value)
    assert not path.exists()
    loop: dict[str, Any] = {"type": "death"}
    loop["x"] = loop
    with pytest.raises(JournalError, match="cannot be written as JSON"):
        journal.write(loop)


def test_the_callers_event_is_left_as_it_was(journal: Journal) -> None:
    event = {"type": "death", "cause": None}
    journal.write(event)
    assert event == {"type": "death", "cause": None}


def test_an_agent_needs_a_name_that_reads_back(path: Path) -> None:
    for name in ("", "a b", "é", "x" * 65, None):
        with pytest.raises(JournalError, match="agent:"):
            Journal(path, name)  # type: ignore[arg-type]
    assert issubclass(JournalError, RetroError)


def test_numbers_of_numpy_are_numbers(journal: Journal, path: Path) -> None:
    journal.external(quantity=np.float64(1.5))
    journal.external(quantity=np.float32(0.5))  # type: ignore[arg-type]
    journal.external(quantity=np.int64(3))  # type: ignore[arg-type]
    assert [json.loads(text)["quantity"] for text in path.read_text().splitlines()] == [1.5, 0.5, 3]


def test_the_file_is_the_owners_alone(journal: Journal, path: Path) -> None:
    old = os.umask(0)
    try:
        journal.death()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_last_line_costs_only_itself(journal: Journal, path: Path) -> None:
    journal.death(id="a")
    whole = path.read_bytes()
    for end in range(1, len(whole)):
        path.write_bytes(whole[:end])
        journal.death(id="b")
        batch = read(path)
        assert [row.id for row in batch.rows][-1] == "b"
        assert batch.events + len(batch.faults) == 2
    path.write_bytes(b"")
    journal.death(id="c")
    assert read(path).events == 1


def test_threads_and_processes_share_a_journal(path: Path) -> None:
    writer = Journal(path, "alpha")

    def work() -> None:
        for _ in range(100):
            writer.decision(action="hold", reasoning="x" * 500)

    script = (
        f"from retro.journal import Journal\nw = Journal({str(path)!r}, 'alpha')\n"
        "for _ in range(100): w.death()"
    )
    other = subprocess.Popen([sys.executable, "-c", script])
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert other.wait() == 0
    batches = list(read_path(str(path), now=parse_instant("2100-01-01T00:00:00Z")))
    assert not [fault for batch in batches for fault in batch.faults]
    assert len({row.id for batch in batches for row in batch.rows}) == 500


def test_a_forked_child_makes_ids_of_its_own(journal: Journal, path: Path) -> None:
    script = (
        "import os\nfrom retro.journal import Journal\n"
        f"w = Journal({str(path)!r}, 'alpha', clock=lambda: 1e9)\n"
        "child = os.fork()\nw.death()\n"
        "if child: os.waitpid(child, 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert len({row.id for row in read(path).rows}) == 2


def test_a_full_disk_is_one_clear_error_and_the_next_line_is_whole(path: Path) -> None:
    """A limit on the file's size stops a write part way, as a full disk does."""
    writer = Journal(path, "alpha", clock=clock)
    writer.death(id="first")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40, limits[1]))
    try:
        with pytest.raises(JournalError, match=r"could not be written to .*agent\.jsonl: "):
            writer.death(id="second")
        with pytest.raises(JournalError, match="could not be written"):
            writer.death(id="third")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.death(id="fourth")
    batch = read(path)
    assert [row.id for row in batch.rows] == ["first", "fourth"]
    assert [fault.line for fault in batch.faults] == [2]


def test_a_place_that_cannot_be_written_never_blocks(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, says in (
        (pipe, "not a regular file"),
        (tmp_path, "directory"),
        (tmp_path / "none" / "a.jsonl", "No such file"),
        (Path("/dev/full"), "not a regular file"),
        (Path("a\0b"), "embedded null"),
    ):
        with pytest.raises(JournalError, match=says):
            Journal(path, "alpha").death()


def test_importing_the_writer_is_light() -> None:
    heavy = "numpy", "sqlalchemy", "pydantic", "pyarrow", "typer", "rich", "anthropic", "memory", "playbook"
    script = f"import sys, retro.journal; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"[]\n"


def test_the_package_alone_leads_to_the_writer(path: Path) -> None:
    script = f"import retro; retro.journal.Journal({str(path)!r}, 'alpha').death(); print(hasattr(retro, 'joural'))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"False\n"
    )
    assert path.exists()


_amounts = (
    st.decimals(0, 10**12, allow_nan=False, allow_infinity=False)
    | st.integers(0, 10**15)
    | st.floats(0, 1e50)
)
_names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=150, deadline=None)
@given(
    position=_names,
    quantity=_amounts.filter(lambda value: float(value) > 0),
    price=_amounts,
    fee=st.none() | _amounts,
    at=st.datetimes(datetime(1970, 1, 2), datetime(2026, 3, 2), timezones=st.just(UTC))
    | st.integers(0, AT // 1000),
    reasoning=_texts,
    holdings=st.dictionaries(_names, _amounts, max_size=3),
)
def test_whatever_is_written_is_read_with_every_digit(
    tmp_path_factory: pytest.TempPathFactory,
    position: str,
    quantity: Any,
    price: Any,
    fee: Any,
    at: Any,
    reasoning: str,
    holdings: Any,
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    path.unlink(missing_ok=True)
    writer = Journal(path, "alpha", clock=clock)
    writer.fill(position=position, side="sell", quantity=quantity, price=price, fee=fee, at=at)
    writer.decision(action="skip", reasoning=reasoning, at=at)
    writer.snapshot(position=position, holdings=holdings, at=at)
    batch = read(path)
    assert not batch.faults
    fill, decision, snapshot = (decode(row.body, row.at) for row in batch.rows)
    assert isinstance(fill, Fill)
    assert isinstance(decision, Decision)
    assert isinstance(snapshot, Snapshot)

    def exact(value: Any) -> Decimal:
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)

    assert fill.position == position
    assert fill.quantity == exact(quantity)
    assert fill.price == exact(price)
    assert fill.fee == exact(fee or 0)
    assert decision.reasoning == reasoning
    assert snapshot.holdings == {asset: exact(amount) for asset, amount in holdings.items()}
    micros = (
        at * 1000 if isinstance(at, int) else (at - datetime(1970, 1, 1, tzinfo=UTC)) // (datetime.resolution)
    )
    assert fill.at == micros

"""The writer as one file, alone: on every Python that is here, in a bare interpreter, and never other than the package's."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.ingest.journal.parallel import read_path
from retro.journal import FIELDS, Journal, JournalError
from retro.journal.standalone import OLDEST, standalone
from retro.periods import parse_instant
from retro.version import __version__
from tests.worlds.commands import Retro, process, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

TEXT = standalone()
AT = parse_instant("2026-03-01T12:00:00Z")
SUPPORTED = [(3, minor) for minor in range(9, 15)]

LIFE = """
import sys
sys.path.insert(0, sys.argv[1])
from decimal import Decimal
from datetime import datetime, timezone
from journal import Journal, JournalError

journal = Journal(sys.argv[2], "carried-7")
common = {"tick": 3}
journal.position(position="p1", kind="spot", instrument="ETH/USDC", side="long", risk=Decimal("12.50"),
                 funded_with={"USDC": Decimal("3000.1")}, **common)
journal.position(position="lp", kind="lp", instrument="ETH/USDC", token0="ETH", token1="USDC", lower=2000, upper="4000")
journal.fill(position="p1", side="buy", quantity=Decimal("1.20"), price=3000.5, fee="-0.1", order=17)
journal.flow(kind="interest", asset="USDC", quantity=1)
journal.snapshot(position="p1", holdings={"ETH": "1.2"}, claimable={"USDC": 0.5})
journal.exit(position="p1", reason="target")
journal.mark(instrument="ETH/USDC", price="3001")
journal.decision(action="hold", cites=("H-7",), confidence=0.5, context={"a": {"b": [1, None]}},
                 context_items=["H-7", "memory:m1"], difficulty="hard")
journal.prediction(predicted="1.5", target_at=datetime(2026, 4, 1, tzinfo=timezone.utc))
journal.resolution(prediction="x", correct=True)
journal.cost(kind="gas", asset="ETH", quantity="0.001")
journal.equity(value=10000, balances={"USDC": 10000})
journal.external(quantity=-5)
journal.shadow(shadow="wide", day=datetime(2026, 2, 28).date(), pnl=Decimal("-3.10"), note="12 %")
journal.death(cause="retired \\u202e \\n")
refused = 0
for event in ({"type": "fil"}, {"type": "death", "at": "yesterday"}, {"type": "external", "quantity": float("nan")},
              {"type": "death", "cause": "\\ud800"}, {"type": "fill"}, {"type": "death", "x": "9" * (4 << 20)}):
    try:
        journal.write(event)
    except JournalError as error:
        refused += ": " in str(error)
assert refused == 6, refused
assert "retro" not in sys.modules
"""


def interpreter(version: tuple[int, int]) -> str | None:
    """A Python of that version on this machine, wherever such are versions; None where there is none."""
    name = ".".join(map(str, version))
    if sys.version_info[:2] == version:
        return sys.executable
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [*sorted(versions.glob(f"{name}.*/bin/python{name}")), shutil.which(f"python{name}")]
    for candidate in filter(None, candidates):
        check = [str(candidate), "-c", "import sys; print(sys.version_info[:2])"]
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        if done.stdout.strip() == str(version):
            return str(candidate)
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an agent keeps it."""
    folder = tmp_path_factory.mktemp("carried")
    (folder / "journal.py").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def carried(folder: Path) -> ModuleType:
    """The file as a module of this process."""
    spec = spec_from_file_location("carried_journal", folder / "journal.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_prints_the_same_bytes_in_every_process(retro: Retro) -> None:
    prints = {process("journal-writer", env={"PYTHONHASHSEED": seed}).out for seed in ("1", "2", "33")}
    assert prints == {TEXT}
    document = retro("journal-writer", "--json").data
    assert document == {"file": "journal.py", "version": __version__, "python": "3.9", "text": TEXT}


def test_its_head_says_what_it_is_and_by_whose_leave() -> None:
    head = ast.get_docstring(ast.parse(TEXT)) or ""
    assert f"version {__version__}" in head
    assert "SPDX-License-Identifier: Apache-2.0" in head
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "retro journal-writer" in head


def test_it_is_text_of_the_oldest_python_and_names_the_standard_library_alone() -> None:
    tree = ast.parse(TEXT, feature_version=OLDEST)
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module))
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]
    assert min(SUPPORTED) == OLDEST


def test_every_name_it_uses_is_there_and_nothing_is_there_for_nothing() -> None:
    """No undefined name, no unused import, nothing defined twice, no syntax that the oldest Python has not."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    done = subprocess.run(
        [ruff, "check", "--isolated", "--no-cache", "--select", "F,E9", "--target-version", "py39", "-"],
        input=TEXT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("version", SUPPORTED, ids=lambda version: ".".join(map(str, version)))
def test_it_runs_alone_and_what_it_writes_is_taken_in_without_a_fault(
    folder: Path, tmp_path: Path, retro: Retro, version: tuple[int, int]
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(
            f"no Python {version[0]}.{version[1]} on this machine; the file is compiled for 3.9 all the same"
        )
    path = tmp_path / "agent.jsonl"
    command = [python, "-I", "-S", "-B", "-W", "error", "-c", LIFE, str(folder), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [json.loads(line)["type"] for line in path.read_text(encoding="utf-8").splitlines()] == [
        "position", *FIELDS,
    ]  # fmt: skip
    ingested = retro("--db", tmp_path / "r.db", "ingest", "journal", path, "--json")
    assert ingested.code == 0
    assert (ingested.data["events"], ingested.data["stored"], ingested.data["faults"]) == (15, 15, [])


def test_a_writer_that_is_killed_costs_at_most_the_line_it_was_writing(folder: Path, tmp_path: Path) -> None:
    """Killed again and again in the midst of writing, by several at once; whoever comes next begins a line of its own."""
    path = tmp_path / "agent.jsonl"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom journal import Journal\n"
        "journal = Journal(sys.argv[2], 'carried-7')\nprint('ready', flush=True)\n"
        "while True: journal.decision(action='hold', reasoning='x' * 60000)\n"
    )
    for _ in range(4):
        command = [sys.executable, "-I", "-S", "-B", "-c", script, str(folder), str(path)]
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        for run in runs:
            assert run.stdout is not None
            run.stdout.readline()
        time.sleep(0.05)
        for run in runs:
            run.send_signal(signal.SIGKILL)
            run.communicate()
        with path.open("ab") as file:  # and what a torn write of an older kernel would leave
            file.write(b'{"type":"decision","agent":"carr')
    events, faults = 0, []
    for batch in read_path(str(path), now=parse_instant("2100-01-01T00:00:00Z")):
        events += batch.events
        faults += batch.faults
    assert events > 8
    assert len(faults) <= 4 + 8  # ours, and one of each that was killed
    lines = [
        line for line in path.read_bytes().split(b"\n") if line
    ]  # two that mend one tear leave an empty line
    assert events + len(faults) == len(lines)


# Never other than the package's own

_VALUES = (
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8)
    | st.decimals() | st.sampled_from(["1e999", "0e99999999999999999999", "-0", "1_0", " 1", "١", "x" * 501, "\ud800", "2026-03-01T00:00:00Z"])
    | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
    | st.lists(st.text(max_size=3), max_size=2)
)  # fmt: skip
_KINDS = st.sampled_from([*FIELDS, "fil", ""])


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """An event of some type, its fields mostly those it has, mostly with values that do."""
    kind = draw(_KINDS)
    event: dict[str, Any] = {
        "type": kind,
        "id": draw(st.sampled_from(["1", "x", ""])),
        "at": draw(_VALUES) if draw(st.booleans()) else AT // 1000,
    }
    for name, rule in FIELDS.get(kind, {"cause": "text"}).items():
        if name not in {"type", "id", "at", "agent"} and draw(st.booleans()):
            likely = st.sampled_from(rule) if isinstance(rule, tuple) else _LIKELY.get(rule, _VALUES)
            event[name] = draw(likely) if draw(st.integers(0, 3)) else draw(_VALUES)
    return event


_LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(min_size=1, max_size=4), "text": st.text(max_size=4), "amount": st.decimals(0, 10), "flag": st.booleans(),
    "number": st.floats(-5, 5), "positive": st.integers(1, 9), "nonzero": st.integers(1, 9), "share": st.floats(0, 1),
    "amounts": st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 9), max_size=2),
    "names": st.lists(st.text(max_size=3), max_size=2), "day": st.sampled_from(["2026-02-28", "2026-02-30", "2026-2-1", "1969-12-31"]),
    "texts": st.lists(st.text(max_size=3), max_size=2), "integer": st.integers(), "count": st.integers(0, 9),
}  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(events())
def test_it_writes_and_refuses_what_the_package_does_in_the_same_words(
    carried: ModuleType, tmp_path_factory: pytest.TempPathFactory, event: dict[str, Any]
) -> None:
    outcomes: list[str | bytes] = []
    for number, (writer, error_class) in enumerate(
        ((Journal, JournalError), (carried.Journal, carried.JournalError))
    ):
        path = tmp_path_factory.getbasetemp() / f"twin-{number}.jsonl"
        path.unlink(missing_ok=True)
        try:
            writer(path, "alpha", clock=lambda: AT / 1e6).write(event)
        except error_class as error:
            assert not path.exists()
            outcomes.append(str(error))
        else:
            outcomes.append(path.read_bytes())
            [batch] = read_path(str(path), now=AT)
            assert not batch.faults
            assert batch.events == 1
    assert outcomes[0] == outcomes[1]

"""The command line as a person or a script meets it: as a process, or quicker, inside this one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retro.surface.cli.main import run
from tests.worlds.places import ROOT

SAMPLE = ROOT / "examples" / "sample"
JOURNAL = SAMPLE / "agent.jsonl"


class CommandResult(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Retro:
    """`retro("review", "weekly")` runs a command in this process, in the current directory."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> CommandResult:
        self._capsys.readouterr()
        code = run([str(word) for word in words])
        out, err = self._capsys.readouterr()
        return CommandResult(code, out, err)


@pytest.fixture
def retro(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retro:
    """Commands in this process, in an empty directory, with nothing configured."""
    monkeypatch.chdir(tmp_path)
    for name in ("RETRO_CONFIG", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    return Retro(capsys)


@pytest.fixture(scope="session")
def ingested_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample agent's database as it is after `ingest`, to be copied."""
    path = tmp_path_factory.mktemp("ingested") / "sample.db"
    process("--config", SAMPLE / "config.toml", "--db", path, "-q", "ingest", "journal", JOURNAL, check=True)
    return path


@pytest.fixture(scope="session")
def sample_db(ingested_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample agent's database, to be read only; a file's own, for other settings settle it anew."""
    return Path(shutil.copy(ingested_sample, tmp_path_factory.mktemp("sample")))


@pytest.fixture(scope="session")
def reviewed_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent of every type of event with its reviews made, to be read only."""
    folder = tmp_path_factory.mktemp("reviewed")
    for words in (("ingest", "journal", ROOT / "examples" / "agent.jsonl"), ("run", "--once")):
        process("--db", "mirror.db", *words, cwd=folder, check=True)
    return folder / "mirror.db"


def process(
    *words: str | Path,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    stdin: bytes | None = None,
    check: bool = False,
    before: Sequence[str] = (),
) -> CommandResult:
    """`python -m retro WORDS` as a process of its own; `before` are words for the interpreter."""
    done = subprocess.run(
        [sys.executable, *before, "-m", "retro", *map(str, words)],
        cwd=cwd or ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=120,
        check=False,
    )
    result = CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert not check or result.code == 0, result.err
    return result


def event(
    type_: str, name: str, at: str = "2026-03-02T09:00:00Z", agent: str = "ada", /, **fields: Any
) -> str:
    """A line of a journal."""
    return json.dumps({"type": type_, "id": name, "agent": agent, "at": at, **fields}) + "\n"


def round_trip(
    name: str, day: str = "2026-03-02", profit: float = 5.0, agent: str = "ada", **fields: Any
) -> str:
    """Bought at 100 in the morning of a day, sold in the evening."""
    trade = {"position": name, "instrument": "ETH/USDC"}
    return (
        event("position", f"{name}-p", f"{day}T09:00:00Z", agent, kind="spot", side="long", **trade)
        + event("decision", f"{name}-d", f"{day}T09:00:00Z", agent, action="enter", position=name, **fields)
        + event(
            "fill", f"{name}-b", f"{day}T09:00:00Z", agent, side="buy", quantity="1", price="100", **trade
        )
        + event("mark", f"{name}-m", f"{day}T12:00:00Z", agent, instrument="ETH/USDC", price="101")
        + event(
            "fill", f"{name}-s", f"{day}T18:00:00Z", agent, side="sell", quantity="1", price=100 + profit, **trade
        )
    )  # fmt: skip


def checkout(place: Path) -> None:
    """A copy of the repository at `place`, without its tests, that uses our environment."""
    leave = shutil.ignore_patterns(".*_cache", ".git", ".venv", ".hypothesis", "tests", "demo", "*.db*")
    shutil.copytree(ROOT, place, ignore=leave)
    (place / ".venv").symlink_to(sys.prefix)
    compiled = [sys.executable, "-m", "compileall", "-q", "retro", "memory", "playbook"]
    subprocess.run(compiled, cwd=place, check=True)


def environment(place: Path) -> dict[str, str]:
    """What to run the commands of a checkout in."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RETRO_", "MAKE"))}
    return {**own, "PYTHONPATH": str(place), "PYTHON": sys.executable}


class Demo(NamedTuple):
    """What `make demo` printed, and the checkout it was made in: to be read only."""

    place: Path
    out: str
    err: str

    def file(self, name: str) -> str:
        return (self.place / "demo" / name).read_text(encoding="utf-8")

    def document(self, name: str) -> Any:
        return json.loads(self.file(name))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """`make demo` in a checkout, its environment taken as built: once for all workers of a run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "demo"
    folder.mkdir(exist_ok=True)
    place, out, err = folder / "copy", folder / "out", folder / "err"
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not err.exists():
            checkout(place)
            made = subprocess.run(
                ["make", "-o", ".venv/runtime.stamp", "demo"],
                cwd=place, env=environment(place), capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert made.returncode == 0, made.stderr
            out.write_text(made.stdout)
            err.write_text(made.stderr)
    return Demo(place, out.read_text(), err.read_text())

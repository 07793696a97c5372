"""Lives whose citations are judged, and repositories that hold a PLAYBOOK.md, for tests of proposals and requests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import playbook
from retro import config
from retro.app.proposals.lifecycle import suggest
from retro.app.proposals.outcomes import Outcomes, read_outcomes
from retro.app.proposals.repository import ProposalRemote, remote_from
from retro.app.proposals.requests import Opened, open_request
from retro.app.settlement.settings import AgentSettings, settings_of
from retro.periods import DAY, format_instant, parse_instant
from retro.store import proposals
from retro.store.database import Store, open_store
from retro.store.facts.agents import Agent
from retro.testing.forge import FakeForge
from tests.worlds import lives

W06 = "retro/playbook/bot/2026-W06"
START = parse_instant("2026-01-05T00:00:00Z")
AGENT = "bot"
TOKEN = "t0ken-that-no-one-may-see"
BOOK = """\
# Playbook

Prose that stays.

## Global

- H-1 [0.62] Increase position size when sure {tags: size_up; status: active}
- H-2 [0.40] Fade the open {tags: fade; status: active}

The end.
"""
MESSAGE = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
MESSAGE |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in MESSAGE.items()}


def trades(n: int, *, first: int = 0, tag: str = "size_up", gain: float = -50.0) -> bytes:
    """`n` trades, one a day from day `first` on, each cited by one tag and making about `gain`."""
    lines = []
    for i in range(first, first + n):
        at, position = START + i * DAY, f"{tag}-{i}"
        pnl = gain + (i % 5)
        common = {"v": 1, "agent": AGENT, "position": position}
        lines += [
            common | {"type": "position", "id": f"p{position}", "at": format_instant(at), "kind": "perp", "instrument": "ETH/USDC", "side": "long"},
            common | {"type": "decision", "id": f"d{position}", "at": format_instant(at), "action": "enter", "cites": [tag]},
            common | {"type": "fill", "id": f"f{position}", "at": format_instant(at), "instrument": "ETH/USDC", "side": "buy", "quantity": 1, "price": 1000},
            common | {"type": "fill", "id": f"x{position}", "at": format_instant(at + DAY // 2), "instrument": "ETH/USDC", "side": "sell", "quantity": 1, "price": 1000 + pnl},
        ]  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def scale() -> bytes:
    """A week before all trades: thirteen labels that make 5 or lose 5, by which bets know what a large week is."""
    tags = [trades(1, first=i % 7 - 7, tag=f"small-{i}", gain=5.0 * (-1) ** i) for i in range(13)]
    return b"".join(tags)


@dataclass
class House:
    """A store with a life in it, a repository, and how requests travel between them."""

    store: Store
    repository: Path
    playbook_table: dict[str, object]
    env: dict[str, str]

    @property
    def agent(self) -> Agent:
        return lives.agent_of(self.store, AGENT)

    @property
    def config(self) -> config.Config:
        return config.Config.model_validate({"playbook": self.playbook_table})

    @property
    def settings(self) -> AgentSettings:
        return settings_of(self.config, self.agent, playbook.parse(BOOK))

    @property
    def remote(self) -> ProposalRemote:
        return remote_from(self.store, self.config, self.env)

    def live(self, lines: bytes) -> None:
        ingested = lives.live(self.store, lines)
        assert ingested.faults == []


def git(repository: Path, *arguments: str, content: bytes | None = None) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **MESSAGE}
    done = subprocess.run(
        ["git", *arguments], cwd=repository, input=content, capture_output=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def bare_repository(place: Path, content: str | None = BOOK, file: str = "PLAYBOOK.md") -> Path:
    """A bare repository with one commit on main: a README and, unless None, the playbook."""
    place.mkdir(parents=True)
    git(place, "init", "--quiet", "--bare", "--initial-branch=main")
    commit_of_a_person(
        place, "main", {"README.md": "hello\n"} | ({file: content} if content is not None else {})
    )
    return place


def commit_of_a_person(repository: Path, branch: str, files: dict[str, str]) -> str:
    """A person's commit of these files on a branch; its id."""
    index = {"GIT_INDEX_FILE": str(repository / "index.of.a.person")}
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **MESSAGE, **index}

    def run(*arguments: str, content: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=repository, input=content, capture_output=True, check=True, env=env
        )
        return done.stdout.decode().strip()

    tip = run("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
    run("read-tree", *([tip] if tip else ["--empty"]))
    for name, content in files.items():
        blob = run("hash-object", "-w", "--stdin", content=content.encode())
        run("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    commit = run("commit-tree", run("write-tree"), *(["-p", tip] if tip else []), "-m", "by hand")
    run("update-ref", f"refs/heads/{branch}", commit)
    return commit


def to_forge(forge: FakeForge, repository: str | None = None) -> dict[str, object]:
    """The configuration that leads to a forge."""
    return {
        "channel": "github",
        "repository": repository or str(forge.repository),
        "api_url": forge.url,
        "slug": forge.slug,
    }


# Houses


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with forty trades that lost by H-1, made once."""
    path = tmp_path_factory.mktemp("lived") / "retro.db"
    store = open_store(str(path))
    House(store, path, {}, {}).live(scale() + trades(40))
    store.close()
    return path


@contextmanager
def living_at(place: Path, lived: Path, **contents: Any) -> Iterator[tuple[House, FakeForge]]:
    """A house of its own below `place`, with a forge."""
    repository = bare_repository(place / "agent.git", **contents)
    database = place / "house" / "retro.db"
    database.parent.mkdir(parents=True)
    shutil.copy(lived, database)
    store = open_store(str(database))
    env = {"PATH": os.environ["PATH"], "RETRO_FORGE_TOKEN": TOKEN}
    with FakeForge(repository, token=TOKEN) as forge:
        yield House(store, repository, to_forge(forge), env), forge
    store.close()


@pytest.fixture
def placed(tmp_path: Path, lived: Path) -> Iterator[tuple[House, FakeForge]]:
    with living_at(tmp_path, lived) as house_and_forge:
        yield house_and_forge


def bring(
    house: House, *, week: str | None = None, now: int = 1, remote: ProposalRemote | None = None
) -> Opened:
    return open_request(house.store, house.agent, house.settings, remote or house.remote, now=now, week=week)


def outcomes(house: House, now: int = 5) -> Outcomes:
    return read_outcomes(house.store, house.config, house.env, lambda _: house.settings.playbook, now=now)


def states(house: House) -> dict[str, str]:
    with house.store.read() as conn:
        return {str(proposal.amendment.op): proposal.state for proposal in proposals.stored(conn)}


def suggested(house: House, entries: list[dict[str, Any]], now: int = 1) -> None:
    """What a finished weekly review leaves in the ledger."""
    with house.store.write() as conn:
        suggest(conn, house.agent, entries, house.settings.playbook, now)

"""Killed anywhere, run twice at once, its ledger lost: still one pull request, and no token in sight."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from retro.app.proposals.repository import ProposalRemote
from retro.app.proposals.requests import Opened, open_request
from retro.forge.git import Git
from retro.forge.request import EDITED
from retro.store import pull_requests
from retro.store.database import open_store
from retro.testing.forge import FakeForge
from tests.worlds import playbook_lives as lives
from tests.worlds.places import ROOT
from tests.worlds.playbook_lives import W06, bring, living_at, states


class Killed(BaseException):
    """The process ends here."""


class Mortal:
    """Passes everything on, until its clock has run out: then the process dies right after the call."""

    WORKS = frozenset({"write", "push", "create", "update", "label", "comment_once"})

    def __init__(self, inner: Any, clock: list[int]) -> None:
        self._inner, self._clock = inner, clock

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name not in self.WORKS:
            return attribute
        return (
            self._transaction if name == "write" and hasattr(self._inner, "engine") else self._call(attribute)
        )

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._inner.__exit__(*exception)

    def _tick(self) -> None:
        self._clock[0] -= 1
        if self._clock[0] < 0:
            raise Killed

    def _call(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            self._tick()
            return result

        return call

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._inner.write() as conn:
            yield conn
        self._tick()


def bring_mortal(house: lives.House, life: int, now: int = 1) -> bool:
    """Try once with so many deeds to live; True when that was enough."""
    clock = [life]
    mortal: Any = lambda inner: Mortal(inner, clock)  # noqa: E731
    remote = replace(house.remote, git=mortal(house.remote.git), forge=mortal(house.remote.forge))
    try:
        mortal_store: Any = Mortal(house.store, clock)
        open_request(mortal_store, house.agent, house.settings, remote, now=now, week="2026-W06")
    except Killed:
        return False
    return True


def test_faults_3_and_4_killed_after_any_step_the_next_run_ends_with_one_request(
    tmp_path: Path, lived: Path
) -> None:
    """Between push and pull request, between pull request and ledger, and everywhere else."""
    life, survived, gaps = 0, False, set()
    while not survived:
        with living_at(tmp_path / str(life), lived) as (house, forge):
            survived = bring_mortal(house, life)
            commit = forge.commit_of(W06)
            with house.store.read() as conn:
                noted = [request.number for request in pull_requests.stored(conn)]
            gaps.add((commit is not None, len(forge.pulls), noted == [1]))
            done = bring(house, now=2)
            assert (len(forge.pulls), done.state, states(house)) == (1, "open", {"demote": "open"}), life
            assert commit in (None, forge.commit_of(W06)), life
            assert forge.pulls[0]["labels"] == ["retro"], life
            with house.store.read() as conn:
                (request,) = pull_requests.stored(conn)
            assert (request.state, request.number, request.head) == ("open", 1, forge.commit_of(W06)), life
        life += 1
    assert {(True, 0, False), (True, 1, False), (True, 1, True)} <= gaps, "fault 3, fault 4, none"


def test_fault_20_killed_anywhere_a_commit_that_a_person_makes_meanwhile_stays(
    tmp_path: Path, lived: Path
) -> None:
    """Newer evidence was about to replace our commit by another."""
    life, survived = 0, False
    while not survived:
        with living_at(tmp_path / str(life), lived) as (house, forge):
            bring(house)
            house.live(lives.trades(20, tag="fade", gain=60.0))
            survived = bring_mortal(house, life)
            theirs = lives.commit_of_a_person(house.repository, W06, {"PLAYBOOK.md": "mine\n"})
            assert bring(house, week="2026-W06", now=2).state == "blocked", life
            assert forge.commit_of(W06) == theirs, life
            assert len(forge.pulls) == 1, life
        life += 1
    assert life >= 4


def test_killed_at_the_comment_it_is_made_once(tmp_path: Path, lived: Path) -> None:
    for life in range(4):
        with living_at(tmp_path / str(life), lived) as (house, forge):
            bring(house)
            theirs = lives.commit_of_a_person(house.repository, W06, {"PLAYBOOK.md": "mine\n"})
            bring_mortal(house, life, now=2)
            for now in (3, 200_000_000, 400_000_000):
                assert bring(house, now=now).state == "blocked"
            assert len([comment for comment in forge.comments if EDITED in comment["body"]]) == 1, life
            assert forge.commit_of(W06) == theirs


def test_a_ledger_that_was_lost_finds_its_request_and_its_no(tmp_path: Path, lived: Path) -> None:
    with living_at(tmp_path, lived) as (house, forge):
        bring(house)
        fresh = tmp_path / "fresh" / "retro.db"
        fresh.parent.mkdir()
        shutil.copy(lived, fresh)
        again = replace_store(house, fresh)
        assert bring(again).url == f"{forge.web}/ada/agent/pull/1"
        assert states(again) == {"demote": "open"}
        forge.close(1)
        shutil.copy(lived, fresh.with_name("third.db"))
        third = replace_store(house, fresh.with_name("third.db"))
        assert bring(third).state == "none"
        assert states(third) == {"demote": "rejected"}
        assert len(forge.pulls) == 1


def replace_store(house: lives.House, path: Path) -> lives.House:
    return lives.House(open_store(str(path)), house.repository, house.playbook_table, house.env)


# At once


def command(house: lives.House, place: Path, *words: str) -> list[str]:
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in house.playbook_table.items())
    config, book = place / "config.toml", place / "BOOK.md"
    book.write_text(lives.BOOK)
    config.write_text(f'[playbook]\n{settings}[agent.bot]\nplaybook = "BOOK.md"\n')
    return [sys.executable, "-m", "retro", "--config", str(config), "--db", str(house.store.path), *words]


def test_two_processes_at_once_make_one_request_and_show_no_token(
    placed: tuple[lives.House, FakeForge], tmp_path: Path
) -> None:
    house, forge = placed
    house.playbook_table["repository"] = forge.git_url
    env = {**os.environ, "RETRO_FORGE_TOKEN": lives.TOKEN}
    words = command(house, tmp_path, "-v", "playbook", "pr", "--json")
    pipe = subprocess.PIPE
    both = [subprocess.Popen(words, cwd=ROOT, env=env, stdout=pipe, stderr=pipe) for _ in range(2)]
    outputs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert len(forge.pulls) == 1
    status = subprocess.run(
        command(house, tmp_path, "playbook", "status", "--json"), cwd=ROOT, capture_output=True, check=True
    )
    (row,) = json.loads(status.stdout)
    opened = json.loads(outputs[0][0])
    assert row == {"id": opened["proposals"][0], "state": "open", "branch": W06, "url": opened["url"]}
    texts = [*outputs[0], *outputs[1], json.dumps(forge.pulls).encode()]
    texts += [path.read_bytes() for path in (tmp_path / "house").rglob("*") if path.is_file()]
    texts.append(lives.git(house.repository, "log", "--all", "--format=%B%an%cn").encode())
    assert not any(lives.TOKEN.encode() in text for text in texts)


def test_two_machines_at_once_make_one_request(placed: tuple[lives.House, FakeForge], tmp_path: Path) -> None:
    """Caches of their own keep nobody apart: the branch and the request are found by what they are."""
    house, forge = placed
    remotes = [
        replace(house.remote, git=Git(str(house.repository), tmp_path / name, house.env))
        for name in ("here", "there")
    ]
    done: list[Opened | Exception] = []

    def run(remote: ProposalRemote) -> None:
        try:
            done.append(bring(house, remote=remote))
        except Exception as error:  # noqa: BLE001  # judged by the caller
            done.append(error)

    threads = [threading.Thread(target=run, args=(remote,)) for remote in remotes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [getattr(outcome, "state", outcome) for outcome in done] == ["open", "open"]
    assert len(forge.pulls) == 1

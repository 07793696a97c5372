"""The laws of sums and of bytes on sixty random worlds; `python -m benchmarks.worlds` holds a thousand to them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worlds.chance.acts import live
from tests.worlds.chance.laws import broken
from tests.worlds.chance.nonsense import babble

AT_ONCE = 10
TELL_25 = """
import hashlib, json
from tests.worlds.chance.acts import live
from tests.worlds.chance.nonsense import babble
for make in (live, babble):
    for seed in range(25):
        events = make(seed).events
        print(make.__name__, seed, hashlib.sha256(json.dumps(events, default=str).encode()).hexdigest())
"""


def test_a_seed_is_a_world_whatever_pythons_hash_seed_is() -> None:
    """World 8 told its balances in the order of a set."""
    told = [
        subprocess.run(
            [sys.executable, "-c", TELL_25],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        for hash_seed in ("1", "2")
    ]
    assert len(told[0]) == 50
    assert told[0] == told[1]


@pytest.mark.parametrize("first", range(0, 30, AT_ONCE))
def test_reviews_of_random_worlds_say_what_their_balances_say(tmp_path: Path, first: int) -> None:
    """Totals, positions, wallet, equity and days on all; half of them are told a second time, in pieces."""
    worlds = [live(seed, days=7) for seed in range(first, first + AT_ONCE)]
    breaches = {w.seed: broken(w, tmp_path, pieces=w.seed % 2 == 0) for w in worlds}
    assert {seed: [str(breach) for breach in some[:3]] for seed, some in breaches.items() if some} == {}


@pytest.mark.parametrize("seed", [352, 611, 744, 754, 857, 871])
def test_long_lives_that_broke_the_laws_keep_them(tmp_path: Path, seed: int) -> None:
    """Found by `benchmarks.worlds`: fills where marks are late, holes in them, interest that nobody withdrew."""
    assert [str(breach) for breach in broken(live(seed), tmp_path)[:3]] == []


@pytest.mark.parametrize("seed", [9, 16, 19, 23, 28, 35, 36, 44, 51])
def test_lives_that_make_no_sense_add_up_by_days_and_print_the_same_bytes(tmp_path: Path, seed: int) -> None:
    """Positions declared after their facts or never, fills and words that come late: all told a second time, in pieces."""
    assert [str(breach) for breach in broken(babble(seed, days=7), tmp_path, sense=False)[:3]] == []


@pytest.mark.parametrize("seed", [3, 41, 58])
def test_random_worlds_print_the_same_bytes_on_postgresql(
    tmp_path: Path, postgres_url: str, seed: int
) -> None:
    assert broken(live(seed, days=7), tmp_path, url=postgres_url) == []

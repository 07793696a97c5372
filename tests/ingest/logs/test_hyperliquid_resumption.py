"""An answer of Hyperliquid's API that a program writes over and over: what it has forgotten is not."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from retro.ingest.hyperliquid.reader import read
from retro.ingest.hyperliquid.resumption import readings
from retro.model import Batch
from tests.worlds.logs.hyperliquid import answer, api
from tests.worlds.logs.telling import NOW

BEGIN_MS = 1_767_571_200_000


def life(seed: int, size: int) -> list[dict[str, Any]]:
    """Fills of two coins, some of one instant, and now and then an hour's funding; positions cross zero as they like."""
    draw = random.Random(seed)
    held, at = {"ETH": 0, "BTC": 0}, BEGIN_MS
    entries: list[dict[str, Any]] = []
    for number in range(size):
        at += draw.choice((0, 1, 60_000))
        coin, side, size_ = draw.choice(("ETH", "BTC")), draw.choice("AB"), draw.randrange(1, 4)
        start = held[coin]
        held[coin] += size_ if side == "B" else -size_
        entries.append(
            api(
                tid=number + 1001, time=at, coin=coin, side=side, sz=str(size_), px=str(100 + draw.randrange(9)),
                startPosition=str(start), dir=direction(start, held[coin], side), closedPnl="0.0", fee="0.1",
            )
        )  # fmt: skip
        if draw.random() < 0.2:
            at += 1
            delta = {
                "type": "funding",
                "coin": coin,
                "usdc": "-0.01",
                "szi": str(held[coin]),
                "fundingRate": "0.0001",
            }
            entries.append({"time": at, "hash": f"0x{number}", "delta": delta})
    return entries


def direction(start: int, end: int, side: str) -> str:
    if start * end < 0:
        return "Long > Short" if start > 0 else "Short > Long"
    is_long = start > 0 or end > 0
    return f"{'Open' if (side == 'B') == is_long else 'Close'} {'Long' if is_long else 'Short'}"


def tale(batches: Sequence[Batch]) -> tuple[dict[tuple[str, str], Any], set[str], list[str]]:
    events = {(row.type, row.id): json.loads(row.body) for batch in batches for row in batch.rows}
    checks = {str(check) for batch in batches for check in batch.checks}
    return events, checks, [fault.reason for batch in batches for fault in batch.faults]


@pytest.mark.parametrize("seed", range(8))
def test_answers_that_slide_over_a_life_tell_what_the_whole_life_tells(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    entries = life(seed, 40)
    whole = tale(list(read([answer(tmp_path / "whole.json", *entries)], agent=None, zone=None, now=NOW)))
    end, batches = 0, list[Batch]()
    place: dict[str, Any] = {}
    while end < len(entries):
        begin, end = max(0, end - draw.randrange(1, 6)), end + draw.randrange(1, 9)
        while end < len(entries) and entries[end]["time"] == entries[end - 1]["time"]:
            end += 1  # what happens in one instant is answered together
        read_on, place = told(answer(tmp_path / "newest.json", *entries[begin:end]), place)
        batches += read_on
    assert tale(batches) == whole


def test_an_answer_that_has_forgotten_nothing_is_read_whole(tmp_path: Path) -> None:
    """What was lacking in the middle is taken where it comes, and a longer history is told from its beginning."""
    entries = life(3, 20)
    _, place = told(answer(tmp_path / "a.json", *entries[5:8], *entries[10:]), {})
    batches, _ = told(answer(tmp_path / "a.json", *entries), place)
    assert tale(batches) == tale(list(read([tmp_path / "a.json"], agent=None, zone=None, now=NOW)))


def told(path: Path, place: Mapping[str, Any]) -> tuple[list[Batch], dict[str, Any]]:
    (reading,) = readings(path, json.loads(json.dumps(place)), agent=None, zone=None, now=NOW)
    batches = list(reading.batches)
    return batches, dict(reading.place)

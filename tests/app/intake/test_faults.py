"""Faults are counted by agent: what is wrong with a neighbour's file changes no byte of anybody else's report."""

from __future__ import annotations

import json

import pytest

from retro.report import dump
from retro.store.database import Store
from retro.store.facts import faults
from tests.worlds.lives import live, report

DAY = "2026-03-02"


def line(agent: str, name: str, at: str = f"{DAY}T08:00:00Z", **fields: object) -> bytes:
    event = {"type": "equity", "id": name, "agent": agent, "at": at, "value": 100, **fields}
    return json.dumps(event).encode() + b"\n"


def quarantined(store: Store, agent: str) -> int:
    return report(store, agent, "daily").data_quality.quarantined


def test_a_neighbours_torn_file_changes_no_byte_of_a_report(store: Store) -> None:
    live(store, line("ada", "1"), name="ada.jsonl")
    before = dump(report(store, "ada", "daily"))
    live(store, line("bob", "1") + b"torn\n" + line("bob", "2", at="noon") + b'{"type":', name="bob.jsonl")
    assert dump(report(store, "ada", "daily")) == before
    assert quarantined(store, "bob") == 3
    with store.read() as conn:
        assert faults.count(conn) == 3


def test_in_a_file_of_two_a_fault_is_whose_line_it_is_and_else_of_both(store: Store) -> None:
    live(store, line("ada", "1") + line("bob", "1") + line("bob", "2", at="noon") + b"torn\n")
    assert (quarantined(store, "ada"), quarantined(store, "bob")) == (1, 2)


@pytest.mark.parametrize("first", ["ada", "bob"])
def test_whoever_is_told_of_first_the_faults_are_the_same(store: Store, first: str) -> None:
    """Read on in two readings: the torn line stands before or after the lines that tell of the other."""
    other = "bob" if first == "ada" else "ada"
    live(store, line(first, "1") + b"torn\n", name="both.jsonl")
    live(store, line(first, "1") + b"torn\n" + line(other, "1"), name="both.jsonl")
    assert (quarantined(store, "ada"), quarantined(store, "bob")) == (1, 1)


def test_a_file_read_afresh_and_whole_leaves_no_fault(store: Store) -> None:
    live(store, line("ada", "1") + b"torn\n")
    assert quarantined(store, "ada") == 1
    live(store, line("ada", "1"))
    assert quarantined(store, "ada") == 0

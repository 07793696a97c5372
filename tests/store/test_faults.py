"""Faults: what could not be used is kept once, in the order it was met, until its source is read afresh."""

from __future__ import annotations

import pytest

from retro.model import Fault
from retro.store.database import Store
from retro.store.facts import faults


def test_a_fault_is_kept_once_however_often_it_is_met(store: Store) -> None:
    torn, naive = Fault("a.jsonl", 9, "no newline at the end"), Fault("a.jsonl", 2, "time has no offset")
    with store.write() as conn:
        assert faults.add(conn, "a.jsonl", [torn, naive, torn]) == 2
        assert faults.add(conn, "a.jsonl", [naive, Fault("a.jsonl", None, "ends early")]) == 1
        assert faults.add(conn, "b.jsonl", [torn]) == 1, "the same line of another source is another fault"
        assert faults.add(conn, "b.jsonl", []) == 0
    with store.read() as conn:
        assert faults.all(conn, "a.jsonl") == [torn, naive, Fault("a.jsonl", None, "ends early")]
        assert faults.all(conn) == [torn, naive, Fault("a.jsonl", None, "ends early"), torn]
        assert faults.count(conn) == 4


def test_a_source_read_afresh_starts_without_faults(store: Store) -> None:
    with store.write() as conn:
        faults.add(conn, "a", [Fault("a", 1, "x")])
        faults.add(conn, "b", [Fault("b", 1, "x")])
        faults.forget(conn, "a")
    with store.read() as conn:
        assert faults.all(conn) == [Fault("b", 1, "x")]


@pytest.mark.parametrize("reason", ["a\0b", "\ud800 alone", "long " * 2000, "", "%s '"])
def test_foreign_text_in_a_reason_breaks_nothing(store: Store, reason: str) -> None:
    for expected in (1, 0):
        with store.write() as conn:
            assert faults.add(conn, "a", [Fault("a", 1, reason)]) == expected
    with store.read() as conn:
        (fault,) = faults.all(conn)
    assert len(fault.reason) <= 2000
    assert fault.reason[:5] == reason[:5].replace("\0", "␀").replace("\ud800", "?")


def test_a_fault_is_of_the_agent_its_line_names_else_of_all_that_its_source_tells_of(store: Store) -> None:
    named, nobody = Fault("both", 3, "x", "ada"), Fault("both", 4, "torn")
    elsewhere, stranger = Fault("else", 1, "torn"), Fault("both", 5, "x", "who")
    with store.write() as conn:
        faults.tell_of(conn, "both", ["ada", "bob"])
        faults.tell_of(conn, "else", ["bob"])
        faults.add(conn, "both", [named, nobody, stranger])
        faults.add(conn, "else", [elsewhere])
    with store.read() as conn:
        assert faults.all(conn, agent="ada") == [named, nobody]
        assert faults.all(conn, agent="bob") == [nobody, elsewhere]
        assert (faults.count(conn, "ada"), faults.count(conn, "eve"), faults.count(conn)) == (2, 0, 4)
    with store.write() as conn:
        faults.forget(conn, "else", agents=False)
        faults.add(conn, "else", [elsewhere])
        faults.forget(conn, "both")
        faults.add(conn, "both", [nobody])
    with store.read() as conn:
        assert faults.all(conn, agent="bob") == [elsewhere]
        assert faults.count(conn, "ada") == 0, "read afresh, it has told of nobody yet"

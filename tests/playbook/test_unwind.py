"""Runs of amendments, at random: the document stays sound, and unwinds to its first byte."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from playbook import Playbook, edits, inverse, parse, splice
from playbook.amendment import Grounds
from playbook.errors import AmendmentError
from playbook.operations import add, demote, merge, promote, retire, revise, set_confidence

WHY = Grounds({"resolved": 12, "average": -2.1}, "the next 12 resolved entry citations average above 0 usd")

TEXT = """\
# Playbook

Prose about H-41.

## Global

- H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}
* H-12 [.5] Avoid thin pools
  when the queue is long {tags: thin;
  since: 2026-02-28}

  A note below.
- H-3 [0.40] Concentrate

## Strategy: x

- H-9 [0.35] Buy the dip {status: candidate}

Tail.
"""
BOOK = parse(TEXT)


WORDS = st.text(min_size=1, max_size=40)


class Owner(RuleBasedStateMachine):
    """Any run of amendments keeps the prose, the order of the rest and the ids, and unwinds to the first byte."""

    @initialize(
        text=st.sampled_from(
            [
                TEXT,
                TEXT.replace("\n", "\r\n"),
                "",
                "prose, no end",
                "\ufeff* H-1 [0.5] a {tags: t}\n\n* H-2 [1] b\n\nend",
            ]
        )
    )
    def start(self, text: str) -> None:
        self.first = text
        self.text = text
        self.done: list[Any] = []
        self.ids = {heuristic.id for heuristic in parse(text).heuristics}
        self.prose = [line.strip() for line in text.split("\n") if line.strip().isalpha()]

    def _try(self, make: Any) -> None:
        book: Playbook = parse(self.text)
        try:
            amendment = make(book)
            plan = edits(book, [amendment])
        except AmendmentError:
            return
        before, self.text = self.text, splice(self.text, plan)
        assert splice(self.text, inverse(plan)) == before
        self.done.append(plan)
        self.ids |= {heuristic.id for heuristic in parse(amendment.new).heuristics}

    @rule(text=WORDS, tag=st.sampled_from(["", "t", "thin", "x;y}"]))
    def add(self, text: str, tag: str) -> None:
        self._try(lambda book: add(book, text, WHY, tags=(tag,) if tag else ()))

    @rule(pick=st.integers(0, 99), text=WORDS)
    def revise(self, pick: int, text: str) -> None:
        self._try(lambda book: revise(book, self._id(pick), text, WHY))

    @rule(pick=st.integers(0, 99), confidence=st.floats(0, 1))
    def set_confidence(self, pick: int, confidence: float) -> None:
        self._try(lambda book: set_confidence(book, self._id(pick), confidence, WHY))

    @rule(pick=st.integers(0, 99), make=st.sampled_from([demote, promote]))
    def restate(self, pick: int, make: Any) -> None:
        self._try(lambda book: make(book, self._id(pick), WHY))

    @rule(pick=st.integers(0, 99), reason=WORDS)
    def retire(self, pick: int, reason: str) -> None:
        self._try(lambda book: retire(book, self._id(pick), reason, WHY))

    @rule(first=st.integers(0, 99), second=st.integers(0, 99))
    def merge(self, first: int, second: int) -> None:
        self._try(lambda book: merge(book, self._id(first), self._id(second), WHY))

    def _id(self, pick: int) -> str:
        names = [heuristic.id for heuristic in parse(self.text).heuristics] or ["H-1"]
        return names[pick % len(names)]

    @invariant()
    def sound_and_complete(self) -> None:
        book = parse(self.text)
        assert book.faults == ()
        assert {heuristic.id for heuristic in book.heuristics} == self.ids
        assert [line for line in map(str.strip, self.text.split("\n")) if line in self.prose] == self.prose

    def teardown(self) -> None:
        text = self.text
        for plan in reversed(self.done):
            text = splice(text, inverse(plan))
        assert text == self.first


TestOwner = Owner.TestCase
TestOwner.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)

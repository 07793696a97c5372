"""Ten thousand answers: the sound ones become words whose every figure is code's, the others none at all."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from retro.narrate import plain
from retro.narrate.subject import GroundedWords, Subject, check, report_subject
from retro.store.database import open_store
from tests.worlds.narrations import (
    cut_answers,
    generated,
    hostile_answer,
    lived,
    misshapen_answers,
    sound_answer,
)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    store = open_store(str(tmp_path_factory.mktemp("week") / "retro.db"))
    week_subject = report_subject(plain.words(lived(store)))
    store.close()
    return week_subject


def test_of_ten_thousand_answers_only_sound_ones_are_taken_and_no_figure_but_codes(subject: Subject) -> None:
    """Well-formed ones all pass; wrong numbers, unknown slots, spelled numbers, markup, cuts and wrong types never do."""
    sound = list(islice(generated(sound_answer, 1), 3000))
    bad = [*cut_answers(), *misshapen_answers()]
    bad += islice(generated(hostile_answer, 2), 10_000 - len(sound) - len(bad))
    assert len(sound) + len(bad) == 10_000
    figures = sorted({slot.text for slot in subject.ground.slots.by_name.values()}, key=len, reverse=True)
    ours = re.compile("|".join(map(re.escape, figures)))
    for answer in sound:
        grounded = check(subject, answer)
        assert isinstance(grounded, GroundedWords), (answer, grounded)
        texts = [*grounded.fields.values(), *(text for pair in grounded.positions.values() for text in pair)]
        texts += grounded.candidates.values()
        assert not any(c.isnumeric() for text in texts for c in ours.sub("", text)), answer
    accepted = [answer for answer in bad if isinstance(check(subject, answer), GroundedWords)]
    assert accepted == []

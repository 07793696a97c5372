"""What an amendment may not do, what is no proposal, and how a proposal is known again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from playbook import Amendment, apply, from_json, parse, to_json
from playbook.amendment import Grounds
from playbook.document import next_number
from playbook.errors import (
    AmendmentError,
    DuplicateHeuristic,
    NotPermitted,
    ProposalError,
    StaleLine,
    UnknownHeuristic,
)
from playbook.operations import add, demote, demote_label, merge, promote, retire, revise, set_confidence

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


def _raw(**fields: Any) -> Amendment:
    return from_json({"op": "set_confidence", "heuristic": "H-3", "old": "- H-3 [0.40] Concentrate"} | fields)


@pytest.mark.parametrize(
    ("amendment", "error", "words"),
    [
        (
            _raw(heuristic="H-8", old="- H-8 [0.4] x", new="- H-8 [0.5] x"),
            UnknownHeuristic,
            "not in the playbook",
        ),
        (
            _raw(old="- H-3 [0.41] Concentrate", new="- H-3 [0.50] Concentrate"),
            StaleLine,
            "has changed since",
        ),
        (_raw(new="- H-3 [0.40] Concentrate"), NotPermitted, "change nothing"),
        (_raw(new="- H-3 [0.50] Concentrate more"), NotPermitted, "may not change its text"),
        (_raw(new="- H-3 [0.50] Concentrate {tags: x}"), NotPermitted, "may not change its tags"),
        (_raw(new="- H-3 [0.50] Concentrate {status: demoted}"), NotPermitted, "may not change its status"),
        (_raw(new="- H-3 [1.50] Concentrate"), NotPermitted, "would be a fault"),
        (_raw(new="- H-3 [0.50] Concentrate {colour: red}"), NotPermitted, "would be a fault"),
        (
            _raw(new="- H-3 [0.50] Concentrate\n- H-4 [1.0] Obey"),
            NotPermitted,
            "does not read as a heuristic",
        ),
        (_raw(new="- H-3 [0.50] Concentrate\n\n# Title"), NotPermitted, "more than a heuristic"),
        (
            _raw(new="- H-3 [0.50] Concentrate {status: active}\n  more"),
            NotPermitted,
            "more than a heuristic",
        ),
        (_raw(new="Concentrate"), NotPermitted, "does not read as a heuristic"),
        (_raw(new="- H-7 [0.50] Concentrate"), NotPermitted, "about H-7"),
        (
            _raw(op="demote", new="- H-3 [0.40] Concentrate {status: active}"),
            NotPermitted,
            "leaves it demoted",
        ),
        (_raw(op="promote", new="- H-3 [0.50] Concentrate"), NotPermitted, "leaves it active"),
        (
            from_json(to_json(promote(BOOK, "H-7", WHY, confidence=0.7))),
            NotPermitted,
            "is active already",
        ),
        (_raw(op="revise", new="- H-3 [0.40] See [this](http://x.y)"), NotPermitted, "must be plain"),
        (_raw(op="revise", new="- H-3 [0.40] Hid\u200bden"), NotPermitted, "must be plain"),
        (_raw(op="revise", new="- H-3 [0.90] Better"), NotPermitted, "may not change its confidence"),
        (_raw(op="revise", new="- H-3 [0.40] Better", origin="model"), NotPermitted, "only word candidates"),
        (_raw(new="- H-3 [0.50] Concentrate", origin="model"), NotPermitted, "only word candidates"),
        (_raw(op="add", new="- H-3 [0.35] x {status: candidate}"), NotPermitted, "no old line"),
        (_raw(op="add", old=None, new="- H-3 [0.35] x {status: candidate}"), DuplicateHeuristic, "already"),
        (
            _raw(op="add", old=None, heuristic="H-8", new="- H-8 [0.35] x {status: active}"),
            NotPermitted,
            "candidate",
        ),
        (
            _raw(op="add", old=None, heuristic="H-8", new="- H-8 [0.35] x {tags: thin; status: candidate}"),
            NotPermitted,
            "already claimed",
        ),
        (
            _raw(op="add", old=None, heuristic="x", new="- H-8 [0.35] x {status: candidate}"),
            NotPermitted,
            "H-8",
        ),
        (
            _raw(op="demote", old=None, heuristic="x", new="- H-8 [0.3] x {status: demoted}"),
            NotPermitted,
            "H-8",
        ),
        (_raw(op="promote", old=None, new="- H-8 [0.35] x"), NotPermitted, "needs the line"),
        (_raw(op="merge", new="- H-3 [0.40] Concentrate"), NotPermitted, "does not read"),
        (
            _raw(
                op="merge",
                old="- H-3 [0.40] Concentrate\n- H-9 [0.35] Buy the dip {status: candidate}",
                new="- H-3 [0.40] Concentrate\n- H-9 [0.35] Buy the dip {status: demoted}",
            ),
            NotPermitted,
            "leaves it retired",
        ),
    ],
)
def test_an_amendment_that_does_not_fit_is_refused_with_the_reason(
    amendment: Amendment, error: type[AmendmentError], words: str
) -> None:
    with pytest.raises(AmendmentError, match=words) as caught:
        apply(BOOK, [amendment])
    assert type(caught.value) is error


def test_nothing_is_half_done_when_a_later_amendment_does_not_fit() -> None:
    with pytest.raises(StaleLine):
        apply(BOOK, [set_confidence(BOOK, "H-7", 0.1, WHY), set_confidence(BOOK, "H-7", 0.2, WHY)])


def test_an_id_that_stands_twice_is_not_amended() -> None:
    with pytest.raises(DuplicateHeuristic, match="lines 1 and 2"):
        demote(parse("- H-1 [0.5] a\n- H-1 [0.5] b\n"), "H-1", WHY)


def test_a_heuristic_with_others_nested_in_it_is_not_moved() -> None:
    book = parse("- H-1 [0.5] a\n  - H-2 [0.5] b\n")
    with pytest.raises(NotPermitted, match="nested"):
        apply(book, [retire(book, "H-1", "x", WHY)])


def test_what_is_retired_stays_retired() -> None:
    book = parse("- H-1 [0.5] a {tags: x}\n\n## Retired\n\n- H-2 [0.1] b {tags: y}\n")
    for amendment in (
        retire(book, "H-2", "again", WHY),
        promote(book, "H-2", WHY),
        demote(book, "H-2", WHY),
        merge(book, "H-2", "H-1", WHY),
        merge(book, "H-1", "H-2", WHY),
    ):
        with pytest.raises(NotPermitted, match="retired"):
            apply(book, [amendment])


def test_nothing_is_added_inside_a_fence_that_never_closes() -> None:
    book = parse("## Global\n\n```\ncode\n")
    with pytest.raises(NotPermitted, match="never closes"):
        apply(book, [add(book, "a", WHY)])


def test_a_faulty_document_can_still_be_amended_elsewhere() -> None:
    book = parse("- H-1 [2] a {tags: x}\n- H-2 [0.5] b {tags: x}\n- H-3 [0.5] c\n")
    after = apply(book, [retire(book, "H-3", "x", WHY), set_confidence(book, "H-1", 0.5, WHY)])
    assert after.startswith("- H-1 [0.50] a {tags: x}\n- H-2 [0.5] b {tags: x}\n")


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_confidence_lies_between_nought_and_one(confidence: float) -> None:
    with pytest.raises(NotPermitted):
        set_confidence(BOOK, "H-7", confidence, WHY)


def test_an_id_once_mentioned_is_not_given_again() -> None:
    assert next_number(BOOK) == 42
    assert next_number(parse("")) == 1
    with pytest.raises(DuplicateHeuristic):
        add(BOOK, "x", WHY, heuristic="H-7")


def test_a_proposal_reads_back_from_its_json() -> None:
    amendment = demote(BOOK, "H-7", WHY, confidence=0.3)
    document = json.loads(json.dumps(to_json(amendment)))
    assert list(document) == ["id", "op", "heuristic", "old", "new", "evidence", "falsified_by", "origin"]
    assert document["evidence"] == WHY.evidence
    assert from_json(document) == amendment
    assert from_json(document).id == document["id"]


@pytest.mark.parametrize(
    ("proposal", "words"),
    [
        ([], "is an object"),
        ({"op": "rewrite", "heuristic": "H-1", "new": "x"}, "unknown operation 'rewrite'"),
        ({"op": "add", "heuristic": "H-1"}, "new is a text"),
        ({"op": "add", "heuristic": 1, "new": "x"}, "heuristic is a text"),
        ({"op": "add", "heuristic": "H-1", "new": "x", "old": 3}, "old is a text or null"),
        ({"op": "add", "heuristic": "H-1", "new": "x", "evidence": []}, "evidence an object"),
        ({"op": "add", "heuristic": "H-1", "new": "x", "origin": "owner"}, "unknown origin"),
        ({"op": "add", "heuristic": "H-1", "new": "x", "merge_now": True}, "unknown field 'merge_now'"),
    ],
)
def test_what_is_no_proposal_is_refused(proposal: object, words: str) -> None:
    with pytest.raises(ProposalError, match=words):
        from_json(proposal)


def test_a_no_stays_a_no_while_the_figures_move() -> None:
    """The id is the content's: op, heuristic, line; not the evidence, not by how much the confidence moves."""
    later_grounds = Grounds(
        {"resolved": 15, "average": -1.9}, "the next 15 resolved entry citations average above 0 usd"
    )
    moved = parse(TEXT.replace("[0.62]", "[0.60]"))
    assert (
        demote(BOOK, "H-7", WHY, confidence=0.3).id == demote(moved, "H-7", later_grounds, confidence=0.28).id
    )
    assert set_confidence(BOOK, "H-7", 0.5, WHY).id == set_confidence(moved, "H-7", 0.45, later_grounds).id
    assert retire(BOOK, "H-7", "lost 3", WHY).id == retire(BOOK, "H-7", "lost 4", later_grounds).id
    assert (
        add(BOOK, "a", WHY, tags=("t",)).id == add(BOOK, "a", later_grounds, tags=("t",), heuristic="H-77").id
    )


def test_different_proposals_have_different_ids() -> None:
    reworded = parse(TEXT.replace("80 %", "90 %"))
    amendments = [
        demote(BOOK, "H-7", WHY),
        demote(reworded, "H-7", WHY),
        demote(BOOK, "H-3", WHY),
        promote(BOOK, "H-7", WHY),
        retire(BOOK, "H-7", "", WHY),
        set_confidence(BOOK, "H-7", 0.5, WHY),
        set_confidence(BOOK, "H-7", 0.7, WHY),
        revise(BOOK, "H-7", "a", WHY),
        revise(BOOK, "H-7", "b", WHY),
        merge(BOOK, "H-7", "H-3", WHY),
        merge(BOOK, "H-7", "H-9", WHY),
        add(BOOK, "a", WHY),
        add(BOOK, "a", WHY, tags=("t",)),
        add(BOOK, "b", WHY),
        demote_label(BOOK, "x", "a", WHY),
        demote_label(BOOK, "y", "a", WHY),
    ]
    assert len({amendment.id for amendment in amendments}) == len(amendments)


def test_the_id_is_the_same_in_every_release() -> None:
    """Ledgers remember a no by it."""
    assert demote(BOOK, "H-7", WHY).id == "80416f7da5a9bdb9"


FAULTY = """\
## Global

- H-1 [0.50] First
- H-2 [0.50] Second

## Strategy: x

- H-5 [0.40] Twice {tags: t}
- H-5 [0.40] Twice again
- H-6 [0.40] Claims it too {tags: t}
"""


def test_a_fault_that_stood_there_before_hinders_no_sound_addition() -> None:
    """The line put in above moves the line numbers that the old faults name."""
    assert {fault.line for fault in parse(FAULTY).faults} == {9, 10}
    text = apply(parse(FAULTY), [add(parse(FAULTY), "Third", WHY)])
    assert "- H-7 [0.35] Third {status: candidate}\n" in text
    assert {fault.line for fault in parse(text).faults} == {10, 11}


def test_an_addition_that_makes_a_fault_is_still_refused_beside_old_faults() -> None:
    with pytest.raises(NotPermitted, match="already claimed"):
        apply(
            parse(FAULTY),
            [_raw(op="add", heuristic="H-7", old=None, new="- H-7 [0.35] New {tags: t; status: candidate}")],
        )

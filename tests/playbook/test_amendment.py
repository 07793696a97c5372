"""Amendments: each changes only the lines it must, says no to anything else, and can be taken back to the byte."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from playbook import Amendment, apply, diff, edits, find, inverse, parse, splice
from playbook.amendment import Grounds
from playbook.errors import (
    StaleLine,
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


def _changed(before: str, after: str) -> list[str]:
    return [line for line in diff(before, after).split("\n")[2:] if line[:1] in "+-" and line]


@pytest.mark.parametrize(
    ("amendment", "changed"),
    [
        (
            set_confidence(BOOK, "H-7", 0.481, WHY),
            [
                "-- H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}",
                "+- H-7 [0.48] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}",
            ],
        ),
        (
            demote(BOOK, "H-7", WHY, confidence=0.3),
            [
                "-- H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}",
                "+- H-7 [0.30] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: demoted}",
            ],
        ),
        (
            demote(BOOK, "H-3", WHY),
            ["-- H-3 [0.40] Concentrate", "+- H-3 [0.40] Concentrate {status: demoted}"],
        ),
        (
            demote(BOOK, "H-12", WHY),
            ["-  since: 2026-02-28}", "+  since: 2026-02-28; status: demoted}"],
        ),
        (
            set_confidence(BOOK, "H-12", 0.25, WHY),
            ["-* H-12 [.5] Avoid thin pools", "+* H-12 [0.25] Avoid thin pools"],
        ),
        (
            promote(BOOK, "H-9", WHY),
            ["-- H-9 [0.35] Buy the dip {status: candidate}", "+- H-9 [0.35] Buy the dip {status: active}"],
        ),
        (
            revise(BOOK, "H-9", "Buy the second dip", WHY, since=date(2026, 11, 16)),
            [
                "-- H-9 [0.35] Buy the dip {status: candidate}",
                "+- H-9 [0.35] Buy the second dip {status: candidate; since: 2026-11-16}",
            ],
        ),
        (
            add(BOOK, "Wait an hour", WHY, tags=("wait", "a, b"), since=date(2026, 11, 16)),
            ['+- H-42 [0.35] Wait an hour {tags: wait, "a, b"; since: 2026-11-16; status: candidate}'],
        ),
        (
            demote_label(BOOK, "late entry", "Enter late", WHY, confidence=0.2),
            ["+- H-42 [0.20] Enter late {tags: late entry; status: demoted}"],
        ),
        (
            retire(BOOK, "H-12", "average -2.31 usd over 14 citations", WHY),
            [
                "-* H-12 [.5] Avoid thin pools",
                "-  when the queue is long {tags: thin;",
                "-  since: 2026-02-28}",
                "-",
                "-  A note below.",
                "+",
                "+## Retired",
                "+",
                "+* H-12 [.5] Avoid thin pools",
                "+  when the queue is long {tags: thin;",
                "+  since: 2026-02-28; status: retired; reason: average -2.31 usd over 14 citations}",
                "+",
                "+  A note below.",
            ],
        ),
        (
            merge(BOOK, "H-7", "H-12", WHY),
            [
                "-- H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}",
                "-* H-12 [.5] Avoid thin pools",
                "-  when the queue is long {tags: thin;",
                "-  since: 2026-02-28}",
                "-",
                "-  A note below.",
                "+- H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up, thin; since: 2026-03-01; status: active}",
                "+",
                "+## Retired",
                "+",
                "+* H-12 [.5] Avoid thin pools",
                "+  when the queue is long {tags: thin;",
                "+  since: 2026-02-28; status: retired; reason: merged into H-7}",
                "+",
                "+  A note below.",
            ],
        ),
    ],
    ids=lambda value: value.op if isinstance(value, Amendment) else "",
)
def test_a_diff_touches_only_what_is_amended_and_the_inverse_restores_the_bytes(
    amendment: Amendment, changed: list[str]
) -> None:
    plan = edits(BOOK, [amendment])
    after = splice(TEXT, plan)
    assert _changed(TEXT, after) == changed
    assert splice(after, inverse(plan)) == TEXT
    assert parse(after).faults == ()


def test_what_was_merged_cites_the_heuristic_that_was_kept() -> None:
    after = parse(apply(BOOK, [merge(BOOK, "H-7", "H-12", WHY)]))
    assert {heuristic.id: heuristic.status for heuristic in after.heuristics}["H-12"] == "retired"
    survivor = find(after, "H-7")
    assert survivor is not None
    assert survivor.tags == ("size_up", "thin")


def test_several_amendments_apply_in_order() -> None:
    after = apply(
        BOOK,
        [
            retire(BOOK, "H-7", "lost", WHY),
            add(BOOK, "one", WHY, heuristic="H-50"),
            add(BOOK, "two", WHY, heuristic="H-51"),
            retire(BOOK, "H-9", "lost too", WHY),
        ],
    )
    assert [(heuristic.id, heuristic.section) for heuristic in parse(after).heuristics] == [
        ("H-12", "Global"),
        ("H-3", "Global"),
        ("H-50", "Global"),
        ("H-51", "Global"),
        ("H-7", "Retired"),
        ("H-9", "Retired"),
    ]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "## Global\n\n- H-1 [0.35] a {status: candidate}\n"),
        ("\ufeff", "\ufeff## Global\n\n- H-1 [0.35] a {status: candidate}\n"),
        ("prose", "prose\n\n## Global\n\n- H-1 [0.35] a {status: candidate}"),
        ("prose\r\n\r\n", "prose\r\n\r\n## Global\r\n\r\n- H-1 [0.35] a {status: candidate}\r\n"),
        ("## Global", "## Global\n\n- H-1 [0.35] a {status: candidate}"),
        (
            "## Global\n\nwords\n\n## x\n",
            "## Global\n\nwords\n\n- H-1 [0.35] a {status: candidate}\n\n## x\n",
        ),
        ("# T\n\n## Retired\n", "# T\n\n## Global\n\n- H-1 [0.35] a {status: candidate}\n\n## Retired\n"),
        ("+ H-0 [0.1] b", "+ H-0 [0.1] b\n+ H-1 [0.35] a {status: candidate}"),
        (
            "## Notes\n- list\n  - H-0 [0.1] b\n\n  more\n",
            "## Notes\n- list\n  - H-0 [0.1] b\n\n  more\n- H-1 [0.35] a {status: candidate}\n",
        ),
    ],
)
def test_an_added_heuristic_ends_the_global_section(text: str, after: str) -> None:
    book = parse(text)
    plan = edits(book, [add(book, "a", WHY)])
    assert splice(text, plan) == after
    assert splice(after, inverse(plan)) == text


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "- H-1 [0.5] a",
            "## Retired\n\n- H-1 [0.5] a {status: retired; reason: x}\n",
        ),
        (
            "- list\n  - H-1 [0.5] a\n    - note\n\n      code?\n  - other\n## Retired\n\nWhy.\n\n# End\n",
            "- list\n  - other\n## Retired\n\nWhy.\n\n- H-1 [0.5] a {status: retired; reason: x}\n  - note\n\n    code?\n\n# End\n",
        ),
        (
            "## Retired\n- H-0 [0.1] b\n## Global\n- H-1 [0.5] a {status: active} \n",
            "## Retired\n- H-0 [0.1] b\n- H-1 [0.5] a {status: retired; reason: x} \n## Global\n",
        ),
    ],
)
def test_a_retired_heuristic_moves_with_its_notes(text: str, after: str) -> None:
    book = parse(text)
    plan = edits(book, [retire(book, "H-1", "x", WHY)])
    assert splice(text, plan) == after
    assert splice(after, inverse(plan)) == text


def test_a_splice_on_another_text_is_refused() -> None:
    plan = edits(BOOK, [set_confidence(BOOK, "H-7", 0.1, WHY)])
    with pytest.raises(StaleLine):
        splice(TEXT.replace("Prose", "Verse and prose"), plan)


@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n"), TEXT.replace("\n", "\r\n"), "", "- H-7 [0.5] a"])
def test_git_takes_the_diff(text: str, tmp_path: Path) -> None:
    book = parse(text)
    amendments = [add(book, "new", WHY)]
    if find(book, "H-7"):
        amendments += [retire(book, "H-7", "lost", WHY)]
    after = apply(book, amendments)
    file = tmp_path / "rules" / "PLAYBOOK.md"
    file.parent.mkdir()
    if text:
        file.write_bytes(text.encode())
    patch = diff(text, after, "rules/PLAYBOOK.md")
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=patch.encode(), cwd=tmp_path, check=True, capture_output=True)
    assert file.read_bytes() == after.encode()


def test_equal_texts_have_no_diff() -> None:
    assert diff(TEXT, TEXT) == ""

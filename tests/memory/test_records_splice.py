"""Changing a YAML text in place: it reads as wanted, and what a person wrote around it is still there."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import DamagedError
from memory.records.splice import Unwritable, rewritten
from memory.records.text import block, inline, read

REGISTRY = """\
# ours, please keep
hypotheses:
- id: H_001   # the first
  text: Multi-timeframe é 🎉 might
    break the plateau
  tested_by: []   # nobody yet
  status: untested  # really?
  owner: ada

- id: H_002
  text: |
    two
    lines
  # below the text
  tested_by:
    - exp_a   # good
    - exp_b
  runs: [1, 2]  # so far
  note:
# the end
"""


def test_a_changed_value_keeps_every_comment_blank_line_and_unknown_key() -> None:
    wanted = read(REGISTRY)
    wanted["hypotheses"][0] |= {"status": "validated", "tested_by": ["exp_1"]}
    wanted["hypotheses"][1]["tested_by"] += ["exp_c"]
    wanted["hypotheses"][1]["runs"] += [3]
    wanted["hypotheses"][1]["note"] = {"by": "us"}
    wanted["hypotheses"].append({"id": "H_003", "text": "third: one"})
    assert rewritten(REGISTRY, wanted) == (
        """\
# ours, please keep
hypotheses:
- id: H_001   # the first
  text: Multi-timeframe é 🎉 might
    break the plateau
  tested_by:    # nobody yet
  - exp_1
  status: validated  # really?
  owner: ada

- id: H_002
  text: |
    two
    lines
  # below the text
  tested_by:
    - exp_a   # good
    - exp_b
    - exp_c
  runs: [1, 2, 3]  # so far
  note:
    by: us
- id: H_003
  text: 'third: one'
# the end
"""
    )


def test_nothing_to_change_gives_the_very_same_text() -> None:
    text = "a:   1 # x\r\nb:\r\n   - 2"
    assert rewritten(text, read(text)) == text


@pytest.mark.parametrize(
    "text", ["", "# a comment only\n", "hypotheses:\n", "hypotheses: []", "{hypotheses: []}"]
)
def test_an_empty_registry_takes_its_first_entry(text: str) -> None:
    wanted = {"hypotheses": [{"id": "H_001", "status": "untested"}]}
    new = rewritten(text, wanted)
    assert read(new) == wanted
    assert new.startswith(text.split("\n", maxsplit=1)[0].split(" []", maxsplit=1)[0])


def test_the_line_ends_and_the_byte_order_mark_of_a_file_stay() -> None:
    text = "\ufeffa: 1 # one\r\nb:\r\n- x\r\n"
    assert rewritten(text, {"a": 2, "b": ["x", "y"]}) == "\ufeffa: 2 # one\r\nb:\r\n- x\r\n- y\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x\n",  # changing one would change the other
        "a: [1, # one\n  2]\n",  # the comment would be lost
        "null\n",
        "- a: 1\n",
    ],
)
def test_a_layout_that_cannot_be_changed_with_certainty_is_refused(text: str) -> None:
    with pytest.raises(Unwritable):
        rewritten(text, {"a": [9], "b": [1]})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [\n", "line 2"),
        ("a: *nobody", "line 1"),
        ("!!python/object:os.system x", "line 1"),
        ("a: 1\n---\nb: 2\n", "line 2"),
    ],
)
def test_what_is_no_record_is_damaged_and_the_line_is_named(text: str, line: str) -> None:
    with pytest.raises(DamagedError, match=line):
        read(text)


def test_depth_and_unfolding_aliases_are_damage_and_not_a_crash() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for text in ("[" * 100_000, "- " * 100_000, "&a [*a]", bomb):
        with pytest.raises(DamagedError):
            read(text)


def test_what_looks_like_a_time_stays_text_and_what_is_no_number_is_missing() -> None:
    assert read("a: 2025-12-27\nb: 2025-12-27T00:00:00Z\nc: .nan\nd: .inf") == {
        "a": "2025-12-27",
        "b": "2025-12-27T00:00:00Z",
        "c": None,
        "d": None,
    }


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), texts
)
keys = st.from_regex(r"[a-z]{3,5}", fullmatch=True).filter(
    lambda key: key not in ("true", "null", "yes", "off")
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(keys, values, min_size=1, max_size=4)


@given(texts)
def test_any_text_is_read_back_from_a_line_of_its_own_and_from_within_a_list(text: str) -> None:
    assert read(f"k: {inline(text)}") == {"k": text}
    assert read(f"[{inline(text)}, 1]") == [text, 1]


@settings(max_examples=150, deadline=None)
@given(records, records, st.booleans())
def test_any_record_can_be_changed_into_any_other_with_its_keys(
    old: dict[str, Any], new: dict[str, Any], dos: bool
) -> None:
    """Comments at the head, the tail and behind a value that stays survive; the result reads as wanted."""
    wanted = {**copy.deepcopy(old), **new}
    text = f"# head\nkept: 1  # here\n{block(old)}# tail\n"
    if dos:
        text = text.replace("\n", "\r\n")
    changed = rewritten(text, {"kept": 1, **wanted})
    assert read(changed) == {"kept": 1, **wanted}
    assert changed.startswith("# head")
    assert "kept: 1  # here" in changed
    assert "# tail" in changed
    assert rewritten(changed, {"kept": 1, **wanted}) == changed

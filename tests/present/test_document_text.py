"""The JSON text of a document: what the standard library writes of it, part by part, no part larger than a row."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from retro.present.formats import render
from retro.present.json_parts import json_parts
from retro.report import Checkpoint, PositionRetrospective, RetrospectiveReport, dump
from retro.report.form import Document, dump_parts
from retro.report.slotted import SlottedDocument, new
from retro.safe import clean
from tests.worlds.samples import positions, reports

DOCUMENTS: list[RetrospectiveReport | PositionRetrospective] = [
    reports.weekly(),
    reports.empty_daily(),
    positions.position(entry_reasoning='a "quoted" line\nand a second, é and \u2028'),
]


@pytest.mark.parametrize("indent", [None, 2, 4])
@pytest.mark.parametrize("document", DOCUMENTS, ids=["report", "nothing traded", "position"])
def test_a_document_is_written_as_the_standard_library_writes_it(
    document: RetrospectiveReport | PositionRetrospective, indent: int | None
) -> None:
    separators = (",", ":") if indent is None else None
    fields = document.model_dump(mode="json")
    wanted = json.dumps(fields, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    assert dump(document, indent=indent) == f"{wanted}\n"


def test_half_a_surrogate_pair_is_written_as_the_standard_library_writes_it() -> None:
    broken = positions.position(lesson="half \ud800 a pair")
    assert dump(broken) == json.dumps(broken.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"


class _Table(Document):
    rows: list[_Row]


class _Row(Document):
    number: float
    numbers: list[float]
    amounts: dict[str, float]
    text: str
    count: int


_FIGURES = st.floats(allow_nan=False, allow_infinity=False)
_BY_SIZE = st.builds(
    lambda digits, exponent: digits * 10.0**exponent, st.integers(-99, 99), st.integers(-25, 25)
)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.lists(
        st.builds(
            _Row,
            number=_FIGURES | _BY_SIZE,
            numbers=st.lists(_BY_SIZE | _FIGURES, max_size=3),
            amounts=st.dictionaries(_TEXTS, _BY_SIZE, max_size=2),
            text=_TEXTS | st.sampled_from(["NaN", "1e-7", "-Infinity", ":0.0000"]),
            count=st.integers(),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_the_rows_of_a_table_spell_every_figure_and_text_as_the_standard_library_does(
    rows: list[_Row],
) -> None:
    table = _Table(rows=rows)
    fields = {"rows": [{name: getattr(row, name) for name in _Row.model_fields} for row in rows]}
    assert dump(table) == json.dumps(fields, ensure_ascii=False, indent=2) + "\n"
    compact = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    assert dump(table, indent=None) == compact + "\n"


@pytest.mark.parametrize("wild", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_written_in_no_document(wild: float) -> None:
    """However it came into it: a copy with changes is not looked through again."""
    row = _Row(number=1.0, numbers=[], amounts={}, text="", count=0).model_copy(update={"number": wild})
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump(_Table(rows=[]).model_copy(update={"rows": [row]}))


def test_parts_come_row_by_row_and_are_the_whole_text() -> None:
    many = [positions.position(position_id=f"p{number}") for number in range(50)]
    report = reports.weekly(positions=many)
    parts = list(dump_parts(report))
    assert "".join(parts) == dump(report)
    assert max(map(len, parts)) < 2 * len(dump(many[0]))
    assert "".join(json_parts(report)) == render(report, "json")


@pytest.mark.parametrize(
    "told",
    ["plain", "a\u202eb", "line\nbreak", "tab\there", "x\x7f", "\ud800", 'a "quote"', "back\\slash", "é"],
)
@pytest.mark.parametrize("field", ["instrument", "entry_reasoning", "reasons", "cites", "key"])
def test_json_is_that_of_the_cleaned_document_wherever_a_text_stands(told: str, field: str) -> None:
    position = positions.position()
    within: dict[str, dict[str, object]] = {
        "reasons": {"reasons": {**position.reasons, "pnl": told}},
        "cites": {"cites": position.cites.model_copy(update={"entry": [told]})},
        "key": {"reasons": {**position.reasons, told: "why"}},
    }
    changes = within.get(field, {field: told})
    report = reports.weekly(positions=[positions.position(), position.model_copy(update=changes)])
    report = report.model_copy(update={"hindsight": told})
    assert "".join(json_parts(report)) == dump(clean(report))


def test_a_changed_copy_of_a_document_leaves_every_other_as_it_was() -> None:
    first, second = positions.position(), positions.position()
    changed = first.model_copy(update={"lesson": "sell later"})
    assert (first.lesson, second.lesson, changed.lesson) == (first.lesson, first.lesson, "sell later")
    assert first == second != changed
    assert type(first).model_validate_json(dump(changed)) == changed


@pytest.mark.parametrize(
    "changes",
    [{}, {"pnl": nan}, {"pnl": inf}, {"pnl": "1.0 more"}, {"nap": 1.0}, {"offset": 1}, {"pnl": None}],
)
def test_a_new_document_is_what_its_form_makes_and_is_refused_where_its_form_refuses(
    changes: dict[str, Any],
) -> None:
    fields = dict(positions.position().pnl_trajectory[0]) | changes
    try:
        expected: Checkpoint | list[tuple[Any, ...]] = Checkpoint(**fields)
    except ValidationError as error:
        expected = [(error.title, fault["type"], fault["loc"]) for fault in error.errors()]
        with pytest.raises(ValidationError) as refused:
            new(Checkpoint, **fields)
        assert [
            (refused.value.title, fault["type"], fault["loc"]) for fault in refused.value.errors()
        ] == expected
    else:
        assert new(Checkpoint, **fields) == expected
    assert isinstance(expected, list) == bool(changes and changes != {"pnl": None})


def test_what_a_week_has_by_the_ten_thousand_carries_no_dictionary() -> None:
    """Slots take a quarter of the room; a subclass or a part without them would bring the dictionaries back."""
    first = positions.position()
    for part in (first, first.attribution, first.cites, first.pnl_trajectory[0]):
        assert isinstance(part, SlottedDocument)
        assert not hasattr(part, "__dict__")
        assert dict(part) == {name: getattr(part, name) for name in type(part).model_fields}


@pytest.mark.parametrize(
    "changes", [{"regret": nan}, {"regret": inf}, {"regret": "1.0 more"}, {"regert": 1.0}]
)
def test_a_position_takes_no_figure_that_is_none_and_no_field_it_has_not(changes: dict[str, object]) -> None:
    fields = positions.position().model_dump(mode="json")
    assert PositionRetrospective.model_validate(fields) == positions.position()
    with pytest.raises(ValidationError):
        PositionRetrospective.model_validate(fields | changes)
    with pytest.raises(AttributeError):
        positions.position().regret = 1.0  # type: ignore[misc]


class _Optional(Document):
    first: int | None = Field(default=None, exclude_if=lambda value: value is None)
    second: int | None = Field(default=None, exclude_if=lambda value: value is None)
    third: int | None = Field(default=None, exclude_if=lambda value: value is None)


@pytest.mark.parametrize("present", [{}, {"first": 1}, {"second": 2}, {"third": 3}, {"first": 1, "third": 3}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_field_that_is_left_out_leaves_no_trace(present: dict[str, int], indent: int | None) -> None:
    """Such as `silent_since` of an agent that is awake."""
    text = dump(_Optional(**present), indent=indent)
    assert json.loads(text) == present

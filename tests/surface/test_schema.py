"""`retro schema`: the schemas that programs check our documents by, and the documents themselves."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.journal import FIELDS, REQUIRED, RejectedError, check
from retro.journal.schema import schema
from tests.worlds.commands import JOURNAL, SAMPLE, Retro, event, process, retro, sample_db
from tests.worlds.places import ROOT

__all__ = ["retro", "sample_db"]

NOW = 2_000_000_000_000_000
EVERY_TYPE = ROOT / "examples" / "agent.jsonl"
JOURNAL_SCHEMA = jsonschema.Draft202012Validator(schema())


def validator(retro: Retro, name: str) -> jsonschema.Draft202012Validator:
    result = retro("schema", name)
    assert result.code == 0
    jsonschema.Draft202012Validator.check_schema(result.data)
    return jsonschema.Draft202012Validator(result.data)


@pytest.mark.parametrize(
    "words", [["daily"], ["weekly"], ["epoch"], ["weekly", "--from", "2026-01-01", "--to", "2026-04-01"]]
)
def test_every_report_is_what_its_schema_says(words: list[str], sample_db: Path, retro: Retro) -> None:
    schema = validator(retro, "report")
    schema.validate(retro("--db", sample_db, "review", *words, "--json").data)


def test_every_position_is_what_its_schema_says(sample_db: Path, retro: Retro) -> None:
    schema = validator(retro, "position")
    for name in ("aave-usdc", "lp-1", "lp-2", "t-4", "t-49", "t-57"):
        schema.validate(retro("--db", sample_db, "review", "position", name, "--json").data)


def test_the_configurations_are_what_their_schema_says(retro: Retro) -> None:
    schema = validator(retro, "config")
    retro("init", "fresh")
    for path in (Path("fresh/config.toml"), ROOT / "config.toml", SAMPLE / "config.toml"):
        schema.validate(tomllib.loads(path.read_text()))
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({"owner": {"nmae": "Ada"}})


def test_every_line_of_the_examples_is_what_the_schema_says(retro: Retro) -> None:
    schema = validator(retro, "journal")
    lines = EVERY_TYPE.read_text().splitlines() + JOURNAL.read_text().splitlines()[::7]
    kinds = set()
    for line in lines:
        document = json.loads(line)
        kinds.add(document["type"])
        schema.validate(document)
    assert kinds == set(FIELDS)


SOUND: dict[str, dict[str, Any]] = {
    "position": {"position": "p", "kind": "spot", "instrument": "A/B"},
    "fill": {"position": "p", "side": "buy", "quantity": "1", "price": 2},
    "flow": {"kind": "reward", "asset": "A", "quantity": 1},
    "snapshot": {"position": "p", "holdings": {"A": "1"}},
    "exit": {"position": "p"},
    "mark": {"instrument": "A/B", "price": 1},
    "decision": {"action": "hold"},
    "prediction": {},
    "resolution": {"prediction": "x", "actual": 1},
    "cost": {"kind": "gas", "amount": "0.1"},
    "equity": {"value": 1},
    "external": {"quantity": -5},
    "shadow": {"shadow": "s", "day": "2026-01-01", "pnl": "-1.5"},
    "death": {},
}
ODD = st.sampled_from(
    [None, "", "x", "buy", "lp", "deposit", "1", "-1", "0", "1e400", " 1", "NaN", 0, 1, -1, 0.5, 2.5, True, False, [], ["a"],
     [1], {}, {"A": "1"}, {"A": -1}, {"A": "x"}, {"": 1}, "a" * 501, "2026-01-01T00:00:00Z", "T0", "2026-01-31", "2026-1-1", "1969-12-31", [""], ["a"] * 1001]
)  # fmt: skip


@given(st.sampled_from(sorted(FIELDS)), st.data())
@settings(max_examples=400, deadline=None)
def test_what_the_reader_takes_the_schema_takes_and_what_it_refuses_is_refused_by_both(
    kind: str, data: st.DataObject
) -> None:
    """One field of a sound event is replaced; only what a schema cannot say may be judged differently."""
    field = data.draw(
        st.sampled_from([name for name in FIELDS[kind] if name not in {"type", "at", "target_at"}])
    )
    document = json.loads(event(kind, "i", "2026-01-01T00:00:00Z", "ada", **SOUND[kind])) | {
        field: data.draw(ODD)
    }
    try:
        check(json.dumps(document), NOW)
        accepted = True
    except RejectedError:
        accepted = False
    beyond_a_schema = document[field] == "1e400" or (
        FIELDS[kind][field] in {"positive", "nonzero"} and document[field] == "0"
    )
    if not beyond_a_schema:
        assert JOURNAL_SCHEMA.is_valid(document) == accepted, document


@pytest.mark.parametrize("kind", sorted(FIELDS))
def test_every_field_that_is_needed_is_needed_in_both(kind: str) -> None:
    sound = json.loads(event(kind, "i", "2026-01-01T00:00:00Z", "ada", **SOUND[kind]))
    assert JOURNAL_SCHEMA.is_valid(sound)
    check(json.dumps(sound), NOW)
    for name in ("type", *REQUIRED[kind]):
        less = {key: value for key, value in sound.items() if key != name}
        assert not JOURNAL_SCHEMA.is_valid(less), name
        with pytest.raises(RejectedError):
            check(json.dumps(less), NOW)


def test_the_schema_is_the_same_from_anywhere(tmp_path: Path, retro: Retro) -> None:
    assert process("schema", "journal", cwd=tmp_path).out == retro("schema", "journal").out

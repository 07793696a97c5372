"""A step that was released never changes, and all steps together make the tables that the queries describe."""

from __future__ import annotations

import hashlib
import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Inspector, MetaData, Table, inspect

import memory.store
import retro.store
from memory.store.migrations import runner as of_memory
from memory.store.tables import metadata as memory_metadata
from retro.store.database import Store
from retro.store.migrations import runner as of_retro
from retro.store.schema import metadata as retro_metadata
from tests.worlds.places import ROOT

RELEASED = {
    "memory/store/migrations/steps/0001_ledgers_and_plans.sql": "6daa4d1bebecfd227c52af4cfd7c4d1aeca5433fcfc4f0f486767678e7bbe9ff",
    "memory/store/migrations/steps/0002_library.sql": "6b655ddd4beb7d76044ca7070f94e4be0ce38de6427869e691b1950ddaf1c67c",
    "retro/store/migrations/steps/0001_facts_and_marks.sql": "9da84f7a5b9170784a2704982c9f22101bf31e36fa82c94dbcea238d77f4e7c9",
    "retro/store/migrations/steps/0002_book.sql": "081bd7f16aabf5ab2fdf39ade005b533b3ad0d508d6f3bab887026e37885d8b1",
    "retro/store/migrations/steps/0003_reviews.sql": "f2cd05e4b3be964c1f5733a90d1541f8807044344e67b22afe58aa0f870d8ae1",
    "retro/store/migrations/steps/0004_spend.sql": "6eddd9ce1d444586e2d76738a1b7bbc55a3e2dd5d058b93d580073adf596bee6",
    "retro/store/migrations/steps/0005_proposals.sql": "bc3dada530762718b129ee65a4b764f0ae8d2c8d42f69f408d3329014d362e11",
    "retro/store/migrations/steps/0006_origin.sql": "e601d3f8561c6fc51657ae96115058f3a372691130799729dbc207153ee67dc0",
    "retro/store/migrations/steps/0007_marks.sql": "cd9e3350a5f98edff89ca51060b891c7e3a6241f9fa79d483ccad638aac94716",
    "retro/store/migrations/steps/0008_grid.sql": "85ea13657530af62f125e182da5f371322e92c1a32dda9b4faf18be12f98aeeb",
    "retro/store/migrations/steps/0009_asked_until.sql": "ef9a7151cbc09a4d70502967fdb16a7753a90df880053b72327382a6c98e46ad",
    "retro/store/migrations/steps/0010_told_at.sql": "e41854345473fb21e8ce9b57462c5870245fcddc31b35cd7d565d2e60db039f3",
    "retro/store/migrations/steps/0011_rulings.sql": "e644662c247a1057422345dcb175612ee5c1129745a030656376b727552430a8",
    "retro/store/migrations/steps/0012_weeks.sql": "d50cf8a86eb7a7ce227706d5aaaba0f514f2fbd6045c2d223e3f499e5bdc30a2",
    "retro/store/migrations/steps/0013_confidences.sql": "8ce0f62af06dd00631bc733fc1633775f7f225148695908d84d68003af720d74",
    "retro/store/migrations/steps/0014_lists.sql": "515603fb3d48748d31c4f70c14788ef3e15eed9a252561175f2c73edfe486ead",
    "retro/store/migrations/steps/0015_fleet.sql": "90f1039f3380f71f78802cde9a6ca991aca8f90d1909379be0a5c7614692da16",
    "retro/store/migrations/steps/0016_departures.sql": "89664e521fec96b491c6f3b4a661b96fb32da010d7fc9d80980fe893afb9c3c4",
    "retro/store/migrations/steps/0017_many_agents.sql": "4f8acff3f341d10a7ca4ea3b170d40db7011ccce570c95603b26d7710355c6e2",
    "retro/store/migrations/steps/0018_claims.sql": "853fc5bffbf670ff4059582db37b945125afcd3378be0b337d37ef13500ce5bb",
    "retro/store/migrations/steps/0019_replays.sql": "2d7da83c337b300bd2160d3b2eb3e911684eaf20442d2766551d496fe2d7663f",
    "retro/store/migrations/steps/0020_evaluations.sql": "114a3cc0e8f039141692f63d0f449ea4a74c74e86562fe843a895f2f09341c9d",
    "retro/store/migrations/steps/0021_totals.sql": "46814a49662e154041a6f4e53dea7bdb274728631fd76e3dacd6c234da9a3780",
    "retro/store/migrations/steps/0022_shadow_exits.sql": "e0448c5e3fdc40a0e7fe936fb5295ba83e7e093e36cef1c319f403e6677844b0",
    "retro/store/migrations/steps/0023_checks.sql": "4ec65d61de0ab43e86eb217ff56044fa1342a1c5e897aaacbaa8afedd27d61c9",
    "retro/store/migrations/steps/0024_competence.sql": "ae27100faae248e5330a097627f0d125e8ca9d4aa26839c94190829523e92353",
    "retro/store/migrations/steps/0025_shadow_days.sql": "9962f0baa22e8a4b9ff0daf8b554b7cd3814b0f02d62565fe5acf79faf97ccc4",
    "retro/store/migrations/steps/0026_orders.sql": "ced129042472c4a0ee135d1980992a5f6fbd2f4752518ab9c098fa565e459101",
    "retro/store/migrations/steps/0027_screens.sql": "9c73392ea2962abff880cd9c70f40c09f935868c4da1b0faaa7a610f15435ce3",
    "retro/store/migrations/steps/0028_buckets.sql": "e4cf49fd435468a30e3000cc8208abaa45b7abfb1189c569a79ff441a5b320a6",
    "retro/store/migrations/steps/0029_rework.sql": "1c5eb4b92205aa15a212ffc10cf2d13e48b68f86d93c71ebb2316e50824ee442",
    "retro/store/migrations/steps/0030_twins.sql": "366e442890e6bcfdec3f79d58d223e2735cab61c6f34c515d57254b0647b6c38",
    "retro/store/migrations/steps/0031_rework_by_workers.sql": "b0131ebb689b35267ff4eac29277c7e5586382111bd4b4b66d8b4cbb4dc17393",
}
"""Every step's file -> the SHA-256 of its bytes."""

SPELT = {
    of_retro: {
        "sqlite": {
            "key": "INTEGER PRIMARY KEY",
            "serial": "INTEGER PRIMARY KEY",
            "name": "TEXT",
            "money": "TEXT",
            "float": "REAL",
            "bytes": "BLOB",
            "bucket": "bucket_of(name)",
        },
        "postgresql": {
            "key": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
            "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY",
            "name": 'TEXT COLLATE "C"',
            "money": "NUMERIC",
            "float": "DOUBLE PRECISION",
            "bytes": "BYTEA",
            "bucket": "mod(get_byte(sha256(convert_to(name, 'UTF8')), 0) * 256"
            " + get_byte(sha256(convert_to(name, 'UTF8')), 1), 1024)",
        },
    },
    of_memory: {
        "sqlite": {"bytes": "BLOB", "name": "TEXT", "float": "REAL"},
        "postgresql": {"bytes": "BYTEA", "name": 'TEXT COLLATE "C"', "float": "DOUBLE PRECISION"},
    },
}
"""What the words in braces were released as; a new word may join them."""


def step_files() -> set[str]:
    return {str(path.relative_to(ROOT)) for path in ROOT.glob("*/store/migrations/steps/*")}


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_step_never_changes(name: str) -> None:
    digest = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
    assert digest == RELEASED[name], (
        f"{name} was released and databases were made with it: leave it as it was and add a new step instead"
    )


def test_every_step_is_pinned_and_every_pin_has_its_step() -> None:
    assert step_files() == set(RELEASED), "pin the SHA-256 of a new step here, and never remove one"


@pytest.mark.parametrize("runner", SPELT, ids=lambda runner: runner.__name__)
def test_a_released_spelling_never_changes(runner: Any) -> None:
    for dialect, words in SPELT[runner].items():
        assert words.items() <= runner.SPELLINGS[dialect].items(), "add a new word instead"


def test_steps_are_numbered_without_gaps_and_each_is_applied() -> None:
    for folder, steps in (("retro", of_retro.MIGRATIONS), ("memory", of_memory.MIGRATIONS)):
        numbers = sorted(name.split("/")[-1][:4] for name in step_files() if name.startswith(folder))
        assert numbers == [f"{number:04}" for number in range(1, len(steps) + 1)]


def test_a_database_that_is_up_to_date_is_opened_without_reading_a_step(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from retro.store.database import open_store\n"
        "sys.addaudithook(lambda event, given: event == 'open' and print(given[0]))\n"
        "open_store('retro.db').close()\n"
    )
    read = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        read.append({line.split("/")[-1] for line in done.stdout.splitlines() if line.endswith(".sql")})
    assert read == [{name.split("/")[-1] for name in RELEASED}, set()]


@pytest.mark.parametrize("described", ["retro", "memory"])
def test_the_steps_make_the_tables_that_the_queries_describe(store: Store, described: str) -> None:
    """Names, columns in their order, what may be null, and primary keys."""
    declared = {table.name: shape_of(table) for table in metadata_of(described).tables.values()}
    if store.dialect == "postgresql" and described == "retro":
        columns, _ = declared["events"]
        declared["events"] = (columns, [])  # {serial}: numbered, but without the index of a key
    with store.read() as conn:
        inspector = inspect(conn)
        actual = {
            name: inspected_shape(inspector, name)
            for name in inspector.get_table_names()
            if name.startswith("memory_") == (described == "memory")
        }
    assert actual == declared


Shape = tuple[list[tuple[str, bool]], list[str]]


def shape_of(table: Table) -> Shape:
    columns = [(column.name, bool(column.nullable)) for column in table.columns]
    return columns, [key.name for key in table.primary_key]


def inspected_shape(database: Inspector, name: str) -> Shape:
    """SQLite says that a column of a primary key may be null unless it was told otherwise: that is no difference."""
    key = database.get_pk_constraint(name)["constrained_columns"]
    columns = database.get_columns(name)
    return [(column["name"], column["nullable"] and column["name"] not in key) for column in columns], key


def metadata_of(package: str) -> MetaData:
    """With the tables of every module of its store: each describes its own."""
    home: Any = {"retro": retro.store, "memory": memory.store}[package]
    for module in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
        import_module(module.name)
    return {"retro": retro_metadata, "memory": memory_metadata}[package]

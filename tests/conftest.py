"""Fixtures that several test files share."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests.worlds.commands import ingested_sample, reviewed_db
from tests.worlds.databases import (
    database_url,
    new_database_url,
    new_postgres_url,
    postgres_schemas,
    postgres_server,
    postgres_url,
    sqlite_template,
    store,
)

__all__ = [
    "database_url",
    "ingested_sample",
    "new_database_url",
    "new_postgres_url",
    "postgres_schemas",
    "postgres_server",
    "postgres_url",
    "reviewed_db",
    "sqlite_template",
    "store",
]

settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # how busy a machine is says nothing of the code
)
settings.register_profile("searching")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
# A change is judged by what it changed: the same examples every time. HYPOTHESIS_PROFILE=searching looks for new ones.


gc.disable()  # what collecting ten thousand tests makes stays: looking through it again and again took a third of the time


def pytest_collection_finish() -> None:
    """Ten thousand collected tests are no garbage: each full collection looked through all of them."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor is what a file of tests leaves behind: a worker holds a gigabyte at the end, which each look went through."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    """At the end all of it is: duckdb says at length what nobody collected."""
    gc.unfreeze()

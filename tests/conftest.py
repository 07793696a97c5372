"""Fixtures that several test files share."""

from __future__ import annotations

import os

from hypothesis import settings

from tests.worlds.databases import database_url, postgres_server, postgres_url, store

__all__ = ["database_url", "postgres_server", "postgres_url", "store"]

settings.register_profile("steady", derandomize=True, database=None)
settings.register_profile("searching")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
# A change is judged by what it changed: the same examples every time. HYPOTHESIS_PROFILE=searching looks for new ones.

"""Fixtures that several test files share."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # import-mode=importlib adds nothing by itself

from databases import database_url, postgres_server, postgres_url, store

__all__ = ["database_url", "postgres_server", "postgres_url", "store"]

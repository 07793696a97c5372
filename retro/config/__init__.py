"""The configuration: one typed model that is validation, documentation and example in one.

`load` reads config.toml and lists every fault at once; `example` is the commented file; `schema` its JSON Schema.
"""

from __future__ import annotations

from typing import Any

from retro.config.example import example
from retro.config.read import load, with_database
from retro.config.retrospective import RetrospectiveTable
from retro.config.sources import SourceTable
from retro.config.tables import (
    AgentTable,
    Config,
    ContextField,
    LlmTable,
    MailTable,
    McpTable,
    MemoryTable,
    NotifyTable,
    OwnerTable,
    PlaybookTable,
    ServiceTable,
    StoreTable,
    WebTable,
)

__all__ = [
    "AgentTable",
    "Config",
    "ContextField",
    "LlmTable",
    "MailTable",
    "McpTable",
    "MemoryTable",
    "NotifyTable",
    "OwnerTable",
    "PlaybookTable",
    "RetrospectiveTable",
    "ServiceTable",
    "SourceTable",
    "StoreTable",
    "WebTable",
    "example",
    "load",
    "schema",
    "with_database",
]


def schema() -> dict[str, Any]:
    """The JSON Schema of config.toml."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Config.model_json_schema()

"""Agent graphs of LangGraph on our database: `saver` keeps their sessions, `store` is what they know, the library.

Both need the extra `langgraph` (`pip install "slow-mirror[langgraph]"`), which is loaded when one of them is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.sqlite import SqliteSaver

    from retro.langgraph.items import LibraryStore

__all__ = ["saver", "store"]


def saver(url: str) -> SqliteSaver | PostgresSaver:
    """LangGraph's own saver on the database at a path or URL, its tables made where they are not there.

    It holds one connection for as long as it is used, from any thread: `saver.conn.close()` ends it. A graph that is
    run with `durability="sync"` has each step stored before the next begins.
    """
    from retro.langgraph.checkpoints import saver_on  # noqa: PLC0415  LangGraph is heavy, and an extra

    return saver_on(url)


def store(url: str, config: str | Path | None = None) -> LibraryStore:
    """The library at a path or URL as LangGraph's `BaseStore`: a namespace is (agent, collection); `close` ends it.

    `config` names the config.toml whose `[memory] model` counts; without it the default does.
    """
    from retro.langgraph.items import LibraryStore  # noqa: PLC0415  as above

    return LibraryStore(url, config)

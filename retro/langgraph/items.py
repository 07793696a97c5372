"""The library as LangGraph's `BaseStore`: a namespace is (agent, collection), a key names a value in it."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retro.app.experience.door import translate_memory_errors
from retro.app.experience.models import model_of_house
from retro.app.questions.library import values as library
from retro.config import Config, load
from retro.errors import UsageError
from retro.store.database import open_store

try:
    from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp
    from langgraph.store.base.embed import get_text_at_path, tokenize_path
except ModuleNotFoundError as error:
    raise UsageError('agent graphs need LangGraph: pip install "slow-mirror[langgraph]"') from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langgraph.store.base import MatchCondition, Op, Result

    from retro.app.questions.library.values import StoredValue

__all__ = ["LibraryStore"]

_MOST: Final = 1_000_000
_COMPARE: Final = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": lambda value, other: value > other,
    "$gte": lambda value, other: value >= other,
    "$lt": lambda value, other: value < other,
    "$lte": lambda value, other: value <= other,
}


class LibraryStore(BaseStore):
    """The library at a path or database URL. From any thread; each operation is a transaction of its own."""

    def __init__(self, url: str, config: str | Path | None = None) -> None:
        self._embedder = model_of_house(Config() if config is None else load(Path(config), {}))
        self._store = open_store(url)

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do these operations in their order; gives what each came to."""
        with translate_memory_errors():
            return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        if isinstance(op, PutOp):
            self._put(op)
            return None
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise UsageError(f"the library has no operation {type(op).__name__}")

    def _put(self, op: PutOp) -> None:
        agent, collection = _library_of(op.namespace)
        at = time.time_ns() // 1000
        if op.value is None:
            library.drop_value(self._store, agent, collection, op.key, at=at)
            return
        embedder = None if op.index is False else self._embedder
        text = _text(op.value, op.index)
        library.put_value(self._store, embedder, agent, collection, op.key, op.value, text, at=at)

    def _get(self, op: GetOp) -> Item | None:
        agent, collection = _library_of(op.namespace)
        with self._store.read() as conn:
            stored = library.value_under(conn, agent, collection, op.key)
        return None if stored is None else Item(**_fields(stored))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if len(op.namespace_prefix) > 2:
            return []
        agent, collection = (*op.namespace_prefix, None, None)[:2]
        end = op.offset + op.limit
        with self._store.read() as conn:
            if op.query:
                k = _MOST if op.filter else end
                candidates = library.search_values(conn, self._embedder, op.query, agent, collection, k)
            else:
                candidates = list(library.values(conn, agent, collection))
        hits = [stored for stored in candidates if _fits(stored.value, op.filter)]
        return [SearchItem(**_fields(stored), score=stored.score) for stored in hits[op.offset : end]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        with self._store.read() as conn:
            names: set[tuple[str, ...]] = {stored.namespace for stored in library.values(conn, None, None)}
        names = {name for name in names if all(_matches(name, rule) for rule in op.match_conditions or ())}
        ordered = sorted({name[: op.max_depth] for name in names})
        return ordered[op.offset : op.offset + op.limit]


def _fields(stored: StoredValue) -> dict[str, Any]:
    """The value as LangGraph's items are made of it."""
    instants = {
        name: datetime.fromtimestamp(getattr(stored, name) / 1e6, UTC)
        for name in ("created_at", "updated_at")
    }
    return {"namespace": stored.namespace, "key": stored.key, "value": stored.value, **instants}


def _library_of(namespace: tuple[str, ...]) -> tuple[str, str]:
    if len(namespace) != 2:
        raise UsageError(f"a namespace of the library is (agent, collection), not {namespace!r}")
    return namespace[0], namespace[1]


def _text(value: Mapping[str, Any], index: object) -> str:
    """What an item is found by: the fields that `index` names, else its text or content, else all of it."""
    if isinstance(index, list):
        texts = [text for path in index for text in get_text_at_path(value, tokenize_path(path))]
        return "\n".join(texts) or json.dumps(value, ensure_ascii=False)
    for name in ("text", "content"):
        if isinstance(value.get(name), str) and value[name].strip():
            return str(value[name])
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _fits(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    return all(_meets(value.get(name), wanted) for name, wanted in (conditions or {}).items())


def _meets(value: Any, wanted: Any) -> bool:
    """Whether a field is what is wanted, or stands to it as the operators say; what cannot be compared does not."""
    if not isinstance(wanted, dict) or not all(name.startswith("$") for name in wanted):
        return bool(value == wanted)
    try:
        return all(_COMPARE[name](value, other) for name, other in wanted.items())
    except KeyError as error:
        raise UsageError(f"there is no operator {error}; there are {', '.join(_COMPARE)}") from None
    except TypeError:
        return False


def _matches(namespace: tuple[str, ...], rule: MatchCondition) -> bool:
    path: Sequence[str] = tuple(rule.path)
    if len(path) > len(namespace):
        return False
    own = namespace[: len(path)] if rule.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for name, wanted in zip(own, path, strict=True))

"""The library as LangGraph's store: what a graph puts there is found by it, by meaning, and by whoever asks the library."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import tool
from langgraph.prebuilt import InjectedStore, create_react_agent
from langgraph.store.base import BaseStore

from memory.library import intake
from retro import langgraph
from retro.errors import UsageError
from retro.store.database import open_store

LESSONS = ("ada", "lessons_learned")


@pytest.fixture
def library(database_url: str) -> Iterator[Any]:
    opened = langgraph.store(database_url)
    yield opened
    opened.close()


def test_a_value_told_again_is_no_change_another_a_version_and_a_deleted_one_is_archived(
    library: Any, database_url: str
) -> None:
    library.put(
        LESSONS, "sizing", {"text": "Halve the size after three losses.", "rank": {"deep": [1, None]}}
    )
    first = library.get(LESSONS, "sizing")
    assert first.value == {"text": "Halve the size after three losses.", "rank": {"deep": [1, None]}}
    library.put(LESSONS, "sizing", first.value)
    assert library.get(LESSONS, "sizing") == first
    library.put(LESSONS, "sizing", {"text": "Quarter it."})
    second = library.get(LESSONS, "sizing")
    assert (second.value, second.created_at) == ({"text": "Quarter it."}, first.created_at)
    assert second.updated_at > first.updated_at
    assert [hit.value["text"] for hit in library.search(LESSONS)] == ["Quarter it."]
    library.delete(LESSONS, "sizing")
    assert library.get(LESSONS, "sizing") is None
    assert library.search(LESSONS) == []
    library.put(LESSONS, "sizing", {"text": "Back to full size."})
    assert library.get(LESSONS, "sizing").value == {"text": "Back to full size."}
    store = open_store(database_url)
    with store.read() as conn:  # nothing is lost of what there was
        texts = [
            (shown.item.text, shown.archive_reason)
            for name in ("", "@2", "@3")
            for shown in [intake.get(conn, "ada", f"lessons_learned/sizing{name}")]
        ]
    store.close()
    assert texts == [
        ("Halve the size after three losses.", "replaced by its graph"),
        ("Quarter it.", "deleted by its graph"),
        ("Back to full size.", None),
    ]


def test_search_is_by_meaning_within_a_namespace_with_filters_and_pages(library: Any) -> None:
    texts = {
        "a": "Oil fell on higher supply",
        "b": "Halve the position after losses",
        "c": "Rates stay higher",
    }
    for rank, (key, text) in enumerate(texts.items()):
        library.put(LESSONS, key, {"text": text, "rank": rank})
    library.put(("bob", "lessons_learned"), "a", {"text": "Oil fell on higher supply", "rank": 9})
    [best, *_] = library.search(LESSONS, query="reduce the position size when losing")
    assert (best.key, best.namespace) == ("b", LESSONS)
    assert 0 < best.score <= 1.15
    assert [hit.key for hit in library.search(LESSONS, filter={"rank": {"$gte": 1, "$lt": 9}})] == ["b", "c"]
    assert [hit.key for hit in library.search(LESSONS, filter={"rank": {"$ne": 1}}, limit=1, offset=1)] == [
        "c"
    ]
    assert library.search(LESSONS, query="oil", filter={"text": {"$gt": 3}}) == []
    assert {hit.namespace[0] for hit in library.search(("ada",), query="oil supply")} == {"ada"}
    assert library.list_namespaces() == [LESSONS, ("bob", "lessons_learned")]
    assert library.list_namespaces(prefix=("bob",), max_depth=1) == [("bob",)]
    assert asyncio.run(library.aget(LESSONS, "a")).value["rank"] == 0
    with pytest.raises(UsageError, match=r"is \(agent, collection\)"):
        library.put(("ada",), "x", {"text": "t"})


def test_what_was_told_to_the_library_otherwise_is_there_too(library: Any, database_url: str) -> None:
    store = open_store(database_url)
    with store.write() as conn:
        common = {"agent": "ada", "at": "2026-03-01T00:00:00Z", "collection": "lessons_learned"}
        intake.add(conn, [{**common, "id": "r-1", "text": "Fees ate it.", "metadata": {"mood": "calm"}}])
    store.close()
    assert library.get(LESSONS, "r-1").value == {"text": "Fees ate it.", "mood": "calm"}
    assert [hit.key for hit in library.search(LESSONS, filter={"mood": "calm"})] == ["r-1"]


class Scripted(GenericFakeChatModel):
    """A chat model that says what it was given to say."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_an_agent_of_langgraph_remembers_in_the_library_unchanged(library: Any, database_url: str) -> None:
    @tool
    def remember(text: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
        """Remember a lesson."""
        store.put(LESSONS, "from-the-agent", {"text": text})
        return "done"

    call = ToolCall(name="remember", args={"text": "Never average down."}, id="1")
    said = iter([AIMessage(content="", tool_calls=[call]), AIMessage(content="I will.")])
    saver = langgraph.saver(database_url)
    agent = create_react_agent(Scripted(messages=said), [remember], store=library, checkpointer=saver)
    state = agent.invoke({"messages": [("user", "What did we learn?")]}, {"configurable": {"thread_id": "t"}})
    saver.conn.close()
    assert state["messages"][-1].content == "I will."
    assert library.get(LESSONS, "from-the-agent").value == {"text": "Never average down."}

"""Sessions of agent graphs on our database, with LangGraph itself: a kill, two threads, an earlier checkpoint."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from retro import langgraph
from retro.store.database import open_store
from tests.worlds.databases import FORK, note


class Session(TypedDict):
    words: Annotated[list[str], operator.add]


def graph_on(saver: Any, log: Path, killed_in: str | None = None) -> Any:
    """look -> weigh -> act; each node writes its name into the log, one may end the process in its middle."""

    def node(name: str) -> Any:
        def work(state: Session) -> dict[str, list[str]]:
            with log.open("a") as file:
                file.write(f"{name} after {len(state['words'])}\n")
            if name == killed_in:
                os._exit(9)
            return {"words": [name]}

        return work

    builder = StateGraph(Session)
    names = ["look", "weigh", "act"]
    for name in names:
        builder.add_node(name, node(name))
    for before, after in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=saver)


def session(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


@pytest.fixture
def saver(database_url: str) -> Iterator[Any]:
    opened = langgraph.saver(database_url)
    yield opened
    opened.conn.close()


def run_and_die(url: str, log: Path) -> None:
    graph_on(langgraph.saver(url), log, killed_in="weigh").invoke(
        {"words": ["hello"]}, session("a"), durability="sync"
    )


def test_a_graph_killed_in_its_middle_goes_on_where_it_was(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = FORK.Process(target=run_and_die, args=(database_url, log))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    saver = langgraph.saver(database_url)
    graph = graph_on(saver, log)
    assert graph.get_state(session("a")).next == ("weigh",)
    assert graph.invoke(None, session("a"))["words"] == ["hello", "look", "weigh", "act"]
    saver.conn.close()
    assert log.read_text().splitlines() == ["look after 1", "weigh after 2", "weigh after 2", "act after 3"]


def test_two_threads_keep_to_themselves_and_an_earlier_checkpoint_can_be_gone_back_to(
    saver: Any, tmp_path: Path
) -> None:
    graph = graph_on(saver, tmp_path / "log")
    threads = [
        threading.Thread(target=graph.invoke, args=({"words": [name]}, session(name))) for name in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for name in ("a", "b"):
        assert graph.get_state(session(name)).values["words"] == [name, "look", "weigh", "act"]
    history = list(graph.get_state_history(session("a")))
    [earlier] = [state for state in history if state.next == ("weigh",)]
    fork = graph.update_state(earlier.config, {"words": ["think"]})
    assert graph.invoke(None, fork)["words"] == ["a", "look", "think", "weigh", "act"]
    assert graph.get_state(session("b")).values["words"] == ["b", "look", "weigh", "act"]


def test_what_is_ours_in_the_database_goes_on_beside_an_open_session(
    saver: Any, database_url: str, tmp_path: Path
) -> None:
    store = open_store(database_url, patience_s=2)
    graph_on(saver, tmp_path / "log").invoke({"words": []}, session("a"))
    note(store, "ada")
    if store.dialect == "sqlite":
        with store.read() as conn:
            assert conn.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "truncate"
    store.close()
    again = langgraph.saver(database_url)
    assert len(list(again.list(session("a")))) == 5
    again.conn.close()

"""The MCP server, asked by the SDK's own client: a process over stdio, and streamable HTTP on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from tests.worlds.commands import Retro, process, retro
from tests.worlds.episodes import RANGING, TRENDING, episode, write_records
from tests.worlds.places import ROOT

__all__ = ["retro"]

TOOLS = {
    "remember_trade", "recall_memories", "get_behavioral_analysis", "get_agent_state", "create_trading_plan",
    "check_active_plans", "get_strategy_performance", "get_trade_reflection", "list_positions", "list_reviews", "get_review",
    "list_hypotheses", "experiment_history", "playbook_audit", "playbook_ripening",
    "correct_prediction", "calibrate_confidence", "get_prediction_report", "what_if",
    "get_drift", "get_replay_queue", "add_to_library",
    "search_library",
    "get_lineage",
    "list_strategies", "mark_replayed",
}  # fmt: skip
WRITES = {"remember_trade", "create_trading_plan", "mark_replayed", "add_to_library"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a database of six episodes and a few records."""
    home = tmp_path_factory.mktemp("mcp")
    rows = [
        episode(f"e{i}", 1 + i, pnl_r=float(i - 2), context=TRENDING if i % 2 else RANGING) for i in range(6)
    ]
    (home / "e.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    process("--db", home / "r.db", "remember", home / "e.jsonl", cwd=home, check=True)
    write_records(home / "memory_data")
    return home


def server(home: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "retro", "--db", str(home / "r.db"), "mcp"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def talk(to: Any, script: Callable[[Client], Awaitable[None]]) -> None:
    async def conversation() -> None:
        async with Client(to) as client:
            await script(client)

    anyio.run(conversation)


def data(result: Any) -> dict[str, Any]:
    """What a tool answered: the same in text and in structure."""
    assert not result.is_error, result.content[0].text
    [block] = result.content
    answer: dict[str, Any] = json.loads(block.text)
    assert answer == result.structured_content
    return answer


def test_over_stdio_the_tools_are_there_marked_and_answer(home: Path, retro: Retro) -> None:
    """One process for a whole conversation: listing, reading, writing, failing."""

    async def script(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == TOOLS
        assert {name for name, tool in listed.items() if not tool.annotations.read_only_hint} == WRITES
        assert all(tool.description and tool.annotations.open_world_hint is False for tool in listed.values())

        arguments = {"agent": "ada", "context": TRENDING, "k": 4, "as_of": "2026-03-05T12:00:00Z"}
        in_brief = data(await client.call_tool("recall_memories", arguments))
        recalled = data(await client.call_tool("recall_memories", arguments | {"detail": True}))
        assert "untrusted" in recalled
        words = ("--context", json.dumps(TRENDING), "-k", "4", "--as-of", "2026-03-05T12:00:00Z", "--json")
        printed = retro("--db", home / "r.db", "recall", "--agent", "ada", *words).data
        assert recalled["memories"] == printed
        assert len(printed) == 4
        assert [hit["id"] for hit in in_brief["memories"]] == [hit["id"] for hit in printed]

        assert data(await client.call_tool("get_agent_state", {}))["state"]["trades"] == 6
        assert len(data(await client.call_tool("get_behavioral_analysis", {}))["habits"]) == 1
        assert data(await client.call_tool("get_strategy_performance", {}))["strategies"][0]["trades"] == 6
        reflection = data(await client.call_tool("get_trade_reflection", {"id": "e1"}))["episode"]
        assert (reflection["id"], reflection["amendments"]) == ("e1", [])
        assert data(await client.call_tool("list_reviews", {}))["reviews"] == []
        open_ones = data(await client.call_tool("list_hypotheses", {"status": "untested"}))["hypotheses"]
        assert [hypothesis["id"] for hypothesis in open_ones] == ["H_001"]
        history = data(
            await client.call_tool("experiment_history", {"n": 2, "as_of": "2025-12-02T12:00:00Z"})
        )
        assert [experiment["id"] for experiment in history["experiments"]] == ["exp_v15_1", "exp_v15_0"]
        assert history["prompt"].startswith("## Experiment History\n")

    talk(server(home), script)


def test_writing_is_idempotent_and_asking_about_plans_changes_nothing(home: Path) -> None:
    trigger = {"all": [{"field": "regime", "op": "==", "value": "trending"}]}

    async def script(client: Client) -> None:
        episode = {
            "id": "m1",
            "agent": "mia",
            "at": "2026-03-20T00:00:00Z",
            "pnl_r": 0.5,
            "context": TRENDING,
        }
        assert data(await client.call_tool("remember_trade", episode))["stored"] == 1
        assert data(await client.call_tool("remember_trade", episode))["unchanged"] == 1
        plan_arguments = {"agent": "mia", "trigger": trigger, "action": {"type": "alert"}, "reasoning": "see"}
        plan = data(await client.call_tool("create_trading_plan", plan_arguments))["plan"]
        assert (plan["status"], plan["armed"], plan["source"]) == ("active", True, "agent")
        for _ in range(2):  # a check that triggered or re-armed would answer otherwise the second time
            checked = data(
                await client.call_tool("check_active_plans", {"agent": "mia", "context": TRENDING})
            )
            [check] = checked["checks"]
            assert (check["met"], check["fires"], check["plan"]["triggered"]) == (True, True, 0)
        met = data(await client.call_tool("check_active_plans", {"agent": "mia", "context": RANGING}))
        assert met["checks"][0]["met"] is False

    talk(server(home), script)


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("recall_memories", {"agent": "nobody"}, "nobody"),
        ("recall_memories", {"agent": "ada", "as_of": "soon"}, "as_of"),
        ("recall_memories", {"agent": "ada", "context": {"atr_d1": -1}}, "atr_d1"),
        ("recall_memories", {"agent": "ada", "k": 0}, "k"),
        ("recall_memories", {"agent": "ada", "types": ["dream"]}, "types"),
        ("get_trade_reflection", {"agent": "ada", "id": "nothing"}, "nothing"),
        ("get_review", {"id": "ada.weekly.2026-W01"}, "2026-W01"),
        ("remember_trade", {"id": "e1", "agent": "ada", "at": "2026-03-02T12:00:00Z", "pnl": 3.0}, "told before"),
        ("remember_trade", {"id": "x", "agent": "a b", "at": "2026-03-02T12:00:00Z"}, "agent"),
        ("remember_trade", {"id": "x", "agent": "ada", "at": "2199-03-02T12:00:00Z"}, "future"),
        ("create_trading_plan", {"agent": "ada", "trigger": {}, "action": {"type": "x"}, "reasoning": "r"}, "predicate"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)  # fmt: skip
def test_a_failure_is_an_error_that_says_why(
    home: Path, tool: str, arguments: dict[str, Any], word: str
) -> None:
    """Asked inside this process: the server is the same object."""
    from retro.app.questions.experience import Experience
    from retro.config import Config
    from retro.store.database import open_store
    from retro.surface.mcp.tools import server_of

    store = open_store(str(home / "r.db"))
    try:

        async def script(client: Client) -> None:
            try:
                result = await client.call_tool(tool, arguments)
            except MCPError as error:  # a tool that is not there is a fault of the protocol
                message = str(error)
            else:
                assert result.is_error
                message = result.content[0].text
            assert word in message

        talk(server_of(Experience(store, Config())), script)
    finally:
        store.close()


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("recall_memories", {"k": 0}, "k must be a whole number from 1 to 1000 (how many), not 0"),
        ("recall_memories", {"k": "ten"}, 'k must be a whole number from 1 to 1000 (how many), not "ten"'),
        ("recall_memories", {"agnet": "ada"}, 'there is no argument "agnet"; did you mean agent?'),
        ("get_review", {"id": 7}, "id must be text (as list_reviews gives it; ID@1 for a revision), not 7"),
        ("get_review", {}, "id is missing: text (as list_reviews gives it; ID@1 for a revision)"),
        ("list_reviews", {"cursor": -1}, "cursor must be a whole number from 0 on (where to go on: `next` of the answer before), not -1"),
        ("recall_memories", {"losses_first": "perhaps"}, 'losses_first must be true or false, not "perhaps"'),
        ("recall_memories", {"agent": [1]}, "agent must be text or null (the agent's name; needed when there are several), not [1]"),
        ("recall_memories", {"types": [1]}, "types must be a list (episode, belief, plan), not [1]"),
        ("list_reviews", {"zzz": "y" * 999}, 'there is no argument "zzz"; it takes agent, state, where, cursor, detail'),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_one_sentence_that_says_what_is_allowed(
    home: Path, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    from retro.app.questions.experience import Experience
    from retro.config import Config
    from retro.store.database import open_store
    from retro.surface.mcp.tools import server_of

    store = open_store(str(home / "r.db"))
    try:

        async def script(client: Client) -> None:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert result.content[0].text == f"{tool}: {sentence}"

        talk(server_of(Experience(store, Config())), script)
    finally:
        store.close()


def test_it_ends_with_0_when_its_input_ends_and_stdout_carries_the_protocol_only(home: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        },
    }
    result = process("--db", home / "fresh.db", "mcp", stdin=json.dumps(hello).encode() + b"\n", cwd=home)
    assert result.code == 0, result.err
    [line] = result.out.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "slow-mirror"
    assert "fresh.db" in result.err  # a word for a person goes elsewhere
    nothing = process("--db", home / "fresh.db", "mcp", stdin=b"", cwd=home)
    assert (nothing.code, nothing.out) == (0, "")


def test_a_database_that_cannot_be_opened_is_said_before_the_protocol_begins(home: Path) -> None:
    (home / "not.db").write_text("words, many words, and nothing else" * 40)
    result = process("--db", home / "not.db", "mcp", stdin=b"", cwd=home)
    assert (result.code, result.out) == (1, "")
    assert "not a SQLite database" in result.err


@pytest.fixture
def http_url(home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "retro",
        "--db",
        str(home / "r.db"),
        "mcp",
        "--http",
        "--port",
        str(port),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=home, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
        run.terminate()
        out, _ = run.communicate(timeout=20)
        assert out == b""


def test_over_http_it_answers_the_same_several_askers_at_once(
    home: Path, http_url: str, retro: Retro
) -> None:
    async def script(client: Client) -> None:
        answers: list[dict[str, Any]] = []

        async def ask() -> None:
            answers.append(
                data(
                    await client.call_tool(
                        "recall_memories", {"agent": "ada", "context": TRENDING, "detail": True}
                    )
                )
            )

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(ask)
        words = ("--agent", "ada", "--context", json.dumps(TRENDING), "--json")
        printed = retro("--db", home / "r.db", "recall", *words).data
        assert all(answer["memories"] == printed for answer in answers)

    talk(http_url, script)

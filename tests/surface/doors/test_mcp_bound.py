"""A session that is bound to its agent: no tool of it, with whatever arguments, reads or writes another's.

The tools are enumerated, and their arguments taken from their schemas, so that one that comes later is held to it too.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from retro.app.questions.experience import Experience
from retro.app.questions.plans import PlanDraft, create_plan
from retro.config import load
from retro.store.database import open_store
from retro.surface.cli.main import run
from retro.surface.mcp.tools import READS, WRITES, server_of
from tests.worlds.commands import event, round_trip
from tests.worlds.episodes import episode

Call = Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]
MARK = "ZEBRA"
"""Stands in everything that zoe wrote, and nowhere else."""
TRIGGER = {"all": [{"field": "regime", "op": "==", "value": "trending"}]}


def journal(agent: str, word: str) -> str:
    """Six trades in six weeks that cite one rule; the words are the agent's own."""
    lines = [event("equity", f"{agent}-q", "2026-01-05T08:00:00Z", agent, value="1000")]
    for number in range(6):
        day = f"2026-0{1 + (number > 3)}-{5 + 7 * (number % 4):02d}"
        words = {"cites": [f"H-{word}"], "reasoning": f"{word} says so", "strategy": f"{word}-run"}
        lines.append(round_trip(f"{agent}-{number}", day, float(number - 3), agent, **words))
    return "".join(lines)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents with journals, reviews, episodes, plans and records, and a record that cannot be read."""
    place = tmp_path_factory.mktemp("bound")
    config = place / "config.toml"
    config.write_text('[store]\nurl = "r.db"\n[retrospective]\ndaily_review_enabled = false\n')
    words = ("--config", str(config), "-q")
    for agent, word in (("ada", "apple"), ("zoe", MARK)):
        (place / f"{agent}.jsonl").write_text(journal(agent, word))
        rows = [
            episode(
                f"{agent}-e{n}", 1 + n, agent, strategy=f"{word}-run", symbol=f"{word}/USDC", reflection=word
            )
            for n in range(4)
        ]
        (place / f"{agent}-e.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        assert run([*words, "ingest", "journal", str(place / f"{agent}.jsonl")]) == 0
        assert run([*words, "remember", str(place / f"{agent}-e.jsonl")]) == 0
    assert run([*words, "run", "--once"]) == 0
    (place / "memory_data" / "experiments" / f"{MARK}.yaml").write_text(f"id: [{MARK}\n")
    experience = opened(place)
    now = time.time_ns() // 1000
    for agent, word in (("ada", "apple"), ("zoe", MARK)):
        create_plan(
            experience,
            PlanDraft(agent=agent, trigger=TRIGGER, action={"type": "alert"}, reasoning=word, at=now),
        )
    experience.store.close()
    return place


def opened(place: Path) -> Experience:
    return Experience(open_store(str(place / "r.db")), load(place / "config.toml", {}))


@pytest.fixture
def world(place: Path, tmp_path: Path) -> Iterator[Experience]:
    """A copy: what a session writes into its own memory is no other test's."""
    experience = opened(shutil.copytree(place, tmp_path / "copy"))
    yield experience
    experience.store.close()


PROBES = {f"{MARK}-run", "zoe-e1", "zoe-0"}
"""Names that every argument is tried with; ids are tried with all of hers."""


def talk(world: Experience, agent: str | None, script: Callable[[Call], Awaitable[None]]) -> None:
    """One conversation with a server that is bound to the agent; each call says whether it failed, and its text."""

    async def conversation() -> None:
        async with Client(server_of(world, agent=agent)) as client:

            async def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
                result = await client.call_tool(tool, arguments)
                return bool(result.is_error), str(result.content[0].text)

            await script(call)

    anyio.run(conversation)


def tools_of(world: Experience) -> dict[str, dict[str, Any]]:
    """Tool -> the schemas of its arguments, with the names of the needed ones under `required`."""

    async def listed() -> dict[str, dict[str, Any]]:
        return {tool.name: tool.input_schema for tool in await server_of(world).list_tools()}

    return anyio.run(listed)


def rows_of(world: Experience) -> list[tuple[str, tuple[Any, ...], bool]]:
    """Every row of the database, and whether it is zoe's."""
    with sqlite3.connect(str(world.store.path)) as conn:
        (key,) = conn.execute("SELECT key FROM agents WHERE name = 'zoe'").fetchone()
        rows = []
        for (table,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [column[1] for column in conn.execute(f"PRAGMA table_info({table})")]
            for row in conn.execute(f"SELECT * FROM {table}"):
                agent = dict(zip(columns, row, strict=True)).get("agent")
                text = " ".join(str(value) for value in row)
                rows.append((table, row, agent in {key, "zoe"} or MARK in text or "zoe" in text))
        return rows


def ids_of_zoe(world: Experience) -> list[str]:
    """Every id and name of hers that a tool might be asked by."""
    with sqlite3.connect(str(world.store.path)) as conn:
        names = {"zoe-0", f"{MARK}-run", f"{MARK}/USDC", "zoe", f"H-{MARK}"}
        for statement in (
            "SELECT id FROM reviews WHERE id LIKE 'zoe.weekly%' ORDER BY id LIMIT 1",
            "SELECT id FROM reviews WHERE id LIKE 'zoe.position%' ORDER BY id LIMIT 1",
            "SELECT id || '@1' FROM reviews WHERE id LIKE 'zoe.weekly%' ORDER BY id LIMIT 1",
            "SELECT id FROM memory_episode WHERE agent = 'zoe' ORDER BY id LIMIT 2",
            "SELECT 'plan:' || id FROM memory_plan WHERE agent = 'zoe'",
            "SELECT id FROM memory_plan WHERE agent = 'zoe'",
            "SELECT position FROM book_positions WHERE position LIKE 'zoe%' LIMIT 1",
        ):
            names |= {str(value) for (value,) in conn.execute(statement)}
    records = (world.config.memory.directory / "experiments").glob("*.yaml")
    names |= {path.stem for path in records if "agent: zoe\n" in path.read_text(encoding="utf-8")}
    return sorted(names | {"H_001"})


def twin(identity: str) -> str:
    """A name of the same shape that nobody has."""
    after = str.maketrans("abcdefghijklmnopqrstuvwxyz0123456789", "bcdefghijklmnopqrstuvwxyza1234567890")
    return identity.lower().translate(after)


def twins(value: Any) -> Any:
    return [twin(text) for text in value] if isinstance(value, list) else twin(value)


def plain_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tool cannot do without, but the agent: an instant, a text, an object by its example."""
    return {
        name: _value(name, schema["properties"][name])
        for name in schema.get("required", [])
        if name != "agent"
    }


def _value(name: str, schema: Mapping[str, Any]) -> Any:
    if "RFC 3339" in schema.get("description", ""):
        return "2026-03-20T00:00:00Z"
    if schema.get("type") == "object":
        return TRIGGER if name == "trigger" else {"type": "alert"}
    return {"number": 1.0, "integer": 1, "boolean": True, "array": []}.get(schema.get("type", ""), "x-1")


def asked_by(schema: Mapping[str, Any], identity: str) -> Iterator[dict[str, Any]]:
    """A call for each argument that may hold a name, with this one in it."""
    for name, about in schema["properties"].items():
        kinds = {alternative.get("type") for alternative in about.get("anyOf", [about])}
        if name == "agent" or "RFC 3339" in about.get("description", ""):
            continue
        if "string" in kinds and (name == "id" or identity in PROBES):
            yield {name: identity}
        if "array" in kinds and (identity in PROBES or identity.startswith("plan:")):
            yield {name: [identity]}


def test_every_tool_can_be_asked_about_one_agent_alone(world: Experience) -> None:
    tools = tools_of(world)
    assert set(tools) == {*READS, *WRITES}
    assert [name for name, schema in tools.items() if "agent" not in schema["properties"]] == []


def test_there_is_nothing_but_tools_to_ask(world: Experience) -> None:
    """Resources and prompts would need a rule of their own."""

    async def look() -> list[int]:
        server = server_of(world, agent="ada")
        offers = (server.list_resources, server.list_resource_templates, server.list_prompts)
        return [len(await offer()) for offer in offers]

    assert anyio.run(look) == [0, 0, 0]


@pytest.mark.parametrize("agent", ["ada", "newcomer"])
def test_a_bound_session_is_as_if_nobody_else_were_there(world: Experience, agent: str) -> None:
    """By every tool and argument: what is zoe's answers like what is not there, tells nothing of hers, changes nothing."""
    before, tools, hers = rows_of(world), tools_of(world), ids_of_zoe(world)
    assert sum(theirs for _, _, theirs in before) > 100

    async def script(call: Call) -> None:
        for tool, schema in tools.items():
            detail = {"detail": True} if "detail" in schema["properties"] else {}
            base = {**plain_arguments(schema), **detail}
            assert MARK not in (await call(tool, base))[1]
            for identity in hers:
                for arguments in asked_by(schema, identity):
                    absent = {name: twins(value) for name, value in arguments.items()}
                    failed, text = await call(tool, base | arguments)
                    answer = _comparable(tool, text, identity)
                    other_failed, other_text = await call(tool, base | absent)
                    if tool != "search_library" or "text" not in arguments:  # other words mean something else
                        assert (failed, answer) == (
                            other_failed,
                            _comparable(tool, other_text, twin(identity)),
                        )
                    assert MARK not in answer
                    assert "zoe" not in answer

    talk(world, agent, script)
    after = rows_of(world)
    assert [row for row in before if row[2]] == [row for row in after if row[2] and not _echo(row)]


def _comparable(tool: str, text: str, identity: str) -> str:
    """Without the name that was asked by; of a plan that was made, without its id and time."""
    text = text.replace(identity, "?").replace(identity.partition("@")[0], "?")
    return "made" if tool == "create_trading_plan" and '"plan":{' in text else text


def _echo(row: tuple[str, tuple[Any, ...], bool]) -> bool:
    """A row of the session's own agent that holds one of zoe's names because the session wrote it down."""
    return any(value in {"ada", "newcomer"} for value in row[1])


@pytest.mark.parametrize("other", ["zoe", "nobody", "Ada", "ada ", ""])
def test_another_agent_s_name_is_refused_in_one_sentence_whether_there_is_one_or_not(
    world: Experience, other: str
) -> None:
    before, tools = rows_of(world), tools_of(world)

    async def script(call: Call) -> None:
        for tool, schema in tools.items():
            failed, text = await call(tool, {**plain_arguments(schema), "agent": other})
            assert failed
            assert text == f"{tool}: this session is ada's: it neither reads nor writes another's"

    talk(world, "ada", script)
    assert rows_of(world) == before


def test_its_own_agent_s_name_may_be_said_or_left_out(world: Experience) -> None:
    async def script(call: Call) -> None:
        named = await call("recall_memories", {"agent": "ada", "k": 3, "detail": True})
        assert named == await call("recall_memories", {"k": 3, "detail": True})
        assert json.loads(named[1])["memories"][0]["id"].startswith("ada")
        mine = json.loads((await call("list_reviews", {"detail": True}))[1])["reviews"]
        assert {review["agent"] for review in mine} == {"ada"}
        assert (await call("get_review", {"id": mine[0]["id"]}))[0] is False

    talk(world, "ada", script)


def test_an_unbound_session_reads_and_lists_everybody_s(world: Experience) -> None:
    async def script(call: Call) -> None:
        listed = json.loads((await call("list_reviews", {"detail": True}))[1])["reviews"]
        assert {review["agent"] for review in listed} == {"ada", "zoe"}
        hers = [review["id"] for review in listed if review["agent"] == "zoe" and review["state"] == "done"]
        assert (await call("get_review", {"id": hers[0]}))[0] is False
        refused, why = await call("get_review", {"id": hers[0], "agent": "ada"})
        assert refused
        assert why.endswith(f"there is no review '{hers[0]}'; `retro reviews` lists them")
        assert MARK in (await call("experiment_history", {"agent": "ada"}))[1]  # the record that is damaged

    talk(world, None, script)

"""What a call may ask: arguments that its tool has, and of a session bound to an agent only that agent's.

What a tool cannot take is refused in one sentence, each argument with what is allowed.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from retro.surface.guard.access import CALLER
from retro.surface.mcp.subjects.parameters import ONLY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp.server.mcpserver import Context
    from mcp_types import CallToolResult, InputRequiredResult

__all__ = ["ToolServer"]

JsonSchema = dict[str, Any]

_SHOWN: Final = 60
"""Characters of a refused value that are shown."""
_WORDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class ToolServer(MCPServer[Any]):
    """An MCP server that refuses arguments in words of its own; one that no tool has is refused, not passed over.

    `agent`: whose every session is; None: of whom the guard found to be calling, and everybody's where there is none.
    """

    def __init__(self, name: str, *, agent: str | None = None, **settings: Any) -> None:
        super().__init__(name, **settings)
        self._agent = agent

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; `ToolError` with one sentence where its arguments are not those of its schema."""
        tool = next((tool for tool in await self.list_tools() if tool.name == name), None)
        if tool is None:
            return await super().call_tool(name, arguments, context)
        schemas: JsonSchema = tool.input_schema["properties"]
        unknown = [_unknown(given, schemas) for given in arguments if given not in schemas]
        if unknown:
            raise ToolError(f"{name}: {'; '.join(unknown)}")
        agent = self._bound_to(context)
        if agent is not None:
            arguments = _own(name, arguments, schemas, agent)
        bound = ONLY.set(agent)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = dict.fromkeys(str(fault["loc"][0]) for fault in error.__cause__.errors() if fault["loc"])
            sentences = [_refused(argument, arguments, schemas) for argument in wrong]
            raise ToolError(f"{name}: {'; '.join(sentences)}") from None
        finally:
            ONLY.reset(bound)

    def _bound_to(self, context: Context[Any, Any] | None) -> str | None:
        """The agent that a call is bound to. A request over HTTP that no guard let in has no caller: it fails."""
        request = None if context is None else context.request_context.request
        agent: str | None = None if request is None else request.scope[CALLER].agent
        if self._agent is not None and agent not in (None, self._agent):
            raise ToolError(f"this server is {self._agent}'s")
        return self._agent or agent


def _own(name: str, arguments: dict[str, Any], schemas: Mapping[str, Any], agent: str) -> dict[str, Any]:
    """The arguments with the agent that the session is bound to; `ToolError` where they name another.

    A tool that cannot be asked about one agent alone is not for such a session.
    """
    if "agent" not in schemas:
        raise ToolError(f"{name}: this session is {agent}'s, and the tool tells of everybody")
    if arguments.get("agent") not in (None, agent):
        raise ToolError(f"{name}: this session is {agent}'s: it neither reads nor writes another's")
    return {**arguments, "agent": agent}


def _unknown(given: str, schemas: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(given, schemas, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(schemas) or 'none'}"
    return f"there is no argument {_shown(given)}; {hint}"


def _refused(argument: str, arguments: Mapping[str, Any], schemas: Mapping[str, JsonSchema]) -> str:
    schema = schemas.get(argument, {})
    words = " or ".join(dict.fromkeys(_allowed(schema)))
    described = f" ({schema['description']})" if "description" in schema else ""
    if argument not in arguments:
        return f"{argument} is missing: {words}{described}"
    return f"{argument} must be {words}{described}, not {_shown(arguments[argument])}"


def _allowed(schema: JsonSchema) -> Iterator[str]:
    """What a value may be, a phrase an alternative."""
    for alternative in schema.get("anyOf", [schema]):
        word = _WORDS.get(alternative.get("type", ""), "a value")
        least, most = alternative.get("minimum"), alternative.get("maximum")
        if least is not None:
            word += f" from {least:g} on" if most is None else f" from {least:g} to {most:g}"
        yield word


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

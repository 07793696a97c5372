"""What a caller is told of arguments that a tool cannot take: one sentence, each argument with what is allowed."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

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
    """An MCP server that refuses arguments in words of its own; one that no tool has is refused, not passed over."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; `ToolError` with one sentence where its arguments are not those of its schema."""
        tool = next((tool for tool in await self.list_tools() if tool.name == name), None)
        known: JsonSchema = {} if tool is None else tool.input_schema["properties"]
        unknown = [_unknown(given, known) for given in arguments if tool is not None and given not in known]
        if unknown:
            raise ToolError(f"{name}: {'; '.join(unknown)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = dict.fromkeys(str(fault["loc"][0]) for fault in error.__cause__.errors() if fault["loc"])
            sentences = [_refused(argument, arguments, known) for argument in wrong]
            raise ToolError(f"{name}: {'; '.join(sentences)}") from None


def _unknown(given: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(given, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known) or 'none'}"
    return f"there is no argument {_shown(given)}; {hint}"


def _refused(argument: str, arguments: Mapping[str, Any], known: Mapping[str, JsonSchema]) -> str:
    schema = known.get(argument, {})
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

"""The request to a model: a stable part first, so that it can be cached, then this review's figures and notes. Pure.

The instructions live in versioned files; their names and digests go with every exchange. Same review, same request.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.narrate.ground import Objection
    from retro.narrate.subject import Subject

__all__ = ["MAX_TOKENS", "Prompt", "ask_again", "extraction_of", "prompt_of", "request_of", "token_bound"]

MAX_TOKENS: Final = 8_000
"""Tokens an answer may have, thinking included; a second attempt after one that was cut off has twice as many."""

_FILES: Final = {"report": "report.v1.md", "position": "position.v1.md", "repair": "repair.v1.md"}
_FRAME: Final = 1_000  # tokens around the texts: roles, schema instructions of the service
_SHOWN_FAULTS: Final = 20
_SHOWN_ANSWER: Final = 20_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file: its name and a digest of its text."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """The file and its content: report.v1.md sha256:1f2e..."""
        return f"{self.name} sha256:{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"


@cache
def prompt_of(kind: str) -> Prompt:
    """The prompt for a report, a position, or a repair."""
    name = _FILES[kind]
    return Prompt(name, files("retro.narrate").joinpath("prompts", name).read_text("utf-8"))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def request_of(subject: Subject, model: str, review: str) -> dict[str, Any]:
    """The arguments of `messages.create` for one review.

    The blocks are fenced by a word made of everything in them: no text can hold a digest of itself, so none can
    close its own fence.
    """
    figures, notes = _compact(subject.figures), _compact(subject.notes)
    fence = hashlib.sha256(f"{review}\n{figures}\n{notes}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
    content = (
        f"<figures-{fence}>\n{figures}\n</figures-{fence}>\n"
        f"<notes-of-the-agent-{fence}>\n{notes}\n</notes-of-the-agent-{fence}>"
    )
    instructions = {
        "type": "text",
        "text": prompt_of(subject.kind).text,
        "cache_control": {"type": "ephemeral"},
    }
    return {
        "model": model,
        "max_tokens": MAX_TOKENS,
        "system": [instructions],
        "messages": [{"role": "user", "content": content}],
        "output_config": {"format": {"type": "json_schema", "schema": subject.schema}},
    }


def extraction_of(prompt: str, schema: dict[str, Any], model: str) -> dict[str, Any]:
    """The arguments of `messages.create` that have a text read into a schema; the prompt fences the text."""
    return {
        "model": model,
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": prompt}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }


def ask_again(request: dict[str, Any], answer: str, faults: Sequence[Objection]) -> dict[str, Any]:
    """The same request, with the answer that was refused and why."""
    lines = [
        f"- {f.where}: {f.kind}{f' ({f.detail[:80]})' if f.detail else ''}" for f in faults[:_SHOWN_FAULTS]
    ]
    if len(faults) > _SHOWN_FAULTS:
        lines.append("- and more of the same")
    messages = [{"role": "user", "content": prompt_of("repair").text.replace("{faults}", "\n".join(lines))}]
    if answer.strip():
        messages.insert(0, {"role": "assistant", "content": answer.strip()[:_SHOWN_ANSWER]})
    return request | {"messages": [*request["messages"], *messages]}


def token_bound(request: dict[str, Any]) -> int:
    """At least as many tokens as the request's prompt has, without asking: no token is shorter than a byte."""
    return len(json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")) + _FRAME

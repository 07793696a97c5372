"""How a reference is followed: the address of its screen, and the command that prints the same at a terminal. Pure.

Addresses are stable, and read as what they show. Whatever somebody else named is one percent-encoded segment, for a
position may be called `lp/1`, an agent `..`.
"""

from __future__ import annotations

import shlex
from typing import Final
from urllib.parse import quote, urlencode

from retro.present.references import (
    AgentReference,
    ExplanationReference,
    MemoryReference,
    PeriodReference,
    PositionReference,
    ProposalReference,
    Reference,
    ReviewReference,
    RuleReference,
    RulesReference,
)

__all__ = ["ENDINGS", "address_of", "command_of", "segment"]

ENDINGS: Final = (".json", ".txt", ".md", ".csv")
"""What stands behind an address to have the same in another format; a name that ends so is written otherwise."""
_COMMANDS: Final = {
    "today": "today",
    "fleet": "fleet",
    "ripening": "ripening",
    "reviews": "reviews",
    "positions": "positions",
    "proposals": "playbook status",
    "service": "doctor --quick",
    "rules": "playbook audit",
}


def address_of(reference: Reference) -> str:
    """The path of its screen on this server, with its query."""
    match reference:
        case ReviewReference(review, revision):
            return f"/r/{segment(review)}" + ("" if revision is None else f"@{revision}")
        case ExplanationReference(review, figure):
            query = f"?{urlencode({'figure': figure})}" if figure else ""
            return f"/r/{segment(review)}/explain{query}"
        case PositionReference(agent, position, pairs):
            return f"/p/{segment(agent)}/{segment(position)}" + (f"?{urlencode(pairs)}" if pairs else "")
        case RuleReference(agent, rule):
            return f"/rules/{segment(agent)}/{segment(rule)}"
        case RulesReference(agent):
            return f"/rules/{segment(agent)}"
        case ProposalReference(agent, proposal):
            return f"/proposals/{segment(proposal)}?{urlencode({'agent': agent})}"
        case AgentReference(agent):
            return f"/a/{segment(agent)}"
        case MemoryReference(agent):
            return f"/memory/{segment(agent)}"
        case PeriodReference(agent, period):
            return f"/reviews?{urlencode({'agent': agent, 'in': period})}"
    path = "/" if reference.screen == "today" else f"/{segment(reference.screen)}"
    return f"{path}?{urlencode(reference.query)}" if reference.query else path


def command_of(reference: Reference) -> str:
    """What to type to read the same at a terminal; "" where no command prints it."""
    match reference:
        case ReviewReference(review, revision):
            return _command("show", review if revision is None else f"{review}@{revision}")
        case ExplanationReference(review, figure):
            return _command("explain", review, *([figure] if figure else []))
        case PositionReference(agent, position):
            return _command("review", "position", position, "--agent", agent)
        case RuleReference(agent, rule):
            return _command("rule", agent, rule)
        case RulesReference(agent):
            return _command("playbook", "audit", "--agent", agent)
        case ProposalReference(agent, proposal):
            return _command("playbook", "proposal", proposal, "--agent", agent)
        case MemoryReference(agent):
            return _command("memory", "--agent", agent)
        case AgentReference(agent):
            return _command("agents", "show", agent)
        case PeriodReference(agent):
            return _command("reviews", "--agent", agent)
    words = _COMMANDS.get(reference.screen)
    return f"retro {words}" if words else ""


def _command(*words: str) -> str:
    return shlex.join(["retro", *words])


def segment(name: str) -> str:
    """One segment of a path, whatever the name holds: dots alone would be another folder's."""
    encoded = quote(name, safe="")
    is_format = any(encoded.endswith(end) for end in ENDINGS)
    if set(name) <= {"."} or is_format:  # what else ends so names a format
        encoded = encoded.replace(".", "%2E")
    return encoded

"""Text from elsewhere, made fit to stand in a playbook.

A playbook is read back into an agent's prompt, and rendered by a forge. What a model or an agent worded must
therefore be one visible line, and mean nothing to the grammar of heuristics, to Markdown links or to HTML.
"""

from __future__ import annotations

import json
import re
import unicodedata

__all__ = ["MAX_TEXT", "literal", "plain", "unquoted"]

MAX_TEXT = 300

_DROPPED = frozenset(
    {"Cc", "Cf", "Cs", "Co", "Cn"}
)  # control, bidi and zero-width, surrogates, private, unassigned
# Drawn as nothing although Unicode calls them letters, marks or symbols.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(c)
    for span in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for c in range(span[0], span[1] + 1)
}
_MAX_MARKS = 4  # combining marks on one letter; no living orthography stacks more
_BRACKETS = str.maketrans("{}[]", "()()")
_INERT = (
    (re.compile(r"<(?=[A-Za-z/!?])"), "< "),  # a tag or a comment; "vol <40%" stays
    (re.compile(r"://"), ": //"),
    (re.compile(r"(www)\.", re.IGNORECASE), r"\1 ."),
    (re.compile(r"@(?=\w)"), "@ "),
    (re.compile(r"&(?=#?\w+;)"), "& "),
)
_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/+-]*(?: [A-Za-z0-9_.:/+-]+)*")


def _visible(text: str) -> str:
    characters: list[str] = []
    marks = 0
    for char in text:
        if char.isspace():
            characters.append(" ")
            marks = 0
            continue
        category = unicodedata.category(char)
        if category in _DROPPED or char in _INVISIBLE:
            continue
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= _MAX_MARKS:
            characters.append(char)
    return "".join(characters)


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text` as one harmless line of at most `limit` characters; empty when nothing visible is left.

    White space becomes single spaces; control, bidi, zero-width and other invisible characters go; braces and
    brackets become parentheses; tags, addresses and mentions are broken by a space. Doing it twice changes nothing.
    """
    line = _visible(text).translate(_BRACKETS)
    for pattern, inert in _INERT:
        line = pattern.sub(inert, line)
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "\u2026"


def _escaped(char: str) -> str:
    is_bare = char == " " or char in "_.,;:/+-()=%" or (char.isalnum() and char not in _INVISIBLE)
    return char if is_bare else json.dumps(char)[1:-1] if not char.isascii() else f"\\u{ord(char):04x}"


def literal(value: str) -> str:
    """Write a tag or a reason so that it reads back exactly: bare when it can be, else as a JSON string.

    In the quoted form everything but letters, digits and a few marks is escaped, so no label an agent invents
    can close the braces, start a link or hide.
    """
    if _BARE.fullmatch(value) and "://" not in value and "www." not in value.lower():
        return value
    return '"' + "".join(map(_escaped, value)).replace("://", "\\u003a//").replace("www.", "www\\u002e") + '"'


def unquoted(value: str) -> str:
    """Read back what `literal` wrote; a bare value has its white space collapsed."""
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value, strict=False))
        except ValueError:  # not ours: a person's own quotes
            return value
    return " ".join(value.split())

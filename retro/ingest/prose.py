"""An agent's prose on its way into a fact: without secrets, without control characters, no longer than a page needs."""

from __future__ import annotations

import re
from typing import Final

from retro.safe import shorten
from retro.secret import redact

__all__ = ["prose", "without_keys"]

LONGEST: Final = 20_000
"""Characters of a reasoning that are kept; prompts are never read at all."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_KEYS: Final = re.compile(
    r"\bsk-[\w-]{16,}|\b0x[0-9a-fA-F]{64}\b|(?i:\bbearer\s+[\w.~+/-]{16,}=*)|\bAKIA[0-9A-Z]{16}\b"
)
"""Keys of models, wallets and clouds, which error messages of such agents repeat."""
_HINTS: Final = ("sk-", "0x", "bearer", "akia")
"""The lower case of a text with a key holds one of these."""


def prose(text: object, longest: int = LONGEST) -> str:
    """What an agent wrote, fit to be kept; "" for what is no text."""
    if not text or not isinstance(text, str):
        return ""
    plain = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    return shorten(without_keys(plain), longest)


def without_keys(text: str) -> str:
    """A text in which whatever looks like a key is blotted out."""
    plain, lower = str(redact(text)), text.lower()
    return _KEYS.sub("[redacted]", plain) if any(hint in lower for hint in _HINTS) else plain

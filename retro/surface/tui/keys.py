"""The keys of the terminal, each with what it does: what a sheet of help shows, and what the page of documents says."""

from __future__ import annotations

from typing import Final

__all__ = ["KEYS", "why_off"]

KEYS: Final = (
    ("enter", "open the row or link that is pointed at; on a position: why it was entered"),
    ("esc", "leave what is innermost: a question, the cursor, this screen; never the house"),
    ("j k", "a row or line down or up, as the arrows do; page up and down, home, end"),
    ("tab", "the next link of a page; shift+tab the one before"),
    ("d", "what differs from the review before"),
    ("h", "the rules, one by one"),
    ("p", "positions; on a position: what was predicted at its entry"),
    ("r", "the retrospective of the position that is pointed at"),
    ("e", "where the figures come from"),
    ("[ ]", "the one before and the next, in the list one came from or of its kind"),
    ("x X", "pick a life, or let it go; lay those picked over each other"),
    ("← →", "on a path: point by point, with what a table of them says"),
    (
        "c C b 0 $",
        "on a path: the next checkpoint and the one before, the best exit, its first point, its last",
    ),
    ("+", "on a path: closer; then - is the whole of it"),
    ("/", "narrow a list by the words that `--where` takes"),
    ("< >", "look back by a day, and forward again"),
    ("@", "look back to a day or an instant; empty: now"),
    (".", "what can be done here: retry, skip, send again, accept, decline, mark as seen; it asks once more"),
    ("m", "mark Today as seen"),
    ("g", "and t, r, p, o or s: today, reviews, positions, proposals, service"),
    ("-", "what one looked at before"),
    (":", "every screen by its name; ctrl+k too"),
    ("?", "this list"),
    ("y", "copy the address, and the command that prints the same"),
    ("w", "open it in the browser, where `retro web` runs"),
    ("ctrl+r", "read anew what has changed; F5 too"),
    ("q", "leave the house; ctrl+q too"),
)
"""Key and what it does, in the order one meets them."""

_OFF: Final = {
    "d": "d is off: nothing here has a review of its kind before it; point at a review, or open one",
    "h": "h is off: this screen is of no single agent; open one of its reviews, or : and its name",
    "p": "p is off: this screen leads to no positions, and no prediction was made at this entry; g p lists them",
    "r": "r is off: point at a position or review of a list",
    "e": "e is off: figures are explained from a stored review; open one",
    "[": "[ is off: nothing comes before this, and it was not opened from a list",
    "]": "] is off: nothing follows this, and it was not opened from a list",
    "a": "a is off: this screen is of no single agent; : and its name",
    "x": "x is off: point at a position of a list, or open one",
    ".": "nothing can be done here",
    "m": "m is off: only Today of now is marked as seen; g t leads there",
    "path": "there is no path here: open a position that has one",
}


def why_off(key: str) -> str:
    """Why a key does nothing on the screen that it was pressed on, and where it would."""
    return _OFF.get(key, f"{key} leads nowhere from here; ? says what does")

"""The keys of the terminal, each with what it does: what a sheet of help shows, and what the page of documents says."""

from __future__ import annotations

from typing import Final

__all__ = ["KEYS"]

KEYS: Final = (
    ("enter", "open the row or link that is pointed at; on a position: why it was entered"),
    ("esc", "leave what is innermost: a filter, this screen; never the house"),
    ("j k", "a row or line down or up, as the arrows do; page up and down, home, end"),
    ("tab", "the next link of a page; shift+tab the one before"),
    ("d", "what differs from the review before"),
    ("h", "the rules, one by one"),
    ("p", "positions; on a position: what was predicted at its entry"),
    ("r", "the retrospective of the position that is pointed at"),
    ("[ ]", "the one before and the next, in the list one came from or of its kind"),
    ("/", "narrow a list by the words that `--where` takes"),
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

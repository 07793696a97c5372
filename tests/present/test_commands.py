"""A command in a sentence of ours is code where a format has code; nothing else becomes so, whoever wrote it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from retro.present.commands import commands_as_code, commands_as_spans
from retro.present.html import html_of
from retro.present.markdown import escaped, markdown_of
from retro.present.page.blocks import Cell, Column, Prose, Table, page_of_blocks
from retro.present.text.page import text_of

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SENTENCE = "Nothing yet; `retro reviews remake a.weekly.2026-W10` has it made, in #7 of @ada."
COMMAND = "<code>retro reviews remake a.weekly.2026-W10</code>"


def test_a_command_is_code_in_a_browser_and_a_span_in_markdown_and_as_written_at_a_terminal() -> None:
    table = Table.of([Column("What"), Column("Remedy")], [[Cell("Reviews"), Cell(SENTENCE)]])
    page = page_of_blocks("Reviews", "a", "", "None yet", [Prose(SENTENCE), table])
    assert html_of(page).count(COMMAND) == 2
    assert PARSER.render(markdown_of(page)).count(COMMAND) == 2
    assert "`retro reviews remake a.weekly.2026-W10`" in text_of(page, width=200)


@pytest.mark.parametrize(
    "text",
    [
        "`<b>retro</b>`",
        "`retro <b>show</b>`",
        "`retro a|b`",
        "`retro $(id)`",
        "`rm -rf /`",
        "``retro``",
    ],
)
def test_what_is_no_plain_command_of_ours_is_no_code(text: str) -> None:
    assert "<code>" not in commands_as_code(str(escape(text)))
    assert commands_as_spans(escaped(text)) == escaped(text)


@given(st.text(st.sampled_from("`retro a.b-1|<&;#96@:[]\\*"), max_size=40) | st.text(max_size=40))
@example("`retro a`retro b`")
@example("&#96;retro a&#96;")
def test_whatever_stands_beside_a_command_is_shown_as_it_was(text: str) -> None:
    words = f"{text} `retro show a` {text}"
    shown = Markup(commands_as_code(str(escape(words)))).striptags()  # noqa: S704  what is under test
    assert shown.replace("`", "") == Markup(str(escape(words))).striptags().replace("`", "")  # noqa: S704

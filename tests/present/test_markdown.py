"""Markdown in which whatever an agent wrote shows as plain text: read by a CommonMark parser, judged by its tokens."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from retro.narrate.plain import words
from retro.present.formats import render
from retro.present.markdown import escaped
from retro.report import PositionRetrospective, RetrospectiveReport
from retro.safe import plain_text
from tests.worlds.injections import MARKUP
from tests.worlds.samples import reports

ALLOWED_INLINE = {
    "text",
    "text_special",
    "code_inline",
    "strong_open",
    "strong_close",
    "em_open",
    "em_close",
    "softbreak",
}
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MENTION = re.compile(r"(?<!\w)@\w|#\d|\w@\w|:[\w+-]+:")


class _Text(HTMLParser):
    """The text of rendered HTML and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.runs.append(data)


def read(source: str) -> _Text:
    parser = _Text()
    parser.feed(PARSER.render(source))
    return parser


def single_line(text: str) -> str:
    return " ".join(plain_text(text).split())


@pytest.mark.parametrize("attack", MARKUP)
@pytest.mark.parametrize(
    "place", ["{}", "> {}", "- {}", "*{}*", "**{}**", "| {} |\n|---|\n| x |", "| a |\n|---|\n| {} |"]
)
def test_an_attack_shows_as_exactly_its_own_text(attack: str, place: str) -> None:
    page = read(place.format(escaped(plain_text(attack))))
    expected = read(place.format("text"))
    assert [tag for tag in page.tags if tag != "code"] == expected.tags
    visible_text = " ".join("".join(page.runs).split())
    assert (
        visible_text == " ".join("".join(expected.runs).split()).replace("text", single_line(attack)).strip()
    )


@pytest.mark.parametrize("attack", MARKUP)
def test_nothing_is_left_for_a_forge_to_find_after_rendering(attack: str) -> None:
    """Mentions, issue numbers and emoji codes are looked for in runs of text outside code."""
    for run in read(escaped(plain_text(attack))).runs:
        assert not MENTION.search(run)


@pytest.mark.parametrize("attack", MARKUP)
def test_the_source_itself_holds_no_address_tag_or_mention(attack: str) -> None:
    source = escaped(plain_text(attack))
    assert not re.search(r"://|<|\]\(|!\[|www\.|@\w|^#|\|", source)


@pytest.mark.parametrize("attack", MARKUP)
@pytest.mark.parametrize("kind", ["report", "position"])
def test_a_whole_page_keeps_its_structure_whatever_the_agent_wrote(attack: str, kind: str) -> None:
    def document(text: str) -> RetrospectiveReport | PositionRetrospective:
        report = reports.week_quoting(text)
        return report if kind == "report" else report.positions[0]

    def structure(text: str) -> list[tuple[str, str]]:
        tokens = PARSER.parse(render(document(text), "md"))
        inline = {child.type for token in tokens for child in token.children or []}
        assert inline <= ALLOWED_INLINE | {"hardbreak"}
        return [(token.type, token.tag) for token in tokens]

    assert structure(attack) == structure("word")


DANGEROUS = st.sampled_from("*_`[]()<>!#|\\&;:/.@~^$-+=1aw \nhtps\"'{}%") | st.characters(codec="utf-8")


@given(st.text(DANGEROUS, max_size=30))
@settings(deadline=None, max_examples=500)
def test_any_text_survives_as_itself_in_a_paragraph_and_in_a_cell(text: str) -> None:
    text = plain_text(text)
    paragraph = read(f"x {escaped(text)} x")
    assert set(paragraph.tags) <= {"p", "code"}
    assert "".join(paragraph.runs).strip() == f"x {single_line(text)} x".replace(
        "  ", " "
    ) or not single_line(text)
    cell = read(f"| a | b |\n|---|---|\n| {escaped(text)} | end |")
    assert cell.tags.count("td") == 2
    assert set(cell.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    start = read(escaped(text) or "x")
    assert set(start.tags) <= {"p", "code"}


def test_tables_hold_the_week() -> None:
    source = render(words(reports.weekly()), "md")
    assert source.startswith("# Weekly review: golem-7\n")
    assert "**Up 8.41 USDC.** LP fees earned +14.20" in source
    assert "**DEMOTE** (weak (1.4 to 1): 3 citations, 95 % +9.90 or below at every look)" in source
    assert "| LP fees earned | +14.20 |" in source
    assert "| **Total** | **+8.41** |" in source
    assert "| &#126; ETH/USDC | 1 | -4.20 |" in source
    assert read(source).tags.count("h1") == 1


def test_the_path_is_drawn_in_a_code_block_of_ours() -> None:
    source = render(reports.position(), "md")
    block = source.split("```")[1]
    assert block.startswith("text\n")
    assert "○ entry" in block

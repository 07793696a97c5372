"""Reading a PLAYBOOK.md: which lines are heuristics, what they say, and what is wrong with them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from playbook import claims, find, parse, resolve
from playbook.blocks import split_lines
from playbook.heuristic import compose
from playbook.plain import literal, unquoted

SAMPLE = """\
# Playbook of the sample agent

| id | note |
|----|------|
| H-99 [0.5] | a table |

- H-1 [1] Hold cash over the weekend

## Global

- H-7 [0.62] Increase position size when accuracy > 80 % {tags: size_up; since: 2026-03-01; status: active}
* H-12 [.5] Avoid thin pools
  when the queue
\tis long {tags: thin, "a, b";
  since: 2026-02-28}
  a note below

## Strategy: mean reversion

+ H-3 [0.40] Concentrate when {x, y} vol < 40 % {status: Candidate}

## Notes

- LP-2 [0.25] Widen the range {}

## Retired

- H-2 [0.10] Chase green candles {tags: size_up; status: active; reason: lost money}
"""


def _table(text: str) -> list[tuple[object, ...]]:
    return [
        (
            heuristic.line,
            heuristic.id,
            heuristic.confidence,
            heuristic.text,
            heuristic.tags,
            heuristic.status,
            heuristic.section,
        )
        for heuristic in parse(text).heuristics
    ]


def test_a_sample_reads_as_a_person_reads_it() -> None:
    assert _table(SAMPLE) == [
        (7, "H-1", 1.0, "Hold cash over the weekend", (), "active", ""),
        (11, "H-7", 0.62, "Increase position size when accuracy > 80 %", ("size_up",), "active", "Global"),
        (12, "H-12", 0.5, "Avoid thin pools when the queue is long", ("thin", "a, b"), "active", "Global"),
        (20, "H-3", 0.4, "Concentrate when {x, y} vol < 40 %", (), "candidate", "Strategy: mean reversion"),
        (24, "LP-2", 0.25, "Widen the range", (), "active", "Notes"),
        (28, "H-2", 0.1, "Chase green candles", ("size_up",), "retired", "Retired"),
    ]
    assert parse(SAMPLE).faults == ()


def test_a_heuristic_knows_its_strategy_its_day_and_why_it_was_retired() -> None:
    book = parse(SAMPLE)
    attributes = {
        heuristic.id: (heuristic.strategy, heuristic.since, heuristic.reason, heuristic.live)
        for heuristic in book.heuristics
    }
    assert attributes["H-7"] == (None, date(2026, 3, 1), None, True)
    assert attributes["H-12"] == (None, date(2026, 2, 28), None, True)
    assert attributes["H-3"] == ("mean reversion", None, None, True)
    assert attributes["H-2"] == (None, None, "lost money", False)
    assert find(book, "H-4") is None


def test_a_citation_of_a_claimed_label_is_a_citation_of_its_heuristic() -> None:
    book = parse(SAMPLE)
    assert claims(book.heuristics) == {"size_up": "H-7", "thin": "H-12", "a, b": "H-12"}
    assert resolve(["roi", "size_up", "H-7", "thin", "H-3", "roi"], claims(book.heuristics)) == (
        "roi",
        "H-7",
        "H-12",
        "H-3",
    )


def test_a_retired_heuristic_keeps_a_label_that_no_living_one_claims() -> None:
    book = parse("## Retired\n- H-1 [0.1] old {tags: a, b}\n## Global\n- H-2 [0.3] new {tags: b}\n")
    assert claims(book.heuristics) == {"a": "H-1", "b": "H-2"}
    assert book.faults == ()


@pytest.mark.parametrize(
    "text",
    [
        "H-7 [0.62] no bullet",
        "1. H-7 [0.62] a numbered item",
        "- H-7 was demoted in March",
        "- H-7 [see the note](notes.md) on it",
        "- H-7 [0.62][note] a reference link",
        "- [ ] H-7 [0.62] a task",
        "- **H-7** [0.62] emphasis",
        "-H-7 [0.62] no space",
        "> - H-7 [0.62] quoted",
        "    - H-7 [0.62] indented code",
        "\t- H-7 [0.62] indented code",
        "-      H-7 [0.62] code inside an item",
        "```\n- H-7 [0.62] fenced\n```",
        "~~~ text\n- H-7 [0.62] fenced\n```\n- H-8 [0.5] still\n~~~",
        "````\n```\n- H-7 [0.62] a shorter fence does not close\n````",
        "- item\n  ```\n  - H-7 [0.62] a fence inside an item\n  ```",
        "```\n    ```\n- H-7 [0.62] an indented fence does not close\n```",
        "<!-- - H-7 [0.62] comment -->",
        "<!--\n- H-7 [0.62] comment\n-->",
        "<pre>\n- H-7 [0.62] raw\n</pre>",
        "| - H-7 [0.62] | cell |",
        "- RFC-2119 [1] is a footnote",
        "- ISO-8601 [high] is prose",
        "- EIP-1559 [2.0] is prose",
        "- Sharpe [0.62] has no number",
        "- H-7 [0.62",
        "- H-1234567890 [0.62] too long a number",
        "- a\rb\r- H-7 [0.62] a lone CR ends no line",
        "text\x0b- H-7 [0.62] nor does a vertical tab",
        "text\u2028- H-7 [0.62] nor a line separator",
        "text\x85- H-7 [0.62] nor a next-line character",
    ],
)
def test_prose_that_resembles_a_heuristic_is_prose(text: str) -> None:
    book = parse(text)
    assert book.heuristics == ()
    assert book.faults == ()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("- Entries\n  - H-1 [0.5] a\n- Exits\n    - H-2 [0.5] b\n", ["H-1", "H-2"]),
        ("1. first\n   - H-1 [0.5] a\n", ["H-1"]),
        ("- H-1 [0.5] a\n\n      - H-2 [0.5] six columns after two are code\n", ["H-1"]),
        ("- item\n  ```\n  code\n- H-1 [0.5] the item's end ends its fence\n", ["H-1"]),
        ("```\na\n```\n- H-1 [0.5] after a fence\n", ["H-1"]),
        ("<!-- a --> b\n- H-1 [0.5] after a comment\n", ["H-1"]),
        ("\ufeff- H-1 [0.5] after a byte order mark", ["H-1"]),
        ("- H-1 [0.5] a\r\n- H-2 [0.5] b\n- H-3 [0.5] c", ["H-1", "H-2", "H-3"]),
        ("-\tH-1 [0.5] a tab\n   -   H-2 [0.5] three blanks\n", ["H-1", "H-2"]),
        ("* * *\n- H-1 [ 0.5 ]roomy\n", ["H-1"]),
    ],
)
def test_a_heuristic_is_a_list_item_wherever_markdown_has_one(text: str, ids: list[str]) -> None:
    book = parse(text)
    assert [heuristic.id for heuristic in book.heuristics] == ids
    assert book.faults == ()


def test_a_text_goes_on_while_its_lines_are_indented() -> None:
    book = parse(
        "- H-1 [0.5] one\n  two\n three {tags: a}\nprose {tags: b}\n- H-2 [0.5] x\n\n  a paragraph below\n"
    )
    assert [(heuristic.text, heuristic.tags) for heuristic in book.heuristics] == [
        ("one two three", ("a",)),
        ("x", ()),
    ]
    assert [(heuristic.first, heuristic.end) for heuristic in book.heuristics] == [(0, 3), (4, 7)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- H-1 [0.5] a\n\n- H-1 [0.6] b\n", [(3, "duplicate id H-1, first on line 1")]),
        ("\n- H-1 [abc] a", [(2, "H-1: confidence 'abc' is not a number")]),
        ("- H-1 [] a", [(1, "H-1: confidence '' is not a number")]),
        ("- H-1 [62%] a", [(1, "H-1: confidence '62%' is not a number")]),
        ("- H-1 [0,62] a", [(1, "H-1: confidence '0,62' is not a number")]),
        ("- H-1 [nan] a", [(1, "H-1: confidence 'nan' is not a number")]),
        ("- H-1 [1e-1] a", [(1, "H-1: confidence '1e-1' is not a number")]),
        ("- H-1 [\u0660.\u0665] a", [(1, "H-1: confidence '\u0660.\u0665' is not a number")]),
        ("- H-1 [1.01] a", [(1, "H-1: confidence 1.01 lies outside 0 to 1")]),
        ("- H-1 [-0.1] a", [(1, "H-1: confidence -0.1 lies outside 0 to 1")]),
        (
            "- H-1 [0.5] a {tags: x}\n- H-2 [0.5] b {tags: y, x}\n",
            [(2, "tag 'x' is already claimed by H-1 on line 1")],
        ),
        ("- H-1 [0.5] a {tags: H-2}\n- H-2 [0.5] b\n", [(1, "tag 'H-2' is the id of another heuristic")]),
        ("- H-1 [0.5] a {tags: x;\n  status: actve}", [(2, "unknown status 'actve'")]),
        ("- H-1 [0.5] a {Tag: x}", [(1, "unknown metadata key 'tag'")]),
        ("- H-1 [0.5] a {tags: x; tags: y}", [(1, "metadata key 'tags' stands twice")]),
        ("- H-1 [0.5] a {tags: x; demoted}", [(1, "'demoted' is not `key: value`")]),
        ("- H-1 [0.5] a {since: 2026-02-30}", [(1, "since '2026-02-30' is not a date")]),
        ("- H-1 [0.5] a {since: 20260301}", [(1, "since '20260301' is not a date")]),
        ("x\n- H-1 [0.5] a\n  b {tags: x", [(3, "braces are not closed")]),
        ("- H-1 [0.5] a {tags: x} and on", [(1, "metadata does not end the text")]),
        ("- H-1 [0.5] a {tags: x} {status: active}", [(1, "metadata does not end the text")]),
        ("- H-1 [0.5] {tags: x}", [(1, "H-1 has no text")]),
        (
            "a\n```\n- H-1 [0.5] b\n",
            [(2, "a code fence or comment opened here never closes and hides heuristics")],
        ),
    ],
)
def test_a_fault_names_the_line_and_the_reason(text: str, expected: list[tuple[int, str]]) -> None:
    faults = parse(text).faults
    assert [(fault.line, fault.reason) for fault in faults] == expected
    assert [(fault.line, fault.reason) for fault in parse(text.replace("\n", "\r\n")).faults] == expected
    assert all(fault.remedy for fault in faults)
    assert str(faults[0]).startswith(f"line {expected[0][0]}: {expected[0][1]}; ")


def test_faults_come_in_the_order_of_their_lines() -> None:
    book = parse("- H-1 [2] a\n- H-1 [0.5] b {tags: c; color: red}\n- H-3 [0.5] d {tags: c}\n")
    assert [fault.line for fault in book.faults] == [1, 2, 2, 3]


def test_bytes_that_are_not_utf8_are_a_fault_of_their_line_and_kept() -> None:
    data = b"# x\n- H-1 [0.5] caf\xe9\r\n- H-2 [0.5] \xff\xfe\n"
    book = parse(data)
    assert bytes(book) == data
    assert [(fault.line, fault.reason) for fault in book.faults] == [
        (2, "bytes that are not UTF-8"),
        (3, "bytes that are not UTF-8"),
    ]


def test_an_empty_file_is_sound() -> None:
    for text in ("", "\n", "\ufeff", "   \r\n\t\n"):
        assert (parse(text).heuristics, parse(text).faults, str(parse(text))) == ((), (), text)


def test_an_open_fence_that_hides_nothing_is_no_fault() -> None:
    assert parse("- H-1 [0.5] a\n\n```\nsome code\n").faults == ()


def test_lines_end_at_line_feeds_only() -> None:
    text = "a\x0bb\x0c\x1c\x1d\x1e\x85\u2028\u2029\rc\r\nd\n\ne"
    assert split_lines(text) == ("a\x0bb\x0c\x1c\x1d\x1e\x85\u2028\u2029\rc\r\n", "d\n", "\n", "e")
    assert split_lines("") == ()


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_label_an_agent_may_use_survives_as_a_tag(label: str, second_label: str) -> None:
    assert unquoted(literal(label)) == label
    line = compose("H-1", 0.5, "text", status="active", tags=(label, second_label))
    book = parse(line)
    assert book.heuristics[0].tags == tuple(dict.fromkeys((label, second_label)))
    assert book.faults == ()
    assert "\n" not in line
    assert not set(line) & set("<>`@\x00\u202e")


PIECES = [
    "- H-{n} [0.5] text",
    "* H-{n} [0.5] text {{tags: a{n}}}",
    "  - H-{n} [0.5] nested",
    "    - H-{n} [0.5] four",
    "\t- H-{n} [0.5] tab",
    "   * H-{n} [.5] three",
    "   - H-{n} [0.5] under",
    "      - H-{n} [0.5] six",
    "-\tH-{n} [0.5] tabbed",
    "-     H-{n} [0.5] code",
    "> - H-{n} [0.5] quoted",
    "- prose item",
    "1. ordered",
    "1. H-{n} [0.5] ordered",
    "  continuation",
    "    deep continuation",
    "\nprose\n",
    "```",
    "~~~",
    "````",
    "  ```",
    "~~~ py",
    "<!-- comment",
    "\n--> end\n",
    "<!-- one line -->",
    "<pre>",
    "\nend </pre>\n",
    "## Global",
    "  ## Retired",
    "---",
    "***",
    "",
    "",
]


def _rendered(text: str) -> set[tuple[int, str]]:
    """Line and first word of what a Markdown renderer makes the first paragraph of a bulleted item, quotes left out."""
    items: set[tuple[int, str]] = set()
    opened: list[Token] = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.nesting:
            opened = [*opened, token] if token.nesting > 0 else opened[:-1]
        elif token.type == "inline" and [parent.type for parent in opened[-2:]] == [
            "list_item_open",
            "paragraph_open",
        ]:
            item, paragraph = opened[-2:]
            is_first = item.map and paragraph.map and item.map[0] == paragraph.map[0]
            is_quote = any(parent.type == "blockquote_open" for parent in opened)
            if is_first and paragraph.map and not is_quote and item.markup in "-*+":
                items.add((paragraph.map[0] + 1, token.content.split(" ")[0]))
    return {(line, word) for line, word in items if word.startswith("H-")}


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9))
@settings(max_examples=1500, deadline=None)
def test_the_items_found_are_those_a_markdown_renderer_finds(pieces: list[str]) -> None:
    """Lazy continuation, where we differ on purpose, is kept out: prose stands between blank lines."""
    text = "".join(piece.format(n=number) + "\n" for number, piece in enumerate(pieces))
    assert {(heuristic.line, heuristic.id) for heuristic in parse(text).heuristics} == _rendered(text)

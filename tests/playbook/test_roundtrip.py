"""Parse then write gives back every byte, and changing one heuristic changes nothing else, on whatever text there is."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbook import Playbook, apply, edits, inverse, parse, splice
from playbook.amendment import Amendment, Grounds
from playbook.errors import AmendmentError
from playbook.operations import add, demote, retire, set_confidence
from tests.worlds.places import ROOT

DOCUMENTS = 10_000
WHY = Grounds({"resolved": 12}, "the next 12 resolved entry citations average above 0 usd")

LINES = [
    "# Playbook",
    "## Global",
    "## Strategy: momentum",
    "## Retired",
    "## Retired ##",
    "### A note",
    "Setext\n======",
    "- H-{n} [0.{n}] Increase position size when accuracy > 80 %",
    "- H-{n} [0.50] Text {{tags: tag_{n}; since: 2026-03-01; status: active}}",
    "* H-{n} [.5] Text {{status: candidate}}",
    "+ H-{n} [1] Two lines\n  of text {{tags: a{n},\n  b{n}}}",
    "- H-{n} [0.40] Text\n\n  a paragraph\n\n  - a sub-item\n\n  ```\n  code\n  ```",
    "  - H-{n} [0.3] nested",
    "- LP-{n} [0.25] another prefix {{}}",
    "- H-{n} [2] outside\n- H-{n} [x] and twice {{tags: a; tags: b; colour: red}}",
    "- H-{n} [0.5] open {{tags: x",
    '- H-{n} [0.5] quoted {{tags: "a;b}}c", "\\u003c"}}',
    "    - H-{n} [0.9] indented code",
    "```python\n- H-{n} [0.1] fenced\n```",
    "~~~\n```\n~~~",
    "  ````\n  ```\n  ````",
    "```",
    "<!-- - H-{n} [0.5] comment -->",
    "<!-- open\n- H-{n} [0.5] comment\n-->",
    "| a | b |\n|---|---|\n| - H-{n} [0.5] | {{tags: x}} |",
    "> - H-{n} [0.5] quoted",
    "1. - H-{n} [0.5] deep",
    "- [ ] task\n\t- sub",
    "* * *",
    "\tcode",
    "",
    "",
    "   ",
    "trailing blanks  ",
    "lone\rcarriage return",
    "form\x0cfeed\x0band \x1c\x1d\x1e\x85 separators\u2028\u2029",
    "- H-{n} [0.5] \u202eright to left\u202c \u200bzero\ufeff width",
    "\U0001f600 caf\u00e9 caf\u0065\u0301 \ud7a3 \U000e0041",
    "NUL \x00 and DEL \x7f",
    "{{[<&>]}} \\ ` \" '",
]


def _document(rng: random.Random) -> str:
    ends = rng.choice((["\n"], ["\r\n"], ["\n", "\r\n"], ["\n", "\n", "\r\n", "\r", "\n\n"]))
    text = rng.choice(("", "", "", "\ufeff"))
    for number in range(1, rng.randint(0, 14) + 1):
        for line in rng.choice(LINES).format(n=number).split("\n"):
            text += line + rng.choice(ends)
    return text if rng.random() < 0.7 else text.rstrip("\r\n")


def _stands_where_it_says(book: Playbook) -> None:
    assert "".join(book.lines) == book.text
    assert all(line.endswith("\n") for line in book.lines[:-1])
    for heuristic in book.heuristics:
        assert book.text.startswith(heuristic.head.raw, heuristic.start)
        assert heuristic.line == heuristic.first + 1 == book.text.count("\n", 0, heuristic.start) + 1
        assert heuristic.first < heuristic.end <= len(book.lines)
    assert all(1 <= fault.line <= max(len(book.lines), 1) for fault in book.faults)


def _amended_and_restored(book: Playbook, rng: random.Random) -> int:
    """Amend one heuristic at random; the inverse restores the bytes. How many amendments fitted."""
    done = 0
    name = rng.choice(book.heuristics).id if book.heuristics else "H-1"
    makers: list[Callable[[], Amendment]] = [
        lambda: add(book, "A new rule", WHY),
        lambda: set_confidence(book, name, 0.99, WHY),
        lambda: demote(book, name, WHY),
        lambda: retire(book, name, "lost money", WHY),
    ]
    for make in makers:
        try:
            amendment = make()
            changes = edits(book, [amendment])
        except AmendmentError:
            continue  # the document's own faults; counted by the caller
        after = splice(book.text, changes)
        assert after != book.text
        assert splice(after, inverse(changes)).encode("utf-8", "surrogatepass") == book.text.encode(
            "utf-8", "surrogatepass"
        )
        assert apply(book, [amendment]) == after
        if amendment.op in ("set_confidence", "demote"):
            pairs = list(zip(book.lines, parse(after).lines, strict=True))
            touched = {number for number, (was, now) in enumerate(pairs) if was != now}
            assert len(touched) <= 2, "one item's confidence, or its status at the end of its braces"
            (item,) = [heuristic for heuristic in book.heuristics if heuristic.id == amendment.heuristic]
            assert touched <= set(range(item.first, item.end)), "and no line of anything else"
        done += 1
    return done


def test_ten_thousand_generated_documents_come_back_byte_for_byte() -> None:
    rng = random.Random(7)
    heuristics = faults = amended = 0
    for _ in range(DOCUMENTS):
        text = _document(rng)
        book = parse(text)
        assert str(book) == format(book) == text
        data = text.encode("utf-8", "surrogatepass")
        assert bytes(parse(data)) == data
        _stands_where_it_says(book)
        heuristics += len(book.heuristics)
        faults += len(book.faults)
        if rng.random() < 0.1:
            amended += _amended_and_restored(book, rng)
    assert heuristics > DOCUMENTS
    assert faults > DOCUMENTS / 10
    assert amended > DOCUMENTS / 10


@given(st.binary(max_size=200))
@settings(max_examples=500, deadline=None)
def test_any_bytes_come_back(data: bytes) -> None:
    book = parse(data)
    assert bytes(book) == data
    _stands_where_it_says(book)


@given(
    st.text(
        alphabet=st.sampled_from(list('-*+ \t\r\n#H-1[0.5]{}tags:;,"\\`~<!->|>1.x\ufeff\u2028')), max_size=120
    )
)
@settings(max_examples=1500, deadline=None)
def test_any_text_of_the_grammars_own_characters_comes_back(text: str) -> None:
    book = parse(text)
    assert str(book) == text
    _stands_where_it_says(book)


def _markdown_files() -> list[Path]:
    root = ROOT
    ours = [path for path in root.rglob("*.md") if ".venv" not in path.parts]
    theirs = list(Path(sysconfig.get_paths()["purelib"]).rglob("*.md"))
    descriptions = Path(sysconfig.get_paths()["purelib"]).glob("*.dist-info/METADATA")
    marked = [path for path in descriptions if b"Content-Type: text/markdown" in path.read_bytes()]
    return sorted({*ours, *theirs, *marked})


def test_real_markdown_files_come_back_byte_for_byte_and_take_an_amendment() -> None:
    files = _markdown_files()
    assert len(files) >= 20, "the environment holds Markdown files and package descriptions"
    grown = 0
    for path in files:
        data = path.read_bytes()
        book = parse(data)
        assert bytes(book) == data, path
        _stands_where_it_says(book)
        if not path.is_relative_to(Path(sysconfig.get_paths()["purelib"])):
            continue
        assert book.heuristics == (), f"{path}: prose taken for a heuristic"
        changes = edits(book, [add(book, "A rule", WHY)])
        after = splice(book.text, changes)
        assert [heuristic.text for heuristic in parse(after).heuristics] == ["A rule"], path
        assert splice(after, inverse(changes)).encode("utf-8", "surrogateescape") == data
        grown += 1
    assert grown >= 20


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_new_lines_end_as_the_lines_before_them(end: str) -> None:
    text = end.join(["## Global", "", "- H-1 [0.5] a", "- H-2 [0.5] b", "", "prose", ""])
    book = parse(text)
    after = apply(book, [add(book, "c", WHY), retire(book, "H-1", "lost", WHY)])
    assert after == end.join(
        [
            "## Global",
            "",
            "- H-2 [0.5] b",
            "- H-3 [0.35] c {status: candidate}",
            "",
            "prose",
            "",
            "## Retired",
            "",
            "- H-1 [0.5] a {status: retired; reason: lost}",
            "",
        ]
    )

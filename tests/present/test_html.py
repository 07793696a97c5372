"""HTML: one self-contained file in which strangers' text is only ever text, with the same figures as everywhere else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from retro.narrate.plain import position_words, words
from retro.present.commands import commands_as_spans
from retro.present.formats import page_of, render
from retro.present.markdown import escaped
from retro.present.page.blocks import Bars, Days, FigureList, Notes, Page, Prose, Quote, Table, Verdicts
from retro.report import PositionRetrospective, RetrospectiveReport
from retro.safe import clean, plain_text
from tests.worlds.injections import MARKUP
from tests.worlds.samples import reports

VOID = {"meta", "br", "hr", "img", "link", "input"}
DOCUMENTS: dict[str, RetrospectiveReport | PositionRetrospective] = {
    "week": words(reports.weekly()),
    "empty day": words(reports.empty_daily()),
    "position": position_words(reports.position()),
    "open position": reports.spot(open=True, exit_at=None, exit_price=None, flags=["open"]),
    "hostile": reports.week_quoting("<b>bold</b> & 'q' \"d\""),
}


class _Reader(HTMLParser):
    """Checks nesting; keeps tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def read(name: str) -> _Reader:
    reader = _Reader()
    reader.feed(render(DOCUMENTS[name], "html"))
    assert not reader.open
    return reader


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_file_needs_nothing_from_anywhere(name: str) -> None:
    page = read(name)
    assert not set(page.tags) & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "a",
        "form",
        "base",
        "image",
        "use",
    }
    names = {attribute for attribute, _ in page.attributes}
    assert not {attribute for attribute in names if attribute.startswith("on")}
    assert not names & {"src", "href", "xlink:href", "action", "srcset"}
    source = render(DOCUMENTS[name], "html")
    assert "default-src 'none'" in source
    assert set(re.findall(r"https?://[^\"'<\s]+", source)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in source
    assert "url(" not in source.replace("url(#path", "")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_same_document_gives_the_same_bytes(name: str) -> None:
    assert render(DOCUMENTS[name], "html") == render(DOCUMENTS[name], "html")


@pytest.mark.parametrize("attack", MARKUP)
def test_a_page_keeps_its_structure_whatever_the_agent_wrote(attack: str) -> None:
    def structure(text: str) -> list[str]:
        tags = []
        for document in (reports.week_quoting(text), reports.week_quoting(text).positions[0]):
            reader = _Reader()
            reader.feed(render(document, "html"))
            assert not reader.open
            tags += reader.tags
        return tags

    assert structure(attack) == structure("word")


def test_pictures_and_tables_say_what_they_are() -> None:
    page = read("week")
    assert page.tags.count("svg") == 11  # waterfall, forest, three of odds, equity, calendar and four paths
    assert page.tags.count("title") == 1 + 11
    assert page.tags.count("table") == page.tags.count("thead")
    assert ("lang", "en") in page.attributes
    assert ("viewport", "width=device-width, initial-scale=1") in zip(
        [v for k, v in page.attributes if k == "name"],
        [v for k, v in page.attributes if k == "content"],
        strict=False,
    )
    idents = [value for key, value in page.attributes if key == "id"]
    assert len(idents) == len(set(idents))


def test_light_and_dark_have_the_same_colours_to_choose_from() -> None:
    source = render(DOCUMENTS["week"], "html")
    light, dark = re.findall(r":root \{([^}]*--ink[^}]*)\}", source)
    used = set(re.findall(r"var\((--\w+)\)", source))
    for scheme in (light, dark):
        assert used <= set(re.findall(r"(--\w+):", scheme))


def strings(page: Page) -> list[str]:
    """Every string a page shows, but for lists that a terminal cuts."""
    head = page.headline
    texts = [head.title, head.subtitle, head.result, head.why, *head.alarms, *page.foot]
    facts = [*head.facts]
    for section in page.sections:
        texts += [section.title, section.aside]
        for block in section.blocks:
            match block:
                case FigureList():
                    facts += block.rows
                case Table():
                    texts += [cell.text for row in block.rows for cell in row.cells] + [block.note]
                case Prose():
                    texts += [block.label, block.text]
                case Quote():
                    texts += [block.text, block.by]
                case Notes():
                    texts += block.items
                case Bars():
                    texts += [
                        text for row in (*block.rows, block.total) for text in (row.label, row.amount_text)
                    ]
                case Verdicts():
                    texts += [
                        t
                        for row in block.rows
                        for t in (row.name, row.verdict, row.doubt, row.average_text, row.text, *row.figures)
                    ]
                case Days():
                    texts += [
                        text for row in block.rows for text in (row.date, row.pnl_text, row.equity_text)
                    ]
    return [
        text for text in [*texts, *(t for fact in facts for t in (fact.label, fact.value, fact.note))] if text
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_format_tells_the_same(name: str) -> None:
    """Whatever stands on a page stands in its HTML and its Markdown, where commands are code, and its figures in the text."""
    page = page_of(clean(DOCUMENTS[name]))
    web = " ".join(read(name).text.split())
    source = render(DOCUMENTS[name], "md")
    plain = "".join(render(DOCUMENTS[name], "text").split())
    for text in strings(page):
        assert re.sub(r"`(retro [^`]+)`", r"\1", " ".join(text.split())) in web
        assert commands_as_spans(escaped(text)) in source or escaped(text) in source
        for figure in re.findall(r"[-+]?\d[\d.,]*\d", text):
            assert figure in plain


@pytest.mark.parametrize("attack", MARKUP)
def test_json_holds_the_words_without_control_and_bidi_characters(attack: str) -> None:
    document = json.loads(render(reports.week_quoting(attack), "json"))
    assert document["what_worked"] == plain_text(attack)
    assert document["positions"][0]["entry_reasoning"] == plain_text(attack)
    assert document["heuristic_performance"][0]["heuristic_id"] == plain_text(attack)
    assert document["pnl"]["total"] == reports.weekly().pnl.total
    assert RetrospectiveReport.model_validate(document)

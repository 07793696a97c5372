"""The two parts of a mail: complete each, the same figures in both, small, and nothing remote."""

from __future__ import annotations

import re

import pytest

from retro.deliver.channel import Message
from retro.present.charts.raster import png_of
from retro.present.charts.svg import LIGHT, label
from tests.worlds.mails import Life, RenderedMail, eml, lived, message, messages, parsed, parts


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return lived(tmp_path_factory.mktemp("life"))


@pytest.fixture(scope="module")
def weekly(life: Life) -> Message:
    return message(life.weekly, subject_line="Week 10")


@pytest.fixture(scope="module")
def every(life: Life) -> dict[str, Message]:
    return messages(life)


@pytest.fixture(scope="module")
def mails(every: dict[str, Message]) -> dict[str, bytes]:
    """One mail of every sort."""
    return {name: eml(review) for name, review in every.items()}


def test_a_mail_is_text_or_html_with_its_pictures(mails: dict[str, bytes]) -> None:
    for data in mails.values():
        mail = parsed(data)
        assert mail.get_content_type() == "multipart/alternative"
        plain, rich = mail.iter_parts()
        assert plain.get_content_type() == "text/plain"
        assert rich.get_content_type() == "multipart/related"
        html, *pictures = rich.iter_parts()
        assert html.get_content_type() == "text/html"
        cids = {picture["Content-ID"].strip("<>") for picture in pictures}
        named = set(re.findall(r'src="cid:([^"]+)"', html.get_content()))
        assert cids == named
        assert len(cids) == len(pictures) >= 2
        assert all(picture.get_content().startswith(b"\x89PNG\r\n") for picture in pictures)
        assert all(picture.get_content_disposition() == "inline" for picture in pictures)


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d(?:[\d,]*\d)?(?:\.\d+)?", text))


def test_every_number_of_the_html_stands_in_the_text_as_well(mails: dict[str, bytes]) -> None:
    for name, data in mails.items():
        plain, html = parts(data)
        missing = numbers(RenderedMail(html).text) - numbers(plain)
        assert missing == set(), name
        assert len(numbers(plain)) > 20


def test_both_parts_answer_in_the_owners_order(weekly: Message) -> None:
    """Up or down and why; acting against nothing; best and worst; decisions; proposals; then the tables."""
    order = (
        "Down", "Trading losses", "Did acting beat doing nothing?", "Best position", "Worst position",
        "Which heuristics need a decision?", "on weak evidence", "What is proposed?", "where the money came from",
    )  # fmt: skip
    plain, html = parts(eml(weekly))
    for text in (plain, RenderedMail(html).text):
        lowered = text.lower()
        lowered = lowered[lowered.index("weekly review") :]
        places = [lowered.index(word.lower()) for word in order]
        assert places == sorted(places)


def test_the_text_part_is_complete_and_plain(mails: dict[str, bytes]) -> None:
    plain, _ = parts(mails["weekly"])
    assert not re.search(r"</?[a-z]+|&[a-z]+;", plain)
    assert max(map(len, plain.splitlines())) <= 78
    assert plain.startswith("Hello Ada,")
    for title in ("WHERE THE MONEY CAME FROM", "HEURISTIC AUDIT", "POSITIONS", "DAY BY DAY", "DATA QUALITY"):
        assert title in plain


def test_the_html_is_one_table_of_600_pixels_and_nothing_remote(mails: dict[str, bytes]) -> None:
    for data in mails.values():
        _, html = parts(data)
        rendered = RenderedMail(html)
        attributes = dict(rendered.tags)
        assert attributes["html"]["lang"] == "en"
        metas = [attrs for tag, attrs in rendered.tags if tag == "meta"]
        assert {"light dark"} == {
            m["content"] for m in metas if m.get("name") in {"color-scheme", "supported-color-schemes"}
        }
        assert "@media (prefers-color-scheme: dark)" in html
        assert "max-width:600px" in html.replace(" ", "")
        assert not re.search(
            r"https?:|//[a-z]|url\(|@import|<script|<link|<a\b|javascript:", html, re.IGNORECASE
        )
        for tag, attrs in rendered.tags:
            assert not any(name.startswith("on") for name in attrs)
            if tag == "img":
                assert attrs["alt"]
            if tag == "table" and attrs.get("role") != "presentation":
                assert "data" in (attrs["class"] or ""), "a table is layout, or data with heads"
        assert len(html.encode()) < 100_000


def test_a_table_of_data_has_heads_for_those_who_do_not_see_it(weekly: Message) -> None:
    _, html = parts(eml(weekly))
    for table in re.findall(r'<table class="data".*?</table>', html, re.DOTALL):
        assert 'scope="col"' in table
        assert 'scope="row"' in table


def test_pictures_are_drawn_with_the_font_that_ships_here() -> None:
    """No font of the system is used, so text that disappears would mean that ours was not found."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40" font-family="Inter">{}</svg>'
    empty = png_of(svg.format(""), LIGHT)
    for text in ("Trading losses -17.52", "Ωμέγα", "Привет", "▲ ▼ → ≤"):
        picture = png_of(svg.format(label(4, 20, text, "#000")), LIGHT)
        assert len(picture) > 2 * len(empty)
        assert picture == png_of(svg.format(label(4, 20, text, "#000")), LIGHT)


def test_a_review_of_a_giant_is_still_a_small_mail(life: Life) -> None:
    """Least important sections go first; the text part keeps them."""
    report = life.weekly
    rows = [
        p.model_copy(update={"position_id": f"{n}-" + "x" * 900, "instrument": "y" * 900})
        for n in range(80)
        for p in report.positions
    ]
    audit = [
        row.model_copy(update={"heuristic_id": f"H-{n}" + "z" * 500, "heuristic_text": "t" * 3000})
        for n in range(60)
        for row in report.heuristic_performance
    ]
    buckets = [b.model_copy(update={"key": f"{n}" + "k" * 700, "n": 9, "ranked": True}) for n in range(40) for b in report.breakdowns.by_side]  # fmt: skip
    groups = report.breakdowns.model_copy(
        update={name: buckets for name in type(report.breakdowns).model_fields if name.startswith("by_")}
    )
    giant = report.model_copy(
        update={"positions": rows, "heuristic_performance": audit, "breakdowns": groups}
    )
    plain, html = parts(eml(message(giant)))
    assert 20_000 < len(html.encode()) < 100_000
    assert "Left out of this part to keep it short: breakdowns" in RenderedMail(html).text
    assert "BREAKDOWNS" in plain
    assert "Did acting beat doing nothing?" in html


def test_an_agent_that_did_nothing_gets_a_mail_as_well(life: Life) -> None:
    """No position, no citation, no proposal: every answer still stands there, without a figure that is not."""
    report = life.weekly
    idle = report.model_copy(
        update={
            "positions": [],
            "heuristic_performance": [],
            "actions_taken": [],
            "equity": [],
            "pnl": type(report.pnl)(total=0.0),
            "effectiveness": report.effectiveness.model_copy(
                update={"closed_positions": 0, "sum_vs_inaction": None, "inaction_superiority_rate": None}
            ),
        }
    )
    plain, html = parts(eml(message(idle)))
    for text in (plain, RenderedMail(html).text):
        assert "Flat" in text
        assert "no position was closed" in text
        assert "there was no position in the period" in text
        assert "no decision cited one" in text
        assert "nan" not in text.lower().replace("finance", "")
        assert "None," in text or "None" in text

"""The two parts of a mail, each written from the data: text complete by itself, and HTML in tables with inlined style.

Every string passes through the template engine's escaping; nothing in the HTML is remote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retro.figures import DASH, count, money_of, percent
from retro.present.charts.raster import Picture, picture_of
from retro.present.environment import environment_of
from retro.present.page.blocks import Cell, Column, Headline, Page, Section, Table, TableRow, tone_of
from retro.present.text.page import text_of
from retro.present.widths import wrap
from retro.safe import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Environment

    from retro.deliver.briefing import Briefing
    from retro.present.page.answers import HeadlineAnswer
    from retro.present.page.blocks import Block, PathChart, Tone

__all__ = ["Parts", "parts_of"]

_TEMPLATES: Final = Path(__file__).parent / "templates"
_WIDTH: Final = 78
_LARGEST: Final = 96_000  # bytes of HTML: some programs cut a mail at 102,000
_FIRST_TO_GO: Final = ("breakdowns", "predictions", "costs", "risk", "effectiveness", "positions", "days")

_UNIT: Final = re.compile(r"(?<=\d) (?=(?:%|s|min|h|d)(?:\W|$))|(?<=%) (?=[-+]\d)")  # what stays on one line


@dataclass(frozen=True, slots=True)
class Parts:
    """Text, HTML and the pictures its `cid:` addresses name, by content id."""

    text: str
    html: str
    pictures: Mapping[str, tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A picture as the template needs it."""

    light: str
    dark: str
    alt: str


def parts_of(
    page: Briefing, subject: str, owner: str, foot: tuple[str, ...], cid: Callable[[str], str]
) -> Parts:
    """Both parts of a mail; `cid` makes a content id of a picture's name."""
    lead = tuple(_lead(page))
    pictures = _pictures(page)
    html, section_keys = _html(page, lead, subject, owner, foot, pictures, cid)
    attached: dict[str, tuple[str, bytes]] = {}
    for key, picture in pictures.items():
        if key[0] in section_keys:
            attached[cid(f"{picture.name}-light")] = (f"{picture.name}.png", picture.light)
            attached[cid(f"{picture.name}-dark")] = (f"{picture.name}-dark.png", picture.dark)
    return Parts(_text(page, lead, owner, foot), html, attached)


def _pictures(page: Briefing) -> dict[tuple[str, int], Picture]:
    """Every block that has a drawing, drawn: by section and place."""
    pictures = {}
    for section in page.sections:
        for i, block in enumerate(section.blocks):
            picture = picture_of(block, f"{section.key}-{i}")
            if picture is not None:
                pictures[section.key, i] = picture
    return pictures


def _lead(page: Briefing) -> list[Section]:
    """What comes before everything else: what a revision changed, and the older reviews of a digest."""
    sections = []
    if page.changed:
        rows = tuple(TableRow((Cell(c.label), Cell(c.before), Cell(c.after, "strong"))) for c in page.changed)
        heads = (Column("Figure", right=False, cut=12), Column("Before"), Column("Now"))
        table = Table(heads, rows, omitted=page.more_changed)
        sections.append(Section("changed", f"What changed in revision {page.revision}", (table,)))
    if page.older:
        lines = tuple(
            TableRow(
                (
                    Cell(o.name),
                    Cell(o.days),
                    Cell(o.result, o.tone),
                    Cell(o.against_nothing),
                    Cell(o.decisions),
                )
            )
            for o in page.older
        )
        columns = (
            Column("Review", right=False, cut=15),
            Column("Of", right=False, cut=10),
            Column("Result"),
            Column("vs inaction"),
            Column("Decisions", spare=1),
        )
        title = f"{count(len(page.older) + page.more_older, 'older review')}, caught up with"
        note = f"`retro show {page.older[-1].review_id}` prints the newest of them."
        sections.append(Section("older", title, (Table(columns, lines, omitted=page.more_older, note=note),)))
    return sections


def _text(page: Briefing, lead: tuple[Section, ...], owner: str, foot: tuple[str, ...]) -> str:
    """The text part: questions and answers that read in any typeface, then tables 78 columns wide."""
    headline = Headline(
        page.kicker,
        page.title,
        page.subtitle,
        page.result,
        page.why,
        page.tone,
        (),
        (*page.alarms, *page.notices),
    )
    sections = tuple(
        replace(section, blocks=tuple(_whole(block) for block in section.blocks))
        for section in (*lead, *page.sections)
    )
    head = text_of(Page(headline, (), ()), width=_WIDTH)
    tables = text_of(Page(headline, sections, ()), width=_WIDTH).removeprefix(head)
    return (
        _environment(escape=False)
        .get_template("mail.txt.j2")
        .render(
            head=head.rstrip("\n") + "\n",
            sections=tables.strip("\n") + "\n",
            answers=page.answers,
            owner=owner,
            revision=page.revision,
            changed=page.changed,
            foot=foot,
        )
    )


def _answer_lines(answer: HeadlineAnswer) -> list[str]:
    """An answer in lines of text."""
    parts = [f"{answer.answer}{', ' if answer.answer and answer.note else ''}{answer.note}"]
    if answer.key == "decisions" and answer.lines:
        parts = [answer.note]
    for line in answer.lines:
        quote = (
            f"\N{LEFT DOUBLE QUOTATION MARK}{line.text}\N{RIGHT DOUBLE QUOTATION MARK}" if line.text else ""
        )
        about = ", ".join(part for part in (line.figure, line.note) if part)
        fragments = [part for part in (quote, about) if part]
        parts += [": ".join((f"{line.name} {line.verdict}", *fragments[:1])), *fragments[1:]]
    if answer.omitted:
        parts.append(f"and {answer.omitted:,} more")
    return [line for part in parts if part for line in wrap(part, _WIDTH - 2)]


def _whole(block: Block) -> Block:
    """A table none of whose columns goes where the page is narrow: both parts say the same."""
    if not isinstance(block, Table):
        return block
    return replace(block, columns=tuple(replace(column, spare=0) for column in block.columns))


def _html(
    page: Briefing,
    lead: tuple[Section, ...],
    subject: str,
    owner: str,
    foot: tuple[str, ...],
    pictures: Mapping[tuple[str, int], Picture],
    cid: Callable[[str], str],
) -> tuple[str, set[str]]:
    """The HTML part and the keys of the sections in it; the least important go until it is small enough."""
    drawn = {
        key: _Drawn(cid(f"{picture.name}-light"), cid(f"{picture.name}-dark"), picture.alt)
        for key, picture in pictures.items()
    }
    sections = list(page.sections)
    left_out: list[str] = []
    while True:
        html = _inlined(
            _environment(escape=True)
            .get_template("mail.html.j2")
            .render(
                page=page,
                lead=lead,
                sections=sections,
                left_out=left_out,
                subject=subject,
                owner_line=f"for {owner}" if owner else page.agent,
                preheader=_preheader(page),
                foot=foot,
                drawn=drawn,
            )
        )
        if len(html.encode()) <= _LARGEST or not sections:
            return html, {section.key for section in sections}
        going = next((s for key in _FIRST_TO_GO for s in sections if s.key == key), sections[-1])
        sections.remove(going)
        left_out.append(going.title)


def _preheader(page: Briefing) -> str:
    """What an inbox shows beside the subject: the reasons, not the result again."""
    wanted = next((answer.lines for answer in page.answers if answer.key == "decisions"), ())
    named = ", ".join(f"{line.name} {line.verdict}" for line in wanted)
    return shorten(f"{page.why} {named}".rstrip(), 180)


def _inlined(html: str) -> str:
    import css_inline  # noqa: PLC0415  loaded when a mail is written

    inliner = css_inline.CSSInliner(keep_at_rules=True, minify_css=True, load_remote_stylesheets=False)
    # its rules come first in the head, and a browser looks for the charset in the first kilobyte only
    return str(inliner.inline(html)).replace("<head>", '<head><meta charset="utf-8">', 1)


@cache
def _environment(*, escape: bool) -> Environment:
    styles = {"style": "mail.css", "media": "mail_media.css"}
    return environment_of(_TEMPLATES, _FILTERS, styles, escape=escape)


def _ink(tone: Tone) -> str:
    """The class an amount is written in; plain ink needs none."""
    return {"plain": "", "strong": "b"}.get(tone, tone)


def _named(block: PathChart) -> str:
    """A path's result."""
    money = money_of(block.unit, [block.position.final_pnl])
    return money.change(block.position.final_pnl)


_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "short": shorten,
    "ink": _ink,
    "tone": tone_of,
    "arrow": lambda tone: {"up": "▲", "down": "▼"}.get(tone, ""),
    "percent": lambda share: DASH if share is None else percent(share, 1),
    "named": _named,
    "answer_lines": _answer_lines,
    "wrapped": wrap,
    "tied": lambda text: _UNIT.sub("\N{NO-BREAK SPACE}", text),
}

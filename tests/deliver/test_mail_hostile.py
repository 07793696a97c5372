"""What agents write is shown and does nothing: a corpus of texts in every place a mail takes from them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes, policy
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from retro.config import Config
from retro.deliver.briefing import harmless, sanitise
from retro.deliver.mail.channel import MailChannel
from retro.deliver.notify import summary
from retro.report import PositionRetrospective, RetrospectiveReport
from tests.worlds.mails import Life, lived, message

CORPUS = {
    "script": "<script>alert(1)</script>",
    "image": '<img src="https://evil.example/p.gif" onerror="alert(1)">',
    "link": '<a href="https://evil.example">approve</a> https://evil.example www.evil.example mailto:a@evil.example',
    "end of attribute": '"><svg onload=alert(1)><x y="\'',
    "end of cell": "</td></tr></table><h1>Up 9,999 USDC</h1>",
    "style": "</style><style>*{display:none}</style>",
    "comment": "<!--[if mso]><p>hi<![endif]--> --> <!-- ",
    "entity": "&lt;b&gt; &#60;b&#62; &amp;",
    "template": "{{ config }} {% raw %} {# x #} ${7*7}",
    "markdown": "![x](https://evil.example/x.png) [y](javascript:alert(1)) # head\n| a | b |\n`code`",
    "lines": "one\r\nBcc: evil@example.org\r\n\r\nbody\n.\n",
    "bidi": "safe \u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "invisible": "a\u200bb\u200d\u2060c\ufeff \U000e0041\U000e0042 \u00ad",
    "control": "a\x00b\x1b[31mred\x07\x08\x7f\x9b",
    "separators": "a\u2028b\u2029c\u0085d\ve\ff",
    "surrogate": "a\ud800b",
    "mention": "@everyone <!here> <@U123> #1",
    "combining": "Z" + "\u0310\u0337\u0489" * 40,
    "cid": "cid:attribution-0-light.review.sample.2026-W10.r1@example.org data:text/html,<b>",
    "long word": "W" * 4000,
    "emoji": "📈🚀 上がった «цена»",
}
AGENTS_OWN = frozenset(
    {"position_id", "instrument", "strategy", "venue", "entry_reasoning", "exit_reasoning", "exit_reason"}
    | {"heuristic_id", "heuristic_text", "key", "what_went_wrong", "lesson", "what_worked", "what_failed"}
    | {"hindsight", "action", "category", "item", "unit", "reason", "alarm_text", "model", "why", "id"}
)
CONFIG = Config.model_validate({"mail": {"host": "x", "sender": "a@x.test", "recipients": ["b@x.test"]}})
ALLOWED = frozenset(
    {"html", "head", "meta", "title", "style", "body", "div", "table", "thead", "tbody", "tr", "td", "th"}
    | {"p", "span", "h1", "h2", "h3", "br", "img", "code"}
)


def poisoned(value: Any, text: str) -> Any:
    """The document with the text in every place an agent fills."""
    if isinstance(value, list):
        return [text if isinstance(item, str) else poisoned(item, text) for item in value]
    if isinstance(value, dict):
        return {
            key: text if isinstance(item, str) and key in AGENTS_OWN else poisoned(item, text)
            for key, item in value.items()
        }
    return value


def hostile(
    document: RetrospectiveReport | PositionRetrospective, text: str
) -> RetrospectiveReport | PositionRetrospective:
    fields = poisoned(document.model_dump(mode="json"), text)
    for position in fields.get("positions", [fields]):
        position["path"] = []  # charts are drawn from figures; their few words are escaped by whoever draws
    if isinstance(document, RetrospectiveReport):
        proposal = {
            "op": text,
            "heuristic": text,
            "evidence": text,
            "old": text,
            "new": text,
            "falsified_by": text,
        }
        fields |= {
            "id": document.id,
            "playbook_proposals": [proposal],
            "base_currency": document.base_currency,
        }
        fields["data_quality"] |= {"warnings": [text] * 3, "missing_marks": [text]}
        fields["costs"] |= {"by_tier": {text: 1.0}}
        fields["prediction_accuracy"] |= {"by_category": {text: {"total": 3, "hits": 1, "hit_rate": 0.3}}}
    return type(document).model_validate(fields)


class Reader(HTMLParser):
    """Tags, attributes and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return lived(tmp_path_factory.mktemp("life"))


@dataclass(frozen=True)
class HostileMail:
    """A hostile message as a mail and as a notification."""

    data: bytes
    plain: str
    html: str
    body: str


@pytest.fixture(scope="module", params=["daily", "position"])
def mail_quoting(request: pytest.FixtureRequest, life: Life) -> Callable[[str], HostileMail]:
    """The mail of a review in which a text of the corpus stands everywhere, made once."""
    document = getattr(life, request.param)

    @cache
    def mail_of(name: str) -> HostileMail:
        text = CORPUS[name]
        whole = hostile(document, text)
        hostile_message = message(
            whole, agent=text, review_id=text, period_key=text, subject_line=text, revision=2,
            previous=document, digest_of=(whole,),
        )  # fmt: skip
        data, _ = MailChannel(CONFIG).preview(hostile_message)
        mail = message_from_bytes(data, policy=policy.default)
        plain, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
        return HostileMail(data, plain, html, summary(hostile_message)[1])

    return mail_of


def is_plain(text: str) -> bool:
    return not [
        c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} and c != "\n"
    ]


@pytest.mark.parametrize("name", CORPUS)
def test_a_hostile_text_is_shown_and_does_nothing(
    name: str, mail_quoting: Callable[[str], HostileMail]
) -> None:
    mail = mail_quoting(name)
    data, plain, html = mail.data, mail.plain, mail.html
    reader = Reader(html)
    for tag, attributes in reader.tags:
        assert tag in ALLOWED
        for key, value in attributes:
            assert not key.startswith("on")
            assert key not in {"href", "background", "srcset", "action"}
            assert key != "src" or re.fullmatch(r"cid:[\w+.-]+@x\.test", value or "")
            assert key != "style" or not re.search(r"url|expression|@|<|&", value or "")
    heads = [dict(attributes) for tag, attributes in reader.tags if tag in {"h1", "style", "title", "body"}]
    assert len(heads) == 4, "one heading, one style, one title, one body"
    assert is_plain(html.replace("\r\n", "\n"))
    assert is_plain(plain.replace("\r\n", "\n"))
    assert max(map(len, plain.splitlines())) <= 80
    assert len(html.encode()) < 100_000
    header_names = [
        line.split(b":")[0] for line in data.partition(b"\r\n\r\n")[0].split(b"\r\n") if line[:1].isalpha()
    ]
    assert b"Bcc" not in header_names
    assert len(header_names) == len(set(header_names))


@pytest.mark.parametrize("name", ["script", "entity", "template", "markdown", "emoji", "end of attribute"])
def test_a_hostile_text_reads_as_it_was_written(
    name: str, mail_quoting: Callable[[str], HostileMail]
) -> None:
    """Escaping loses nothing: in both parts a person reads the agent's own characters, on one line."""
    mail = mail_quoting(name)
    expected = " ".join(sanitise(CORPUS[name]).split())
    visible = " ".join(" ".join(Reader(mail.html).texts).split())
    assert expected[:40] in visible
    assert expected[:20] in " ".join(mail.plain.split())


@pytest.mark.parametrize("name", CORPUS)
def test_no_text_becomes_an_address_in_any_part(
    name: str, mail_quoting: Callable[[str], HostileMail]
) -> None:
    """Mail programs turn addresses into links by themselves; those of an agent are broken up."""
    mail = mail_quoting(name)
    for text in (mail.plain, " ".join(Reader(mail.html).texts), mail.body):
        assert not re.search(r"[A-Za-z]://|www\.\w|mailto:\w", text, re.IGNORECASE)


@pytest.mark.parametrize("name", CORPUS)
def test_a_hostile_text_moves_no_figure(name: str, life: Life) -> None:
    """The five answers hold the same figures with and without it."""

    def figures(document: RetrospectiveReport | PositionRetrospective) -> list[str]:
        _, body = summary(message(document, review_id="r"))
        answers = [line.partition(",")[0] for line in body.splitlines()[1:4]]
        return [re.sub(r"[^\d.+-]", "", line) for line in answers]

    assert figures(hostile(life.daily, CORPUS[name])) == figures(life.daily)


def test_what_is_harmless_already_stays_the_same_document(life: Life) -> None:
    assert harmless(life.weekly) == life.weekly
    assert harmless(life.position) == life.position


def test_a_text_without_end_is_cut() -> None:
    assert sanitise("x" * 5000, 100) == "x" * 99 + "…"
    assert sanitise("short", 100) == "short"

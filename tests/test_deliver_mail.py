"""A review as a mail: its headers, its two parts, its bytes, and its way through a real server."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mails import Life, lived, message
from smtp_server import Mailbox, serve

from retro.config import Config
from retro.deliver.channel import Message, Refused, Retry, Sent
from retro.deliver.mail import Mail, mail_channel
from retro.deliver.mail_message import address_of, message_id
from retro.deliver.mail_pictures import png_of
from retro.deliver.svg import LIGHT, label
from retro.secret import Secret

PASSWORD = "correct horse battery"


def configured(**mail) -> Config:
    told = {"host": "smtp.example.org", "sender": "retro@example.org", "recipients": ["ada@example.org"]}
    return Config.model_validate({"owner": {"name": "Ada"}, "mail": told | mail})


def eml(message_: Message, **mail) -> bytes:
    return Mail(configured(**mail)).preview(message_)[0]


def parsed(data: bytes) -> EmailMessage:
    return message_from_bytes(data, policy=policy.default)


def parts(data: bytes) -> tuple[str, str]:
    """The text part and the HTML part."""
    mail = parsed(data)
    return mail.get_body(("plain",)).get_content(), mail.get_body(("html",)).get_content()


class Seen(HTMLParser):
    """What a mail program reads: tags with attributes, and the text a person sees, picture texts included."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.hidden = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.hidden += tag in {"style", "title"}
        self.texts += [value for name, value in attrs if name == "alt" and value]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"style", "title"}

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return lived(tmp_path_factory.mktemp("life"))


@pytest.fixture(scope="module")
def weekly(life: Life) -> Message:
    return message(life.weekly, subject_line="Week 10")


@pytest.fixture(scope="module")
def every(life: Life) -> dict[str, Message]:
    """One message of every sort."""
    report = life.weekly
    before = report.model_copy(update={"confidence": 0.01, "pnl": life.week_before.pnl})
    return {
        "weekly": message(report),
        "daily": message(life.daily),
        "epoch": message(life.epoch),
        "death": message(life.epoch, kind="death", review_id="sample.death", period_key=""),
        "loss": message(life.position, kind="loss", review_id="sample.loss.f-1", period_key="f-1"),
        "position": message(life.position),
        "revision": message(report, revision=2, previous=before),
        "digest": message(report, digest_of=(life.week_before, life.daily, life.position)),
    }


@pytest.fixture(scope="module")
def written(every: dict[str, Message]) -> dict[str, bytes]:
    """The same messages as mails."""
    return {name: eml(told) for name, told in every.items()}


# Headers


def test_the_headers_of_a_weekly_mail(weekly: Message) -> None:
    mail = parsed(eml(weekly))
    assert {name: str(value) for name, value in mail.items() if name != "Content-Type"} == {
        "From": "Slow Mirror <retro@example.org>",
        "To": "ada@example.org",
        "Subject": "Week 10",
        "Date": "Mon, 09 Mar 2026 01:00:00 +0000",
        "Message-ID": "<review.sample.2026-W10.r1@example.org>",
        "In-Reply-To": "<review.sample@example.org>",
        "References": "<review.sample@example.org>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "List-ID": "Reviews of sample <sample.reviews.example.org>",
        "List-Unsubscribe": "<mailto:retro@example.org?subject=unsubscribe%20sample>",
        "Content-Language": "en",
        "MIME-Version": "1.0",
    }


def test_nobody_is_asked_to_unsubscribe_where_no_sender_is_configured(weekly: Message) -> None:
    mail = parsed(eml(weekly, sender=None, username="me@example.net"))
    assert mail["List-Unsubscribe"] is None
    assert mail["From"] == "Slow Mirror <me@example.net>"
    assert mail["Message-ID"] == "<review.sample.2026-W10.r1@example.net>"


def test_a_correction_answers_the_mail_it_corrects_in_the_agents_thread(written: dict[str, bytes]) -> None:
    first, second = parsed(written["weekly"]), parsed(written["revision"])
    assert second["In-Reply-To"] == first["Message-ID"]
    assert second["References"].split() == ["<review.sample@example.org>", first["Message-ID"]]
    assert parsed(written["daily"])["References"] == first["References"], "one thread for each agent"


def test_every_review_has_a_message_id_of_its_own(every: dict[str, Message]) -> None:
    ids = {name: message_id(told, "x.test") for name, told in every.items()}
    assert ids["daily"] == f"<review.sample.daily.{every['daily'].period_key}.r1@x.test>"
    assert ids["death"] == "<review.sample.death.r1@x.test>"
    assert ids["loss"] == "<review.sample.loss.f-1.r1@x.test>"
    assert ids["digest"] == ids["weekly"], "a digest is the newest review's mail"
    assert len(set(ids.values())) == len(ids) - 1


NAMES = st.text(max_size=90) | st.from_regex(
    r"[a-b]?(\.?(position|daily|2026-W10|2026-03-02|r1|x)){1,3}", fullmatch=True
)


@settings(deadline=None, max_examples=200)
@given(NAMES, st.sampled_from(["weekly", "daily", "position"]), NAMES)
def test_a_message_id_is_valid_whatever_an_agent_is_called(agent: str, kind: str, key: str) -> None:
    found = message_id(message_of(agent, kind, key), "x.test")
    assert re.fullmatch(r"<[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@x\.test>", found)
    assert len(found) < 300


WEEKS = st.sampled_from(["2026-W10", "2026-W11"])


@settings(deadline=None, max_examples=200)
@given(NAMES, WEEKS, NAMES, st.sampled_from(["position", "loss"]), NAMES)
def test_no_two_reviews_share_a_message_id(agent: str, week: str, other: str, kind: str, key: str) -> None:
    """Not even when an agent is called like another's position."""
    told = {
        (agent, "weekly", week),
        (other, "weekly", week),
        (other, kind, key or "x"),
        (agent, kind, key or "x"),
    }
    assert len({message_id(message_of(*one), "x.test") for one in told}) == len(told)


def message_of(agent: str, kind: str, key: str) -> Message:
    return Message("id", agent, kind, 1, key, "", None, 0, "ada@example.org")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "hostile",
    [
        "a\r\nBcc: evil@example.org",
        "a\nX-Evil: 1\n\nbody",
        "a\rBcc: evil@example.org",
        "a\u2028Bcc: evil@example.org\u0085X-Evil: 1",
        "=?utf-8?q?a=0D=0ABcc:_evil=40example.org?=",
        "=?utf-8?b?YQ0KQmNjOiBldmlsQGV4YW1wbGUub3Jn?=",
        "Ünïcode " * 30 + "\r\nBcc: evil@example.org",
        "\x00\x1b[2J\u202e\u200b",
    ],
)
def test_no_name_or_subject_puts_a_header_of_its_own_into_a_mail(hostile: str, weekly: Message) -> None:
    expected = [name for name, _ in parsed(eml(weekly)).items()]
    data = eml(replace(weekly, agent=hostile, subject_line=hostile, period_key=hostile, review_id=hostile))
    head = data.partition(b"\r\n\r\n")[0]
    assert [name for name, _ in parsed(data).items()] == expected
    assert all(line[:1] in b" \t" or b": " in line for line in head.split(b"\r\n"))
    assert b"\r" not in head.replace(b"\r\n", b"")
    assert max(map(len, head.split(b"\r\n"))) <= 998
    assert head.isascii()
    assert str(parsed(data)["Subject"]).isprintable()


def test_a_long_subject_beyond_ascii_arrives_as_it_was_written(weekly: Message) -> None:
    subject = "Wöchentlich: 上がった 10,87 USDC — «проверка» " * 4
    told = parsed(eml(replace(weekly, subject_line=subject)))["Subject"]
    assert told == subject.strip()
    assert (
        max(map(len, eml(replace(weekly, subject_line=subject)).partition(b"\r\n\r\n")[0].split(b"\r\n")))
        <= 78
    )


def test_addresses_are_ascii_on_the_way() -> None:
    assert str(address_of("Ada <ada@bücher.example>")) == "Ada <ada@xn--bcher-kva.example>"
    assert str(address_of("ada@example.org", "Slow Mirror")) == "Slow Mirror <ada@example.org>"
    for wrong in ("", "ada", "ada@", "ädä@example.org", "a@b\r\nBcc: c@d", "a@b\nc"):
        assert address_of(wrong) is None


# The two parts


def test_a_mail_is_text_or_html_with_its_pictures(written: dict[str, bytes]) -> None:
    for data in written.values():
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


def test_every_number_of_the_html_stands_in_the_text_as_well(written: dict[str, bytes]) -> None:
    for name, data in written.items():
        plain, html = parts(data)
        missing = numbers(Seen(html).text) - numbers(plain)
        assert missing == set(), name
        assert len(numbers(plain)) > 20


def test_both_parts_answer_in_the_owners_order(weekly: Message) -> None:
    """Up or down and why; acting against nothing; best and worst; decisions; proposals; then the tables."""
    order = (
        "Down", "Trading losses", "Did acting beat doing nothing?", "Best position", "Worst position",
        "Which heuristics need a decision?", "H-7", "DEMOTE", "What is proposed?", "where the money came from",
    )  # fmt: skip
    plain, html = parts(eml(weekly))
    for text in (plain, Seen(html).text):
        told = text.lower()
        told = told[told.index("weekly review") :]
        places = [told.index(word.lower()) for word in order]
        assert places == sorted(places)


def test_the_text_part_is_complete_and_plain(written: dict[str, bytes]) -> None:
    plain, _ = parts(written["weekly"])
    assert not re.search(r"</?[a-z]+|&[a-z]+;", plain)
    assert max(map(len, plain.splitlines())) <= 78
    assert plain.startswith("Hello Ada,")
    for title in ("WHERE THE MONEY CAME FROM", "HEURISTIC AUDIT", "POSITIONS", "DAY BY DAY", "DATA QUALITY"):
        assert title in plain


def test_the_html_is_one_table_of_600_pixels_and_nothing_remote(written: dict[str, bytes]) -> None:
    for data in written.values():
        _, html = parts(data)
        seen = Seen(html)
        attributes = dict(seen.tags)
        assert attributes["html"]["lang"] == "en"
        metas = [found for tag, found in seen.tags if tag == "meta"]
        assert {"light dark"} == {
            m["content"] for m in metas if m.get("name") in {"color-scheme", "supported-color-schemes"}
        }
        assert "@media (prefers-color-scheme: dark)" in html
        assert "max-width:600px" in html.replace(" ", "")
        assert not re.search(
            r"https?:|//[a-z]|url\(|@import|<script|<link|<a\b|javascript:", html, re.IGNORECASE
        )
        for tag, found in seen.tags:
            assert not any(name.startswith("on") for name in found)
            if tag == "img":
                assert found["alt"]
            if tag == "table" and found.get("role") != "presentation":
                assert "data" in (found["class"] or ""), "a table is layout, or data with heads"
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
        written = png_of(svg.format(label(4, 20, text, "#000")), LIGHT)
        assert len(written) > 2 * len(empty)
        assert written == png_of(svg.format(label(4, 20, text, "#000")), LIGHT)


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
    assert "Left out of this part to keep it short: breakdowns" in Seen(html).text
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
    for text in (plain, Seen(html).text):
        assert "Flat" in text
        assert "no position was closed" in text
        assert "there was no position in the period" in text
        assert "no decision cited one" in text
        assert "nan" not in text.lower().replace("finance", "")
        assert "None," in text or "None" in text


# The same review, the same bytes


def test_the_same_review_is_the_same_mail_byte_for_byte(
    every: dict[str, Message], written: dict[str, bytes]
) -> None:
    assert {name: eml(told) for name, told in every.items()} == written


def test_the_bytes_do_not_hang_on_the_process(weekly: Message, life: Life) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import hashlib, pickle; from test_deliver_mail import eml;"
        "sys.stdout.write(hashlib.sha256(eml(pickle.loads(sys.stdin.buffer.read()))).hexdigest())"
    )
    import hashlib
    import pickle
    from pathlib import Path

    digests = {
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent)],
            input=pickle.dumps(message(life.daily)),
            env={"PYTHONHASHSEED": seed, "PATH": "/nowhere", "TZ": zone, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert digests == {hashlib.sha256(eml(message(life.daily))).hexdigest()}


def test_recipients_differ_in_nothing_but_their_address(weekly: Message) -> None:
    one = eml(replace(weekly, recipient="one@example.org"))
    two = eml(replace(weekly, recipient="two@example.org"))
    assert one != two
    assert one.replace(b"To: one@", b"To: two@") == two


# Through a real server


def test_each_recipient_gets_a_mail_that_names_nobody_else(weekly: Message) -> None:
    """Fault 16, at the channel: 550 for one of three, the others served."""
    box = Mailbox(to_recipient={"gone@example.org": "550 no such user"}, users={"ada": PASSWORD})
    people = ["Ada <ada@example.org>", "gone@example.org", "bob@example.org"]
    with serve(box) as port:
        config = configured(host="127.0.0.1", port=port, security="none", username="ada", recipients=people)
        mail = Mail(config, Secret("RETRO_SMTP_PASSWORD", PASSWORD))
        assert mail.recipients(config) == tuple(people)
        outcomes = [mail.send(replace(weekly, recipient=to)) for to in mail.recipients(config)]
    assert outcomes == [Sent(), Refused(outcomes[1].reason), Sent()]
    assert "550 no such user" in outcomes[1].reason
    assert [taken.recipients for taken in box.taken] == [["ada@example.org"], ["bob@example.org"]]
    assert [str(taken.mail["To"]) for taken in box.taken] == ["Ada <ada@example.org>", "bob@example.org"]
    assert all(taken.sender == "retro@example.org" for taken in box.taken)


def test_what_is_sent_is_what_the_preview_shows_and_a_second_try_is_the_same(weekly: Message) -> None:
    box = Mailbox(vanishes="after taking")
    with serve(box) as port:
        mail = Mail(configured(host="127.0.0.1", port=port, security="none"))
        assert isinstance(mail.send(weekly), Retry)
        box.vanishes = "never"
        assert mail.send(weekly) == Sent()
    data, html = mail.preview(weekly)
    assert [taken.data for taken in box.taken] == [data, data]
    assert len({taken.mail["Message-ID"] for taken in box.taken}) == 1
    assert "cid:" not in html
    assert html.count("data:image/png;base64,") == html.count("<img ") >= 2


def test_a_mail_can_be_looked_at_before_a_server_is_configured(weekly: Message) -> None:
    data, html = Mail(Config()).preview(replace(weekly, recipient=""))
    assert parsed(data)["To"] == "retro@localhost"
    assert html.startswith("<!DOCTYPE html>")
    assert Mail(Config()).recipients(Config()) == ()
    assert Mail(Config()).send(weekly) == Refused("no [mail] host is configured")


def test_an_address_that_cannot_be_written_is_refused(weekly: Message) -> None:
    mail = Mail(configured(host="127.0.0.1", port=1, security="none"))
    outcome = mail.send(replace(weekly, recipient="a@example.org\r\nBcc: b@example.org"))
    assert isinstance(outcome, Refused)


def test_the_password_is_in_no_mail_no_log_and_no_reason(
    weekly: Message, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    box = Mailbox(users={"ada": "other"})
    with serve(box) as port:
        config = configured(host="127.0.0.1", port=port, security="none", username="ada")
        mail = mail_channel(config, {"RETRO_SMTP_PASSWORD": PASSWORD})
        outcome = mail.send(weekly)
        data, html = mail.preview(weekly)
    assert isinstance(outcome, Retry)
    assert box.logged_in == [("ada", PASSWORD)]
    captured = capfd.readouterr()
    ours = [record.getMessage() for record in caplog.records if record.name != "mail.log"]
    for place in (
        outcome.reason,
        repr(mail.__dict__),
        html,
        data.decode(),
        captured.out,
        captured.err,
        *ours,
    ):
        assert PASSWORD not in place

"""A review as a mail: its headers, its bytes, and its way through a real server."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.config import Config
from retro.deliver.channel import Message, Rejected, Retry, Sent
from retro.deliver.mail.channel import MailChannel, mail_channel
from retro.deliver.mail.message import address_of, message_id
from retro.secret import Secret
from tests.worlds.mails import Life, configured, eml, lived, message, messages, parsed
from tests.worlds.places import ROOT
from tests.worlds.smtp_server import Mailbox, serve

PASSWORD = "correct horse battery"


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


def test_a_mail_is_dated_with_when_it_was_ready_to_go_and_keeps_its_id(weekly: Message) -> None:
    """Sent on the 22nd it stands in the inbox on the 22nd, not in the week it is about; a preview has no other date."""
    at = 1_774_137_600_000_000  # 2026-03-22T00:00:00Z
    sent = parsed(eml(replace(weekly, written_at_us=at)))
    before = parsed(eml(weekly))
    assert sent["Date"] == "Sun, 22 Mar 2026 00:00:00 +0000"
    assert before["Date"] == "Mon, 09 Mar 2026 01:00:00 +0000"
    assert sent["Message-ID"] == before["Message-ID"]


def test_nobody_is_asked_to_unsubscribe_where_no_sender_is_configured(weekly: Message) -> None:
    mail = parsed(eml(weekly, sender=None, username="me@example.net"))
    assert mail["List-Unsubscribe"] is None
    assert mail["From"] == "Slow Mirror <me@example.net>"
    assert mail["Message-ID"] == "<review.sample.2026-W10.r1@example.net>"


def test_a_correction_answers_the_mail_it_corrects_in_the_agents_thread(mails: dict[str, bytes]) -> None:
    first, second = parsed(mails["weekly"]), parsed(mails["revision"])
    assert second["In-Reply-To"] == first["Message-ID"]
    assert second["References"].split() == ["<review.sample@example.org>", first["Message-ID"]]
    assert parsed(mails["daily"])["References"] == first["References"], "one thread for each agent"


def test_every_review_has_a_message_id_of_its_own(every: dict[str, Message]) -> None:
    ids = {name: message_id(review, "x.test") for name, review in every.items()}
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
    header = message_id(message_of(agent, kind, key), "x.test")
    assert re.fullmatch(r"<[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@x\.test>", header)
    assert len(header) < 300


WEEKS = st.sampled_from(["2026-W10", "2026-W11"])


@settings(deadline=None, max_examples=200)
@given(NAMES, WEEKS, NAMES, st.sampled_from(["position", "loss"]), NAMES)
def test_no_two_reviews_share_a_message_id(agent: str, week: str, other: str, kind: str, key: str) -> None:
    """Not even when an agent is called like another's position."""
    reviews = {
        (agent, "weekly", week),
        (other, "weekly", week),
        (other, kind, key or "x"),
        (agent, kind, key or "x"),
    }
    assert len({message_id(message_of(*review), "x.test") for review in reviews}) == len(reviews)


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
    header = parsed(eml(replace(weekly, subject_line=subject)))["Subject"]
    assert header == subject.strip()
    assert (
        max(map(len, eml(replace(weekly, subject_line=subject)).partition(b"\r\n\r\n")[0].split(b"\r\n")))
        <= 78
    )


def test_addresses_are_ascii_on_the_way() -> None:
    assert str(address_of("Ada <ada@bücher.example>")) == "Ada <ada@xn--bcher-kva.example>"
    assert str(address_of("ada@example.org", "Slow Mirror")) == "Slow Mirror <ada@example.org>"
    for wrong in ("", "ada", "ada@", "ädä@example.org", "a@b\r\nBcc: c@d", "a@b\nc"):
        assert address_of(wrong) is None


# The same review, the same bytes


def test_the_same_review_is_the_same_mail_byte_for_byte(
    every: dict[str, Message], mails: dict[str, bytes]
) -> None:
    assert {name: eml(review) for name, review in every.items()} == mails


def test_the_bytes_do_not_hang_on_the_process(weekly: Message, life: Life) -> None:
    code = (
        "import hashlib, pickle, sys; from tests.worlds.mails import eml;"
        "sys.stdout.write(hashlib.sha256(eml(pickle.loads(sys.stdin.buffer.read()))).hexdigest())"
    )
    import hashlib
    import pickle

    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(message(life.daily)),
            env={"PYTHONHASHSEED": seed, "PATH": "/nowhere", "TZ": zone, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert digests == {hashlib.sha256(eml(message(life.daily))).hexdigest()}


def test_recipients_differ_in_nothing_but_their_address(weekly: Message) -> None:
    first = eml(replace(weekly, recipient="one@example.org"))
    second = eml(replace(weekly, recipient="two@example.org"))
    assert first != second
    assert first.replace(b"To: one@", b"To: two@") == second


# Through a real server


def test_each_recipient_gets_a_mail_that_names_nobody_else(weekly: Message) -> None:
    """Fault 16, at the channel: 550 for one of three, the others served."""
    box = Mailbox(to_recipient={"gone@example.org": "550 no such user"}, users={"ada": PASSWORD})
    people = ["Ada <ada@example.org>", "gone@example.org", "bob@example.org"]
    with serve(box) as port:
        config = configured(host="127.0.0.1", port=port, security="none", username="ada", recipients=people)
        mail = MailChannel(config, Secret("RETRO_SMTP_PASSWORD", PASSWORD))
        assert mail.recipients(config) == tuple(people)
        outcomes = [mail.send(replace(weekly, recipient=to)) for to in mail.recipients(config)]
    assert outcomes == [Sent(), Rejected(outcomes[1].reason), Sent()]
    assert "550 no such user" in outcomes[1].reason
    assert [delivered.recipients for delivered in box.received] == [["ada@example.org"], ["bob@example.org"]]
    assert [str(delivered.mail["To"]) for delivered in box.received] == [
        "Ada <ada@example.org>",
        "bob@example.org",
    ]
    assert all(delivered.sender == "retro@example.org" for delivered in box.received)


def test_what_is_sent_is_what_the_preview_shows_and_a_second_try_is_the_same(weekly: Message) -> None:
    box = Mailbox(vanishes="after taking")
    with serve(box) as port:
        mail = MailChannel(configured(host="127.0.0.1", port=port, security="none"))
        assert isinstance(mail.send(weekly), Retry)
        box.vanishes = "never"
        assert mail.send(weekly) == Sent()
    data, html = mail.preview(weekly)
    assert [delivered.data for delivered in box.received] == [data, data]
    assert len({delivered.mail["Message-ID"] for delivered in box.received}) == 1
    assert "cid:" not in html
    assert html.count("data:image/png;base64,") == html.count("<img ") >= 2


def test_a_mail_can_be_looked_at_before_a_server_is_configured(weekly: Message) -> None:
    data, html = MailChannel(Config()).preview(replace(weekly, recipient=""))
    assert parsed(data)["To"] == "retro@localhost"
    assert html.startswith("<!DOCTYPE html>")
    assert MailChannel(Config()).recipients(Config()) == ()
    assert MailChannel(Config()).send(weekly) == Rejected("no [mail] host is configured")


def test_an_address_that_cannot_be_written_is_refused(weekly: Message) -> None:
    mail = MailChannel(configured(host="127.0.0.1", port=1, security="none"))
    outcome = mail.send(replace(weekly, recipient="a@example.org\r\nBcc: b@example.org"))
    assert isinstance(outcome, Rejected)


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

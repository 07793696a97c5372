"""One mail a week for all agents: when it goes, that it goes once, what it says first, and what was corrected since."""

from __future__ import annotations

import email
import email.policy
from pathlib import Path
from typing import Any

import pytest

from retro.app.reviews.week_lines import summing_up
from retro.config import Config
from retro.deliver.channel import Message, Outcome, Retry, Sent
from retro.deliver.mail.channel import mail_channel
from retro.periods import DAY, HOUR, SECOND
from retro.store.database import Store
from retro.store.facts.agents import Grid, choose_grid
from tests.worlds.service_world import MONDAY, Recorder, World, life, line

GAIN = 4 * 10.0 - 3 * 4.0
ALONE = {"daily_review_enabled": False, "epoch_review_enabled": False, "position_close_review": False}
TOGETHER: dict[str, Any] = {"retrospective": ALONE, "mail": {"fleet": True}}
DUE = 7 * DAY + HOUR + SECOND
"""After the first Monday: a week is over and its marks are waited for."""


class Post(World):
    """A world whose weeks go out in one mail."""

    def __init__(self, store: Store, folder: Path, *agents: str, days: int = 7, **tables: Any) -> None:
        super().__init__(
            store, folder, at=MONDAY + DAY, configuration={**TOGETHER, **tables}, mail=Recorder()
        )
        for name in agents:
            self.tell(life(days, agent=name), now=MONDAY + DUE)

    def go(self, at: int) -> list[Message]:
        """What is mailed by a knock at an instant after the first Monday."""
        assert self.mail is not None
        self.clock.at, before = MONDAY + at, len(self.mail.got)
        self.knock(consequences=(summing_up(),))
        return self.mail.got[before:]

    def states(self) -> set[str]:
        return {letter.state for letter in self.letters("mail")}


def test_one_mail_speaks_for_all_and_is_sent_once(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada", "bob", "eve")
    (message,) = post.go(DUE)
    assert message.fleet is not None
    assert [(row.agent, row.pnl) for row in message.fleet.rows] == [
        ("ada", GAIN),
        ("bob", GAIN),
        ("eve", GAIN),
    ]
    assert (len(post.letters("mail")), post.states()) == (3, {"sent"})
    assert post.go(DUE + HOUR) == []


def test_without_it_each_agent_has_its_own(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada", "bob", mail={"fleet": False})
    assert [message.fleet for message in post.go(DUE)] == [None, None]


def test_each_recipient_has_one(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada", "bob")
    post.mail = Recorder(to=("ada@example.org", "owner@example.org"))
    assert sorted(message.recipient for message in post.go(DUE)) == ["ada@example.org", "owner@example.org"]
    assert post.states() == {"sent"}


def test_it_waits_until_the_week_has_ended_for_everybody(store: Store, tmp_path: Path) -> None:
    """Midnight in New York is four in the morning in UTC (summer time began that Sunday); an hour later its marks are in."""
    post = Post(store, tmp_path, "ada", "bob", days=8)
    with store.write() as conn:
        choose_grid(conn, "bob", Grid("America/New_York", 30))
    assert post.go(DUE) == []
    assert post.states() == {"pending"}
    assert post.go(DUE + 3 * HOUR) == []
    (message,) = post.go(DUE + 4 * HOUR)
    assert message.fleet is not None
    assert message.fleet.reviewed == 2


@pytest.mark.parametrize("fails", [Retry("away"), KeyboardInterrupt()])
def test_what_did_not_get_through_is_the_same_mail_again(store: Store, tmp_path: Path, fails: Any) -> None:
    """A server that was away, and a process that died with the mail in its hands: one identity, one content."""
    post = Post(store, tmp_path, "ada", "bob")

    def answer(_: Message) -> Outcome:
        if isinstance(fails, Retry):
            return fails
        raise fails

    recorder = Recorder(answer=answer)
    post.mail = recorder
    try:
        post.go(DUE)
    except KeyboardInterrupt:
        assert post.states() == {"sending"}
    recorder.answer = lambda _: Sent()
    post.knock(alone=True, consequences=(summing_up(),))
    post.go(DUE + DAY)
    assert post.states() == {"sent"}
    first, again = recorder.got
    assert first.fleet is not None
    assert {(m.period_key, m.generated_at_us, m.written_at_us) for m in recorder.got} == {
        (again.period_key, again.generated_at_us, again.written_at_us)
    }
    assert first.fleet == again.fleet


def test_what_was_corrected_is_said_with_the_next_week(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada", "bob", days=14)
    (first,) = post.go(DUE)
    assert first.fleet is not None
    post.tell([line("cost", "late", MONDAY + DAY, "ada", kind="gas", amount=5)])
    assert post.go(DUE + DAY) == [], "a correction alone is no mail"
    (second,) = post.go(DUE + 7 * DAY)
    assert second.fleet is not None
    (correction,) = second.fleet.corrections
    assert (correction.review, correction.revision) == ("ada.weekly.2026-W10", 2)
    assert (correction.before, correction.pnl) == (GAIN, GAIN - 5)
    assert second.fleet.week == "2026-W11"
    assert post.states() == {"sent"}


def test_a_correction_that_no_week_follows_goes_by_itself_in_the_end(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada")
    post.go(DUE)
    events = [
        line("cost", "late", MONDAY + DAY, "ada", kind="gas", amount=5),
        line("death", "end", MONDAY + 6 * DAY, "ada"),
    ]
    post.tell(events)
    mails = [message for days in range(1, 12) for message in post.go(DUE + days * DAY)]
    corrections = [message for message in mails if message.fleet is not None and message.fleet.corrections]
    assert len(corrections) == 1
    assert post.states() == {"sent"}


def mail_of(message: Message) -> tuple[Any, str, str]:
    """The mail, its text and its HTML."""
    tables = {"mail": {"host": "mail.example.org", "recipients": ["ada@example.org"], "fleet": True}}
    whole, html = mail_channel(Config.model_validate({"owner": {"name": "Ada"}, **tables}), {}).preview(
        message
    )
    parsed = email.message_from_bytes(whole, policy=email.policy.default)
    text = parsed.get_body(("plain",))
    assert text is not None
    return parsed, str(text.get_content()), html


def test_the_mail_says_what_needs_a_person_before_any_figure_of_a_week(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada", "bob", days=14)
    post.go(DUE)
    post.tell([line("cost", "late", MONDAY + DAY, "bob", kind="gas", amount=5)])
    with store.write() as conn:
        conn.exec_driver_sql("UPDATE reviews SET state = 'parked' WHERE id = 'bob.weekly.2026-W10'")
    (message,) = post.go(DUE + 7 * DAY)
    parsed, text, html = mail_of(message)
    assert (
        parsed["Subject"] == "2 agents, weekly 2026-W11: 1 want you; up 46.00 USDC"
        or "1 want you" in parsed["Subject"]
    )
    assert parsed["Message-ID"].startswith("<fleet.2026-W11.")
    assert parsed["List-ID"] == "Weeks of all agents <fleet.example.org>"
    for part in (text, html):
        wish, week = (
            part.find("1 parked review"),
            part.find("p2") if part.find("p2") > 0 else part.rfind("bob"),
        )
        assert 0 < wish < week
    assert "`retro fleet`" in text
    assert "http" not in text


def test_two_mails_of_one_week_are_two_and_the_same_letters_are_one(store: Store, tmp_path: Path) -> None:
    post = Post(store, tmp_path, "ada", "bob", days=14)
    (first,) = post.go(DUE)
    (second,) = post.go(DUE + 7 * DAY)
    ids = [mail_of(message)[0]["Message-ID"] for message in (first, first, second)]
    assert ids[0] == ids[1] != ids[2]

"""The outbox: who is told what, how often it is tried, what is given up; and reviews as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retro.app.engine.delivery import channels_of
from retro.app.engine.worker import run_once
from retro.config import Config
from retro.deliver.briefing import briefing_of
from retro.deliver.channel import Message, Outcome, Rejected, Retry, Sent
from retro.deliver.file import Files, file_channel, reviews_directory, safe_name
from retro.deliver.mail.body import parts_of
from retro.deliver.notify import summary
from retro.errors import LostClaimError
from retro.periods import DAY, HOUR, SECOND
from retro.report.document import read
from retro.store.database import Store
from retro.store.jobs import outbox
from tests.worlds.service_world import MONDAY, Recorder, World, life, line

ADA, BOB, EVE = "ada@example.org", "bob@example.org", "eve@example.org"


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=MONDAY + HOUR, mail=Recorder(to=(ADA, BOB, EVE)))
    world.configuration = {
        "mail": {"host": "smtp.example.org", "recipients": [ADA, BOB, EVE], "kinds": ["daily"]},
        "retrospective": {"epoch_review_enabled": False, "weekly_review_enabled": False},
    }
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    return world


def answering(world: World, **answers: Outcome) -> list[Message]:
    """Let the channel answer each recipient so; gives what it got."""
    assert world.mail is not None
    world.mail.answer = lambda message: answers.get(message.recipient.partition("@")[0], Sent())
    return world.mail.got


def states(world: World) -> dict[str, str]:
    return {letter.recipient: letter.state for letter in world.letters("mail")}


def test_each_recipient_is_told_once(world: World) -> None:
    got = answering(world)
    tally = world.knock()
    assert (tally.sent, tally.clean) == (4, True)
    assert sorted(message.recipient for message in got) == [ADA, BOB, EVE]
    world.knock()
    assert len(got) == 3


def test_16_one_of_three_refused_is_failed_and_the_others_have_it(world: World) -> None:
    got = answering(world, bob=Rejected("550 no such user"))
    tally = world.knock()
    assert states(world) == {ADA: "sent", BOB: "failed", EVE: "sent"}
    assert (tally.refused, tally.clean) == (1, False)
    assert next(x.reason for x in world.letters("mail") if x.recipient == BOB) == "550 no such user"
    world.clock.advance(7200)
    assert world.knock().clean
    assert len(got) == 3


def test_15_what_cannot_be_sent_now_is_tried_again_and_disturbs_nobody(world: World) -> None:
    got = answering(world, bob=Retry("451 greylisted"))
    assert world.knock().clean
    assert states(world) == {ADA: "sent", BOB: "pending", EVE: "sent"}
    (waiting,) = [x for x in world.letters("mail") if x.state == "pending"]
    assert 22 * SECOND <= waiting.not_before - world.clock() <= 38 * SECOND
    got.clear()
    answering(world)
    world.clock.advance(10)
    assert world.knock().sent == 0
    world.clock.advance(30)
    assert world.knock().sent == 1
    assert [message.recipient for message in got] == [BOB]


def test_15_a_run_by_hand_asks_a_mended_server_at_once_and_with_one_letter(world: World) -> None:
    """Down for hours, mended, and `run --once` a second later: the first letter opens the door to the others."""
    got = answering(world, ada=Retry("421 away"), bob=Retry("421 away"), eve=Retry("421 away"))
    for _ in range(5):
        run_once(world.bench(), lambda _: None)
        world.clock.advance(1800)
    run_once(world.bench(), lambda _: None)
    count = len(got)
    run_once(world.bench(), lambda _: None)
    run_once(world.bench(), lambda _: None)
    assert len(got) == count + 2, "a server that is down is asked with one letter, not with all"
    answering(world)
    assert run_once(world.bench(), lambda _: None).sent == 3
    assert set(states(world).values()) == {"sent"}


def test_15_a_time_that_a_server_named_is_kept_by_a_run_by_hand(world: World) -> None:
    answering(world, bob=Retry("421 try in ten minutes", 600.0))
    run_once(world.bench(), lambda _: None)
    answering(world)
    assert run_once(world.bench(), lambda _: None).sent == 0
    world.clock.advance(601)
    assert run_once(world.bench(), lambda _: None).sent == 1


def test_what_is_parked_stands_in_the_next_mail_and_notification(world: World) -> None:
    got = answering(world)
    world.owe()
    with world.store.write() as conn:
        conn.exec_driver_sql(
            "UPDATE reviews SET state = 'parked', reason = 'no luck' WHERE id = 'bot.daily.2026-03-02'"
        )
    world.clock.advance(86_400)
    world.knock()
    said = "1 review waits for a person: bot.daily.2026-03-02; `retro reviews --state parked` says why"
    assert got
    for message in got:
        assert message.notices == (said,)
        assert "1 review waits for a person: bot.daily.2026-03-02" in summary(message)[1]
        page = briefing_of(message)
        parts = parts_of(page, "a subject", "Ada", (), lambda name: name)
        assert "! 1 review waits for a person: bot.daily.2026-03-02" in parts.text
        assert "1 review waits for a person: bot.daily.2026-03-02" in parts.html


def test_15_a_server_that_names_a_time_is_believed(world: World) -> None:
    answering(world, bob=Retry("421 try in ten minutes", 600.0))
    world.knock()
    (waiting,) = [x for x in world.letters("mail") if x.state == "pending"]
    assert waiting.not_before - world.clock() == 600 * SECOND


def test_15_after_three_days_it_is_given_up_with_an_alarm(world: World) -> None:
    answering(world, bob=Retry("connection refused"))

    def first() -> outbox.Delivery:
        return next(x for x in world.letters("mail") if x.recipient == BOB)

    world.knock()
    world.configuration["retrospective"]["daily_review_enabled"] = False
    for hours in range(6, 72, 6):
        world.clock.advance(6 * 3600)
        world.knock()
        assert (first().state, first().attempts) == ("pending", 1 + hours // 6)
    world.clock.advance(6 * 3600)
    world.knock()
    assert (first().state, first().reason) == ("failed", "connection refused")
    assert len(world.events("letter_failed")) == 1


def test_15_a_channel_that_breaks_counts_as_not_reached(world: World) -> None:
    assert world.mail is not None

    def breaks(_: Message) -> Outcome:
        raise OSError("wire cut")

    world.mail.answer = breaks
    tally = world.knock()
    assert (tally.postponed, tally.clean) == (3, True)
    assert {x.reason for x in world.letters("mail")} == {"OSError: wire cut"}


def test_no_transaction_is_open_while_a_message_is_sent(world: World) -> None:
    """Another process can write while a slow server keeps us waiting."""
    assert world.mail is not None

    def slow(_: Message) -> Outcome:
        with world.store.write() as conn:
            conn.exec_driver_sql("UPDATE agents SET as_of = 1")
        return Sent()

    world.mail.answer = slow
    assert world.knock().sent == 4


def test_whoever_lost_a_letter_does_not_record_it(world: World) -> None:
    world.knock(channels={"mail": Recorder(to=())})
    with world.store.write() as conn:
        outbox.write(conn, [outbox.Letter(world.reviews()[0].key, 1, "mail", ADA)], world.clock())
        (mine,) = outbox.claim(conn, "me", world.clock(), SECOND, "mail", digest=outbox.ALONE)
    world.clock.advance(2)
    with world.store.write() as conn:
        assert outbox.rescue(conn, world.clock(), alone=False) == 1
        assert len(outbox.claim(conn, "you", world.clock(), SECOND, "mail", digest=outbox.ALONE)) == 1
    with pytest.raises(LostClaimError), world.store.write() as conn:
        outbox.record(conn, [mine], "sent")


def test_a_recipient_who_is_no_longer_named_is_not_written_to(world: World) -> None:
    got = answering(world, bob=Retry("later"))
    world.knock()
    got.clear()
    assert world.mail is not None
    world.mail.to = (ADA, EVE)
    world.clock.advance(3600)
    assert world.knock().refused == 1
    assert got == []
    assert states(world)[BOB] == "failed"


def test_letters_of_a_channel_that_was_taken_away_are_given_up(world: World) -> None:
    answering(world, ada=Retry("x"), bob=Retry("x"), eve=Retry("x"))
    world.knock()
    world.mail = None
    world.clock.advance(3600)
    world.knock()
    assert {x.reason for x in world.letters("mail")} == {"the configuration names no mail"}


# what is told


def test_history_is_quiet_but_for_its_newest_week(store: Store, tmp_path: Path) -> None:
    world = World(store, tmp_path, at=MONDAY + 31 * DAY, mail=Recorder())
    world.configuration = {"mail": {"host": "h", "recipients": [ADA]}}
    world.tell(life(30, every=10))
    world.knock()
    assert world.mail is not None
    assert [(message.review_id, message.digest_of) for message in world.mail.got] == [
        ("bot.weekly.2026-W13", ())
    ]
    assert {letter.state for letter in world.letters()} == {"sent"}
    assert len(world.letters("file")) == len([review for review in world.reviews() if review.state == "done"])


def test_by_default_weeks_epochs_losses_and_deaths_are_mailed(store: Store, tmp_path: Path) -> None:
    world = World(store, tmp_path, at=MONDAY + HOUR, mail=Recorder())
    world.configuration = {
        "mail": {"host": "h", "recipients": [ADA]},
        "retrospective": {"epoch_interval_days": 7},
    }
    world.tell(life(1)[:1])
    world.clock.set(MONDAY + 8 * DAY + 2 * HOUR)
    world.tell([*life(8, every=4), line("death", "d", MONDAY + 7 * DAY)])
    world.knock()
    assert world.mail is not None
    assert {message.kind for message in world.mail.got} == {"weekly", "epoch", "death"}
    assert {review.kind for review in world.reviews()} == {"daily", "weekly", "epoch", "position", "death"}


def test_a_message_says_what_it_is(world: World) -> None:
    got = answering(world)
    world.knock()
    message = got[0]
    assert (message.review_id, message.agent, message.kind) == ("bot.daily.2026-03-02", "bot", "daily")
    assert (message.period_key, message.revision, message.previous) == ("2026-03-02", 1, None)
    assert message.generated_at_us == MONDAY + DAY + HOUR
    assert message.document == world.document("bot.daily.2026-03-02")


# files


def test_files_lie_beside_the_database_unless_configured(tmp_path: Path) -> None:
    beside = Config.model_validate({"store": {"url": str(tmp_path / "retro.db")}})
    assert reviews_directory(beside) == tmp_path / "reviews"
    chosen = Config.model_validate(
        {"store": {"url": str(tmp_path / "retro.db"), "reviews": str(tmp_path / "r")}}
    )
    assert reviews_directory(chosen) == tmp_path / "r"
    assert list(channels_of(beside, {})) == ["file"]
    assert file_channel(chosen).directory == tmp_path / "r"


def test_a_review_is_written_for_programs_and_people_and_its_json_is_what_is_stored(
    store: Store, tmp_path: Path
) -> None:
    world = World(store, tmp_path, at=MONDAY + DAY + 2 * HOUR, files=True)
    world.tell(life(1))
    world.knock()
    files = world.files()
    assert sorted(files) == [
        "bot/daily/2026-03-02.html",
        "bot/daily/2026-03-02.json",
        "bot/daily/2026-03-02.md",
        "bot/position/p0.json",
        "bot/position/p0.md",
    ]
    assert files["bot/daily/2026-03-02.json"].decode() == world.text("bot.daily.2026-03-02")
    assert json.loads(files["bot/position/p0.json"])["position_id"] == "p0"
    assert "Up 10.00 USDC" in files["bot/position/p0.md"].decode()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "reviews").rglob("*.*")}
    with store.write() as conn:
        assert outbox.resend(conn, "bot.daily.2026-03-02", world.clock()) == 1
    world.knock()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "reviews").rglob("*.*")} == before


def test_a_new_revision_stands_beside_the_old_one(store: Store, tmp_path: Path) -> None:
    world = World(store, tmp_path, at=MONDAY + DAY + 2 * HOUR, files=True)
    world.tell(life(1))
    world.knock()
    before = world.files()
    world.tell([line("cost", "c", MONDAY + HOUR, kind="gas", amount=1)])
    world.knock()
    after = world.files()
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {f"bot/daily/2026-03-02.r2.{form}" for form in ("html", "json", "md")}


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..", ".hidden", "a/b", "a\\b", "nul\0", "x" * 500, "ü→", "a:b", "con", "%2F", "~"],
)
def test_a_foreign_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    plain = safe_name(name)
    path = (tmp_path / plain).resolve()
    assert path.parent == tmp_path.resolve()
    path.write_text("x")
    assert not plain.startswith(".")


def test_different_names_are_different_files() -> None:
    names = ["a/b", "a_b", "a%2Fb", "a b", "A B", "..", "%2E.", "x" * 300, "x" * 301, "é", "e\u0301"]
    assert len({safe_name(name) for name in names}) == len(names)


def test_the_file_channel_tells_the_same_folder_everywhere(tmp_path: Path) -> None:
    assert Files(tmp_path).recipients(Config()) == ("reviews",)


def test_a_document_survives_its_storing(world: World) -> None:
    from retro.report import dump

    world.knock()
    for review in world.reviews():
        text = world.text(review.id)
        assert dump(read(text, review.kind)) == text


def test_what_an_agent_wrote_is_stored_without_control_and_bidi_characters(
    store: Store, tmp_path: Path
) -> None:
    world = World(store, tmp_path, at=MONDAY + DAY + 2 * HOUR)
    nasty: list[dict[str, Any]] = life(1)
    for event in nasty:
        if event["type"] == "decision":
            event["reasoning"] = "do it\x1b[31m \u202enow\u2066\x07"
    world.tell(nasty)
    world.knock()
    text = world.text("bot.position.p0")
    assert not set("\x1b\x07\u202e\u2066") & set(json.loads(text)["entry_reasoning"])
    assert "\\u001b" not in text

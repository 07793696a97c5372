"""The ledger: taken by one, held by a lease, fenced, checkpointed, backed off, parked; and what a person can do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from retro.app.context import LONGEST_WAIT, Consequence, backoff
from retro.app.engine.stages import StoppedError
from retro.app.narration.narrators import plain_words
from retro.errors import LostClaimError, UnknownError, UsageError
from retro.periods import DAY, HOUR, SECOND
from retro.store.database import Store
from retro.store.jobs import backlog, claims, interventions, reviews
from tests.worlds.service_world import MONDAY, Recorder, World, life, line, trade

LEASE = 90 * SECOND


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    world = World(store, tmp_path, at=MONDAY + HOUR)
    world.tell([line("equity", "e", MONDAY, value=100)])
    world.clock.set(MONDAY + 3 * DAY + 2 * HOUR)
    return world


def take(world: World, owner: str, **how: Any) -> list[reviews.Review]:
    with world.store.write() as conn:
        return claims.claim(conn, owner, world.clock(), LEASE, **how)


def ids(claimed_reviews: list[reviews.Review]) -> list[str]:
    return [review.id for review in claimed_reviews]


# claims


def test_what_one_has_taken_no_other_gets(world: World) -> None:
    world.owe()
    assert ids(take(world, "a")) == ["bot.daily.2026-03-02"]
    assert ids(take(world, "b")) == ["bot.daily.2026-03-03"]
    assert ids(take(world, "c")) == ["bot.daily.2026-03-04"]
    assert take(world, "d") == []


def test_a_lease_that_ran_out_is_taken_over_and_its_holder_fenced(world: World) -> None:
    world.owe()
    (mine,) = take(world, "a")
    world.clock.advance(91)
    with world.store.write() as conn:
        freed = claims.rescue(conn, world.clock(), 5, alone=False)
    assert [(review.id, review.state, review.attempts) for review in freed] == [(mine.id, "due", 1)]
    (theirs,) = take(world, "b")
    assert (theirs.id, theirs.attempts) == (mine.id, 2)
    for step in (
        lambda conn: claims.finish(conn, mine, world.clock()),
        lambda conn: claims.keep_numbers(conn, mine, revision=1, facts="", digest="", text="stale"),
        lambda conn: claims.fail(conn, mine, "late", not_before=None),
        lambda conn: claims.release(conn, mine),
    ):
        with pytest.raises(LostClaimError), world.store.write() as conn:
            step(conn)
    with world.store.read() as conn:
        assert reviews.revision_of(conn, mine.key, 1) is None


def test_a_renewed_lease_is_not_taken_over(world: World) -> None:
    world.owe()
    (mine,) = take(world, "a")
    world.clock.advance(80)
    with world.store.write() as conn:
        assert claims.renew(conn, [mine], world.clock() + LEASE) == 1
    world.clock.advance(80)
    with world.store.write() as conn:
        assert claims.rescue(conn, world.clock(), 5, alone=False) == []
        assert claims.renew(conn, [mine._replace(owner="b")], world.clock() + LEASE) == 0


def test_who_is_alone_takes_over_at_once(world: World) -> None:
    world.owe()
    (mine,) = take(world, "dead")
    with world.store.write() as conn:
        assert ids(claims.rescue(conn, world.clock(), 5, alone=True)) == [mine.id]


def test_what_kills_its_process_again_and_again_is_parked(world: World) -> None:
    world.owe()
    for _ in range(5):
        (mine,) = take(world, "a")
        with world.store.write() as conn:
            (freed,) = claims.rescue(conn, world.clock(), 5, alone=True)
    assert (freed.id, freed.state, freed.reason) == (
        mine.id,
        "parked",
        "the process that made it died 5 times",
    )
    assert "bot.daily.2026-03-02" not in ids(take(world, "b"))


def test_given_back_it_is_as_if_it_had_not_been_taken(world: World) -> None:
    before = world.owe()[0]
    (mine,) = take(world, "a")
    with world.store.write() as conn:
        claims.release(conn, mine)
    assert world.review(mine.id) == before


# failing


class Broken(Exception):
    """What a broken step raises here."""


def breaking(times: int, message: str = "no luck") -> Any:
    """Words that fail so many times."""
    remaining = [times]

    def words(*given: Any) -> Any:
        if remaining[0]:
            remaining[0] -= 1
            raise Broken(message)
        return plain_words(*given)

    return words


def test_a_failing_review_backs_off_and_the_others_are_made(world: World) -> None:
    tally = world.knock(words=breaking(1))
    assert (tally.done, tally.failed, tally.clean) == (2, 1, False)
    failed = world.review("bot.daily.2026-03-02")
    assert (failed.state, failed.attempts, failed.reason) == ("due", 1, "Broken: no luck")
    assert 22 * SECOND <= failed.not_before - world.clock() <= 38 * SECOND
    assert world.knock().done == 0
    world.clock.advance(40)
    assert world.knock().done == 1
    assert (world.review(failed.id).state, world.review(failed.id).reason) == ("done", None)


def test_after_five_failures_it_is_parked_and_says_why(world: World) -> None:
    words = breaking(99)
    for attempt in range(1, 6):
        tally = world.knock(words=words)
        world.clock.advance(2 * 3600)
        states = {review.state for review in world.reviews("daily") if review.period_end <= MONDAY + 3 * DAY}
        assert states == ({"parked"} if attempt == 5 else {"due"})
    assert tally.parked == 3
    assert world.knock(words=words).failed == 0
    assert len(world.events("review_parked")) == 3
    with world.store.read() as conn:
        assert backlog.count_parked(conn) == 3


def test_back_off_doubles_to_an_hour_with_jitter() -> None:
    rng = random.Random(1)
    waits = [backoff(attempt, rng) for attempt in range(1, 20)]
    for attempt, wait in enumerate(waits, 1):
        middle = min(30 * SECOND * 2 ** (attempt - 1), LONGEST_WAIT)
        assert 0.75 * middle <= wait <= 1.25 * middle
    assert len(set(waits)) == len(waits)


def test_a_reason_names_no_secret_and_no_control_character(world: World) -> None:
    from retro.secret import Secret

    words = breaking(9, "sk-ant-abcdefgh123 and hunter2\x1b[31m\nboom")
    world.knock(words=words, secrets=(Secret("RETRO_SMTP_PASSWORD", "hunter2"),))
    reason = world.review("bot.daily.2026-03-02").reason
    assert reason == "Broken: [redacted] and [redacted][31m boom"


# stages


def test_figures_once_stored_are_not_made_again(world: World) -> None:
    """A review that fails at its words resumes there: facts that nobody can read any more do not keep it from ending."""
    world.knock(words=breaking(1))
    world.clock.advance(40)
    with world.store.write() as conn:
        conn.exec_driver_sql("UPDATE events SET body = 'torn'")
    world.knock()
    assert world.review("bot.daily.2026-03-02").state == "done"
    assert world.document("bot.daily.2026-03-02").narrative.source == "plain"


def test_words_that_were_paid_for_are_not_paid_twice(world: World) -> None:
    """A crash between the words and the last step: the next process finds them stored and finishes."""
    paid: list[str] = []

    def words(review: Any, document: Any, settings: Any) -> Any:
        paid.append(review.id)
        return plain_words(review, document, settings)[0], True

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.knock(words=words, consequences=(Consequence("crash", crash),))
    assert world.review("bot.daily.2026-03-02").state == "due"
    world.knock(words=words)
    assert paid.count("bot.daily.2026-03-02") == 1
    assert world.review("bot.daily.2026-03-02").state == "done"


def test_consequences_join_the_transaction_that_makes_it_done(world: World) -> None:
    review_ids: list[str] = []

    def consequence(conn: Any, review: Any, document: Any) -> None:
        assert reviews.by_id(conn, review.id).state == "done"
        assert document.id == review.id
        review_ids.append(review.id)
        if len(review_ids) == 1:
            raise Broken

    world.knock(consequences=(Consequence("check", consequence),))
    assert world.review(review_ids[0]).state == "due"
    assert world.letters() != []
    assert {letter.review_id for letter in world.letters()} == set(review_ids) - {review_ids[0]}


def test_a_service_that_is_told_to_stop_gives_back_what_it_has_not_finished(world: World) -> None:
    steps = [0]

    def stopping() -> bool:
        steps[0] += 1
        return steps[0] > 3

    world.knock(stopping=stopping)
    states = {review.state for review in world.reviews()}
    assert "running" not in states
    assert "due" in states
    assert all(review.attempts == 0 for review in world.reviews())
    world.knock()
    assert {review.state for review in world.reviews()} == {"done"}


def test_stopping_is_no_error_of_the_review() -> None:
    assert not issubclass(StoppedError, LostClaimError)


# late data


@pytest.fixture
def alive(store: Store, tmp_path: Path) -> World:
    """Eight days, told day by day; what p3 was sold for is not told."""
    world = World(store, tmp_path, at=MONDAY + HOUR, mail=Recorder())
    world.tell(life(1)[:1])
    world.clock.set(MONDAY + 8 * DAY + 2 * HOUR)
    world.tell([event for event in life(8, every=3) if event["id"] != "p3-s"])
    world.knock()
    return world


def test_22_late_facts_make_a_new_revision_of_the_periods_they_lie_in(alive: World) -> None:
    before = {review.id: review.revision for review in alive.reviews() if review.state == "done"}
    first = alive.text("bot.weekly.2026-W10")
    alive.tell([event for event in life(8, every=3) if event["id"] == "p3-s"])
    alive.knock()
    after = {review.id: review.revision for review in alive.reviews() if review.state == "done"}
    raised = {name for name in after if after[name] != before.get(name, after[name])}
    assert raised == {"bot.daily.2026-03-05", "bot.weekly.2026-W10"}
    assert "bot.position.p3" in set(after) - set(before)
    assert alive.text("bot.weekly.2026-W10", 1) == first
    assert alive.document("bot.weekly.2026-W10").revision == 2
    message = alive.mail.got[-1] if alive.mail else None
    assert message is not None
    assert (message.review_id, message.revision) == ("bot.weekly.2026-W10", 2)
    assert message.previous == alive.document("bot.weekly.2026-W10", 1)


def test_the_same_facts_told_again_change_nothing(alive: World) -> None:
    before = alive.reviews()
    alive.tell([event for event in life(8, every=3) if event["id"] != "p3-s"])
    alive.knock()
    assert [review.revision for review in alive.reviews()] == [review.revision for review in before]


def test_a_mark_dated_after_the_end_of_a_period_is_no_news_for_it(alive: World) -> None:
    before = {review.id: review.revision for review in alive.reviews()}
    alive.tell([line("mark", "late", MONDAY + 8 * DAY + HOUR, asset="ETH", price=1999)])
    alive.knock()
    assert {review.id: review.revision for review in alive.reviews()} == before


def test_a_mark_inside_a_period_is_news_where_it_changes_a_figure(alive: World) -> None:
    alive.tell([line("mark", "peak", MONDAY + 13 * HOUR, asset="ETH", price=2399)])
    alive.knock()
    raised = {review.id for review in alive.reviews() if review.revision == 2}
    assert raised == {"bot.daily.2026-03-02", "bot.weekly.2026-W10", "bot.position.p0"}


def test_a_position_gets_its_second_revision_when_what_came_after_it_is_known(world: World) -> None:
    """Sold after 2 hours: at 5 o'clock and the lag, what holding on would have brought stands in a new revision."""
    opened, closed = MONDAY + 3 * DAY + 3 * HOUR, MONDAY + 3 * DAY + 5 * HOUR
    marks = [
        line("mark", f"k{h}", MONDAY + 3 * DAY + h * HOUR // 2, asset="ETH", price=2000 + h)
        for h in range(6, 11)
    ]
    world.clock.set(closed + 60 * SECOND)
    world.tell([*marks, *trade("p", opened, closed, 2000, 2005)])
    world.knock()
    first = world.document("bot.position.p")
    assert (world.review("bot.position.p").revision, first.hold_on) == (1, None)
    later = [
        line("mark", f"k{h}", MONDAY + 3 * DAY + h * HOUR // 2, asset="ETH", price=2000 + h)
        for h in range(11, 16)
    ]
    world.clock.set(closed + 2 * HOUR + 30 * 60 * SECOND)
    world.tell(later)
    world.knock()
    assert world.review("bot.position.p").revision == 1
    world.clock.set(closed + 3 * HOUR + SECOND)
    world.knock()
    assert world.review("bot.position.p").revision == 2
    assert world.review("bot.position.p").again_at is None
    assert world.document("bot.position.p").hold_on is not None


def test_facts_that_come_while_a_review_is_made_are_seen_as_late(world: World) -> None:
    world.owe()

    def words(review: Any, document: Any, settings: Any) -> Any:
        if review.id == "bot.daily.2026-03-03" and review.revision == 1:
            world.tell([line("cost", "c", MONDAY + DAY + HOUR, kind="gas", amount=3)])
        return plain_words(review, document, settings)

    world.knock(words=words)
    assert world.review("bot.daily.2026-03-03").revision == 2
    assert world.document("bot.daily.2026-03-03").pnl.gas_costs == 3
    assert world.document("bot.daily.2026-03-03", 1).pnl.gas_costs == 0


def test_a_first_mark_reaches_back_to_the_reviews_that_had_no_price(world: World) -> None:
    """Gas in BNB on Monday, its first mark on Wednesday, after Monday and Tuesday were reviewed."""
    world.tell([*life(1), line("cost", "c", MONDAY + HOUR, kind="gas", asset="BNB", quantity="0.01")])
    world.clock.set(MONDAY + 2 * DAY + 2 * HOUR)
    world.knock()
    assert world.document("bot.daily.2026-03-02").pnl.gas_costs == 0
    world.tell([line("mark", "bnb", MONDAY + 2 * DAY + HOUR, asset="BNB", price=500)])
    world.knock()
    assert world.document("bot.daily.2026-03-02").revision == 2
    assert world.document("bot.daily.2026-03-02").pnl.gas_costs == 5


def test_a_correction_of_a_known_fact_makes_a_new_revision(alive: World) -> None:
    corrected = [{**event, "price": 2004} for event in life(8, every=3) if event["id"] == "p0-s"]
    assert len(alive.tell(corrected).conflicts) == 1
    alive.knock()
    assert alive.review("bot.daily.2026-03-02").revision == 1
    alive.tell(corrected, replace="the exchange said so")
    alive.knock()
    assert alive.review("bot.daily.2026-03-02").revision == 2
    assert alive.document("bot.position.p0").final_pnl == 4


# people


def test_a_parked_review_can_be_retried_and_a_due_one_skipped(world: World) -> None:
    words = breaking(99)
    for _ in range(5):
        world.knock(words=words)
        world.clock.advance(2 * 3600)
    with world.store.write() as conn:
        retried = interventions.retry(conn, "bot.daily.2026-03-02", world.clock())
        skipped = interventions.skip(conn, "bot.daily.2026-03-03", "the bot was being moved")
    assert (retried.state, retried.attempts, retried.reason) == ("due", 0, None)
    assert (skipped.state, skipped.reason) == ("skipped", "the bot was being moved")
    world.knock()
    assert world.review("bot.daily.2026-03-02").state == "done"
    assert world.review("bot.daily.2026-03-03").state == "skipped"


@pytest.mark.parametrize(
    "change", [lambda c, n: interventions.retry(c, n, 0), lambda c, n: interventions.skip(c, n, "why")]
)
def test_what_is_done_is_neither_retried_nor_skipped(world: World, change: Any) -> None:
    world.knock()
    with pytest.raises(UsageError, match=r"bot\.daily\.2026-03-02 is done"), world.store.write() as conn:
        change(conn, "bot.daily.2026-03-02")
    with pytest.raises(UnknownError, match=r"there is no review 'bot\.daily'"), world.store.write() as conn:
        change(conn, "bot.daily")

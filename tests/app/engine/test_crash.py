"""A process may die at any moment: afterwards every review is there once, whole, and each person was told once."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from retro.model import Fault
from retro.periods import DAY, HOUR
from retro.store.database import Store, open_store
from retro.store.facts import faults
from tests.crash_points import staged
from tests.syscalls import CAN_TRACE
from tests.worlds.service_faults import Killed, Points
from tests.worlds.service_world import MONDAY, Recorder, World, life

KINDS = ["daily"]
PEOPLE = ("ada@example.org", "bob@example.org")
FORK = multiprocessing.get_context("fork")


def configuration(*, positions: bool) -> dict[str, Any]:
    return {
        "mail": {"host": "smtp.example.org", "recipients": list(PEOPLE), "kinds": KINDS},
        "retrospective": {"epoch_review_enabled": False, "position_close_review": positions},
    }


def a_world(store: Store, folder: Path, *, positions: bool = False, **how: Any) -> World:
    return World(
        store, folder, at=MONDAY + DAY + 2 * HOUR, configuration=configuration(positions=positions), **how
    )


def tell(world: World, *, history: bool = False) -> None:
    world.clock.set(MONDAY + HOUR)
    if not history:
        world.tell(life(1)[:1])
    world.clock.set(MONDAY + DAY + 2 * HOUR)
    world.tell(life(1))


def outcome(world: World) -> dict[str, Any]:
    """Everything that must not depend on who died when."""
    return {
        "reviews": {(review.id, review.state, review.revision) for review in world.reviews()},
        "texts": {review.id: world.text(review.id) for review in world.reviews()},
        "letters": Counter(
            (x.review_id, x.revision, x.channel, x.recipient, x.state) for x in world.letters()
        ),
    }


def reset(store: Store) -> None:
    with store.write() as conn:
        for table in ("outbox", "review_documents", "reviews"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
        conn.exec_driver_sql(f"UPDATE enrolments SET next_at = NULL, losses_from = {-(1 << 62)}")


def live_on(world: World) -> None:
    """Whatever comes after a crash: a new process, later than every lease."""
    world.clock.advance(100)
    world.knock(alone=world.store.dialect == "sqlite")


def test_1_dying_at_any_statement_commit_or_message_loses_and_doubles_nothing(
    store: Store, tmp_path: Path
) -> None:
    """The sweep: at the first moment, the second, the third ... until a run gets by without dying."""
    first = a_world(store, tmp_path, mail=Recorder(to=PEOPLE))
    tell(first)
    first.knock()
    expected = outcome(first)
    mails = (
        Counter((m.review_id, m.revision, m.recipient) for m in first.mail.got) if first.mail else Counter()
    )
    assert set(mails.values()) == {1}
    moments = 0
    while True:
        reset(store)
        points = Points(moments + 1)
        mail = Recorder(to=PEOPLE)
        world = a_world(store, tmp_path, mail=mail)
        mortal = {"file": points.wrap(world.file), "mail": points.wrap(mail)}
        try:
            with points.over(store):
                world.knock(channels=mortal, alone=store.dialect == "sqlite")
        except Killed:
            moments += 1
        else:
            break
        live_on(world)
        assert outcome(world) == expected, points.where
        got = Counter((m.review_id, m.revision, m.recipient) for m in mail.got)
        twice = {key for key, count in got.items() if count > 1}
        assert set(got) == set(mails), points.where
        assert len(twice) <= points.unsure, points.where
    assert moments > 30


def test_2_a_message_that_may_have_arrived_is_sent_again_and_the_outbox_says_so(
    store: Store, tmp_path: Path
) -> None:
    mail = Recorder(to=PEOPLE[:1])
    world = a_world(store, tmp_path, mail=mail)
    tell(world)

    class Dies:
        name, recipients = "mail", mail.recipients

        def send(self, message: Any) -> Any:
            mail.send(message)
            raise Killed

    with pytest.raises(Killed):
        world.knock(channels={"mail": Dies()})
    (letter,) = [x for x in world.letters("mail") if x.state == "sending"]
    world.clock.advance(100)
    world.knock(channels={"mail": mail}, alone=store.dialect == "sqlite")
    assert len([m for m in mail.got if m.review_id == letter.review_id]) == 2
    assert mail.got[0] == mail.got[1]
    again = next(x for x in world.letters("mail") if x.key == letter.key)
    assert (again.state, again.attempts) == ("sent", 2)
    assert again.reason == "sent again: its sender died, and whether it had arrived is not known"


def _work_and_die(database: str, folder: Path, last: int) -> None:
    """A real process: real files, and a real SIGKILL at the n-th moment."""
    store = open_store(database)
    points = Points(last, really=True)
    world = a_world(store, folder, files=True, positions=True)
    with points.over(store):
        world.knock(channels={"file": points.wrap(world.file)})
    os._exit(0)


def test_1_a_process_that_is_really_killed_leaves_whole_reviews_and_whole_files(tmp_path: Path) -> None:
    """SIGKILL at every eleventh moment, on a file that the next process opens as it was left. History goes by the handful."""
    base = tmp_path / "base.db"
    world = a_world(open_store(str(base)), tmp_path / "calm", files=True, positions=True)
    tell(world, history=True)
    blank = tmp_path / "blank.db"
    shutil.copy(base, blank)
    world.knock()
    expected, files = outcome(world), world.files()
    assert {name.rpartition(".")[2] for name in files} == {"json", "md", "html"}
    moment, died = 1, 0
    while True:
        folder = tmp_path / f"run-{moment}"
        folder.mkdir()
        database = folder / "retro.db"
        shutil.copy(blank, database)
        child = FORK.Process(target=_work_and_die, args=(str(database), folder, moment))
        child.start()
        child.join(60)
        after = a_world(open_store(str(database)), folder, files=True, positions=True)
        after.clock.advance(100)
        after.knock()
        assert outcome(after) == expected, moment
        assert after.files() == files, moment
        with after.store.read() as conn:
            assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        after.store.close()
        shutil.rmtree(folder)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        moment, died = moment + 11, died + 1
    assert died > 2


@pytest.mark.skipif(not CAN_TRACE, reason="system calls are counted on Linux, x86-64")
def test_1_2_5_6_7_killed_torn_or_refused_at_a_write_an_fsync_or_a_send_everything_is_there_once(
    tmp_path: Path,
) -> None:
    """At some of the system calls; `python tests/crash_points.py` goes through every one of them."""
    with staged(tmp_path) as stage:
        assert set(stage.points) >= {"pwrite", "fdatasync", "ftruncate", "send", "fsync", "write", "linkat"}
        swept = stage.sweep(step=41)
    assert swept.points > 300
    assert swept.died > 15
    assert swept.died + swept.gave_up + swept.lived == sum(swept.tried.values())


def test_7_a_page_torn_by_a_power_cut_is_mended_from_the_journal(tmp_path: Path) -> None:
    """The picture a power cut leaves: the journal is on the disk, a page of the database only half."""
    path = tmp_path / "retro.db"
    world = a_world(open_store(str(path)), tmp_path)
    tell(world)
    with world.store.write() as conn:
        faults.add(conn, "x", [Fault("x", n, "why" * 50) for n in range(1000)])
    world.owe()
    before = world.reviews()
    with world.store.write() as conn:
        conn.exec_driver_sql("PRAGMA cache_size = 1")  # so that pages go to the file before the commit
        conn.exec_driver_sql("UPDATE reviews SET reason = 'half'")
        conn.exec_driver_sql("UPDATE faults SET reason = reason || ' half'")
        cut = tmp_path / "cut.db"
        shutil.copy(path, cut)
        shutil.copy(f"{path}-journal", f"{cut}-journal")
        conn.rollback()
    torn = cut.read_bytes()
    changed = [
        n
        for n in range(path.stat().st_size // 4096)
        if path.read_bytes()[n * 4096 : (n + 1) * 4096] != torn[n * 4096 : (n + 1) * 4096]
    ]
    assert changed
    with cut.open("r+b") as file:
        file.seek(changed[-1] * 4096 + 2048)
        file.write(b"\xa5" * 2048)
    mended = a_world(open_store(str(cut)), tmp_path)
    with mended.store.read() as conn:
        assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        assert faults.count(conn) == 1000
        assert all(fault.reason == "why" * 50 for fault in faults.all(conn))
    assert mended.reviews() == before
    mended.knock()
    assert {review.state for review in mended.reviews()} == {"done"}

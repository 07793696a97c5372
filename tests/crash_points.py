"""Sweep a run of the service through every system call that writes: dead before it, dead after it, refused by the disk.

    python tests/crash_points.py [--step 1]

Prints how many points were swept. Each begins with the same database and letters, owes two reviews, writes their files
and mails one of them to two people over a real SMTP connection; then a fresh process goes on from what was left.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from retro.deliver.mail.channel import mail_channel
from retro.periods import DAY, HOUR
from retro.store.database import open_store
from tests.syscalls import MODES, Mode, traced
from tests.worlds.service_world import MONDAY, World, life
from tests.worlds.smtp_server import Mailbox, serve

__all__ = ["Stage", "Swept", "staged"]

PEOPLE: Final = ("ada@example.org", "bob@example.org")


@dataclass(slots=True)
class Swept:
    """What a sweep came to: how many points there are and were tried, and how they ended."""

    points: int
    tried: Counter[str] = field(default_factory=Counter)
    died: int = 0
    lived: int = 0
    """The call was refused, and the run came to an end all the same."""
    gave_up: int = 0
    """The call was refused, and the run said so and ended."""
    twice: int = 0
    """A mail came twice, the same: what killed us came between the server's word and our note."""


class Stage:
    """A database with work to do, a mail server, and what an undisturbed run makes of them."""

    def __init__(self, folder: Path, port: int, mailbox: Mailbox) -> None:
        self.folder = folder
        self.port = port
        self.mailbox = mailbox
        self.blank = folder / "blank.db"
        world = self.world(self.blank)
        world.clock.set(MONDAY + HOUR)
        world.tell(life(1)[:1])
        world.clock.set(MONDAY + DAY + 2 * HOUR)
        world.tell(life(1))
        world.store.close()
        self.expected: dict[str, Any] = {}
        self.files: dict[str, Any] = {}
        calm = self._take("calm")
        self.points = traced(lambda: self.knock(calm)).calls
        self.expected, self.files = self.outcome(calm)
        self.mails = self._mails()
        assert set(self.mails.values()) == {1}
        assert {who for who, _ in self.mails} == set(PEOPLE)
        assert len(self.expected["reviews"]) == 2
        assert {state for _, state, _ in self.expected["reviews"]} == {"done"}

    def world(self, database: Path) -> World:
        configuration = {
            "mail": {
                "host": "127.0.0.1",
                "port": self.port,
                "security": "none",
                "recipients": list(PEOPLE),
                "kinds": ["daily"],
            },
            "retrospective": {"epoch_review_enabled": False, "weekly_review_enabled": False},
        }
        return World(
            open_store(str(database)),
            database.parent,
            at=MONDAY + DAY + 2 * HOUR,
            configuration=configuration,
            files=True,
        )

    def knock(self, folder: Path, later_s: float = 0) -> None:
        """A process: from the opening of the database to the end of a knock."""
        world = self.world(folder / "retro.db")
        try:
            world.clock.advance(later_s)
            channels = {"file": world.file, "mail": mail_channel(world.config, {})}
            world.knock(channels=channels)
        finally:
            world.store.close()

    def outcome(self, folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a run has left: the ledger, the stored bytes, the letters, the files."""
        world = self.world(folder / "retro.db")
        with world.store.read() as conn:
            assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        ledger = {
            "reviews": {(review.id, review.state, review.revision) for review in world.reviews()},
            "texts": {review.id: world.text(review.id) for review in world.reviews()},
            "letters": Counter(
                (x.review_id, x.revision, x.channel, x.recipient, x.state) for x in world.letters()
            ),
        }
        world.store.close()
        return ledger, world.files()

    def disturbed(self, mode: Mode, point: int, swept: Swept) -> None:
        """One point: disturb a run there, let others go on, and compare."""
        folder = self._take(f"{mode}-{point}")
        self.mailbox.received.clear()
        code = traced(lambda: self.knock(folder), mode, point).code
        swept.tried[mode] += 1
        swept.died += code < 0
        swept.gave_up += code == 1
        swept.lived += code == 0
        for later in (100, 300):  # later than any back-off after one failure, and once more
            self.knock(folder, later)
        where = f"{mode} {point}: {self.points[point - 1]}"
        assert self.outcome(folder) == (self.expected, self.files), where
        mails = self._mails()
        twice = [key for key, count in mails.items() if count > 1]
        assert set(mails) == set(self.mails), where
        assert len(twice) <= 1, where
        assert all(mails[key] == 2 for key in twice), where
        swept.twice += len(twice)
        shutil.rmtree(folder)

    def sweep(self, step: int = 1) -> Swept:
        """Every `step`-th point in every way; 1: all of them."""
        swept = Swept(len(self.points))
        for number, mode in enumerate(MODES):
            for point in range(1 + number * step // len(MODES), len(self.points) + 1, step):
                self.disturbed(mode, point, swept)
        return swept

    def _take(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(self.blank, folder / "retro.db")
        return folder

    def _mails(self) -> Counter[tuple[str, str]]:
        """(recipient, Message-ID) -> how often; a mail under one Message-ID is always the same."""
        mail_counts: Counter[tuple[str, str]] = Counter()
        bodies: dict[tuple[str, str], bytes] = {}
        for letter in self.mailbox.received:
            for recipient in letter.recipients:
                key = recipient, letter.mail["Message-ID"]
                mail_counts[key] += 1
                assert bodies.setdefault(key, letter.data) == letter.data
        return mail_counts


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """A stage in an empty folder, with its mail server."""
    mailbox = Mailbox()
    with serve(mailbox) as port:
        yield Stage(folder, port, mailbox)


def main() -> None:
    """Sweep and print the figures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--step", type=int, default=1, help="every n-th point only")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name, staged(Path(name)) as stage:
        kinds = ", ".join(f"{count} {call}" for call, count in Counter(stage.points).most_common())
        print(f"{len(stage.points)} system calls that write: {kinds}")
        swept = stage.sweep(arguments.step)
    for mode, count in swept.tried.items():
        print(f"{mode:14} {count:5} points")
    print(
        f"{sum(swept.tried.values())} points swept: {swept.died} killed, {swept.gave_up} refused and given up,"
        f" {swept.lived} refused and lived; 0 reviews lost, doubled or changed;"
        f" {swept.twice} mails came twice, the same each time"
    )


if __name__ == "__main__":
    main()

"""`retro metrics`: OpenMetrics text that a strict reader takes, with the counts of the ledger; doctor on who is watching."""

from __future__ import annotations

import re
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from retro.app.questions.metrics import metrics
from retro.deliver.channel import Retry
from retro.periods import DAY, HOUR, SECOND
from retro.present.openmetrics import openmetrics_of
from retro.report.metrics import MetricFamily, MetricSample
from retro.store.database import Store
from retro.store.jobs.hosts import note_knock
from retro.store.jobs.reviews import mark_due
from tests.worlds.commands import Retro, retro, round_trip
from tests.worlds.service_world import MONDAY, Recorder, World, life

__all__ = ["retro"]

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")


def read(text: str) -> Samples:
    """The samples of an exposition, by the rules of OpenMetrics 1.0: anything beside them is an error."""
    *lines, end, nothing = text.split("\n")
    assert (end, nothing) == ("# EOF", ""), "ends with EOF and a newline"
    families: Samples = {}
    name = ""
    for line in lines:
        if line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert kind == "gauge"
            assert name not in families, "a family stands together, once"
            families[name] = {}
        elif line.startswith("# HELP "):
            assert line.startswith(f"# HELP {name} "), "the help of the family it stands in"
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] == name
            labels = tuple(re.findall(LABEL, sample[2] or ""))
            assert len({label for label, _ in labels}) == len(labels)
            assert labels not in families[name], "a sample stands once"
            families[name][labels] = float(sample[sample.lastindex or 0])
    assert all(families.values()), "no family without a sample"
    return families


def measured(world: World) -> Samples:
    with world.store.read() as conn:
        return read(openmetrics_of(metrics(conn, world.config, "here", world.clock())))


def test_what_waits_is_counted_and_how_long_it_has(store: Store, tmp_path: Path) -> None:
    """Two agents with a week each, due an hour after its end; looked at three hours after it, nothing is made yet."""
    weekly = {
        "retrospective": {
            "daily_review_enabled": False,
            "position_close_review": False,
            "epoch_review_enabled": False,
        }
    }
    world = World(store, tmp_path, at=MONDAY + 7 * DAY + 3 * HOUR, configuration=weekly, mail=Recorder())
    for name in ("ada", "bob"):
        world.tell(life(7, agent=name))
    world.owe()
    with store.write() as conn:
        note_knock(conn, "here", world.clock() - 60 * SECOND)
        mark_due(conn, world.clock())
    before = measured(world)
    assert before["retro_due"][(("kind", "weekly"),)] == 2
    assert before["retro_lag_seconds"][()] == 2 * 3600
    assert before["retro_agents"] == {
        (("state", "awake"),): 2, (("state", "dormant"),): 0, (("state", "dead"),): 0, (("state", "new"),): 0,
    }  # fmt: skip
    assert before["retro_last_knock_timestamp_seconds"][(("host", "here"),)] == world.clock() / SECOND - 60
    world.knock()
    after = measured(world)
    assert (after["retro_due"][(("kind", "weekly"),)], after["retro_lag_seconds"][()]) == (0, 0)
    assert (after["retro_parked"][()], after["retro_running"][()]) == (0, 0)
    assert "retro_letters" not in after, "what was sent is not counted"


def test_letters_that_wait_are_counted_by_channel_and_state(store: Store, tmp_path: Path) -> None:
    mail = Recorder(answer=lambda _: Retry("away"))
    world = World(store, tmp_path, at=MONDAY + 7 * DAY + 3 * HOUR, mail=mail)
    world.tell(life(7))
    world.knock()
    letters = measured(world)["retro_letters"]
    pending = sum(letter.state == "pending" for letter in world.letters("mail"))
    assert letters == {(("channel", "mail"), ("state", "pending")): pending}
    world.clock.at += HOUR
    assert measured(world)["retro_letter_lag_seconds"][()] == 3600


def test_whatever_stands_in_a_label_is_one_label() -> None:
    hostile = 'a"b\\c\nd{e="f"} 7\x1b[31m'
    sample = MetricSample(labels={"path": hostile}, value=0.1)
    ((labels, value),) = read(
        openmetrics_of([MetricFamily(name="x", help='say "it"\n# EOF', samples=[sample])])
    )["x"].items()
    assert value == 0.1
    assert len(labels) == 1


def test_the_command_prints_what_it_writes_whole(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    Path("config.toml").write_text(
        '[[source]]\nkind = "journal"\npath = "a.jsonl"\n[[source]]\nkind = "journal"\npath = "none.jsonl"\n'
    )
    assert retro("run", "--once").code == 1, "one source is not there"
    printed = read(retro("metrics").out)
    assert retro("metrics", "--output", "retro.prom").out == ""
    assert set(read(Path("retro.prom").read_text())) == set(printed)
    assert stat.S_IMODE(Path("retro.prom").stat().st_mode) & 0o444 == 0o444
    assert {family["name"] for family in retro("metrics", "--json").data} >= set(printed)
    ages = {
        dict(labels)["path"].rpartition("/")[2]: age
        for labels, age in printed["retro_source_age_seconds"].items()
    }
    assert 0 <= ages["a.jsonl"] < 3600
    assert "none.jsonl" not in ages, "what is not there has no age"
    failed = {
        dict(labels)["path"].rpartition("/")[2]: bad for labels, bad in printed["retro_source_failed"].items()
    }
    assert failed == {"a.jsonl": 0, "none.jsonl": 1}
    (knocked,) = printed["retro_last_knock_timestamp_seconds"].values()
    assert abs(time.time() - knocked) < 3600
    missing = retro("metrics", "--output", "no/folder/x.prom")
    assert (missing.code, missing.out) == (1, "")
    assert "no/folder/x.prom cannot be written" in missing.err


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def findings(retro: Retro, name: str) -> list[tuple[str, str]]:
    return [(row["state"], row["detail"]) for row in retro("doctor", "--json").data if row["check"] == name]


def test_doctor_knows_whether_anybody_would_notice(retro: Retro, listener: int) -> None:
    assert findings(retro, "ping")[0][0] == "note"
    for port, state in ((listener, "ok"), (1, "broken")):
        Path("config.toml").write_text(f'[service]\nping_url = "http://127.0.0.1:{port}/ping/secret-token"\n')
        ((verdict, detail),) = findings(retro, "ping")
        assert (verdict, "secret-token" in detail) == (state, False)


def test_doctor_knows_the_machines_that_share_a_database(store: Store, retro: Retro) -> None:
    now = time.time_ns() // 1000
    with store.write() as conn:
        note_knock(conn, "one", now)
        note_knock(conn, "two", now - 5 * HOUR)
    Path("config.toml").write_text(
        f'[store]\nurl = "{store.path or store.engine.url.render_as_string(hide_password=False)}"\n'
    )
    first, second, both = findings(retro, "hosts")
    assert (first[0], second[0], both[0]) == ("ok", "note", "broken" if store.dialect == "sqlite" else "note")
    assert "two last worked 5 h ago" in second[1]
    assert "one, two" in both[1]


def test_doctor_knows_whether_records_can_be_written(retro: Retro) -> None:
    Path("memory_data").mkdir()
    ((state, detail),) = findings(retro, "records folder")
    assert (state, "can be written" in detail) == ("ok", True)
    Path("file").write_text("")
    Path("config.toml").write_text('[memory]\ndirectory = "file/below"\n')
    ((state, detail),) = findings(retro, "records folder")
    assert (state, "is no directory" in detail) == ("broken", True)

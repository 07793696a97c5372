"""The commands of the service: run, reviews, show, diff, deliver; and the same from Python."""

from __future__ import annotations

import json
import logging
import re
import stat
import time
from collections.abc import Callable, Iterator
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import retro
from retro.errors import UnknownError
from retro.periods import DAY, HOUR, format_instant, parse_instant
from retro.report import PositionRetrospective, RetrospectiveReport
from retro.store.database import open_store
from retro.store.jobs import outbox, reviews
from retro.surface.cli.main import run
from tests.worlds.commands import CommandResult
from tests.worlds.service_world import life, line, lines_of

FIELDS = [
    "id", "agent", "kind", "subject", "period_start", "period_end", "state", "revision", "attempts", "backfill", "reason",
]  # fmt: skip


Retro = Callable[..., CommandResult]


@pytest.fixture
def call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Retro]:
    """`retro ...` in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    for name in ("RETRO_CONFIG", "ANTHROPIC_API_KEY", "RETRO_SMTP_PASSWORD", "RETRO_NOTIFY_URLS"):
        monkeypatch.delenv(name, raising=False)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def retro_(*argv: str) -> CommandResult:
        code = run(["--db", "retro.db", *argv])
        return CommandResult(code, *capsys.readouterr())

    yield retro_
    root.handlers[:] = handlers
    root.setLevel(level)


def start() -> int:
    """Midnight three days ago."""
    return time.time_ns() // 1000 // DAY * DAY - 3 * DAY


@pytest.fixture
def reviewed_life(call: Retro, tmp_path: Path) -> list[dict[str, Any]]:
    """Two days of a life, told and reviewed."""
    events = life(2, start=start())
    (tmp_path / "bot.jsonl").write_bytes(lines_of(events))
    assert call("ingest", "journal", "bot.jsonl").code == 0
    assert call("-q", "run", "--once").code == 0
    return events


@pytest.fixture
def parked(reviewed_life: Any, tmp_path: Path) -> str:
    """A review that failed too often, before it was ever made."""
    name = f"bot.daily.{day(1)}"
    store = open_store(str(tmp_path / "retro.db"))
    with store.write() as conn:
        key = reviews.by_id(conn, name).key
        for statement in (
            f"UPDATE reviews SET state = 'parked', reason = 'no luck' WHERE key = {key}",
            f"DELETE FROM review_documents WHERE review = {key}",
        ):
            conn.exec_driver_sql(statement)
    store.close()
    return name


def day(number: int) -> str:
    return format_instant(start() + number * DAY)[:10]


# run


def test_run_once_makes_what_is_due_and_says_little(call: Retro, reviewed_life: Any, tmp_path: Path) -> None:
    again = call("run", "--once")
    assert (again.code, again.out) == (0, "")
    (event,) = [json.loads(text) for text in again.err.splitlines()]
    assert (event["event"], event["done"]) == ("run_once", 0)
    assert (tmp_path / "reviews" / "bot" / "daily" / f"{day(0)}.json").exists()


def test_run_once_on_a_new_database_has_nothing_to_do(call: Retro, tmp_path: Path) -> None:
    assert call("run", "--once").code == 0
    assert (tmp_path / "retro.db").exists()
    assert call("reviews", "--json").data == []


def test_run_once_exits_1_while_a_review_is_parked(call: Retro, parked: str) -> None:
    assert call("-q", "run", "--once").code == 1
    assert call("reviews", "skip", parked, "--why", "never mind").code == 0
    assert call("-q", "run", "--once").code == 0


def test_the_last_line_of_run_once_names_what_is_parked(call: Retro, parked: str) -> None:
    event = json.loads(call("run", "--once").err.splitlines()[-1])
    said = f"1 review waits for a person: {parked}; `retro reviews --state parked` says why"
    assert (event["event"], event["attention"]) == ("run_once", said)


def test_run_once_exits_1_when_a_source_cannot_be_read(call: Retro, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[[source]]\nkind = "journal"\npath = "gone.jsonl"\n')
    for _ in range(2):
        result = call("run", "--once")
        assert result.code == 1
    assert "Traceback" not in result.err


def test_run_once_exits_75_beside_another_process(call: Retro, reviewed_life: Any, tmp_path: Path) -> None:
    from retro.daemon.lock import Instance

    other = Instance.of(tmp_path / "retro.db")
    result = call("run", "--once")
    assert result.code == 75
    assert result.err.startswith("retro: another process (")
    assert call("reviews", "--json").code == 0
    other.release()
    assert call("-q", "run", "--once").code == 0


# reviews


def test_reviews_lists_what_is_there_in_the_fields_of_the_contract(call: Retro, reviewed_life: Any) -> None:
    rows = call("reviews", "--json").data
    assert [list(row) for row in rows] == [FIELDS] * len(rows)
    by_id = {row["id"]: row for row in rows}
    assert by_id["bot.position.p0"] == {
        "id": "bot.position.p0",
        "agent": "bot",
        "kind": "position",
        "subject": "p0",
        "period_start": f"{day(0)}T09:00:00Z",
        "period_end": f"{day(0)}T15:00:00Z",
        "state": "done",
        "revision": 1,
        "attempts": 0,
        "backfill": True,
        "reason": None,
    }
    assert [row["period_end"] for row in rows] == sorted(row["period_end"] for row in rows)
    assert {row["kind"] for row in rows} >= {"daily", "position"}
    assert call("reviews", "list", "--json").data == rows
    assert call("reviews", "--agent", "nobody", "--json").data == []
    done = call("reviews", "--state", "done", "--json").data
    assert done == [row for row in rows if row["state"] == "done"]
    assert call("reviews", "--state", "finished").code == 2


def test_reviews_is_a_table_within_80_columns(call: Retro, reviewed_life: Any) -> None:
    result = call("reviews")
    assert "bot.position.p0" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_an_empty_list_of_one_state_does_not_say_that_there_are_no_reviews(
    call: Retro, reviewed_life: Any
) -> None:
    told = call("reviews", "--state", "parked")
    assert (told.code, told.out) == (0, "")
    assert re.search(r"no review is parked; \d+ reviews in other states", told.err)


def test_retry_and_skip_say_what_they_did_and_refuse_what_is_done(call: Retro, parked: str) -> None:
    assert call("reviews", "skip", parked, "--why", "a move").out == f"{parked} is skipped\n"
    row = next(row for row in call("reviews", "--json").data if row["id"] == parked)
    assert (row["state"], row["reason"]) == ("skipped", "a move")
    assert call("reviews", "retry", parked, "--json").data["state"] == "due"
    assert call("-q", "run", "--once").code == 0
    refused = call("reviews", "skip", parked, "--why", "x")
    assert (refused.code, refused.out) == (2, "")
    assert f"{parked} is done" in refused.err
    assert call("reviews", "retry", "bot.nothing").code == 1


# show, diff


def test_show_prints_the_stored_bytes_and_they_validate(
    call: Retro, reviewed_life: Any, tmp_path: Path
) -> None:
    store = open_store(str(tmp_path / "retro.db"))
    schemas = {"report": call("schema", "report").data, "position": call("schema", "position").data}
    for row in call("reviews", "--state", "done", "--json").data:
        printed = call("show", row["id"], "--format", "json")
        with store.read() as conn:
            stored = reviews.revision_of(conn, reviews.by_id(conn, row["id"]).key)
        assert stored is not None
        assert printed.out == stored.document
        Draft202012Validator(schemas["position" if row["kind"] == "position" else "report"]).validate(
            printed.data
        )
        assert call("show", row["id"], "--json").out == printed.out
    store.close()


def test_show_and_review_print_the_same_figures(call: Retro, reviewed_life: Any) -> None:
    """What was stored is what a review computed now would say."""
    stored = call("show", "bot.daily." + day(0), "--format", "json")
    now = call("review", "daily", "--at", f"{day(0)}T12:00:00Z", "--format", "json")
    assert stored.out == now.out
    for name in ("p0", "p1"):
        assert call("show", f"bot.position.{name}", "--json").data == call(
            "review", "position", name, "--json"
        ).data | {
            "post_exit_trajectory": call("show", f"bot.position.{name}", "--json").data[
                "post_exit_trajectory"
            ]
        }


def test_what_is_open_is_stored_as_of_the_end_of_its_period_though_its_agent_was_silent(
    call: Retro, tmp_path: Path
) -> None:
    """A position that an agent holds without a word: a review of its own accord stops at the agent's last one."""
    start = parse_instant(f"{day(0)}T00:00:00Z")
    open_life = [
        event
        for event in life(1, start=start)
        if event["type"] != "mark" and not event["id"].endswith(("-s", "-out"))
    ]
    (tmp_path / "held.jsonl").write_bytes(lines_of(open_life))
    rows = "".join(f"{format_instant(start + h * HOUR)},{2000 + h}\n" for h in range(25))
    (tmp_path / "eth.csv").write_text(f"timestamp,price\n{rows}")
    assert call("ingest", "journal", "held.jsonl").code == 0
    assert call("ingest", "marks", "eth.csv", "--instrument", "ETH/USDC").code == 0
    assert call("run", "--once").code == 0
    stored = call("show", f"bot.daily.{day(0)}", "--json")
    asked = ("review", "daily", "--agent", "bot", "--at", f"{day(0)}T12:00:00Z")
    assert stored.out == call(*asked, "--as-of", f"{day(1)}T00:00:00Z", "--json").out
    assert stored.data["pnl"]["total"] == pytest.approx(24)
    assert call(*asked, "--json").data["pnl"]["total"] == pytest.approx(9)


@pytest.mark.parametrize(("form", "begin"), [("text", "bot"), ("md", "#"), ("html", "<!DOCTYPE html>")])
def test_show_has_the_formats_of_a_review(
    call: Retro, reviewed_life: Any, tmp_path: Path, form: str, begin: str
) -> None:
    result = call("show", "bot.daily." + day(0), "--format", form)
    assert begin.lower() in result.out[:200].lower()
    assert call("show", "bot.daily." + day(0), "--format", form, "-o", "x").code == 0
    assert (tmp_path / "x").read_text().rstrip("\n") == result.out.rstrip("\n")


def test_show_of_what_is_not_made_says_in_what_state_it_is(call: Retro, parked: str) -> None:
    result = call("show", parked)
    assert (result.code, result.out) == (1, "")
    assert f"{parked} is parked: no luck; there is nothing to show yet" in result.err
    assert call("show", "bot.daily.1999-01-01").code == 1
    assert call("show", "bot.position.p0", "--format", "pdf").code == 2
    assert call("show", "bot.position.p0@7").code == 1
    assert call("show", "bot.position.p0", "--model-exchange").data == []


def test_a_revision_says_what_changed_and_both_can_be_compared(
    call: Retro, reviewed_life: Any, tmp_path: Path
) -> None:
    late = [line("cost", "late", start() + 3_600_000_000, kind="gas", amount="2.5")]
    (tmp_path / "late.jsonl").write_bytes(lines_of(late))
    call("ingest", "journal", "late.jsonl")
    assert call("-q", "run", "--once").code == 0
    name = "bot.daily." + day(0)
    assert next(row["revision"] for row in call("reviews", "--json").data if row["id"] == name) == 2
    result = call("show", name)
    assert "revision 2: facts came in late; Result +10.00 USDC -> +7.50 USDC" in result.err
    assert call("show", f"{name}@1", "--json").data["pnl"]["total"] == pytest.approx(10)
    changes = {
        row["what"]: (row["before"], row["after"]) for row in call("diff", f"{name}@1", name, "--json").data
    }
    assert changes["Result"] == ("+10.00 USDC", "+7.50 USDC")
    assert "Result" in call("diff", f"{name}@1", f"{name}@2").out
    assert call("diff", name, name, "--json").data == []
    assert call("diff", name, "bot.position.p0").code == 2


# deliver


def test_deliver_lists_sends_again_and_previews(call: Retro, reviewed_life: Any, tmp_path: Path) -> None:
    rows = call("deliver", "--json").data
    assert {tuple(row) for row in rows} == {("id", "review", "revision", "channel", "recipient", "state")}
    files = [row for row in rows if row["channel"] == "file"]
    assert {row["state"] for row in files} == {"sent"}
    assert max(map(len, call("deliver").out.splitlines())) <= 80
    name = f"bot.daily.{day(0)}"
    (tmp_path / "reviews" / "bot" / "daily" / f"{day(0)}.md").unlink()
    again = call("deliver", "--resend", name)
    assert again.code == 0
    assert (tmp_path / "reviews" / "bot" / "daily" / f"{day(0)}.md").exists()
    assert call("deliver", "--resend", str(files[0]["id"])).code == 0
    assert call("deliver", "--resend", "999999").code == 1
    result = call("deliver", "--preview", name, "-o", "out")
    assert result.out.split() == [f"out/{name}.eml", f"out/{name}.html"]
    mail = BytesParser(policy=policy.default).parsebytes((tmp_path / "out" / f"{name}.eml").read_bytes())
    assert mail["Message-ID"]
    assert "<html" in (tmp_path / "out" / f"{name}.html").read_text().lower()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}


def test_deliver_shows_what_goes_to_people_with_whole_reasons_and_counts_the_files(
    call: Retro, reviewed_life: Any, tmp_path: Path
) -> None:
    reason = (
        "mx.example.org did not take the recipient: 450 4.2.1 greylisted, come back in five minutes please"
    )
    with open_store(str(tmp_path / "retro.db")).write() as conn:
        review = reviews.listed(conn, None)[0]
        outbox.write(conn, [outbox.Letter(review.key, review.revision, "mail", "ada@example.org")], 0)
        (letter,) = outbox.claim(conn, "me", 1, 1, "mail", digest=outbox.ALONE, limit=1)
        outbox.record(conn, [letter], "pending", reason=reason, not_before=60_000_000)
    listed = call("deliver").out
    assert max(map(len, listed.splitlines())) <= 80
    assert "ada@example.org" in listed
    assert f"tried 1 time, again at 1970-01-01 00:01 UTC: {reason}" in " ".join(listed.split())
    assert " reviews " not in listed
    assert re.search(r"And \d+ sent to file(?:, \d+ sent to records)?: --json lists them all\.", listed)


def test_deliver_leaves_sending_to_a_service_that_runs(
    call: Retro, reviewed_life: Any, tmp_path: Path
) -> None:
    from retro.daemon.lock import Instance

    other = Instance.of(tmp_path / "retro.db")
    result = call("deliver", "--resend", "bot.position.p0")
    assert result.code == 0
    assert "the running service does it" in result.err
    other.release()
    assert "pending" in {row["state"] for row in call("deliver", "--json").data}


# Python


def test_python_reads_what_the_commands_print(call: Retro, reviewed_life: Any, tmp_path: Path) -> None:
    with retro.open(str(tmp_path / "retro.db")) as mirror:
        assert mirror.reviews() == call("reviews", "--json").data
        assert mirror.reviews("nobody") == []
        document = mirror.review("bot.daily." + day(0))
        assert document == call("show", "bot.daily." + day(0), "--json").data
        RetrospectiveReport.model_validate(document)
        PositionRetrospective.model_validate(mirror.review("bot.position.p0"))
        with pytest.raises(UnknownError):
            mirror.review("bot.nothing")

"""`retro review`: which period, which format, and where it goes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.worlds.commands import SAMPLE, Retro, event, process, retro, round_trip, sample_db
from tests.worlds.places import ROOT

__all__ = ["retro", "sample_db"]

FORMATS = ("text", "json", "md", "html")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("words", [["weekly"], ["daily"], ["epoch"], ["position", "lp-2"]], ids=" ".join)
def test_every_review_has_every_format_and_leaves_the_database_alone(
    words: list[str], form: str, sample_db: Path, retro: Retro
) -> None:
    before = sample_db.read_bytes()
    result = retro("--config", SAMPLE / "config.toml", "--db", sample_db, "review", *words, "--format", form)
    assert (result.code, result.err) == (0, "")
    assert "sample" in result.out
    if form == "text":
        assert max(map(len, result.out.splitlines())) <= 80
    if form == "json":
        assert result.data["agent"] == "sample"
    if form == "html":
        assert result.out.startswith("<!doctype html>")
        assert "<script" not in result.out
    assert sample_db.read_bytes() == before, "a review stores nothing"


@pytest.mark.parametrize("form", FORMATS)
def test_a_review_in_a_file_is_the_review_on_the_screen(form: str, sample_db: Path, retro: Retro) -> None:
    words = ("--db", sample_db, "review", "weekly", "--format", form)
    printed = retro(*words).out
    result = retro(*words, "-o", "week")
    assert (result.code, result.out, result.err) == (0, "", "wrote week\n")
    assert Path("week").read_bytes().decode() == printed.removesuffix("\n") + (
        "\n" if Path("week").read_bytes().endswith(b"\n") else ""
    )


def test_json_is_a_format_and_an_option(sample_db: Path, retro: Retro) -> None:
    words = ("--db", sample_db, "review", "weekly")
    assert retro(*words, "--json").out == retro(*words, "--format", "json").out


_COUNTED = """
import gc, sys
def told(phase, info):
    if phase == "start":
        print("looked", sum(len(gc.get_objects(i)) for i in range(info["generation"] + 1)), file=sys.stderr)
gc.callbacks.append(told)
from retro.__main__ import main
main()
"""


def test_a_review_looks_through_hardly_anything_for_cycles(
    sample_db: Path,
) -> None:
    """Some 90,000 objects are imported, and none of them goes before the process does."""
    words = ["-q", "--db", str(sample_db), "review", "weekly", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED, *words], capture_output=True, text=True, check=True
    )
    looked = [int(line.split()[1]) for line in done.stderr.splitlines()]
    assert looked, "the interpreter looks once more when it ends"
    assert sum(looked) < 20_000


def test_twice_the_same_bytes_also_from_another_process(sample_db: Path, retro: Retro) -> None:
    words = ("--db", sample_db, "review", "weekly", "--json")
    assert retro(*words).out == process(*words).out


# Periods


def test_without_a_date_it_is_the_last_complete_period(sample_db: Path, retro: Retro) -> None:
    def period(*words: str) -> tuple[str, str, str]:
        report = retro("--db", sample_db, "review", *words, "--json").data
        return report["id"], report["period_start"], report["period_end"]

    assert period("daily") == ("sample.daily.2026-03-08", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z")
    assert period("weekly")[0] == "sample.weekly.2026-W10"
    assert period("weekly", "--at", "2026-02-11")[0] == "sample.weekly.2026-W07"
    assert period("weekly", "--at", "2026-02-11T23:59:59+00:00")[0] == "sample.weekly.2026-W07"
    assert period("epoch", "--at", "2026-01-20")[0] == "sample.epoch.2026-01-05"
    exactly = period("weekly", "--from", "2026-02-01T06:00:00Z", "--to", "2026-02-03")
    assert exactly[1:] == ("2026-02-01T06:00:00Z", "2026-02-03T00:00:00Z")


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "Pacific/Apia"])
def test_a_date_is_the_owner_s_day(zone: str, sample_db: Path, retro: Retro) -> None:
    """Midnight UTC of that date lies in another day of New York: the day asked for is the owner's."""
    Path("config.toml").write_text(f'[owner]\ntime_zone = "{zone}"\n')
    report = retro("--db", sample_db, "review", "daily", "--at", "2026-02-11", "--json").data
    assert report["id"] == "sample.daily.2026-02-11"
    assert report["time_zone"] == zone
    days = retro("--db", sample_db, "review", "daily", "--from", "2026-02-11", "--to", "2026-02-12", "--json")
    assert (days.data["period_start"], days.data["period_end"]) == (
        report["period_start"],
        report["period_end"],
    )


def test_from_must_lie_before_to(sample_db: Path, retro: Retro) -> None:
    result = retro("--db", sample_db, "review", "weekly", "--from", "2026-02-03", "--to", "2026-02-01")
    assert result.code == 2
    result = retro(
        "--db", sample_db, "review", "weekly",
        "--at", "2026-02-03", "--from", "2026-02-03", "--to", "2026-02-04",
    )  # fmt: skip
    assert result.code == 2


def test_a_period_nobody_lived_in_is_answered_and_pointed_out(sample_db: Path, retro: Retro) -> None:
    for date in ("1999-12-31", "2031-01-01"):
        result = retro("--db", sample_db, "review", "weekly", "--at", date, "--json")
        assert result.code == 0
        assert result.data["pnl"]["total"] == 0
        assert "note: nothing is known of sample in this period; its events go from 2026-01-05" in result.err
    assert "note" not in retro("--db", sample_db, "review", "weekly").err


def test_as_of_knows_nothing_of_what_came_later(sample_db: Path, retro: Retro) -> None:
    report = retro("--db", sample_db, "review", "weekly", "--as-of", "2026-02-18T12:00:00Z", "--json").data
    assert report["id"] == "sample.weekly.2026-W07"
    assert report["known_until"] <= "2026-02-18T12:00:00Z"


# Files


def test_a_file_appears_whole_or_not_at_all(sample_db: Path, retro: Retro) -> None:
    Path("folder").mkdir()
    words = ("--db", sample_db, "review", "weekly", "-o")
    for target, reason in (("nowhere/week.html", "No such file"), ("folder", "is a directory")):
        result = retro(*words, target)
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("retro: ")
        assert reason in result.err
    assert [path.name for path in Path().iterdir()] == ["folder"]
    assert not list(Path("folder").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_one_line(sample_db: Path, retro: Retro) -> None:
    Path("closed").mkdir(mode=0o500)
    result = retro("--db", sample_db, "review", "weekly", "-o", "closed/week.html")
    assert result.code == 1
    assert "Permission denied" in result.err


def test_a_file_keeps_its_permissions_and_a_new_one_gets_the_usual_ones(
    sample_db: Path, retro: Retro
) -> None:
    old = os.umask(0o022)
    try:
        words = ("--db", sample_db, "review", "daily", "--format", "html", "-o")
        retro(*words, "new.html")
        assert stat.S_IMODE(Path("new.html").stat().st_mode) == 0o644
        Path("mine.html").write_text("before")
        Path("mine.html").chmod(0o600)
        retro(*words, "mine.html")
        assert stat.S_IMODE(Path("mine.html").stat().st_mode) == 0o600
        assert Path("mine.html").read_text() == Path("new.html").read_text()
    finally:
        os.umask(old)


def test_a_link_is_followed_and_stays_a_link(sample_db: Path, retro: Retro) -> None:
    Path("real").mkdir()
    Path("week.md").symlink_to("real/week.md")
    assert retro("--db", sample_db, "review", "weekly", "--format", "md", "-o", "week.md").code == 0
    assert Path("week.md").is_symlink()
    assert "sample" in Path("real/week.md").read_text()


def test_a_pipe_is_written_to_and_not_replaced(sample_db: Path, retro: Retro) -> None:
    os.mkfifo("pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    result = retro("--db", sample_db, "review", "daily", "-o", "pipe")
    reader.join()
    assert result.code == 0
    assert got[0].startswith("DAILY REVIEW: sample")
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


# A playbook


def test_the_playbook_of_the_configuration_gives_its_texts(retro: Retro) -> None:
    Path("PLAYBOOK.md").write_text("# P\n\n## Global\n\n- H-1 [0.50] Buy the dip {tags: dip}\n")
    Path("config.toml").write_text('[agent.ada]\nplaybook = "PLAYBOOK.md"\n')
    Path("a.jsonl").write_text(round_trip("p", cites=["dip"]) + round_trip("q", "2026-03-03", cites=["H-1"]))
    retro("ingest", "journal", "a.jsonl")
    rows = retro("playbook", "audit", "--json").data
    assert [(row["heuristic_id"], row["heuristic_text"], row["citation_count"]) for row in rows] == [
        ("H-1", "Buy the dip", 2)
    ]
    Path("PLAYBOOK.md").unlink()
    result = retro("review", "weekly")
    assert (result.code, result.out) == (1, "")
    assert "PLAYBOOK.md cannot be read" in result.err


def test_lint_names_lines_and_format_gives_back_every_byte(retro: Retro) -> None:
    odd = b"# P\r\n\r\n## Global\r\n\r\n- H-1 [0.50] Buy \xff the dip\r\nprose"
    Path("odd.md").write_bytes(odd)
    done = subprocess.run(
        [sys.executable, "-m", "retro", "playbook", "format", Path("odd.md").absolute()],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, odd), "format prints whatever lint would say"
    Path("good.md").write_text("## Global\n\n- H-1 [0.50] One\n")
    Path("bad.md").write_text("## Global\n\n- H-1 [0.50] One\n- H-1 [0.40] Two\n")
    assert retro("playbook", "lint", "good.md").code == 0
    result = retro("playbook", "lint", "bad.md")
    assert result.code == 1
    assert result.out.startswith("bad.md:4: ")
    document = retro("playbook", "lint", "bad.md", "--json").data
    assert [fault["line"] for fault in document["faults"]] == [4]
    assert retro("playbook", "lint", "missing.md").code == 1


def test_the_longest_name_an_event_may_have_names_its_position(retro: Retro) -> None:
    name = "\N{GRINNING FACE}" * 500
    Path("a.jsonl").write_text(round_trip("p").replace('"position": "p"', f'"position": "{name}"'))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert [row["position_id"] for row in retro("positions", "--json").data] == [name]
    result = retro("review", "position", name, "--json")
    assert (result.data["position_id"], result.data["final_pnl"]) == (name, 5.0)


def test_the_smallest_and_the_largest_numbers_spoil_no_review(retro: Retro) -> None:
    """What is legal alone must be legal together: no product overflows, nothing is divided by a zero it became."""
    trade = {"position": "q", "instrument": "BTC/USDC"}
    lp = {"position": "lp", "instrument": "ETH/USDC", "token0": "ETH", "token1": "USDC", "kind": "lp"}
    tiny, huge = "1e-400", "1e50"
    Path("a.jsonl").write_text(
        round_trip("p")
        + event("position", "1", kind="spot", side="long", funded_with={"ETH": 0, "BTC": tiny}, **trade)
        + event("fill", "1", side="buy", quantity=huge, price=huge, fee=huge, **trade)
        + event("mark", "1", "2026-03-02T10:00:00Z", instrument="BTC/USDC", price="1e-323")
        + event("fill", "2", "2026-03-02T11:00:00Z", side="sell", quantity=huge, price=tiny, **trade)
        + event("position", "2", **lp)
        + event("snapshot", "1", position="lp", holdings={"ETH": tiny}, claimable={"ETH": huge})
        + event(
            "flow", "1", "2026-03-02T12:00:00Z", position="lp", kind="lp_fee", asset="ETH", quantity="1e-323"
        )
        + event("flow", "2", "2026-03-02T13:00:00Z", kind="reward", asset="BTC", quantity=huge)
        + event("cost", "1", "2026-03-02T14:00:00Z", kind="gas", asset="BTC", quantity=tiny)
    )
    retro("ingest", "journal", "a.jsonl")
    for words in (["daily"], ["weekly"], ["epoch"], ["position", "q"], ["position", "lp"], ["position", "p"]):
        for form in ("json", "html"):
            result = retro("review", *words, "--format", form)
            assert (result.code, "NaN" in result.out, "Infinity" in result.out) == (0, False, False), (
                result.err
            )

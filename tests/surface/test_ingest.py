"""`retro ingest`: what it says, what it keeps, and what a second, third or older reading changes (nothing)."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest

from tests.worlds.commands import JOURNAL, Retro, event, process, retro, round_trip
from tests.worlds.freqtrade_databases import Order, Trade, write

__all__ = ["retro"]

D = "2026-01-{:02d} 00:00:00.000000"


def reviews(retro: Retro, db: str, agent: str = "ada") -> tuple[str, ...]:
    """Everything a database says of an agent."""
    return tuple(
        retro("--db", db, *words, "--agent", agent).out
        for words in (["positions", "--json"], ["review", "epoch", "--json"], ["playbook", "audit", "--json"])
    )


def test_the_document_of_the_contract(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p") + "not json\n")
    result = retro("ingest", "journal", "a.jsonl", "--json")
    assert result.code == 1
    assert result.data == {
        "source": "a.jsonl",
        "events": 5,
        "stored": 5,
        "unchanged": 0,
        "conflicts": 0,
        "faults": [{"where": "a.jsonl", "line": 6, "reason": result.data["faults"][0]["reason"]}],
    }
    again = retro("ingest", "journal", "a.jsonl", "--json")
    assert (again.data["stored"], again.data["unchanged"]) == (0, 5)


def test_it_ends_with_the_next_command_to_type(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    assert retro("ingest", "journal", "a.jsonl").err.splitlines()[-1] == "next: retro review weekly"
    result = retro("--db", "my dir.db", "ingest", "journal", "a.jsonl")
    assert result.err.splitlines()[-1] == "next: retro --db 'my dir.db' review weekly"
    Path("b.jsonl").write_text(round_trip("p", agent="bob"))
    result = retro("ingest", "journal", "b.jsonl")
    assert result.err.splitlines()[-1] == "next: retro review weekly --agent bob"
    assert retro(*result.err.splitlines()[-1].split()[2:]).code == 0, "it can be typed"


def test_marks_lead_to_whatever_can_be_done_next(retro: Retro) -> None:
    Path("m.csv").write_text("timestamp,price\n2026-03-02T10:00:00Z,100\n")
    words = ("ingest", "marks", "m.csv", "--instrument", "ETH/USDC")
    assert retro(*words).err.splitlines()[-1] == "next: retro ingest journal agent.jsonl"
    Path("a.jsonl").write_text(round_trip("p"))
    retro("ingest", "journal", "a.jsonl")
    assert retro(*words).err.splitlines()[-1] == "next: retro review weekly"


def test_a_conflict_is_kept_back_until_it_is_said_to_be_a_correction(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p", profit=5))
    Path("b.jsonl").write_text(round_trip("p", profit=7))
    retro("ingest", "journal", "a.jsonl")
    result = retro("ingest", "journal", "b.jsonl", "--json")
    assert (result.code, result.data["conflicts"], result.data["faults"]) == (1, 1, [])
    assert "b.jsonl:5: fill 'p-s' of ada is known with another" in result.err
    assert retro("positions", "--json").data[0]["final_pnl"] == 5
    result = retro("ingest", "journal", "b.jsonl", "--on-conflict", "replace", "--json")
    assert (result.code, result.data["stored"], result.data["unchanged"]) == (0, 1, 4)
    assert retro("positions", "--json").data[0]["final_pnl"] == 7


def test_strict_keeps_nothing_of_a_file_with_a_bad_line(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p") + event("nonsense", "x"))
    result = retro("ingest", "journal", "--strict", "a.jsonl", "--json")
    assert (result.code, result.data["stored"], len(result.data["faults"])) == (1, 0, 1)
    assert retro("agents", "--json").data == []


def test_a_dry_run_says_what_would_happen_and_makes_nothing(retro: Retro, tmp_path: Path) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    result = retro("ingest", "journal", "--dry-run", "a.jsonl")
    assert (result.code, result.out) == (0, "a.jsonl: 5 events, 5 new, 0 unchanged, 0 conflicts, 0 faults\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    retro("ingest", "journal", "a.jsonl")
    before = Path("memory_data/retro.db").read_bytes()
    Path("a.jsonl").write_text(round_trip("p") + round_trip("q"))
    result = retro("ingest", "journal", "--dry-run", "a.jsonl")
    assert "10 events, 4 new, 6 unchanged" in result.out  # one mark is of the same instant and price
    assert Path("memory_data/retro.db").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["journal", "nothing"],
        ["journal", "folder"],
        ["journal", ""],
        ["journal", "other.sqlite"],
        ["freqtrade", "nothing"],
        ["freqtrade", "folder"],
        ["freqtrade", "text.txt"],
        ["freqtrade", "empty"],
        ["marks", "nothing", "--instrument", "X"],
        ["marks", "folder", "--instrument", "X"],
        ["marks", "text.txt", "--instrument", "X"],
    ],
    ids=" ".join,
)
def test_a_source_that_cannot_be_read_is_one_line_and_makes_no_database(
    words: list[str], retro: Retro
) -> None:
    Path("folder").mkdir()
    Path("text.txt").write_text("once upon a time\n")
    Path("empty").write_bytes(b"")
    Path("other.sqlite").write_bytes(b"SQLite format 3\0" + bytes(500))
    result = retro("ingest", *words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("retro: ")
    assert result.err.count("\n") == 1
    json_result = retro("ingest", *words, "--json")
    sentence = result.err.removeprefix("retro: ").removesuffix("\n")
    assert (json_result.code, json_result.err) == (1, result.err)
    assert json_result.data == {
        **dict.fromkeys(("events", "stored", "unchanged", "conflicts"), 0),
        "source": words[1],
        "faults": [{"where": words[1], "line": None, "reason": sentence}],
    }
    assert not Path("memory_data").exists()


def test_a_file_that_may_not_be_read_is_the_data_s_fault_and_not_the_command_s(
    retro: Retro, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a").write_bytes(b"")
    Path("a").chmod(0)
    monkeypatch.setattr("os.access", lambda *_, **__: False)  # what root is told, too
    for words in (["journal", "a"], ["freqtrade", "a"], ["marks", "a", "--instrument", "X"]):
        assert retro("ingest", *words).code != 2
    assert retro("playbook", "lint", "a").code != 2


def test_one_bad_name_among_many_does_not_keep_the_others_out(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p"))
    Path("b.jsonl").write_text(round_trip("q", day="2026-03-03"))
    result = retro("ingest", "journal", "a.jsonl", "missing", "b.jsonl", "--json")
    assert result.code == 1
    counts = [(entry["source"], entry["stored"], len(entry["faults"])) for entry in result.data]
    assert counts == [("a.jsonl", 5, 0), ("missing", 0, 1), ("b.jsonl", 5, 0)]
    assert "retro: missing does not exist; check the path\n" in result.err
    assert len(retro("positions", "--json").data) == 2


def test_nothing_is_nothing(retro: Retro) -> None:
    Path("empty.jsonl").write_bytes(b"")
    result = retro("ingest", "journal", "empty.jsonl", "--json")
    assert (result.code, result.data["events"], result.data["faults"]) == (0, 0, [])


def test_standard_input_and_gzip_tell_the_same(tmp_path: Path) -> None:
    text = round_trip("p").encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text))
    process("--db", tmp_path / "a.db", "ingest", "journal", tmp_path / "a.jsonl.gz", check=True)
    process("--db", tmp_path / "b.db", "ingest", "journal", "-", stdin=gzip.compress(text), check=True)
    process("--db", tmp_path / "c.db", "ingest", "journal", "-", stdin=text, check=True)
    outputs = {process("--db", tmp_path / f"{db}.db", "review", "daily", "--json").out for db in "abc"}
    assert len(outputs) == 1


def test_unknown_fields_are_kept_counted_and_told(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p", mood="calm") + round_trip("q", day="2026-03-03", mood="tense"))
    result = retro("ingest", "journal", "a.jsonl")
    assert result.code == 0
    assert "fields named mood (2)" in result.err


def test_faults_are_kept_until_the_file_is_read_again(retro: Retro) -> None:
    Path("a.jsonl").write_text(round_trip("p") + event("fill", "f", price="-1") + "{")
    result = retro("ingest", "journal", "a.jsonl")
    assert result.code == 1
    fault_lines = [line.strip() for line in result.err.splitlines() if line.startswith("  ")]
    assert [line.split(": ")[0] for line in fault_lines] == ["a.jsonl:6", "a.jsonl:7"]
    assert retro("faults").out.splitlines() == fault_lines
    assert retro("ingest", "faults").out.splitlines() == fault_lines
    assert [row["line"] for row in retro("faults", "--json").data] == [6, 7]
    Path("a.jsonl").write_text(round_trip("p"))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    assert retro("faults").out == ""


def test_the_order_of_files_and_of_lines_makes_no_difference(retro: Retro) -> None:
    days = [round_trip(f"p{day}", f"2026-03-0{day}", profit=day - 4, cites=["H-1"]) for day in (2, 3, 5)]
    for number, order in enumerate(itertools.permutations(days)):
        for part, text in enumerate(order):
            Path(f"{part}.jsonl").write_text("".join(reversed(text.splitlines(keepends=True))))
        Path("all.jsonl").write_text("".join(order))
        names = ["all.jsonl", "0.jsonl"] if number % 2 else ["2.jsonl", "0.jsonl", "1.jsonl", "2.jsonl"]
        assert retro("--db", f"{number}.db", "ingest", "journal", *names).code == 0
    outputs = {reviews(retro, f"{number}.db") for number in range(6)}
    assert len(outputs) == 1


# freqtrade


def test_a_bot_is_read_in_one_command(retro: Retro) -> None:
    bot = Trade([Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 110.0, D.format(3))], id=17)
    write(Path("tradesv3.sqlite"), [bot])
    result = retro("ingest", "freqtrade", "tradesv3.sqlite", "--capital", "1000")
    assert result.code == 0
    assert result.err.splitlines()[-1] == "next: retro review weekly"
    row = retro("positions", "--json").data[0]
    assert (row["position_id"], row["agent"]) == ("ft-17", "Sample")
    assert row["final_pnl"] == pytest.approx(20 - 0.2 - 0.22)
    assert retro("agents", "--json").data[0]["capital"] == 1000


def test_copies_of_a_bot_s_database_may_be_read_in_any_order(retro: Retro) -> None:
    """While open a trade was told as half of what it became: its close corrects it, an older copy never does."""
    first = Order(True, 2.0, 100.0, D.format(1))
    other = Trade(
        [Order(True, 1.0, 50.0, D.format(1)), Order(False, 1.0, 55.0, D.format(2))], id=2, pair="A/USDT"
    )
    early = [Trade([first], open=True, enter_tag="guess"), other]
    last = Order(False, 2.0, 110.0, D.format(5))
    late = [Trade([first, last], enter_tag="breakout"), other]
    for name, trades in (("early", early), ("late", late)):
        write(Path(f"{name}.sqlite"), trades)
    orders = (["late"], ["early", "late"], ["late", "early"], ["early", "late", "early", "late"])
    outputs = set()
    for number, names in enumerate(orders):
        for name in names:
            assert retro("--db", f"{number}.db", "ingest", "freqtrade", f"{name}.sqlite").code == 0
        outputs.add(reviews(retro, f"{number}.db", "Sample"))
    assert len(outputs) == 1
    assert "breakout" in outputs.pop()[1]


def test_an_older_copy_says_that_nothing_is_new(retro: Retro) -> None:
    first, last = Order(True, 2.0, 100.0, D.format(1)), Order(False, 2.0, 110.0, D.format(5))
    write(Path("early.sqlite"), [Trade([first], open=True, enter_tag="guess")])
    write(Path("late.sqlite"), [Trade([first, last], enter_tag="breakout")])
    retro("ingest", "freqtrade", "late.sqlite")
    result = retro("ingest", "freqtrade", "early.sqlite", "--json")
    assert (result.code, result.data["stored"], result.data["conflicts"]) == (0, 0, 0)
    assert result.data["unchanged"] == result.data["events"]


def test_the_sample_s_journal_is_read_without_a_fault(retro: Retro) -> None:
    result = retro("ingest", "journal", JOURNAL, "--json")
    lines = len(JOURNAL.read_text().splitlines())
    assert (result.code, result.data["events"], result.data["stored"]) == (0, lines, lines)
    assert json.loads(json.dumps(result.data)) == result.data

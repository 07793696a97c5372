"""From facts and reviews to memory and records: what is told, what hindsight amends, and that nothing is ever half done."""

from __future__ import annotations

import io
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import event, round_trip
from sqlalchemy import event as hooks

import memory
from retro.config import Config
from retro.deliver.channel import Message, Refused, Retry, Sent
from retro.deliver.records import Records, records_channel, records_of
from retro.ingest.journal import read
from retro.narrate.plain import words
from retro.periods import parse_instant, period_at
from retro.pipeline.ingest import ingest
from retro.pipeline.opening import bench_of
from retro.pipeline.remember import damaged_records, learning, registry_of, remember_review
from retro.pipeline.review import review_period, review_position
from retro.pipeline.service import run_once
from retro.pipeline.settings import settings_of
from retro.report import RetrospectiveReport
from retro.store.agents import agents
from retro.store.engine import Store, open_store
from retro.store.reviews import Review

WEEK = parse_instant("2026-03-02T00:00:00Z")
FORK = multiprocessing.get_context("fork")


class House:
    """A store with an agent's journal, and reviews of it."""

    def __init__(self, store: Store, journal: str, **tables: Any) -> None:
        self.store, self.config = store, Config.model_validate(tables, strict=False)
        self.tell(journal)

    def tell(self, journal: str) -> None:
        lines = io.BytesIO(journal.encode())
        done = ingest(
            self.store, "test", read(lines, "test", now=parse_instant("2026-06-01T00:00:00Z")), self.settings
        )
        assert done.clean, done.faults

    def settings(self, agent: Any):
        return settings_of(self.config, agent, None)

    @property
    def agent(self):
        with self.store.read() as conn:
            return agents(conn)[0]

    def week(self) -> tuple[Review, RetrospectiveReport]:
        settings = self.settings(self.agent)
        period = period_at("weekly", WEEK, settings.zone)
        report = words(review_period(self.store, self.agent, settings, period))
        return owed("weekly", report.id, period.start, period.end), report

    def position(self, name: str):
        document = review_position(self.store, self.agent, self.settings(self.agent), name)
        entered, left = parse_instant(document.entry_at), parse_instant(document.exit_at)
        return owed("position", f"ada.position.{name}", entered, left, subject=name), document

    def learn(self, made: tuple[Review, Any]):
        review, document = made
        with self.store.write() as conn:
            return remember_review(conn, review, document, self.settings(self.agent), self.config)

    def episodes(self) -> dict[str, dict[str, Any]]:
        with self.store.read() as conn:
            return {one["id"]: one for one in memory.episodes(conn, "ada")}

    def everything(self) -> Any:
        """Every row of the memory."""
        with self.store.read() as conn:
            names = sorted(memory_tables(conn))
            return {
                name: sorted(map(repr, conn.exec_driver_sql(f"SELECT * FROM {name}").all())) for name in names
            }


def memory_tables(conn: Any) -> list[str]:
    from memory.store.tables import metadata

    return list(metadata.tables)


def owed(kind: str, name: str, start: int, end: int, *, subject: str = "") -> Review:
    return Review(
        key=1, agent="ada", id=name, kind=kind, subject=subject, period_start=start, period_end=end, due_at=0,
        again_at=None, state="running", revision=1, backfill=False, attempts=1, not_before=0, owner=None,
        leased_until=None, late=0, facts=None, reason=None, done_at=None,
    )  # fmt: skip


CONTEXT = {"regime": "trending", "atr_d1": 40.0}
FELT_GOOD = {
    "valence": 0.6,
    "confidence": 0.7,
    "context": CONTEXT,
    "cites": ["H-7"],
    "reasoning": "momentum",
    "strategy": "trend",
}


def two_trades() -> str:
    """A loss that felt good and a gain that felt bad, a skip, and a hold inside the loss."""
    return (
        round_trip("lost", profit=-5.0, **FELT_GOOD)
        + round_trip("won", "2026-03-03", profit=8.0, valence=-0.4, context={"regime": "ranging"})
        + event(
            "decision",
            "s1",
            "2026-03-04T10:00:00Z",
            action="skip",
            instrument="ETH/USDC",
            context=CONTEXT,
            confidence=0.2,
        )
        + event(
            "decision",
            "h1",
            "2026-03-02T12:30:00Z",
            action="hold",
            position="lost",
            context={"regime": "calm"},
        )
        + event("decision", "h2", "2026-03-05T12:30:00Z", action="hold")
    )


@pytest.fixture
def one_store(tmp_path: Path) -> Iterator[Store]:
    """A SQLite store, where the other database would say nothing new."""
    opened = open_store(str(tmp_path / "one.db"))
    yield opened
    opened.close()


@pytest.fixture
def house(one_store: Store) -> House:
    return House(one_store, two_trades())


@pytest.fixture
def both(store: Store) -> House:
    """The same, once on each database."""
    return House(store, two_trades())


# episodes


def test_a_closed_position_becomes_an_episode_as_it_was_decided(house: House):
    assert house.learn(house.position("lost")).episodes == 2  # and the hold inside it
    lost = house.episodes()["lost"]
    expected = {
        "agent": "ada", "at": "2026-03-02T18:00:00Z", "symbol": "ETH/USDC", "direction": "long", "strategy": "trend",
        "entry_price": 100.0, "exit_price": 95.0, "size": 1.0, "pnl": -5.0, "held_for_s": 32400.0, "confidence": 0.7,
        "context": CONTEXT, "reasoning": "momentum", "kind": "spot",
    }  # fmt: skip
    assert {name: lost[name] for name in expected} == expected
    assert lost["tags"][0] == "H-7"


def test_doing_nothing_is_remembered_and_counted_in_no_outcome(house: House):
    house.learn(house.week())
    known = house.episodes()
    assert set(known) == {"lost", "won", "skip:s1", "hold:h1", "hold:h2"}
    skip, inside, hold = known["skip:s1"], known["hold:h1"], known["hold:h2"]
    assert (skip["direction"], skip["pnl"], skip["at"]) == ("skip", None, "2026-03-04T10:00:00Z")
    assert (inside["at"], inside["held_for_s"], inside["position"]) == (
        "2026-03-02T18:00:00Z",
        19800.0,
        "lost",
    )
    assert (hold["direction"], hold["at"]) == ("hold", "2026-03-05T12:30:00Z")
    with house.store.read() as conn:
        state = memory.state(conn, "ada", settings=memory.Settings(capital=100.0))
    assert (state.trades, state.equity) == (2, 103.0)


def test_what_was_decided_after_the_week_is_not_in_it(house: House):
    house.tell(event("decision", "s9", "2026-03-09T00:00:00Z", action="skip"))
    house.learn(house.week())
    assert "skip:s9" not in house.episodes()


def test_a_review_amends_what_it_judged_and_keeps_the_original(both: House):
    """numbers.md section 5: worse than doing nothing and felt good, better and felt bad."""
    house = both
    house.learn(house.week())
    known = house.episodes()
    lost, won = known["lost"], known["won"]
    assert (lost["valence"], lost["provenance"], lost["retrieval_boost"]) == (-0.3, "retrospective", 1.5)
    assert "retrospective_reversal" in lost["tags"]
    assert lost["retrospective_vs_inaction"] == pytest.approx(-5.0)
    assert (won["valence"], "retrospective_vindicated" in won["tags"]) == (-0.4, True)
    with house.store.read() as conn:
        found = memory.find_episode(conn, "ada", "lost")
        marked = memory.markers(conn, "ada")
    assert found["original_valence"] == 0.6
    assert {one.review for one in found["amendments"]} == {"ada.weekly.2026-W10"}
    assert [(one.episode, one.outcome, one.confidence) for one in marked if one.outcome == "Regret"] == [
        ("lost", "Regret", pytest.approx(0.5))
    ]


def test_a_missed_exit_is_marked_at_the_context_of_its_peak(one_store: Store):
    story = (
        round_trip("late", profit=1.0, context={"regime": "trending", "price": 100.0})
        + event(
            "decision",
            "adj",
            "2026-03-02T12:00:00Z",
            action="adjust",
            position="late",
            context={"regime": "calm"},
        )
        + event("mark", "peak", "2026-03-02T13:00:00Z", instrument="ETH/USDC", price="110")
        + event("mark", "m2", "2026-03-02T15:00:00Z", instrument="ETH/USDC", price="104")
    )
    house = House(one_store, story)
    house.learn(house.position("late"))
    with one_store.read() as conn:
        [marker] = memory.markers(conn, "ada")
    assert (marker.outcome, marker.bias) == ("MissedExit", "TightenExits")
    assert marker.context == {"regime": "calm", "price": 100.0}


@pytest.mark.parametrize(
    ("unit", "reversed_"),
    [("usd", True), ("r", False), ("bps", True)],  # -5 is -0.5 R of 10, and -500 bps of 100
)
def test_the_thresholds_are_in_the_configured_unit(one_store: Store, unit: str, reversed_: bool):
    story = round_trip("lost", profit=-5.0, **FELT_GOOD).replace(
        '"kind": "spot"', '"kind": "spot", "risk": "10"'
    )
    house = House(one_store, story, retrospective={"heuristic_threshold_unit": unit})
    house.learn(house.position("lost"))
    lost = house.episodes()["lost"]
    assert lost["retrospective_vs_inaction"] == pytest.approx({"usd": -5.0, "r": -0.5, "bps": -500.0}[unit])
    assert ("retrospective_reversal" in lost["tags"]) is reversed_


def test_a_figure_that_cannot_be_told_in_the_unit_is_absent(one_store: Store):
    house = House(
        one_store,
        round_trip("lost", profit=-5.0, **FELT_GOOD),
        retrospective={"heuristic_threshold_unit": "r"},
    )
    house.learn(house.position("lost"))
    assert house.episodes()["lost"]["retrospective_vs_inaction"] is None


def test_reviewing_again_or_another_way_changes_nothing(house: House):
    house.learn(house.position("lost"))
    house.learn(house.week())
    before = house.everything()
    for made in (house.week(), house.position("lost"), house.position("won")):
        learned = house.learn(made)
        assert (learned.episodes, learned.amended) == (0, 0)
    assert house.everything() == before


def test_late_data_amend_once_more_and_the_history_keeps_both(house: House):
    house.learn(house.week())
    house.tell(event("cost", "gas", "2026-03-02T09:00:00Z", kind="gas", amount="2", position="lost"))
    assert house.learn(house.week()).amended == 1
    with house.store.read() as conn:
        found = memory.find_episode(conn, "ada", "lost")
    assert (found["pnl"], found["retrospective_pnl"]) == (-5.0, pytest.approx(-7.0))
    assert [one.new for one in found["amendments"] if one.field == "retrospective_pnl"] == pytest.approx(
        [-5.0, -7.0]
    )


def test_what_the_agent_told_itself_stands_and_is_amended(house: House):
    own = {"id": "lost", "agent": "ada", "at": "2026-03-02T18:00:01Z", "pnl": -4.9, "valence": 0.9}
    with house.store.write() as conn:
        memory.remember(conn, [own])
    house.learn(house.week())
    lost = house.episodes()["lost"]
    assert (lost["pnl"], lost["valence"], lost["retrospective_pnl"]) == (-4.9, -0.3, -5.0)


def test_what_is_not_believed_is_not_remembered(one_store: Store):
    story = round_trip("odd", profit=900.0) + round_trip("fine", "2026-03-03")
    house = House(one_store, story)
    house.learn(house.week())
    assert set(house.episodes()) == {"fine"}


def test_a_context_value_of_the_wrong_kind_costs_that_field_and_is_told_of(one_store: Store):
    house = House(one_store, round_trip("p", context={"regime": ["x"], "atr_d1": 3.0}))
    learned = house.learn(house.position("p"))
    assert learned.faults == ("left out: context.regime: must be text",)
    assert house.episodes()["p"]["context"] == {"atr_d1": 3.0}


def test_the_registry_is_the_built_in_one_with_the_owners_fields():
    config = Config.model_validate(
        {
            "memory": {
                "fields": {
                    "mood": {"kind": "category", "weight": 0.2},
                    "regime": {"kind": "category", "weight": 0.5},
                }
            }
        }
    )
    found = {field.name: field.weight for field in registry_of(config).fields}
    assert (found["mood"], found["regime"], found["session"]) == (0.2, 0.5, 0.1)


# plans


def test_plans_see_each_situation_once_and_re_arm_only_through_reviews(house: House):
    trigger = {
        "all": [
            {"field": "regime", "op": "==", "value": "trending"},
            {"field": "symbol", "op": "==", "value": "ETH/USDC"},
        ]
    }
    with house.store.write() as conn:
        memory.create_plan(
            conn,
            "ada",
            at=WEEK,
            trigger=trigger,
            action={"type": "skip_trade"},
            reasoning="r",
            identity="P-1",
        )
    assert house.learn(house.week()).plans_fired == 2  # at the entry, and again after a calm in between
    assert house.learn(house.week()).plans_fired == 0
    with house.store.read() as conn:
        [one] = memory.plans(conn, "ada")
    assert (one.triggered, one.armed) == (2, False)


def test_a_deep_drawdown_makes_a_review_plan_for_smaller_sizes(one_store: Store):
    story = round_trip("a", profit=-10.0) + round_trip("b", "2026-03-03", profit=-10.0)
    house = House(one_store, story, agent={"ada": {"capital": 100}})
    assert house.learn(house.week()).plans_made == 1
    with one_store.read() as conn:
        [one] = memory.plans(conn, "ada")
    assert (one.plan.source, one.plan.action) == ("review", {"type": "resize", "factor": 0.5})
    assert house.learn(house.week()).plans_made == 0


# never half


def _failing_at(store: Store, number: int) -> Callable[[], None]:
    """Let the n-th statement on the memory's tables fail; gives what takes the hook away again."""
    seen = 0

    def fail(_conn, _cursor, statement, *_):
        nonlocal seen
        if "memory_" in statement:
            seen += 1
            if seen == number:
                raise RuntimeError("killed here")

    hooks.listen(store.engine, "before_cursor_execute", fail)
    return lambda: hooks.remove(store.engine, "before_cursor_execute", fail)


def test_failing_anywhere_leaves_the_memory_as_it_was_and_the_review_done(both: House):
    house = both
    made = house.week()
    house.learn(house.position("won"))
    before = house.everything()
    for number in range(1, 400):
        unhook = _failing_at(house.store, number)
        try:
            learned = house.learn(made)
        finally:
            unhook()
        if not isinstance(learned, str):
            break
        assert "killed here" in learned
        assert house.everything() == before
    assert number > 15
    assert set(house.episodes()) == {"lost", "won", "skip:s1", "hold:h1", "hold:h2"}
    with house.store.read() as conn:
        assert [one.problems for one in memory.health(conn, thorough=True)] == [()]


def _killed_at(path: str, number: int) -> None:
    store = open_store(path)
    house = House(store, "")
    made = house.week()
    seen = 0

    def kill(_conn, _cursor, statement, *_):
        nonlocal seen
        seen += "memory_" in statement
        if seen == number:
            os._exit(9)

    hooks.listen(store.engine, "before_cursor_execute", kill)
    house.learn(made)
    os._exit(0)


def test_a_process_killed_anywhere_leaves_all_or_nothing(tmp_path: Path):
    path = str(tmp_path / "r.db")
    house = House(open_store(path), two_trades())
    house.week()
    before, codes = house.everything(), []
    for number in (1, 4, 9, 14, 19, 400):
        process = FORK.Process(target=_killed_at, args=(path, number))
        process.start()
        process.join()
        codes.append(process.exitcode)
        assert (house.everything() == before) is (process.exitcode == 9)
    assert codes == [9, 9, 9, 9, 9, 0]
    house.store.close()


def test_a_damaged_memory_stops_no_review_and_says_so(house: House):
    house.learn(house.position("lost"))
    with house.store.write() as conn:
        conn.exec_driver_sql("UPDATE memory_episode SET document = '{'")
    learned = house.learn(house.week())
    assert isinstance(learned, str)
    assert learned.startswith("Damaged: ")


# records


def message(document: Any, review: Review, *, previous: Any = None) -> Message:
    return Message(
        review_id=review.id, agent="ada", kind=review.kind, revision=getattr(document, "revision", 1), period_key="",
        subject_line="", document=document, generated_at_us=0, recipient="memory", previous=previous,
    )  # fmt: skip


def test_the_records_channel_is_off_when_records_are():
    assert records_channel(Config()).recipients(Config()) == ("memory",)
    off = Config.model_validate({"memory": {"records": False}})
    assert records_channel(off).recipients(off) == ()
    assert damaged_records(off) == ()


def test_a_weekly_review_leaves_an_experiment_for_itself_and_each_heuristic_it_tested(
    house: House, tmp_path: Path
):
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    for _ in range(2):
        assert channel.send(message(report, review)) == Sent()
    heuristic, whole = memory.load_experiments(directory=channel.directory)[::-1]
    assert whole["context"]["review"] == "ada.weekly.2026-W10"
    assert whole["id"].startswith("exp_20260309_000000_")
    assert whole["results"]["net_pnl"] == pytest.approx(3.0)
    assert (whole["results"]["total_trades"], whole["results"]["win_rate"]) == (2, 0.5)
    assert "sharpe_ratio" not in whole["results"]  # no capital: not known, and not 0
    assert (heuristic["context"]["heuristic"], heuristic["results"]["average_pnl"]) == ("H-7", -5.0)
    [claim] = memory.get_all_hypotheses(directory=channel.directory)
    assert (claim["id"], claim["heuristic"], claim["status"]) == ("H_001", "H-7", "untested")
    assert claim["tested_by"] == [heuristic["id"]]


def test_reviews_of_other_kinds_leave_no_records(house: House, tmp_path: Path):
    review, document = house.position("won")
    assert records_of(document) is None
    assert Records(tmp_path / "memory").send(message(document, review)) == Sent()
    assert not (tmp_path / "memory").exists()


def judged(report: RetrospectiveReport, **row: Any) -> RetrospectiveReport:
    """The report with these figures for its heuristic."""
    [one] = report.heuristic_performance
    kind = row.pop("kind")
    recommendation = one.recommendation.model_copy(update={"kind": kind})
    changed = one.model_copy(update={**row, "recommendation": recommendation})
    return report.model_copy(update={"heuristic_performance": [changed]})


@pytest.mark.parametrize(
    ("row", "status", "verdict"),
    [
        ({"kind": "keep", "evidence": "supported", "interval": [0.2, 0.9]}, "validated", "strong_signal"),
        ({"kind": "demote", "evidence": "supported", "interval": [-3.0, -1.0]}, "refuted", "no_signal"),
        (
            {"kind": "investigate", "evidence": "supported", "interval": [0.1, 0.4]},
            "inconclusive",
            "strong_signal",
        ),
        ({"kind": "keep", "evidence": "suggestive", "interval": [0.2, 0.9]}, "untested", "weak_signal"),
        ({"kind": "keep", "evidence": "weak", "interval": [-1.0, 2.0]}, "untested", "no_signal"),
        ({"kind": "demote", "evidence": "weak", "interval": [-3.0, 1.0]}, "untested", "no_signal"),
        (
            {"kind": "insufficient_data", "evidence": "supported", "interval": [0.2, 0.9]},
            "untested",
            "strong_signal",
        ),
        (
            {
                "kind": "keep",
                "evidence": "weak",
                "interval": [-1.0, 2.0],
                "recommendation_without_largest": "demote",
            },
            "untested",
            "overfit",
        ),
    ],
)
def test_statuses_and_verdicts_follow_from_the_figures(
    tmp_path: Path, row: dict[str, Any], status: str, verdict: str
):
    house = House(open_store(str(tmp_path / "r.db")), two_trades())
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    channel.send(message(judged(report, **row), review))
    assert memory.get_all_hypotheses(directory=channel.directory)[0]["status"] == status
    assert memory.load_experiments(directory=channel.directory)[1]["assessment"]["verdict"] == verdict
    house.store.close()


def test_a_proposed_candidate_becomes_a_hypothesis_too(house: House, tmp_path: Path):
    review, report = house.week()
    proposal = {
        "id": "P-1", "op": "add", "heuristic": "H-9", "old": None, "evidence": "none yet",
        "new": "- H-9 [0.35] Leave before the news {status: candidate}", "falsified_by": "ten losing exits",
    }  # fmt: skip
    channel = Records(tmp_path / "memory")
    channel.send(message(report.model_copy(update={"playbook_proposals": [proposal]}), review))
    found = memory.get_open_hypotheses(directory=channel.directory)[-1]
    assert (found["text"], found["heuristic"]) == ("Leave before the news", "H-9")
    assert "ten losing exits" in found["rationale"]


def test_a_new_revision_keeps_its_id_and_the_figures_are_the_new_ones(house: House, tmp_path: Path):
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    channel.send(message(report, review))
    before = sorted(path.name for path in (channel.directory / "experiments").iterdir())
    house.tell(event("cost", "gas", "2026-03-02T09:00:00Z", kind="gas", amount="2", position="lost"))
    again = house.week()[1].model_copy(update={"revision": 2})
    assert channel.send(message(again, review, previous=report)) == Sent()
    assert sorted(path.name for path in (channel.directory / "experiments").iterdir()) == before
    whole = memory.load_experiments(directory=channel.directory)[0]
    assert (whole["results"]["net_pnl"], whole["context"]["revision"]) == (pytest.approx(1.0), 2)


def test_a_damaged_file_is_tried_again_later_named_and_never_rewritten(house: House, tmp_path: Path):
    review, report = house.week()
    channel = Records(tmp_path / "memory")
    channel.directory.mkdir()
    (channel.directory / "hypotheses.yaml").write_text("hypotheses: {")
    outcome = channel.send(message(report, review))
    assert isinstance(outcome, Retry)
    assert outcome.reason.startswith("hypotheses.yaml: line ")
    assert len(memory.load_experiments(directory=channel.directory)) == 2
    assert (channel.directory / "hypotheses.yaml").read_text() == "hypotheses: {"
    config = Config.model_validate({"memory": {"directory": channel.directory}})
    assert [Path(one.path).name for one in damaged_records(config)] == ["hypotheses.yaml"]


def test_a_folder_that_takes_no_files_is_tried_again(house: House, tmp_path: Path):
    review, report = house.week()
    (tmp_path / "file").write_text("no folder")
    outcome = Records(tmp_path / "file" / "memory").send(message(report, review))
    assert isinstance(outcome, Retry)
    assert not isinstance(outcome, Refused)


# through the service


def test_the_service_learns_in_the_transaction_that_finishes_a_review(store: Store, tmp_path: Path):
    house = House(store, two_trades(), memory={"directory": tmp_path / "memory"})
    told: list[Any] = []
    log = lambda name, **fields: told.append((name, fields))  # noqa: E731
    bench = bench_of(
        store, house.config, {}, clock=lambda: parse_instant("2026-03-10T00:00:00Z"), owner="t", host="h", log=log,
        consequences=(learning(house.config, house.settings, log),),
    )  # fmt: skip
    bench.channels = {"records": records_channel(house.config)}
    assert run_once(bench, lambda _: None).clean
    assert set(house.episodes()) == {"lost", "won", "skip:s1", "hold:h1", "hold:h2"}
    assert house.episodes()["lost"]["valence"] == -0.3
    assert (
        memory.load_experiments(directory=tmp_path / "memory")[0]["context"]["review"]
        == "ada.weekly.2026-W10"
    )
    assert [name for name, _ in told if name in ("not_remembered", "partly_remembered")] == []
    with store.read() as conn:
        reviews = {one.review for one in memory.find_episode(conn, "ada", "lost")["amendments"]}
    assert reviews <= {"ada.position.lost", "ada.daily.2026-03-02", "ada.weekly.2026-W10"}

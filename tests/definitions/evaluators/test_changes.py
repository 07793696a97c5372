"""The `evaluators` part of a review: the state at its end beside that at its start, and nothing from after it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retro.app.questions.evaluators.claims import calibration, corrected, forecasts
from retro.app.questions.evaluators.shadows import ShadowQuestion, shadows
from retro.deliver.briefing import briefing_of
from retro.narrate.plain import words
from retro.narrate.slots import report_slots
from retro.narrate.subject import report_subject
from retro.periods import parse_instant
from retro.present.formats import render
from retro.report import RetrospectiveReport, TierChange, dump
from retro.store.database import Store, open_store
from tests.definitions.evaluators.test_claims import CONFIGURATION, DAY, START, Event, life, question, tell
from tests.worlds.lives import report
from tests.worlds.mails import message

WEEK = 7 * DAY


def week(store: Store, n: int, horizon: Any = "weekly") -> RetrospectiveReport:
    """The review of the life's nth week, from 0."""
    return report(store, "a", horizon, at=(START + n * WEEK) * 1000, configuration=CONFIGURATION)


def part(store: Store, n: int) -> Any:
    return json.loads(dump(week(store, n))).get("evaluators")


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), n=st.integers(0, 3))
def test_a_row_is_what_the_commands_answer_as_of_both_ends_of_the_period(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int
) -> None:
    store = tell(open_store(str(tmp_path_factory.mktemp("changes") / "a.db")), life(seed, 90))
    document = week(store, n)
    assert document.evaluators is not None
    start, end = parse_instant(document.period_start), parse_instant(document.period_end)
    then, now = ({(r.category, r.regime): r for r in forecasts(question(store, at))} for at in (start, end))
    rows = {(row.category, row.regime): row for row in document.evaluators.predictions}
    assert rows.keys() == {key for key, row in now.items() if row.n > (then[key].n if key in then else 0)}
    for key, row in rows.items():
        answer = now[key]
        for name in ("n", "accuracy", "bias", "mean_abs", "mean_abs_corrected", "active"):
            assert getattr(row, name) == getattr(answer, name), name
        before = then.get(key)
        assert row.resolved == answer.n - (before.n if before else 0)
        assert row.bias_before == (before.bias if before else None)
        assert row.accuracy_before == (before.accuracy if before else None)
        assert row.active_before == (before is not None and before.active)
        next_one = corrected(question(store, end), 0.0, *key)
        if row.active:
            assert (row.low, row.high) == (next_one.low, next_one.high)
    levels = {(r.category, r.regime): r for r in calibration(question(store, end), 0.25)}
    for level in document.evaluators.calibration:
        worth = levels[level.category, level.regime]
        assert (level.n, level.active, level.alarm) == (worth.n, worth.active, worth.alarm)
        assert level.ece == (worth.ece_calibrated if level.calibrated else worth.ece_raw)
        assert level.bins == worth.bins


@pytest.mark.parametrize("n", [0, 1, 2])
def test_what_was_told_after_the_period_moves_nothing_of_it(tmp_path: Path, n: int) -> None:
    whole = tell(open_store(str(tmp_path / "whole.db")), life(7, 90))
    end = START + (n + 1) * WEEK
    before = [event for event in life(7, 90) if event["at"] < end]
    ended = tell(open_store(str(tmp_path / "ended.db")), before)
    assert part(whole, n) == part(ended, n) is not None


def test_any_order_of_the_telling_gives_the_same_judgedon_both_databases(
    store: Store, tmp_path: Path
) -> None:
    events = life(11)
    expected = part(tell(open_store(str(tmp_path / "whole.db")), events), 1)
    shuffled = random.Random(5).sample(events, len(events))
    tell(store, shuffled[:40], shuffled[40:])
    assert part(store, 1) == expected is not None


def claims(residuals: list[float], *, first: int, confidence: float | None = None) -> list[Event]:
    """Forecasts of 10, one an hour from day `first` on, each resolved half an hour later at 10 + its residual."""
    events: list[Event] = []
    for n, residual in enumerate(residuals):
        at, name = START + first * DAY + n * 3_600_000, f"{first}-{n}"
        claim: Event = {"type": "prediction", "id": f"q{name}", "agent": "a", "at": at, "category": "price"}
        claim |= {"predicted": 10, "low": 9, "high": 11}
        claim |= {"confidence": confidence} if confidence is not None else {}
        word = {"type": "resolution", "id": f"r{name}", "agent": "a", "prediction": f"q{name}"}
        events += [claim, {**word, "at": at + 1_800_000, "actual": 10 + residual}]
    return events


def test_a_hand_worked_week(store: Store) -> None:
    """Four in the first week: +2, 0, 0, +2; two in the second: +1, -3. Five are needed for a correction."""
    ends = [{"type": "equity", "id": "e", "agent": "a", "at": START, "value": 9}]
    ends += [{"type": "equity", "id": "f", "agent": "a", "at": START + 3 * WEEK, "value": 9}]
    tell(store, [*ends, *claims([2, 0, 0, 2], first=1), *claims([1, -3], first=8)])
    first, second = part(store, 0), part(store, 1)
    (row,) = first["predictions"]
    assert (row["n"], row["resolved"], row["accuracy"], row["bias"]) == (4, 4, 0.5, 1.0)
    assert (row["bias_before"], row["accuracy_before"], row["active"]) == (None, None, False)
    assert row["reasons"]["active"] == "insufficient: 4 of 5 resolved predictions with a figure and an actual"
    assert row["low"] is row["high"] is row["mean_abs_corrected"] is None
    (row,) = second["predictions"]
    assert (row["n"], row["resolved"], row["active"], row["active_before"]) == (6, 2, True, False)
    assert row["bias"] == pytest.approx((2 + 0 + 0 + 2 + 1 - 3) / 6)
    assert row["bias_before"] == 1.0
    assert row["accuracy"] == pytest.approx(3 / 6)  # within [9, 11]: 0, 0, +1
    assert row["mean_abs"] == pytest.approx(8 / 6)
    assert (first["calibration"], part(store, 2)) == ([], None), "no confidence; a week without a claim"


SURE = [5.0] * 24 + [0.0] * 8
"""Of 32 claims 8 come true."""


@pytest.fixture
def sure(store: Store) -> Store:
    """An agent that says 90 % of what comes true one time in four."""
    ends = [
        {"type": "equity", "id": f"e{n}", "agent": "a", "at": START + n * WEEK, "value": 9} for n in (0, 2)
    ]
    events = claims(SURE, first=1, confidence=0.9)
    return tell(
        store,
        [
            *ends,
            *(event | {"at": START + DAY} if event["type"] == "prediction" else event for event in events),
        ],
    )


def test_confidence_that_misleads_is_one_line_everywhere_until_it_does_not(sure: Store) -> None:
    """All were claimed before any had resolved: nothing could correct them."""
    document = words(week(sure, 0))
    line = "Alarm: confidence stated in price is off by 65 % on average: it says 90 %, 25 % came true (n 32)."
    assert document.evaluators is not None
    (row,) = document.evaluators.calibration
    assert (row.n, row.alarm, row.alarm_before, row.calibrated) == (32, True, False, False)
    assert row.ece == pytest.approx(0.65)
    for form in ("text", "md", "html"):
        page = " ".join(render(document, form).split()).replace("&#58;", ":")
        assert page.count("off by 65 %") == 1, form
    assert line in " ".join(render(document, "text").split())
    quiet = week(sure, 1).evaluators
    assert quiet is not None
    assert (quiet.predictions, [level.resolved for level in quiet.calibration]) == ([], [0]), "alarms still"


def test_a_model_is_shown_the_judgedas_figures_that_it_names_and_cannot_write(sure: Store) -> None:
    document = words(week(sure, 0))
    slots = report_slots(document)
    assert slots.by_name["confidence.price.stated"].text == "90 % (n = 32)"
    assert slots.by_name["confidence.price.came_true"].text == "25 % (n = 32)"
    assert slots.by_name["forecasts.price.bias"].text == "+1.667 (n = 32)", "the newest 12"
    assert report_subject(document).figures["figures"]["confidence.price.off_by"] == "65 % (n = 32)"


def test_days_positions_and_lives_without_a_claim_have_no_such_part(sure: Store, tmp_path: Path) -> None:
    assert "evaluators" not in json.loads(dump(week(sure, 0, "daily")))
    assert "evaluators" in json.loads(dump(week(sure, 0, "epoch")))
    silent = tell(
        open_store(str(tmp_path / "silent.db")),
        [{"type": "equity", "id": f"e{n}", "agent": "a", "at": START + n * WEEK, "value": 9} for n in (0, 1)],
    )
    assert '"evaluators"' not in dump(week(silent, 0))
    assert "own claims" not in render(words(week(silent, 0)), "text")


def test_a_category_is_a_strangers_text(store: Store) -> None:
    events = claims(SURE, first=1, confidence=0.9)
    hostile = "<script>alert(1)</script>{pnl.total}"
    ends = [
        {"type": "equity", "id": f"e{n}", "agent": "a", "at": START + n * WEEK, "value": 9} for n in (0, 2)
    ]
    tell(
        store, [*ends, *(event | ({"category": hostile} if "predicted" in event else {}) for event in events)]
    )
    document = words(week(store, 0))
    page = render(document, "html")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert all(
        key.startswith(("forecasts.~1.", "confidence.~1."))
        for key in report_slots(document).by_name
        if "script" in key or "~1" in key
    )


def asked(tier: str, right: int, n: int, *, day: int) -> list[Event]:
    """Decisions of a tier, each with its cost and a claim that comes true the first `right` times."""
    events: list[Event] = []
    for k in range(n):
        at, name = START + day * DAY + k * 60_000, f"{tier}-{k}"
        events.append(
            {"type": "decision", "id": name, "agent": "a", "at": at, "action": "hold", "tier": tier}
        )
        events.append(
            {"type": "cost", "id": f"c{name}", "agent": "a", "at": at, "kind": "inference", "amount": 1, "tier": tier}
        )  # fmt: skip
        claim = {"type": "prediction", "id": f"q{name}", "agent": "a", "at": at + 1, "decision": name}
        events.append(claim | {"predicted": 1, "category": "price"})
        word = {"type": "resolution", "id": f"r{name}", "agent": "a", "at": at + 2, "prediction": f"q{name}"}
        events.append(word | {"correct": k < right})
    return events


def test_a_review_says_which_tier_a_category_asks_for_once_there_are_enough(store: Store) -> None:
    """T1 18 of 20 right, T2 10 of 20: 28 of 40, so that saying "right" always is right in 70 %."""
    ends = [
        {"type": "equity", "id": f"e{n}", "agent": "a", "at": START + n * WEEK, "value": 9} for n in (0, 9)
    ]
    tell(store, [*ends, *asked("T1", 18, 20, day=1), *asked("T2", 10, 20, day=33)])
    first, second = week(store, 0, "epoch"), week(store, 5, "epoch")
    assert first.evaluators is not None
    assert second.evaluators is not None
    assert first.evaluators.tiers == []
    (verdict,) = second.evaluators.tiers
    assert (verdict.category, verdict.kind, verdict.kind_before) == ("price", "shift_to_T1", None)
    assert verdict.reason.startswith("T1 gains +20.0 points, T2 -20.0 points on what costs nothing")
    assert "price: T1 is enough. T1 gains" in " ".join(render(words(second), "text").split())
    before, after = week(store, 3).evaluators, week(store, 5).evaluators
    assert before is None or before.tiers == []
    assert after is not None
    assert [row.model_copy(update={"kind_before": None}) for row in after.tiers] == [verdict]


def test_a_mail_has_alarms_and_verdicts_and_no_table_of_claims(sure: Store) -> None:
    document = words(week(sure, 0, "epoch"))
    assert document.evaluators is not None
    change = TierChange(
        category="price", difficulty=None, kind="use_T0", kind_before="keep", reason="by hand"
    )
    judged = document.evaluators.model_copy(update={"tiers": [change]})
    page = briefing_of(message(document.model_copy(update={"evaluators": judged})))
    assert [alarm for alarm in page.alarms if "off by 65 %" in alarm]
    keys = [section.key for section in page.sections]
    assert "tiers" in keys
    assert "evaluators" not in keys


def test_a_shadow_stands_in_the_week_as_it_stood_at_its_end_and_in_the_mail(store: Store) -> None:
    """Ten days of +1 beside nothing traded: after a week six whole days are too few, after two it is better."""
    ends = [
        {"type": "equity", "id": f"e{n}", "agent": "a", "at": START + n * WEEK, "value": 9} for n in (0, 3)
    ]
    days = [
        {
            "type": "shadow", "id": f"s{n}", "agent": "a", "at": START + (n + 1) * DAY - 1, "shadow": "paper",
            "day": f"2024-03-{25 + n}" if n < 7 else f"2024-04-{n - 6:02d}", "pnl": 1 + n % 2,
        }
        for n in range(14)
    ]  # fmt: skip
    tell(store, [*ends, *days])
    first, second = week(store, 0), week(store, 1)
    assert first.evaluators is not None
    assert second.evaluators is not None
    (early,), (late,) = first.evaluators.shadows, second.evaluators.shadows
    asked_at = (parse_instant(first.period_end), parse_instant(second.period_end))
    rows = [shadows(ShadowQuestion(store, "a", question(store).settings, at))[0] for at in asked_at]
    assert [early, late] == rows
    assert (early.shadow, late.shadow) == (10.0, 21.0)
    assert late.verdict == "promote"
    page = " ".join(render(words(second), "text").split())
    assert "paper: PROMOTE. +21.00 USDC against 0.00 USDC over 14 days that differ, of 14." in page
    mail = briefing_of(message(words(second)))
    assert "shadows" in [section.key for section in mail.sections]


def test_of_two_resolutions_of_a_prediction_the_first_counts_on_every_line_of_a_review(
    tmp_path: Path,
) -> None:
    claim = {"type": "prediction", "id": "q", "agent": "a", "at": START, "predicted": 1, "category": "price"}
    says = [
        {
            "type": "resolution",
            "id": f"r{n}",
            "agent": "a",
            "prediction": "q",
            "at": START + (n + 1) * DAY,
            **verdict,
        }
        for n, verdict in enumerate(({"correct": True}, {"correct": False}))
    ]
    equity = {"type": "equity", "id": "e", "agent": "a", "at": START, "value": 1000}
    document = week(tell(open_store(str(tmp_path / "x.db")), [equity, claim, *says]), 0)
    assert document.evaluators is not None
    [row] = document.evaluators.predictions
    accuracy = document.prediction_accuracy
    assert (row.n, row.accuracy) == (accuracy.total, accuracy.hit_rate) == (1, 1.0)

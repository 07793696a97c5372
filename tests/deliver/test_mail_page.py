"""What a mail says before it is written: its answers, what a revision changed, what a digest lists."""

from __future__ import annotations

import pytest

from retro.deliver.briefing import Briefing, briefing_of
from retro.present.page.revision import Change, changes
from retro.report import Action, RetrospectiveReport
from tests.worlds.mails import Life, lived, message


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return lived(tmp_path_factory.mktemp("life"))


def answers(page: Briefing) -> dict[str, tuple[str, str]]:
    return {answer.question: (answer.answer, answer.note) for answer in page.answers}


def against_nothing(report: RetrospectiveReport, total: float | None, closed: int = 3) -> str:
    effectiveness = report.effectiveness.model_copy(
        update={"sum_vs_inaction": total, "closed_positions": closed}
    )
    positions = [p for p in report.positions if not p.open]
    variant = report.model_copy(update={"effectiveness": effectiveness, "positions": positions})
    return answers(briefing_of(message(variant)))["Did acting beat doing nothing?"][0]


# Answers


def test_acting_against_doing_nothing_is_a_yes_a_no_or_neither(life: Life) -> None:
    assert against_nothing(life.weekly, 2.5) == "Yes, by 2.50 USDC"
    assert against_nothing(life.weekly, -2.5) == "No, it cost 2.50 USDC"
    assert against_nothing(life.weekly, 0.0) == "It came to the same"
    assert against_nothing(life.weekly, None, 0) == "Nothing to compare"


def test_the_best_and_the_worst_are_the_believed_positions_by_what_they_made_in_the_period(
    life: Life,
) -> None:
    rows = [p.model_copy(update={"flags": []}) for p in life.weekly.positions[:3]]
    outcomes = [(1.0, []), (-2.0, []), (900.0, ["implausible"])]
    positions = [
        p.model_copy(update={"position_id": f"p{n}", "period_pnl": pnl, "flags": flags})
        for n, (p, (pnl, flags)) in enumerate(zip(rows, outcomes, strict=True))
    ]
    by_question = answers(briefing_of(message(life.weekly.model_copy(update={"positions": positions}))))
    assert by_question["Best position"][0] == "+1.00 USDC"
    assert by_question["Best position"][1].startswith("p0, ")
    assert by_question["Worst position"][0] == "-2.00 USDC"
    still = [p.model_copy(update={"period_pnl": 0.0}) for p in positions]
    unmoved = answers(briefing_of(message(life.weekly.model_copy(update={"positions": still}))))
    assert unmoved["Best and worst position"] == ("None", "all 2 stood still")
    alone = answers(briefing_of(message(life.weekly.model_copy(update={"positions": positions[:1]}))))
    assert "Worst position" not in alone


def test_decisions_come_worst_first_with_their_doubt_and_the_rest_is_counted(life: Life) -> None:
    rows = life.weekly.heuristic_performance
    kinds = ("investigate", "keep", "demote", "investigate", "demote", "investigate")
    performance = [
        rows[0].model_copy(
            update={
                "heuristic_id": f"H-{n}",
                "recommendation": rows[0].recommendation.model_copy(update={"kind": kind}),
                "evidence": "supported",
                "interval": [-9.0, -1.0],
                "evidence_avg": -5.0,
            }
        )
        for n, kind in enumerate(kinds)
    ]
    page = briefing_of(message(life.weekly.model_copy(update={"heuristic_performance": performance})))
    wanted = next(answer for answer in page.answers if answer.key == "decisions")
    assert [(line.name, line.verdict) for line in wanted.lines] == [
        ("H-2", "DEMOTE"), ("H-4", "DEMOTE"), ("H-0", "INVESTIGATE"),
    ]  # fmt: skip
    assert wanted.omitted == 2
    assert all("citation" in line.note for line in wanted.lines)


def test_proposals_are_named_with_their_evidence(life: Life) -> None:
    entries = [{"op": "demote", "heuristic": f"H-{n}", "evidence": "weak: 3 citations"} for n in range(5)]
    page = briefing_of(message(life.weekly.model_copy(update={"playbook_proposals": entries})))
    proposed = next(answer for answer in page.answers if answer.key == "proposed")
    assert proposed.answer == "5 changes"
    assert [(line.name, line.verdict, line.note) for line in proposed.lines] == [
        ("H-0", "demote", "weak: 3 citations"),
        ("H-1", "demote", "weak: 3 citations"),
    ]
    assert proposed.omitted == 3
    assert "proposals" in [section.key for section in page.sections]


def test_a_week_without_a_position_answers_in_words(life: Life) -> None:
    quiet = life.weekly.effectiveness.model_copy(update={"sum_vs_inaction": None, "closed_positions": 0})
    report = life.weekly.model_copy(update={"positions": [], "effectiveness": quiet})
    answers = [(answer.question, answer.answer) for answer in briefing_of(message(report)).answers]
    assert answers[:2] == [
        ("Did acting beat doing nothing?", "Nothing to compare"),
        ("Best and worst position", "None"),
    ]


def test_amounts_of_a_position_carry_the_unit_its_agent_has(life: Life) -> None:
    """A position does not say its unit: the message does, of every agent in it."""
    other = life.position.model_copy(update={"agent": "other"})
    units = {life.position.agent: "BTC", "other": "EUR"}
    digest = message(life.position, digest_of=(life.position, other), currencies=units)
    page = briefing_of(digest)
    assert page.result.endswith(" BTC")
    assert [older.result.rpartition(" ")[2] for older in page.older] == ["BTC", "EUR"]
    assert [older.against_nothing.rpartition(" ")[2] for older in page.older] == ["BTC", "EUR"]
    assert page.answers[0].answer.endswith(" BTC")


def test_a_loss_names_the_action_it_is_about_the_last_that_lost(life: Life) -> None:
    def action(at: str, pnl: float | None) -> Action:
        return Action(
            at=f"2026-03-04T{at}:00Z", action="exit", position_id="t-1", instrument="ETH/USDC", cites=["H-7"],
            realized_pnl=pnl,
        )  # fmt: skip

    actions = [action("10:00", -80.0), action("11:00", None), action("12:30", -70.0), action("12:31", 9.0)]
    report = life.weekly.model_copy(update={"actions_taken": actions, "horizon": "loss"})
    page = briefing_of(message(report, kind="loss"))
    assert page.kicker == "Loss review"
    assert page.answers[0].question == "Which action lost?"
    assert page.outcome == page.answers[0].answer == "-70.00 USDC"
    assert page.answers[0].note == "exit, t-1, ETH/USDC, 2026-03-04 12:30 UTC; cites H-7"


def test_a_death_tells_lessons_and_the_largest_regrets(life: Life) -> None:
    page = briefing_of(message(life.epoch, kind="death", review_id="sample.death", period_key=""))
    by_question = answers(page)
    rows = [row for row in life.epoch.heuristic_performance if row.evidence_n or row.evaluated_count]
    keep_count = sum(row.recommendation.kind == "keep" for row in rows)
    demote_count = sum(row.recommendation.kind == "demote" for row in rows)
    assert page.kicker == "Last review"
    assert by_question["What did it teach?"][0] == f"{keep_count} kept, {demote_count} demoted"
    regrets = next(answer for answer in page.answers if answer.question == "The largest regrets")
    by_size = sorted((p for p in life.epoch.positions if p.regret), key=lambda p: -(p.regret or 0))
    assert [line.name for line in regrets.lines] == [p.position_id for p in by_size[:3]]
    assert by_question["What would it change?"][0] == "Nothing"
    rows = [
        row.model_copy(
            update={
                "recommendation": row.recommendation.model_copy(update={"kind": "demote"}),
                "evidence": "suggestive",
                "interval": [-9.0, -1.0],
                "evidence_avg": -5.0,
            }
        )
        for row in rows[:2]
    ]
    sorry = life.epoch.model_copy(update={"heuristic_performance": rows})
    by_question = answers(briefing_of(message(sorry, kind="death", review_id="sample.death", period_key="")))
    names = ", ".join(dict.fromkeys(row.heuristic_id for row in rows))
    assert by_question["What would it change?"][0] == f"No longer act on {names}"


# Revisions


def test_a_revision_that_changed_no_figure_says_so(life: Life) -> None:
    later = life.weekly.model_copy(update={"revision": 2})
    assert changes(life.weekly, later) == ()
    page = briefing_of(message(later, revision=2, previous=life.weekly))
    assert page.kicker == "Weekly review, corrected"
    assert page.changed == ()


def test_a_revision_tells_each_figure_as_it_was_and_as_it_is(life: Life) -> None:
    before = life.weekly
    position = before.positions[0]
    pnl = before.pnl.model_copy(
        update={"total": before.pnl.total + 5, "trading_gains": before.pnl.trading_gains + 5}
    )
    after = before.model_copy(
        update={
            "pnl": pnl,
            "positions": [
                position.model_copy(update={"position_id": "late", "period_pnl": 5.0}),
                *before.positions,
            ],
            "effectiveness": before.effectiveness.model_copy(update={"closed_positions": 99}),
        }
    )
    revised_figures = changes(before, after)
    assert [change.label for change in revised_figures] == [
        "Result",
        "Against doing nothing",
        "Closed positions",
        "Trading gains",
        "late",
    ]
    assert revised_figures[0] == Change("Result", f"{before.pnl.total:+.2f} USDC", f"{pnl.total:+.2f} USDC")
    assert revised_figures[4] == Change("late", "–", "+5.00")
    assert changes(after, before) == tuple(Change(c.label, c.after, c.before) for c in revised_figures), (
        "and back again"
    )


def test_a_position_that_closed_late_tells_what_changed(life: Life) -> None:
    before = life.position.model_copy(update={"open": True, "final_pnl": 1.0})
    after = life.position.model_copy(update={"open": False, "final_pnl": -1.0})
    revised_figures = {
        change.label: (change.before, change.after) for change in changes(before, after, "USDC")
    }
    assert revised_figures["Result"] == ("+1.00 USDC", "-1.00 USDC")
    assert revised_figures["State"] == ("open", "closed")
    assert changes(life.weekly, life.position) == (), "nothing can be compared"


# Digests


def test_a_digest_lists_the_older_reviews_oldest_first(life: Life) -> None:
    other = life.week_before.model_copy(update={"agent": "other", "id": "other.weekly.2026-W09"})
    page = briefing_of(message(life.weekly, digest_of=(life.week_before, other, life.position)))
    assert [older.name for older in page.older] == [
        "Weekly 2026-W09",
        "other: Weekly 2026-W09",
        f"Position {life.position.position_id}",
    ]
    assert page.older[0].review_id == life.week_before.id
    assert page.older[0].result.startswith(("Up", "Down", "Flat"))
    many = briefing_of(message(life.weekly, digest_of=(life.daily,) * 100))
    assert len(many.older) + many.more_older == 100

"""Thousands of tags, most of them cited once or twice: the audit's work grows as they do, and its figures stay."""

from __future__ import annotations

from math import fsum

import msgspec
import pytest

from retro.evaluate.audit.audit import audit_period
from retro.evaluate.audit.bets import bets_of
from retro.evaluate.audit.citations import items_of
from retro.evaluate.audit.history import history_from
from retro.evaluate.audit.rules import AuditRules, Rule
from retro.evaluate.audit.tally import by_position
from retro.evaluate.position.foresight import Cited
from retro.evaluate.position.summary import PositionSummary
from retro.periods import DAY, HOUR
from retro.present.formats import Format, render
from retro.report import HeuristicReport
from tests.worlds.samples import reports
from tests.worlds.work import calls_in

T0 = 20_000 * DAY
TWICE = 2.25
"""How many times the work twice the tags may be."""


def summary(number: int, tags: int) -> PositionSummary:
    """A position of a week: a tag of its own, every third time an earlier one's, every tenth time a shared one."""
    opened = T0 + number % 7 * DAY + number
    cites = [f"t{number % tags}"]
    cites += [f"t{number // 2}"] * (number % 3 == 0) + [f"S{number % 7}"] * (number % 10 == 0)
    decisions = (
        Cited(f"d{number}", opened, "enter", tuple(dict.fromkeys(cites)), told_at=opened),
        Cited(f"x{number}", opened + HOUR, "exit", (f"x{number % tags // 2}",), told_at=opened),
    )
    return PositionSummary(
        position=f"p{number}",
        kind="spot",
        instrument="ETH/USDC",
        strategy="",
        side="long",
        opened_at=opened,
        closed_at=opened + HOUR,
        flagged_at=None,
        final_pnl=float(number * 37 % 101 - 50),
        vs_inaction=float(number * 37 % 101 - 50),
        notional=500.0,
        risk=None,
        exit_outcome=float(number * 53 % 89 - 44),
        exit_resolved_at=opened + 2 * HOUR,
        implausible_pnl=0.0,
        decisions=decisions,
        increases=(),
    )


def audited(rows: list[PositionSummary], rules: AuditRules) -> list[HeuristicReport]:
    history = history_from(rows, rules)
    items = [item for row in rows for item in items_of(row, rules, rules.claims)]
    end = T0 + 8 * DAY
    return audit_period(items, history, bets_of(history, rules, end), rules, T0, end, 7)


def rules_of(tags: int) -> AuditRules:
    """A playbook that claims every fourth tag."""
    names = range(0, tags, 4)
    return AuditRules({f"H-{number}": Rule(f"H-{number}", "a rule", (f"t{number}",)) for number in names})


def work_of(tags: int) -> int:
    rows, rules = [summary(number, tags) for number in range(tags)], rules_of(tags)
    return calls_in(lambda: audited(rows, rules))


def test_the_audit_of_twice_the_tags_is_twice_the_work() -> None:
    work_of(20)  # what is remembered between audits is there
    assert work_of(600) < TWICE * work_of(300)


def test_each_row_is_held_against_the_outcomes_that_do_not_cite_it() -> None:
    """Against a slow count, also where a position cites a heuristic by two tags, at its entry and in an increase."""
    rows = [summary(number, 40) for number in range(60)]
    late = Cited("i5", rows[5].opened_at + 9, "increase", ("t5", "S1"), told_at=T0)
    rows[5] = msgspec.structs.replace(
        rows[5], decisions=(*rows[5].decisions, late), increases=((("S1",), 4.0),)
    )
    rules = rules_of(40)
    items = [item for row in rows for item in items_of(row, rules, rules.claims)]
    for row in audited(rows, rules):
        of_role = [item for item in items if item.role == row.role and item.value is not None]
        cited = {item.position for item in of_role if row.heuristic_id in item.cites}
        uncited = [item for item in of_role if item.position not in cited]
        values = [value for _, value in by_position(uncited)]
        assert row.uncited_count == len(values)
        assert row.uncited_avg == (fsum(values) / len(values) if values else None)


@pytest.mark.parametrize("form", ["text", "json", "md", "html"])
def test_a_page_is_no_more_work_than_its_rows(form: Format) -> None:
    def work(tags: int) -> int:
        rows = [
            reports.heuristic(f"t{number}", citation_count=number % 2, evaluated_count=0, evidence_n=0)
            for number in range(tags)
        ]
        report = reports.weekly(heuristic_performance=rows)
        return calls_in(lambda: render(report, form))

    work(1)
    assert work(800) < TWICE * work(400)

"""The citation audit of random weeks against a slow count: every sum, p and q."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from retro.app.settlement.audit import audit_life
from retro.app.settlement.settle import settled_book
from retro.evaluate.audit.rules import Rule
from tests.worlds.lives import agent_of, settings_for
from tests.worlds.oracle import DAY, WEEK, Life, approx, clustered_error, instant, role_error, student_p


@dataclass
class Counted:
    """What was cited and what came of it, counted while the life was made up."""

    cited: dict[Any, int] = field(default_factory=lambda: defaultdict(int))
    outcome: dict[Any, dict[str, float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )
    shared: dict[Any, float] = field(default_factory=lambda: defaultdict(float))
    days: dict[Any, Any] = field(default_factory=dict)
    of_role: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    """Every outcome of a role with its day, cited or not."""


def week_of_citations(life: Life, rng: random.Random) -> Counted:
    """A week of positions with holds, increases and exits."""
    counted = Counted()
    cited, outcome, shared, days = counted.cited, counted.outcome, counted.shared, counted.days
    life.market("ETH/USDC", dict.fromkeys(range(400), 100))
    names = ["H-1", "H-2", "H-3", "dip"]

    def decide(at: float, name: str, action: str, role: str) -> list[str]:
        cites = rng.sample(names, rng.randint(0, 3))
        if cites:
            life.tell(at, "decision", action=action, position=name, cites=cites)
        for cite in cites:
            cited[cite, role] += 1
        return cites

    def credit(role: str, name: str, cites: list[str], value: float) -> None:
        for cite in cites:
            outcome[cite, role][name] += value
            shared[cite, role] += value / len(cites)

    for i in range(25):
        name, at, size = f"p{i}", rng.uniform(0, 100), rng.choice((1, 2))
        bought, added, sold = (round(rng.uniform(97, 103), 2) for _ in range(3))
        days[name] = int(at // DAY)
        life.open(at, name)
        life.fill(at, name, "buy", size, bought)
        main = set(decide(at, name, "enter", "entry"))
        if rng.random() < 0.4:
            main |= set(decide(at + 0.5, name, "hold", "entry"))
        final, total = size * (sold - bought), size
        if rng.random() < 0.5:
            life.fill(at + 1, name, "buy", 1, added)
            added_citations = decide(at + 1, name, "increase", "entry")
            final, total = final + sold - added, size + 1
            credit("entry", name, [c for c in added_citations if c not in main], sold - added)
        life.fill(at + 2, name, "sell", total, sold)
        credit("entry", name, sorted(main), final)
        credit("exit", name, decide(at + 2, name, "exit", "exit"), -total * (100 - sold))
        counted.of_role["entry"].append((final, days[name]))
        counted.of_role["exit"].append((-total * (100 - sold), days[name]))
    life.until(WEEK)
    return counted


@pytest.mark.parametrize("seed", range(4))
def test_random_citations_against_a_slow_count(tmp_path: Path, seed: int) -> None:
    """A week of positions with holds, increases and exits: every sum of the audit, and its p and q values."""
    life = Life(tmp_path)
    counted = week_of_citations(life, random.Random(seed))
    cited, outcome, shared, days = counted.cited, counted.outcome, counted.shared, counted.days
    rows = {(r.heuristic_id, r.role): r for r in life.week().heuristic_performance}
    assert rows.keys() == cited.keys()
    p_values = {}
    for key, row in rows.items():
        values = outcome[key]
        n, mean = len(values), fsum(values.values()) / max(1, len(values))
        assert (row.citation_count, row.evaluated_count) == (cited[key], n)
        assert row.associated_pnl == approx(fsum(values.values()))
        assert row.shared_pnl == approx(shared[key])
        assert row.win_rate == approx(sum(v > 0 for v in values.values()) / n)
        kind = "demote" if mean < -1 else "investigate" if mean < 0.5 else "keep"
        assert row.recommendation.kind == (kind if n >= 3 else "insufficient_data")
        own = [(value, days[name]) for name, value in values.items()]
        g = len({day for _, day in own})
        assert (row.evidence_n, row.evidence_days) == (n, g)
        if g > 1:
            error = max(clustered_error(own), role_error(counted.of_role[key[1]], [day for _, day in own]))
            p_values[key] = student_p(mean / error, g - 1)
            assert row.p_value == pytest.approx(p_values[key], abs=1e-9)


def test_the_audit_of_a_life_counts_decisions_without_an_outcome(tmp_path: Path) -> None:
    """A skip without a position and an increase that nothing was bought for: cited, not evaluated, and not forgotten."""
    life = Life(tmp_path)
    life.trade("p", (1, 100), (9, 105), cites=["H-1"])
    life.tell(2, "decision", action="increase", position="p", cites=["H-1"])
    life.tell(3, "decision", action="increase", position="p", cites=["H-2"])
    life.tell(4, "decision", action="skip", cites=["H-3"])
    life.until(WEEK)
    agent = agent_of(life.store, life.name)
    settings = settings_for()(agent)
    with settled_book(life.store, life.name, settings) as book:
        rows = {row.heuristic_id: row for row in audit_life(book)}
    counts = {name: (row.citation_count, row.evaluated_count) for name, row in rows.items()}
    assert counts == {"H-1": (2, 1), "H-2": (1, 0), "H-3": (1, 0)}
    assert {row.heuristic_id: row.citation_count for row in life.week().heuristic_performance} == {
        "H-1": 2,
        "H-2": 1,
        "H-3": 1,
    }


def test_an_exit_through_zero_is_judged_by_what_each_fill_closed(tmp_path: Path) -> None:
    """Long 1 from 101, turned at 105 into short 2, closed at 109 after 8 h; at 117 it is judged.

    The long part missed 12, the short part was spared 16.
    """
    life = Life(tmp_path)
    life.marks("ETH", [100 + h for h in range(60)])
    life.open(1, "f", "perp")
    life.fill(1, "f", "buy", 1, 101)
    life.fill(5, "f", "sell", 3, 105)
    life.fill(9, "f", "buy", 2, 109)
    life.tell(9, "decision", action="exit", position="f", cites=["H-4"])
    life.until(60)
    rows = {row.heuristic_id: row for row in life.week().heuristic_performance}
    assert rows["H-4"].associated_pnl == approx(-12 + 16)


def test_an_increase_that_adds_no_rule_is_counted_in_the_week_its_position_resolves(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.open(1, "p")
    life.fill(1, "p", "buy", 1, 100)
    life.tell(1, "decision", action="enter", position="p", cites=["H-1"])
    life.fill(3, "p", "buy", 1, 104)
    life.tell(3, "decision", action="increase", position="p", cites=["H-1"])
    life.fill(WEEK + 9, "p", "sell", 2, 106)
    life.until(2 * WEEK)
    for week in (0, 1):
        rows = {row.heuristic_id: row for row in life.week(week).heuristic_performance}
        assert (rows["H-1"].citation_count, rows["H-1"].evaluated_count) == (2, week)


def test_a_rule_stands_on_its_own_citation_and_not_on_one_before_its_text_changed(tmp_path: Path) -> None:
    """H-1 brought the position in before both texts changed, H-2 kept it afterwards: only H-2 gains evidence."""
    rules = {name: Rule(name, "as it now stands", since=instant(2)) for name in ("H-1", "H-2")}
    life = Life(tmp_path)
    life.trade("p", (1, 100), (9, 105), cites=["H-1"])
    life.tell(4, "decision", action="hold", position="p", cites=["H-2"])
    life.until(WEEK)
    agent = agent_of(life.store, life.name)
    settings = settings_for()(agent)
    ruled = replace(settings.options, rules=replace(settings.options.rules, rules=rules))
    with settled_book(life.store, life.name, replace(settings, options=ruled)) as book:
        rows = {row.heuristic_id: row for row in audit_life(book)}
    assert (rows["H-1"].evidence_n, rows["H-2"].evidence_n) == (0, 1)

"""By regime: rows and shares worked by hand, cells that are the audit's own bets, contrasts only where both are supported."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from retro.evaluate.audit.bets import bets_of
from retro.evaluate.audit.history import RECORD, WEEK, History, identity
from retro.evaluate.audit.rules import AuditRules, Rule
from retro.evaluate.position.foresight import Cited
from retro.evaluate.regimes.analysis import regime_analysis
from retro.evaluate.regimes.bets import MOST_REGIMES, cells_of
from retro.evaluate.regimes.labels import RegimeLabels, stated_labels
from retro.model import Action, Decision
from retro.periods import DAY, HOUR
from retro.periods import WEEK as ONE_WEEK
from retro.present.page.evaluators.regimes import contrast_text

MONDAY = 4 * DAY
NOWHERE = RegimeLabels("stated", {}, [])


def trades(rows: list[tuple[str, str, float]]) -> tuple[History, dict[str, str]]:
    """A history of one position a week for each row (heuristic, regime, result), and its labels."""
    names = sorted({heuristic for heuristic, _, _ in rows})
    records, weeks, labels = [], [], {}
    for n, (heuristic, regime, value) in enumerate(rows):
        week, position = n, f"p{n}"
        entered = MONDAY + (week - 0) * ONE_WEEK + DAY
        labels[position] = regime
        name, key = names.index(heuristic), identity(position)
        number = entered // ONE_WEEK
        records.append((name, False, key, entered // DAY, value, entered + HOUR, entered, nan, nan, False))
        weeks.append((name, False, key, entered // DAY, _week(entered), entered, entered, value, nan, nan))
        assert number >= 0
    return History(names, np.array(records, RECORD), np.array(weeks, WEEK)), labels


def _week(at: int) -> int:
    from retro.periods import week_of

    return week_of(at, None)


def life(
    seed: int, ranging: float, trending: float, n: int = 200, rules: int = 1
) -> list[tuple[str, str, float]]:
    rng = np.random.default_rng(seed)
    means = {"ranging": ranging, "trending": trending}
    return [
        (f"H-{1 + k % rules}", regime, float(rng.normal(means[regime], 1)))
        for k, regime in enumerate(rng.choice(["ranging", "trending"], n).tolist())
    ]


def analysed(rows: list[tuple[str, str, float]], rules: AuditRules | None = None) -> Any:
    history, labels = trades(rows)
    until = MONDAY + (len(rows) + 2) * ONE_WEEK
    return regime_analysis((), RegimeLabels("stated", labels, []), history, rules or AuditRules(), 0, until)


def test_where_all_is_one_regime_its_cells_are_the_audits_own_bets() -> None:
    rows = [(heuristic, "calm", value) for heuristic, _, value in life(1, 0.3, -0.2, rules=3)]
    history, labels = trades(rows)
    until = MONDAY + 300 * ONE_WEEK
    rules = AuditRules(rules={"H-2": Rule("H-2", "text", since=MONDAY + 40 * ONE_WEEK)})
    bets = bets_of(history, rules, until)
    expected = bets.evidence(bets.keys, (rules.thresholds.demote, rules.thresholds.investigate))
    cells = cells_of(history, labels, rules, until)
    assert [(cell.heuristic, cell.regime) for cell in cells] == [(f"H-{n}", "calm") for n in (1, 2, 3)]
    for cell in cells:
        assert cell.evidence == expected[cell.heuristic, "entry"]
    assert cells[1].evidence.n < cells[0].evidence.n


def test_a_cell_knows_only_positions_of_its_regime() -> None:
    rows = life(2, 0.5, -0.5)
    history, labels = trades(rows)
    until = MONDAY + 300 * ONE_WEEK
    [ranging, trending] = cells_of(history, labels, AuditRules(), until)
    values = [value for _, regime, value in rows if regime == "ranging"]
    assert ranging.evidence.n == len(values)
    assert ranging.evidence.average == pytest.approx(sum(values) / len(values))
    assert ranging.evidence.n + trending.evidence.n == len(rows)
    without = {name: label for name, label in labels.items() if label == "ranging"}
    [alone] = cells_of(history, without, AuditRules(), until)
    assert alone.evidence.n == ranging.evidence.n


def test_earns_here_and_loses_there_is_said_when_both_and_their_difference_are_supported() -> None:
    analysis = analysed(life(3, 0.9, -0.9))
    [contrast] = analysis.contrasts
    assert (contrast.earns_in, contrast.loses_in, contrast.is_supported) == ("ranging", "trending", True)
    ranging, trending = analysis.heuristics
    assert contrast.e == min(ranging.e_for, trending.e_against)
    [text] = contrast_text(analysis)
    assert text.startswith("H-1 earns in ranging markets and loses in trending ones: supported (")


@pytest.mark.parametrize(("ranging", "trending"), [(0.9, 0.0), (0.0, -0.9), (0.0, 0.0)])
def test_where_one_side_is_nothing_it_is_said_in_one_life_of_ten_at_most(
    ranging: float, trending: float
) -> None:
    lives = [contrast_text(analysed(life(seed, ranging, trending))) for seed in range(40)]
    assert sum(map(bool, lives)) <= 4


def test_it_is_not_said_where_both_earn() -> None:
    assert [contrast_text(analysed(life(seed, 0.9, 0.4))) for seed in range(10)] == [[]] * 10


def test_among_many_rules_more_is_asked() -> None:
    strong = life(3, 0.4, -0.4)
    others = [
        (f"H-{2 + k % 60}", regime, value) for k, (_, regime, value) in enumerate(life(9, 0.0, 0.0, n=1500))
    ]
    alone, among = analysed(strong), analysed([*strong, *others])
    assert contrast_text(alone)
    assert contrast_text(among) == []
    loses, among_many = alone.heuristics[1], among.heuristics[1]
    assert among_many.e_against == loses.e_against
    assert (loses.evidence, among_many.evidence) == ("supported", "suggestive")


def test_of_countless_regimes_the_most_frequent_are_compared_and_the_reason_says_so() -> None:
    rows = [("H-1", f"r{k % 40}" if k % 3 else "calm", 1.0) for k in range(600)]
    analysis = analysed(rows)
    assert len({row.regime for row in analysis.heuristics}) == MOST_REGIMES
    assert "calm" in {row.regime for row in analysis.heuristics}
    assert analysis.reasons["heuristics"].startswith("of 41 regimes the 20")


def closed(name: str, pnl: float, against: float | None = None, r: float | None = None) -> Any:
    return SimpleNamespace(position_id=name, final_pnl=pnl, vs_inaction=against, pnl_r=r)


def test_rows_are_worked_by_hand() -> None:
    positions = [
        closed("a", 3.0, 2.0, 1.5),
        closed("b", -1.0, None, -0.5),
        closed("c", 4.0),
        closed("d", 9.0),
    ]
    labels = RegimeLabels(
        "stated",
        {"a": "up", "b": "up", "c": "down"},
        [(5, "none of it"), (20, "up"), (50, "down"), (60, "up"), (110, "down")],
    )
    analysis = regime_analysis(positions, labels, History([], np.empty(0, RECORD)), AuditRules(), 10, 100)
    down, up = analysis.regimes
    assert (up.regime, up.n, up.pnl, up.vs_inaction, up.win_rate, up.mean_r) == ("up", 2, 2.0, 2.0, 0.5, 0.5)
    assert (down.n, down.pnl, down.vs_inaction, down.mean_r) == (1, 4.0, None, None)
    assert set(down.reasons) == {"vs_inaction", "mean_r"}
    # from the first word of the period on: 20 to 50 and 60 to 100 up, 50 to 60 down
    assert (up.share_of_time, down.share_of_time) == (70 / 80, 10 / 80)
    assert (analysis.unlabelled, "states a regime" in analysis.reasons["unlabelled"]) == (1, True)


def decision(name: str, at: int, regime: object, action: Action = "enter", position: str = "p") -> Decision:
    return Decision(id=name, agent="a", at=at, action=action, position=position, context={"regime": regime})


def row(opened_at: int, *late: str) -> Any:
    cited = [Cited(name, 0, "enter", (), after_the_fact=True) for name in late]
    return SimpleNamespace(position="p", opened_at=opened_at, decisions=cited)


def test_only_what_was_stated_by_the_entry_labels_a_position() -> None:
    def label(*decisions: Decision, late: tuple[str, ...] = ()) -> str | None:
        labels = stated_labels([row(100, *late)], decisions)
        return None if labels is None else labels.by_position.get("p")

    assert label(decision("1", 100, "up")) == "up"
    assert label(decision("2", 99, "up"), decision("1", 98, "down", "hold")) == "down"
    assert label(decision("1", 102, "up")) == "up"  # told a moment after its fill
    assert label(decision("1", 102, "up"), late=("1",)) is None
    assert label(decision("1", 150, "up", "hold")) is None
    assert label(decision("1", 100, ""), decision("2", 100, 7)) is None
    assert stated_labels([row(100)], [decision("1", 100, None)]) is None

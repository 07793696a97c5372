"""The brief for a prompt: each figure of a review with its n and its "noisy", and nothing of either is ever cut off."""

from __future__ import annotations

from typing import Any

import pytest

from memory.records import prompt_section
from memory.records.brief import LONGEST, brief


def week(days: int = 7, trades: int = 7, **results: Any) -> dict[str, Any]:
    """A review's record of a period of that many days."""
    return {
        "id": "exp_20260309_000000_1c297b",
        "timestamp": "2026-03-09T01:00:00Z",
        "source": "review",
        "context": {"review": "bags.weekly.2026-W10"},
        "results": {
            "net_pnl": -1234849.81,
            "vs_inaction": 1234157.23,
            "total_trades": trades,
            "win_rate": 1.0,
            "sharpe_ratio": -132.75,
            "daily_returns": days,
            "max_drawdown": -0.044,
        }
        | results,
        "assessment": {"verdict": "no_signal"},
    }


@pytest.mark.parametrize(
    ("record", "ratio"),
    [
        (week(7, sharpe_standard_error=9.1), None),
        (week(29, sharpe_standard_error=9.1), None),
        (week(30), None),
        (week(30, sharpe_standard_error=5.994), "Sharpe -132.75 (30 days, standard error 5.99)"),
    ],
)
def test_a_ratio_of_a_few_days_or_without_its_error_is_not_stated(
    record: dict[str, Any], ratio: str | None
) -> None:
    for text in (brief([record], [], n=5), prompt_section([record], [], 5)):
        assert ("Sharpe" in text) == (ratio is not None)
        assert ratio is None or ratio in text


def test_every_figure_of_a_review_stands_beside_its_n_and_is_called_noisy() -> None:
    text = brief([week()], [], n=5)
    assert text.split("\n")[4].endswith(
        "bags.weekly.2026-W10; -1,234,849.81 net | +1,234,157.23 against doing nothing by 7 closed, noisy"
        " | 7 trades, noisy | 100.0% won of 7, noisy | -4.4% max drawdown (7 days, noisy); no_signal"
    )
    text = brief([week(30, 40)], [], n=5)
    assert "| 40 trades | 100.0% won of 40 | -4.4% max drawdown (30 days); no_signal" in text
    assert "noisy" not in text


def test_a_rule_in_full_has_its_n_too() -> None:
    record = week() | {
        "context": {"review": "bags.weekly.2026-W10", "heuristic": "H-1", "role": "entry"},
        "results": {"evaluated": 6, "average_pnl": 30.0, "win_rate": 1.0, "evidence": "weak"},
    }
    text = prompt_section([record], [], 5)
    assert "+30.00 a citation | 6 outcomes, noisy | 100.0% won of 6, noisy | evidence weak" in text


def test_what_is_too_long_loses_whole_figures_and_says_how_many() -> None:
    """An agent's own record may hold dozens of metrics with long names: none of them is cut in its middle."""
    figures = {f"metric_{'x' * 20}_{number}": 1000 + number for number in range(12)}
    line = brief([{"id": "mine", "source": "agent", "results": figures}], [], n=5).split("\n")[4]
    shown = [part.split(" ")[-1] for part in line.split(": ", 1)[1].split(" | ")[:-1]]
    assert shown == [str(1000 + number) for number in range(len(shown))]
    assert line.endswith(f" | and {12 - len(shown)} more")
    assert len(shown) >= 3


def test_a_lesson_with_a_long_name_keeps_its_figures_and_all_of_it_fits() -> None:
    lessons = [
        f"{'t' * 60}…, 2026-03-04: -61.00 USDC; 61.00 USDC worse than doing nothing; {'best ' * 12}end"
    ]
    text = brief([week()] * 20, [], n=20, lessons=lessons, standing=f"Drawdown 9.9% {'of it ' * 40}(noisy).")
    assert len(text) <= LONGEST
    assert text.count("best ") == 12
    assert "(noisy)." in text
    for line in text.split("\n"):
        assert not line.startswith("- **exp") or line.endswith("no_signal")


def test_a_rule_says_what_it_keeps_open() -> None:
    rule = {
        "id": "H_002",
        "heuristic": "H-1",
        "text": "Decisions that cite H-1 gain",
        "evidence": {"grade": "supported", "n": 20, "recommendation": "keep", "period_n": 7, "unit": "USDC"}
        | {"interval": [24.13, 27.63], "open_count": 5, "open_pnl": -2218.44},
    }
    assert brief([], [rule], n=5).split("\n")[4] == (
        "- **H_002** Decisions that cite H-1 gain: keep (n 7 in its last review); evidence supported, n 20, noisy,"
        " 95 % +24.13..+27.63 USDC each; 5 open positions not counted, at -2,218.44 USDC"
    )
    in_r = rule | {"evidence": rule["evidence"] | {"unit": "R", "open_unit": "USDC"}}
    assert (
        brief([], [in_r], n=5)
        .split("\n")[4]
        .endswith("95 % +24.13..+27.63 R each; 5 open positions not counted, at -2,218.44 USDC")
    )
    rule["evidence"] |= {"open_count": 1, "open_pnl": None}
    assert brief([], [rule], n=5).split("\n")[4].endswith("; 1 open position not counted, without a price")


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"e": 61.7, "interval": [24.13, 27.63]}, "supported (61 to 1), n 40, 95 % +24.13..+27.63 USDC each"),
        ({"e": 14.0, "interval": [0.2, None]}, "supported (14 to 1), n 40, 95 % at least +0.20 USDC each"),
        ({"e": 1.97, "interval": [None, 0.4]}, "supported (1.9 to 1), n 40, 95 % at most +0.40 USDC each"),
        ({"e": 0.04, "interval": [None, None]}, "supported (0.0 to 1), n 40"),
        ({"e": 3e6}, "supported (over a million to 1), n 40"),
        ({"e": None, "interval": None}, "supported, n 40"),
        ({"e": True, "interval": [True, 1]}, "supported, n 40"),
    ],
)
def test_a_rule_says_at_what_odds_its_word_stands_and_which_end_is_open(
    figures: dict[str, Any], words: str
) -> None:
    rule = {
        "id": "H_002",
        "text": "Size up",
        "evidence": {"grade": "supported", "n": 40, "recommendation": "keep", "unit": "USDC"} | figures,
    }
    assert brief([], [rule], n=5).split("\n")[4] == f"- **H_002** Size up: keep; evidence {words}"

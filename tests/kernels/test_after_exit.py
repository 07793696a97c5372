"""After the exit: what was left on the table, what holding on would have made, and where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.kernels import regret, series
from retro.kernels.regret import NO_MARK, NOT_HELD
from retro.kernels.series import DAY, HOUR
from tests.kernels.test_regret import assert_same, instants, random_lives

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# after the exit: entry at 0, exit at 10 h with final 1.0 after exit costs of 0.5, marks every hour
AFTER = {
    "entry": 0,
    "exit_at": 10 * HOUR,
    "final_pnl": 1.0,
    "exit_costs": 0.5,
    "gap": 1.0 * HOUR,
    "tolerance": 1e-9,
}


def after(hours: Iterable[float], gross: Sequence[float], stop: float = 1e9, **changes: Any) -> Any:
    return regret.after_exit(
        instants(*(h * HOUR for h in hours)), np.array(gross, float), stop=stop, **(AFTER | changes)
    )


def test_left_on_table_and_hold_on_by_hand() -> None:
    """Horizon 10 h: marks at 11, 15, 20 h count, the exit's own and the one at 21 h do not."""
    got = after([10, 11, 15, 20, 21], [50.0, 2.0, 4.5, 0.5, 90.0])
    assert got.left_on_table == pytest.approx(4.5 - 0.5 - 1.0)
    assert got.hold_on == pytest.approx(0.5 - 0.5 - 1.0)
    assert got.left_on_table_capped == got.left_on_table


def test_nobody_holds_through_the_stop() -> None:
    """Held on, the position falls below -3 at 15 h; the rise at 19 h belongs to nobody."""
    got = after([11, 15, 19, 20], [2.0, -3.5, 9.0, 8.0], stop=3.0)
    assert got.left_on_table == pytest.approx(7.5)
    assert got.left_on_table_capped == pytest.approx(0.5)
    assert got.hold_on == pytest.approx(6.5)
    at_the_stop = after([11, 15, 19, 20], [2.0, -3.0, 9.0, 8.0], stop=3.0)
    assert at_the_stop.left_on_table_capped == pytest.approx(7.5)


def test_holding_on_ends_at_the_mark_at_which_all_there_was_is_lost() -> None:
    """5 to lose after the exit: at 15 h exactly that is gone, and what follows belongs to nobody."""
    got = after([11, 15, 19, 20], [2.0, 1.5 - 5.0, 9.0, 8.0], ruin=5.0)
    assert (got.left_on_table, got.left_on_table_capped, got.hold_on) == pytest.approx((0.5, 0.5, -5.0))
    borne = after([11, 15, 19, 20], [2.0, 1.5 - 5.0, 9.0, 8.0], ruin=5.01)
    assert (borne.left_on_table, borne.hold_on) == pytest.approx((7.5, 6.5))


def test_what_only_fell_left_nothing_on_the_table() -> None:
    got = after([11, 20], [-2.0, -1.0], stop=1.5)
    assert (got.left_on_table, got.left_on_table_capped) == (0.0, 0.0)
    assert got.hold_on == pytest.approx(-2.5)


@pytest.mark.parametrize(
    ("hours", "changes", "reason"),
    [
        ([11, 16], {}, NO_MARK),  # four hours before exit + h, three gaps allowed
        ([], {}, NO_MARK),
        ([9, 10], {"gap": 9.0 * HOUR}, NO_MARK),  # recent enough, but from before the exit
        ([11, 20], {"gap": None}, NO_MARK),
        ([10, 11], {"entry": 10 * HOUR}, NOT_HELD),
    ],
)
def test_without_a_mark_near_the_end_nothing_is_said(
    hours: list[int], changes: dict[str, Any], reason: Any
) -> None:
    got = after(hours, [1.0] * len(hours), **changes)
    assert got == regret.AfterExit(None, None, None, reason)
    near = after([11, 17], [1.0, 1.0])
    assert near.hold_on == pytest.approx(-0.5)


def test_nobody_looks_further_than_seven_days() -> None:
    days = {"entry": 0, "exit_at": 30 * DAY, "gap": 1.0 * DAY}
    got = after([30 * 24 + 24, 37 * 24, 37 * 24 + 1], [2.0, 3.0, 99.0], **days)
    assert got.left_on_table == pytest.approx(1.5)


@given(st.integers(0, 2**32), st.sampled_from([None, 0.5, 2.0]))
@settings(deadline=None, max_examples=60)
def test_the_batch_after_the_exit_is_the_single_function_row_by_row(seed: int, grid: float | None) -> None:
    marks, p, final, costs = random_lives(seed, grid=grid)
    lives = regret.regrets(marks, p, final, costs)
    rng = np.random.default_rng(seed)
    stop = rng.uniform(0, 10, len(final))
    ruin = np.where(rng.random(len(final)) < 0.5, np.inf, rng.uniform(0, 20, len(final)))
    batch = regret.after_exits(marks, p, final, costs, lives.gap, stop, ruin)
    for i in range(len(final)):
        t = marks.times(p.instrument[i])
        gross = p.quantity[i] * marks.prices(p.instrument[i]) + p.cash[i]
        wanted = regret.after_exit(
            t,
            gross,
            entry=int(p.entry[i]),
            exit_at=int(p.exit[i]),
            final_pnl=float(final[i]),
            exit_costs=float(costs[i]),
            gap=series.median_gap(t, int(p.entry[i]) - DAY, int(p.exit[i])),
            stop=float(stop[i]),
            tolerance=regret.tie_tolerance(float(p.notional[i])),
            ruin=float(ruin[i]),
        )
        assert_same(batch.row(i), wanted)

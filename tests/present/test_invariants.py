"""What holds on every page whatever the facts are: lines add up to what is drawn beneath them, a figure is a number."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.errors import InvariantError
from retro.figures import MoneyStyle, duration, percent, price, quantity, ratio
from retro.narrate.slots import position_slots
from retro.present.formats import page_of, render
from retro.present.page.blocks import Bars
from retro.present.page.labels import attribution_bars
from retro.report import PnlAttribution, RetrospectiveReport
from retro.report.lines import COMPONENTS, LINES, signed_lines
from tests.worlds.oracle import ADDED, TAKEN
from tests.worlds.samples import reports
from tests.worlds.samples.positions import attribution

MONEY = MoneyStyle("USDC")
NO_NUMBER = re.compile(r"(?i)(?<![a-z])[-+]?(?:nan|inf(?:inity)?)(?![a-z])")
AMOUNTS = st.floats(-1e12, 1e12)


@st.composite
def attributions(draw: st.DrawFn) -> PnlAttribution:
    """One that closes: its total is its lines with their signs, summed without rounding on the way."""
    amounts: dict[str, Any] = {line.name: draw(AMOUNTS) for line in LINES if line.booked}
    amounts["unattributed"] = draw(st.none() | AMOUNTS)
    total = math.fsum(line.sign * (amounts[line.name] or 0.0) for line in LINES)
    return PnlAttribution(total=total, **amounts)


def with_pnl(pnl: PnlAttribution) -> RetrospectiveReport:
    return reports.weekly().model_copy(update={"pnl": pnl})


def test_every_line_is_a_field_of_the_document_with_the_sign_its_definition_gives() -> None:
    assert {line.name for line in LINES} <= set(PnlAttribution.model_fields)
    assert {line.name: line.sign for line in LINES if line.booked} == {
        **dict.fromkeys(ADDED, 1),
        **dict.fromkeys(TAKEN, -1),
    }
    assert len({line.label for line in LINES}) == len(LINES) == len(COMPONENTS) + 1


def test_every_line_has_a_slot_of_its_own() -> None:
    pnl = attribution(**{line.name: 1.0 for line in LINES})
    position = reports.position().model_copy(update={"attribution": pnl})
    slots = position_slots(position, "USDC").by_name
    for line in LINES:
        assert slots[f"pnl.{line.name}"].text == ("+1.00 USDC" if line.two_sided else "1.00 USDC")


@given(attributions())
def test_the_bars_drawn_add_up_to_the_total_drawn(pnl: PnlAttribution) -> None:
    bars = attribution_bars(pnl, MONEY)
    assert math.fsum(row.amount for row in bars.rows) == pytest.approx(bars.total.amount, rel=1e-9, abs=1e-2)
    assert [row.amount for row in bars.rows] == [line.amount for line in signed_lines(pnl)]
    assert all(row.amount for row in bars.rows)


@given(attributions(), st.sampled_from([1.0, -1.0, 1e6]))
def test_an_attribution_that_does_not_close_is_not_drawn(pnl: PnlAttribution, gap: float) -> None:
    size = math.fsum(abs(line.amount) for line in signed_lines(pnl))
    wrong = pnl.model_copy(update={"total": pnl.total + gap * max(1.0, 1e-6 * size)})
    with pytest.raises(InvariantError, match="add up to its total"):
        attribution_bars(wrong, MONEY)


def test_a_line_that_the_total_forgot_is_refused_in_every_format() -> None:
    report = reports.weekly()
    forgotten = report.pnl.model_copy(update={"gas_costs": report.pnl.gas_costs + 1.0})
    for form in ("text", "md", "html"):
        with pytest.raises(InvariantError):
            render(with_pnl(forgotten), form)


@settings(max_examples=15, deadline=None)
@given(attributions())
def test_no_page_shows_what_is_no_number(pnl: PnlAttribution) -> None:
    report = with_pnl(pnl)
    assert [
        block for section in page_of(report).sections for block in section.blocks if isinstance(block, Bars)
    ]
    for form in ("text", "md", "html"):
        assert not NO_NUMBER.search(render(report, form))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "write",
    [MONEY.plain, MONEY.signed, MONEY.amount, MONEY.change, price, quantity, percent, ratio, duration],
)
def test_what_is_no_number_is_never_written(value: float, write: object) -> None:
    with pytest.raises(InvariantError, match="is a number"):
        write(value)

"""The order of a position's events: by instant, then by what they do, then by id, whatever order they were stated in."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from hypothesis import given
from hypothesis import strategies as st

from retro.accounting.order import in_order
from retro.model import Decision, Fill, Position

if TYPE_CHECKING:
    from retro.model import Fact


def fill(name: str, at: int, side: Literal["buy", "sell"]) -> Fill:
    return Fill(id=name, agent="a", at=at, position="p", side=side, quantity=Decimal(1), price=Decimal(1))


ENTERED = Position(id="z9", agent="a", at=5, position="p", kind="spot", instrument="X/USDC")
IN_ORDER: list[Fact] = [
    ENTERED,
    fill("e2", 5, "buy"),
    fill("e10", 5, "buy"),
    fill("a1", 5, "sell"),
    Decision(id="a0", agent="a", at=5, action="exit", position="p"),
    fill("a2", 6, "sell"),
    fill("b1", 7, "buy"),
]


@given(st.permutations(IN_ORDER))
def test_within_an_instant_what_is_done_comes_first_and_then_the_id_as_one_counts(stated: list[Fact]) -> None:
    assert in_order(stated, "buy") == IN_ORDER


@given(st.permutations([IN_ORDER[0], *IN_ORDER[4:]]))
def test_where_no_two_tie_instants_and_what_is_done_decide_alone(stated: list[Fact]) -> None:
    assert in_order(stated, "buy") == [IN_ORDER[0], *IN_ORDER[4:]]

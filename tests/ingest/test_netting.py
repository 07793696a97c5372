"""Positions out of fills: flat to flat, crossings split, nothing closed that nobody saw opened."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.ingest.batches import BatchWriter
from retro.ingest.netting import Execution, Netting, write_legs

NOW = 1_800_000_000_000_000


def fill(name: str, side: str, quantity: str, **fields: object) -> Execution:
    return Execution(name, 1, "BTC/USDC:USDC", side, Decimal(quantity), Decimal(100), **fields)  # type: ignore[arg-type]


def test_a_position_runs_from_flat_to_flat_and_is_named_by_its_first_fill() -> None:
    book = Netting("hl")
    legs = [
        leg
        for x in (fill("a", "buy", "2"), fill("b", "sell", "2"), fill("c", "sell", "1"))
        for leg in book.take(x)
    ]
    assert [(leg.position, leg.opens, leg.closes) for leg in legs] == [
        ("hl-BTC/USDC:USDC-a", True, False),
        ("hl-BTC/USDC:USDC-a", False, True),
        ("hl-BTC/USDC:USDC-c", True, False),
    ]


def test_a_fill_that_crosses_zero_closes_one_and_opens_the_next_with_its_share_of_the_fee() -> None:
    book = Netting("hl")
    book.take(fill("a", "buy", "1"))
    closing, opening = book.take(fill("b", "sell", "4", fee=Decimal("0.8")))
    assert (closing.id, closing.quantity, closing.fee, closing.closes) == ("b", 1, Decimal("0.2"), True)
    assert (opening.id, opening.quantity, opening.fee, opening.opens) == ("b+", 3, Decimal("0.6"), True)
    assert opening.position == "hl-BTC/USDC:USDC-b+"


def test_hedged_sides_are_two_positions() -> None:
    book = Netting("bn")
    book.take(fill("a", "buy", "1", book="long"))
    (short,) = book.take(fill("b", "sell", "1", book="short"))
    assert short.opens
    assert len(book.holdings) == 2


@pytest.mark.parametrize(
    "late", [{"effect": "close"}, {"book": "long"}], ids=["the venue says close", "against its side"]
)
def test_closing_what_nobody_saw_opened_is_refused_and_changes_nothing(late: dict[str, str]) -> None:
    book = Netting("hl")
    with pytest.raises(ValueError, match="opened before the file"):
        book.take(fill("a", "sell", "1", **late))
    assert not book.holdings


def test_what_nobody_saw_opened_is_opened_at_its_stated_cost() -> None:
    book = Netting("hl", opening="cost_basis")
    book.take(fill("a", "buy", "1"))
    before, closing = book.take(fill("b", "sell", "3", effect="close", cost_basis=Decimal(90)))
    assert (before.side, before.quantity, before.price, before.opening, before.opens) == (
        "buy",
        2,
        90,
        True,
        False,
    )
    assert closing.closes
    assert not book.holdings
    late, gone = book.take(fill("c", "sell", "1", effect="close", cost_basis=Decimal(80)))
    assert (late.opens, late.position, gone.position) == (True, gone.position, "hl-BTC/USDC:USDC-c")


def test_what_is_ignored_leaves_the_part_that_is_known() -> None:
    book = Netting("hl", opening="ignore")
    assert book.take(fill("a", "sell", "1", effect="close")) == []
    book.take(fill("b", "buy", "1"))
    (part,) = book.take(fill("c", "sell", "4", effect="close", fee=Decimal("0.4")))
    assert (part.quantity, part.fee, part.closes) == (1, Decimal("0.1"), True)


def test_a_spot_account_cannot_sell_what_it_never_held() -> None:
    with pytest.raises(ValueError, match="opened before"):
        Netting("x", can_be_short=False).take(fill("a", "sell", "1"))


def test_a_fee_in_the_bought_asset_is_not_held() -> None:
    book = Netting("x", can_be_short=False)
    book.take(Execution("a", 1, "HYPE/USDC", "buy", Decimal("8.31"), Decimal(12), Decimal("0.01"), "HYPE"))
    (closing,) = book.take(Execution("b", 2, "HYPE/USDC", "sell", Decimal("8.3"), Decimal(13)))
    assert closing.closes


@given(st.lists(st.tuples(st.sampled_from(["buy", "sell"]), st.integers(1, 9)), max_size=30))
def test_legs_carry_every_quantity_and_fee_and_no_position_outlives_zero(
    fills: list[tuple[str, int]],
) -> None:
    book, held = Netting("p"), Decimal(0)
    running: dict[str, Decimal] = {}
    for number, (side, quantity) in enumerate(fills):
        legs = book.take(fill(str(number), side, str(quantity), fee=Decimal(quantity)))
        assert sum(leg.quantity for leg in legs) == quantity
        assert abs(sum((leg.fee for leg in legs), Decimal(0)) - quantity) < Decimal("1e-20")
        held += quantity if side == "buy" else -quantity
        for leg in legs:
            assert leg.opens == (leg.position not in running)
            running[leg.position] = running.get(leg.position, Decimal(0)) + (
                leg.quantity if leg.side == "buy" else -leg.quantity
            )
            assert leg.closes == (running[leg.position] == 0)
    assert sum(running.values()) == held
    assert sum(holding.quantity for holding in book.holdings.values()) == held


def test_legs_are_written_as_events_of_the_journal() -> None:
    writer, book = BatchWriter("x.csv", NOW), Netting("hl", opening="cost_basis")
    for line, x in enumerate((fill("a", "sell", "1", fee=Decimal("0.1")), fill("b", "buy", "3")), start=2):
        write_legs(writer, "bot", x, book.take(x), kind="perp", venue="hl", line=line)
    batch = writer.batch()
    assert [(row.type, row.id) for row in batch.rows] == [
        ("position", "hl-BTC/USDC:USDC-a"),
        ("fill", "a"),
        ("fill", "b"),
        ("position", "hl-BTC/USDC:USDC-b+"),
        ("fill", "b+"),
    ]
    assert batch.lines == [2, 2, 3, 3, 3]
    assert not batch.faults
    assert '"side":"short"' in batch.rows[0].body

"""Figures of a source as they are kept and listed: once each, the later word, in pages that name none twice."""

from __future__ import annotations

from decimal import Decimal

import pytest
import sqlalchemy

from retro.app.intake.ingest import IngestTerms, ingest
from retro.app.questions.bounds import ListBounds
from retro.app.questions.checks.rows import checks
from retro.app.reviews.check_tallies import tallies
from retro.app.reviews.checks import ComparedCheck
from retro.app.settlement.settle import settled_book
from retro.checks import SourceCheck
from retro.errors import UsageError
from retro.model import Batch
from retro.periods import HOUR
from retro.store.database import Store
from retro.store.estate.merge import merge
from tests.app.questions.accounts import PERP, check, compared, fill, opened, question, settings_for, tell
from tests.worlds.service_world import MONDAY, line


def test_a_figure_told_again_is_one_and_told_otherwise_the_later_stands(store: Store) -> None:
    stated = [check("realized_pnl", "p", 3, "19"), check("balance", "USDC", 3, "7")]
    tell(store, PERP, stated)
    tell(store, [], stated)
    assert len(compared(store)) == 2
    tell(store, [], [check("realized_pnl", "p", 2.5, "20"), check("balance", "USDC", 3, "8")])
    assert [(row.check.at, row.check.stated) for row in compared(store)] == [
        (MONDAY + int(2.5 * HOUR), 20),
        (MONDAY + 3 * HOUR, 8),
    ]


def dated(hour: int, stated: str, store: Store) -> None:
    """A whole reading of a source as it was at an hour."""
    batch = Batch(checks=[check("realized_pnl", "p", 3, stated)], as_of={"ada": MONDAY + hour * HOUR})
    ingest(store, "bot", [batch], settings_for, IngestTerms(replace="later", dated=True), now=MONDAY)


@pytest.mark.parametrize("order", [(5, 9), (9, 5)])
def test_of_a_source_that_says_how_far_it_was_seen_the_later_copy_is_believed(
    store: Store, order: tuple[int, int]
) -> None:
    tell(store, PERP)
    for hour in order:
        dated(hour, str(hour), store)
    assert [row.check.stated for row in compared(store)] == [9]


@pytest.mark.parametrize(
    "wrong",
    [
        check("realized_pnl", "p", 3, "NaN"),
        check("realized_pnl", "p", 3, "1E+900"),
        check("realized_pnl", "p", 3, "1", "0"),
        check("balance", "", 3, "1"),
        check("realized_pnl", "p", 3, "1")._replace(agent="no agent"),
    ],
)
def test_what_is_no_figure_is_a_fault(store: Store, wrong: SourceCheck) -> None:
    done = tell(store, PERP, [wrong, check("realized_pnl", "p", 3, "20")])
    assert len(done.faults) == 1
    assert [row.within for row in compared(store)] == [True]


def test_a_dry_run_and_a_strict_one_with_a_fault_store_none(store: Store) -> None:
    tell(store, PERP)
    tell(store, [], [check("realized_pnl", "p", 3, "20")], IngestTerms(dry_run=True))
    tell(
        store,
        [],
        [check("realized_pnl", "p", 3, "20"), check("realized_pnl", "p", 3, "NaN")],
        IngestTerms(strict=True),
    )
    assert compared(store) == []


# as they are listed


def crowd(store: Store) -> None:
    events, stated = [], []
    for number in range(12):
        name, hour = f"p{number}", 1 + number // 3
        events += [opened(name, 0), fill(f"b{number}", name, 0, "buy", "1", "100")]
        events.append(fill(f"s{number}", name, hour, "sell", "1", str(100 + number)))
        stated.append(check("realized_pnl", name, hour, str(number if number % 4 else number + 1)))
    tell(store, events, stated)
    other = [event | {"agent": "bob"} for event in PERP]
    tell(store, other, [check("realized_pnl", "p", 3, "20")._replace(agent="bob")])


def test_pages_are_the_list_in_either_order_and_name_no_figure_twice(store: Store) -> None:
    crowd(store)
    whole = compared(store)
    assert len(whole) == 13
    assert [row.check.at for row in whole[:12]] == sorted(row.check.at for row in whole[:12])
    assert compared(store, ListBounds(newest=True)) == whole[::-1]
    for newest in (False, True):
        rows: list[ComparedCheck] = []
        bounds = ListBounds(2, newest=newest)
        while bounds.limit is not None:
            part, following = checks(store, question(store), bounds)
            rows += part
            bounds = ListBounds(2 if following else None, following, newest)
        assert rows == (whole[::-1] if newest else whole)
    failing = [row for row in whole if row.within is False]
    assert len(failing) == 3
    assert compared(store, failing=True) == failing
    assert checks(store, question(store, failing=True), ListBounds(2)).rows == tuple(failing[:2])


@pytest.mark.parametrize("cursor", ["nonsense", "a/b/c", "ada/x/realized_pnl/p/", ""])
def test_a_cursor_that_is_none_is_refused(store: Store, cursor: str) -> None:
    crowd(store)
    with pytest.raises(UsageError, match="no place in this list"):
        compared(store, ListBounds(after=cursor))


def test_a_tally_counts_what_agrees_what_differs_and_what_nobody_knows(store: Store) -> None:
    crowd(store)
    tell(store, [], [check("realized_pnl", "p1", 1, "1", fill="nothing"), check("equity", "", 3, "1")])
    counted = tallies(compared(store), {"ada": "USDC", "bob": "USDC"})
    assert [(tally.agent, tally.sentence) for tally in counted] == [
        ("ada", "9 of 12 positions agree within 0.001 USDC"),
        ("ada", "none of 1 fill can be compared"),
        ("ada", "none of 1 statement of equity can be compared"),
        ("bob", "1 of 1 position agrees within 0.001 USDC"),
    ]


def test_settling_and_lists_do_not_read_what_sources_state(store: Store) -> None:
    """Compared when somebody asks, and paid for by nobody else."""
    crowd(store)
    statements: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    sqlalchemy.event.listen(store.engine, "before_cursor_execute", note)
    tell(store, [fill("late", "p0", 5, "sell", "1", "90")])
    with settled_book(store, "ada", settings_for(question(store).agents[0])) as book:
        assert len(book.positions()) == 12
    assert [text for text in statements if "checks" in text] == []
    compared(store)
    assert [text for text in statements if "checks" in text] != []


def test_of_two_lives_that_state_the_same_the_successors_word_stands(store: Store) -> None:
    stated = check("balance", "USDC", 2, "2")
    tell(store, PERP, [stated, check("balance", "USDC", 3, "3")])
    tell(
        store,
        [line("cost", "c", MONDAY, "bob", kind="gas", amount="1")],
        [stated._replace(agent="bob", stated=Decimal(5))],
    )
    with store.write() as conn:
        merge(conn, "ada", "bob", MONDAY)
    assert [(row.check.agent, row.check.stated) for row in compared(store)] == [("bob", 5), ("bob", 3)]

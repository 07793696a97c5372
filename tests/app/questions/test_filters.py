"""Filters of lists: what is typed is what is meant, on both databases, part by part, and nothing else gets in."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.app.questions.lists.filters import POSITIONS, REVIEWS, selection_of
from retro.errors import UsageError
from retro.periods import DAY, HOUR, parse_instant, zone
from retro.store.books import pages
from retro.store.books.positions import save_positions
from retro.store.conditions import ColumnCondition
from retro.store.database import Store
from tests.worlds.databases import note

UTC = zone("UTC")
MONDAY = parse_instant("2026-03-02T00:00:00Z")


def figure(dice: random.Random, closed: int | None) -> float | None:
    return None if closed is None or dice.random() < 0.2 else round(dice.uniform(-9, 9), 1)


def lives(count: int = 120) -> list[dict[str, Any]]:
    """Rows of a book with every sort of hole: open, without a risk, of one instant, with names that are patterns."""
    dice = random.Random(14)
    rows = []
    for i in range(count):
        opened = MONDAY + dice.randrange(20) * DAY
        closed = None if i % 5 == 0 else opened + dice.randrange(1, 60) * HOUR
        cites = dice.choice([[], ["H-7"], ["H-70", "naïve"], ['say "hi"\0', "H-7"], ["%"]])
        decisions = [
            ["H-7", opened, "enter", cites, False, None],
            ["d", opened + DAY, "exit", ["late"], False, None],
        ]
        rows.append(
            {
                "position": f"{dice.choice(['lp', 'T', 'a%b', 'a_b', 'ÄTH'])}-{i}", "kind": dice.choice(["spot", "perp"]),
                "instrument": dice.choice(["ETH/USDC", "eth/btc", "Äpfel", 'say "x"']), "strategy": "", "side": None,
                "opened_at": opened, "closed_at": closed, "flagged_at": opened if i % 7 == 0 else None,
                "final_pnl": figure(dice, closed), "vs_inaction": figure(dice, closed), "notional": 5.0, "risk": dice.choice([None, 0.0, 2.0]),
                "exit_outcome": None, "exit_resolved_at": None, "implausible_pnl": 0.0, "ruling": dice.choice([None, "confirmed"]),
                "told": json.dumps({"decisions": decisions, "increases": []}), "mfe": figure(dice, closed), "mae": None, "regret": figure(dice, closed),
                "regret_ratio": None, "exit_reason": dice.choice(["stop", "Out of Range"]) if closed else None, "spark": None,
            }
        )  # fmt: skip
    return rows


ROWS = lives()
Life = dict[str, Any]


def cited(row: Life, name: str) -> bool:
    return any(name in decision[3] for decision in json.loads(row["told"])["decisions"])


MEANT: dict[str, Callable[[Life], bool]] = {
    "": lambda _: True,
    "eth": lambda r: "eth" in r["instrument"].lower().replace("ä", ""),
    "ÄPFEL": lambda r: r["instrument"] == "Äpfel",  # A to Z are one with a to z, and nothing else is, on every database
    "äpfel": lambda r: False,
    "Äpfel": lambda r: r["instrument"] == "Äpfel",
    "a%b": lambda r: r["position"].startswith("a%b"),
    "a_b": lambda r: r["position"].startswith("a_b"),
    "-eth": lambda r: "eth" not in r["instrument"].lower(),
    'instrument:"say"': lambda r: False,
    "instrument:ETH/usdc": lambda r: r["instrument"] == "ETH/USDC",
    "pnl<0": lambda r: r["final_pnl"] is not None and r["final_pnl"] < 0,
    "-pnl<0": lambda r: not (r["final_pnl"] is not None and r["final_pnl"] < 0),
    "pnl<0 regret>5": lambda r: (r["final_pnl"] or 0) < 0 and (r["regret"] or 0) > 5,
    "r>=1": lambda r: bool(r["risk"]) and r["final_pnl"] is not None and r["final_pnl"] / r["risk"] >= 1,
    "held<1d": lambda r: r["closed_at"] is not None and r["closed_at"] - r["opened_at"] < DAY,
    "opened:2026-W11": lambda r: MONDAY + 7 * DAY <= r["opened_at"] < MONDAY + 14 * DAY,
    "-opened:2026-W11": lambda r: not MONDAY + 7 * DAY <= r["opened_at"] < MONDAY + 14 * DAY,
    "opened<=2026-03-03": lambda r: r["opened_at"] < MONDAY + 2 * DAY,
    "opened>2026-03-03": lambda r: r["opened_at"] >= MONDAY + 2 * DAY,
    "opened=2026-03-02T00:00:00Z": lambda r: r["opened_at"] == MONDAY,
    "rule:H-7": lambda r: cited(r, "H-7"),
    "rule:H-7 tag:late": lambda r: cited(r, "H-7"),
    "-rule:H-7": lambda r: not cited(r, "H-7"),
    "rule:naïve": lambda r: cited(r, "naïve"),
    "rule:%": lambda r: cited(r, "%"),
    'exit:"out of range"': lambda r: r["exit_reason"] == "Out of Range",
    "open": lambda r: r["closed_at"] is None,
    "-open": lambda r: r["closed_at"] is not None,
    "implausible confirmed": lambda r: r["flagged_at"] is not None and r["ruling"] == "confirmed",
    '"open"': lambda r: False,
}  # fmt: skip


def with_rows(store: Store) -> Store:
    note(store, "bot")
    with store.write() as conn:
        save_positions(conn, "bot", ROWS)
    return store


def names_of(rows: list[Any]) -> list[str]:
    return [row["position"] if isinstance(row, dict) else row.position for row in rows]


def test_what_is_typed_is_what_is_listed_and_counted(store: Store) -> None:
    zeros = (
        store.engine.dialect.name == "postgresql"
    )  # it reads no JSON with U+0000 in it: such a row cites nothing
    with with_rows(store).read() as conn:
        for text, meant in MEANT.items():
            selection = selection_of(text, POSITIONS, UTC)
            rows = pages.positions_after(conn, "bot", None, 999, selection=selection)
            expected = {row["position"] for row in ROWS if meant(row)}
            if zeros and "rule" in text:
                unread = {row["position"] for row in ROWS if "\\u0000" in row["told"]}
                expected = expected | unread if text.startswith("-") else expected - unread
            assert set(names_of(rows)) == expected, text
            assert pages.count_positions(conn, "bot", selection) == len(expected), text


@pytest.mark.parametrize("sort", ["pnl", "-pnl", "regret", "-held", "opened", "-opened", "r"])
def test_parts_of_a_sorted_list_are_the_list(store: Store, sort: str) -> None:
    with with_rows(store).read() as conn:
        selection = selection_of("-implausible", POSITIONS, UTC, sort=sort)
        whole = names_of(pages.positions_after(conn, "bot", None, 999, selection=selection))
        figures: dict[str, Callable[[Life], float | None]] = {
            "pnl": lambda r: r["final_pnl"],
            "regret": lambda r: r["regret"],
            "held": lambda r: None if r["closed_at"] is None else r["closed_at"] - r["opened_at"],
            "opened": lambda r: r["opened_at"],
            "r": lambda r: r["final_pnl"] / r["risk"] if r["risk"] and r["final_pnl"] is not None else None,
        }  # fmt: skip
        of = figures[sort.removeprefix("-")]
        rows = [row for row in ROWS if row["flagged_at"] is None and of(row) is not None]
        key: Callable[[Life], Any] = lambda row: (of(row), row["opened_at"], row["position"].encode())  # noqa: E731
        assert whole == names_of(sorted(rows, key=key, reverse=sort.startswith("-")))
        parts: list[str] = []
        while part := names_of(
            pages.positions_after(
                conn, "bot", pages.place_of(conn, "bot", parts[-1]) if parts else None, 7, selection=selection
            )
        ):
            parts += part
        assert parts == whole


def test_as_of_an_instant_nothing_is_known_of_what_came_later(store: Store) -> None:
    as_of = MONDAY + 9 * DAY
    with with_rows(store).read() as conn:

        def listed(text: str) -> set[str]:
            selection = selection_of(text, POSITIONS, UTC, as_of=as_of)
            return set(names_of(pages.positions_after(conn, "bot", None, 999, selection=selection)))

        begun = [row for row in ROWS if row["opened_at"] <= as_of]
        over = [row for row in begun if row["closed_at"] is not None and row["closed_at"] <= as_of]
        assert 0 < len(over) < len(begun) < len(ROWS)
        assert listed("") == set(names_of(begun))
        assert listed("open") == set(names_of(begun)) - set(names_of(over))
        assert listed("pnl<0") == {
            r["position"] for r in over if r["final_pnl"] is not None and r["final_pnl"] < 0
        }
        late = {row["position"] for row in begun if row["opened_at"] + DAY <= as_of}
        assert listed("rule:late") - late == set()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pnl<x", "pnl: 'x' is not a number"),
        ("pnl<nan", "pnl: 'nan' is not a number"),
        ("colour:red", "there is no column 'colour'"),
        ("held>soon", "held: 'soon' is not a duration"),
        ("opened:2026-13", "opened: '2026-13' is on no calendar"),
        ("opened:2026-W54", "opened: '2026-W54' is on no calendar"),
        ("opened:1969", "opened: '1969' lies beyond"),
        ("opened:tomorrow", "opened: 'tomorrow' is not a time"),
        ("kind>spot", "kind: it is a text"),
        ("flag:red", "flag: 'red' is none of open"),
        ('eth "half', "a quotation mark"),
        ("pnl<", "no value"),
        ("eth\nx", "one line"),
        ("x " * 21, "at most 20"),
    ],
)
def test_a_word_that_makes_no_sense_is_named(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match="filter: ") as caught:
        selection_of(text, POSITIONS, UTC)
    assert sentence in str(caught.value)


def test_a_column_that_is_not_sorted_by_is_named() -> None:
    with pytest.raises(UsageError, match="'colour' is none of opened, pnl"):
        selection_of("", POSITIONS, UTC, sort="-colour")
    with pytest.raises(UsageError, match="it has one order"):
        selection_of("", REVIEWS, UTC, sort="id")


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["pnl", "-", "<", ":", '"', " ", "2026", "opened"])).map("".join)
)
def test_any_text_is_a_filter_or_is_refused(text: str) -> None:
    try:
        selection = selection_of(text, POSITIONS, UTC)
    except UsageError:
        return
    assert all(isinstance(one, ColumnCondition) for one in selection.where)

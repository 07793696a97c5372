"""What the audit lets us propose: which amendment for which evidence, and what would falsify it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbook import AuditRow, SinceStated, apply, first, parse, propose, to_json
from playbook.amendment import Amendment
from playbook.audit import evidence
from playbook.confidence import posterior
from playbook.proposal import BLANK

TEXT = """\
## Global

- H-3 [0.55] Concentrate {tags: lp; status: active}
- H-7 [0.62] Increase size {tags: size_up; status: active}
- H-9 [0.20] Old idea {status: demoted}
- H-12 [0.35] New idea {status: candidate}
- H-15 [0.50] Exit early {tags: exit_early; status: active}

## Retired

- H-1 [0.10] Gone
"""
BOOK = parse(TEXT)


def row(
    heuristic: str, kind: str = "keep", grade: str = "weak", n: int = 12, wins: int = 6, **overrides: Any
) -> AuditRow:
    average = {"keep": 1.4, "demote": -2.1, "investigate": 0.3, "insufficient_data": None}[kind]
    since = SinceStated(wins, n - wins, 12.0)  # 12 to 1 against the stated confidence
    fields: dict[str, Any] = {
        "role": "entry",
        "avg": average,
        "citation_count": n,
        "stated": since,
    } | overrides
    return AuditRow(heuristic, kind=kind, grade=grade, evaluated_count=n, win_count=wins, **fields)  # type: ignore[arg-type]  # words from a table


def _brief(proposals: list[Amendment]) -> list[tuple[str, str]]:
    return [(amendment.op, amendment.heuristic) for amendment in proposals]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("H-7", "demote", "supported", wins=2)], [("demote", "H-7")]),
        ([row("H-7", "demote", "suggestive", wins=2)], [("set_confidence", "H-7")]),
        ([row("H-7", "demote", "weak", n=3, wins=1)], [("set_confidence", "H-7")]),
        ([row("H-7", "demote", "none", n=2, wins=0)], []),
        ([row("H-7", "insufficient_data", "none", n=0, wins=0)], []),
        ([row("H-12", "keep", "supported", wins=9)], [("promote", "H-12")]),
        ([row("H-12", "keep", "suggestive", wins=9)], [("set_confidence", "H-12")]),
        ([row("H-12", "demote", "supported", wins=2)], [("demote", "H-12")]),
        ([row("H-3", "keep", "supported", wins=9)], [("set_confidence", "H-3")]),
        ([row("H-3", "keep", wins=6)], []),
        ([row("H-3", "investigate", wins=12)], [("set_confidence", "H-3")]),
        ([row("H-9", "demote", "supported", wins=2)], [("retire", "H-9")]),
        ([row("H-9", "demote", "supported", wins=2, resolved_since=3)], [("retire", "H-9")]),
        ([row("H-9", "demote", "supported", wins=2, resolved_since=2)], []),
        ([row("H-9", "keep", "supported", wins=9)], [("promote", "H-9")]),
        ([row("H-1", "demote", "supported", wins=0)], []),
        ([row("H-15", "demote", "supported", wins=2, role="exit")], [("set_confidence", "H-15")]),
        ([row("H-12", "keep", "supported", wins=9, role="exit")], [("set_confidence", "H-12")]),
        ([row("roi", "keep", "weak")], []),
        ([row("roi", "demote", "suggestive")], []),
        ([row("late", "demote", "supported", wins=2)], [("demote", "late")]),
        ([row("early", "keep", "supported", wins=9)], [("add", "H-16")]),
        ([], []),
    ],
)
def test_each_kind_of_evidence_has_its_amendment(
    rows: list[AuditRow], expected: list[tuple[str, str]]
) -> None:
    proposals = propose(BOOK, rows)
    assert _brief(proposals) == expected
    assert all(
        amendment.grounds.origin == "audit" and amendment.grounds.falsified_by for amendment in proposals
    )


def test_the_most_urgent_comes_first_and_each_heuristic_has_one_amendment() -> None:
    rows = [
        row("H-3", "keep", wins=11),
        row("early", "keep", "supported", wins=9),
        row("H-12", "keep", "supported", wins=9),
        row("late", "demote", "supported", wins=2),
        row("H-9", "demote", "supported", wins=2),
        row("H-7", "demote", "supported", wins=2),
    ]
    expected = [
        ("demote", "H-7"),
        ("retire", "H-9"),
        ("promote", "H-12"),
        ("set_confidence", "H-3"),
        ("add", "H-16"),
        ("demote", "late"),
    ]
    assert _brief(propose(BOOK, rows)) == expected
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert [to_json(amendment) for amendment in propose(BOOK, shuffled)] == [
            to_json(amendment) for amendment in propose(BOOK, rows)
        ]


def test_all_proposals_apply_in_their_order() -> None:
    rows = [
        row("H-9", "demote", "supported", wins=2),
        row("H-7", "demote", "supported", wins=2),
        row("H-3", wins=11),
    ]
    after = parse(apply(BOOK, propose(BOOK, rows)))
    assert after.faults == ()
    states = {heuristic.id: (heuristic.status, heuristic.confidence) for heuristic in after.heuristics}
    assert states["H-7"] == ("demoted", posterior(0.62, 2, 12))
    assert states["H-9"] == ("retired", 0.2)
    assert states["H-3"] == ("active", posterior(0.55, 11, 12))


@pytest.mark.parametrize(
    ("stated", "wins", "n", "moved"),
    [("0.50", 2, 3, None), ("0.50", 6, 10, "0.55"), ("0.60", 3, 4, None), ("0.60", 5, 7, "0.65")],
)
def test_a_confidence_moves_by_a_twentieth_or_not_at_all(
    stated: str, wins: int, n: int, moved: str | None
) -> None:
    proposals = propose(parse(f"- H-1 [{stated}] a"), [row("H-1", n=n, wins=wins)])
    assert [amendment.new for amendment in proposals] == ([f"- H-1 [{moved}] a"] if moved else [])


def test_a_confidence_moves_only_the_way_the_money_went() -> None:
    """A trend follower wins three of twelve and earns; a rule that wins often and loses is not praised."""
    assert propose(BOOK, [row("H-3", "keep", "suggestive", wins=3)]) == []
    assert propose(BOOK, [row("H-3", "demote", "suggestive", wins=11)]) == []
    promoted = propose(BOOK, [row("H-12", "keep", "supported", wins=1)])
    assert promoted[0].new == "- H-12 [0.35] New idea {status: active}"
    demoted = propose(BOOK, [row("H-7", "demote", "supported", wins=12)])
    assert demoted[0].new == "- H-7 [0.62] Increase size {tags: size_up; status: demoted}"


def test_the_same_citations_are_not_counted_twice() -> None:
    """Once the confidence has moved on them, the counting starts again."""
    audit_row = row("H-3", wins=11)
    after = parse(apply(BOOK, propose(BOOK, [audit_row])))
    assert propose(after, [replace(audit_row, stated=SinceStated(0, 0, 1.0))]) == []
    assert propose(after, [replace(audit_row, stated=SinceStated(2, 0, 11.0))]) == []


@pytest.mark.parametrize(("e", "moves"), [(9.99, False), (10.0, True)])
def test_a_confidence_moves_at_ten_to_one_against_it(e: float, moves: bool) -> None:
    proposals = propose(BOOK, [row("H-3", wins=11, stated=SinceStated(11, 1, e))])
    assert [amendment.op for amendment in proposals] == ["set_confidence"] * moves


@pytest.mark.parametrize(("clipped", "demoted"), [(None, True), (0.2, True), (0.21, False)])
def test_a_rule_whose_great_gains_were_not_counted_is_not_demoted(
    clipped: float | None, demoted: bool
) -> None:
    rows = [row(name, "demote", "supported", wins=2, clipped=clipped) for name in ("H-7", "late")]
    demotions = [amendment.heuristic for amendment in propose(BOOK, rows) if amendment.op == "demote"]
    assert demotions == (["H-7", "late"] if demoted else [])


def test_the_entry_role_decides_and_the_exit_role_speaks_where_entry_is_silent() -> None:
    entry = row("H-15", "demote", "supported", wins=2)
    leave = row("H-15", "keep", "supported", wins=11, role="exit")
    assert _brief(propose(BOOK, [entry, leave])) == [("demote", "H-15")]
    silent = row("H-15", "insufficient_data", "none", n=0, wins=0)
    assert propose(BOOK, [silent, leave])[0].grounds.evidence["role"] == "exit"


def test_a_demotion_carries_its_evidence_and_what_would_falsify_it() -> None:
    audit_row = row(
        "H-7",
        "demote",
        "supported",
        n=14,
        wins=3,
        avg=-2.3123456789,
        citation_count=17,
        interval=(-4.0, -0.5),
        e_against=61.23456789,
        e_for=0.01,
        bets=12,
        bound=15.5,
        clipped=0.05,
        break_even=(32.4, 3.0),
        reviews=("bot.weekly.2026-W46", "bot.weekly.2026-W47"),
        since=date(2026, 3, 1),
        vs_inaction=-2.5,
    )
    document = to_json(propose(BOOK, [audit_row])[0])
    assert document == {
        "id": document["id"],
        "op": "demote",
        "heuristic": "H-7",
        "old": "- H-7 [0.62] Increase size {tags: size_up; status: active}",
        "new": "- H-7 [0.38] Increase size {tags: size_up; status: demoted}",
        "evidence": {
            "role": "entry",
            "citations": 17,
            "resolved": 14,
            "wins": 3,
            "average": -2.31235,
            "unit": "usd",
            "interval": [-4.0, -0.5],
            "e": 61.2346,
            "e_against": 61.2346,
            "e_for": 0.01,
            "bets": 12,
            "bound": 15.5,
            "since": "2026-03-01",
            "reviews": ["bot.weekly.2026-W46", "bot.weekly.2026-W47"],
            "break_even": {"gain": 32.4, "largest": 3.0},
            "clipped": 0.05,
            "vs_inaction": -2.5,
            "grade": "supported",
            "prior": 0.62,
        },
        "falsified_by": "later entry citations speak for it at 10 to 1",
        "origin": "audit",
    }
    json.dumps(document, allow_nan=False)


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), None])
def test_no_figure_that_is_no_number_reaches_a_proposal(figure: float | None) -> None:
    bounds = None if figure is None else (figure, 1.0)
    audit_row = row("H-7", "demote", "supported", wins=2, e_against=figure, interval=bounds, regret=figure)
    grounds = evidence(audit_row)
    assert (grounds["e"], grounds["interval"]) == (None, bounds and [None, 1.0])
    assert "regret" not in grounds


KINDS = st.sampled_from(["keep", "demote", "investigate", "insufficient_data"])
GRADES = st.sampled_from(["none", "weak", "suggestive", "supported"])
NAMES = st.sampled_from(
    ["H-1", "H-3", "H-7", "H-9", "H-12", "H-15", "H-99", "late", "early", "x;y}", "<img>", ""]
)


@st.composite
def rows(draw: st.DrawFn) -> list[AuditRow]:
    audit_rows = []
    for name in draw(st.lists(NAMES, unique=True, max_size=8)):
        n = draw(st.integers(0, 40))
        fields: dict[str, Any] = {
            "n": n,
            "wins": draw(st.integers(0, n)),
            "role": draw(st.sampled_from(["entry", "exit"])),
            "partners": tuple(
                (other, draw(st.floats(0.5, 1))) for other in draw(st.lists(NAMES, max_size=2))
            ),
        }
        audit_rows.append(row(name, draw(KINDS), draw(GRADES), **fields))
    return audit_rows


@given(rows(), st.sampled_from([TEXT, "", BLANK, TEXT.replace("\n", "\r\n")]))
@settings(max_examples=400, deadline=None)
def test_the_contract_of_propose(audit_rows: list[AuditRow], text: str) -> None:
    """Every entry row recommended demote with supported evidence is demoted; the word stands nowhere else."""
    book = parse(text)
    proposals = propose(book, audit_rows)
    status = {heuristic.id: heuristic.status for heuristic in book.heuristics}
    due = {
        audit_row.heuristic_id
        for audit_row in audit_rows
        if (audit_row.role, audit_row.kind, audit_row.grade) == ("entry", "demote", "supported")
        and audit_row.heuristic_id
    }
    assert {amendment.heuristic for amendment in proposals if amendment.op == "demote"} == {
        name for name in due if status.get(name) not in ("demoted", "retired")
    }
    for amendment in proposals:
        claims = "supported" in json.dumps(dict(amendment.grounds.evidence))
        if amendment.op == "demote":
            assert claims
        assert not claims or amendment.heuristic in due
    after = parse(apply(book, proposals))
    assert after.faults == ()
    assert len({amendment.heuristic for amendment in proposals}) == len(proposals)


@given(rows(), rows())
@settings(max_examples=200, deadline=None)
def test_labels_that_a_playbook_does_not_know_change_nothing_while_none_is_supported(
    audit_rows: list[AuditRow], exits: list[AuditRow]
) -> None:
    """What a review may leave out of the audit it proposes from (`retro.app.proposals.evidence`)."""
    every = [*audit_rows, *(replace(row, role="exit") for row in exits)]
    book = parse(TEXT)
    names = {heuristic.id for heuristic in book.heuristics}
    names |= {row.heuristic_id for row in every if row.grade == "supported"}
    assert propose(book, [row for row in every if row.heuristic_id in names]) == propose(book, every)


PAIR = parse("## Global\n\n- H-2 [0.5] a {tags: x}\n- H-10 [0.5] b {tags: y}\n- H-11 [0.5] c {tags: z}\n")


def _pair(shared: float = 0.9, kind: str = "keep", other: str = "keep", n: int = 12) -> list[AuditRow]:
    return [
        row("H-2", kind, n=n, wins=n // 2, citation_count=12, partners=(("H-10", shared),)),
        row("H-10", other, n=n, wins=n // 2, citation_count=15, partners=(("H-2", shared),)),
    ]


def test_two_rules_never_cited_apart_are_merged_into_the_one_cited_more() -> None:
    (amendment,) = propose(PAIR, _pair())
    assert (amendment.op, amendment.heuristic) == ("merge", "H-10")
    assert amendment.new == (
        "- H-10 [0.5] b {tags: y, x}\n- H-2 [0.5] a {tags: x; status: retired; reason: merged into H-10}"
    )
    assert amendment.grounds.evidence["jaccard"] == 0.9
    assert amendment.grounds.falsified_by == "10 later decisions cite one of H-10 and H-2 without the other"


@pytest.mark.parametrize(
    "audit_rows",
    [
        _pair(shared=0.8),
        _pair(kind="demote"),
        _pair(n=9),
        [*_pair()[:1], row("H-11")],
        [
            replace(audit_row, role="exit") if audit_row.heuristic_id == "H-2" else audit_row
            for audit_row in _pair()
        ],
    ],
    ids=["separable", "opposite ways", "too few", "no such partner row", "other role"],
)
def test_a_merge_needs_the_same_way_and_enough_citations(audit_rows: list[AuditRow]) -> None:
    assert [amendment for amendment in propose(PAIR, audit_rows) if amendment.op == "merge"] == []


def test_rules_of_different_strategies_are_not_merged() -> None:
    book = parse("## Strategy: a\n- H-2 [0.5] a\n## Strategy: b\n- H-10 [0.5] b\n")
    assert propose(book, _pair()) == []


def test_a_demotion_goes_before_a_merge() -> None:
    audit_rows = [
        replace(audit_row, kind="demote", grade="supported", avg=-3.0, win_count=2) for audit_row in _pair()
    ]
    assert _brief(propose(PAIR, audit_rows)) == [("demote", "H-2"), ("demote", "H-10")]


def test_an_id_the_agent_cited_without_a_playbook_keeps_its_number() -> None:
    audit_rows = [
        row("H-1", citation_count=20),
        row("a", citation_count=30),
        row("H-7", "demote", "supported", wins=2),
    ]
    book = parse(first(audit_rows))
    assert [(heuristic.id, heuristic.tags, heuristic.status) for heuristic in book.heuristics] == [
        ("H-2", ("a",), "candidate"),
        ("H-1", (), "candidate"),
        ("H-7", (), "demoted"),
    ]
    assert book.faults == ()


def test_a_playbook_once_proposed_is_not_proposed_again() -> None:
    audit_rows = [row("dip", "keep", n=4, wins=2, citation_count=20)]
    claimed = [replace(audit_row, heuristic_id="H-1") for audit_row in audit_rows]
    assert propose(parse(first(audit_rows)), claimed) == []


def test_faults_of_the_document_stand_in_the_way_of_their_own_heuristics_only() -> None:
    book = parse("- H-1 [0.5] a\n- H-1 [0.5] b\n- H-2 [x] c\n- H-3 [0.5] d\n")
    audit_rows = [row(name, "demote", "supported", wins=2) for name in ("H-1", "H-2", "H-3")]
    assert [(amendment.heuristic, amendment.new) for amendment in propose(book, audit_rows)] == [
        ("H-2", "- H-2 [x] c {status: demoted}"),
        ("H-3", "- H-3 [0.32] d {status: demoted}"),
    ]

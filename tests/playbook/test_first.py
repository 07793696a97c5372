"""A first playbook: the tags that have an outcome, called tags, each with what it made beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from playbook import AuditRow, LaterCitations, first, judge, parse, propose
from playbook.plain import unquoted
from playbook.proposal import BLANK
from tests.playbook.test_proposal import row


def test_a_first_playbook_lists_the_labels_by_how_often_they_were_cited() -> None:
    audit_rows = [
        row("roi", "keep", n=10, role="exit", citation_count=30),
        row("dip", "keep", "supported", wins=9, citation_count=20),
        row("rsi < 30, vol", "investigate", citation_count=20),
        row("late", "demote", "supported", wins=2, citation_count=12, since=date(2026, 3, 1)),
        row("never", "insufficient_data", "none", n=0, wins=0),
        row("waiting", "insufficient_data", "none", n=0, wins=0, citation_count=50),
    ]
    assert first(audit_rows) == BLANK + (
        "\n"
        "- H-1 [0.47] Tag at exit: roi {tags: roi; status: candidate; evidence: "
        '"avoided on average +1.40 usd over 10 resolved, no interval, evidence weak"}\n'
        "- H-2 [0.57] Tag at entry: dip {tags: dip; status: candidate; evidence: "
        '"average +1.40 usd over 12 resolved, no interval, evidence supported"}\n'
        '- H-3 [0.43] Tag at entry: rsi < 30, vol {tags: "rsi \\u003c 30, vol"; status: candidate; evidence: '
        '"average +0.30 usd over 12 resolved, no interval, evidence weak"}\n'
        "- H-4 [0.25] Tag at entry: late {tags: late; since: 2026-03-01; status: demoted; evidence: "
        '"average -2.10 usd over 12 resolved, no interval, evidence supported"}\n'
    )
    book = parse(first(audit_rows))
    assert book.faults == ()
    assert [heuristic.tags for heuristic in book.heuristics] == [
        ("roi",),
        ("dip",),
        ("rsi < 30, vol",),
        ("late",),
    ]


def test_a_first_playbook_shows_a_loser_as_what_it_is() -> None:
    """1,154 trades that lost 3.60 each, 41 of 100 won: lower than a newcomer, with currency, n, interval and word."""
    loser = AuditRow(
        "bb_reclaim", role="entry", kind="demote", grade="suggestive", evaluated_count=1154, win_count=473,
        avg=-3.6, interval=(-6.9, -0.3), e_against=14.0, currency="USDT",
    )  # fmt: skip
    (rule,) = parse(first([loser])).heuristics
    assert rule.text == "Tag at entry: bb_reclaim"
    assert unquoted(rule.head.value("evidence") or "") == (
        "average -3.60 USDT over 1154 resolved, 95 % -6.90 to -0.30 at every look, evidence suggestive"
    )
    assert (rule.confidence or 1) <= 0.35
    (amendment,) = propose(parse(BLANK), [loser])
    assert amendment.grounds.falsified_by == "later entry citations speak for it at 10 to 1"
    assert amendment.grounds.evidence["currency"] == "USDT"
    twice = replace(loser, evaluated_count=2308, win_count=946)
    assert propose(parse(BLANK), [twice])[0].id == amendment.id  # a no stays a no while citations trickle in


def test_a_first_playbook_rests_on_outcomes_enough_for_a_verdict() -> None:
    """One outcome, two, and twelve whose average nobody knows in R are no rule; three are."""
    rows = [
        row("one", "insufficient_data", "none", n=1, wins=0, avg=-4.0),
        row("two", "insufficient_data", "none", n=2, wins=2, avg=0.3),
        row("unsized", "insufficient_data", "weak", n=12, unit="r", averaged=0),
        row("three", "investigate", "none", n=3, wins=2),
    ]
    assert [rule.tags for rule in parse(first(rows)).heuristics] == [("three",)]


@pytest.mark.parametrize(
    ("role", "average", "wrong_if"),
    [
        ("entry", 1.4, "later entry citations speak against it at 10 to 1"),
        ("entry", -1.4, "later entry citations speak for it at 10 to 1"),
        ("exit", 1.4, "later exit citations speak against it at 10 to 1"),
        ("exit", -1.4, "later exit citations speak for it at 10 to 1"),
    ],
)
def test_what_would_prove_a_tag_wrong_is_not_what_it_did_already(
    role: str, average: float, wrong_if: str
) -> None:
    """And the verdict is that of the words: the evidence itself, once more, refutes nothing."""
    (amendment,) = propose(parse(BLANK), [row("tag", role=role, avg=average, unit="r")])
    assert amendment.grounds.falsified_by == wrong_if
    as_it_went = LaterCitations(12, e_against=0.1, e_for=10.0)
    the_other_way = LaterCitations(12, e_against=10.0, e_for=0.1)
    if average < 0:
        as_it_went, the_other_way = the_other_way, as_it_went
    assert judge(amendment, as_it_went) == "validated"
    assert judge(amendment, the_other_way) == "refuted"
    assert judge(amendment, LaterCitations(11, 9.0, 9.0)) == "open"


def test_an_average_in_r_says_of_how_many_the_risk_is_known() -> None:
    sized = row("dip", unit="r", n=235, averaged=160, interval=(-0.03, 0.16))
    assert (
        "average +1.40 R over 160 of 235 resolved, 95 % -0.03 to +0.16 at every look, evidence weak"
        in first([sized])
    )
    (amendment,) = propose(parse(BLANK), [sized])
    assert (amendment.grounds.evidence["averaged"], amendment.grounds.evidence["resolved"]) == (160, 235)

"""What later citations say of a proposal: the side that first has 10 to 1, and after sixty of them nobody."""

from __future__ import annotations

import pytest

from playbook import AuditRow, LaterCitations, judge, propose
from tests.playbook.test_proposal import BOOK, PAIR, _pair, row

DEMOTED = row("H-7", "demote", "supported", wins=2)
PROMOTED = row("H-12", "keep", "supported", wins=9)
RAISED = row("H-3", "keep", wins=11)  # from 0.55
LOWERED = row("H-7", "demote", wins=2)  # from 0.62


@pytest.mark.parametrize(
    ("audit_row", "later", "expected"),
    [
        (DEMOTED, LaterCitations(11, 9.9, 0.1), "open"),
        (DEMOTED, LaterCitations(11, None, None), "open"),
        (DEMOTED, LaterCitations(12, 10.0, 0.1), "validated"),
        (DEMOTED, LaterCitations(12, 0.1, 10.0), "refuted"),
        (DEMOTED, LaterCitations(59, 9.9, 9.9), "open"),
        (DEMOTED, LaterCitations(60, 9.9, 9.9), "undecided"),
        (PROMOTED, LaterCitations(12, 0.1, 10.0), "validated"),
        (PROMOTED, LaterCitations(12, 10.0, 0.1), "refuted"),
        (RAISED, LaterCitations(12, e_old=10.0, e_new=2.0, won=0.9), "validated"),
        (RAISED, LaterCitations(12, e_old=10.0, e_new=20.0, won=0.2), "refuted"),
        (RAISED, LaterCitations(12, e_old=9.0, e_new=2.0, won=0.9), "open"),
        (LOWERED, LaterCitations(12, e_old=10.0, e_new=1.0, won=0.2), "validated"),
        (LOWERED, LaterCitations(12, e_old=20.0, e_new=40.0, won=0.9), "refuted"),
        (row("early", "keep", "supported", wins=9), LaterCitations(12, 0.1, 10.0), "validated"),
        (row("late", "demote", "supported", wins=2), LaterCitations(12, 0.1, 10.0), "refuted"),
    ],
)
def test_later_citations_judge_a_proposal_at_ten_to_one(
    audit_row: AuditRow, later: LaterCitations, expected: str
) -> None:
    (amendment,) = propose(BOOK, [audit_row])
    assert judge(amendment, later) == expected


def test_a_merge_waits_for_a_person() -> None:
    (amendment,) = propose(PAIR, _pair())
    assert judge(amendment, LaterCitations(500, 99.0, 99.0)) == "open"

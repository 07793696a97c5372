"""Candidates for the playbook that a model worded: code decides what they are, on which figures, what falsifies them.

A candidate is a new rule beside one that the audit would change; nothing of the old rule is touched. The evidence it
carries is that of the rule that prompted it: for the candidate itself there is none yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from playbook import Grounds, parse
from playbook.document import next_number
from playbook.errors import PlaybookError
from playbook.ids import id_of, numbers_in
from playbook.operations import add
from playbook.proposal import BLANK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playbook import Amendment, Playbook
    from retro.report import HeuristicReport, RetrospectiveReport

__all__ = ["candidates"]

_AWAITED: Final = 10


def candidates(
    report: RetrospectiveReport,
    wordings: Mapping[str, str],
    playbook: Playbook | None,
    *,
    numbered: Sequence[str] = (),
) -> list[Amendment]:
    """One `add` for each wording, numbered after every rule known so far.

    `numbered` are texts whose numbers are given away too: of what was proposed before.
    """
    book = playbook if playbook is not None else parse(BLANK)
    rows = {row.heuristic_id: row for row in report.heuristic_performance if row.role == "entry"}
    proposed_ids = [
        str(entry.get(name)) for entry in report.playbook_proposals for name in ("heuristic", "new")
    ]
    audited = [row.heuristic_id for row in report.heuristic_performance]
    used_numbers = [number for text in (*proposed_ids, *audited, *numbered) for number in numbers_in(text)]
    number = max([next_number(book) - 1, *used_numbers])
    standing = {" ".join(rule.text.split()).lower() for rule in book.heuristics}
    amendments = []
    for heuristic, text in sorted(wordings.items()):
        if " ".join(text.split()).lower() in standing:
            continue
        number += 1
        try:
            amendments.append(add(book, text, _grounds(rows[heuristic]), heuristic=id_of(number)))
        except PlaybookError:
            continue
    return amendments


def _grounds(row: HeuristicReport) -> Grounds:
    average = row.avg_pnl_per_citation
    evidence = {
        "grade": "none",
        "prompted_by": None if "supported" in row.heuristic_id.lower() else row.heuristic_id,
        "its_role": row.role,
        "its_resolved": row.evaluated_count,
        "its_average": None if average is None else float(f"{average:.6g}"),
        "its_recommendation": row.recommendation.kind,
        "awaited": _AWAITED,
    }
    return Grounds(evidence, f"its first {_AWAITED} resolved entry citations average below 0", "model")

"""PLAYBOOK.md: rules that change only with evidence.

    blocks      which lines of a Markdown text are list items
    heuristic   one rule: id, confidence, text, metadata
    document    the parsed file, lossless, with its faults
    ids         what an id looks like, and where one stands in a text
    citation    from cited labels to heuristics
    amendment   the closed grammar of changes
    operations  wording them, one function an operation
    edit        carrying them out, and undoing them, on the text
    diff        showing them
    confidence  how far evidence moves a confidence
    audit       the evidence a proposal rests on
    proposal    what the audit lets us propose
    plain       text from elsewhere, made harmless
    errors      faults and refusals

Pure text: no clock, no files, no database, standard library only.
"""

from __future__ import annotations

from playbook.amendment import Amendment, Grounds, from_json, to_json
from playbook.audit import AuditRow, SinceStated
from playbook.citation import claims, resolve
from playbook.diff import diff
from playbook.document import Playbook, find, parse
from playbook.edit import apply, edits, inverse, is_applied, splice
from playbook.errors import PlaybookError, PlaybookFault
from playbook.heuristic import Heuristic
from playbook.proposal import LaterCitations, first, judge, propose

__all__ = [
    "Amendment",
    "AuditRow",
    "Grounds",
    "Heuristic",
    "LaterCitations",
    "Playbook",
    "PlaybookError",
    "PlaybookFault",
    "SinceStated",
    "apply",
    "claims",
    "diff",
    "edits",
    "find",
    "first",
    "from_json",
    "inverse",
    "is_applied",
    "judge",
    "parse",
    "propose",
    "resolve",
    "splice",
    "to_json",
]

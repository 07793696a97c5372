"""The words of a pull request on PLAYBOOK.md: branch, title, commit message, body and patch. Pure.

Above the line in the body stand figures and words of code; whatever an agent, a model or the owner worded stands below
it, as a quotation, escaped: no image, link, mention, HTML or command can come of it.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

from playbook import diff
from retro.figures import DASH
from retro.forge.git import AUTHOR
from retro.present.markdown import escaped
from retro.present.page.amendments import (
    EXTRA_FIGURES,
    FIGURES,
    change_in_words,
    figures_of,
    grounds_in_words,
)
from retro.safe import plain_text, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from playbook import Amendment, Heuristic

__all__ = [
    "EDITED",
    "LABEL",
    "anew",
    "body_of",
    "branch_of",
    "comment_on_anew",
    "comment_on_edit",
    "grounds_of",
    "message_of",
    "patch_of",
    "read_marker",
    "title_of",
]

LABEL: Final = "retro"
EDITED: Final = "<!-- retro:edited -->"

_MARKER: Final = re.compile(r"<!-- retro:proposal=([0-9a-f]{16}:[0-9]{1,9}(?:,[0-9a-f]{16}:[0-9]{1,9})*) -->")
_STRANGE: Final = re.compile(r"[^A-Za-z0-9_-]+|(?i:\bgh(?=-[0-9]))")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST: Final = 40
_NAMED: Final = 3
_QUOTED: Final = 600
_LARGEST: Final = 60_000  # GitHub takes 65,536 characters
_CHOICES: Final = """\
- Accept: merge. Later citations then tell whether the change was right.
- Change: commit to this branch; from then on it is left alone.
- Reject: close it unmerged. Each proposal is remembered, and comes back only when its odds have grown tenfold."""
_LEGEND: Final = (
    "Cited, Resolved and Won are counts from the day named last to the newest fact known when this was brought up to"
    " date, which may lie after the week reviewed. Average, its 95 % interval and what it made beyond"
    " doing nothing are per resolved citation, in the unit of the average (the agent's own currency; R: its risk; bps of"
    " notional). Of an exit it is what was avoided, no result of a trade, and won is how often leaving was"
    " right. Odds: what bets of 1, week by week, have become in its direction; at most one worthless rule in ten ever"
    " gets to 10 to 1. They and the 95 % hold however often one looks."
)
_BELOW: Final = (
    "Text below this line was worded by a model from the agent's notes, by the agent or by you: quotations, not"
    " instructions. Nothing above it depends on their words."
)


def branch_of(agent: str, week: str, number: int = 1) -> str:
    """The branch of a week's proposals: `retro/playbook/AGENT/2026-W47`; `number` when an earlier one was settled."""
    name = _UNSAFE.sub("-", agent).strip(".-")[:_LONGEST].replace("..", ".-")
    name = f"{name[:-5]}-lock" if name.endswith(".lock") else name
    if name != agent:  # two agents must not share a branch
        name = f"{name.rstrip('.') or 'agent'}-{hashlib.sha256(agent.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return f"retro/playbook/{name}/{week}" + (f"-{number}" if number > 1 else "")


def title_of(agent: str, week: str, amendments: Sequence[Amendment]) -> str:
    """One line, of plain names only: a forge reads titles and subjects for mentions and issues."""
    changes = [change_in_words(amendment, _name) for amendment in amendments]
    remainder = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return f"playbook({_name(agent)}): {', '.join(changes[:_NAMED])}{remainder} ({week})"


def message_of(agent: str, week: str, amendments: Sequence[Amendment], reviews: Iterable[str]) -> str:
    """The commit's message, with its trailers."""
    lines = [f"* {line}" for line in grounds_of(amendments)]
    trailers = [
        *(f"Retro-Review: {_name(review, 120)}" for review in reviews),
        *(f"Retro-Proposal: {amendment.id}" for amendment in amendments),
    ]
    return "\n".join([title_of(agent, week, amendments), "", *lines, "", *trailers, ""])


def grounds_of(amendments: Iterable[Amendment]) -> list[str]:
    """Each change with its evidence and what would prove it wrong, a line each, of plain names only."""
    return [
        f"{change_in_words(amendment, _name)}: {grounds_in_words(amendment, _name)}"
        for amendment in amendments
    ]


def body_of(agent: str, week: str, amendments: Sequence[Amendment], reviews: Sequence[str], file: str) -> str:
    """The description, in Markdown. What a forge would not take for its length is left out, and says so."""
    limit = len(amendments)
    while len(body := _body(agent, week, amendments, limit, reviews, file)) > _LARGEST and limit:
        limit //= 2
    return body


def _body(
    agent: str, week: str, amendments: Sequence[Amendment], limit: int, reviews: Sequence[str], file: str
) -> str:
    count = f"{len(amendments)} change{'s' if len(amendments) > 1 else ''}"
    named = ", ".join(_text(review) for review in reviews) or f"the review of {escaped(week)}"
    selection = amendments[:limit]
    left_out = f"Shown are {limit}; the others stand in the diff." if limit < len(amendments) else ""
    parts = [
        f"{count} to {escaped(file)} of agent {_text(agent)}, proposed by {named}. {left_out}".rstrip(),
        "### What changes",
        _changes(selection),
        "### Evidence",
        _evidence(selection),
        "### What would falsify it",
        "\n".join(f"- {_bold(amendment)}: {_falsifier(amendment)}" for amendment in selection),
        "### How to accept, change or reject it",
        _CHOICES,
        "---",
        f"*{_BELOW}*",
        "\n\n".join(_quote(amendment) for amendment in selection),
        _marker(amendments),
    ]
    return "\n\n".join(parts) + "\n"


def comment_on_edit(branch: str) -> str:
    """What is said once when a person has committed to the branch."""
    return (
        f"A commit on {escaped(branch)} is not ours, so nothing here will be overwritten: from now on this pull request"
        " is yours to merge or close. Newer evidence comes in a pull request of a later week."
    )


def anew(proposal: str) -> str:
    """The hidden marker of the comment that says how a proposal was judged anew."""
    return f"<!-- retro:anew={proposal} -->"


def comment_on_anew(change: str, evidence: str, *, is_carried: bool) -> str:
    """What is said once of a proposal that was made by the test of a single look."""
    verdict = (
        "the evidence carries it."
        if is_carried
        else "the evidence does not carry it any more. Close this unless you want it all the same."
    )
    return (
        f"Judged anew, by bets that hold at every look and not by the test of a single one: {escaped(change)}:"
        f" {escaped(evidence)}. With that, {verdict}"
    )


def read_marker(body: str) -> dict[str, int]:
    """Proposal -> how many resolved citations it rested on, as the hidden marker keeps them; none without one."""
    match = _MARKER.search(body)
    pairs = (pair.split(":") for pair in match[1].split(",")) if match else ()
    return {name: int(count) for name, count in pairs}


def patch_of(message: str, at_s: int, old: str, new: str, file: str) -> str:
    """The same change as a file that `git am`, `git apply` and `patch` take."""
    subject, _, body = message.partition("\n")
    date = format_datetime(datetime.fromtimestamp(at_s, tz=UTC))
    head = f"From: {AUTHOR}\nDate: {date}\nSubject: [PATCH] {subject}\n"
    return f"{head}{body.rstrip()}\n---\n\n{diff(old, new, file)}-- \nslow-mirror\n"


# What changes


def _standing(heuristic: Heuristic | None) -> str:
    if heuristic is None:
        return DASH
    rated = "" if heuristic.confidence is None else f" at {heuristic.confidence:.2f}"
    return f"{heuristic.status}{rated}"


def _changes(amendments: Sequence[Amendment]) -> str:
    rows = []
    for amendment in amendments:
        old, new = amendment.before, amendment.after
        before = [*old, *[None] * (len(new) - len(old))]
        for was, now in zip(before, new, strict=False):
            name = now.id if now.id != amendment.subject else ""
            rows.append([_bold(amendment), _text(name), _standing(was), _standing(now)])
    return _grid(["Change", "", "Before", "After"], rows)


# Evidence


def _evidence(amendments: Sequence[Amendment]) -> str:
    extra = [
        key for key in EXTRA_FIGURES if any(key in amendment.grounds.evidence for amendment in amendments)
    ]
    rows = [
        [
            f"**{_text(amendment.subject)}**",
            *(DASH if cell is None else _text(cell) for cell in figures_of(amendment, extra)),
        ]
        for amendment in amendments
    ]
    table = _grid(["Heuristic", *FIGURES, *(key.replace("_", " ") for key in extra)], rows)
    return f"{table}\n\n{_LEGEND}"


def _falsifier(amendment: Amendment) -> str:
    if amendment.grounds.origin == "model":
        return "see below the line"
    return f"wrong if {_text(amendment.grounds.falsified_by)}" if amendment.grounds.falsified_by else DASH


def _quote(amendment: Amendment) -> str:
    """The heuristic's words, and who worded the change."""
    old, new = amendment.before, amendment.after
    lines = [f"> **{_text(heuristic.id)}** {_text(heuristic.text)}" for heuristic in new]
    reworded = old and new and old[0].text != new[0].text
    if reworded:
        lines.insert(0, f"> **{_text(old[0].id)}** {_text(old[0].text)} *(so far)*")
    if amendment.grounds.origin == "model":
        lines.append(f"> *worded by a model; wrong if {_text(amendment.grounds.falsified_by)}*")
    return "\n>\n".join(lines)


def _marker(amendments: Sequence[Amendment]) -> str:
    pairs = ",".join(f"{amendment.id}:{amendment.resolved}" for amendment in amendments)
    return f"<!-- retro:proposal={pairs} -->"


# Strangers' words


def _name(text: str, longest: int = _LONGEST) -> str:
    """Letters, digits and `. _ -` only, for where nothing can be escaped."""
    name = ".".join(_STRANGE.sub("_", part) for part in plain_text(text).split("."))
    return name[:longest] or "_"


def _text(text: str) -> str:
    return escaped(shorten(plain_text(text), _QUOTED, trim=False))


def _bold(amendment: Amendment) -> str:
    return f"**{escaped(change_in_words(amendment, _name))}**"


def _grid(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(titles)} |", f"|{'|'.join(' --- ' for _ in titles)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])

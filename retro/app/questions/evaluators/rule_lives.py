"""The lives of an agent's rules: from the commits of its playbook's repository, else from merged proposals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import playbook
from retro.app.reviews.learning import merged_lives
from retro.evaluate.meta.rule_lives import (
    Birthdays,
    PlaybookVersion,
    RuleLives,
    first_citations,
    lives_by_commits,
)
from retro.forge.file_history import file_history
from retro.forge.process import GitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from playbook import Playbook
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.position.summary import PositionSummary

__all__ = ["DatedRules", "PlaybookPlace", "dated_rules"]

_SHALLOW: Final = "the clone is shallow: what came before its first commit is not known"
_MOVED: Final = "the file was moved: git followed it by its likeness"


@dataclass(frozen=True, slots=True)
class PlaybookPlace:
    """Where an agent's PLAYBOOK.md lies (None: nowhere), and the environment git is run in."""

    file: Path | None
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DatedRules:
    """When an agent's rules lived, and every version of its playbook that is known, the newest last.

    `reason` says what could not be known of it; None where nothing is missing.
    """

    lives: RuleLives
    books: Sequence[Playbook | None]
    reason: str | None


def dated_rules(
    book: SettledBook, place: PlaybookPlace, rows: Sequence[PositionSummary], now: int
) -> DatedRules:
    """What was known of an agent's rules at an instant; `rows` are its positions as known then."""
    settings = book.settings
    cited = first_citations(rows, settings.options.rules.claims)
    birthdays = Birthdays(settings.zone, {rule: at for rule, at in cited.items() if at <= now})
    versions, reason = _versions(place, now)
    if versions:
        return DatedRules(
            lives_by_commits(versions, birthdays), [version.book for version in versions], reason
        )
    lives = merged_lives(book, birthdays, now)
    if lives.undated:
        undated = f"{lives.undated} rules of which nobody knows since when they stand, or do not"
        reason = undated if reason is None else f"{reason}; {undated}"
    return DatedRules(lives, [settings.playbook], reason)


def _versions(place: PlaybookPlace, now: int) -> tuple[list[PlaybookVersion], str | None]:
    """The playbook's versions committed by an instant, oldest first, and what is not known of them."""
    if place.file is None:
        return [], "no playbook is configured"
    otherwise = "merged proposals tell"
    try:
        history = file_history(place.file, place.env)
    except GitError as error:
        return [], f"{error}: {otherwise}"
    if history is None:
        return [], f"the playbook lies in no git repository: {otherwise}"
    committed = [version for version in history.versions if version.at <= now]
    if not committed:
        return [], f"the playbook was in no commit by then: {otherwise}"
    versions: list[PlaybookVersion] = []
    before: bytes | None = b""
    for version in committed:
        if not versions or version.content != before:
            parsed = None if version.content is None else playbook.parse(version.content)
            versions.append(PlaybookVersion(version.at, parsed))
        before = version.content
    notes = [_SHALLOW] * history.shallow + [_MOVED] * history.moved
    return versions, "; ".join(notes) or None

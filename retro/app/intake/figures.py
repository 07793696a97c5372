"""What a source computed itself, on its way into the store: figures to compare ours with, never events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.journal import LARGEST, is_name
from retro.journal.values import AGENT_NAME
from retro.model import Fault
from retro.store import checks as stored_checks

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from retro.checks import SourceCheck
    from retro.model import Batch

__all__ = ["correct_checks", "take_checks"]


def take_checks(conn: Connection, batch: Batch, where: str, *, replace: bool) -> tuple[list[Fault], bool]:
    """Store a batch's checks: what of them is no figure, and whether any is known otherwise and was passed over.

    With `replace` the new word stands.
    """
    usable, faults = [], []
    for check in batch.checks:
        if reason := _wrong_with(check):
            named = check.agent if AGENT_NAME.fullmatch(check.agent) else None
            faults.append(Fault(where, None, f"{check.what} that the source states: {reason}", named))
        else:
            usable.append(check)
    return faults, stored_checks.add(conn, usable, replace=replace).differing > 0


def correct_checks(conn: Connection, batch: Batch, older: Collection[str]) -> None:
    """Put a later reading's word in the place of an earlier one's, but of agents of whom this reading is the `older`."""
    later = [check for check in batch.checks if check.agent not in older and not _wrong_with(check)]
    stored_checks.add(conn, later, replace=True)


def _wrong_with(check: SourceCheck) -> str:
    """Why a check cannot be stored; "" where it can."""
    if not AGENT_NAME.fullmatch(check.agent):
        return "its agent's name is not 1 to 64 of A-Z a-z 0-9 . _ -"
    names = [check.subject or "-", check.fill or "-"]
    if not all(map(is_name, names)) or (check.what != "equity" and not check.subject):
        return "its subject is no name"
    numbers = (check.stated, check.tolerance, check.booked)
    if not all(number.is_finite() and abs(number) <= LARGEST for number in numbers):
        return "it is not a number that can be reckoned with"
    return "" if check.tolerance > 0 else "its tolerance is not above 0"

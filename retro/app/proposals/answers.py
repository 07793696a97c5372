"""The owner's own answer to a proposal that no request asks about: yes, and the playbook is changed; or no.

What a pull request asks is answered there, so that there is one answer.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playbook import is_applied
from retro.app.proposals.files import amended_text, read_playbook
from retro.errors import InputError, UsageError
from retro.store import proposals

if TYPE_CHECKING:
    from retro.store.database import Store
    from retro.store.proposals import Proposal

__all__ = ["accept", "decline", "is_asked_elsewhere"]


def is_asked_elsewhere(proposal: Proposal) -> bool:
    """Whether a pull request asks it; a patch file asks nothing that could be answered there."""
    return proposal.url is not None and proposal.url.startswith(("http://", "https://"))


def accept(store: Store, proposal: Proposal, file: Path | None, now: int) -> str:
    """Carry the change out in the agent's PLAYBOOK.md, and count it as merged; gives that state.

    The file comes first: what dies in between is found done by the next weekly review. `UsageError` where it was
    answered, is asked elsewhere, or no `file` is known; `InputError` where the change does not fit it any more.
    """
    _refuse_answered(proposal)
    if file is None:
        raise UsageError(f"[agent.{proposal.agent}] names no playbook: there is no file to change")
    book = read_playbook(file)
    if not is_applied(book, proposal.amendment):
        _replace(file, amended_text(book, [proposal.amendment]))
    return _answered(store, proposal, "merged", now)


def decline(store: Store, proposal: Proposal, now: int) -> str:
    """Say no; gives that state. It comes back only when its odds have grown tenfold. `UsageError` as in `accept`."""
    _refuse_answered(proposal)
    return _answered(store, proposal, "rejected", now)


def _refuse_answered(proposal: Proposal) -> None:
    if proposal.state not in proposals.UNANSWERED:
        raise UsageError(f"{proposal.id} is {proposal.state} already")
    if is_asked_elsewhere(proposal):
        raise UsageError(f"it is asked at {proposal.url}: merge it there, or close it")


def _answered(store: Store, proposal: Proposal, state: str, now: int) -> str:
    with store.write() as conn:
        if not proposals.answer(conn, proposal.agent, proposal.id, state, now):
            raise UsageError(f"{proposal.id} has been answered meanwhile")
    return state


def _replace(file: Path, text: str) -> None:
    """Write the playbook whole or not at all, with the permissions it had; a link is followed."""
    path = file.resolve()
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                os.fchmod(handle, path.stat().st_mode & 0o7777)
                stream.write(text.encode("utf-8", "surrogateescape"))
                stream.flush()
                os.fsync(handle)
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink()
            raise
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror or error}") from error

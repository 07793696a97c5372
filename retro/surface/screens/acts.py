"""What an owner may do from a screen, whoever shows it: each by the functions of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retro.app.questions.screens.today import mark_seen
from retro.errors import UnknownError, UsageError
from retro.store.jobs import interventions, outbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.store.proposals import Proposal
    from retro.surface.screens.house import House

__all__ = ["ACTS", "OwnerAct", "perform"]

_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class OwnerAct:
    """A verb of the command line: what it says it will do, where one goes on, who does it, and whether it wants a reason.

    `named`: its subject is a name that a person knows it by.
    """

    title: str
    sentence: str
    onward: str
    do: Callable[[House, str, str], str]
    why: bool = False
    named: bool = True


def perform(house: House, verb: str, subject: str, why: str = "") -> str:
    """Do it, and say in a word what became of it.

    `UsageError` or `UnknownError` says why it cannot be done; any other `RetroError` is the database's, and it may be
    tried again.
    """
    act, reason = ACTS[verb], why.strip()
    if act.why and not 0 < len(reason) <= _LONGEST:
        raise UsageError(f"say why, in a sentence of at most {_LONGEST} letters")
    return act.do(house, subject, reason)


def _retry(house: House, review: str, _: str) -> str:
    with house.store.write() as conn:
        return interventions.retry(conn, review, house.clock()).state


def _skip(house: House, review: str, why: str) -> str:
    with house.store.write() as conn:
        return interventions.skip(conn, review, why).state


def _resend(house: House, which: str, _: str) -> str:
    with house.store.write() as conn:
        count = outbox.resend(conn, which, house.clock())
    if not count:
        raise UnknownError("there is no message or review of that name to send again")
    return f"{count} to send"


def _seen(house: House, page: str, _: str) -> str:
    at, _, digest = page.partition(".")
    if not (at.isascii() and at.isdigit() and len(at) < 19 and digest.isalnum()):
        raise UsageError("what was seen is no page of Today")
    mark_seen(house.store, min(int(at), house.clock()), digest)
    return "seen"


def _accept(house: House, which: str, _: str) -> str:
    from retro.app.proposals import answers

    row = _proposal(house, which)
    return answers.accept(house.store, row, house.playbook(row.agent), house.clock())


def _decline(house: House, which: str, _: str) -> str:
    from retro.app.proposals import answers

    return answers.decline(house.store, _proposal(house, which), house.clock())


def _proposal(house: House, which: str) -> Proposal:
    """The proposal of an id and an agent, a space between."""
    from retro.app.questions.proposals import proposal

    name, _, agent = which.partition(" ")
    return proposal(house.store, name, agent or None)


ACTS: Final = {
    "retry": OwnerAct("Retry", "is made at the next knock", "/reviews", _retry),
    "skip": OwnerAct("Skip", "is passed over for good", "/reviews", _skip, why=True),
    "resend": OwnerAct("Send again", "goes out again at the next knock", "/reviews", _resend),
    "seen": OwnerAct(
        "Mark as seen", "what comes after this page is new the next time", "/", _seen, named=False
    ),
    "accept": OwnerAct(
        "Accept", "changes the agent's PLAYBOOK.md, and counts as merged", "/proposals", _accept
    ),
    "decline": OwnerAct(
        "Decline", "comes back only when its odds have grown tenfold", "/proposals", _decline
    ),
}
"""Every act there is, by its verb."""

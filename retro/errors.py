"""Every error this package raises on purpose, in one tree.

    RetroError                   a sentence a person can act on; the command line prints it and exits 1
    |-- UsageError               the call itself is wrong; exit 2
    |   |-- FilterError          what narrows a list, orders it or sets its instant
    |   `-- ConfigError          config.toml is wrong: every fault at once, with file and key
    |-- InputError               a file or stream cannot be read at all: what, where, what to do
    |   `-- OtherBotError        it contradicts what is known of its agent: it is another bot's
    |-- StoreError               the database cannot be opened or used
    |   `-- NewerSchemaError     it was written by a newer version; nothing is touched
    |-- BusyError                another process runs on the same database; exit 75
    |-- LostClaimError           another process has taken over what this one was working on
    |-- ModelAwayError           the model that words reviews is away or overloaded; the same question may be asked later
    |-- UnknownError             an agent, position or review that is not there
    |-- WithheldError            an agent's reviews cannot be made until a person has looked; nobody else's wait for it
    |   |-- DamagedRowError      a stored row cannot be read: which, and what to do
    |   `-- InvariantError       our own figures contradict each other (`retro.invariant`): refused rather than printed
    |-- JournalError             a line that may not go into a journal (`retro.journal`)
    |-- GitError                 git could not do it (`retro.forge.git`); `permanent`: a person has to act
    |   `-- LeaseError           somebody else has pushed to the branch meanwhile
    `-- ForgeError               the forge could or would not (`retro.forge.api`); it may say when to come back

Bad rows of a readable file are not errors but values: see `retro.model.Fault`.
"""

from __future__ import annotations

__all__ = [
    "BusyError",
    "ConfigError",
    "DamagedRowError",
    "FilterError",
    "InputError",
    "InvariantError",
    "LostClaimError",
    "ModelAwayError",
    "NewerSchemaError",
    "OtherBotError",
    "RetroError",
    "StoreError",
    "UnknownError",
    "UsageError",
    "WithheldError",
]


class RetroError(Exception):
    """A sentence a person can act on."""

    exit_code = 1


class UsageError(RetroError):
    """The call is wrong, not the data."""

    exit_code = 2


class ConfigError(UsageError):
    """The configuration file is wrong; `faults` lists every place."""

    def __init__(self, path: str, faults: list[str]) -> None:
        self.path = path
        self.faults = faults
        super().__init__("\n".join(f"{path}: {fault}" for fault in faults))


class InputError(RetroError):
    """A source that cannot be read at all."""


class OtherBotError(InputError):
    """A source that contradicts what is known of its agent: it tells of another bot."""


class StoreError(RetroError):
    """The database cannot be opened, read or written."""


class NewerSchemaError(StoreError):
    """The database belongs to a newer version of this program."""


class BusyError(RetroError):
    """Another process already works on this database."""

    exit_code = 75


class LostClaimError(RetroError):
    """Another process has taken over what this one was working on; it goes on with something else."""


class ModelAwayError(RetroError):
    """The model cannot be asked just now; a little later it may answer."""


class FilterError(UsageError):
    """What narrows a list, orders it or sets its instant makes no sense; the sentence is for whoever typed it."""


class UnknownError(RetroError):
    """Something was asked for by a name that nothing has."""


class WithheldError(RetroError):
    """An agent's reviews are withheld, and nobody else's, until a person has looked: no other try would end better."""


class DamagedRowError(WithheldError):
    """A stored row that cannot be read any more."""


class InvariantError(WithheldError):
    """What must hold whatever the facts are does not hold: a fault of this program, `name` says which.

    The figures are not printed: a review is parked with this as its reason, at once.
    """

    def __init__(self, name: str, detail: str = "") -> None:
        self.name = name
        because = f" ({detail})" if detail else ""
        super().__init__(f"the figures contradict each other, so they are withheld: {name}{because}")

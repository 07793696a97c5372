"""What can go wrong with a memory.

ExperienceError
├── Refused          a value that may not enter: the reason is the message
├── Unknown          an agent, episode, belief or plan that is not there
├── Conflict         the same identity with other content
└── Damaged          stored bytes that can no longer be read
"""

from __future__ import annotations


class ExperienceError(Exception):
    """The root of everything this package raises on purpose."""


class Refused(ExperienceError, ValueError):  # noqa: N818 - named for what happened, as the tree above reads
    """A value that may not enter the memory; the message says which and why."""


class Unknown(ExperienceError, LookupError):  # noqa: N818 - as above
    """Something was asked for that the memory does not hold."""


class Conflict(ExperienceError):  # noqa: N818 - as above
    """The same identity was told twice with different content."""


class Damaged(ExperienceError):  # noqa: N818 - as above
    """What is stored cannot be read back."""

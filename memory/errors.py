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


class RefusedError(ExperienceError, ValueError):
    """A value that may not enter the memory; the message says which and why."""


class MissingError(ExperienceError, LookupError):
    """Something was asked for that the memory does not hold."""


class ConflictError(ExperienceError):
    """The same identity was told twice with different content."""


class DamagedError(ExperienceError):
    """What is stored cannot be read back."""

"""The door to the package `memory`: everything here that uses it takes it from this module, with its errors as ours.

Reviews and the service run without a memory, and another package may have its name; so whoever can do without it
imports this late, and the import of this module says in one sentence what is wrong.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from retro.errors import RetroError, UnknownError, UsageError

try:
    import memory as memory  # noqa: PLC0414  offered by name to whoever comes through this door
    from memory.errors import ExperienceError, MissingError, RefusedError
except ImportError as error:
    raise RetroError(
        "another package named `memory` hides the one of slow-mirror; install it in an environment of its own"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["translate_memory_errors"]


@contextmanager
def translate_memory_errors() -> Iterator[None]:
    """What the memory refuses becomes a `UsageError`, what it does not hold an `UnknownError`, the rest `RetroError`."""
    try:
        yield
    except RefusedError as error:
        raise UsageError(str(error)) from error
    except MissingError as error:
        raise UnknownError(str(error)) from error
    except ExperienceError as error:
        raise RetroError(str(error)) from error

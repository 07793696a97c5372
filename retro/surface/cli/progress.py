"""A progress line on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["counter"]


@contextmanager
def counter(label: str, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Something to call with the number of events so far; None where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status(escape(label)) as status:
        yield lambda n: status.update(escape(f"{label}: {n:,} events"))

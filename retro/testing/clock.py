"""A clock that goes only when it is told to, forwards or backwards."""

from __future__ import annotations

from retro.periods import SECOND, parse_instant

__all__ = ["FakeClock"]


class FakeClock:
    """A wall clock in microseconds; call it to read it."""

    def __init__(self, at: int | str) -> None:
        self.at = parse_instant(at) if isinstance(at, str) else at

    def __call__(self) -> int:
        """What it shows."""
        return self.at

    def set(self, at: int | str) -> None:
        """Put it to an instant."""
        self.at = parse_instant(at) if isinstance(at, str) else at

    def advance(self, seconds: float) -> None:
        """Let time pass; negative: the clock is put back."""
        self.at += round(seconds * SECOND)

"""What every part of the terminal may ask of the whole: what is read, where one is, and the ways from there."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, TypeVar

from textual.app import App

if TYPE_CHECKING:
    from collections.abc import Callable

    from retro.present.references import PositionReference
    from retro.surface.screens.house import House

__all__ = ["HouseApp"]

T = TypeVar("T")

_WEB: Final = "http://mirror.localhost:8600"


class HouseApp(App[None]):
    """A terminal that shows addresses, one upon another. `last` is the one that was looked at before.

    `note` is told what was done here; None: nothing can be done, only read. `picked` are lives to lay over each other.
    """

    def __init__(self, house: House, note: Callable[[str], None] | None) -> None:
        super().__init__()
        self.house = house
        self.note = note
        self.last: str | None = None
        self.picked: list[PositionReference] = []

    @property
    def depth(self) -> int:
        """How many screens lie upon one another."""
        return len(self.screen_stack)

    @abstractmethod
    def go(self, address: str) -> None:
        """Show an address upon what is shown."""

    @abstractmethod
    def leave(self) -> None:
        """Back to what lies beneath; from the first screen one goes nowhere."""

    @abstractmethod
    def action_colours(self) -> None:
        """The other colours: dark on light, or light on dark."""

    def web_address(self, address: str) -> str:
        """Where `retro web` shows the same."""
        return f"{_WEB}{address}"

    async def run_in_thread(self, ask: Callable[[], T]) -> T:
        """Ask the database without holding up the keys."""
        return await asyncio.to_thread(ask)

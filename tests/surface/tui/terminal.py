"""The screens in a terminal as a person meets them: keys in, lines out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from textual.pilot import Pilot

from retro.surface.screens.house import House
from retro.surface.tui.app import MirrorApp
from retro.surface.tui.screen import MirrorScreen

_ROUNDS = 5


@dataclass
class Terminal:
    """A terminal that somebody sits at; `press` waits until everything a key set off has been drawn."""

    pilot: Pilot[None]

    @property
    def app(self) -> MirrorApp:
        return cast("MirrorApp", self.pilot.app)

    @property
    def screen(self) -> MirrorScreen:
        assert isinstance(self.app.screen, MirrorScreen)
        return self.app.screen

    @property
    def address(self) -> str:
        return self.screen.address

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def settle(self) -> None:
        for _ in range(_ROUNDS):
            await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    def lines(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self) -> str:
        return "\n".join(self.lines()).rstrip() + "\n"


def at_terminal(
    house: House,
    walk: Callable[[Terminal], Awaitable[None]],
    *,
    start: str = "/",
    size: tuple[int, int] = (80, 30),
    note: Callable[[str], None] | None = None,
) -> None:
    """Sit down at a terminal of a size, wait for the first screen, and walk; without a `note` one only reads."""

    async def sit() -> None:
        app = MirrorApp(house, start, note)
        async with app.run_test(size=size) as pilot:
            terminal = Terminal(pilot)
            await terminal.settle()
            await walk(terminal)

    asyncio.run(sit())

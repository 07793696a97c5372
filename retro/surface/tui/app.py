"""`retro tui`: the owner's screens in a terminal, one upon another."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.command import CommandPalette
from textual.theme import Theme

from retro.errors import RetroError
from retro.present.charts.svg import DARK, LIGHT
from retro.surface.screens.pulse import Pulse
from retro.surface.tui.house import HouseApp
from retro.surface.tui.palette import KeyProvider, ScreenProvider
from retro.surface.tui.screen import MirrorScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType

    from retro.present.charts.svg import Palette
    from retro.surface.screens.house import House

__all__ = ["MirrorApp"]


_PULSE_S: Final = 2.0
_SIGNALLED: Final = 128
_LIGHT_GROUNDS: Final = frozenset({"7", "15"})


class MirrorApp(HouseApp):
    """The house in a terminal: reading changes nothing, and what is done is asked for once more."""

    TITLE = "The slow mirror"
    ENABLE_COMMAND_PALETTE = False
    CSS = MirrorScreen.STYLE
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("colon,ctrl+k", "palette", "palette"),
        Binding("question_mark", "keys", "keys"),
    ]

    def __init__(self, house: House, start: str = "/", note: Callable[[str], None] | None = None) -> None:
        super().__init__(house, note)
        self._start = start
        self._pulse = Pulse(house)
        self._beat = ""
        self.animation_level = "none"
        self._dress()

    def _dress(self) -> None:
        """The colours of the house, before anything is drawn in others."""
        self.register_theme(_theme("mirror-dark", DARK, dark=True))
        self.register_theme(_theme("mirror-light", LIGHT, dark=False))
        ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
        self.theme = "mirror-light" if ground in _LIGHT_GROUNDS else "mirror-dark"
        self.stylesheet.set_variables(self.get_css_variables())

    def get_default_screen(self) -> MirrorScreen:
        """The first screen: none of Textual's own lies beneath it."""
        return MirrorScreen(self._start)

    def on_mount(self) -> None:
        """Listen: to who ends this, and to what comes in."""
        if not self.is_headless:
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._end, number)
        self.set_interval(_PULSE_S, self.listen)

    def listen(self) -> None:
        """Ask whether anything has come in."""
        self.run_worker(self._feel(), exclusive=True, group="pulse")

    async def _feel(self) -> None:
        """Tell every screen where this beat is another than the last."""
        try:
            beat = await self.run_in_thread(self._pulse.text)
        except (RetroError, OSError):  # a database that is held now is asked again soon
            return
        before, self._beat = self._beat, beat
        if before not in ("", beat):
            for screen in self.screen_stack:
                if isinstance(screen, MirrorScreen):
                    screen.news()

    def _end(self, number: int) -> None:
        """Leave the terminal as it was, whoever ends this."""
        self.exit(return_code=_SIGNALLED + number)

    def go(self, address: str) -> None:
        """Show an address upon what is shown."""
        here = self.screen
        if isinstance(here, MirrorScreen):
            self.last = here.address
        self.push_screen(MirrorScreen(address))

    def leave(self) -> None:
        """Back to what lies beneath; from the first screen one goes nowhere."""
        here = self.screen
        if self.depth > 1 and isinstance(here, MirrorScreen):
            self.last = here.address
            self.pop_screen()

    def action_palette(self) -> None:
        """Every screen by its name."""
        self.push_screen(CommandPalette(providers=[ScreenProvider], placeholder="Which screen?"))

    def action_keys(self) -> None:
        """Every key, and a word to look for one."""
        self.push_screen(CommandPalette(providers=[KeyProvider], placeholder="Which key?"))

    def action_colours(self) -> None:
        """The other colours: dark on light, or light on dark."""
        self.theme = "mirror-dark" if self.theme == "mirror-light" else "mirror-light"


def _theme(name: str, palette: Palette, *, dark: bool) -> Theme:
    """The colours of our charts as those of a terminal."""
    return Theme(
        name,
        primary=palette.up,
        success=palette.up,
        error=palette.down,
        warning=palette.warn,
        accent=palette.up,
        foreground=palette.ink,
        background=palette.paper,
        surface=palette.paper,
        panel=palette.rule,
        dark=dark,
        variables={"quiet": palette.quiet},
    )

"""One screen of the terminal with its keys: where each leads from what is shown, and what it does there."""

from __future__ import annotations

from getpass import getuser
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import unquote

from textual.binding import Binding
from textual.command import CommandPalette

from retro.errors import RetroError
from retro.present.links import address_of, segment
from retro.present.references import PositionReference, ReviewReference, ScreenReference
from retro.safe import plain_text
from retro.surface.screens.acts import ACTS, perform
from retro.surface.screens.catalogue import MOST_BESIDE, SCREENS
from retro.surface.screens.lens import day_beside
from retro.surface.tui.address import AddressScreen
from retro.surface.tui.filters import (
    address_at,
    address_of_part,
    address_with,
    instant_of,
    path_of,
    whole_address,
    words_of,
)
from retro.surface.tui.keys import why_off
from retro.surface.tui.lines import LinesView
from retro.surface.tui.palette import ActProvider
from retro.surface.tui.path import closer, next_stop
from retro.surface.tui.prompt import PromptLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from retro.present.references import Reference

__all__ = ["MirrorScreen"]

_LETTERS: Final = "dhprea[]"
_PATH_KEYS: Final = {"c": "c", "C": "C", "b": "b", "0": "0", "dollar_sign": "$"}


class MirrorScreen(AddressScreen):
    """The screen of an address, and its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open"),
        Binding("escape", "leave", "back"),
        Binding("j", "move(1)", "down"),
        Binding("k", "move(-1)", "up"),
        Binding("slash", "filter", "filter"),
        Binding("g", "go", "go"),
        Binding("minus", "last", "last view"),
        Binding("y", "copy", "copy"),
        Binding("w", "browse", "browser"),
        Binding("ctrl+r,f5", "read", "read anew"),
        Binding("x", "pick", "pick"),
        Binding("X", "compare", "compare"),
        Binding("plus", "closer", "closer"),
        Binding("less_than_sign", "day(-1)", "a day back"),
        Binding("greater_than_sign", "day(1)", "a day on"),
        Binding("at", "instant", "look back"),
        Binding("full_stop", "acts", "do"),
        Binding("m", "seen", "seen"),
        *(Binding(key, f"path({sign!r})", sign) for key, sign in _PATH_KEYS.items()),
        *(Binding(key, f"press({key!r})", key) for key in (*_LETTERS, "f", "o", "s", "t")),
        *(Binding(key.upper(), f"press({key!r})", key) for key in "dhpre"),
    ]

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._going = False

    def go(self, address: str) -> None:
        """Show an address upon this one; who looks back goes on looking back."""
        instant = instant_of(self.address)
        path, section, place = address.partition("#")
        self.app.go((address_at(path, instant) if instant else path) + section + place)

    def off(self, key: str) -> None:
        """Say why a key does nothing here."""
        self.say(why_off(key))

    # Ways on

    def on_lines_view_follow(self, follow: LinesView.Follow) -> None:
        """Go where a click leads."""
        self.go(address_of(follow.reference))

    def action_open(self) -> None:
        """Open the row, follow the link, or what Enter means here."""
        if self.reference is not None:
            self.go(address_of(self.reference))
        else:
            self._take("Enter")

    def action_leave(self) -> None:
        """Leave what is innermost: what is asked, the cursor, the way to the end of a list, this screen; never the house."""
        if self.prompt.is_open:
            self.prompt.close()
            self.rest()
            self.be_quiet()
        elif self._going:
            self._going = False
            self.be_quiet()
        elif self.page.cursor is not None and not self.is_listed:
            self.page.point(None)
        elif not self.list.rest():
            self.app.leave()

    def action_move(self, step: int) -> None:
        """A row or a line further, or back."""
        view = self.list if self.is_listed and self.list.has_focus else self.page
        view.action_scroll_down() if step > 0 else view.action_scroll_up()

    def action_go(self) -> None:
        """Wait for the second key of a pair."""
        self._going = True
        names = ", ".join(f"{screen.key} {screen.title.lower()}" for screen in SCREENS if screen.listed)
        self.say(f"go to: {names}", stays=True)

    def action_press(self, key: str) -> None:
        """A letter: the second of a pair, or one of the ways on that the screen or the row has."""
        if not self._second(key) and not self._take(key) and not self._take_of_row(key):
            self.off(key)

    def _second(self, key: str) -> bool:
        """Go where a pair of keys leads, if this is the second of one; whether it is."""
        if not self._going:
            return False
        self._going = False
        self.be_quiet()
        name = next((screen.name for screen in SCREENS if screen.listed and screen.key == key), None)
        if name is None:
            self.say(f"g {key} leads nowhere; g and then t, r, p, o or s do")
        else:
            self.go(address_of(ScreenReference(name)))
        return True

    def _take(self, key: str) -> bool:
        """Go on by one of the screen's own ways; whether it has one of that key."""
        steps = () if self.view is None else self.view.steps
        address = next((step.address for step in steps if step.key == key), None)
        if address is None:
            return key in "[]" and self._take_neighbour(1 if key == "]" else -1)
        if address.startswith("#"):
            return self.page.go_to(address.removeprefix("#"))
        self.go(address)
        return True

    def _take_of_row(self, key: str) -> bool:
        reference = self.list.reference if self.is_listed else None
        if key == "r" and reference is not None:
            self.go(address_of(reference))
        elif key == "d" and isinstance(reference, ReviewReference):
            self.go(f"/diff/{segment(reference.review)}")
        else:
            return False
        return True

    def _take_neighbour(self, step: int) -> bool:
        """The one before or after in the list that one came from, in the place of this one."""
        place = self.app.screen_stack.index(self)
        behind = self.app.screen_stack[place - 1] if place else None
        if not isinstance(behind, MirrorScreen) or not behind.is_listed:
            return False
        behind.list.move_to(behind.list.place + step)
        reference = behind.list.reference
        if reference is None:
            self.say("that row is still being read")
        else:
            self.visit(address_of(reference))
        return True

    def action_last(self) -> None:
        """The whole of what one sees a part of; else what one looked at before."""
        whole = whole_address(self.address)
        if whole is not None:
            self.visit(whole)
        elif self.app.last is None:
            self.say("there is no view before this one")
        else:
            self.app.go(self.app.last)

    def action_copy(self) -> None:
        """Copy the address and the command that prints the same."""
        command = "" if self.view is None else self.view.command
        address = self.app.web_address(self.address)
        self.app.copy_to_clipboard("\n".join(plain_text(text) for text in (address, command) if text))
        self.say(f"copied: {command or address}")

    def action_browse(self) -> None:
        """Open it in the browser, where `retro web` runs."""
        address = self.app.web_address(self.address)
        self.app.open_url(address)
        self.say(f"{address} opens where `retro web` runs")

    # What it is seen through

    def action_filter(self) -> None:
        """Narrow a list."""
        if words_of(self.address) or (self.view is not None and self.view.filtered):
            self.prompt.ask("filter, or esc", words_of(self.address), self._filter)
        else:
            self.say("there is nothing to filter here")

    def _filter(self, words: str) -> None:
        self.visit(address_with(self.address, words))

    def action_instant(self) -> None:
        """Look back to a day."""
        self.prompt.ask("2026-03-05, an instant, or nothing: now", instant_of(self.address), self._look_back)

    def _look_back(self, instant: str) -> None:
        self.visit(address_at(self.address, instant))

    def action_day(self, step: int) -> None:
        """Look back by a day, or forward again."""
        day = day_beside(self.app.house, instant_of(self.address), step)
        if day is None and not instant_of(self.address):
            self.say("this is now: nothing is known of tomorrow")
        else:
            self._look_back(day or "")

    def on_input_submitted(self, submitted: PromptLine.Submitted) -> None:
        """Give what was typed to what asked for it."""
        self.be_quiet()
        self.prompt.answer(submitted.value)
        if not self.prompt.is_open:
            self.rest()

    # Along a path

    def action_path(self, key: str) -> None:
        """The cursor along the path of a position, by the key that was pressed."""
        if self._second(key):
            return
        stops = [] if self.is_listed else self.page.stops
        place = next_stop(stops, self.page.cursor, key) if stops else None
        if place is None:
            self.say("there is no such point on this path" if stops else why_off("path"))
        else:
            self.page.point(place)

    def action_closer(self) -> None:
        """A shorter part of the path, around the cursor."""
        stops = [] if self.is_listed else self.page.stops
        part = closer(stops, self.page.cursor) if stops else None
        if part is None:
            self.say("there is nothing closer to see" if stops else why_off("path"))
        else:
            self.visit(address_of_part(self.address, *part))

    # Lives beside each other

    def _life(self) -> PositionReference | None:
        """The life that is pointed at, or shown."""
        reference = self.list.reference if self.is_listed else None
        if isinstance(reference, PositionReference):
            return PositionReference(reference.agent, reference.position)
        parts = path_of(self.address).split("/")
        if len(parts) != 4 or parts[1] != "p":
            return None
        return PositionReference(unquote(parts[2]), unquote(parts[3]))

    def action_pick(self) -> None:
        """Pick a life, or let it go."""
        life, picked = self._life(), self.app.picked
        if life is None:
            self.off("x")
        elif life in picked:
            picked.remove(life)
            self._picked(f"{life.position} is let go")
        elif picked and picked[0].agent != life.agent:
            self.say(f"lives of {picked[0].agent} are picked: those of another agent are not laid over them")
        elif len(picked) > MOST_BESIDE:
            self.say(
                f"{len(picked)} lives are picked: more lines are not told apart; X lays them over each other"
            )
        else:
            picked.append(life)
            self._picked(f"{life.position} is picked")

    def _picked(self, sentence: str) -> None:
        count = len(self.app.picked)
        self.list.picked = tuple(self.app.picked)
        self.list.refresh()
        self.say(f"{sentence}; X lays {count} over each other" if count > 1 else sentence)

    def action_compare(self) -> None:
        """Lay the lives that were picked over each other."""
        picked = tuple(self.app.picked)
        if len(picked) < 2:
            self.say("X is off: pick two lives first, by x")
            return
        self.app.picked.clear()
        self._picked("")
        first, *others = picked
        query = tuple(("with", other.position) for other in others)
        self.go(address_of(PositionReference(first.agent, first.position, query)) + "#compare")

    # What is done

    @property
    def acts(self) -> tuple[tuple[str, str, str], ...]:
        """Title, verb and subject of what can be done here: with the review that is pointed at, or the page."""
        if self.app.note is None:
            return ()
        reference: Reference | None = self.list.reference if self.is_listed else None
        if isinstance(reference, ReviewReference):
            verbs = ("retry", "skip", "resend")
            return tuple((f"{ACTS[verb].title} {reference.review}", verb, reference.review) for verb in verbs)
        return () if self.view is None or self.is_listed else self.view.acts

    @property
    def keys_of_its_own(self) -> Sequence[tuple[str, str]]:
        """Those of a path, and what is done."""
        return [*super().keys_of_its_own, *([(".", "do")] if self.acts else [])]

    def action_acts(self) -> None:
        """What can be done here."""
        if self.acts:
            self.app.push_screen(CommandPalette(providers=[ActProvider], placeholder="What is to be done?"))
        else:
            self.say("here one only reads" if self.app.note is None else why_off("."))

    def action_seen(self) -> None:
        """Mark Today as seen."""
        subject = next((subject for _, verb, subject in self.acts if verb == "seen"), None)
        if subject is None:
            self.say("here one only reads" if self.app.note is None else why_off("m"))
        else:
            self.ask_act("seen", subject)

    def ask_act(self, verb: str, subject: str) -> None:
        """Ask once more before it is done; nothing has happened when this is asked."""
        act = ACTS[verb]
        name = f"{act.title} {subject}" if act.named else act.title
        self.say(f"{name}: {act.sentence}. Enter does it, Esc does not.", stays=True)
        words = "why, in a sentence" if act.why else "sure?"
        self.prompt.ask(words, "", lambda why: self._do(verb, subject, why))

    def _do(self, verb: str, subject: str, why: str) -> None:
        self.run_worker(self._done(verb, subject, why), group="act")

    async def _done(self, verb: str, subject: str, why: str) -> None:
        """Do it in a thread, write down who did, and say what became of it, or why it could not be done."""
        house, note = self.app.house, self.app.note
        if note is None:
            return
        try:
            became = await self.app.run_in_thread(lambda: perform(house, verb, subject, why))
        except RetroError as error:
            self.say(str(error))
            return
        note(f"{getuser()} (terminal): {verb} {subject}: {became}")
        self.say(f"{ACTS[verb].title}: {became}")
        self.action_read()

"""What the palette offers: every screen by its name, those of each agent, and every key with what it does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from textual.command import DiscoveryHit, Hit, Provider
from textual.content import Content

from retro.present.links import address_of
from retro.present.references import AgentReference, RulesReference, ScreenReference
from retro.safe import plain_text
from retro.store.facts.agents import agents
from retro.surface.screens.acts import ACTS
from retro.surface.screens.catalogue import SCREENS
from retro.surface.tui.keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.command import Hits

    from retro.surface.screens.house import House
    from retro.surface.tui.house import HouseApp

__all__ = ["ActProvider", "KeyProvider", "ScreenProvider"]

_FEW: Final = 20


class _ActingScreen(Protocol):
    """A screen on which something can be done."""

    @property
    def acts(self) -> tuple[tuple[str, str, str], ...]:
        """Title, verb and subject of each."""

    def ask_act(self, verb: str, subject: str) -> None:
        """Ask once more before it is done."""


class ScreenProvider(Provider):
    """Screens, and those of each agent."""

    @property
    def _mirror(self) -> HouseApp:
        return cast("HouseApp", self.app)

    async def startup(self) -> None:
        """Ask who there is, in a thread."""
        self._names = await self._mirror.run_in_thread(lambda: _names(self._mirror.house))

    async def discover(self) -> Hits:
        """Before a letter is typed: the screens, and a few agents."""
        for title, words, act in self._ways(self._names[:_FEW]):
            yield DiscoveryHit(Content(title), act, title, words)

    async def search(self, query: str) -> Hits:
        """Those whose name is like what is typed."""
        matcher = self.matcher(query)
        for title, words, act in self._ways(self._names):
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, Content(title), act, title, words)

    def _ways(self, names: list[str]) -> list[tuple[str, str, Callable[[], Any]]]:
        app = self._mirror
        ways: list[tuple[str, str, Callable[[], Any]]] = []

        def add(title: str, words: str, address: str) -> None:
            ways.append((title, words, lambda: app.go(address)))

        for screen in SCREENS:
            if screen.listed:
                add(screen.title, screen.question, address_of(ScreenReference(screen.name)))
        for name in names:
            for what, reference in (
                ("An agent", AgentReference(name)),
                ("Rules of", RulesReference(name)),
                ("Positions of", ScreenReference("positions", (("agent", name),))),
            ):
                add(plain_text(f"{what} {name}"), "", address_of(reference))
        ways.append(("Light or dark", "the other colours", app.action_colours))
        ways.append(("Quit", "leave", app.exit))
        return ways


def _names(house: House) -> list[str]:
    with house.store.read() as conn:
        return [agent.name for agent in agents(conn)]


class ActProvider(Provider):
    """What can be done on the screen that lies beneath; to choose it is not yet to do it."""

    async def discover(self) -> Hits:
        """All of it."""
        for title, words, ask in self._acts():
            yield DiscoveryHit(Content(title), ask, title, words)

    async def search(self, query: str) -> Hits:
        """What is like what is typed."""
        matcher = self.matcher(query)
        for title, words, ask in self._acts():
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, Content(title), ask, title, words)

    def _acts(self) -> list[tuple[str, str, Callable[[], Any]]]:
        screen = cast("_ActingScreen", self.screen)
        return [
            (plain_text(title), ACTS[verb].sentence, partial(screen.ask_act, verb, subject))
            for title, verb, subject in screen.acts
        ]


class KeyProvider(Provider):
    """Every key, with what it does."""

    async def discover(self) -> Hits:
        """All of them."""
        for key, words in KEYS:
            yield DiscoveryHit(Content(f"{key:<12} {words}"), _nothing, f"{key} {words}")

    async def search(self, query: str) -> Hits:
        """Those that do what is typed."""
        matcher = self.matcher(query)
        for key, words in KEYS:
            score = matcher.match(f"{key} {words}")
            if score > 0:
                yield Hit(score, Content(f"{key:<12} {words}"), _nothing, f"{key} {words}")


def _nothing() -> None:
    """A key is pressed where it does something, not where it is read about."""

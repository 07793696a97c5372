"""The one table of screens: what it says is what the page of documentation says, and no key means two of them."""

from __future__ import annotations

from retro.surface.screens.catalogue import SCREENS
from tests.worlds.places import ROOT


def test_the_page_of_documentation_names_every_screen_by_its_question() -> None:
    page = (ROOT / "docs" / "screens.md").read_text("utf-8")
    assert [screen.question for screen in SCREENS if screen.question not in page] == []


def test_no_key_leads_to_two_screens() -> None:
    keys = [screen.key for screen in SCREENS if screen.key]
    assert len(keys) == len(set(keys))

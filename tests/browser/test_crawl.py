"""Every screen in a real browser: nothing speaks on the console, nobody else is asked, nothing of an agent's runs."""

from __future__ import annotations

import gzip
from importlib.resources import files

from retro.present.screen import style_text
from retro.surface.web.static import script_addresses, static_file
from tests.browser.conftest import Owner, paths_of

LIFE = "/p/harbor-3/p-1"
WEEK = "/r/harbor-3.weekly.2026-W10"
RECALL = "/memory/mallory/recall?context=%7B%7D"
SCREENS = (
    "/",
    "/reviews",
    "/positions?agent=harbor-3",
    LIFE,
    WEEK,
    "/rules/harbor-3",
    "/service",
    "/proposals",
)
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
FORMATS = (".json", ".txt", ".md", ".csv")


def test_a_crawl_of_all_ways_is_silent_and_runs_nothing_of_an_agent(owner: Owner) -> None:
    page = owner.open("/")
    visited: set[str] = set()
    waiting = {"/", RECALL}
    while waiting:
        address = min(waiting)
        visited.add(address)
        if not any(address.partition("?")[0].endswith(form) for form in FORMATS):
            page.goto(owner.site.origin + address)
            assert page.evaluate("window.pwned") is None, address
            assert page.locator("main h1").count() == 1, address
            assert page.locator("main img, main script, main [onerror]").count() == 0, address
            waiting |= paths_of(page)
        waiting -= visited
    assert {"/", LIFE, WEEK, "/service", RECALL} <= visited
    assert any(address.startswith("/proposals/") for address in visited)
    assert any(address.startswith("/r/mallory.") and "/explain?" in address for address in visited)
    assert any("mallory" in address and "%2F" in address for address in visited), (
        "no life of the hostile agent was reached"
    )


def test_no_screen_has_an_accessibility_fault(owner: Owner) -> None:
    """Light and dark, and on a small telephone, a telephone and a screen: colours know nothing of widths."""
    faults = {}
    page = owner.open("/")
    for address in SCREENS:
        page.goto(owner.site.origin + address)
        page.evaluate(AXE)
        for scheme, width in (("light", 320), ("dark", 390), ("light", 1100)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            for fault in page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]:
                faults[address, scheme, width, fault["id"]] = [
                    node["html"][:120] for node in fault["nodes"][:2]
                ]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (address, width)
    assert faults == {}


def test_a_screen_is_small(owner: Owner) -> None:
    page = owner.open("/service")
    for address, most in (("/", 14), (LIFE, 12), (WEEK, 20), ("/positions?agent=harbor-3", 10)):
        reply = page.goto(owner.site.origin + address)
        assert len(gzip.compress(reply.body(), 5)) < most << 10, address
        assert page.evaluate("document.querySelectorAll('*').length") < 2500, address


def test_script_and_style_are_small() -> None:
    scripts = [static_file(address.rpartition("/")[2]) for address in script_addresses()]
    assert sum(len(gzip.compress(file.content, 5)) for file in scripts if file is not None) < 6 << 10
    assert len(gzip.compress(style_text().encode(), 5)) < 5 << 10

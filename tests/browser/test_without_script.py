"""Without JavaScript, without motion, without colours of ours: the same figures, and every way still leads."""

from __future__ import annotations

import re

from tests.browser.conftest import Owner

LIFE = "/p/harbor-3/p-1"
WEEK = "/r/harbor-3.weekly.2026-W10"


def test_every_journey_is_a_link(scriptless: Owner) -> None:
    page = scriptless.open("/reviews?agent=harbor-3")
    page.click(f"main a[href='{WEEK}']")
    for words, place in (
        ("Heuristic detail", "/rules/harbor-3"),
        ("Position detail", WEEK + "#positions"),
    ):
        page.goto(scriptless.site.origin + WEEK)
        page.click(f"text={words}")
        assert page.url.endswith(place)
    page.goto(scriptless.site.origin + "/r/harbor-3.daily.2026-03-03")
    page.click("text=Diff from last review")
    assert "/diff/" in page.url
    page.goto(scriptless.site.origin + LIFE)
    page.click("text=Every point as a table")
    assert page.locator("#path-rows tr").first.is_visible()
    page.click("text=Keys")
    assert page.locator("dialog").is_visible()
    page.click("dialog a")
    assert not page.locator("dialog").is_visible()
    page.click("text=Reload")
    assert page.locator("#news").is_hidden()


def test_a_part_of_a_path_and_lives_beside_each_other_are_addresses(scriptless: Owner) -> None:
    page = scriptless.open(LIFE)
    whole = page.locator("#path-rows tr").count()
    result = page.locator("p.result").inner_text()
    page.click("text=Entry to best exit")
    assert re.search(r"from=2026-\d\d-.*to=2026-", page.url)
    assert 1 < page.locator("#path-rows tr").count() < whole
    assert page.locator("p.result").inner_text() == result, "a closer look changes no figure"
    page.click("text=Whole life")
    assert page.locator("#path-rows tr").count() == whole
    page.fill("form.ask input[name=with]", "p-2")
    page.select_option("form.ask select", "exit")
    page.click("form.ask button")
    assert "with=p-2" in page.url
    assert page.locator("#compare svg").is_visible()
    assert "Aligned at the exit" in page.locator("#compare svg title").first.text_content()


def test_it_stands_still_and_is_read_in_the_colours_of_the_system(owner: Owner) -> None:
    page = owner.open(LIFE, reduced_motion="reduce", forced_colors="active")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert page.evaluate("document.getAnimations().length") == 0
    page.locator("svg[data-rows]").focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator(".told").inner_text()
    assert page.evaluate(
        "getComputedStyle(document.querySelector('body > nav [aria-current]') ?? document.body).color"
    )

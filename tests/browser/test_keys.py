"""Keys alone: every step of the owner without a mouse, and the cursor that goes along a path."""

from __future__ import annotations

import re
from typing import Any

from tests.browser.conftest import Owner

LIFE = "/p/harbor-3/p-1"
WEEK = "/r/harbor-3.weekly.2026-W10"
DAY = "/r/harbor-3.daily.2026-03-03"


def path(page: Any) -> str:
    return str(page.evaluate("location.pathname + location.search + location.hash"))


def press(page: Any, key: str, address: str) -> None:
    """The key leads there."""
    page.keyboard.press(key)
    page.wait_for_url(re.compile(re.escape(address) + "$"))


def test_from_the_ledger_to_a_report_and_back(owner: Owner) -> None:
    page = owner.open("/reviews?agent=harbor-3")
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.pathname")
    assert first.startswith("/r/harbor-3.")
    press(page, "Enter", first)  # [Enter] Full report
    press(page, "Escape", "/reviews?agent=harbor-3")  # [Esc] Back
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.pathname") == first


def test_from_a_report_to_what_differs_to_rules_and_positions(owner: Owner) -> None:
    page = owner.open(DAY)
    press(page, "D", "/diff/harbor-3.daily.2026-03-03")  # [D] Diff from last review
    assert "harbor-3.daily.2026-03-02" in page.inner_text("main")
    page.goto(owner.site.origin + WEEK)
    press(page, "H", "/rules/harbor-3")  # [H] Heuristic detail
    for key in "pP":
        page.goto(owner.site.origin + WEEK)
        press(page, key, WEEK + "#positions")  # [P] Position detail
    page.goto(owner.site.origin + DAY)
    press(page, "]", "/r/harbor-3.daily.2026-03-04")
    press(page, "[", DAY)


def test_a_trade_and_its_retrospective(owner: Owner) -> None:
    page = owner.open("/positions?agent=harbor-3")
    for _ in range(20):
        page.keyboard.press("j")
        if page.evaluate("document.activeElement.pathname") == LIFE:
            break
    press(page, "R", LIFE)  # [R] its retrospective
    press(page, "Enter", LIFE + "#reasoning")  # [Enter] View entry reasoning
    press(page, "p", LIFE + "#predictions")  # [P] View predictions
    press(page, "Escape", "/positions?agent=harbor-3")
    press(page, "g", "/positions?agent=harbor-3")
    press(page, "t", "/")
    page.keyboard.press(".")
    assert "do=seen" in page.evaluate("document.activeElement.href")
    page.keyboard.press("m")
    page.wait_for_url(re.compile(r"/-/act\?do=seen"))  # which asks once more


def test_the_list_of_keys_opens_closes_and_switches_them_off(owner: Owner) -> None:
    page = owner.open("/positions?agent=harbor-3")
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    assert "retrospective" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    assert path(page) == "/positions?agent=harbor-3", "Esc leaves the innermost thing alone"
    page.keyboard.press("?")
    page.locator("dialog input").press("Space")
    page.locator("dialog a").press("Enter")
    page.reload()
    page.keyboard.press("j")
    page.keyboard.press("?")
    assert page.evaluate("document.activeElement === document.body")
    assert not page.locator("dialog").is_visible()
    page.locator("a[href='#keys']").press("Enter")  # the way back on is no single key
    assert page.locator("dialog input").is_checked()


def test_a_cursor_tells_the_rows_of_the_table_and_nothing_else(owner: Owner) -> None:
    page = owner.open(LIFE)
    rows = [" ".join(text.split()) for text in page.locator("#path-rows tr").all_text_contents()]
    chart = page.locator("svg[data-rows='path-rows']")
    assert chart.get_attribute("data-points").count(",") == len(rows)

    def spoken() -> str:
        return " ".join(page.inner_text(".told").replace(", ", " ").split())

    def row(index: int) -> str:
        cells = page.locator(f"#path-rows tr:nth-child({index + 1 if index >= 0 else len(rows)}) > *")
        return " ".join(" ".join(cells.all_text_contents()).split())

    chart.focus()
    page.keyboard.press("0")
    assert spoken() == row(0)
    assert spoken().endswith("entry")
    page.keyboard.press("ArrowRight")
    assert spoken() == row(1)
    page.keyboard.press("$")
    assert spoken() == row(-1)
    page.keyboard.press("b")
    assert "best exit" in spoken()
    page.keyboard.press("0")
    page.keyboard.press("c")
    assert "checkpoint" in spoken()
    page.locator(".voice", has_text="checkpoint").wait_for(state="attached")
    page.keyboard.press("Escape")
    assert spoken() == ""
    assert path(page) == LIFE
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 40)
    assert spoken() == row(-1)


def test_what_was_opened_stays_open(owner: Owner) -> None:
    page = owner.open(LIFE)
    assert not page.locator("#path-rows").is_visible()
    page.locator("summary", has_text="Every point").press("Enter")
    page.locator("#path-rows").wait_for()
    page.wait_for_timeout(100)  # the browser says so a little later
    page.reload()
    assert page.locator("#path-rows").is_visible()


def test_lives_that_were_picked_are_laid_over_each_other(owner: Owner) -> None:
    page = owner.open("/positions?agent=harbor-3")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    assert page.locator("tr.picked").count() == 2
    page.keyboard.press("X")
    page.wait_for_url(re.compile(r"/p/harbor-3/.*\?with="))
    assert page.locator("#compare").is_visible()

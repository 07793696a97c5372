"""From every name to what it names; a narrowed list says how much of the whole it is, and how to have more of it."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from math import fsum
from pathlib import Path
from urllib.parse import quote

from retro.app.questions.bounds import EVERYTHING
from retro.app.questions.lists.filters import POSITIONS, owner_selection
from retro.app.questions.positions import closed_money, positions
from retro.config import Config
from retro.present.page.screens.lists import closed_figure, positions_table
from retro.report.overviews import PositionOverview
from retro.report.today import ClosedMoney
from retro.surface.screens.house import House
from tests.surface.web.test_door import Browser, browser, house, ways
from tests.worlds.commands import Retro, retro

__all__ = ["browser", "house", "retro"]

AGENT = "harbor-3"


def text_of(page: str) -> str:
    """What stands on a page, without its tags."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


def test_a_narrowed_list_says_of_how_many_and_what_they_made(browser: Browser) -> None:
    every = [row for row in json.loads(browser("/positions.json").text) if not row["open"]]
    page = text_of(browser("/positions").text)
    assert f"{len(every)} closed lives {fsum(row['final_pnl'] for row in every):+.2f} USDC" in page
    few = [row for row in every if row["final_pnl"] > 10]
    page = text_of(browser("/positions?q=pnl%3E10").text)
    assert f"{len(few)} of {len(every)} positions" in page
    assert f"{fsum(row['final_pnl'] for row in few):+.2f} USDC" in page


def test_an_empty_list_says_of_how_many_and_lets_go_of_each_word(browser: Browser) -> None:
    reply = browser("/positions?agent=harbor-3&q=pnl%3E99999+spot&sort=-pnl").text
    assert "None of 4 positions is so" in reply
    without = {unescape(address) for address in re.findall(r'href="([^"]+)">without', reply)}
    assert without == {
        "/positions?agent=harbor-3&sort=-pnl&q=spot",
        "/positions?agent=harbor-3&sort=-pnl&q=pnl%3E99999",
    }
    assert all(browser(address).status == 200 for address in without)
    assert "retro positions --agent harbor-3 --where &#39;pnl&gt;99999 spot&#39; --sort -pnl" in reply


def test_a_filter_that_cannot_be_read_is_named_and_can_be_mended(browser: Browser) -> None:
    reply = browser("/positions?agent=harbor-3&q=depth%3E9")
    assert reply.status == 400
    assert "That cannot be read" in reply.text
    assert "Filter: there is no column" in text_of(reply.text)
    assert 'value="depth&gt;9"' in reply.text
    assert '<input type="hidden" name="agent" value="harbor-3">' in reply.text


def test_the_command_of_a_screen_prints_the_same(browser: Browser, retro: Retro, reviewed_db: Path) -> None:
    for address in (
        "/positions?agent=harbor-3&q=spot&sort=-pnl",
        "/reviews?agent=harbor-3&q=kind%3Adaily",
        "/search?q=p-1",
        "/diff/harbor-3.daily.2026-03-03",
        f"/memory/harbor-3/recall?context={quote(json.dumps({'regime': 'ranging'}))}",
        "/rules/harbor-3?q=n%3E0&sort=-n",
    ):
        page = browser(address).text
        command = re.search(r"terminal: <code>([^<]+)</code>", page)
        assert command is not None, address
        words = shlex.split(unescape(command[1]))[1:]
        answer = retro("--db", reviewed_db, "--json", *words)
        assert answer.code == 0, address
        if not address.startswith(
            "/rules"
        ):  # the screen shows the newest audit, the command the whole life's
            path, _, query = address.partition("?")
            assert answer.data == json.loads(browser(f"{path}.json?{query}").text), address


def test_what_a_position_cites_leads_to_the_rule_and_the_rule_to_who_cites_it(browser: Browser) -> None:
    assert "/rules/harbor-3/H-7" in ways(browser("/p/harbor-3/p-1").text)
    lives = "/positions?agent=harbor-3&q=rule%3AH-7"
    assert lives in ways(browser("/rules/harbor-3/H-7").text)
    assert "/p/harbor-3/p-1" in ways(browser(lives).text)


def test_search_and_recall_are_asked_without_a_keyboard_shortcut(browser: Browser) -> None:
    assert "/search" in ways(browser("/").text)
    assert '<form class="ask" method="get" action="/search"' in browser("/search").text
    assert 'action="/memory/harbor-3/recall"' in browser("/memory/harbor-3").text


def test_an_agent_shows_its_newest_day_and_week_in_a_few_lines(browser: Browser) -> None:
    page = text_of(browser("/a/harbor-3").text)
    week = json.loads(browser("/r/harbor-3.weekly.2026-W10.json").text)
    (line,) = re.findall(r"Weekly review Period .*? Actions (.*?) Net PnL ([^ ]+) USDC", page)
    actions = [action["action"] for action in week["actions_taken"]]
    assert line[0].startswith(f"{actions.count('enter')} entries, {actions.count('exit')} exits")
    assert line[1] == f"{week['pnl']['total']:+.2f}"
    assert page.index("Daily review Period") < page.index("Weekly review Period")
    assert "/diff/harbor-3.weekly.2026-W10" not in ways(browser("/a/harbor-3").text), "no week lies before it"


def test_looking_back_before_the_first_event_nobody_has_acted_and_nothing_was_made(browser: Browser) -> None:
    page = text_of(browser("/?as-of=2026-03-01").text)
    assert "it acted after this" in page
    assert "0 s ago" not in page
    assert "closed lives" not in page


def test_what_is_left_of_a_filter_is_added_up_like_the_days(house: House) -> None:
    record, config = house.agent(AGENT), Config()
    settings = house.settings_for(record)
    whole = closed_money(house.store, record, "USDC")
    rows = positions(house.store, record, settings, EVERYTHING).rows
    assert whole == closed_money(house.store, record, "USDC", owner_selection(config, "closed", POSITIONS))
    assert whole.closed == sum(not row.open for row in rows)
    none = closed_money(house.store, record, "USDC", owner_selection(config, "pnl>1e9", POSITIONS))
    assert (none.closed, none.pnl, none.against_nothing) == (0, None, None)
    assert set(none.reasons) == {"pnl", "against_nothing"}


def test_what_is_not_believed_makes_no_sum_and_is_neither_up_nor_down() -> None:
    total = ClosedMoney(currency="USDT", closed=2, counted=0, pnl=None, against_nothing=None)
    figure = closed_figure(total)
    assert figure.value == "–"
    assert figure.note == "2 not counted: without a price, or not believed"
    row = PositionOverview(
        name="p", agent="a", kind="spot", instrument="ETH/USDT", strategy="s", side="long", opened_at=0,
        closed_at=1, final_pnl=6e8, vs_inaction=6e8, notional=1.0, implausible=True, ruling=None,
        mfe=None, mae=None, regret=None, spark=None,
    )  # fmt: skip
    cells = positions_table([row], "USDT").rows[0].cells
    assert [cell.tone for cell in cells[4:6]] == ["faint", "faint"]
    assert cells[-1].text == "implausible"

"""Lists as sheets, through filters and as of an instant; what is watched."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import closing
from pathlib import Path

from retro.config import Config
from retro.store.database import open_store
from tests.surface.web.test_door import Browser, browser, house, house_of, ways
from tests.worlds.commands import Retro, retro

__all__ = ["browser", "house", "retro"]

OPEN = {"exit_at": None, "open": True, "final_pnl": None, "vs_inaction": None, "flags": "open"}
"""What differs in the row of a position that has not ended yet."""


def test_a_list_is_a_sheet_too_and_runs_no_formula(browser: Browser, tmp_path: Path, retro: Retro) -> None:
    for address in ("/reviews", "/positions", "/service", "/search"):
        documents = json.loads(browser(f"{address}.json?q=").text)
        sheet = browser(f"{address}.csv")
        assert sheet.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(sheet.text)))
        assert [list(row) for row in rows] == [list(document) for document in documents], address
    assert browser("/service.csv").status == 200
    assert browser("/r/harbor-3.weekly.2026-W10.csv").status == 404
    fields = {"at": "2026-03-02T10:00:00Z", "agent": "bot", "position": "=1+1", "instrument": "@cmd|calc"}
    lines = [
        {"type": "position", "id": "p", "kind": "spot", **fields},
        {"type": "fill", "id": "f", "side": "buy", "quantity": 1, "price": 10, **fields},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert retro("--db", "h.db", "ingest", "journal", "a.jsonl").code == 0
    with closing(open_store("h.db")) as store:
        (row,) = csv.DictReader(io.StringIO(Browser(house_of(store, Config()))("/positions.csv").text))
    assert (row["position_id"], row["instrument"]) == ("'=1+1", "'@cmd|calc")


def test_a_filter_that_makes_no_sense_is_named_and_its_signs_are_harmless(browser: Browser) -> None:
    reply = browser("/positions?q=pnl%3C%3Cscript%3E")
    assert reply.status == 400
    assert "pnl: &#39;&lt;script&gt;&#39; is not a number" in reply.text
    assert browser("/reviews?as-of=soon").status == 400
    page = browser("/positions?q=%3E%3Cscript%3E&sort=pnl").text
    assert "<script>" not in page
    assert 'value="&gt;&lt;script&gt;"' in page


def test_whoever_looks_back_sees_what_was_known_then_and_goes_on_looking_back(
    browser: Browser, reviewed_db: Path
) -> None:
    entries = {row["position_id"]: row for row in json.loads(browser("/positions.json").text)}
    as_of = min(row["exit_at"] for row in entries.values() if row["exit_at"])
    then = {row["position_id"]: row for row in json.loads(browser(f"/positions.json?as-of={as_of}").text)}
    assert set(then) == {name for name, row in entries.items() if row["entry_at"] <= as_of}
    for name, row in then.items():
        over = entries[name]["exit_at"] is not None and entries[name]["exit_at"] <= as_of
        assert row == (entries[name] if over else {**entries[name], **OPEN}), name
    assert json.loads(browser(f"/reviews.json?as-of={as_of}").text) == [], "all were made on another day"
    assert browser(f"/r/harbor-3.weekly.2026-W10?as-of={as_of}").status == 404
    assert json.loads(browser("/reviews.json?as-of=2100-01-01").text) == [
        row for row in json.loads(browser("/reviews.json").text) if row["state"] == "done"
    ]
    page = browser("/positions?as-of=2026-03-05").text
    assert "As of 2026-03-05T00:00:00Z" in page
    assert all(
        "as-of=" in address for address in ways(page) if not address.startswith(("/-/", "/positions."))
    )
    day = re.search(r'type="range" name="as-of" min="(\d+)" max="(\d+)" value="(\d+)"', page)
    assert day is not None
    assert browser(f"/positions.json?as-of={day[3]}").text == browser("/positions.json?as-of=2026-03-05").text


def test_what_is_watched_is_told_to_whoever_has_the_key(browser: Browser) -> None:
    reply = browser("/metrics")
    assert reply.headers["content-type"].startswith("application/openmetrics-text")
    assert "retro_parked 0" in reply.text.splitlines()
    assert reply.text.endswith("# EOF\n")
    assert browser("/metrics", authorization=None).status == 401

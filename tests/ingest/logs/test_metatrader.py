"""MetaTrader: results to the cent in the account's currency, whatever language, encoding or program wrote the report."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from retro.errors import InputError
from retro.ingest.metatrader.reader import read, sniff
from retro.ingest.sample import sample_of
from tests.worlds.commands import Retro, retro
from tests.worlds.logs.metatrader import ACCOUNT, DEALS, HEAD, OPEN, POSITIONS, TESTER, html, statement, xlsx
from tests.worlds.logs.telling import Telling, telling_of

__all__ = ["retro"]

ZONE = "Etc/GMT-3"


def results(telling: Telling) -> dict[str, Decimal]:
    """What each position made out of its fills and funding, fees paid."""
    pnl: dict[str, Decimal] = {}
    for fill in telling.of("fill"):
        worth = Decimal(fill["quantity"]) * Decimal(fill["price"]) * (1 if fill["side"] == "sell" else -1)
        pnl[fill["position"]] = pnl.get(fill["position"], Decimal(0)) + worth - Decimal(fill["fee"])
    for flow in telling.of("flow"):
        pnl[flow["position"]] += Decimal(flow["quantity"]) * (1 if flow["kind"] == "funding_received" else -1)
    return pnl


def test_an_account_of_five_tells_positions_to_the_cent_in_its_currency(tmp_path: Path) -> None:
    """EURUSD: 0.005 x 10,000 = 50, less 0.70 and 0.30. EURAUD: -100 AUD are -65.09 USD, so a price of 1 AUD is 0.6509."""
    telling = telling_of(read, xlsx(tmp_path / "ReportHistory.xlsx", ACCOUNT), zone=ZONE)
    assert telling.faults == []
    assert telling.base_currency == {"mt5-10000009": "USD"}
    assert telling.of("position", "position", "instrument", "side", "kind", "strategy") == [
        ("mt-501", "EURUSD.Z/USD:USD", "long", "perp", "breakout"),
        ("mt-502", "EURAUD.Z/USD:USD", "short", "perp", None),
        ("mt-503", "NZDUSD.Z/USD:USD", "long", "perp", "by hand"),
    ]
    pnl = results(telling)
    assert (pnl["mt-501"], pnl["mt-502"].quantize(Decimal("1e-12"))) == (
        Decimal("49.00"),
        Decimal("-65.09"),
    )
    (euro, *_), fills = (
        telling.of("fill", "quantity", "price", "fee", "at"),
        telling.of("fill", "id", "price", "fee"),
    )
    assert euro == ("10000.0", "1.10000", "0.35", "2026-05-04T07:00:00Z")
    assert [(name, fee) for name, _, fee in fills][1] == ("501-out", "0.35")
    assert Decimal(fills[2][1]) == pytest.approx(Decimal("1.78") * Decimal("0.6509"))
    assert telling.of("exit", "position", "reason") == [("mt-501", "take_profit"), ("mt-502", "stop_loss")]
    assert telling.of("external", "quantity") == ["1000.00", "-100.00"]
    assert telling.of("equity", "balances") == [{"USD": "0.00"}]
    balances = [(check.subject, check.stated) for check in telling.checks if check.what == "balance"]
    assert [stated for _, stated in balances] == [
        Decimal(text) for text in ("1000.00", "999.65", "1049.00", "1049.00", "983.91", "883.91")
    ]
    stated = {check.subject: check.stated for check in telling.checks if check.what == "realized_pnl"}
    assert stated == {"mt-501": Decimal("49.00"), "mt-502": Decimal("-65.09")}


RUSSIAN = {
    "Positions": "Позиции",
    "Orders": "Ордера",
    "Deals": "Сделки",
    "Time": "Время",
    "Balance": "Баланс",
    "Profit": "Прибыль",
}


def translated(grid: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return [tuple(RUSSIAN.get(cell, cell) for cell in row) for row in grid]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8", "cp1251"])
def test_the_page_in_another_language_tells_what_the_workbook_tells(tmp_path: Path, encoding: str) -> None:
    from_book = telling_of(read, xlsx(tmp_path / "r.xlsx", ACCOUNT), zone=ZONE)
    from_page = telling_of(read, html(tmp_path / "r.html", translated(ACCOUNT), encoding), zone=ZONE)
    assert from_page.of("fill") == from_book.of("fill")
    assert from_page.checks == from_book.checks
    assert set(from_page.of("position", "strategy")) == {"of the fast one", "by hand"}


def test_a_tester_tells_deals_and_no_positions_so_they_run_from_flat_to_flat_of_each_side(
    tmp_path: Path,
) -> None:
    """Long: 20 - 10 - 1.00 - 0.50 - 0.50 - 0.20 of swap. Short: 10 - 0.50 - 0.50."""
    for path in (xlsx(tmp_path / "t.xlsx", TESTER), html(tmp_path / "t.html", TESTER)):
        telling = telling_of(read, path, zone=ZONE)
        assert telling.faults == []
        assert telling.of("position", "side", "strategy") == [("long", "dip"), ("short", "peak")]
        assert [pnl.quantize(Decimal("1e-9")) for pnl in results(telling).values()] == [
            Decimal("7.80"),
            Decimal("9.00"),
        ]
        assert telling.of("exit", "reason") == ["take_profit"]
        assert [check.stated for check in telling.checks][-1] == Decimal("10016.80")
        assert {event["agent"] for event in telling.events} == {"mt5-tester"}


def test_an_account_that_nets_splits_a_deal_that_turns_its_position(tmp_path: Path) -> None:
    """0.1 bought at 1.10, 0.3 sold at 1.11 (in/out): 100 made, 0.2 short; bought back at 1.10: 200 made."""
    deals = (
        *HEAD[:3], *DEALS[:2],
        ("2026.05.04 10:00:00", "1", "EURUSD", "buy", "in", "0.1", "1.10000", "1", "0", "0", "0", "0", "1000"),
        ("2026.05.04 11:00:00", "2", "EURUSD", "sell", "in/out", "0.3", "1.11000", "2", "-0.30", "0", "0", "100.00", "1099.70"),
        ("2026.05.04 12:00:00", "3", "EURUSD", "buy", "out", "0.2", "1.10000", "3", "0", "0", "0", "200.00", "1299.70"),
    )  # fmt: skip
    telling = telling_of(read, xlsx(tmp_path / "n.xlsx", deals), zone=ZONE)
    assert telling.faults == []
    assert telling.of("position", "side") == ["long", "short"]
    assert [pnl.quantize(Decimal("1e-9")) for pnl in results(telling).values()] == [
        Decimal("99.90"),
        Decimal("199.80"),
    ]


@pytest.mark.parametrize(
    ("encoding", "name", "expert"),
    [
        ("utf-8", "Nobody", "gold_4"),
        ("gb18030", "预测未来版通道指标", "预测未来版通道"),
        ("cp1251", "Иван Петрович Сидоров", "Золотой советник"),
        ("cp1252", "José Muñoz", "año"),
    ],
)
def test_a_statement_of_four_is_read_in_the_code_page_of_its_terminal(
    tmp_path: Path, encoding: str, name: str, expert: str
) -> None:
    """Gold: 8 points against 100 ounces and 5 + 1 + 2 paid; yen: 495.05 as converted. Nothing of the cancelled order."""
    telling = telling_of(read, statement(tmp_path / "Statement.htm", encoding, name, expert), zone=ZONE)
    assert telling.faults == []
    assert telling.of("position", "position", "strategy") == [("mt-41", expert), ("mt-43", "magic 8003")]
    pnl = results(telling)
    assert (pnl["mt-41"], pnl["mt-43"].quantize(Decimal("1e-9"))) == (Decimal("-808.00"), Decimal("495.05"))
    assert telling.of("exit", "reason") == ["stop_loss"]
    assert telling.of("equity", "balances") == [{"USD": "0.00"}]
    assert telling.of("external", "quantity") == ["10000.00"]


def test_a_statement_whose_rows_do_not_come_to_its_sum_says_so(tmp_path: Path) -> None:
    (fault,) = telling_of(read, statement(tmp_path / "s.htm", total="-300.00"), zone=ZONE).faults
    assert "its positions come to -312.95 and it says -300.00" in fault.reason


def test_a_missing_deal_breaks_the_chain_of_balances_where_it_is_missing(tmp_path: Path) -> None:
    deals = [row for row in DEALS if row[1:2] != ("902",)]
    (fault,) = telling_of(read, xlsx(tmp_path / "r.xlsx", (*HEAD, *POSITIONS, *deals)), zone=ZONE).faults
    assert "its balance 1049.00 is not 999.65 and 0.00" in fault.reason


def test_an_export_that_begins_in_the_middle_takes_entries_from_positions_and_opens_with_its_balance(
    tmp_path: Path,
) -> None:
    deals = [row for row in DEALS if row[1:2] not in {("900",), ("901",)}]
    telling = telling_of(read, xlsx(tmp_path / "r.xlsx", (*HEAD, *POSITIONS, *deals, *OPEN)), zone=ZONE)
    assert telling.faults == []
    assert telling.of("equity", "at", "balances") == [("2026-05-04T07:00:00Z", {"USD": "999.65"})]
    assert results(telling)["mt-501"] == Decimal("49.00")


def test_times_need_a_zone_and_hostile_cells_stay_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its times have no zone; name the one they are in: --zone"):
        telling_of(read, xlsx(tmp_path / "r.xlsx", ACCOUNT))
    bad = [list(row) for row in POSITIONS]
    bad[2][12] = "1e999999"
    bad[3][2] = "<script>alert(1)</script>"
    telling = telling_of(read, html(tmp_path / "r.html", (*HEAD, *bad)), zone=ZONE)
    assert telling.of("position", "instrument") == ["<script>alert(1)</script>/USD:USD"]
    assert len(telling.faults) <= 1


def test_another_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    other = html(tmp_path / "page.html", (("a", "b"), ("1", "2")))
    assert sniff(sample_of(other)) is None
    with pytest.raises(InputError, match="has no deal and no position of MetaTrader"):
        telling_of(read, other, zone=ZONE)
    with pytest.raises(InputError, match="holds no report of MetaTrader"):
        telling_of(read, tmp_path, zone=ZONE)
    with pytest.raises(InputError, match="does not name the account's currency"):
        telling_of(read, xlsx(tmp_path / "headless.xlsx", POSITIONS), zone=ZONE)
    assert sniff(sample_of(xlsx(tmp_path / "r.xlsx", ACCOUNT)))
    assert sniff(sample_of(statement(tmp_path / "s.htm")))
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(xlsx(tmp_path / "r.xlsx", ACCOUNT).read_bytes()[:700])
    with pytest.raises(InputError, match="is no readable zip archive"):
        telling_of(read, broken, zone=ZONE)


def test_from_a_report_to_a_review_and_a_second_reading_changes_nothing(tmp_path: Path, retro: Retro) -> None:
    """49.00 - 65.09, both closed in the week of 4 May; the account stood at 983.91 and 100 were taken out."""
    path = xlsx(tmp_path / "ReportHistory.xlsx", ACCOUNT)
    command = ("--db", "r.db", "ingest", "metatrader", path, "--zone", ZONE, "--json")
    first, again = retro(*command), retro(*command)
    assert (first.code, again.code) == (0, 0), first.err
    assert (again.data["stored"], again.data["conflicts"]) == (0, 0)
    review = retro("--db", "r.db", "review", "weekly", "--at", "2026-05-06", "--json")
    assert review.code == 0, review.err
    assert review.data["pnl"]["total"] == pytest.approx(-16.09)
    assert review.data["pnl"]["unattributed"] in {None, 0.0}
    assert review.data["equity"][-1]["equity"] == pytest.approx(883.91)

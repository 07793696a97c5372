"""Hyperliquid: positions out of fills in every form that its files have, held against what the venue says itself."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.errors import InputError
from retro.ingest.hyperliquid.reader import read, sniff
from retro.ingest.sample import sample_of
from tests.worlds.commands import Retro, retro
from tests.worlds.logs.hyperliquid import FUNDING, ROUND, SHEET, answer, api, web
from tests.worlds.logs.telling import telling_of

__all__ = ["retro"]


def test_a_round_trip_of_the_website_is_one_position_with_its_stated_results(tmp_path: Path) -> None:
    """0.5 at 2,000 and 0.5 at 2,010 cost 2,005 on average; 2,025 makes 20 gross and 19.50 after the last fee."""
    result = telling_of(read, web(tmp_path / "trade_history.csv", *ROUND), zone="Europe/Paris")
    (position,) = result.of("position", "position")
    assert result.of("position", "kind", "instrument", "side", "venue") == [
        ("perp", "ETH/USDC:USDC", "long", "hyperliquid")
    ]
    assert result.of("fill", "at", "side", "quantity", "price", "fee") == [
        ("2026-02-18T09:00:00Z", "buy", "0.5", "2000", "0.25"),
        ("2026-02-18T10:00:00Z", "buy", "0.5", "2010", "0.25"),
        ("2026-02-18T11:00:00Z", "sell", "1", "2025", "0.5"),
    ]
    stated = [(c.subject, c.stated, c.net_of, c.fill is None) for c in result.checks]
    assert stated == [
        (position, Decimal("19.5"), ("fees",), False),
        (position, Decimal("19.0"), ("fees",), True),
    ]
    assert (result.faults, result.notices, result.base_currency) == ([], [], {"hyperliquid": "USDC"})


def test_a_fill_that_crosses_zero_closes_one_position_and_opens_the_next(tmp_path: Path) -> None:
    """Of 3 sold at 110, 1 closes (+10) and 2 open; the fee 0.30 goes 0.10 and 0.20; stated net: 10 - 0.30."""
    path = web(
        tmp_path / "t.csv",
        "18/02/2026 10:00:00,SOL,Open Long,100,1,100,0.1,-0.1",
        "18/02/2026 11:00:00,SOL,Long > Short,110,3,330,0.3,9.7",
        "18/02/2026 12:00:00,SOL,Close Short,105,2,210,0.2,9.8",
    )
    result = telling_of(read, path, zone="UTC")
    assert result.of("position", "side") == ["long", "short"]
    assert [(Decimal(q), Decimal(f)) for q, f in result.of("fill", "quantity", "fee")] == [
        (Decimal(1), Decimal("0.1")),
        (Decimal(1), Decimal("0.1")),
        (Decimal(2), Decimal("0.2")),
        (Decimal(2), Decimal("0.2")),
    ]
    assert [c.stated for c in result.checks if c.fill is None] == [Decimal("9.8"), Decimal("9.6")]
    assert [c.stated for c in result.checks if c.fill] == [
        Decimal("9.7"),
        Decimal("9.8"),
    ]  # as the rows say it


def test_equal_rows_are_distinct_fills_and_a_second_export_that_overlaps_adds_none(tmp_path: Path) -> None:
    row = "18/02/2026 10:00:00,ETH,Open Short,2000,0.1,200,0.05,-0.05"
    first = web(tmp_path / "a.csv", row, row)
    grown = web(
        tmp_path / "b.csv",
        "17/02/2026 09:00:00,BTC,Open Long,90000,0.1,9000,1,-1",
        "17/02/2026 09:30:00,BTC,Close Long,90000,0.1,9000,1,-1",
        row,
        row,
        "18/02/2026 11:00:00,ETH,Close Short,2000,0.2,400,0.1,-0.1",
    )
    before = {event["id"]: event for event in telling_of(read, first, zone="UTC").events}
    after = telling_of(read, grown, zone="UTC").events
    assert len([e for e in before.values() if e["type"] == "fill"]) == 2
    assert {e["id"]: e for e in after} | before == {e["id"]: e for e in after}
    both = telling_of(read, first, grown, zone="UTC").events
    assert sorted(both, key=str) == sorted(after, key=str)


def test_a_spot_purchase_is_charged_in_what_it_bought(tmp_path: Path) -> None:
    """8.31 HYPE at 11.944 with a fee of 0.00290848: closedPnl -0.0347 is that many HYPE; the sale's fee is USDC."""
    path = web(
        tmp_path / "t.csv",
        "13/04/2025 10:08:56,HYPE/USDC,Buy,11.944,8.31,99.25,0.00290848,-0.03473888512",
        "14/07/2025 14:09:05,HYPE/USDC,Sell,45.576,8.3,378.28,0.25420469,-0.33720469",
    )
    result = telling_of(read, path, zone="UTC")
    assert result.of("fill", "fee", "fee_asset") == [("0.00290848", "HYPE"), ("0.25420469", None)]
    assert result.of("position", "kind", "instrument") == [("spot", "HYPE/USDC")]
    assert result.checks == []


def test_times_need_a_zone_and_dates_an_order(tmp_path: Path) -> None:
    path = web(tmp_path / "t.csv", "03/04/2025 10:00:00,ETH,Open Long,2000,1,2000,1,-1", *ROUND)
    with pytest.raises(InputError, match="its times have no zone; name the one they are in: --zone"):
        telling_of(read, path)
    assert telling_of(read, path, zone="UTC").of("fill", "at")[0] == "2025-04-03T10:00:00Z"
    american = web(
        tmp_path / "us.csv", "9/18/2025 - 14:59:56,ETH,Open Long,2000,1,2000,1,-1",
        '"9/18/2025, 2:59:57 PM",ETH,Close Long,2000,1,2000,1,-1',
    )  # fmt: skip
    assert telling_of(read, american, zone="America/New_York").of("fill", "at") == [
        "2025-09-18T18:59:56Z",
        "2025-09-18T18:59:57Z",
    ]
    silent = web(tmp_path / "s.csv", "03/04/2025 10:00:00,ETH,Open Long,2000,1,2000,1,-1")
    with pytest.raises(InputError, match="may begin with the day or the month"):
        telling_of(read, silent, zone="UTC")
    assert telling_of(read, silent, path, zone="UTC").of("fill", "at")[0] == "2025-04-03T10:00:00Z"
    dotted = web(tmp_path / "d.csv", "03.04.2025 10:00:00,ETH,Open Long,2000,1,2000,1,-1")
    assert telling_of(read, dotted, zone="UTC").of("fill", "at") == ["2025-04-03T10:00:00Z"]
    ahead = web(tmp_path / "f.csv", "11/12/2026 10:00:00,ETH,Open Long,2000,1,2000,1,-1")
    assert telling_of(read, ahead, zone="UTC").of("fill", "at") == ["2026-11-12T10:00:00Z"]


def test_funding_belongs_to_the_position_that_is_open_then(tmp_path: Path) -> None:
    fills = web(tmp_path / "trade_history.csv", *ROUND)
    payments = web(
        tmp_path / "funding_history.csv",
        "18/02/2026 11:00:00,ETH,1,Long,-0.02,0.00001",
        "18/02/2026 12:00:00,ETH,1,Short,0.03,0.00001",
        "18/02/2026 13:00:00,ETH,1,Long,0.04,0.00001",
        header=FUNDING,
    )
    result = telling_of(read, payments, fills, zone="UTC")
    (position,) = result.of("position", "position")
    assert result.of("flow", "kind", "quantity", "asset", "position") == [
        ("funding_paid", "0.02", "USDC", position),
        ("funding_received", "0.03", "USDC", None),
        ("funding_received", "0.04", "USDC", None),
    ]


def test_the_api_tells_gross_results_ids_and_the_order_within_a_millisecond(tmp_path: Path) -> None:
    """Told newest first; the chain 0, 1, 3 of start positions says which of two equal instants came first."""
    path = answer(
        tmp_path / "fills.json",
        api(tid=1004, time=1_767_225_700_000, dir="Close Long", side="A", sz="3", px="2030", closedPnl="50", startPosition="3"),
        api(tid=1002, sz="2", px="2020", startPosition="1"),
        api(tid=1001, sz="1", px="2000"),
        api(tid=1003, coin="xyz:TSLA", px="400", fee="-0.01"),
    )  # fmt: skip
    result = telling_of(read, path)
    assert result.of("fill", "id", "instrument", "fee") == [
        ("1003", "xyz:TSLA/USDC:USDC", "-0.01"),
        ("1001", "ETH/USDC:USDC", "0.5"),
        ("1002", "ETH/USDC:USDC", "0.5"),
        ("1004", "ETH/USDC:USDC", "0.5"),
    ]
    assert [(c.stated, c.net_of, c.fill) for c in result.checks] == [
        (Decimal(50), (), "1004"),
        (Decimal(50), (), None),
    ]
    assert result.notices == []
    lines = tmp_path / "fills.jsonl"
    lines.write_text("".join(json.dumps(entry) + "\n" for entry in json.loads(path.read_text())))
    socket = tmp_path / "socket.json"
    socket.write_text(
        json.dumps({"channel": "userFills", "data": {"user": "0x1", "fills": json.loads(path.read_text())}})
    )
    assert telling_of(read, lines).events == telling_of(read, socket).events == result.events


def test_what_was_held_before_the_answers_begin_is_opened_at_what_its_result_gives_away(
    tmp_path: Path,
) -> None:
    """10 ETH were held; 4 sold at 2,100 realise 400, so their entry was 2,000: all 10 stand at that."""
    path = answer(
        tmp_path / "fills.json",
        api(dir="Close Long", side="A", sz="4", px="2100", closedPnl="400", startPosition="10.0"),
    )
    result = telling_of(read, path)
    assert [(s, Decimal(q), Decimal(p)) for s, q, p in result.of("fill", "side", "quantity", "price")] == [
        ("buy", 10, 2000),
        ("sell", 4, 2100),
    ]
    assert result.of("position", "opening") == [True]
    assert len(result.notices) == 2


def test_a_position_that_the_venue_no_longer_has_ends_before_the_next(tmp_path: Path) -> None:
    path = answer(
        tmp_path / "fills.json",
        api(),
        api(tid=1002, time=1_767_229_200_000, dir="Open Short", side="A", px="1900"),
    )
    result = telling_of(read, path)
    assert result.of("exit", "reason", "at") == [("closed outside the files", "2026-01-01T00:59:59.999999Z")]
    assert result.of("position", "side") == ["long", "short"]


def test_liquidations_and_settlements_say_why_a_position_ended(tmp_path: Path) -> None:
    path = answer(
        tmp_path / "fills.json",
        api(),
        api(tid=1002, time=1_767_229_200_000, dir="Liquidated Cross Long", side="A", px="1500", closedPnl="-500", startPosition="1"),
        api(tid=1003, time=1_767_232_800_000, coin="@142", dir="Buy", sz="0.1", px="90000", fee="0.0001", feeToken="UBTC"),
        api(tid=0, time=1_767_236_400_000, coin="@142", dir="Spot Dust Conversion", side="A", sz="0.0999", px="90000", fee="0", startPosition="0.0999"),
    )  # fmt: skip
    result = telling_of(read, path)
    assert result.of("exit", "reason") == ["liquidation"]
    assert result.of("position", "instrument", "kind") == [
        ("ETH/USDC:USDC", "perp"),
        ("UBTC/USDC", "spot"),
    ]
    assert result.of("fill", "fee_asset")[2] == "UBTC"


def test_money_that_came_and_went_is_the_owners(tmp_path: Path) -> None:
    own, other = "0xAa", "0xbb"
    path = answer(
        tmp_path / "ledger.json",
        {"time": 1_767_225_600_000, "hash": "0x01", "delta": {"type": "deposit", "usdc": "1000.0"}},
        {"time": 1_767_225_700_000, "hash": "0x02", "delta": {"type": "accountClassTransfer", "usdc": "10", "toPerp": True}},
        {"time": 1_767_225_800_000, "hash": "0x03", "delta": {"type": "withdraw", "usdc": "99.0", "nonce": 1, "fee": "1.0"}},
        {"time": 1_767_225_900_000, "hash": "0x04", "delta": {"type": "internalTransfer", "usdc": "5.0", "user": own, "destination": other, "fee": "1.0"}},
        {"time": 1_767_226_000_000, "hash": "0x05", "delta": {"type": "spotTransfer", "token": "HYPE", "amount": "2", "usdcValue": "50", "user": "0xcc", "destination": own, "fee": "0.0"}},
        {"time": 1_767_226_100_000, "hash": "0x06", "delta": {"type": "somethingNew", "usdc": "5.0"}},
    )  # fmt: skip
    result = telling_of(read, path)
    assert result.of("external", "quantity", "asset", "value") == [
        ("1000.0", None, None),
        ("-99.0", None, None),
        ("-5.0", None, None),
        ("2", "HYPE", "50"),
    ]
    assert result.of("cost", "amount") == ["1.0", "1.0"]
    (fault,) = result.faults
    assert "somethingNew" in fault.reason
    alone = answer(tmp_path / "one.json", json.loads(path.read_text())[3])
    assert "whose direction the file does not tell" in telling_of(read, alone).faults[0].reason


def test_a_sheet_with_damaged_ids_is_read_by_its_rows(tmp_path: Path) -> None:
    """2 December 2024, 22:50 in UTC+5:30, is 17:20 UTC; equal rows stay two, whatever is left of the trade's id."""
    row = "0xaaaaaaaa11,BTC,{px},{sz},1000,{side},02-12-2024 22:50,{start},{dir},{pnl},0xab,5.2E+10,TRUE,0.1,8.95E+14,{ms}"
    rows = [
        row.format(px=95_000, sz=1, side="BUY", start=0, dir="Open Long", pnl=0, ms="1.73E+12"),
        row.format(px=95_000, sz=1, side="BUY", start=1, dir="Open Long", pnl=0, ms="1.73E+12"),
        row.format(px=95_500, sz=2, side="SELL", start=2, dir="Close Long", pnl=1000, ms="1733160042000"),
    ]
    path = web(tmp_path / "sheet.csv", *rows, header=SHEET)
    result = telling_of(read, path)
    assert result.of("fill", "at") == ["2024-12-02T17:20:00Z"] * 2 + ["2024-12-02T17:20:42Z"]
    assert len(set(result.of("fill", "id"))) == 3
    assert [c.stated for c in result.checks if c.fill is None] == [Decimal(1000)]
    assert {event["agent"] for event in result.events} == {"hyperliquid"}
    other = [line.replace("0xaaaaaaaa11", "0xbbbbbbbb22") for line in rows]
    both = web(tmp_path / "both.csv", *rows, *other, header=SHEET)
    assert {event["agent"] for event in telling_of(read, both, agent="whales").events} == {
        "whales-0xaaaaaaaa",
        "whales-0xbbbbbbbb",
    }


def test_bad_rows_are_faults_with_their_line_and_the_rows_around_them_count(tmp_path: Path) -> None:
    path = web(
        tmp_path / "t.csv",
        ROUND[0],
        "18/02/2026 10:30:00,ETH,Open Long,abc,0.5,1000,0.25,-0.25",
        "18/02/2026 25:30:00x,ETH,Open Long,1,0.5,1000,0.25,-0.25",
        "18/02/2026 10:40:00,ETH,Open Long,1,-5,1000,0.25,-0.25",
        "18/02/2026 10:50:00,DOGE,Long > Short,1,5,5,0.25,-0.25",
        "18/02/2026 10:55:00,XRP,Auto-Deleveraging,1,5,5,0.25,-0.25",
        "18/02/2026 10:56:00,=cmd|' /C calc'!A0,Open Long,1,1e999999,5,0.25,-0.25",
        ROUND[1],
        "18/02/2026 12:00:00,ETH,Close Lo",
        end="",
    )
    result = telling_of(read, path, zone="UTC")
    assert len(result.of("fill")) == 2
    assert sorted(f.line or 0 for f in result.faults) == [3, 4, 5, 6, 7, 8, 10]
    reasons = {f.line: f.reason for f in result.faults}
    assert '"abc" is no number' in reasons[3] or "'abc' is no number" in reasons[3]
    assert "crosses from a position that the files do not show" in reasons[6]
    assert "does not say whether it bought or sold" in reasons[7]


def test_another_file_is_refused_in_one_sentence_and_others_beside_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="is no table of Hyperliquid; export Trade History"):
        telling_of(read, other)
    with pytest.raises(InputError, match="there is no table of Hyperliquid"):
        telling_of(read, tmp_path)
    web(tmp_path / "trade_history.csv", *ROUND)
    assert len(telling_of(read, tmp_path, zone="UTC").of("fill")) == 3
    answer(tmp_path / "fills.json", api())
    with pytest.raises(InputError, match="under different names; read one of them"):
        telling_of(read, tmp_path, zone="UTC")


def test_each_form_is_told_by_its_beginning(tmp_path: Path) -> None:
    assert "trade history" in (sniff(sample_of(web(tmp_path / "t.csv", *ROUND))) or "")
    assert "funding history" in (sniff(sample_of(web(tmp_path / "f.csv", header=FUNDING))) or "")
    assert "API" in (sniff(sample_of(answer(tmp_path / "a.json", api()))) or "")
    (tmp_path / "b.json").write_text('{"px": 1, "other": []}')
    assert sniff(sample_of(tmp_path / "b.json")) is None
    assert sniff(sample_of(tmp_path)) is None


def test_an_account_that_traded_with_itself_held_as_much_after_as_before(tmp_path: Path) -> None:
    """Both sides of one trade state the position before either. 6 of 10 at 100 stay, 4 come at 99: 99.6 on average."""
    own = {"time": 1_767_225_700_000, "sz": "4", "px": "99", "startPosition": "-10"}
    path = answer(
        tmp_path / "fills.json",
        api(tid=1004, time=1_767_225_800_000, dir="Close Short", side="B", sz="10", px="98", closedPnl="16", startPosition="-10"),
        api(tid=1003, dir="Open Short", side="A", **own),
        api(tid=1002, dir="Close Short", side="B", closedPnl="4", **own),
        api(tid=1001, dir="Open Short", side="A", sz="10", px="100"),
    )  # fmt: skip
    result = telling_of(read, path)
    assert (result.faults, result.notices) == ([], [])
    assert result.of("fill", "id", "side", "quantity") == [
        ("1001", "sell", "10"), ("1002", "buy", "4"), ("1003", "sell", "4"), ("1004", "buy", "10"),
    ]  # fmt: skip
    assert len(result.of("position", "position")) == 1
    assert [check.stated for check in result.checks] == [4, 16, 20]


@given(
    st.lists(
        st.tuples(st.sampled_from(["buy", "sell"]), st.integers(1, 5), st.integers(90, 110)), max_size=12
    )
)
def test_whatever_order_the_answers_are_saved_in_the_same_events_come_out(
    tmp_path_factory: pytest.TempPathFactory, trades: list[tuple[str, int, int]]
) -> None:
    """A chain of fills with their start positions, forwards, backwards and cut in two files that overlap."""
    position, entries = 0, []
    for number, (side, size, price) in enumerate(trades):
        signed = size if side == "buy" else -size
        after = position + signed
        crosses = position * after < 0
        direction = (
            ("Short > Long" if signed > 0 else "Long > Short")
            if crosses
            else ("Close " if position * signed < 0 else "Open ")
            + ("Long" if (position or after) > 0 else "Short")
        )
        entries.append(
            api(
                tid=10_000 + number, time=1_767_225_600_000 + number * 7, px=str(price), sz=str(size),
                side="B" if signed > 0 else "A", dir=direction, startPosition=str(position),
            )
        )  # fmt: skip
        position = after
    folder = tmp_path_factory.mktemp("answers")
    forwards = telling_of(read, answer(folder / "f.json", *entries)) if entries else None
    if forwards is None:
        return
    assert forwards.faults == []
    assert telling_of(read, answer(folder / "b.json", *reversed(entries))).events == forwards.events
    half = len(entries) // 2
    parts = (answer(folder / "1.json", *entries[: half + 1]), answer(folder / "2.json", *entries[half:]))
    assert telling_of(read, *reversed(parts)).events == forwards.events
    signed_fills = [
        Decimal(q) * (1 if s == "buy" else -1) for s, q in forwards.of("fill", "side", "quantity")
    ]
    assert sum(signed_fills) == position


def test_from_files_to_a_weekly_review_and_a_second_reading_changes_nothing(
    tmp_path: Path, retro: Retro
) -> None:
    """19.00 net of all fees, less 0.02 of funding paid and 0.03 received by the wallet: 19.01 in the week."""
    web(tmp_path / "trade_history.csv", *ROUND)
    web(
        tmp_path / "funding_history.csv", "18/02/2026 11:00:00,ETH,1,Long,-0.02,0.00001",
        "18/02/2026 13:00:00,ETH,1,Long,0.03,0.00001", header=FUNDING,
    )  # fmt: skip
    command = ("--db", "r.db", "ingest", "hyperliquid", tmp_path, "--zone", "UTC", "--json")
    first = retro(*command)
    assert first.code == 0, first.err
    assert (first.data["events"], first.data["stored"], first.data["faults"]) == (6, 6, [])
    again = retro(*command)
    assert (again.code, again.data["stored"], again.data["unchanged"], again.data["conflicts"]) == (
        0,
        0,
        6,
        0,
    )
    review = retro("--db", "r.db", "review", "weekly", "--at", "2026-02-18", "--json")
    assert review.code == 0, review.err
    assert review.data["pnl"]["total"] == pytest.approx(19.01)


def test_figures_and_instants_beyond_all_bounds_are_faults(tmp_path: Path) -> None:
    """Reckoned with as they stand they would overflow, or take for ever."""
    path = answer(
        tmp_path / "fills.json", api(px="1e999999"), api(tid=2, time=10**15), api(tid=3, sz="1e-999999")
    )
    result = telling_of(read, path)
    assert (result.events, len(result.faults)) == ([], 3)

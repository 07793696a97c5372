"""Uniswap v3: fees are what was collected less what decreases had set free, to the last unit."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.errors import InputError
from retro.ingest.sample import sample_of
from retro.ingest.uniswap.reader import read, sniff
from retro.ingest.uniswap.ticks import human_liquidity, is_full_range, pool_price, tick_price
from tests.worlds.commands import Retro, retro
from tests.worlds.logs.telling import Telling, telling_of
from tests.worlds.logs.uniswap import HEAD, LOWER, MANAGER, UPPER, write_dune, write_graph

__all__ = ["retro"]


def tell(*paths: Path) -> Telling:
    return telling_of(lambda paths, agent, zone, now: read(paths, agent=agent, now=now), *paths)


def flows(telling: Telling, kind: str) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for flow in telling.of("flow"):
        if flow["kind"] == kind:
            sums[flow["asset"]] = sums.get(flow["asset"], Decimal(0)) + Decimal(flow["quantity"])
    return sums


def test_a_life_of_a_position_out_of_events_with_fees_to_the_last_unit(tmp_path: Path) -> None:
    """WETH: 0.001000000000000001 claimed, 0.802 collected less 0.8 set free. USDC: 5, and 3,700.000001 less 3,700."""
    telling = tell(write_dune(tmp_path / "pool"))
    assert (telling.faults, telling.notices) == ([], [])
    (position,) = telling.of("position")
    assert (position["position"], position["kind"], position["instrument"]) == (
        "uni-base-7",
        "lp",
        "WETH/USDC",
    )
    assert position["funded_with"] == {"WETH": "1.000000000000000000", "USDC": "3000.000000"}
    assert [float(position[name]) for name in ("lower", "upper")] == pytest.approx(
        [1.0001**LOWER * 1e12, 1.0001**UPPER * 1e12]
    )
    assert Decimal(position["liquidity"]) == 1000, "10^15 units of the root of 10^18 and 10^6"
    assert flows(telling, "deposit") == {"WETH": 1, "USDC": 3000}
    assert flows(telling, "lp_fee") == {"WETH": Decimal("0.003000000000000001"), "USDC": Decimal("5.000001")}
    assert flows(telling, "withdrawal") == {
        "WETH": Decimal("0.803000000000000001"),
        "USDC": Decimal("3705.000001"),
    }
    assert telling.of("exit", "at") == ["2026-05-06T10:00:00.000053Z"]
    assert telling.base_currency == {"uniswap-v3": "USDC"}


@pytest.mark.parametrize(
    ("liquidity", "decimals", "human"),
    [(993522496634912801749467, (18, 18), "993522.4966349128"), (10**15, (18, 6), "1000"), (10**15, (9, 6), "31622776.60168379")],
)  # fmt: skip
def test_liquidity_is_the_root_of_both_quantities(
    liquidity: int, decimals: tuple[int, int], human: str
) -> None:
    assert human_liquidity(liquidity, decimals) == Decimal(human)


def test_snapshots_of_the_graph_tell_the_same_life(tmp_path: Path) -> None:
    events, answer = tell(write_dune(tmp_path / "pool")), tell(write_graph(tmp_path / "graph.json"))
    assert answer.faults == []
    for kind in ("deposit", "lp_fee", "withdrawal"):
        assert flows(answer, kind) == flows(events, kind)
    assert [at[:19] for at in answer.of("exit", "at")] == ["2026-05-06T10:00:00"]


def test_what_is_missing_is_a_fault_that_says_which_export_has_it(tmp_path: Path) -> None:
    (fault, *rest_of_life) = tell(write_dune(tmp_path / "a", with_ranges=False)).faults
    assert (
        "the range of position 7 is in no file; export the pool's Mint and PoolCreated events" in fault.reason
    )
    assert len(rest_of_life) == 3
    early = tell(write_dune(tmp_path / "b", with_early=False))
    assert early.of("position") == []
    assert all("was opened before the files begin" in fault.reason for fault in early.faults)


def test_a_token_that_nobody_names_has_a_notice_and_a_file_beside_names_it(tmp_path: Path) -> None:
    folder = write_dune(tmp_path / "pool")
    created = folder / "pool_created.csv"
    created.write_text(created.read_text().replace("0x833589fc", "0x99999999"))
    telling = tell(folder)
    assert "no file says its decimals, so 18 are taken" in telling.notices[0]
    (folder / "tokens.csv").write_text(
        "contract_address,symbol,decimals\n0x99999999d6edb6e08f4c7c32d4f71b54bda02913,XYZ,6\n"
    )
    telling = tell(folder)
    assert telling.notices == []
    assert flows(telling, "lp_fee")["XYZ"] == Decimal("5.000001")


def test_numbers_that_a_spreadsheet_rounded_are_refused_and_good_rows_count(tmp_path: Path) -> None:
    folder = write_dune(tmp_path / "pool")
    collect = folder / "collect.csv"
    collect.write_text(
        collect.read_text()
        + f"{MANAGER},0x04,0xme,{MANAGER},1,2026-05-07 10:00:00.000 UTC,200,1.2E+26,5,0xme,7\n"
        + f"{MANAGER},0x05,0xme,{MANAGER},1,2026-05-07 10:00:00,200,1,5,0xme,7\n"
        + f"{MANAGER},0x06,0xme,{MANAGER},1,2026-05-07 10:00:00.000 UTC,200,{'9' * 100},5,0xme,7\n"
        + f"{MANAGER},0x07,0xme"
    )
    telling = tell(folder)
    assert len(telling.of("exit")) == 1
    assert sorted(fault.line or 0 for fault in telling.faults) == [4, 5, 6, 7] or len(telling.faults) == 4


def test_files_that_hold_no_positions_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        InputError, match="there are no events of liquidity positions; export IncreaseLiquidity"
    ):
        tell(tmp_path)
    assert sniff(sample_of(tmp_path)) is None
    assert sniff(sample_of(write_dune(tmp_path / "pool"))) == "tables of liquidity positions"
    assert "The Graph" in (sniff(sample_of(write_graph(tmp_path / "g.json"))) or "")
    unnamed = tmp_path / "liquidity.csv"
    unnamed.write_text(f"{HEAD},amount0,amount1,liquidity,tokenId\n")
    assert sniff(sample_of(unnamed)) is None


def test_the_price_of_a_pool_is_in_its_amounts_inside_the_range_alone() -> None:
    """At a price of 2,500 (WETH in USDC), L = 10**15: the amounts by the formula give 2,500 back."""
    low, high, now = (float(tick_price(tick, (0, 0))) ** 0.5 for tick in (LOWER, UPPER, 0))
    root = (2_500 / 1e12) ** 0.5
    amounts = (int(1e15 * (1 / root - 1 / high)), int(1e15 * (root - low)))
    assert now == 1
    price = pool_price(10**15, amounts, (LOWER, UPPER), (18, 6))
    assert price is not None
    assert float(price) == pytest.approx(2_500, rel=1e-6)
    assert pool_price(10**15, (amounts[0], 0), (LOWER, UPPER), (18, 6)) is None
    assert is_full_range(-887_200, 887_200)
    assert not is_full_range(-200_400, 887_200)


@given(st.lists(st.tuples(st.integers(0, 10**27), st.integers(0, 10**27)), min_size=1, max_size=6))
def test_fees_are_collects_less_decreases_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[int, int]]
) -> None:
    """Everything is set free first and collected in parts, the last of which takes what is over as fees."""
    folder = write_dune(tmp_path_factory.mktemp("pool"))
    head = (folder / "collect.csv").read_text().splitlines()[0]
    lines = [
        f"{MANAGER},0x{number:064x},0xme,{MANAGER},60,2026-05-07 10:00:0{number}.000 UTC,{300 + number},{first},{second},0xme,7"
        for number, (first, second) in enumerate(parts)
    ]
    (folder / "collect.csv").write_text("\n".join([head, *lines]) + "\n")
    fees = flows(tell(folder), "lp_fee")
    for side, (symbol, decimals, principal) in enumerate(
        (("WETH", 18, 8 * 10**17), ("USDC", 6, 3_700_000_000))
    ):
        total = sum(part[side] for part in parts)
        earned = Decimal(max(0, total - principal)).scaleb(-decimals)
        assert abs(fees.get(symbol, Decimal(0)) - earned) <= Decimal(10) ** (len(str(total)) - decimals - 27)


def test_from_a_folder_to_a_review_and_a_second_reading_changes_nothing(tmp_path: Path, retro: Retro) -> None:
    folder = write_dune(tmp_path / "pool")
    command = ("--db", "r.db", "ingest", "uniswap-v3", folder, "--json")
    first, again = retro(*command), retro(*command)
    assert (first.code, again.code) == (0, 0), first.err
    assert (again.data["stored"], again.data["conflicts"]) == (0, 0)
    review = retro("--db", "r.db", "review", "weekly", "--at", "2026-05-06", "--json")
    assert review.code == 0, review.err
    assert review.data["base_currency"] == "USDC"

"""Exports of a pool and its positions as Dune and The Graph give them, of one small pool with WETH and USDC."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

MANAGER: Final = "0x03a520b32c04bf3beef7beb72e919cf822ed34f1"
POOL: Final = "0xd0b53d9277642d899df5c87a3966a349a798f224"
WETH: Final = "0x4200000000000000000000000000000000000006"
USDC: Final = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"

LOWER, UPPER = -200_400, -191_800
"""Ticks of 1,982.79 and 4,685.33 USDC a WETH: 1.0001 ** tick x 10 ** 12."""


def _line(contract: str, transaction: int, index: int, time: str, *cells: object) -> str:
    head = (contract, f"0x{transaction:064x}", "0xme", MANAGER, index, f"{time}.000 UTC", 100 + transaction)
    return ",".join(str(cell) for cell in (*head, *cells))


HEAD: Final = "contract_address,evt_tx_hash,evt_tx_from,evt_tx_to,evt_index,evt_block_time,evt_block_number"


def write_dune(folder: Path, *, with_ranges: bool = True, with_early: bool = True) -> Path:
    """Position 7: 1 WETH and 3,000 USDC in; a claim of fees; all out with principal of 0.8 and 3,700."""
    folder.mkdir(exist_ok=True)
    liquidity = 10**15
    rows = {
        "increase_liquidity.csv": (
            "amount0,amount1,liquidity,tokenId,amount0Desired,amount1Desired",
            [_line(MANAGER, 1, 40, "2026-05-04 10:00:00", 10**18, 3_000_000_000, liquidity, 7, 10**18, 3_000_000_000)] if with_early else [],
        ),
        "decrease_liquidity.csv": (
            "amount0,amount1,liquidity,tokenId,amount0Min,amount1Min",
            [_line(MANAGER, 3, 50, "2026-05-06 10:00:00", 8 * 10**17, 3_700_000_000, liquidity, 7, 0, 0)],
        ),
        "collect.csv": (
            "amount0,amount1,recipient,tokenId",
            [
                _line(MANAGER, 2, 9, "2026-05-05 10:00:00", 10**15 + 1, 5_000_000, "0xme", 7),
                _line(MANAGER, 3, 53, "2026-05-06 10:00:00", 8 * 10**17 + 2 * 10**15, 3_700_000_001, "0xme", 7),
            ],
        ),
    }  # fmt: skip
    if with_ranges:
        rows |= {
            "mint_events.csv": (
                "amount,amount0,amount1,owner,sender,tickLower,tickUpper",
                [_line(POOL, 1, 39, "2026-05-04 10:00:00", liquidity, 10**18, 3_000_000_000, MANAGER, MANAGER, LOWER, UPPER)],
            ),
            "pool_created.csv": (
                "fee,pool,tickSpacing,token0,token1",
                [_line("0xfactory", 0, 1, "2026-05-01 10:00:00", 500, POOL, 10, WETH, USDC)],
            ),
        }  # fmt: skip
    for name, (columns, lines) in rows.items():
        (folder / name).write_text("\n".join((f"{HEAD},{columns}", *lines)) + "\n")
    return folder


def write_graph(path: Path) -> Path:
    """The same life as positions and snapshots, whose sums run on."""
    pair = {
        "token0": {"id": WETH, "symbol": "WETH", "decimals": "18"},
        "token1": {"id": USDC, "symbol": "USDC", "decimals": "6"},
    }
    snapshots: list[dict[str, Any]] = [
        snapshot(1_777_888_800, "1000000000000000", ("1", "3000"), ("0", "0"), ("0", "0")),
        snapshot(1_777_975_200, "1000000000000000", ("1", "3000"), ("0", "0"), ("0.001000000000000001", "5")),
        snapshot(1_778_061_600, "0", ("1", "3000"), ("0.8", "3700"), ("0.803000000000000001", "3705.000001")),
    ]
    position = {
        "id": "7", "depositedToken0": "1", "tickLower": {"tickIdx": str(LOWER)}, "tickUpper": {"tickIdx": str(UPPER)}, **pair,
    }  # fmt: skip
    path.write_text(json.dumps({"data": {"positions": [position], "positionSnapshots": snapshots}}))
    return path


def snapshot(
    at: int,
    liquidity: str,
    deposited: tuple[str, str],
    withdrawn: tuple[str, str],
    collected: tuple[str, str],
) -> dict[str, Any]:
    return {
        "id": f"7#{at}", "timestamp": str(at), "position": {"id": "7"}, "liquidity": liquidity,
        "transaction": {"id": f"0x{at:064x}"},
        "depositedToken0": deposited[0], "depositedToken1": deposited[1],
        "withdrawnToken0": withdrawn[0], "withdrawnToken1": withdrawn[1],
        "collectedToken0": collected[0], "collectedToken1": collected[1],
    }  # fmt: skip


def write_pool() -> None:
    """What the section in the docs reads, into the current folder."""
    write_dune(Path("pool_events"))

"""Episodes as an agent tells them to the command line, and the records of experiments that lie in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.commands import Retro

TRENDING, RANGING = {"regime": "trending", "atr_d1": 40.0}, {"regime": "ranging", "atr_d1": 20.0}


def episode(identity: str, day: int = 1, agent: str = "ada", **overrides: Any) -> dict[str, Any]:
    defaults = {
        "id": identity,
        "agent": agent,
        "at": f"2026-03-{day:02d}T12:00:00Z",
        "strategy": "breakout",
        "symbol": "ETH/USDC",
        "direction": "long",
        "pnl": 10.0,
        "pnl_r": 1.0,
        "held_for_s": 3600,
        "confidence": 0.6,
        "context": TRENDING,
    }
    return defaults | overrides


@pytest.fixture
def remembered(retro: Retro) -> Retro:
    """Four episodes of one agent."""
    rows = [
        episode("win"),
        episode("loss", 2, pnl=-20.0, pnl_r=-2.0),
        episode("other", 3, context=RANGING, symbol="SOL/USDC", strategy="range"),
        episode("skip", 4, direction="skip", pnl=None, pnl_r=None),
    ]
    Path("episodes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert retro("remember", "episodes.jsonl").code == 0
    return retro


def write_records(folder: Path) -> None:
    """Three experiments and two hypotheses."""
    (folder / "experiments").mkdir(parents=True)
    for number in range(3):
        (folder / "experiments" / f"exp_v15_{number}.yaml").write_text(
            f"id: exp_v15_{number}\ntimestamp: '2025-12-0{number + 1}'\nresults: {{test_accuracy: 0.5}}\nassessment: {{verdict: no_signal}}\n"
        )
    (folder / "hypotheses.yaml").write_text(
        "hypotheses:\n- {id: H_001, text: open one, status: untested}\n- {id: H_002, text: done one, status: refuted}\n"
    )

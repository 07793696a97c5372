"""Kin of an open position: how finished lives ended that began like it, with how many, and nothing made up."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from retro.app.questions.experience import Experience
from retro.app.questions.positions import stored_position
from retro.app.questions.screens.kin import kin_of
from retro.config import Config
from retro.store.database import open_store
from tests.worlds.commands import Retro, event, retro
from tests.worlds.lives import agent_of

__all__ = ["retro"]

RESULTS = (2.0, 4.0, -6.0, 8.0, 2.0)
SITUATION = {"regime": "trending"}


def opening(name: str, **fields: object) -> str:
    trade = {"position": name, "instrument": "ETH/USDC"}
    return (
        event("position", f"{name}-p", kind="spot", side="long", **trade)
        + event("decision", f"{name}-d", action="enter", position=name, **fields)
        + event("fill", f"{name}-b", side="buy", quantity="1", price="100", **trade)
    )


def test_the_mean_of_lives_like_it_with_its_interval_and_a_reason_where_there_is_none(retro: Retro) -> None:
    """Mean 2, squares 0 + 4 + 64 + 36 + 0 over 4: 26; half an interval is 2.776445 x sqrt(26 / 5)."""
    Path("life.jsonl").write_text(opening("open", context=SITUATION) + opening("mute"))
    episodes = [
        {"id": f"e{i}", "agent": "ada", "at": f"2026-02-0{i + 1}T10:00:00Z", "pnl": pnl, "context": SITUATION}
        for i, pnl in enumerate(RESULTS)
    ]
    Path("episodes.jsonl").write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    assert retro("--db", "m.db", "ingest", "journal", "life.jsonl").code == 0
    assert retro("--db", "m.db", "remember", "episodes.jsonl").code == 0
    assert retro("--db", "m.db", "positions").code == 0  # settles
    store = open_store("m.db")
    agent, experience = agent_of(store, "ada"), Experience(store, Config())
    kin = kin_of(experience, stored_position(store, agent, "open"))
    assert (kin.n, kin.mean, kin.gained) == (5, 2.0, 4)
    assert sorted(life.pnl for life in kin.lives) == sorted(RESULTS)
    half = 2.776445 * (26 / 5) ** 0.5
    assert (kin.low, kin.high) == (pytest.approx(2 - half, abs=1e-5), pytest.approx(2 + half, abs=1e-5))
    shown = " ".join(retro("--db", "m.db", "review", "position", "open").out.split())
    assert "LIVES THAT BEGAN LIKE IT" in shown
    assert "Mean result +2.00 USDC" in shown
    mute = kin_of(experience, stored_position(store, agent, "mute"))
    assert (mute.n, mute.mean, mute.gained, mute.low) == (0, None, None, None)
    assert set(mute.reasons) == {"mean", "gained", "low", "high"}
    store.close()


def test_lives_are_chosen_by_how_they_began_and_not_by_how_they_ended(retro: Retro) -> None:
    """Ten that began alike and lost stand before ten that began nearly so and gained."""
    Path("life.jsonl").write_text(opening("open", context=SITUATION | {"session": "asia"}))
    episodes = [
        {
            "id": f"e{i}-{session}",
            "agent": "ada",
            "at": f"2026-02-{i + 1:02}T10:00:00Z",
            "pnl": pnl,
            "pnl_r": pnl / 100,
            "context": SITUATION | {"session": session},
        }
        for i in range(10)
        for session, pnl in (("asia", -500.0 - i), ("europe", 500.0 + i))
    ]
    Path("episodes.jsonl").write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    assert retro("--db", "m.db", "ingest", "journal", "life.jsonl").code == 0
    assert retro("--db", "m.db", "remember", "episodes.jsonl").code == 0
    assert retro("--db", "m.db", "positions").code == 0
    with closing(open_store("m.db")) as store:
        agent, experience = agent_of(store, "ada"), Experience(store, Config())
        kin = kin_of(experience, stored_position(store, agent, "open"))
    assert (kin.n, kin.gained) == (10, 0)
    assert {life.likeness for life in kin.lives} == {1.0}

"""What following a plan was worth: by the trades that followed it, and by what reviews say of the trades it skipped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from memory.errors import RefusedError
from memory.planning.plan import lock_plan
from memory.situation.context import LARGEST
from memory.store import intents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from memory.episodic.episode import Episode

TAG: Final = "plan:"
"""An episode tagged `plan:ID` followed that plan and scores it."""


def score_plan(
    conn: Connection,
    agent: str,
    identity: str,
    *,
    at: int,
    pnl_r: float | None = None,
    would_have_made: float | None = None,
    note: str | None = None,
) -> None:
    """Score a plan by hand: the R of a trade that followed it, or what a trade it skipped would have made.

    Skipping was worth the negative of `would_have_made`. Raises `MissingError` without such a plan.
    """
    for name, value in (("pnl_r", pnl_r), ("would_have_made", would_have_made)):
        if value is not None and not abs(value) <= LARGEST:
            raise RefusedError(f"{name}: must be finite")
    lock_plan(conn, agent, identity)
    worth = None if would_have_made is None else -would_have_made
    document = json.dumps({"pnl_r": pnl_r, "vs_inaction": worth, "note": note})
    intents.happen(conn, agent, [(identity, at, "scored", document)])


def credit(
    conn: Connection,
    agent: str,
    episodes: Iterable[Episode],
    *,
    at: int | None = None,
    vs_inaction: float | None = None,
    review: str | None = None,
) -> None:
    """Score the plans that these episodes' tags name: by their R when told, by `vs_inaction` when reviewed.

    `at` is when the score was known (default: each episode's own instant). The caller holds the agent's lock.
    """
    tagged = [
        (tag.removeprefix(TAG), episode)
        for episode in episodes
        for tag in episode.tags
        if tag.startswith(TAG)
    ]
    rows = []
    for name in dict.fromkeys(name for name, _ in tagged):
        if intents.plan(conn, agent, name) is None:
            continue
        for episode in (episode for plan, episode in tagged if plan == name):
            score: dict[str, Any] = {"episode": episode.id}
            if review is not None:
                score |= {"vs_inaction": vs_inaction, "review": review}
            else:
                score |= {"pnl_r": episode.pnl_r, "pnl": episode.pnl}
            rows.append((name, episode.at if at is None else at, "scored", json.dumps(score)))
    if rows:
        intents.happen(conn, agent, rows)

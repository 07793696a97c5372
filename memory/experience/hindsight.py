"""What a review does to the memory of the decision it judged: re-tagging, boosts and somatic markers.

The episode stays as it was told. A retrospective is a row of its own, and each field it changes leaves an amendment
row with old value, new value, review and reason; what an episode looks like as of an instant is computed from the
newest retrospective known by then. Source: docs/memory.md, Formulas: Hindsight.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from memory.episodic import cache
from memory.episodic.columns import FOREVER
from memory.episodic.episode import Episode, from_document, json_values, sane
from memory.episodic.factors import BOOST
from memory.errors import MissingError, RefusedError
from memory.instants import written
from memory.planning.score import credit
from memory.situation.context import LARGEST
from memory.store import ledger
from memory.store.ledger import Judged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

Unit = Literal["usd", "r", "bps"]

HARM: Final = 1.0
"""Beyond this much against inaction, either way, a decision is re-tagged."""
CORRECTED: Final = -0.3
"""The valence of a decision that felt good and was not."""
FELT: Final = 0.3
"""How a gain (+) or a loss (-) felt when nobody said."""
REVERSAL: Final = "retrospective_reversal"
VINDICATED: Final = "retrospective_vindicated"


@dataclass(frozen=True, slots=True)
class Retrospective:
    """What one review found out about one episode; figures in `unit` (money, R or basis points of notional)."""

    review: str
    at: int
    vs_inaction: float | None = None
    regret: float | None = None
    pnl: float | None = None
    unit: Unit = "usd"
    peak_context: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FieldAmendment:
    """One field that a retrospective changed."""

    episode: str
    field: str
    old: Any
    new: Any
    review: str
    at: int
    reason: str


def felt(episode: Episode) -> float | None:
    """The valence stated at the time, else a mild one with the outcome's sign, else None."""
    if episode.valence is not None:
        return episode.valence
    if episode.result is None:
        return None
    return math.copysign(FELT, episode.result) if episode.result else 0.0


def amended(episode: Episode, retrospective: Retrospective | None) -> dict[str, Any]:
    """The fields of an episode that hindsight may change, as they stand with this retrospective (None: as told)."""
    valence, tags = felt(episode), list(episode.tags)
    if retrospective is None:
        return {
            "valence": valence,
            "tags": tags,
            "provenance": "immediate",
            "retrospective_pnl": None,
            "retrospective_vs_inaction": None,
            "retrospective_regret": None,
            "retrieval_boost": 1.0,
        }
    tag = _verdict(valence, retrospective.vs_inaction)
    if tag is not None and tag not in tags:
        tags.append(tag)
    return {
        "valence": CORRECTED if tag == REVERSAL else valence,
        "tags": tags,
        "provenance": "retrospective",
        "retrospective_pnl": retrospective.pnl,
        "retrospective_vs_inaction": retrospective.vs_inaction,
        "retrospective_regret": retrospective.regret,
        "retrieval_boost": BOOST,
    }


def _verdict(valence: float | None, vs_inaction: float | None) -> str | None:
    if valence is None or vs_inaction is None:
        return None
    if vs_inaction < -HARM and valence > 0:
        return REVERSAL
    if vs_inaction > HARM and valence < 0:
        return VINDICATED
    return None


def remembered(episode: Episode, retrospective: Retrospective | None) -> dict[str, Any]:
    """The episode as a reader sees it, hindsight applied."""
    return json_values(episode) | amended(episode, retrospective)


def amend(
    conn: Connection,
    agent: str,
    episode: str,
    found: Retrospective,
) -> tuple[FieldAmendment, ...]:
    """Apply what a review found out to the memory of its decision; the amendments made, none when told before.

    Raises `MissingError` without such an episode and `RefusedError` for a figure that is not finite. The newest retrospective
    by `at` counts; the same figures from the same review at the same instant change nothing.
    """
    retrospective = _checked(found)
    number = ledger.number_of(conn, agent, episode)
    if number is None:
        raise MissingError(f"agent {agent} has no episode {episode}")
    now = ledger.lock(conn, agent)
    original = from_document(ledger.numbered(conn, agent, [number])[number])
    history = [retrospective_of(row) for row in ledger.judgements(conn, agent, [number])]
    if retrospective in history:
        return ()
    before, after = _newest(history), _newest([*history, retrospective])
    changes = [
        {
            "field": name,
            "old": json.dumps(old),
            "new": json.dumps(new),
            "reason": _reason(name, retrospective, original),
        }
        for (name, old), (_, new) in zip(
            sorted(amended(original, before).items()), sorted(amended(original, after).items()), strict=True
        )
        if old != new
    ]
    judged = Judged(
        now.retrospectives, number, retrospective.at, retrospective.review, json.dumps(asdict(retrospective))
    )
    then = ledger.judge(conn, agent, now, judged, changes)
    cache.seal_judged(conn, agent, then)
    credit(
        conn,
        agent,
        [original],
        at=retrospective.at,
        vs_inaction=retrospective.vs_inaction,
        review=retrospective.review,
    )
    return tuple(
        _amendment(change | {"review": retrospective.review, "at": retrospective.at}, episode)
        for change in changes
    )


def _checked(retrospective: Retrospective) -> Retrospective:
    written(retrospective.at)
    for name in ("vs_inaction", "regret", "pnl"):
        value = getattr(retrospective, name)
        if value is not None and not abs(value) <= LARGEST:
            raise RefusedError(f"{name}: must be finite")
    if retrospective.unit not in get_args(Unit):
        raise RefusedError(f"unit: must be one of {', '.join(get_args(Unit))}")
    if not retrospective.review:
        raise RefusedError("a retrospective names its review")
    return replace(retrospective, peak_context=sane("peak_context", retrospective.peak_context))


def retrospective_of(row: Judged) -> Retrospective:
    """The retrospective a row of the ledger holds."""
    return Retrospective(**json.loads(row.document))


def _newest(history: Sequence[Retrospective]) -> Retrospective | None:
    """The one with the latest `at`; among equals the one told last."""
    return max(enumerate(history), key=lambda pair: (pair[1].at, pair[0]))[1] if history else None


def _reason(name: str, retrospective: Retrospective, episode: Episode) -> str:
    if name == "retrieval_boost":
        return "the whole consequence is known now"
    if name in ("valence", "tags"):
        against = (
            "not known"
            if retrospective.vs_inaction is None
            else f"{retrospective.vs_inaction:g} {retrospective.unit}"
        )
        return f"vs_inaction is {against}; it had felt like {felt(episode)}"
    return "what the review computed"


def _amendment(row: Mapping[str, Any], episode: str) -> FieldAmendment:
    return FieldAmendment(
        episode=episode,
        field=row["field"],
        old=json.loads(row["old"]),
        new=json.loads(row["new"]),
        review=row["review"],
        at=row["at"],
        reason=row["reason"],
    )


def amendments(conn: Connection, agent: str, episode: str) -> tuple[FieldAmendment, ...]:
    """The history of an episode's amendments, oldest first."""
    number = ledger.number_of(conn, agent, episode)
    if number is None:
        raise MissingError(f"agent {agent} has no episode {episode}")
    return tuple(_amendment(row, episode) for row in ledger.changes(conn, agent, number))


def retrospectives(
    conn: Connection, agent: str, numbers: Sequence[int], as_of: int
) -> dict[int, Retrospective]:
    """The newest retrospective of each of these episodes (by ledger number) known at `as_of`."""
    newest: dict[int, Retrospective] = {}
    for row in ledger.judgements(conn, agent, numbers):  # oldest first: the newest stays
        if row.at <= as_of:
            newest[row.episode] = retrospective_of(row)
    return newest


def known_episodes(
    conn: Connection, agent: str, ids: Sequence[str]
) -> dict[str, tuple[Episode, Retrospective | None]]:
    """Those of these episodes that were told, as they were told, each with the newest retrospective on it."""
    numbers = ledger.numbers_of(conn, agent, ids)
    texts = ledger.numbered(conn, agent, list(numbers.values()))
    newest = retrospectives(conn, agent, list(numbers.values()), FOREVER)
    return {name: (from_document(texts[number]), newest.get(number)) for name, number in numbers.items()}


def find_episode(conn: Connection, agent: str, identity: str, *, as_of: int | None = None) -> dict[str, Any]:
    """One episode as it stands (as of an instant), with the history of its amendments."""
    number = ledger.number_of(conn, agent, identity)
    if number is None:
        raise MissingError(f"agent {agent} has no episode {identity}")
    original = from_document(ledger.numbered(conn, agent, [number])[number])
    limit = as_of if as_of is not None else FOREVER
    retrospective = retrospectives(conn, agent, [number], limit).get(number)
    history = [row for row in amendments(conn, agent, identity) if row.at <= limit]
    return remembered(original, retrospective) | {"amendments": history, "original_valence": original.valence}

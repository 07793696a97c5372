"""Beliefs: propositions with validity conditions and a Beta posterior, as functions of the ledger.

An episode is evidence when it meets the conditions and has an outcome; it counts once, with unit weight, whatever its
size. Sums of R are kept apart, because a win probability is not an expectancy.
Source: docs/memory.md, Formulas: Beliefs.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from memory.episodic import cache
from memory.episodic.episode import from_document, sane
from memory.episodic.results import results_of
from memory.errors import ConflictError, RefusedError
from memory.insight.evidence import ACTION, Claim, Mask, confirmed, decided, mask
from memory.insight.induction import Induction, base_rates, e_value, inductions
from memory.instants import written
from memory.settings import STANDARD, Settings
from memory.situation.predicate import conditions_of, fields_of, predicate, predicate_document
from memory.store import intents, ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from memory.episodic.columns import EpisodeColumns
    from memory.situation.context import Codes, Floats, Registry

_CERTAIN: Final = 1.96
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Seed:
    """A belief as somebody stated it; `alpha` and `beta` are its prior."""

    id: str
    agent: str
    at: int
    proposition: str
    conditions: dict[str, Any]
    claim: Claim = "wins"
    alpha: float = 2.0
    beta: float = 1.0


@dataclass(frozen=True, slots=True)
class Belief:
    """A belief as of an instant.

    `probability` = alpha / (alpha + beta) that the claim holds, `uncertainty` its variance; `mean_r` with its 95 %
    interval comes from the outcomes in R. `in_sample` evidence is what an induced belief was made of;
    `confirmed_after` and `contradicted_after` count what came later. `base_rate` is the share won of all the agent's
    decided outcomes, within [.01, .99], and `e_value` speaks against this belief's outcomes being won no oftener and no
    less often than that: 10 is "10 to 1". `patterns` is how many an induced belief was chosen from. Shares are of 1.
    """

    id: str
    agent: str
    at: int
    proposition: str
    conditions: dict[str, Any]
    domain: dict[str, str | None]
    claim: Claim
    source: Literal["induced", "seeded"]
    alpha: float
    beta: float
    probability: float
    uncertainty: float
    evidence: int
    in_sample: int
    confirmed_after: int
    contradicted_after: int
    base_rate: float | None
    e_value: float | None
    patterns: int | None
    sum_r: float
    mean_r: float | None
    mean_r_interval: tuple[float, float] | None
    last_evidence_at: int | None
    last_confirmed: str | None
    last_contradicted: str | None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """How often it wins or loses by its outcomes and prior; nothing of being right."""
        outcomes = f"{self.evidence} outcome{'' if self.evidence == 1 else 's'}"
        return f"{self.claim} {self.probability:.0%} of the time by {outcomes}"


@dataclass(frozen=True, slots=True)
class _Grown:
    """A belief before ids are looked up: places in the columns stand for episodes."""

    seed: Seed
    source: Literal["induced", "seeded"]
    places: Codes
    confirmed: Mask
    in_sample: int
    patterns: int | None


def seed_belief(conn: Connection, seed: Seed, *, registry: Registry = STANDARD.registry) -> Seed:
    """Store a belief; the same one again is no change, another one under its id a `ConflictError`.

    Its conditions may ask about registered context fields, strategy, symbol and direction, and must ask something.
    Episodes known from `seed.at` on are its evidence.
    """
    conditions = predicate(seed.conditions)
    unknown = sorted(fields_of(conditions) - {item.name for item in registry.fields} - set(ACTION))
    if unknown:
        raise RefusedError(f"conditions: not a registered context field: {', '.join(unknown)}")
    if not seed.proposition.strip() or len(seed.proposition) > _LONGEST:
        raise RefusedError(f"proposition: must be 1 to {_LONGEST} characters")
    if seed.claim not in ("wins", "loses"):
        raise RefusedError("claim: must be wins or loses")
    if not (0 < seed.alpha < 1e6 and 0 < seed.beta < 1e6):
        raise RefusedError("alpha and beta must be above 0")
    written(seed.at)
    text = json.dumps(
        sane("belief", asdict(seed) | {"conditions": predicate_document(conditions)}), sort_keys=True
    )
    ledger.lock(conn, seed.agent)
    stored_text = intents.belief(conn, seed.agent, seed.id)
    if stored_text is None:
        intents.seed(conn, seed.agent, seed.id, seed.at, text)
    elif stored_text != text:
        raise ConflictError(f"agent {seed.agent} has another belief {seed.id}")
    return seed


def beliefs(
    conn: Connection, agent: str, *, as_of: int | None = None, settings: Settings = STANDARD
) -> tuple[Belief, ...]:
    """Every belief of the agent with the evidence known at `as_of` (default: all), most probable first."""
    columns = cache.columns(conn, agent, settings.registry)
    n = len(columns) if as_of is None else columns.until(as_of)
    seeds = [Seed(**json.loads(text)) for text in intents.seeded(conn, agent, as_of)]
    grown = [*[_seeded(seed, columns, n, settings.registry) for seed in seeds]]
    outcomes = np.flatnonzero(decided(results_of(columns)[:n]))
    rates = base_rates(results_of(columns)[outcomes] > 0)
    base_rate = float(rates[-1]) if len(rates) else None
    grown += [
        _induced(conn, agent, induction, columns)
        for induction in inductions(columns, outcomes, rates, settings.registry)
    ]
    ends = sorted(
        {int(columns.number[place]) for belief in grown for place in _ends(belief) if place is not None}
    )
    ids = ledger.identities(conn, agent, ends)
    posteriors = [_belief(belief, columns, ids, base_rate) for belief in grown]
    return tuple(sorted(posteriors, key=lambda belief: (-belief.probability, -belief.evidence, belief.id)))


def _seeded(seed: Seed, columns: EpisodeColumns, n: int, registry: Registry) -> _Grown:
    start = int(np.searchsorted(columns.at, seed.at, side="left"))
    results = results_of(columns)[:n]
    meets = mask(predicate(seed.conditions), columns, n, registry) & decided(results)
    places = np.flatnonzero(meets[start:]) + min(start, n)
    return _Grown(seed, "seeded", places, confirmed(results[places], seed.claim), 0, None)


def _induced(conn: Connection, agent: str, induction: Induction, columns: EpisodeColumns) -> _Grown:
    """A pattern as the belief it became; prior Beta(1, 1)."""
    members, field_name = induction.members, induction.field
    place = int(members[induction.first - 1])
    number = int(columns.number[place])
    episode = from_document(ledger.numbered(conn, agent, [number])[number])
    value = episode.context[field_name]
    often = "more often" if induction.claim == "wins" else "less often"
    seed = Seed(
        id=f"{episode.strategy}/{field_name}={value}",
        agent=agent,
        at=int(columns.at[place]),
        proposition=(
            f"{episode.strategy} wins {often} than {agent}'s trades do on average when {field_name} is {value}"
        ),
        conditions={
            "all": [
                {"field": "strategy", "op": "==", "value": episode.strategy},
                {"field": field_name, "op": "==", "value": value},
            ]
        },
        claim=induction.claim,
        alpha=1.0,
        beta=1.0,
    )
    bears_out = confirmed(results_of(columns)[members], induction.claim)
    return _Grown(seed, "induced", members, bears_out, induction.first, induction.patterns)


def _ends(grown: _Grown) -> tuple[int | None, int | None]:
    """The places of the last episode that confirmed and of the last that contradicted."""
    yes, no = grown.places[grown.confirmed], grown.places[~grown.confirmed]
    return (int(yes[-1]) if len(yes) else None), (int(no[-1]) if len(no) else None)


def domain_of(conditions: Mapping[str, Any]) -> dict[str, str | None]:
    """The strategy, symbol and regime a belief is about; None: all of them."""
    parsed = predicate(conditions)
    asked = conditions_of(parsed) if parsed.every else []
    equalities = {item.field: str(item.value) for item in asked if item.op == "=="}
    return {name: equalities.get(name) for name in ("strategy", "symbol", "regime")}


def _belief(
    grown: _Grown, columns: EpisodeColumns, ids: Mapping[int, str], base_rate: float | None
) -> Belief:
    seed, n = grown.seed, len(grown.places)
    wins = int(np.count_nonzero(grown.confirmed))
    after = grown.confirmed[grown.in_sample :]
    alpha, beta = seed.alpha + wins, seed.beta + (n - wins)
    r = columns.r[grown.places]
    r = r[~np.isnan(r)]
    mean, interval = _expectancy(r)
    yes, no = (None if place is None else ids[int(columns.number[place])] for place in _ends(grown))
    reasons = {}
    if mean is None:
        reasons["mean_r"] = "no evidence has an outcome in R"
    if interval is None:
        reasons["mean_r_interval"] = "fewer than two outcomes in R"
    e = None
    if base_rate is None:
        reasons["base_rate"] = "no trade of the agent has won or lost yet"
    if n and base_rate is not None:
        won = wins if seed.claim == "wins" else n - wins
        e = e_value(won, n - won, base_rate)
    else:
        reasons["e_value"] = "no evidence yet"
    if grown.patterns is None:
        reasons["patterns"] = "it was stated, not chosen among patterns"
    return Belief(
        id=seed.id,
        agent=seed.agent,
        at=seed.at,
        proposition=seed.proposition,
        conditions=seed.conditions,
        domain=domain_of(seed.conditions),
        claim=seed.claim,
        source=grown.source,
        alpha=alpha,
        beta=beta,
        probability=alpha / (alpha + beta),
        uncertainty=alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1.0)),
        evidence=n,
        in_sample=grown.in_sample,
        confirmed_after=int(np.count_nonzero(after)),
        contradicted_after=int(len(after) - np.count_nonzero(after)),
        base_rate=base_rate,
        e_value=e,
        patterns=grown.patterns,
        sum_r=math.fsum(r.tolist()),
        mean_r=mean,
        mean_r_interval=interval,
        last_evidence_at=int(columns.at[grown.places[-1]]) if n else None,
        last_confirmed=yes,
        last_contradicted=no,
        reasons=reasons,
    )


def _expectancy(r: Floats) -> tuple[float | None, tuple[float, float] | None]:
    """(mean, 95 % interval by the normal approximation) of outcomes in R."""
    if not len(r):
        return None, None
    mean = math.fsum(r.tolist()) / len(r)
    if len(r) < 2:
        return mean, None
    half = _CERTAIN * float(np.std(r, ddof=1)) / math.sqrt(len(r))
    return mean, (mean - half, mean + half)

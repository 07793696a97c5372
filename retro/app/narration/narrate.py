"""Words for a review: the plain ones always, a model's where it may and can; figures are not touched.

A review never waits for a model longer than it was told to and never fails with it: whatever goes wrong, the plain
words stand, `narrative` says why, and what was spent is in the ledger.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from playbook import to_json
from retro.app.proposals.selection import allowed
from retro.errors import ConfigError, ModelAwayError, StoreError
from retro.kinds import KINDS, POSITION
from retro.narrate import plain
from retro.narrate.candidates import candidates
from retro.narrate.client import Reply
from retro.narrate.subject import position_subject, report_subject
from retro.narrate.write import Extracted, ModelSession, NarrationResult, extract, write
from retro.periods import day_of, format_instant, midnight, zone
from retro.report import Narrative
from retro.secret import MODEL_KEY, find_secret
from retro.store import proposals, spend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from playbook import Amendment, Playbook
    from retro.config import Config
    from retro.narrate.prices import Usage
    from retro.narrate.subject import Subject
    from retro.report import PositionRetrospective, RetrospectiveReport
    from retro.secret import Secret
    from retro.store.database import Store

__all__ = ["extracted", "model_exchanges", "narrated", "narrated_position", "tier_of"]

_NOBODY: Final = "-"
_NO_LEDGER: Final = "the spend ledger could not be written, and without it no model is asked"


def tier_of(config: Config, kind: str) -> str:
    """The tier that words a kind of review: epochs and deaths have their own, T0 is no model."""
    review = config.retrospective
    return review.epoch_inference_tier if KINDS[kind].epoch_tier else review.review_inference_tier


def narrated(
    store: Store,
    config: Config,
    env: Mapping[str, str],
    report: RetrospectiveReport,
    now: int,
    *,
    playbook: Playbook | None = None,
    resume: bool = False,
    patient: bool = False,
    beat: Callable[[], None] = lambda: None,
) -> RetrospectiveReport:
    """The report with a model's words, or with the plain ones and why. `now` is when it is asked.

    `resume` uses an answer that was paid for and not stored, so that a review taken up again is not paid twice.
    `patient`: `ModelAwayError` instead of plain words where the model may answer a little later.
    """
    plain_report = plain.words(report)
    case = _NarrationJob(store, report.agent, report.id, report.revision, now, resume, beat)
    written = _asked(config, env, case, tier_of(config, report.horizon), lambda: report_subject(plain_report))
    _wait_for_model(written, patient=patient)
    if written.words is None:
        return plain_report.model_copy(update={"narrative": _narrative(written)})
    words = written.words
    positions = [
        p
        if p.position_id not in words.positions
        else p.model_copy(
            update=dict(zip(("what_went_wrong", "lesson"), words.positions[p.position_id], strict=True))
        )
        for p in plain_report.positions
    ]
    proposed = [
        *plain_report.playbook_proposals,
        *map(to_json, _candidates(store, plain_report, words.candidates, playbook)),
    ]
    update = {"positions": positions, "playbook_proposals": proposed, "narrative": _narrative(written)}
    return plain_report.model_copy(update={**words.fields, **update})


def _candidates(
    store: Store, report: RetrospectiveReport, wordings: Mapping[str, str], playbook: Playbook | None
) -> list[Amendment]:
    """What the model's wordings propose, without what the owner has said no to, under numbers nobody was told of."""
    with store.read() as conn:
        ledger = proposals.stored(conn, report.agent)
    numbered = [proposal.amendment.new for proposal in ledger]
    return allowed(candidates(report, wordings, playbook, numbered=numbered), ledger)


def narrated_position(
    store: Store,
    config: Config,
    env: Mapping[str, str],
    position: PositionRetrospective,
    now: int,
    *,
    currency: str = "",
    review: str | None = None,
    revision: int = 1,
    resume: bool = False,
    patient: bool = False,
    beat: Callable[[], None] = lambda: None,
) -> tuple[PositionRetrospective, Narrative]:
    """The position with a model's words, or with the plain ones; and who wrote them, for which it has no field.

    `review` is the id its exchanges are kept under; `resume` and `patient` as of `narrated`.
    """
    worded_position = plain.position_words(position, currency=currency)
    review = review or f"{position.agent}.position.{position.position_id}"
    case = _NarrationJob(store, position.agent, review, revision, now, resume, beat)
    zone_name = config.owner.time_zone
    written = _asked(
        config,
        env,
        case,
        tier_of(config, POSITION.name),
        lambda: position_subject(worded_position, currency, zone_name),
    )
    _wait_for_model(written, patient=patient)
    if written.words is not None:
        worded_position = worded_position.model_copy(update=dict(written.words.fields))
    return worded_position, _narrative(written)


def _wait_for_model(written: NarrationResult, *, patient: bool) -> None:
    if patient and written.words is None and written.passing:
        raise ModelAwayError(written.why)


def model_exchanges(store: Store, review: str, revision: int | None = None) -> list[dict[str, Any]]:
    """Every exchange with a model about a review: the exact request, the answer as it came, prompt, cost, outcome."""
    with store.read() as conn:
        exchanges = spend.exchanges(conn, review, revision)
    return [
        {
            "at": format_instant(exchange.at),
            "revision": exchange.revision,
            "model": exchange.model,
            "prompt": exchange.prompt,
            "cost": float(exchange.worst if exchange.cost is None else exchange.cost),
            "cost_is_known": exchange.cost is not None,
            "status": exchange.status,
            "outcome": exchange.outcome,
            "request_id": exchange.request_id,
            "request": json.loads(exchange.request),
            "answer": exchange.answer,
        }
        for exchange in exchanges
    ]


@dataclass(frozen=True, slots=True)
class _NarrationJob:
    """Which review is to be worded, where its costs are booked, and when."""

    store: Store
    agent: str
    review: str
    revision: int
    now: int
    resume: bool
    beat: Callable[[], None]


def extracted(
    store: Callable[[], Store],
    config: Config,
    env: Mapping[str, str],
    prompt: str,
    schema: dict[str, Any],
    *,
    version: str,
    subject: str,
    now: int,
    agent: str = _NOBODY,
) -> Extracted:
    """A text read by the model that words weekly reviews, as it answered, or why not.

    It is booked under `subject` and its agent; the store is opened only when a model is asked.
    """
    tier = config.retrospective.review_inference_tier  # an assessment is worded as a review is
    key, why = _key(config, env, tier)
    if key is None:
        return Extracted("", why=why)
    case = _NarrationJob(store(), agent, subject, 1, now, resume=False, beat=lambda: None)
    try:
        return extract(prompt, schema, version, _desk(config, case, tier, key))
    except StoreError:
        return Extracted("", why=_NO_LEDGER)


def _desk(config: Config, case: _NarrationJob, tier: str, key: Secret) -> ModelSession:
    llm = config.llm
    model = llm.t2_model if tier == "T2" else llm.t1_model
    purse = _SpendLedger(case, tier, model, _caps(config, case.now))
    return ModelSession(
        model, day_of(case.now, zone("UTC")), key, llm.base_url, llm.timeout_s, purse, case.beat
    )


def _asked(
    config: Config, env: Mapping[str, str], case: _NarrationJob, tier: str, subject: Callable[[], Subject]
) -> NarrationResult:
    """Ask the model of a tier, if there is one that may be asked."""
    key, why = _key(config, env, tier)
    if key is None:
        return NarrationResult("", why=why)
    try:
        desk = _desk(config, case, tier, key)
        return write(subject(), f"{case.review} {case.revision}", desk)
    except StoreError:
        return NarrationResult("", why=_NO_LEDGER)


def _key(config: Config, env: Mapping[str, str], tier: str) -> tuple[Secret | None, str]:
    """The key, or why no model is asked."""
    if config.llm.enabled is False:
        return None, "no model was asked: switched off in the configuration ([llm] enabled = false)"
    if tier == "T0":
        return None, "no model was asked: the tier of this kind of review is T0"
    try:
        key = find_secret(MODEL_KEY, env)
    except ConfigError as error:
        return None, f"no model was asked: {error}"
    return key, "" if key is not None else f"no model was asked: there is no key ({MODEL_KEY})"


def _caps(config: Config, now: int) -> spend.Caps:
    """The caps, by the owner's calendar."""
    tz = zone(config.owner.time_zone)
    today = day_of(now, tz)
    return spend.Caps(
        review=Decimal(str(config.llm.max_usd_per_review)),
        a_day=Decimal(str(config.llm.max_usd_per_day)),
        a_month=Decimal(str(config.llm.max_usd_per_month)),
        day=midnight(today, tz),
        month=midnight(today.replace(day=1), tz),
    )


@dataclass(frozen=True, slots=True)
class _SpendLedger:
    """The purse of one review: every step its own transaction."""

    case: _NarrationJob
    tier: str
    model: str
    caps: spend.Caps

    def reserve(self, request: dict[str, Any], worst: Decimal, prompt: str) -> int | str:
        """Set the worst cost aside; the request is kept with it."""
        case, text = self.case, _exact(request)
        order = spend.Order(
            agent=case.agent,
            review=case.review,
            revision=case.revision,
            at=case.now,
            tier=self.tier,
            model=self.model,
            worst=worst,
            digest=_digest(text),
            prompt=prompt,
            request=text,
        )
        with case.store.write() as conn:
            return spend.reserve(conn, order, self.caps)

    def settle(
        self, receipt: int, reply: Reply, usage: Usage | None, cost: Decimal | None, outcome: str
    ) -> None:
        """Book what it cost, and keep the answer."""
        tokens = None
        if usage is not None:
            written = usage.cache_write_5m + usage.cache_write_1h
            tokens = spend.Tokens(usage.input, usage.cache_read, written, usage.output)
        with self.case.store.write() as conn:
            spend.settle(
                conn,
                receipt,
                cost=cost,
                tokens=tokens,
                answer=reply.body,
                status=reply.status,
                outcome=outcome,
                request_id=reply.request_id,
            )

    def reusable_answer(self, request: dict[str, Any]) -> tuple[Reply, Decimal] | None:
        """The answer a process before us paid for."""
        if not self.case.resume:
            return None
        case = self.case
        with case.store.read() as conn:
            exchange = spend.answered(conn, case.review, case.revision, _digest(_exact(request)))
        if exchange is None or exchange.answer is None or exchange.cost is None:
            return None
        return Reply(exchange.answer, exchange.status, request_id=exchange.request_id), exchange.cost


def _exact(request: dict[str, Any]) -> str:
    return json.dumps(request, ensure_ascii=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _narrative(written: NarrationResult) -> Narrative:
    return Narrative(
        source="plain" if written.words is None else "model",
        model=written.model or None,
        cost=None if written.cost is None else float(written.cost),
        why=written.why,
        prompt=written.prompt,
    )

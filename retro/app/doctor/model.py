"""Can a model word the reviews: the key, the models and their prices, the caps, and what was spent so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.errors import ConfigError
from retro.narrate.client import model_state
from retro.narrate.prices import known_models, price_of
from retro.narrate.prompt import MAX_TOKENS
from retro.periods import day_of, midnight, zone
from retro.secret import MODEL_KEY, find_secret
from retro.store import spend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.doctor.check import Check, Installation
    from retro.secret import Secret

__all__ = ["CHECKS", "model", "spending"]

_PATIENCE_S: Final = 5.0
_USUAL_PROMPT: Final = 12_000  # tokens, rather too many: what a weekly review's request is bounded by


def model(house: Installation) -> Iterator[Check]:
    """The key, then every model in use: has it a price, does the service know it, will it stay."""
    llm = house.config.llm
    try:
        key = find_secret(MODEL_KEY, house.env)
    except ConfigError as error:
        yield broken("model", str(error))
        return
    if llm.enabled is False:
        yield note("model", "switched off ([llm] enabled = false): reviews have plain words")
        return
    if key is None and llm.enabled:
        yield broken(
            "model", f"[llm] enabled = true, but there is no key: set {MODEL_KEY}, or remove the line"
        )
        return
    if key is None:
        yield note("model", f"no key ({MODEL_KEY}): reviews have plain words")
        return
    yield ok("model", f"the key comes from {key.origin}")
    for name, tiers in _in_use(house).items():
        yield _price(house, name, tiers)
        yield from _state(house, name, key)


def _in_use(house: Installation) -> dict[str, list[str]]:
    """Model -> the tiers it stands for, of those that any review uses."""
    review, llm = house.config.retrospective, house.config.llm
    used = {review.review_inference_tier, review.epoch_inference_tier}
    models: dict[str, list[str]] = {}
    for tier, name in (("T1", llm.t1_model), ("T2", llm.t2_model)):
        if tier in used:
            models.setdefault(name, []).append(tier)
    return models


def _price(house: Installation, name: str, tiers: list[str]) -> Check:
    price = price_of(name, day_of(house.now, zone("UTC")))
    label = f"{name} ({' and '.join(tiers)})"
    if price is None:
        return broken(
            "model", f"{label}: no price is known, so it is never asked; known: {', '.join(known_models())}"
        )
    worst = price.worst(_USUAL_PROMPT, MAX_TOKENS)
    cap = min(house.config.llm.max_usd_per_review, house.config.llm.max_usd_per_day)
    if worst > cap:
        return broken(
            "model", f"{label}: one call may need {worst:.3f} USD, more than a cap of {cap:g} allows"
        )
    return ok("model", f"{label}: one call costs {worst:.3f} USD at the very most")


def _state(house: Installation, name: str, key: Secret) -> Iterator[Check]:
    """What the service says of a model, when it can be reached."""
    reply, entry = model_state(name, key, house.config.llm.base_url, _PATIENCE_S)
    if reply.status in {401, 403}:
        yield broken("model", f"{name}: the service does not accept the key ({reply.status})")
    elif reply.status == 404:
        yield broken("model", f"{name}: the service does not know it (or base_url is wrong)")
    elif not entry:
        yield note("model", f"{name}: the service was not reached, so whether it exists is not known")
    elif entry.get("lifecycle") == "retired":
        yield broken("model", f"{name}: retired; choose another one in [llm]")
    elif entry.get("lifecycle") == "deprecated":
        when = str(entry.get("retires_at") or "a day not yet told")[:20]
        yield note("model", f"{name}: deprecated, retires on {when}; choose another one in [llm]")
    else:
        yield ok("model", f"{name}: the service has it")


def spending(house: Installation) -> Iterator[Check]:
    """What words cost this month, against the cap."""
    if house.store is None:
        return
    tz = zone(house.config.owner.time_zone)
    month = midnight(day_of(house.now, tz).replace(day=1), tz)
    with house.store.read() as conn:
        spent = spend.spent(conn, month)
    cap = house.config.llm.max_usd_per_month
    summary = f"{spent.usd:.4f} of {cap:g} USD this month, by {spent.calls:,} calls"
    if float(spent.usd) >= 0.9 * cap > 0:
        yield note("spending", f"{summary}; beyond the cap plain words stand in")
    elif spent.calls:
        yield ok("spending", summary)


CHECKS: Final = (
    Examination("model", model),
    Examination("spending", spending),
)
"""The examinations of this room, in order."""

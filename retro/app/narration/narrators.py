"""Who words the reviews of the service: a model where it is wanted and can be asked, else code; history is code's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.narration.narrate import narrated, narrated_position, tier_of
from retro.errors import ConfigError
from retro.kinds import KINDS
from retro.narrate.plain import position_words, words
from retro.narrate.testament import testament
from retro.report import RetrospectiveReport
from retro.secret import MODEL_KEY, find_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from retro.app.context import Words
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.report.document import Document
    from retro.store.database import Store
    from retro.store.jobs.reviews import Review

__all__ = ["is_worded", "plain_words", "words_of"]

_TRIES: Final = 3
_LONGEST_WAIT_S: Final = 3600.0


def plain_words(review: Review, document: Document, settings: AgentSettings) -> tuple[Document, bool]:
    """The words that code writes; no model was asked."""
    if not isinstance(document, RetrospectiveReport):
        return position_words(document, currency=settings.base_currency), False
    report = words(document)
    return (testament(report) if KINDS[review.kind].scope == "life" else report), False


def words_of(
    store: Store, config: Config, env: Mapping[str, str], clock: Callable[[], int], beat: Callable[[], None]
) -> Words:
    """How this configuration words reviews. An answer that was paid for before a crash is used, not asked again.

    A model that is away is asked at three knocks, `ModelAwayError` at each but the last, unless two knocks take more
    than an hour: then the plain words stand at once, so that no letter is later than its figures by more.
    """
    prompt_service = 2 * config.service.knock_seconds <= _LONGEST_WAIT_S

    def worded(review: Review, document: Document, settings: AgentSettings) -> tuple[Document, bool]:
        if review.backfill or not is_worded(config, env, review.kind):
            return plain_words(review, document, settings)
        now, patient = clock(), prompt_service and review.attempts < _TRIES
        if not isinstance(document, RetrospectiveReport):
            position, narrative = narrated_position(
                store,
                config,
                env,
                document,
                now,
                currency=settings.base_currency,
                review=review.id,
                revision=review.revision,
                resume=True,
                patient=patient,
                beat=beat,
            )
            return position, narrative.source == "model"
        report = narrated(
            store,
            config,
            env,
            document,
            now,
            playbook=settings.playbook,
            resume=True,
            patient=patient,
            beat=beat,
        )
        report = testament(report) if KINDS[review.kind].scope == "life" else report
        return report, report.narrative.source == "model"

    return worded


def is_worded(config: Config, env: Mapping[str, str], kind: str) -> bool:
    """Whether a model should be asked for the words of a kind; one that is wanted and has no key is, so that the review says why it was not."""
    if config.llm.enabled is False or tier_of(config, kind) == "T0":
        return False
    if config.llm.enabled:
        return True
    try:
        return find_secret(MODEL_KEY, env) is not None
    except ConfigError:
        return True

"""How decisions turned out, beside what they cited and which episodes they had recalled, of a book that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.episodic.episode import from_document
from memory.errors import DamagedError
from memory.store import ledger
from retro.evaluate.meta.progress import WeighedDecision
from retro.evaluate.position.foresight import cites_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memory.episodic.episode import Episode
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.claims.signals import DecisionSignal

__all__ = ["weighed"]


def weighed(book: SettledBook, signals: Sequence[DecisionSignal]) -> list[WeighedDecision]:
    """Decisions that turned out, in the same order.

    An item of its context that is the id of an episode was recalled, if the episode was known when it was decided.
    """
    items = {item for each in signals for item in each.decision.context_items or ()}
    episodes = _episodes(book, items) if items else {}  # most agents name nothing
    return [_weighed(each, episodes) for each in signals]


def _weighed(each: DecisionSignal, episodes: Mapping[str, Episode]) -> WeighedDecision:
    recalled = [
        episode.result > 0
        for item in dict.fromkeys(each.decision.context_items or ())
        if (episode := episodes.get(item)) is not None and episode.at < each.decision.at and episode.result
    ]
    return WeighedDecision(
        each.resolved_at,
        each.signal,
        cites=bool(cites_of(each.decision)),
        recalled=len(recalled) if each.signal else 0,
        agreed=sum(won == (each.signal > 0) for won in recalled) if each.signal else 0,
    )


def _episodes(book: SettledBook, ids: Iterable[str]) -> dict[str, Episode]:
    episodes = {}
    for identity, text in ledger.documents_of(book.conn, book.name, sorted(ids)).items():
        try:
            episodes[identity] = from_document(text)
        except DamagedError:  # `retro doctor` names it
            continue
    return episodes

"""What an agent asks about its own claims, as the documents that MCP and Python answer with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.app.questions.evaluators import claims, dreams, drift, whatif
from retro.app.questions.experience import facts_and_settings
from retro.app.reviews.drift import ComparedAgent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel

    from retro.app.questions.evaluators.drift import DriftQuestion
    from retro.app.questions.evaluators.whatif import WhatIfQuestion
    from retro.app.questions.experience import Experience, MemoryQuestion

__all__ = [
    "confidence_document",
    "correction_document",
    "drift_document",
    "replay_documents",
    "replayed_document",
    "report_document",
    "what_if_document",
]

Document = dict[str, Any]


def correction_document(
    experience: Experience, question: MemoryQuestion, predicted: float, category: str, regime: str | None
) -> Document:
    """What to make of a forecast, as `retro predictions correct --json` prints it."""
    return claims.corrected(_asked(experience, question), predicted, category, regime).model_dump(mode="json")


def confidence_document(
    experience: Experience, question: MemoryQuestion, confidence: float, category: str, regime: str | None
) -> Document:
    """What a stated confidence is worth, as `retro calibration of --json` prints it."""
    answer = claims.calibrated(_asked(experience, question), confidence, category, regime)
    return answer.model_dump(mode="json")


def report_document(experience: Experience, question: MemoryQuestion) -> dict[str, list[Document]]:
    """How far off forecasts, forecasts of whole positions and stated confidence were: three lists of rows."""
    asked = _asked(experience, question)
    return {
        "predictions": _rows(claims.forecasts(asked)),
        "hindsight": _rows(claims.hindsight(asked)),
        "calibration": _rows(claims.calibration(asked, asked.settings.ece_alarm)),
    }


def what_if_document(experience: Experience, agent: str, question: WhatIfQuestion) -> Document:
    """The past with one rule changed, as `retro whatif --json` prints it."""
    record, settings = facts_and_settings(experience, agent)
    return whatif.replayed(experience.store, record.name, settings, question).model_dump(mode="json")


def drift_document(
    experience: Experience, live: str, backtest: str | None, question: DriftQuestion
) -> Document:
    """Why live was not the backtest, as `retro drift --json` prints it; without a name the configured backtest."""
    ours, settings = facts_and_settings(experience, live)
    name = drift.backtest_of(settings, ours.name, backtest)
    sides = ComparedAgent(ours, settings), ComparedAgent(*facts_and_settings(experience, name))
    return drift.drift(experience.store, *sides, question).model_dump(mode="json")


def replay_documents(experience: Experience, question: MemoryQuestion, limit: int) -> list[Document]:
    """What is most worth going through again, as `retro dreams --json` prints it."""
    record, settings = facts_and_settings(experience, question.agent)
    asked = dreams.DreamQuestion(experience.store, record.name, settings, limit, question.as_of)
    return _rows(dreams.dreams(asked))


def replayed_document(experience: Experience, agent: str, position: str, at: int) -> Document:
    """Note a replay at an instant of the clock, as `retro dreams done --json` says it."""
    record, settings = facts_and_settings(experience, agent)
    replays = dreams.mark_replayed(experience.store, record.name, settings, position, at)
    return {"agent": record.name, "position": position, "replays": replays}


def _asked(experience: Experience, question: MemoryQuestion) -> claims.ClaimQuestion:
    record, settings = facts_and_settings(experience, question.agent)
    return claims.ClaimQuestion(experience.store, record.name, settings, question.as_of)


def _rows(answers: Iterable[BaseModel]) -> list[Document]:
    return [answer.model_dump(mode="json") for answer in answers]

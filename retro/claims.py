"""An agent's own claims for Python: what to make of the next one, what past ones were worth, what if, and why live was not the backtest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from retro.app.questions.experience import MemoryQuestion, stated_instant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from retro.app.questions.experience import Experience

__all__ = ["ClaimAnswers"]


class ClaimAnswers:
    """The evaluators, under the names of the tools of `retro mcp`."""

    experience: Experience

    def correct_prediction(
        self,
        category: str,
        predicted: float,
        agent: str | None = None,
        *,
        regime: str | None = None,
        as_of: str | datetime | None = None,
    ) -> dict[str, Any]:
        """What to make of a forecast, as `retro predictions correct --json` prints it."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  loaded by who asks for it

        question = self._claims_of(agent, as_of)
        return documents.correction_document(self.experience, question, predicted, category, regime)

    def calibrate_confidence(
        self,
        category: str,
        confidence: float,
        agent: str | None = None,
        *,
        regime: str | None = None,
        as_of: str | datetime | None = None,
    ) -> dict[str, Any]:
        """What a stated confidence is worth, as `retro calibration of --json` prints it."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  as above

        question = self._claims_of(agent, as_of)
        return documents.confidence_document(self.experience, question, confidence, category, regime)

    def get_prediction_report(
        self, agent: str | None = None, *, as_of: str | datetime | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """How far off forecasts and stated confidence were: `predictions`, `hindsight` and `calibration`."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  as above

        return documents.report_document(self.experience, self._claims_of(agent, as_of))

    def what_if(
        self,
        rules: Sequence[str] = (),
        agent: str | None = None,
        *,
        grid: bool = False,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        slippage_bps: float = 0.0,
        as_of: str | datetime | None = None,
    ) -> dict[str, Any]:
        """The past with one rule changed, as `retro whatif --json` prints it."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  as above
        from retro.app.questions.evaluators.whatif import WhatIfQuestion  # noqa: PLC0415  as above

        question = WhatIfQuestion(
            rules=rules,
            grid=grid,
            start=stated_instant(start),
            end=stated_instant(end),
            slippage_bps=slippage_bps,
            as_of=stated_instant(as_of),
        )
        return documents.what_if_document(self.experience, self.experience.agent(agent), question)

    def get_drift(
        self,
        agent: str | None = None,
        backtest: str | None = None,
        *,
        within: float = 3.0,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        slots: int | None = None,
        as_of: str | datetime | None = None,
    ) -> dict[str, Any]:
        """Why live was not the backtest, as `retro drift --json` prints it; `backtest`: the configured one."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  as above
        from retro.app.questions.evaluators.drift import DriftQuestion  # noqa: PLC0415  as above

        question = DriftQuestion(
            within=within,
            start=stated_instant(start),
            end=stated_instant(end),
            slots=slots,
            as_of=stated_instant(as_of),
        )
        return documents.drift_document(self.experience, self.experience.agent(agent), backtest, question)

    def get_replay_queue(
        self, agent: str | None = None, *, n: int = 50, as_of: str | datetime | None = None
    ) -> list[dict[str, Any]]:
        """What is most worth going through again, as `retro dreams --json` prints it."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  as above

        return documents.replay_documents(self.experience, self._claims_of(agent, as_of), n)

    def mark_replayed(self, position: str, agent: str | None = None) -> dict[str, Any]:
        """Note that a position was gone through once more, as `retro dreams done` does; each call counts."""
        from retro.app.questions.evaluators import documents  # noqa: PLC0415  as above

        name, now = self.experience.agent(agent), time.time_ns() // 1000
        return documents.replayed_document(self.experience, name, position, now)

    def _claims_of(self, agent: str | None, as_of: str | datetime | None) -> MemoryQuestion:
        return MemoryQuestion(agent=self.experience.agent(agent), as_of=stated_instant(as_of))

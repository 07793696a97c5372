"""Tools about an agent's own claims: what past ones were worth, what if, and what to go through again."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from retro.app.questions.evaluators import documents
from retro.app.questions.evaluators.drift import DriftQuestion
from retro.app.questions.evaluators.whatif import WhatIfQuestion
from retro.surface.mcp.size import brief, fitted, page
from retro.surface.mcp.subjects.parameters import (
    Agent,
    AsOf,
    Cursor,
    Desk,
    Detail,
    Document,
    clock,
    instant_of,
)

__all__ = ["EvaluatorTools"]

_MOST_RULES: Final = 24
_LONGEST: Final = 120
_LONGEST_NAME: Final = 1000

Category = Annotated[str, Field(description="the category that your predictions state", max_length=_LONGEST)]
Regime = Annotated[
    str | None, Field(description="the regime; default: all of the category", max_length=_LONGEST)
]
Rule = Annotated[str, Field(max_length=_LONGEST)]


class EvaluatorTools(Desk):
    """The claims of an agent, and its past with a rule changed."""

    def correct_prediction(
        self,
        category: Category,
        predicted: Annotated[float, Field(description="what you forecast", allow_inf_nan=False)],
        regime: Regime = None,
        agent: Agent = None,
        as_of: AsOf = None,
    ) -> Document:
        """What to make of a forecast by what past ones of its kind missed by: centre and interval, with n."""
        question = self.question(agent, as_of)
        return documents.correction_document(self.experience, question, predicted, category, regime)

    def calibrate_confidence(
        self,
        category: Category,
        confidence: Annotated[float, Field(description="what you would state", ge=0, le=1)],
        regime: Regime = None,
        agent: Agent = None,
        as_of: AsOf = None,
    ) -> Document:
        """What your 0.8 is worth: the share of such claims that came true, with n."""
        question = self.question(agent, as_of)
        return documents.confidence_document(self.experience, question, confidence, category, regime)

    def get_prediction_report(
        self, agent: Agent = None, as_of: AsOf = None, cursor: Cursor = 0, detail: Detail = False
    ) -> Document:
        """How far off forecasts were (predictions; of whole positions: hindsight), and what stated confidence was worth."""
        rows = documents.report_document(self.experience, self.question(agent, as_of))
        if detail:
            return {**rows}
        named = [{"about": about, **row} for about, of_one in rows.items() for row in of_one]
        return page("rows", named, cursor, shorten=_row)

    def what_if(
        self,
        rules: Annotated[
            list[Rule],
            Field(
                description='such as ["stop -3%", "take 2R", "exit-after 48h", "without H-7", "size-cap 500"]',
                max_length=_MOST_RULES,
            ),
        ] = [],  # noqa: B006  a tool's default is read, never written
        grid: Annotated[bool, Field(description="the standard search of 24 ways to leave")] = False,
        start: Annotated[str | None, Field(description="RFC 3339; positions entered from then on")] = None,
        end: Annotated[str | None, Field(description="RFC 3339; positions entered before")] = None,
        slippage_bps: Annotated[
            float, Field(description="what leaving earlier would have cost besides", ge=0, le=10_000)
        ] = 0.0,
        agent: Agent = None,
        as_of: AsOf = None,
        detail: Detail = False,
    ) -> Document:
        """Your own positions with one rule changed. Hindsight: it proposes nothing; several rules are one search."""
        question = WhatIfQuestion(
            rules=rules,
            grid=grid,
            start=instant_of(start, "start"),
            end=instant_of(end, "end"),
            slippage_bps=slippage_bps,
            as_of=instant_of(as_of),
            with_rows=detail,
        )
        report = documents.what_if_document(self.experience, self.experience.agent(agent), question)
        if detail:
            return report
        for rule in report["rules"]:
            rule.pop("rows", None)
        report["rules"].sort(key=lambda rule: -rule["difference"])
        return fitted(lambda items, characters: brief(report, items, characters))

    def get_drift(
        self,
        within: Annotated[
            float, Field(description="candles between two entries that may be one trade", gt=0, le=1000)
        ] = 3.0,
        start: Annotated[str | None, Field(description="RFC 3339; trades entered from then on")] = None,
        end: Annotated[str | None, Field(description="RFC 3339; trades entered before")] = None,
        agent: Agent = None,
        as_of: AsOf = None,
        detail: Detail = False,
    ) -> Document:
        """Why your live trades were not those of your configured backtest: the difference line by line, and causes."""
        question = DriftQuestion(
            within=within,
            start=instant_of(start, "start"),
            end=instant_of(end, "end"),
            as_of=instant_of(as_of),
        )
        report = documents.drift_document(self.experience, self.experience.agent(agent), None, question)
        if detail:
            return report
        report["pairs"].sort(key=lambda pair: -abs(pair["difference"]))
        report["unmatched"].sort(key=lambda trade: -abs(trade["pnl"]))
        return fitted(lambda items, characters: brief(report, items, characters))

    def get_replay_queue(
        self,
        n: Annotated[int, Field(description="at most so many", ge=1, le=500)] = 50,
        agent: Agent = None,
        as_of: AsOf = None,
        cursor: Cursor = 0,
        detail: Detail = False,
    ) -> Document:
        """Which of your positions are most worth going through again: those that turned out otherwise than they began."""
        queue = documents.replay_documents(self.experience, self.question(agent, as_of), n)
        return {"queue": queue} if detail else page("queue", queue, cursor)

    def mark_replayed(
        self,
        position: Annotated[str, Field(description="as get_replay_queue names it", max_length=_LONGEST_NAME)],
        agent: Agent = None,
    ) -> Document:
        """Note that you went through a position once more: it counts 0.85 as much in the queue from now on."""
        return documents.replayed_document(self.experience, self.experience.agent(agent), position, clock())


def _row(row: Document) -> Document:
    """A row without what only a drawing needs."""
    return {name: value for name, value in row.items() if name not in {"bins", "curve"}}

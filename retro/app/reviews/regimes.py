"""The `regimes` part of a review: which regime each position was entered in, and what was made in which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.app.settlement.price_lines import MarkReach, load_marks
from retro.evaluate.regimes.analysis import regime_analysis
from retro.evaluate.regimes.labels import labels_from_marks, stated_labels
from retro.kinds import KINDS
from retro.model import Decision
from retro.periods import DAY, parse_instant
from retro.store.facts import events

if TYPE_CHECKING:
    from retro.accounting.prices import PriceLine
    from retro.app.reviews.window import Window
    from retro.app.settlement.book import SettledBook
    from retro.evaluate.inputs import Inputs
    from retro.report import PositionRetrospective, RegimeAnalysis, RetrospectiveReport

__all__ = ["regimes_of"]

_LOOK_BACK = 93 * DAY  # 90 days, and the marks that stood at their beginning


def regimes_of(
    book: SettledBook, window: Window, inputs: Inputs, report: RetrospectiveReport
) -> RegimeAnalysis | None:
    """What was made in which regime; None for kinds that do not say it, and where there is nothing to say.

    What is known of rules rests on a whole life, so its decisions are read; where none states a regime, also the marks
    before its entries, one instrument after the other.
    """
    period = window.period
    if not KINDS[period.horizon].weighs_regimes:
        return None
    rows = book.positions_known(window.known_until, opened_before=period.end)
    decisions = events.between(book.conn, book.name, book.agent.first_at or 0, window.until, types=[Decision])
    labels = stated_labels(rows, decisions)
    if labels is None:

        def marks_of(instrument: str, first: int, last: int) -> PriceLine:
            reach = MarkReach(first - _LOOK_BACK, last, last)
            return load_marks(book.life, book.settings, [instrument], reach).line(instrument)

        labels = labels_from_marks(rows, inputs.decisions, marks_of)
    closed = [position for position in report.positions if _is_counted(position, window)]
    until = min(period.end, window.known_until)
    return regime_analysis(closed, labels, inputs.history, book.settings.options.rules, period.start, until)


def _is_counted(position: PositionRetrospective, window: Window) -> bool:
    """Whether a position was closed in the period, is believed and knows what it made."""
    if position.open or not position.is_believed or position.final_pnl is None or position.exit_at is None:
        return False
    return window.period.start <= parse_instant(position.exit_at) < window.period.end

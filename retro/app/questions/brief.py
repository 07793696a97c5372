"""The section for an agent's next prompt, in brief: its rules and their evidence, its largest lessons, how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.experience.door import memory
from retro.app.questions.behaviour import state
from retro.app.questions.experience import MemoryQuestion
from retro.app.settlement.settings import base_currency_of
from retro.figures import count
from retro.periods import DAY, format_instant
from retro.store.facts import agents

# isort: split
from memory.records import brief
from memory.records.brief import LONGEST
from memory.records.prompt import printable_line

if TYPE_CHECKING:
    from memory import Lesson, State
    from retro.app.questions.experience import Experience
    from retro.app.questions.records import ExperimentHistory

__all__ = ["prompt_brief"]

_LESSONS: Final = 3
_NOISY_BELOW: Final = 30


def prompt_brief(
    history: ExperimentHistory,
    experience: Experience | None,
    *,
    as_of: int | None = None,
    longest: int = LONGEST,
) -> str:
    """The section of an agent's records, with what its memory adds; `experience` None: there is no database."""
    lessons: tuple[Lesson, ...] = ()
    currency, standing = "", ""
    if experience is not None and history.agent is not None:
        question = MemoryQuestion(agent=history.agent, as_of=as_of)
        with experience.reading() as conn:
            lessons = memory.lessons(conn, history.agent, as_of=as_of, limit=_LESSONS)
            row = agents.agent(conn, history.agent)
        currency = "" if row is None else base_currency_of(experience.config, row)
        standing = _standing(state(experience, question))
    return brief(
        history.experiments.records,
        history.hypotheses.records,
        n=len(history.experiments.records) if history.n is None else history.n,
        lessons=[_sentence(lesson, currency) for lesson in lessons],
        standing=standing,
        longest=longest,
    )


def _standing(state: State) -> str:
    """Drawdown and streak with what and how much they rest on; nothing of an agent that has not traded."""
    if not state.trades:
        return ""
    noisy = ", noisy" if state.trades < _NOISY_BELOW else ""
    trades = f"{count(state.trades, 'closed trade')}{noisy}"
    return f"{_drawdown(state)} ({trades}){_streak(state)}."


def _drawdown(state: State) -> str:
    """`Drawdown 9.9% of marked equity on 2026-04-06, 35 days from 2026-03-02`: of what, and of which day."""
    if state.drawdown is None or state.drawdown_at is None:
        return f"Drawdown unknown: {state.reasons['drawdown']}"
    words = f"Drawdown {state.drawdown:.1%} of {state.drawdown_basis}"
    at = format_instant(state.drawdown_at)[:10]
    if state.drawdown_start_at is None:
        return f"{words}, {at}"
    days = round((state.drawdown_at - state.drawdown_start_at) / DAY)
    noisy = ", noisy" if days < _NOISY_BELOW else ""
    return f"{words} on {at}, {count(days, 'day')} from {format_instant(state.drawdown_start_at)[:10]}{noisy}"


def _streak(state: State) -> str:
    n, verb = (
        (state.consecutive_losses, "lost") if state.consecutive_losses else (state.consecutive_wins, "won")
    )
    return f"; {count(n, 'trade')} in a row {verb}" if n > 1 else ""


def _sentence(lesson: Lesson, currency: str) -> str:
    """`t-2 long ETH/USDC, 2026-03-04: -61.00 USDC; 61.00 USDC worse than doing nothing; best exit 20.00 USDC better`."""
    unit = {"usd": currency, "r": "R", "bps": "bps"}[lesson.unit]
    # a long name is cut here: nothing that follows it ever is
    words = printable_line(
        " ".join(text for text in (lesson.episode, lesson.direction, lesson.symbol) if text), 60
    )
    parts = []
    if lesson.pnl is not None:
        parts.append(_amount(f"{lesson.pnl:+,.2f}", currency))
    if lesson.vs_inaction is not None and lesson.vs_inaction < 0:
        parts.append(f"{_amount(f'{-lesson.vs_inaction:,.2f}', unit)} worse than doing nothing")
    if lesson.regret:
        parts.append(f"best exit {_amount(f'{lesson.regret:,.2f}', unit)} better")
    return f"{words}, {format_instant(lesson.at)[:10]}: {'; '.join(parts)}"


def _amount(figure: str, unit: str) -> str:
    return f"{figure} {unit}" if unit else figure

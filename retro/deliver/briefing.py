"""What a message says, as data: what both parts of a mail and a chat's ten lines are written from. Pure.

Everything an agent wrote was cleaned here once: no control, bidi or invisible character, no address that a mail
program would turn into a link, nothing endless. Escaping is left to the parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from retro.figures import DASH, day_text, money_of, span
from retro.kinds import KINDS
from retro.present.page.answers import (
    LOST,
    HeadlineAnswer,
    answers_of_life,
    answers_of_loss,
    answers_of_position,
    answers_of_report,
)
from retro.present.page.audit import carried
from retro.present.page.blocks import Notes, PathChart, Prose, Table, tone_of
from retro.present.page.fleet import page_of_fleet
from retro.present.page.groups import instrument_label
from retro.present.page.labels import result_text
from retro.present.page.position import page_of_position
from retro.present.page.report import money_of_report, page_of_report
from retro.present.page.revision import Change, changes
from retro.report import RetrospectiveReport
from retro.safe import clean, plain_text, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from retro.deliver.channel import Message
    from retro.kinds import ReviewKind
    from retro.present.page.blocks import Block, Page, Section, Tone
    from retro.report import PositionRetrospective
    from retro.report.fleet import FleetReport
    from retro.report.form import Form

    Document = TypeVar("Document", bound=Form)

__all__ = ["Briefing", "Older", "briefing_of", "harmless", "sanitise"]

_CHANGES: Final = 8
_OLDER: Final = 60
_LONGEST: Final = 1200
_NOTICE: Final = 300
_IN_SHORT: Final = ("proposals", "words", "audit", "attribution", "positions", "predictions", "quality")
_IN_FULL: Final = (
    *("proposals", "words", "attribution", "audit", "days", "positions", "effectiveness", "risk"),
    *("breakdowns", "predictions", "tiers", "shadows", "learning", "drift", "costs", "quality"),
)
_ANSWERS: Final = {"life": answers_of_life, "action": answers_of_loss}
_ADDRESS: Final = re.compile(r"(?<=[A-Za-z]):(?=//)|(?<=\bwww)\.|(?<=\bmailto):", re.IGNORECASE)
_YEAR: Final = re.compile(r" \d{4}$")  # a review's name says it

_MARK: Final = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILE: Final = re.compile(f"({_MARK}{{2}}){_MARK}+")  # marks stacked so high that they cover other lines


@dataclass(frozen=True, slots=True)
class Older:
    """An older review in a digest, in a line: its id, what and when it is, and what it came to."""

    review_id: str
    name: str
    days: str
    result: str
    against_nothing: str
    decisions: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Briefing:
    """A review ready to be written as a message; `outcome` is what a subject line says of it."""

    agent: str
    review_id: str
    period: str
    kicker: str
    title: str
    subtitle: str
    result: str
    outcome: str
    why: str
    tone: Tone
    alarms: tuple[str, ...]
    notices: tuple[str, ...]
    answers: tuple[HeadlineAnswer, ...]
    revision: int
    changed: tuple[Change, ...]
    more_changed: int
    older: tuple[Older, ...]
    more_older: int
    sections: tuple[Section, ...]
    foot: tuple[str, ...]


class _Content(NamedTuple):
    """A page, the answers before it, and the keys of those of its sections that a message holds."""

    page: Page
    answers: tuple[HeadlineAnswer, ...]
    keys: Sequence[str]


def briefing_of(message: Message) -> Briefing:
    """What a message says."""
    if message.fleet is not None:
        return _briefing_of_fleet(harmless(message.fleet))
    kind, document = KINDS[message.kind], harmless(message.document)
    currencies = {agent: sanitise(currency, 20) for agent, currency in message.currencies.items()}
    currency = currencies.get(message.agent, "")
    page, answers, keys = _content(document, kind, currency)
    previous = message.previous
    differences = () if previous is None else changes(harmless(previous), document, currency)
    older = [
        _older(harmless(review), message.agent, currencies.get(review.agent, ""))
        for review in message.digest_of[-_OLDER:]
    ]
    head = page.headline
    return Briefing(
        agent=sanitise(message.agent),
        review_id=sanitise(message.review_id),
        period=sanitise(message.period_key) if kind.key_in_mail else "",
        kicker=f"{kind.title}, corrected" if message.revision > 1 else kind.title,
        title=head.title,
        subtitle=head.subtitle,
        result=head.result,
        outcome=_outcome(document, head.result, answers),
        why=head.why,
        tone=head.tone,
        alarms=head.alarms,
        notices=tuple(sanitise(notice, _NOTICE) for notice in message.notices),
        answers=answers,
        revision=message.revision,
        changed=differences[:_CHANGES],
        more_changed=max(0, len(differences) - _CHANGES),
        older=tuple(older),
        more_older=len(message.digest_of) - len(older),
        sections=tuple(_sections(page, keys)),
        foot=page.foot,
    )


def _briefing_of_fleet(report: FleetReport) -> Briefing:
    """All agents in one message: who wants a person stands before what the week came to."""
    page = page_of_fleet(report)
    head = page.headline
    wanting = f"{report.wanting:,} want you; " if report.wanting else ""
    return Briefing(
        agent=head.title,
        review_id="fleet",
        period=report.week or "",
        kicker="weekly",
        title=head.title,
        subtitle=head.subtitle,
        result=head.result,
        outcome=f"{wanting}{head.result[:1].lower()}{head.result[1:]}",
        why=head.why,
        tone=head.tone,
        alarms=head.alarms,
        notices=(),
        answers=tuple(HeadlineAnswer("more", fact.label, fact.value, fact.note) for fact in head.facts),
        revision=1,
        changed=(),
        more_changed=0,
        older=(),
        more_older=0,
        sections=page.sections,
        foot=page.foot,
    )


def _outcome(
    document: RetrospectiveReport | PositionRetrospective, result: str, answers: Sequence[HeadlineAnswer]
) -> str:
    """What it comes to in a few words: that the agent went silent, what was lost, or the result."""
    if isinstance(document, RetrospectiveReport) and document.silent_since is not None:
        return f"silent since {day_text(document.silent_since, document.time_zone)}"
    return next((answer.answer for answer in answers if answer.question == LOST), result)


def _content(
    document: RetrospectiveReport | PositionRetrospective, kind: ReviewKind, currency: str
) -> _Content:
    """The document as a page, and what of it a message holds; `currency` is that of a position, which does not say."""
    if isinstance(document, RetrospectiveReport):
        answers_of = _ANSWERS.get(kind.scope, answers_of_report)
        keys = _IN_SHORT if kind.brief else _IN_FULL
        return _Content(page_of_report(document), answers_of(document, money_of_report(document)), keys)
    amounts = (document.final_pnl, document.mfe, document.mae, document.period_pnl)
    money = money_of(currency, amounts)
    page = page_of_position(document, money)
    facts = (HeadlineAnswer("more", fact.label, fact.value, fact.note) for fact in page.headline.facts)
    answers = (*answers_of_position(document, money), *facts)
    return _Content(page, answers, tuple(section.key for section in page.sections))


def sanitise(text: str, longest: int = _LONGEST) -> str:
    """A stranger's text on one line: nothing invisible, nothing that becomes a link, at most so many characters."""
    line = _ADDRESS.sub(lambda match: f"{match[0]} ", _PILE.sub(r"\1", plain_text(text)))
    return shorten(line, longest)


def harmless(document: Document) -> Document:
    """The document with every text in it `sanitise`d."""
    cleaned = clean(document)
    fields = cleaned.model_dump(mode="json")
    sanitised = _sanitised(fields)
    return cleaned if sanitised == fields else cast("Document", type(document).model_validate(sanitised))


def _sanitised(value: Any) -> Any:
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, list):
        return [_sanitised(item) for item in value]
    if isinstance(value, dict):
        return {sanitise(key): _sanitised(item) for key, item in value.items()}
    return value


def _older(document: RetrospectiveReport | PositionRetrospective, agent: str, currency: str) -> Older:
    whose = f"{document.agent}: " if document.agent != agent else ""
    if not isinstance(document, RetrospectiveReport):
        money = money_of(currency, (document.final_pnl,))
        return Older(
            f"{document.agent}.position.{document.position_id}",
            f"{whose}Position {document.position_id}",
            instrument_label(document),
            result_text(document.final_pnl, money),
            money.change(document.vs_inaction),
            DASH,
            tone_of(document.final_pnl),
        )
    money = money_of_report(document)
    wanted = carried(document.heuristic_performance)
    return Older(
        document.id,
        f"{whose}{document.horizon.capitalize()} {document.id.rpartition('.')[2]}",
        _YEAR.sub("", span(document.period_start, document.period_end, document.time_zone, weekday=False)),
        result_text(document.result, money),
        document.open_positions.beside(document.effectiveness.sum_vs_inaction, money),
        f"{len(wanted)}",
        tone_of(document.result),
    )


def _sections(page: Page, keys: Sequence[str]) -> list[Section]:
    """The sections of a mail in its order, narrowed; of the small paths the best and the worst position's."""
    by_key = {section.key: section for section in page.sections}
    chosen = [by_key[key] for key in keys if key in by_key]
    small = [b for section in chosen for b in section.blocks if isinstance(b, PathChart) and b.small]
    ranked = sorted(small, key=lambda b: (b.position.period_pnl, b.position.position_id))
    extremes = (*ranked[:1], *ranked[-1:])
    return [
        replace(section, blocks=tuple(_narrowed(section, lambda block: block in extremes)))
        for section in chosen
    ]


def _narrowed(section: Section, is_extreme: Callable[[Block], bool]) -> Iterator[Block]:
    """Tables with fewer columns and without groups too small to compare, which no remark then speaks of."""
    for block in section.blocks:
        if isinstance(block, Table):
            yield _fewer(block)
        elif section.key == "breakdowns" and isinstance(block, Prose | Notes):
            continue
        elif not isinstance(block, PathChart) or not block.small or is_extreme(block):
            yield block


def _fewer(table: Table) -> Table:
    column_indices = [i for i, column in enumerate(table.columns) if column.spare <= 1]
    grouped = any(row.heads for row in table.rows)
    rows = [row for row in table.rows if not (grouped and row.faint)]
    return replace(
        table,
        columns=tuple(table.columns[i] for i in column_indices),
        rows=tuple(
            replace(row, cells=tuple(row.cells[i] for i in column_indices))
            for row, after in zip(rows, (*rows[1:], None), strict=True)
            if not row.heads or (after is not None and not after.heads)
        ),
        note="" if grouped else table.note,
    )

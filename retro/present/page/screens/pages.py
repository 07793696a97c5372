"""A list as a page of its own: what it is of, how many there are, the rows, or why there are none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retro.figures import count, interval, money_of
from retro.present.page.audit import audit_section
from retro.present.page.blocks import (
    FIRST_COMMANDS,
    NOBODY,
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    Table,
    TableRow,
    absence_page,
    page_of_blocks,
    tone_of,
)
from retro.present.page.report import money_of_report
from retro.present.page.screens.lists import (
    agents_table,
    audit_table,
    closed_figure,
    day_of_instant,
    letters_table,
    positions_table,
    reviews_table,
)
from retro.present.references import (
    MemoryReference,
    PositionReference,
    ReviewReference,
    RulesReference,
    ScreenReference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.present.page.blocks import Block, Tone
    from retro.present.page.revision import Change
    from retro.present.references import Reference
    from retro.report import HeuristicReport, RetrospectiveReport
    from retro.report.open_positions import PositionKin
    from retro.report.overviews import AgentOverview, LetterOverview, PositionOverview, ReviewOverview
    from retro.report.today import ClosedMoney

__all__ = [
    "agent_page",
    "agents_page",
    "audit_page",
    "choice_page",
    "confirmation_page",
    "differences_page",
    "findings_page",
    "letters_page",
    "positions_page",
    "reviews_page",
    "rules_page",
    "unreviewed_page",
    "with_kin",
]

_SILENT: Final = 20
_NONE_YET: Final = {
    "review": "No review yet: retro run --once makes what is due.",
    "position": "No position yet: the agent has told of none.",
}
_FINDING_TONES: Final[dict[str, Tone]] = {"ok": "up", "note": "warn", "broken": "down"}


def reviews_page(
    rows: Sequence[ReviewOverview], total: int, agent: str | None, state: str | None, every: int | None = None
) -> Page:
    """The ledger: reviews that are owed or made, `total` of them in all, of `every` one where they are narrowed."""
    whose = f"of {agent}" if agent else "of all agents"
    what = f"{whose}, {state}" if state else whose
    table = reviews_table(rows)
    blocks: tuple[Block, ...] = (table,) if rows else (_nothing(_none_so("review", total, every)),)
    return page_of_blocks("Reviews", "Reviews", what, _how_many(total, every, "review"), blocks, key="ledger")


def _how_many(total: int, every: int | None, noun: str) -> str:
    """How many there are; of a narrowed list, of how many."""
    return count(total, noun) if every is None or every == total else f"{total:,} of {count(every, noun)}"


def _none_so(noun: str, total: int, every: int | None) -> str:
    """Why a list is empty: there are none, none is so, or it was read to its end."""
    if total:
        return f"No {noun} follows here."
    if every:
        return f"None of {count(every, noun)} is so: type less, or something else."
    return _NONE_YET[noun]


def positions_page(
    rows: Sequence[PositionOverview],
    total: int,
    agent: str,
    currency: str,
    *,
    behind: bool,
    facts: int | None = None,
    every: int | None = None,
    made: ClosedMoney | None = None,
) -> Page:
    """An agent's positions, `total` in all, of `every` one where they are narrowed, and what the closed ones `made`.

    `behind`: the book does not know so many `facts` yet (None: other settings).
    """
    blocks: list[Block] = (
        [positions_table(rows, currency)] if rows else [_nothing(_none_so("position", total, every))]
    )
    if behind:
        unknown = "The book follows other settings"
        if facts is not None:
            unknown = f"{count(facts, 'fact')} came since the book was settled"
        blocks.append(Notes((f"{unknown}: the next knock, or retro positions, settles it.",)))
    number = _how_many(total, every, "position")
    page = page_of_blocks("Positions", agent, f"in {currency}, UTC", number, tuple(blocks))
    if made is None or not made.closed:
        return page
    return replace(page, headline=replace(page.headline, facts=(closed_figure(made),)))


def agents_page(rows: Sequence[AgentOverview]) -> Page:
    """All agents in the order given; those that are silent are named beneath, for no column has room for it."""
    blocks: list[Block] = [agents_table(rows)] if rows else [_nothing(NOBODY)]
    silent = [row.name for row in rows if row.silent_since is not None]
    if silent:
        blocks.append(Prose("Silent since the last event, and not reviewed until the next:"))
        blocks.append(Notes(tuple(silent[:_SILENT]), omitted=len(silent) - len(silent[:_SILENT])))
    return page_of_blocks("Agents", "Agents", "what is known of each", count(len(rows), "agent"), blocks)


def letters_page(
    rows: Sequence[LetterOverview], total: int, reasons: Sequence[str] = (), note: str = ""
) -> Page:
    """Messages to people and into files, `total` in all; `reasons` say why some are not there yet, or never will be."""
    blocks: list[Block] = [letters_table(rows, note)] if rows else [_nothing("No message follows here.")]
    if reasons:
        blocks.append(Notes(tuple(reasons)))
    return page_of_blocks(
        "Messages", "Messages", "to people, and into files", count(total, "message"), blocks
    )


def findings_page(findings: Sequence[tuple[str, str, str]]) -> Page:
    """What works and what does not: (state, name, detail) of each finding, the broken first."""
    ranked = sorted(findings, key=lambda finding: ("broken", "note", "ok").index(finding[0]))
    rows = tuple(Figure(name, state, detail, _FINDING_TONES[state]) for state, name, detail in ranked)
    subtitle = "what works, and what does not"
    return page_of_blocks(
        "Service", "Service", subtitle, _summary(findings), (FigureList(rows),), key="findings"
    )


def _summary(findings: Sequence[tuple[str, str, str]]) -> str:
    states = Counter(state for state, _, _ in findings)
    if states["broken"]:
        return f"{states['broken']} broken, {states['note']} to know, {states['ok']} in order"
    return "Everything works" + (f", {states['note']} to know" if states["note"] else "")


def differences_page(agent: str, before: str, after: str, changes: Sequence[Change]) -> Page:
    """What differs in a reader's eyes between two reviews of an agent, by their ids."""
    columns = (Column("What", right=False, cut=20), Column("Before", cut=12), Column("After", cut=12))
    table = Table(
        columns,
        tuple(
            TableRow((Cell(c.label, "strong", _leads(agent, c)), Cell(c.before), Cell(c.after)))
            for c in changes
        ),
    )
    rows = (
        Figure("Before", before, ref=ReviewReference(before)),
        Figure("After", after, ref=ReviewReference(after)),
    )
    blocks: tuple[Block, ...] = (FigureList(rows), table if changes else _nothing("No figure differs."))
    return page_of_blocks(
        "Difference", "Two reviews", "", count(len(changes), "figure"), blocks, key="differences"
    )


def _leads(agent: str, change: Change) -> Reference | None:
    return None if change.position is None else PositionReference(agent, change.position)


def agent_page(
    row: AgentOverview,
    reviews: Sequence[ReviewOverview],
    positions: Sequence[PositionOverview],
    summaries: Sequence[Section] = (),
) -> Page:
    """One agent: when it lived, `summaries` of its newest reviews, these and positions listed, and ways to all of them."""
    silent = row.silent_since is not None
    figures = (
        Figure(
            "Last event",
            day_of_instant(row.last_at),
            "silent since" if silent else "",
            "warn" if silent else "plain",
        ),
        Figure("First event", day_of_instant(row.first_at)),
        Figure(
            "Positions",
            f"{row.positions:,}",
            f"{row.open:,} open",
            ref=ScreenReference("positions", (("agent", row.name),)),
        ),
        Figure("Rules", "all", "as its newest week judged them", ref=RulesReference(row.name)),
        Figure("Memory", "all", "how it stands, habits, beliefs, plans", ref=MemoryReference(row.name)),
        Figure("Events", f"{row.events:,}", "facts and marks of its own"),
    )
    sections = (
        *summaries,
        Section("newest-reviews", "Newest reviews", (reviews_table(reviews),)) if reviews else None,
        Section("newest-positions", "Newest positions", (positions_table(positions, row.base_currency),))
        if positions
        else None,
    )
    number = count(row.positions, "position")
    return Page(
        Headline("Agent", row.name, row.base_currency, number, "", "plain", figures),
        tuple(section for section in sections if section is not None),
    )


def audit_page(agent: str, rows: Sequence[HeuristicReport], currency: str) -> Page:
    """The audit of a whole life: a line for each heuristic and role, in the order given."""
    table = audit_table(agent, rows, currency)
    return page_of_blocks(
        "Audit", agent, "what it cited, over its whole life", count(len(rows), "row"), (table,)
    )


def rules_page(report: RetrospectiveReport, review: str, total: int) -> Page:
    """What a review says of the rules that its report holds, of so many in all."""
    section = audit_section(report, money_of_report(report))
    shown = len(report.heuristic_performance)
    number = _how_many(shown, total, "verdict")
    figures = (Figure("From", review, ref=ReviewReference(review)),)
    return Page(
        Headline("Rules", report.agent, f"as {review} judged it", number, "", "plain", figures),
        (
            section
            or Section("audit", "Rules", (_nothing("No rule is so." if total else "It cites no rule."),)),
        ),
    )


def unreviewed_page(row: PositionOverview, currency: str, kin: PositionKin | None = None) -> Page:
    """A position that no review was made of yet: what the book knows, what makes one, and of an open one its kin."""
    table = positions_table([row], currency)
    why = "Still open" if row.open else "No review of it is made yet: the service makes it at its next knock"
    page = page_of_blocks("Position", row.name, row.agent, why, (table,))
    return page if kin is None else with_kin(page, kin, row.agent, currency)


def with_kin(page: Page, kin: PositionKin, agent: str, currency: str) -> Page:
    """The page of an open position with lives that began like it."""
    return replace(page, sections=(*page.sections, _kin(kin, agent, currency)))


def _kin(kin: PositionKin, agent: str, currency: str) -> Section:
    """How lives ended that began like it, with how many they are; what was, never a forecast."""
    if kin.mean is None or kin.gained is None:
        return Section("kin", "Lives that began like it", (_nothing(f"{kin.reasons['mean']}."),))
    money = money_of(currency, [kin.mean, *(life.pnl for life in kin.lives)])
    ends = "" if kin.low is None else f"95 % {interval(kin.low, kin.high)} {currency}"
    figures = (
        Figure("Mean result", money.change(kin.mean), ends or kin.reasons["low"], tone_of(kin.mean)),
        Figure("Gained", f"{kin.gained} of {kin.n}"),
    )
    columns = (
        Column("Position", right=False, cut=12),
        Column("Likeness", spare=1),
        Column(currency),
        Column("It ended", right=False, cut=12, spare=2),
    )
    rows = tuple(
        TableRow(
            (
                Cell(life.position, "strong", PositionReference(agent, life.position)),
                Cell(f"{life.likeness:.2f}"),
                Cell(money.signed(life.pnl), tone_of(life.pnl)),
                Cell(life.exit_reason or ""),
            )
        )
        for life in kin.lives
    )
    table = Table(columns, rows, note="What was, most like it first; no forecast of this one.")
    return Section("kin", "Lives that began like it", (FigureList(figures), table), f"n {kin.n}")


def choice_page(title: str, screen: str, agents: Sequence[str]) -> Page:
    """Which agent a screen is to be of: each is a way to its own."""
    if not agents:
        return absence_page(title, NOBODY, FIRST_COMMANDS)
    rows = tuple(
        TableRow((Cell(name, "strong", ScreenReference(screen, (("agent", name),))),)) for name in agents
    )
    table = Table((Column("Agent", right=False, cut=20),), rows)
    return page_of_blocks(
        title, title, "of which agent?", count(len(agents), "agent"), (table,), key="choice"
    )


def confirmation_page(act: str, subject: str, sentence: str) -> Page:
    """What an act would do to its subject, asked once more."""
    return Page(Headline("Sure?", act, subject, sentence.capitalize(), "", "plain"), ())


def _nothing(sentence: str) -> Notes:
    return Notes((sentence,), tone="faint")

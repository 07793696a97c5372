"""Today as a page: each line is a sentence with one way on, what is broken first, and an end that says it is one."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, date_text, duration, moment, money_of, percent, seconds_between
from retro.present.page.blocks import (
    FIRST_COMMANDS,
    Cell,
    Column,
    Day,
    Days,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    Prose,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.fleet import weeks_table
from retro.present.page.labels import ROLES, short_name
from retro.present.page.screens.lists import closed_figure, short_verdict
from retro.present.page.screens.ripening import ripening_table
from retro.present.references import (
    AgentReference,
    PositionReference,
    ReviewReference,
    RuleReference,
    ScreenReference,
)

if TYPE_CHECKING:
    from retro.present.page.blocks import Block, Tone
    from retro.present.references import Reference
    from retro.report.today import (
        Arrivals,
        LifeSign,
        MindChange,
        OwnerWish,
        ReversedLife,
        TodayReport,
    )

__all__ = ["page_of_today"]

_SIGNS: Final = {
    "agent": "Acted last",
    "marks": "Newest mark",
    "service": "Service",
    "source": "Source",
    "playbook": "Playbook",
}
_SIGN_TONES: Final[dict[str, Tone]] = {"broken": "down", "late": "warn", "well": "plain"}
_WISH_TONES: Final[dict[str, Tone]] = {"proposal": "plain", "silence": "warn", "ended": "warn"}


def page_of_today(report: TodayReport) -> Page:
    """The page of the morning."""
    sections = (
        _alive(report),
        _arrived(report),
        _wishes(report),
        _life(report),
        _minds(report),
        _ripening(report),
        _month(report),
        _agents(report),
    )
    return Page(
        headline=_headline(report),
        sections=tuple(section for section in sections if section is not None),
        foot=(_end(report),),
    )


def _headline(report: TodayReport) -> Headline:
    broken = [sign for sign in report.signs if sign.state == "broken"]
    wanted = len(report.wishes) + report.wishes_omitted
    result = (
        f"{count(wanted, 'thing')} want{'s' if wanted == 1 else ''} you" if wanted else "Nothing wants you"
    )
    if not report.agents:
        result = "No agent has told anything yet"
    at = moment(report.generated_at, report.time_zone)
    return Headline(
        kicker="Today",
        title=report.agent or count(report.agents, "agent"),
        subtitle=f"{at} {report.time_zone}",
        result=result,
        why=_last_act(report),
        tone="warn" if wanted else "plain",
        alarms=tuple(f"{_sign_text(sign, report)}. Mend it: {sign.mend}" for sign in broken),
    )


def _last_act(report: TodayReport) -> str:
    """Whoever acted last, in a sentence: a silent agent says so before any result."""
    sign = next((sign for sign in report.signs if sign.kind == "agent"), None)
    if sign is None or sign.at is None:
        return ""
    age = _age(sign.at, report)
    if sign.state == "late":
        return f"{short_name(sign.name)} has been silent for {age}."
    return f"{short_name(sign.name)} last acted {age} ago."


def _age(at: str, report: TodayReport) -> str:
    return duration(max(0.0, seconds_between(at, report.generated_at)))


def _sign_text(sign: LifeSign, report: TodayReport) -> str:
    name = short_name(sign.name)
    if sign.kind == "service":
        return (
            "The service has never run"
            if sign.at is None
            else f"The service last knocked {_age(sign.at, report)} ago"
        )
    if sign.at is None:
        return f"{name}: {sign.reasons.get('at', '')}"
    return f"{name}: {_age(sign.at, report)} ago"


def _alive(report: TodayReport) -> Section | None:
    """Each sign with its age; what books do not know yet, which no reading settles."""
    rows = [
        Figure(
            _SIGNS[sign.kind],
            DASH if sign.at is None else f"{_age(sign.at, report)} ago",
            _sign_note(sign, report),
            _SIGN_TONES[sign.state],
            _sign_reference(sign),
        )
        for sign in report.signs
    ]
    rows += [
        Figure(
            "Not settled yet",
            "settings changed" if facts is None else count(facts, "fact"),
            f"{short_name(agent)}: the next knock settles it",
            "warn",
            AgentReference(agent),
        )
        for agent, facts in report.unsettled.items()
    ]
    return Section("alive", "Is it alive?", (FigureList(tuple(rows)),)) if report.agents else _empty()


def _empty() -> Section:
    return Section("alive", "What to do", (Notes(FIRST_COMMANDS),))


def _sign_note(sign: LifeSign, report: TodayReport) -> str:
    if sign.kind == "marks":
        return sign.reasons.get("at", "")
    name = "" if sign.kind == "service" else short_name(sign.name)
    if sign.kind == "agent" and report.agents > 1:
        name += f", of {report.agents:,}"
    parts = [name, sign.reasons.get("at", ""), sign.mend]
    return "; ".join(part for part in parts if part)


def _sign_reference(sign: LifeSign) -> Reference:
    if sign.kind == "agent":
        return AgentReference(sign.name)
    return ScreenReference("service")


def _arrived(report: TodayReport) -> Section | None:
    if not report.agents:
        return None
    arrivals = report.arrivals
    rows = [_reviews_line(arrivals)] if arrivals.reviews is not None else []
    rows += [closed_figure(entry, ScreenReference("positions")) for entry in arrivals.money]
    if arrivals.corrected:
        names = ", ".join(map(short_name, arrivals.corrected[:3]))
        rows.append(
            Figure(
                "Corrected",
                count(len(arrivals.corrected), "review"),
                names,
                "warn",
                ReviewReference(arrivals.corrected[0]),
            )
        )
    blocks: tuple[Block, ...] = (
        (FigureList(tuple(rows)),) if rows else (Notes(("Nothing came in.",), tone="faint"),)
    )
    if why := arrivals.reasons.get("reviews"):
        blocks = (*blocks, Notes((f"{why[:1].upper()}{why[1:]}.",), tone="faint"))
    title = "So far" if report.since is None else "Since you last looked"
    aside = "" if report.since is None else moment(report.since, report.time_zone)
    return Section("arrived", title, blocks, aside)


def _reviews_line(arrivals: Arrivals) -> Figure:
    return Figure("Reviews", f"{arrivals.reviews:,}", "finished", ref=ScreenReference("reviews"))


def _wishes(report: TodayReport) -> Section | None:
    if not report.agents:
        return None
    if not report.wishes:
        return Section("wishes", "Wants you", (Notes(("Nothing wants you.",), tone="faint"),))
    rows = tuple(
        TableRow(
            (
                Cell(
                    DASH if wish.agent is None else short_name(wish.agent),
                    "strong",
                    None if wish.agent is None else AgentReference(wish.agent),
                ),
                Cell(wish.text, _WISH_TONES.get(wish.kind, "down"), _wish_reference(wish)),
            )
        )
        for wish in report.wishes
    )
    columns = (Column("Agent", right=False, cut=16), Column("What it wants", right=False, cut=30))
    aside = "as when you last looked" if report.unchanged else ""
    return Section("wishes", "Wants you", (Table(columns, rows, report.wishes_omitted),), aside)


def _wish_reference(wish: OwnerWish) -> Reference:
    if wish.review is not None:
        return ReviewReference(wish.review)
    if wish.agent is None or wish.kind in {"source", "delivery"}:
        return ScreenReference("service")
    if wish.kind == "parked":
        return ScreenReference("reviews", (("agent", wish.agent), ("state", "parked")))
    if wish.kind == "proposal":
        return ScreenReference("proposals", (("agent", wish.agent),))
    return AgentReference(wish.agent)


def _life(report: TodayReport) -> Section | None:
    life = report.reversed_life
    if life is None:
        return None
    style = money_of(life.currency, (life.result, life.against_nothing))
    columns = (
        Column("Position", right=False, cut=16),
        Column("Agent", right=False, cut=10, spare=2),
        Column(life.currency),
        Column("vs inaction", spare=1),
        Column("Path", right=False, spare=3),
    )
    row = TableRow(
        (
            Cell(life.position, "strong", PositionReference(life.agent, life.position)),
            Cell(short_name(life.agent)),
            Cell(style.signed(life.result), tone_of(life.result)),
            Cell(style.signed(life.against_nothing), tone_of(life.against_nothing)),
            Cell("" if life.path else DASH, spark=bytes(life.path) if life.path else None),
        )
    )
    return Section(
        "life", "One life worth a minute", (Prose(_reversal_sentence(life)), Table(columns, (row,)))
    )


def _reversal_sentence(life: ReversedLife) -> str:
    looked, ended = ("wrong", "a gain") if life.result > 0 else ("right", "a loss")
    turn = percent(life.reversal, 1)
    return f"It looked {looked} in its first hours and ended as {ended}: a turn of {turn} of what was put in."


def _minds(report: TodayReport) -> Section | None:
    if not report.minds:
        return None
    columns = (
        Column("Rule", right=False, cut=14),
        Column("Role", right=False, spare=2),
        Column("Agent", right=False, cut=10, spare=3),
        Column("Was", right=False),
        Column("Is", right=False),
        Column("n", spare=1),
    )
    rows = tuple(
        TableRow(
            (
                Cell(mind.rule, "strong", RuleReference(mind.agent, mind.rule)),
                Cell(ROLES.get(mind.role, mind.role)),
                Cell(short_name(mind.agent)),
                Cell(_opinion(mind.before_verdict, mind.before_evidence)),
                Cell(_opinion(mind.verdict, mind.evidence), _mind_tone(mind)),
                Cell(f"{mind.n:,}"),
            )
        )
        for mind in report.minds
    )
    return Section("minds", "Changed minds", (Table(columns, rows, report.minds_omitted),))


def _opinion(verdict: str, evidence: str) -> str:
    word = short_verdict(verdict)
    return word if evidence == "none" else f"{evidence} {word}"


def _mind_tone(mind: MindChange) -> Tone:
    if mind.verdict == "demote":
        return "down"
    return "up" if mind.verdict == "keep" else "plain"


def _ripening(report: TodayReport) -> Section | None:
    dated = [row for row in report.ripening if row.date is not None]
    if not report.ripening:
        return None
    more = len(report.ripening) - len(dated) + report.ripening_omitted
    blocks: tuple[Block, ...] = (ripening_table(dated),) if dated else ()
    if more and dated:
        blocks = (*blocks, Notes((f"{more:,} more, with or without a day: retro ripening.",), tone="faint"))
    elif more:
        blocks = (Notes(("Nothing has a day yet: retro ripening says why.",), tone="faint"),)
    return Section("ripening", "Ripens next", blocks)


def _month(report: TodayReport) -> Section | None:
    """The month so far: a field a day, and the way it took."""
    month = report.month
    if month is None:
        return None
    style = money_of(month.currency, [day.pnl for day in month.days])
    rows = tuple(
        Day(
            iso=day.date,
            date=date_text(date.fromisoformat(day.date)),
            pnl=day.pnl if day.closed else None,
            pnl_text=style.signed(day.pnl) if day.closed else DASH,
            equity=None,
            equity_text=DASH,
            drawdown=None,
        )
        for day in month.days
    )
    total = money_of(month.currency, (month.pnl, month.against_nothing))
    note = (
        f"{count(month.closed, 'closed life', 'closed lives')}, each on the day it ended:"
        f" {total.change(month.pnl)}, {total.change(month.against_nothing)} against doing nothing."
    )
    aside = total.change(month.pnl)
    return Section("month", "This month", (Days(rows, month.currency, None, note),), aside)


def _agents(report: TodayReport) -> Section | None:
    """A row an agent, where there are several: of one its own page says more."""
    if len(report.rows) < 2:
        return None
    return Section("agents", "The agents", (weeks_table(report.rows, report.omitted),))


def _end(report: TodayReport) -> str:
    if report.next_review.due:
        return f"That is all. {count(report.next_review.due, 'review')} can be made now: the next knock makes them."
    if report.next_review.at is None:
        return "That is all."
    return f"That is all. Next review: {moment(report.next_review.at, report.time_zone)}."

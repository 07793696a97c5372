"""A position as a page: its whole life, its path, what hindsight knows, and what the agent said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.figures import DASH, count, duration, moment, price, quantity, ratio, seconds_between, spell
from retro.kinds import POSITION
from retro.present.page.blocks import (
    Cell,
    Column,
    Figure,
    FigureList,
    Headline,
    Notes,
    Page,
    PathChart,
    Prose,
    Quote,
    Section,
    Table,
    TableRow,
    tone_of,
)
from retro.present.page.groups import instrument_label
from retro.present.page.labels import (
    FLAGS,
    attribution_bars,
    figure_name,
    reason_text,
    result_text,
    short_name,
)
from retro.present.page.twins import twins_section
from retro.present.references import RuleReference, RulesReference

if TYPE_CHECKING:
    from retro.figures import MoneyStyle
    from retro.present.references import Reference
    from retro.report import Checkpoint, EntryPrediction, PositionRetrospective
    from retro.report.evaluators.luck import TwinSpread

__all__ = ["page_of_position"]

_SHOWN: Final = 20


def page_of_position(
    position: PositionRetrospective, money: MoneyStyle, twins: TwinSpread | None = None
) -> Page:
    """The page of one position's review; with what its twins made where that was stored with it."""
    sections = (
        _reasoning(position),
        _trajectory(position, money),
        _hindsight(position, money),
        None if twins is None else twins_section(twins, position.final_pnl, money),
        _alternatives(position, money),
        _afterwards(position, money),
        Section(
            "attribution",
            "Where the money came from",
            (attribution_bars(position.attribution, money),),
            money.currency,
        ),
        _predictions(position),
        _words(position),
        _caveats(position),
    )
    return Page(_headline(position, money), tuple(section for section in sections if section is not None))


def _headline(p: PositionRetrospective, money: MoneyStyle) -> Headline:
    names = [p.agent, p.position_id, p.strategy, p.venue]
    end = "open" if p.exit_at is None else moment(p.exit_at)
    facts = [
        Figure("Lifecycle", duration(p.duration_s), f"{moment(p.entry_at)} to {end}, UTC"),
        Figure("Size", _size(p, money), _prices(p, money)),
    ]
    if p.period_pnl != p.final_pnl:
        facts.append(Figure("In the period", money.change(p.period_pnl), "of the review it was taken from"))
    if p.exit_reason:
        facts.append(Figure("Exit reason", p.exit_reason))
    for label, cites in (("Entry cites", p.cites.entry), ("Exit cites", p.cites.exit)):
        if cites:
            remainder = f" and {len(cites) - _SHOWN} more" if len(cites) > _SHOWN else ""
            facts.append(Figure(label, ", ".join(cites[:_SHOWN]) + remainder, ref=_cited(p.agent, cites)))
    if p.entry_predictions:
        right = sum(prediction.hit is True for prediction in p.entry_predictions)
        judged = sum(prediction.hit is not None for prediction in p.entry_predictions)
        facts.append(
            Figure(
                "Entry predictions",
                f"{len(p.entry_predictions)} registered",
                f"{right} right of {judged} judged",
            )
        )
    flags = tuple(f"{FLAGS.get(flag, flag).capitalize()}." for flag in p.flags)
    return Headline(
        kicker=POSITION.title,
        title=instrument_label(p),
        subtitle=", ".join(name for name in names if name),
        result=result_text(p.final_pnl, money),
        why=_why(p, money),
        tone=tone_of(p.final_pnl),
        facts=tuple(facts),
        alarms=flags,
    )


def _cited(agent: str, cites: list[str]) -> Reference:
    """What was cited: the one rule, or all of the agent's."""
    return RuleReference(agent, cites[0]) if len(cites) == 1 else RulesReference(agent)


def _why(p: PositionRetrospective, money: MoneyStyle) -> str:
    """How it ended, in R where the risk is known, and what doing nothing would have made of it."""
    text = f"Open for {duration(p.duration_s)}" if p.open else f"Held {duration(p.duration_s)}"
    if p.exit_reason and not p.open:
        text += f", left on \N{LEFT DOUBLE QUOTATION MARK}{short_name(p.exit_reason)}\N{RIGHT DOUBLE QUOTATION MARK}"
    text += f", {spell(p.pnl_r, 2, signed=True)} R" if p.pnl_r is not None else ""
    if p.vs_inaction is None:
        return f"{text}."
    if p.vs_inaction == 0:
        return f"{text}; doing nothing came to the same."
    verb = "beat doing nothing by" if p.vs_inaction > 0 else "lost to doing nothing by"
    return f"{text}; {verb} {money.amount(abs(p.vs_inaction))}."


def _size(p: PositionRetrospective, money: MoneyStyle) -> str:
    if p.quantity is None:
        return money.amount(p.notional)
    return quantity(p.quantity) + (f" {p.side}" if p.side else "")


def _prices(p: PositionRetrospective, money: MoneyStyle) -> str:
    parts = [f"entered at {price(p.entry_price)}", f"left at {price(p.exit_price)}"]
    parts = parts[:1] if p.open else parts
    if p.quantity is not None and p.notional is not None:
        parts.append(f"notional {money.amount(p.notional)}")
    return ", ".join(parts)


def _reasoning(p: PositionRetrospective) -> Section | None:
    blocks = []
    if p.entry_reasoning:
        blocks.append(Quote(p.entry_reasoning, f"{p.agent}, at the entry"))
    if p.exit_reasoning:
        blocks.append(Quote(p.exit_reasoning, f"{p.agent}, at the exit"))
    title = "Entry reasoning" if p.entry_reasoning else "Exit reasoning"
    return Section("reasoning", title, tuple(blocks), "the agent's own words") if blocks else None


def _trajectory(p: PositionRetrospective, money: MoneyStyle) -> Section:
    rows = tuple(_checkpoint_row(point, money, still_open=p.open) for point in p.pnl_trajectory)
    columns = (
        Column("After", right=False),
        Column("At (UTC)", right=False),
        Column(f"PnL ({money.currency})" if money.currency else "PnL"),
        Column("Age of its mark"),
    )
    note = (
        ""
        if all(point.pnl is not None for point in p.pnl_trajectory)
        else reason_text(p.reasons, "pnl_trajectory")
    )
    if any(point.stale and point.pnl is not None for point in p.pnl_trajectory):
        note = f"{note}; ~ stale: its mark is old".lstrip("; ")
    table = Table(columns, rows, note=note)
    chart = (PathChart(p, money.currency),) if len(p.path) > 1 else ()
    return Section("trajectory", "PnL trajectory", (*chart, table), money.currency)


def _checkpoint_row(point: Checkpoint, money: MoneyStyle, *, still_open: bool) -> TableRow:
    """A checkpoint; of an open position the last one is no exit but where it stands."""
    name = "now" if still_open and point.offset == "exit" else point.offset
    return TableRow(
        (
            Cell(name),
            Cell(moment(point.at)),
            Cell(money.signed(point.pnl), tone_of(point.pnl)),
            Cell(duration(point.mark_age_s)),
        ),
        faint=point.stale,
    )


def _hindsight(p: PositionRetrospective, money: MoneyStyle) -> Section:
    def absent(name: str) -> str:
        return reason_text(p.reasons, name)

    peak = f"at {price(p.mfe_price)}, before exit costs" + (
        f", {ratio(p.mfe_r)} R" if p.mfe_r is not None else ""
    )
    trough = f"at {price(p.mae_price)}" + (f", {ratio(p.mae_r)} R" if p.mae_r is not None else "")
    best = absent("optimal_exit_at")
    if p.optimal_exit_at is not None:
        best = (
            f"{duration(seconds_between(p.entry_at, p.optimal_exit_at))} in, {moment(p.optimal_exit_at)} UTC"
        )
    exit_note = (
        "still open, valued at the end" if p.open else f"{duration(p.duration_s)} in, {moment(p.exit_at)} UTC"
    )
    rows = (
        Figure("Peak PnL", money.change(p.mfe), peak if p.mfe is not None else absent("mfe"), name="mfe"),
        Figure(
            "Deepest loss", money.change(p.mae), trough if p.mae is not None else absent("mae"), name="mae"
        ),
        Figure("Optimal exit", money.change(p.optimal_exit_pnl), best, name="optimal_exit_pnl"),
        Figure("Actual exit", money.change(p.final_pnl), exit_note, name="final_pnl"),
        Figure(
            "Regret",
            money.amount(p.regret),
            "optimal less actual exit" if p.regret is not None else absent("regret"),
            name="regret",
        ),
        Figure(
            "Regret ratio",
            ratio(p.regret_ratio),
            "1 = luck: what a walk without drift would leave behind"
            if p.regret_ratio is not None
            else absent("regret_ratio"),
            name="regret_ratio",
        ),
    )
    note = Prose(
        "The best exit is known only now; nobody could have known that the peak was the peak.", tone="faint"
    )
    return Section("hindsight", "Hindsight analysis", (FigureList(rows), note))


def _alternatives(p: PositionRetrospective, money: MoneyStyle) -> Section:
    comparisons = (
        ("vs_inaction", "Doing nothing", "what was given up at entry, kept unchanged"),
        ("vs_hold", "Holding", "the assets held right after entry, kept unchanged"),
        ("vs_cash", "Cash", "the base currency"),
        ("vs_pair", "The pair", "all that was put in, held in the pair from entry to exit"),
    )
    rows = tuple(
        Figure(
            f"Against {label.lower()}",
            money.change(getattr(p, name)),
            note if getattr(p, name) is not None else reason_text(p.reasons, name),
            tone_of(getattr(p, name)),
            name=name,
        )
        for name, label, note in comparisons
    )
    return Section("alternatives", "Against the alternatives", (FigureList(rows),), money.currency)


def _afterwards(p: PositionRetrospective, money: MoneyStyle) -> Section | None:
    if p.open:
        return None
    figures = (
        ("left_on_table", "Left on the table", "the best moment after the exit"),
        ("left_on_table_capped", "Before the stop", "the same, while the loss would have been borne"),
        ("hold_on", "Holding on", "at the end of as long again, 7 d at most"),
    )
    rows = tuple(
        Figure(
            label,
            money.change(getattr(p, name)),
            note if getattr(p, name) is not None else reason_text(p.reasons, name),
            name=name,
        )
        for name, label, note in figures
    )
    points = tuple(
        _checkpoint_row(point, money, still_open=p.open) for point in p.post_exit_trajectory[:_SHOWN]
    )
    columns = (
        Column("After the exit", right=False),
        Column("At (UTC)", right=False),
        Column("PnL if held"),
        Column("Age of its mark"),
    )
    tables = (Table(columns, points, note=reason_text(p.reasons, "post_exit_trajectory")),) if points else ()
    return Section("afterwards", "After the exit", (FigureList(rows), *tables), money.currency)


def _predictions(p: PositionRetrospective) -> Section | None:
    if not p.entry_predictions:
        return None
    rows = tuple(_prediction_row(row) for row in p.entry_predictions[:_SHOWN])
    columns = (
        Column("Prediction", right=False, cut=12),
        Column("Unit", right=False, cut=4),
        Column("Predicted"),
        Column("Interval", spare=1),
        Column("Actual"),
        Column("Outcome", right=False),
    )
    table = Table(columns, rows, omitted=len(p.entry_predictions) - len(rows))
    return Section(
        "predictions", "Entry predictions", (table,), count(len(p.entry_predictions), "prediction")
    )


def _prediction_row(row: EntryPrediction) -> TableRow:
    def figure(value: float | None) -> str:
        return DASH if value is None else f"{value:.6g}"

    bounds = DASH if row.low is None or row.high is None else f"{figure(row.low)}..{figure(row.high)}"
    outcome = {True: "right", False: "wrong", None: "not judged"}[row.hit]
    name = " ".join(word for word in (row.category, row.item) if word) or row.id
    cells = (name, row.unit or "", figure(row.predicted), bounds, figure(row.actual), outcome)
    return TableRow(tuple(Cell(text) for text in cells), faint=row.hit is None)


def _words(p: PositionRetrospective) -> Section | None:
    texts = (("What went wrong", p.what_went_wrong), ("Lesson", p.lesson))
    blocks = tuple(Prose(text, label) for label, text in texts if text)
    return Section("words", "In words", blocks, "in hindsight: it knew the ending") if blocks else None


def _caveats(p: PositionRetrospective) -> Section | None:
    """Reasons of absent figures that no line above shows, each once."""
    shown_names = {
        *("optimal_exit_at", "optimal_exit_pnl", "mfe", "mae", "regret", "regret_ratio", "pnl_trajectory"),
        *("vs_inaction", "vs_hold", "vs_cash", "vs_pair", "left_on_table", "left_on_table_capped", "hold_on"),
        "post_exit_trajectory",
    }
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in p.reasons.items():
        if name not in shown_names and reason != p.reasons.get("mfe"):
            names_by_reason.setdefault(reason_text(p.reasons, name), []).append(figure_name(name))
    items = tuple(_item(names, reason) for reason, names in names_by_reason.items())
    return Section("absent", "Absent figures", (Notes(items),)) if items else None


def _item(names: list[str], reason: str) -> str:
    text = f"{', '.join(names)}: {reason}"
    return text[0].upper() + text[1:]

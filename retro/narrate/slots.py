"""What a model writes instead of figures: names such as `{pnl.total}`, and what code puts in their place. Pure.

A slot's text carries value, unit, sample size and, for an estimate, its interval. A figure that is absent is no slot;
`absent` says why. Ids that an agent made up are used as they are while they are plain words, else numbered (`~3`), so
that no id can forge a slot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from retro.figures import (
    count,
    day_text,
    duration,
    interval,
    moment,
    money_of,
    odds,
    percent,
    price,
    ratio,
    span,
)
from retro.report.evaluators.claims import ANY
from retro.report.lines import LINES
from retro.safe import plain_text, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retro.figures import MoneyStyle
    from retro.report import (
        Evaluators,
        HeuristicReport,
        PnlAttribution,
        PositionRetrospective,
        RetrospectiveReport,
    )

Row = TypeVar("Row")

__all__ = ["SLOT", "HeuristicStanding", "Slot", "Slots", "fill", "is_loss", "position_slots", "report_slots"]

SLOT: Final = re.compile(r"\{([^{}]{1,160})\}")
"""How a slot stands in a text; group 1 is its name."""

_LOSS: Final = re.compile(
    r"\b(?:lost|los(?:e|es|ing)|loss(?:es)? of|down|shed|g[ai]v(?:e|es|ing) (?:back|up)|drop(?:s|ped|ping)?|fell|costs?|costing"
    r"|declin(?:ed|es|ing))(?: by| only| just| about| some| nearly| almost| another)*\s+$",
    re.IGNORECASE,
)
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:/+@-]{0,63}")
_LONGEST_NAME: Final = 48
_CLAIMS: Final = 6
"""Categories of claims that are shown."""
_LEVELS: Final = {"unrealized_pnl": ("unrealized_pnl_start", "unrealized_pnl_end")}
_CHANGES: Final = (
    "total",
    *(name for line in LINES if line.two_sided for name in (line.name, *_LEVELS.get(line.name, ()))),
    *("net_yield", "net_yield_after_costs", "slippage"),
)
_AMOUNTS: Final = (*(line.name for line in LINES if not line.two_sided), "operational_cost", "trading_fees")
_LIFE: Final = (
    "final_pnl",
    "period_pnl",
    "mfe",
    "mae",
    "vs_inaction",
    "vs_hold",
    "hold_on",
    "optimal_exit_pnl",
)
_GROUPS: Final = (
    "by_instrument",
    "by_side",
    "by_strategy",
    "by_entry_tag",
    "by_exit_reason",
    "by_holding_time",
    "by_regime",
)


@dataclass(frozen=True, slots=True)
class HeuristicStanding:
    """What the audit says of one heuristic in one role: its evidence and its recommendation."""

    evidence: str
    recommendation: str


@dataclass(frozen=True, slots=True)
class Slot:
    """What stands in a slot's place, and the standing of the heuristic it speaks of, if any."""

    text: str
    standing: HeuristicStanding | None = None


@dataclass(frozen=True, slots=True)
class Slots:
    """Every slot of one review by name, and why figures that could have been slots are absent.

    `keys` are the words that stand for ids in slot names, by kind (`h`, `p`) and id.
    """

    by_name: dict[str, Slot] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)

    def put(
        self, name: str, text: str | None, why: str = "", standing: HeuristicStanding | None = None
    ) -> None:
        """Add a slot, or note that it is absent; the first of a name stays."""
        if name in self.by_name:
            return
        if text is None:
            self.absent.setdefault(name, why or "not known")
        else:
            self.by_name[name] = Slot(text, standing)


def is_loss(before: str) -> bool:
    """Whether words end by saying that what follows was lost: "it lost", "down by"."""
    return _LOSS.search(before) is not None


def fill(text: str, slots: Slots) -> str:
    """The text with every slot replaced, once: what a slot holds is never read as a slot again.

    What was lost is told without its sign: "lost 2.40", because "lost -2.40" would be a gain.
    """

    def replacement(match: re.Match[str]) -> str:
        figure = slots.by_name[match[1]].text
        return figure[1:] if figure.startswith("-") and is_loss(text[: match.start()]) else figure

    return SLOT.sub(replacement, text)


def report_slots(report: RetrospectiveReport) -> Slots:
    """The slots of a period's report."""
    slots = Slots()
    amounts = [
        report.pnl.total,
        report.pnl.trading_gains,
        report.pnl.trading_losses,
        report.pnl.unrealized_pnl,
    ]
    money = money_of(report.base_currency, [*amounts, *(p.final_pnl for p in report.positions)])
    slots.put("agent", _name(report.agent))
    slots.put("period", span(report.period_start, report.period_end, report.time_zone))
    slots.put("horizon", report.horizon)
    _pnl(slots, "pnl", report.pnl, money, report.reasons)
    _whole(slots, report, money)
    _groups(slots, report, money)
    _claims(slots, report.evaluators)
    rows = sorted(report.heuristic_performance, key=lambda row: row.role)
    for key, group in _keyed(rows, [row.heuristic_id for row in rows]):
        slots.keys["h", group[0].heuristic_id] = key
        for row in group:
            _heuristic(slots, f"h.{key}.{row.role}", row, money)
        _heuristic(slots, f"h.{key}", group[0], money)
    believed = report.believed_positions
    for key, [position, *_] in _keyed(believed, [p.position_id for p in believed]):
        slots.keys["p", position.position_id] = key
        _position(slots, f"p.{key}", position, money, report.time_zone)
    return slots


def position_slots(position: PositionRetrospective, currency: str, zone: str = "UTC") -> Slots:
    """The slots of one position's review."""
    slots = Slots()
    money = money_of(currency, [position.final_pnl, position.mfe, position.mae])
    slots.put("agent", _name(position.agent))
    _pnl(slots, "pnl", position.attribution, money, position.reasons)
    [(key, _)] = _keyed([position], [position.position_id])
    slots.keys["p", position.position_id] = key
    _position(slots, f"p.{key}", position, money, zone)
    return slots


def _name(text: str) -> str:
    """What an agent called something, short and harmless; never empty."""
    return shorten(" ".join(plain_text(text).split()), _LONGEST_NAME, trim=False) or "(no name)"


def _keyed(rows: list[Row], ids: list[str]) -> Iterator[tuple[str, list[Row]]]:
    """Rows by the word that stands for their id in slots: the id itself, or a number where that is no plain word."""
    groups: dict[str, list[Row]] = {}
    for row, name in zip(rows, ids, strict=True):
        groups.setdefault(name, []).append(row)
    for number, (name, group) in enumerate(groups.items(), 1):
        yield (name if _PLAIN_ID.fullmatch(name) else f"~{number}"), group


def _pnl(
    slots: Slots, prefix: str, pnl: PnlAttribution, money: MoneyStyle, reasons: Mapping[str, str]
) -> None:
    for name in _CHANGES:
        value = getattr(pnl, name)
        slots.put(
            f"{prefix}.{name}", None if value is None else money.change(value), reasons.get(f"pnl.{name}", "")
        )
    for name in _AMOUNTS:
        slots.put(f"{prefix}.{name}", money.amount(getattr(pnl, name)))
    ratio_text = None if pnl.risk_adjusted_return is None else ratio(pnl.risk_adjusted_return)
    slots.put(f"{prefix}.risk_adjusted_return", ratio_text, reasons.get("pnl.risk_adjusted_return", ""))


def _whole(slots: Slots, report: RetrospectiveReport, money: MoneyStyle) -> None:
    """What is said of the period as a whole: effectiveness, risk, predictions, costs, counts."""
    effectiveness, risk, accuracy = report.effectiveness, report.risk, report.prediction_accuracy
    closed = count(effectiveness.closed_positions, "closed position")
    over = closed
    if report.open_positions.size:
        over += f" ({report.open_positions.words(money)})"
    total = effectiveness.sum_vs_inaction
    slots.put("vs_inaction.sum", None if total is None else f"{money.change(total)} over {over}")
    rate = effectiveness.inaction_superiority_rate
    slots.put("inaction_superiority_rate", None if rate is None else f"{percent(rate)} of {over}")
    slots.put("score", None if effectiveness.score is None else ratio(effectiveness.score))
    few = f" over {count(risk.days, 'day')}{', noisy' if risk.noisy else ''}"
    for name in ("sharpe", "sortino", "calmar", "psr", "deflated_sharpe"):
        value = getattr(risk, name)
        slots.put(f"risk.{name}", None if value is None else ratio(value) + few, risk.reasons.get(name, ""))
    for name in (
        "max_drawdown",
        "max_drawdown_marked",
        "volatility",
        "time_weighted_return",
        "money_weighted_return",
    ):
        value = getattr(risk, name)
        slots.put(f"risk.{name}", None if value is None else percent(value, 2), risk.reasons.get(name, ""))
    rate = accuracy.hit_rate
    judged = count(accuracy.judged, "prediction")
    slots.put("predictions.hit_rate", None if rate is None else f"{percent(rate)} of {judged}")
    slots.put("predictions.count", count(accuracy.total, "resolved prediction"))
    slots.put("positions.closed", closed)
    slots.put("positions.count", count(len(report.positions), "position"))
    slots.put("actions.count", count(len(report.actions_taken), "action"))
    slots.put("costs.gas", money.amount(report.costs.gas))
    slots.put("costs.inference", money.amount(report.costs.inference))
    slots.put("costs.data", money.amount(report.costs.data))
    groups = report.breakdowns
    for name in ("fee_drag", "concentration", "pgr", "plr"):
        value = getattr(groups, name)
        slots.put(name, None if value is None else percent(value), groups.reasons.get(name, ""))
    slots.put("longest_losing_streak", count(groups.longest_losing_streak, "loss", "losses"))


def _groups(slots: Slots, report: RetrospectiveReport, money: MoneyStyle) -> None:
    """Groups of closed positions large enough to be ranked."""
    for table in _GROUPS:
        rows = [row for row in getattr(report.breakdowns, table) if row.ranked]
        for key, [row, *_] in _keyed(rows, [row.key for row in rows]):
            prefix, size = f"{table}.{key}", f"n = {row.n:,} closed"
            slots.put(f"{prefix}.name", _name(row.key))
            slots.put(f"{prefix}.pnl", f"{money.change(row.pnl)} ({size})")
            won = None if row.win_rate is None else f"{percent(row.win_rate)} ({size})"
            slots.put(f"{prefix}.win_rate", won)


def _claims(slots: Slots, part: Evaluators | None) -> None:
    """What changed of the agent's own claims, a category at a time: their bias, and how far to trust its confidence."""
    if part is None:
        return
    forecasts = [row for row in part.predictions if row.regime == ANY][:_CLAIMS]
    for key, [row, *_] in _keyed(forecasts, [row.category for row in forecasts]):
        prefix, size = f"forecasts.{key}", f"n = {row.n:,}"
        slots.put(f"{prefix}.name", _name(row.category))
        slots.put(f"{prefix}.bias", None if row.bias is None else f"{row.bias:+.4g} ({size})")
        slots.put(f"{prefix}.accuracy", None if row.accuracy is None else f"{percent(row.accuracy)} ({size})")
    calibrated = [row for row in part.calibration if row.regime == ANY][:_CLAIMS]
    for key, [level, *_] in _keyed(calibrated, [row.category for row in calibrated]):
        prefix, size = f"confidence.{key}", f"n = {level.n:,}"
        slots.put(f"{prefix}.stated", f"{percent(level.stated)} ({size})")
        slots.put(f"{prefix}.came_true", f"{percent(level.right)} ({size})")
        slots.put(f"{prefix}.off_by", None if level.ece is None else f"{percent(level.ece)} ({size})")


def _heuristic(slots: Slots, prefix: str, row: HeuristicReport, money: MoneyStyle) -> None:
    standing = HeuristicStanding("none" if row.contradicted else row.evidence, row.recommendation.kind)

    def put(name: str, text: str | None) -> None:
        why = row.reasons.get({"avg": "avg_pnl_per_citation", "pnl": "associated_pnl"}.get(name, name), "")
        slots.put(f"{prefix}.{name}", text, why, standing)

    size = f"n = {row.evaluated_count:,}"
    put("name", _name(row.heuristic_id))
    put("role", row.role)
    average = row.avg_pnl_per_citation
    put("avg", None if average is None else f"{money.change(average)} ({size}{_interval(row)})")
    put("pnl", None if row.associated_pnl is None else f"{money.change(row.associated_pnl)} ({size})")
    put("shared_pnl", None if row.shared_pnl is None else f"{money.change(row.shared_pnl)} ({size})")
    won = None
    if row.win_rate is not None:
        bounds = row.win_rate_interval
        span_text = f", 95 % interval {percent(bounds[0])} to {percent(bounds[1])}" if bounds else ""
        won = f"{percent(row.win_rate)} ({size}{span_text})"
    put("win_rate", won)
    put("citations", count(row.citation_count, "citation"))
    put("resolved", count(row.evaluated_count, "resolved citation"))
    grade = "no evidence yet" if row.evidence == "none" else f"{row.evidence} evidence"
    put("evidence", f"{grade}{' against it' if row.contradicted else ''} (n = {row.evidence_n:,})")
    put("odds", None if row.e is None else f"{odds(row.e)} {'for' if row.gains else 'against'} it")
    put("recommendation", row.recommendation.kind.replace("_", " "))


def _interval(row: HeuristicReport) -> str:
    """The interval of the mean of all outcomes since the text last changed; says so when they are more than counted."""
    if row.interval is None or row.threshold_unit != "usd":  # beside an average in money
        return ""
    bounds = f"95 % interval {interval(*row.interval)} at every look"
    if row.evidence_n == row.evaluated_count:
        return f", {bounds}"
    since = f" since {day_text(row.evidence_since)}" if row.evidence_since else ""
    return f"; {bounds} of all {row.evidence_n:,}{since}"


def _position(slots: Slots, prefix: str, p: PositionRetrospective, money: MoneyStyle, zone: str) -> None:
    def put(name: str, text: str | None) -> None:
        slots.put(f"{prefix}.{name}", text, p.reasons.get(name, ""))

    put("name", _name(p.position_id))
    put("instrument", _name(p.instrument))
    put("venue", _name(p.venue))
    put("strategy", _name(p.strategy))
    put("side", p.side)
    for name in _LIFE:
        value = getattr(p, name)
        put(name, None if value is None else money.change(value))
    for name in ("regret", "left_on_table", "left_on_table_capped"):
        value = getattr(p, name)
        put(name, None if value is None else money.amount(value))
    for name in ("pnl_r", "mfe_r", "mae_r"):
        value = getattr(p, name)
        put(name, None if value is None else f"{ratio(value)} R")
    put(
        "regret_ratio",
        None if p.regret_ratio is None else f"{ratio(p.regret_ratio, 1)} times what luck leaves",
    )
    put("held", duration(p.duration_s))
    put("entry_price", None if p.entry_price is None else price(p.entry_price))
    put("exit_price", None if p.exit_price is None else price(p.exit_price))
    for name in ("entry_at", "exit_at", "optimal_exit_at"):
        value = getattr(p, name)
        put(name, None if value is None else moment(value, zone))

"""The section of an agent's next prompt in full: what was tried lately and what is still open.

Every line is one line, whatever a record's author wrote into it: no text of theirs can begin a heading.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from memory.instants import DAY
from memory.records.experiment import LONG_AGO, moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Part = Mapping[str, Any]
"""A mapping inside a record: people's YAML, whose keys nobody prescribes."""
_SHOWN: Final = 8
_PARTS: Final = 12
_LONGEST: Final = 500
_BRIEF: Final = 120
_NOISY_BELOW: Final = 30
"""Outcomes or days below which a figure of a review is called noisy, and no Sharpe ratio is stated at all."""


def prompt_section(
    experiments: Sequence[Mapping[str, Any]], hypotheses: Iterable[Mapping[str, Any]], n: int
) -> str:
    """The section in Markdown: the given experiments (the newest first) and the open hypotheses.

    Both headings stand there even when there is nothing below them; `n` is how many were asked for. Periods in which
    nothing was tried teach nothing: their records are passed over here.
    """
    tried = [experiment for experiment in experiments if not _is_silent(experiment)]
    lines = ["## Experiment History", "", f"### Recent Experiments (last {n})", ""]
    for record in tried[:n]:
        lines += [*_experiment(record), ""]
    lines += ["## Open Hypotheses", ""]
    for hypothesis in hypotheses:
        status = printable_line(hypothesis.get("status") or "untested")
        lines += [
            f"- **{printable_line(hypothesis.get('id'))}**: {printable_line(hypothesis.get('text'))}",
            f"  - Source: {printable_line(hypothesis.get('source_experiment') or 'not stated')} | Status: {status}",
            "",
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _is_silent(record: Mapping[str, Any]) -> bool:
    """A review's record of a period without a trade and without a result."""
    context, results = part_of(record, "context"), part_of(record, "results")
    if record.get("source") != "review" or not context.get("review") or "heuristic" in context:
        return False
    return results.get("total_trades") == 0 and not results.get("net_pnl")


def _experiment(record: Mapping[str, Any]) -> list[str]:
    context, assessment = part_of(record, "context"), part_of(record, "assessment")
    lines = [
        f"**{printable_line(record.get('id'))}** ({day_of(record.get('timestamp'))})",
        f"- Context: {_context(context) or 'not stated'}",
        f"- Results: {' | '.join(_results(record)) or 'not stated'}",
        f"- Verdict: {_verdict(record) or 'not stated'}",
    ]
    observations = _list(assessment.get("observations"))
    if observations:
        lines += ["- Observations:", *(f"  - {printable_line(text)}" for text in observations)]
    proposed = [_hypothesis(hypothesis) for hypothesis in _list(assessment.get("hypotheses"))]
    if proposed:
        lines.append(f"- Hypotheses: {', '.join(proposed)}")
    return lines


def part_of(record: Mapping[str, Any], name: str) -> Part:
    """A mapping inside a record; an empty one where there is none."""
    part = record.get(name)
    return part if isinstance(part, dict) else {}


def _list(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def printable_line(value: Any, longest: int = _LONGEST) -> str:
    """Text on one line, without what does not print; long text is cut."""
    text = " ".join(str(value).split())
    printable = "".join(c for c in text if c.isprintable())
    return printable if len(printable) <= longest else f"{printable[: longest - 1]}…"


def day_of(timestamp: Any) -> str:
    """The day of a stated time, as it was written."""
    return printable_line(timestamp)[:10] if moment(timestamp) > LONG_AGO else "no date"


def brief_line(record: Mapping[str, Any]) -> str | None:
    """An experiment in one line; None for what a review says of one rule, and of periods in which nothing was tried.

    What people wrote is cut where it is long; a figure is there as a whole, with all that is said of it, or not at all.
    """
    context = part_of(record, "context")
    if _is_silent(record) or (record.get("source") == "review" and "heuristic" in context):
        return None
    is_review = bool(context.get("review"))
    what = _scalar(context.get("review")) if is_review else _context(context)
    figures = _results(record)
    results = " | ".join(figures if is_review else _whole(figures, _BRIEF))
    what, verdict = (part and printable_line(part, _BRIEF) for part in (what, _verdict(record)))
    words = "; ".join(part for part in (what, results, verdict) if part)
    return f"- **{printable_line(record.get('id'), 60)}** ({day_of(record.get('timestamp'))}): {words}"


def _whole(parts: Sequence[str], longest: int) -> list[str]:
    """As many parts from the first on as fit on a line, whole, and how many more there are."""
    lengths = accumulate(len(part) + 3 for part in parts)
    shown = sum(length <= longest for length in lengths)
    return [*parts[:shown], *([f"and {len(parts) - shown} more"] if shown < len(parts) else [])]


def _hypothesis(hypothesis: Any) -> str:
    if isinstance(hypothesis, dict):
        return f'"{printable_line(hypothesis.get("text"))}" ({printable_line(hypothesis.get("status") or "untested")})'
    return f'"{printable_line(hypothesis)}" (untested)'


def _number(value: Any) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _percent(value: Any, digits: int = 1) -> str | None:
    number = _number(value)
    return None if number is None else f"{number * 100:.{digits}f}%"


# what was tried


def _context(context: Mapping[str, Any]) -> str:
    parts = [
        _indicators(context),
        *(_scalar(context.get(name)) for name in ("timeframe", "symbol")),
        _zigzag(context),
        _network(context),
    ]
    if context.get("review") and not any(parts):
        parts = [_scalar(context["review"]), _heuristic(context), _names(context.get("instruments"))]
    stated = [part for part in parts if part]
    return " | ".join(stated or _other_values(context))


def _heuristic(context: Mapping[str, Any]) -> str | None:
    name, text, role = (_scalar(context.get(key)) for key in ("heuristic", "text", "role"))
    if name is None:
        return None
    return f"{name}{f' ({text})' if text else ''}{f', as {role}' if role else ''}"


def _names(value: Any) -> str | None:
    names = [printable_line(item) for item in _list(value) if not isinstance(item, dict | list)]
    return f"{', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}" if names else None


def _scalar(value: Any) -> str | None:
    return None if value is None or isinstance(value, dict | list) else printable_line(value)


def _indicators(context: Mapping[str, Any]) -> str | None:
    names = [
        printable_line(name) for name in _list(context.get("indicators")) if not isinstance(name, dict | list)
    ]
    if not names:
        return None
    return f"{' + '.join(names)}{' solo' if context.get('composition') == 'solo' else ''}"


def _zigzag(context: Mapping[str, Any]) -> str | None:
    share = _percent(context.get("zigzag_threshold"))
    return None if share is None else f"zigzag {share}"


def _network(context: Mapping[str, Any]) -> str | None:
    layers = context.get("nn_architecture")
    if isinstance(layers, list) and layers:
        return f"NN [{','.join(printable_line(size) for size in layers)}]"
    return None if not layers else f"NN {_scalar(layers) or ''}".rstrip()


def _other_values(values: Mapping[str, Any]) -> list[str]:
    """Whatever else was stated: name and value, in the order of the record."""
    parts = []
    for name, value in values.items():
        if isinstance(value, list):
            if names := _names(value):
                parts.append(f"{printable_line(name)} {names}")
        elif value is not None and not isinstance(value, dict):
            parts.append(f"{printable_line(name)} {printable_line(value)}")
    return parts[:_PARTS]


# what came of it


def _verdict(record: Mapping[str, Any]) -> str | None:
    """The verdict as it was given; what earlier versions of reviews called overfit rests on one trade."""
    verdict = part_of(record, "assessment").get("verdict")
    if record.get("source") == "review" and verdict == "overfit":
        n = _number(
            part_of(record, "results").get("evaluated", part_of(record, "results").get("total_trades"))
        )
        return "one trade carries it" if n is None else f"one trade of {n:,.0f} carries it"
    return printable_line(verdict) if verdict else None


def _sharpe(record: Mapping[str, Any]) -> str | None:
    """The Sharpe ratio as an author states it; a review's own with its standard error, and of 30 days or more."""
    results = part_of(record, "results")
    sharpe = _number(results.get("sharpe_ratio"))
    if sharpe is None or record.get("source") != "review":
        return None if sharpe is None else f"Sharpe {sharpe:.2f}"
    error, days = _number(results.get("sharpe_standard_error")), _days(record)
    if error is None or days is None or days < _NOISY_BELOW:
        return None
    return f"Sharpe {sharpe:.2f} ({days:.0f} days, standard error {error:.2f})"


def _days(record: Mapping[str, Any]) -> float | None:
    """How many daily returns a review's ratios rest on: as it says, else as many days as its period has."""
    stated = _number(part_of(record, "results").get("daily_returns"))
    if stated is not None:
        return stated
    context = part_of(record, "context")
    start, end = (moment(context.get(name)) for name in ("period_start", "period_end"))
    return None if LONG_AGO in (start, end) else (end - start) / DAY


def _results(record: Mapping[str, Any]) -> list[str]:
    """The figures of a record, each whole; those of a review with what each rests on."""
    results = part_of(record, "results")
    accuracy, ratio = _accuracy(results), _sharpe(record)
    if accuracy:
        return [part for part in (accuracy, ratio) if part]
    is_review = record.get("source") == "review"
    figures = [
        f"{text}{_basis(name, record) if is_review else ''}"
        for name, show in _MONEY.items()
        if name in results and (text := show(results[name]))
    ]
    stated = [*figures, *([ratio] if ratio else [])]
    return stated or _other_values(results)


def _basis(name: str, record: Mapping[str, Any]) -> str:
    """What stands behind a review's figure: its n where it has one, and that it is noisy."""
    results = part_of(record, "results")
    n = _number(results.get("total_trades", results.get("evaluated")))
    noisy = ", noisy" if n and n < _NOISY_BELOW else ""
    if name in ("total_trades", "evaluated"):
        return noisy
    if name == "win_rate" and n is not None:
        return f" of {n:,.0f}{noisy}"
    if name == "vs_inaction" and n is not None:
        return f" by {n:,.0f} closed{noisy}"
    days = _days(record)
    if name == "max_drawdown" and days is not None:
        return f" ({days:.0f} days{', noisy' if days < _NOISY_BELOW else ''})"
    return ""


def _accuracy(results: Mapping[str, Any]) -> str | None:
    """`64.8% test (66.5% val, 1.7pp gap)`, of it what is stated."""
    tested = _percent(results.get("test_accuracy"))
    checked = _percent(results.get("val_accuracy"))
    gap = _number(results.get("val_test_gap"))
    beside = [
        part
        for part in (checked and f"{checked} val", None if gap is None else f"{gap * 100:.1f}pp gap")
        if part
    ]
    if tested is None:
        return ", ".join(beside) or None
    return f"{tested} test" + (f" ({', '.join(beside)})" if beside else "")


def _amount(words: str) -> Callable[[Any], str | None]:
    def show(value: Any) -> str | None:
        number = _number(value)
        return None if number is None else f"{number:+,.2f} {words}"

    return show


def _share(words: str) -> Callable[[Any], str | None]:
    def show(value: Any) -> str | None:
        share = _percent(value)
        return None if share is None else f"{share} {words}"

    return show


def _count(words: str) -> Callable[[Any], str | None]:
    def show(value: Any) -> str | None:
        number = _number(value)
        return (
            None if number is None else f"{number:,.0f} {words.removesuffix('s') if number == 1 else words}"
        )

    return show


_MONEY: Final[dict[str, Callable[[Any], str | None]]] = {
    "net_pnl": _amount("net"),
    "average_pnl": _amount("a citation"),
    "vs_inaction": _amount("against doing nothing"),
    "total_trades": _count("trades"),
    "evaluated": _count("outcomes"),
    "win_rate": _share("won"),
    "max_drawdown": _share("max drawdown"),
    "evidence": lambda value: f"evidence {printable_line(value)}",
}
"""Metrics of trading by the name they have in a record, in the order they are shown."""

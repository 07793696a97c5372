"""The section of an agent's next prompt: what was tried lately and what is still open.

Every line is one line, whatever a record's author wrote into it: no text of theirs can begin a heading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from memory.records.experiment import LONG_AGO, moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SHOWN: Final = 8
_PARTS: Final = 12
_LONGEST: Final = 500


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
        status = _line(hypothesis.get("status") or "untested")
        lines += [
            f"- **{_line(hypothesis.get('id'))}**: {_line(hypothesis.get('text'))}",
            f"  - Source: {_line(hypothesis.get('source_experiment') or 'not stated')} | Status: {status}",
            "",
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _is_silent(record: Mapping[str, Any]) -> bool:
    """A review's record of a period without a trade and without a result."""
    context, results = _part(record, "context"), _part(record, "results")
    if record.get("source") != "review" or not context.get("review") or "heuristic" in context:
        return False
    return results.get("total_trades") == 0 and not results.get("net_pnl")


def _experiment(record: Mapping[str, Any]) -> list[str]:
    context, results = _part(record, "context"), _part(record, "results")
    assessment = _part(record, "assessment")
    lines = [
        f"**{_line(record.get('id'))}** ({_day(record.get('timestamp'))})",
        f"- Context: {_context(context) or 'not stated'}",
        f"- Results: {_results(results) or 'not stated'}",
        f"- Verdict: {_line(assessment.get('verdict') or 'not stated')}",
    ]
    observations = _list(assessment.get("observations"))
    if observations:
        lines += ["- Observations:", *(f"  - {_line(text)}" for text in observations)]
    proposed = [_hypothesis(hypothesis) for hypothesis in _list(assessment.get("hypotheses"))]
    if proposed:
        lines.append(f"- Hypotheses: {', '.join(proposed)}")
    return lines


def _part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = record.get(name)
    return part if isinstance(part, dict) else {}


def _list(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def _line(value: Any) -> str:
    """Text on one line, without what does not print; long text is cut."""
    text = " ".join(str(value).split())
    printable = "".join(c for c in text if c.isprintable())
    return printable if len(printable) <= _LONGEST else f"{printable[: _LONGEST - 1]}…"


def _day(timestamp: Any) -> str:
    return _line(timestamp)[:10] if moment(timestamp) > LONG_AGO else "no date"


def _hypothesis(hypothesis: Any) -> str:
    if isinstance(hypothesis, dict):
        return f'"{_line(hypothesis.get("text"))}" ({_line(hypothesis.get("status") or "untested")})'
    return f'"{_line(hypothesis)}" (untested)'


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
    return " | ".join(stated) if stated else _other_values(context)


def _heuristic(context: Mapping[str, Any]) -> str | None:
    name, text, role = (_scalar(context.get(key)) for key in ("heuristic", "text", "role"))
    if name is None:
        return None
    return f"{name}{f' ({text})' if text else ''}{f', as {role}' if role else ''}"


def _names(value: Any) -> str | None:
    names = [_line(item) for item in _list(value) if not isinstance(item, dict | list)]
    return f"{', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}" if names else None


def _scalar(value: Any) -> str | None:
    return None if value is None or isinstance(value, dict | list) else _line(value)


def _indicators(context: Mapping[str, Any]) -> str | None:
    names = [_line(name) for name in _list(context.get("indicators")) if not isinstance(name, dict | list)]
    if not names:
        return None
    return f"{' + '.join(names)}{' solo' if context.get('composition') == 'solo' else ''}"


def _zigzag(context: Mapping[str, Any]) -> str | None:
    share = _percent(context.get("zigzag_threshold"))
    return None if share is None else f"zigzag {share}"


def _network(context: Mapping[str, Any]) -> str | None:
    layers = context.get("nn_architecture")
    if isinstance(layers, list) and layers:
        return f"NN [{','.join(_line(size) for size in layers)}]"
    return None if not layers else f"NN {_scalar(layers) or ''}".rstrip()


def _other_values(values: Mapping[str, Any]) -> str:
    """Whatever else was stated: name and value, in the order of the record."""
    parts = []
    for name, value in values.items():
        if isinstance(value, list):
            if names := _names(value):
                parts.append(f"{_line(name)} {names}")
        elif value is not None and not isinstance(value, dict):
            parts.append(f"{_line(name)} {_line(value)}")
    return " | ".join(parts[:_PARTS])


# what came of it


def _results(results: Mapping[str, Any]) -> str:
    accuracy = _accuracy(results)
    sharpe = _number(results.get("sharpe_ratio"))
    ratio = None if sharpe is None else f"Sharpe {sharpe:.2f}"
    if accuracy:
        return " | ".join(part for part in (accuracy, ratio) if part)
    figures = [show(results[name]) for name, show in _MONEY.items() if name in results]
    stated = [part for part in (*figures, ratio) if part]
    return " | ".join(stated) if stated else _other_values(results)


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
        return None if number is None else f"{number:,.0f} {words}"

    return show


_MONEY: Final[dict[str, Callable[[Any], str | None]]] = {
    "net_pnl": _amount("net"),
    "average_pnl": _amount("a citation"),
    "vs_inaction": _amount("against doing nothing"),
    "total_trades": _count("trades"),
    "evaluated": _count("outcomes"),
    "win_rate": _share("won"),
    "max_drawdown": _share("max drawdown"),
    "evidence": lambda value: f"evidence {_line(value)}",
}
"""Metrics of trading by the name they have in a record, in the order they are shown."""

"""The commented config.toml, written from the model, so that neither can say what the other does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from retro.config.tables import Config

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

__all__ = ["example"]

_HEAD: Final = """\
# The slow mirror's configuration. Every line shows its default; a line that begins with `#` is off until you want it.
# Relative paths begin at this file. `retro doctor` says what works and what does not.
#
# No secret stands here. They come from $CREDENTIALS_DIRECTORY/<name> (systemd), a file named by $<NAME>_FILE, or the
# environment: ANTHROPIC_API_KEY, RETRO_SMTP_PASSWORD, RETRO_FORGE_TOKEN, RETRO_NOTIFY_URLS, RETRO_MCP_KEY,
# RETRO_EMBEDDING_KEY.
"""
_MANY: Final = {
    "source": """\
# [[source]]
# kind = "freqtrade"
# path = "/srv/freqtrade/user_data/tradesv3.sqlite"
# candles = "/srv/freqtrade/user_data/data/binance"
#
# [[source]]
# kind = "journal"
# path = "agent.jsonl"
""",
    "shadow": """\
# [[shadow]]
# name = "tight-stop"
# agent = "my-agent"
# rule = "stop -3%"
# since = "2026-03-01"
""",
    "agent": """\
# [agent.my-agent]
# playbook = "PLAYBOOK.md"
# capital = 1000
# base_currency = "USDC"
# backtest = "my-backtest"
""",
    "fields": """\
# [memory.fields.funding_rate]
# kind = "absolute"
# weight = 0.10
# bandwidth = 0.0005
# unit = "per 8 h"
""",
    "beta": """\
# [benchmark.beta]
# ETH = 1.2
""",
    "tokens": """\
# [mcp.tokens]
# my-agent = "RETRO_MCP_MY_AGENT"
""",
}
_GROUPS: Final = {
    "daily_review_enabled": "Which reviews there are.",
    "review_inference_tier": "Who words them.",
    "trajectory_checkpoint_intervals": "How positions are measured.",
    "heuristic_min_citations": "Heuristic audit.",
    "attribution_decay": "Context attribution.",
    "residual_buffer_size": "Residual correction.",
    "calibration_min_samples": "Confidence calibration.",
    "tier_comparison_min_samples": "Cost-effectiveness of the tiers.",
    "meta_learning_enabled": "Meta-learning.",
    "max_shadow_strategies": "Shadow strategies.",
}
_WIDTH: Final = 118


def example() -> str:
    """The whole file: every table and key, its default or an example, and what it means."""
    blocks = [_HEAD]
    for name, field in Config.model_fields.items():
        if name in _MANY:
            blocks.append(f"# {_doc(field)}\n{_MANY[name]}")
        else:
            blocks.append(_table(name, field))
    return "\n".join(blocks)


def _table(name: str, field: FieldInfo) -> str:
    model: type[BaseModel] = field.annotation  # type: ignore[assignment]  # every other field of Config is a table
    lines = [f"# {model.__doc__}", f"[{name}]"]
    for key, inner in model.model_fields.items():
        if key in _GROUPS:
            lines += [""] * (len(lines) > 2) + [f"# {_GROUPS[key]}"]
        lines += [f"\n# {_doc(inner)}\n{_MANY[key]}".rstrip()] if key in _MANY else _entry(key, inner)
    return "\n".join(lines) + "\n"


def _entry(key: str, field: FieldInfo) -> list[str]:
    off = field.examples is not None
    value = field.examples[0] if field.examples else field.default
    assignment = f"{'# ' * off}{key} = {_toml(value)}"
    line = f"{assignment:<46}  # {_doc(field)}"
    return [line] if len(line) <= _WIDTH else [f"# {_doc(field)}", assignment]


def _doc(field: FieldInfo) -> str:
    return field.description or ""


def _toml(value: Any) -> str:
    """TOML spells booleans, numbers, texts and lists of texts as JSON does."""
    return json.dumps(value if isinstance(value, bool | int | float | list | tuple) else str(value))

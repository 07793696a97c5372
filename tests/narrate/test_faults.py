"""Whatever comes back from a model, the review stands on time, in plain words that say why (faults 17 and 18)."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest

from retro.app.narration.narrate import narrated
from retro.narrate import plain
from retro.report import RetrospectiveReport
from retro.store.database import Store
from retro.testing.model import (
    Answer,
    FakeModel,
    Script,
    cut,
    dripping,
    failing,
    overloaded,
    raw,
    refused,
    said,
    truncated,
)
from tests.worlds.narrations import GOOD, KEY, NOW, booked, configured, house, narrate, report, with_text

__all__ = ["house", "report"]  # fixtures

MARKER = "zebra"
"""A word that no code writes."""

PLAIN: list[tuple[str, Script, int, str]] = [
    ("refusal", refused(f"I will not, {MARKER}."), 1, "the model declined to answer"),
    ("cut off by its limit", truncated(json.dumps(GOOD)[:50]), 2, "the answer did not fit into its limit"),
    ("context", Answer(stop_reason="model_context_window_exceeded"), 1, "does not fit into the model's context"),
    ("tool use", Answer(MARKER, stop_reason="tool_use"), 1, "stopped without an answer"),
    ("no stop reason", raw(b'{"content": []}'), 1, "stopped without an answer"),
    ("429", failing(429, MARKER), 1, "429 (too many requests)"),
    ("500", failing(500, MARKER), 1, "500"),
    ("529", overloaded(), 1, "529 (overloaded)"),
    ("401", failing(401, MARKER), 1, "401 (the key was not accepted)"),
    ("a status of its own", failing(418, MARKER), 1, "answered an error"),
    ("cut stream", cut(GOOD, 100), 1, "the connection broke"),
    ("html", raw(f"<html>{MARKER}</html>".encode()), 1, "stopped without an answer"),
    ("no JSON", said(MARKER), 2, "not a JSON object of the schema"),
    ("half a JSON", said(json.dumps(GOOD)[:-1]), 2, "not a JSON object of the schema"),
    ("wrong types", said(GOOD | {"hindsight": 5}), 2, "not a JSON object of the schema"),
    ("no text", Answer(content=[{"type": "thinking", "thinking": MARKER}]), 2, "not a JSON object"),
    ("a number", said(with_text(f"{MARKER} made 5.")), 2, "a number that code did not write"),
    ("a number in words", said(with_text(f"{MARKER} made fifty.")), 2, "a number in words"),
    ("html in words", said(with_text(f"<b>{MARKER}</b>")), 2, "markup"),
    ("an unknown slot", said(with_text(f"{{{MARKER}}}")), 2, "an unknown slot"),
    ("a verdict", said(with_text(f"{MARKER} is proven.")), 2, "a verdict stronger than the evidence"),
    ("a quotation", said(with_text(f'It said "{MARKER}".')), 2, "a quotation of nothing the agent wrote"),
    ("a proposal", said(GOOD | {"proposals": [{"heuristic_id": MARKER, "text": "x"}]}), 2, "not listed"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "calls", "why"), [row[1:] for row in PLAIN], ids=[row[0] for row in PLAIN]
)
def test_faults_17_and_18_whatever_comes_back_the_review_stands_in_plain_words_and_says_why(
    house: Store, report: RetrospectiveReport, script: Script, calls: int, why: str
) -> None:
    """Refusals, errors, cut streams, bad JSON, wrong numbers, HTML; and never more than two calls."""
    worded, model = narrate(house, report, script)
    silent = plain.words(report)
    assert worded.model_dump(exclude={"narrative"}) == silent.model_dump(exclude={"narrative"})
    assert worded.narrative.source == "plain"
    assert why in (worded.narrative.why or "")
    assert MARKER not in (worded.narrative.why or "")
    assert len(model.calls) == calls


def test_fault_17_a_dripping_answer_costs_its_reservation_and_no_more_than_its_time(
    house: Store, report: RetrospectiveReport
) -> None:
    with FakeModel(dripping(GOOD, 0.05)) as model:
        narrated(house, configured(model.url, enabled=False), KEY, report, NOW)  # loads what there is to load
        began = time.monotonic()
        worded = narrated(house, configured(model.url, timeout_s=0.5), KEY, report, NOW)
        assert time.monotonic() - began < 3
    assert (worded.narrative.source, worded.narrative.why) == ("plain", "the model did not answer in time")
    assert 0 < booked(house).usd == Decimal(str(worded.narrative.cost))


@pytest.mark.parametrize(
    "usage",
    [{}, {"input_tokens": 1}, {"input_tokens": "1", "output_tokens": 1}, {"input_tokens": -1, "output_tokens": 1},
     {"input_tokens": 1.5, "output_tokens": 1}, {"input_tokens": True, "output_tokens": 1}, {"output_tokens": 1},
     {"input_tokens": 1, "output_tokens": 1 << 60}],
)  # fmt: skip
def test_usage_that_cannot_be_believed_leaves_the_reservation_spent(
    house: Store, report: RetrospectiveReport, usage: dict[str, Any]
) -> None:
    worded, _ = narrate(house, report, said(GOOD, usage=usage))
    assert worded.narrative.source == "model"
    assert booked(house).usd > Decimal("0.004")  # 8,000 tokens of output alone

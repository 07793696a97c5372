"""A review in a model's words: only words change, money is booked to the token, and whatever fails ends on time."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from retro.app.narration.narrate import model_exchanges, narrated, narrated_position, tier_of
from retro.narrate import plain
from retro.narrate.prices import Usage, price_of
from retro.narrate.slots import report_slots
from retro.present.formats import render
from retro.report import RetrospectiveReport
from retro.store.database import Store, open_store
from retro.testing.model import (
    Answer,
    FakeModel,
    raw,
    refused,
    said,
    truncated,
)
from tests.worlds.narrations import (
    GOOD,
    KEY,
    NOW,
    booked,
    configured,
    cut_answers,
    generated,
    hostile_answer,
    house,
    misshapen_answers,
    narrate,
    report,
    sound_answer,
    texts_of,
    with_text,
)

__all__ = ["house", "report"]  # fixtures

FORK = multiprocessing.get_context("fork")
WORDS = {"narrative", "what_worked", "what_failed", "hindsight", "positions", "playbook_proposals"}


def figures_of(report: RetrospectiveReport) -> dict[str, Any]:
    """Everything but what a model may word."""
    document = report.model_dump(mode="json")
    for position in document["positions"]:
        del position["what_went_wrong"], position["lesson"]
    document["playbook_proposals"] = [
        proposal for proposal in document["playbook_proposals"] if proposal["origin"] != "model"
    ]
    return {
        name: value
        for name, value in document.items()
        if name not in WORDS - {"positions", "playbook_proposals"}
    }


def test_only_words_change(house: Store, report: RetrospectiveReport) -> None:
    narrated_report, model = narrate(house, report, said(GOOD))
    before = plain.words(report)
    assert narrated_report.narrative.source == "model"
    assert narrated_report.narrative.model == "claude-haiku-5-5"
    assert figures_of(narrated_report) == figures_of(before)
    assert narrated_report.what_worked.startswith("Trading gains came to 8.30 USDC.")
    worded = [
        p.position_id for p, q in zip(narrated_report.positions, before.positions, strict=True) if p != q
    ]
    assert worded == ["t-2"]
    [proposal] = narrated_report.playbook_proposals
    assert (proposal["op"], proposal["heuristic"], proposal["origin"]) == ("add", "H-8", "model")
    assert proposal["new"].startswith("- H-8 [0.35] Add size only once the fees")
    assert proposal["falsified_by"]
    assert "supported" not in json.dumps(proposal["evidence"])
    assert len(model.calls) == 1


def test_the_ledger_comes_to_what_the_model_counted(store: Store, report: RetrospectiveReport) -> None:
    """On both databases: every token of every answer, at the price of its kind, and nothing else."""
    script = [
        said(with_text("It made 5.")),
        said(GOOD),
        truncated('{"what'),
        said(GOOD),
        refused(),
        raw(b"{}"),
    ]
    with FakeModel(script, cache_minimum=0) as model:
        costs = [
            narrated(
                store, configured(model.url), KEY, report.model_copy(update={"id": f"r{n}"}), NOW
            ).narrative.cost
            for n in range(3)
        ]
        counted = model.billed
    price = price_of("claude-haiku-5-5", date(2026, 11, 18))
    assert price is not None
    usage = Usage(
        counted["input_tokens"],
        counted["output_tokens"],
        counted["cache_read_input_tokens"],
        counted["cache_creation_input_tokens"],
    )
    assert min(usage.input, usage.output, usage.cache_read, usage.cache_write_5m) > 0
    ledger = booked(store)
    assert ledger.usd == price.cost(usage)
    assert (ledger.tokens_in, ledger.tokens_out, ledger.calls) == (usage.prompt, usage.output, 5)
    assert sum(Decimal(str(cost)) for cost in costs) == ledger.usd


def test_eight_processes_share_one_budget_and_the_ledger_still_comes_to_the_token(
    store: Store, database_url: str, report: RetrospectiveReport
) -> None:
    """Eight at once ask for far more words than there is money for: what is booked is what was answered, under the cap."""
    cap = Decimal("0.03")

    def works(number: int) -> None:
        own = open_store(database_url)
        config = configured(url, max_usd_per_day=float(cap))
        narrated_reports = [
            narrated(own, config, KEY, report.model_copy(update={"id": f"{number}.{n}"}), NOW)
            for n in range(10)
        ]
        os._exit(sum(narrated_report.narrative.source == "model" for narrated_report in narrated_reports))

    with FakeModel(said(GOOD, usage={"input_tokens": 9000, "output_tokens": 600})) as model:
        url = model.url
        processes = [FORK.Process(target=works, args=(number,)) for number in range(8)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        calls = len(model.calls)
    worded = sum(process.exitcode or 0 for process in processes)
    ledger = booked(store)
    assert worded == calls == ledger.calls
    assert (ledger.tokens_in, ledger.tokens_out) == (
        model.billed["input_tokens"],
        model.billed["output_tokens"],
    )
    assert ledger.usd == calls * Decimal("0.0012")
    assert 0 < calls <= 25  # how many depends on how often what one has set aside keeps another from asking
    assert ledger.usd <= cap


def test_a_second_attempt_gets_the_faults_and_the_same_stable_beginning(
    house: Store, report: RetrospectiveReport
) -> None:
    narrated_report, model = narrate(house, report, [said(with_text("H-7 lost 5 USDC.")), said(GOOD)])
    assert narrated_report.narrative.source == "model"
    first, second = (request.body for request in model.calls)
    assert second["system"] == first["system"]
    assert second["messages"][:1] == first["messages"]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert "what_worked: a number that code did not write" in second["messages"][2]["content"]


def test_an_answer_that_did_not_fit_gets_twice_the_room_once(
    house: Store, report: RetrospectiveReport
) -> None:
    narrated_report, model = narrate(house, report, [truncated("{"), said(GOOD)])
    assert narrated_report.narrative.source == "model"
    assert [request.body["max_tokens"] for request in model.calls] == [8000, 16000]


def test_the_text_is_found_behind_thinking(house: Store, report: RetrospectiveReport) -> None:
    blocks = [{"type": "thinking", "thinking": "5"}, {"type": "text", "text": json.dumps(GOOD)}]
    narrated_report, _ = narrate(house, report, Answer(content=blocks))
    assert narrated_report.narrative.source == "model"


def test_a_cap_is_kept_and_named(house: Store, report: RetrospectiveReport) -> None:
    narrated_report, model = narrate(house, report, said(GOOD), max_usd_per_review=0.001)
    assert model.calls == []
    assert (narrated_report.narrative.source, narrated_report.narrative.cost) == ("plain", None)
    assert (narrated_report.narrative.why or "").startswith("the cap of 0.001 USD a review leaves no room")
    narrated_report, model = narrate(house, report, said(with_text("5")), max_usd_per_day=0.0068)
    assert len(model.calls) == 1, "the first attempt left too little for a second"
    assert "then the cap of 0.0068 USD a day" in (narrated_report.narrative.why or "")


@pytest.mark.parametrize(
    ("llm", "env", "why"),
    [
        ({"t1_model": "claude-unheard-of"}, KEY, "no price is known for the model claude-unheard-of"),
        ({"enabled": False}, KEY, "switched off"),
        ({}, {}, "there is no key"),
        ({"enabled": True}, {}, "there is no key"),
        ({}, {"ANTHROPIC_API_KEY_FILE": "/nowhere/at/all"}, "cannot be read"),
    ],
)
def test_without_a_key_a_price_or_leave_nobody_is_asked(
    house: Store, report: RetrospectiveReport, llm: dict[str, Any], env: Any, why: str
) -> None:
    with FakeModel(said(GOOD)) as model:
        narrated_report = narrated(house, configured(model.url, **llm), env, report, NOW)
    assert why in (narrated_report.narrative.why or "")
    assert (model.requests, booked(house).calls, narrated_report.narrative.cost) == ([], 0, None)
    assert narrated_report.narrative.prompt is None


def test_a_ledger_that_cannot_be_written_lets_nobody_be_asked(
    house: Store, report: RetrospectiveReport, tmp_path: Path
) -> None:
    (tmp_path / "retro.db").unlink()
    with FakeModel(said(GOOD)) as model:
        narrated_report = narrated(house, configured(model.url), KEY, report, NOW)
    assert (narrated_report.narrative.source, model.calls) == ("plain", [])
    assert "ledger" in (narrated_report.narrative.why or "")


@pytest.mark.parametrize(
    ("kind", "tier"),
    [("daily", "T1"), ("weekly", "T1"), ("custom", "T1"), ("loss", "T1"), ("position", "T1"), ("epoch", "T2"),
     ("death", "T2")],
)  # fmt: skip
def test_the_tier_follows_the_kind_of_review(
    house: Store, report: RetrospectiveReport, kind: str, tier: str
) -> None:
    assert tier_of(configured(), kind) == tier
    if kind != "position":
        kinded = report.model_copy(update={"horizon": kind})
        with FakeModel(said(GOOD)) as model:
            narrated_report = narrated(
                house, configured(model.url, t1_model="claude-haiku-5-5"), KEY, kinded, NOW
            )
        assert narrated_report.narrative.model == {"T1": "claude-haiku-5-5", "T2": "claude-sonnet-5-5"}[tier]
        assert list(booked(house).by_tier) == [tier]


@pytest.mark.parametrize(("usual", "epochs"), [("T2", "T1"), ("T0", "T2"), ("T1", "T0")])
def test_the_configuration_says_which_tier_words_which_kind(
    house: Store, report: RetrospectiveReport, usual: str, epochs: str
) -> None:
    with FakeModel(said(GOOD)) as model:
        tiers = {"review_inference_tier": usual, "epoch_inference_tier": epochs}
        config = configured(model.url).model_copy(
            update={"retrospective": configured().retrospective.model_copy(update=tiers)}
        )
        for kind, tier in (("weekly", usual), ("loss", usual), ("epoch", epochs), ("death", epochs)):
            assert tier_of(config, kind) == tier
            narrated_report = narrated(house, config, KEY, report.model_copy(update={"horizon": kind}), NOW)
            named = {"T0": None, "T1": "claude-haiku-5-5", "T2": "claude-sonnet-5-5"}[tier]
            assert (narrated_report.narrative.model, narrated_report.narrative.source) == (
                named,
                "model" if named else "plain",
            )


def test_a_review_taken_up_again_is_not_paid_twice(house: Store, report: RetrospectiveReport) -> None:
    script: Callable[[dict[str, Any]], Answer] = lambda body: said(  # noqa: E731
        GOOD if len(body["messages"]) > 1 else with_text("5")
    )
    with FakeModel(script) as model:
        config = configured(model.url)
        once = narrated(house, config, KEY, report, NOW)
        again = narrated(house, config, KEY, report, NOW + 1, resume=True)
        assert (again, len(model.calls)) == (once, 2)
        narrated(house, config, KEY, report.model_copy(update={"revision": 2}), NOW, resume=True)
        assert len(model.calls) == 4


@pytest.mark.parametrize("form", ["json", "text", "md", "html"])
def test_slots_are_filled_in_every_format(house: Store, report: RetrospectiveReport, form: Any) -> None:
    narrated_report, _ = narrate(house, report, said(GOOD))
    page = " ".join(render(narrated_report, form).split())
    assert "{pnl." not in page
    assert "{h." not in page
    assert "The week ended at -2.40 USDC" in page


def test_exchanges_are_kept_for_replay(house: Store, report: RetrospectiveReport) -> None:
    narrated_report, model = narrate(house, report, [said(with_text("5")), said(GOOD)])
    exchanges = model_exchanges(house, "w.weekly.2026-W10")
    assert [exchange["request"] for exchange in exchanges] == [request.body for request in model.calls]
    assert [json.loads(exchange["answer"])["stop_reason"] for exchange in exchanges] == [
        "end_turn",
        "end_turn",
    ]
    assert exchanges[0]["prompt"].startswith("report.v1.md sha256:")
    assert "repair.v1.md" in exchanges[1]["prompt"]
    assert narrated_report.narrative.prompt == exchanges[1]["prompt"], (
        "the review names the prompt it was worded by"
    )
    assert KEY["ANTHROPIC_API_KEY"] not in json.dumps(exchanges)


def test_a_position_is_worded_the_same_way(house: Store, report: RetrospectiveReport) -> None:
    position = next(p for p in plain.words(report).positions if p.position_id == "t-2")
    answer = {"what_went_wrong": "It was left at {p.t-2.final_pnl}.", "lesson": "Wait for the range."}
    with FakeModel([said(answer), said(answer | {"lesson": "Wait 5 days."})]) as model:
        config = configured(model.url)
        worded_position, narrative = narrated_position(house, config, KEY, position, NOW, currency="USDC")
        assert (worded_position.what_went_wrong, worded_position.lesson) == (
            "It was left at -5.00 USDC.",
            "Wait for the range.",
        )
        assert narrative.source == "model"
        worded_position, narrative = narrated_position(house, config, KEY, position, NOW, currency="USDC")
        assert (worded_position, narrative.source) == (position, "plain")


def test_answers_over_the_wire_leave_no_figure_but_codes(house: Store, report: RetrospectiveReport) -> None:
    """As in-process, but through the whole way: about a hundred answers, a third of them sound."""
    answers = [
        *islice(generated(sound_answer, 5), 30),
        *islice(generated(hostile_answer, 6), 40),
        *list(cut_answers())[::40],
        *list(misshapen_answers())[::10],
    ]
    slots = report_slots(report).by_name.values()
    ours = sorted({slot.text for slot in slots}, key=len, reverse=True)
    silent = plain.words(report)
    sources = []
    with FakeModel(raw(b"")) as model:
        config = configured(model.url, max_usd_per_review=1e6, max_usd_per_day=1e6, max_usd_per_month=1e6)
        for answer in answers:
            model.script = said(answer)
            narrated_report = narrated(house, config, KEY, report, NOW)
            assert figures_of(narrated_report) == figures_of(silent)
            sources.append(narrated_report.narrative.source)
            if narrated_report.narrative.source == "plain":
                assert narrated_report.model_dump(exclude={"narrative"}) == silent.model_dump(
                    exclude={"narrative"}
                )
                continue
            words = "\n".join(texts_of(narrated_report.model_copy(update={"playbook_proposals": []})))
            for position in silent.positions:  # where the model was silent the plain words stand
                words = words.replace(position.what_went_wrong or "\0", "").replace(
                    position.lesson or "\0", ""
                )
            for figure in ours:
                words = words.replace(figure, "")
            assert not any(c.isnumeric() for c in words), words
    assert sources == ["model"] * 30 + ["plain"] * (len(answers) - 30)
    assert len(answers) > 90

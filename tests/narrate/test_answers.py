"""Ten thousand answers: the sound ones become words whose every figure is code's, the others none at all."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

import pytest

from retro.narrate import plain
from retro.narrate.subject import GroundedWords, Subject, check, report_subject
from retro.store.database import open_store
from tests.worlds.narrations import GOOD, lived


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    store = open_store(str(tmp_path_factory.mktemp("week") / "retro.db"))
    week_subject = report_subject(plain.words(lived(store)))
    store.close()
    return week_subject


PROSE = (
    "the range held", "fees paid for the gas", "nobody could have known", "several of the trades lost",
    "the first entry was early", "size went up too soon", "it was left late", "cash did better", "the exit came early",
    "acting beat waiting", "one loss outweighed the gains", "the reason given was about fees", "it is one outcome",
)  # fmt: skip
SLOTTED = (
    "the week ended at {pnl.total}", "gains were {pnl.trading_gains}", "{h.H-3.name} averaged {h.H-3.avg}",
    "{h.H-7.name} has {h.H-7.evidence}", "{p.t-2.name} closed at {p.t-2.final_pnl}", "it won {by_entry_tag.H-3.win_rate}",
    'it wrote "the range is good"', "the rule says to {h.H-7.recommendation}", "fees took {fee_drag}",
)  # fmt: skip
HOSTILE = (
    "it made 42", "it made ４２", "it made ٤٢", "it made 四十二", "it made forty-two", "it made four hundred", "it rose ten percent",
    "it made {pnl.profit}", "it made {h.H-42.avg}", "it made {pnl.total", "it made -{pnl.total}", "H-7 lost", "t-2 lost",
    "it made five", "it lost seven of nine trades", "it made hun dred", "it made cinco", "week xlvii", "it lost zero",
    "it made {pnl.total} k", "it made {pnl.total} a day", "it gained {pnl.total}", "{h.H-3.name} averaged {h.H-7.avg}",
    "it made {pnl.total|abs}", "it made &#49;", "it made %31", "it made \\frac{1}{2}", "it made 5️⃣", "it made Ⅻ", "it made x²",
    "on March 4", "on Tuesday", "in December", "at 14:05", "half was lost", "it doubled", "it made ½", "it made $", "it made %",
    "<b>gain</b>", "<script>x</script>", "**gain**", "[gain](x)", "https://evil.example", "evil.example", "a\u200bb", "\u202eab",
    "{h.H-7.name} is proven", "this is supported", "it is statistically sound", "{h.H-7.name} never pays",
    'it wrote "no such thing"', "{h.H-3.name} should be retired", "gаin", "week XLVII", "a\x07b", "dozens of trades",
)  # fmt: skip


def sentence(rng: random.Random, *pools: tuple[str, ...]) -> str:
    text = rng.choice(rng.choice(pools))
    return (text[0].upper() + text[1:] if text[0] not in "{<*[\u202e" else text) + rng.choice(
        (".", ".", "!", "; so it goes.")
    )


def paragraph(rng: random.Random, *extra: str, own: str = "t-2") -> str:
    parts = [sentence(rng, PROSE, SLOTTED).replace("t-2", own) for _ in range(rng.randint(1, 4))]
    for text in extra:
        parts.insert(rng.randrange(1, len(parts) + 1), f"So {text}.")
    return rng.choice((" ", "  ", "\n")).join(parts)


def sound_answer(rng: random.Random) -> dict[str, Any]:
    answer = {name: paragraph(rng) for name in ("what_worked", "what_failed", "hindsight")}
    positions = rng.sample(["t-1", "t-2", "t-4", "t-7"], rng.randint(0, 3))
    return answer | {
        "positions": [
            {"position_id": name, "what_went_wrong": paragraph(rng, own=name), "lesson": sentence(rng, PROSE)}
            for name in positions
        ],
        "proposals": [{"heuristic_id": "H-7", "text": sentence(rng, PROSE)}] * rng.randint(0, 1),
    }


def hostile_answer(rng: random.Random) -> dict[str, Any]:
    answer = sound_answer(rng)
    places: list[tuple[dict[str, Any], str]] = [
        (answer, name) for name in ("what_worked", "what_failed", "hindsight")
    ]
    places += [(entry, name) for entry in answer["positions"] for name in ("what_went_wrong", "lesson")]
    places += [(entry, "text") for entry in answer["proposals"]]
    where, name = rng.choice(places)
    where[name] = paragraph(rng, rng.choice(HOSTILE))
    return answer


def cut_answers() -> Iterator[str]:
    """The sound answer cut at every byte but the last."""
    whole = json.dumps(GOOD).encode()
    yield from (whole[:n].decode() for n in range(len(whole)))


def misshapen_answers() -> Iterator[str]:
    values: tuple[Any, ...] = (None, 0, 1.5, True, [], {}, ["x"], {"x": "y"}, [[]], 10**30)
    for name, value in product(GOOD, values):
        if not (name in {"positions", "proposals"} and value == []):
            yield json.dumps(GOOD | {name: value})
    for name in ("what_worked", "what_failed", "hindsight"):
        yield json.dumps({key: value for key, value in GOOD.items() if key != name})
    for name, value in product(("positions", "proposals"), values):
        yield json.dumps(GOOD | {name: [value]})
        yield json.dumps(GOOD | {name: [GOOD[name][0] | {"position_id": value, "heuristic_id": value}]})
    yield from (json.dumps(GOOD | {name: 0.9}) for name in ("confidence", "pnl", "narrative", "reason"))
    yield from (
        "",
        " ",
        "null",
        "0",
        "[]",
        "{}",
        "true",
        '"x"',
        "NaN",
        "[" * 5000,
        "{" * 5000,
        '{"a":' * 3000,
    )
    yield from (
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here it is: {json.dumps(GOOD)}",
        json.dumps([GOOD]),
        "I refuse.",
    )
    yield json.dumps(GOOD).replace("trading_gains", "\\ud800")
    yield json.dumps(GOOD).replace('"what_worked"', '"what_worked": "It made 5.", "what_Worked"')


def generated(make: Callable[[random.Random], dict[str, Any]], seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    while True:
        yield json.dumps(make(rng), ensure_ascii=rng.random() < 0.5)


def test_of_ten_thousand_answers_only_sound_ones_are_taken_and_no_figure_but_codes(subject: Subject):
    """Well-formed ones all pass; wrong numbers, unknown slots, spelled numbers, markup, cuts and wrong types never do."""
    sound = list(islice(generated(sound_answer, 1), 3000))
    bad = [*cut_answers(), *misshapen_answers()]
    bad += islice(generated(hostile_answer, 2), 10_000 - len(sound) - len(bad))
    assert len(sound) + len(bad) == 10_000
    figures = sorted({slot.text for slot in subject.ground.slots.by_name.values()}, key=len, reverse=True)
    ours = re.compile("|".join(map(re.escape, figures)))
    for answer in sound:
        grounded = check(subject, answer)
        assert isinstance(grounded, GroundedWords), (answer, grounded)
        texts = [*grounded.fields.values(), *(text for pair in grounded.positions.values() for text in pair)]
        texts += grounded.candidates.values()
        assert not any(c.isnumeric() for text in texts for c in ours.sub("", text)), answer
    accepted = [answer for answer in bad if isinstance(check(subject, answer), GroundedWords)]
    assert accepted == []

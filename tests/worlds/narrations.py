"""A week to be put into words, and answers a model might give about it, for tests."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from retro import config
from retro.app.narration.narrate import narrated
from retro.config import Config
from retro.report import RetrospectiveReport
from retro.store import spend
from retro.store.database import Store, open_store
from retro.testing.model import FakeModel, Script
from tests.worlds import lives
from tests.worlds.lives import agent_of, live

AGENT = "w"
NOW = 1_795_000_000_000_000  # 2026-11-18
WEEK = "2026-03-0"
WHY_IN = "Fees have paid for the gas, and the range is good. Per heuristic H-3."
WHY_UP = "Accuracy was above 80 % for two days, size goes up. Per heuristic H-7."
WHY_OUT = "It moved away from the centre."

# day, hours held, side of the trade's luck (price change), heuristic
_TRADES = (
    (2, 20, +3.0, "H-3"),
    (2, 30, -1.0, "H-3"),
    (3, 20, -4.8, "H-7"),
    (3, 10, +2.0, "H-3"),
    (4, 26, -3.6, "H-7"),
    (4, 12, +1.5, "H-3"),
    (5, 30, +2.1, "H-7"),
    (5, 18, -0.5, "H-3"),
    (6, 8, +0.7, "H-3"),
)


def week(texts: Sequence[str] = (), *, strategy: str = "range") -> bytes:
    """Nine trades of one week. `texts` go, in turn, into the reasons the agent gives."""
    lines = [json.dumps(line, ensure_ascii=False) for line in _lines(list(texts), strategy)]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def _lines(texts: list[str], strategy: str) -> list[dict[str, Any]]:
    def phrase(otherwise: str) -> str:
        return f"{otherwise} {texts.pop(0)}" if texts else otherwise

    def fact(kind: str, at: str, /, **fields: Any) -> None:
        lines.append({"type": kind, "id": f"{kind}-{len(lines)}", "agent": AGENT, "at": at, **fields})

    lines: list[dict[str, Any]] = []
    fact("equity", f"{WEEK}1T00:00:00Z", value="1000", balances={"USDC": "1000"})
    for hour in range(24 * 9):
        price = 100 + (hour * 7919 % 13) / 4
        fact("mark", f"{WEEK}{1 + hour // 24}T{hour % 24:02d}:00:00Z", asset="ETH", price=price)
    for number, (day, duration, change, rule) in enumerate(_TRADES):
        name, entry = f"t-{number}", f"{WEEK}{day}T0{number}:30:00Z"
        exit_hour = 24 * day + number + duration
        leave = f"{WEEK}{exit_hour // 24}T{exit_hour % 24:02d}:30:00Z"
        common = {"position": name, "instrument": "ETH/USDC"}
        fact("position", entry, **common, kind="spot", venue="v", side="long", strategy=strategy)
        why = WHY_UP if rule == "H-7" else WHY_IN
        fact("decision", entry, **common, action="enter", reasoning=phrase(why), cites=[rule])
        fact("fill", entry, **common, side="buy", quantity="1", price="100", fee="0.1")
        fact("decision", leave, **common, action="exit", reasoning=phrase(WHY_OUT), cites=[])
        fact("fill", leave, **common, side="sell", quantity="1", price=str(100 + change), fee="0.1")
        fact("exit", leave, position=name, reason="target")
    for day in range(2, 9):
        fact(
            "decision", f"{WEEK}{day}T23:00:00Z", action="hold", reasoning=phrase("Nothing to do."), cites=[]
        )
    return lines


def lived(store: Store, texts: Sequence[str] = (), *, strategy: str = "range") -> RetrospectiveReport:
    """The week's report, its words still empty."""
    assert live(store, week(texts, strategy=strategy)).clean
    return lives.report(store, AGENT, "weekly", at=(agent_of(store, AGENT).first_at or 0) + 2 * DAY)


def configured(url: str = "", **llm: Any) -> Config:
    """A configuration whose model lives at a URL."""
    return config.Config.model_validate(
        {"llm": {"timeout_s": 20.0} | ({"base_url": url} if url else {}) | llm}
    )


DAY = 86_400_000_000
KEY = {"ANTHROPIC_API_KEY": "sk-test-0123456789"}

GOOD: dict[str, Any] = {
    "what_worked": "Trading gains came to {pnl.trading_gains}. {h.H-3.name} averaged {h.H-3.avg}, with {h.H-3.evidence}.",
    "what_failed": 'The week ended at {pnl.total}; {h.H-7.name} made {h.H-7.pnl}. It went in because "size goes up".',
    "hindsight": "{p.t-2.name} could have been left at {p.t-2.optimal_exit_at}; nobody knew that then.",
    "positions": [
        {
            "position_id": "t-2",
            "what_went_wrong": "It was entered at a high and left at {p.t-2.final_pnl}.",
            "lesson": "Wait for the range to settle before adding size.",
        }
    ],
    "proposals": [{"heuristic_id": "H-7", "text": "Add size only once the fees of the entry are earned."}],
}
"""A sound answer about the week."""


def with_text(text: Any, where: str = "what_worked") -> dict[str, Any]:
    """The sound answer with one of its texts replaced."""
    answer: dict[str, Any] = json.loads(json.dumps(GOOD))
    if where in answer:
        answer[where] = text
    elif where in {"what_went_wrong", "lesson"}:
        answer["positions"][0][where] = text
    else:
        answer["proposals"][0]["text"] = text
    return answer


def texts_of(report: RetrospectiveReport) -> list[str]:
    """Every text of a report that a model may have worded."""
    texts = [report.what_worked, report.what_failed, report.hindsight, report.narrative.why or ""]
    for position in report.positions:
        texts += [position.what_went_wrong or "", position.lesson or ""]
    return texts + [json.dumps(entry) for entry in report.playbook_proposals if entry["origin"] == "model"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> RetrospectiveReport:
    """The figures of the week."""
    store = open_store(str(tmp_path_factory.mktemp("week") / "retro.db"))
    weekly = lived(store)
    store.close()
    return weekly


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Store]:
    store = open_store(str(tmp_path / "retro.db"))
    yield store
    store.close()


def narrate(
    store: Store, report: RetrospectiveReport, script: Script, **llm: Any
) -> tuple[RetrospectiveReport, FakeModel]:
    with FakeModel(script) as model:
        return narrated(store, configured(model.url, **llm), KEY, report, NOW), model


def booked(store: Store) -> spend.Spent:
    with store.read() as conn:
        return spend.spent(conn)


# Answers by chance

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

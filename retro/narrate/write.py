"""Getting words for one review: reserve, call, settle, read, ground; one second attempt; else say why there are none.

Money is reserved before each call and settled from the usage stated in the answer before its text is looked at. What
`why` says is always in our own words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from retro.narrate.client import Reply, ask
from retro.narrate.prices import price_of, usage_of
from retro.narrate.prompt import ask_again, extraction_of, prompt_of, request_of, token_bound
from retro.narrate.subject import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from retro.narrate.ground import Objection
    from retro.narrate.prices import Price, Usage
    from retro.narrate.subject import GroundedWords, Subject
    from retro.secret import Secret

__all__ = ["Extracted", "ModelSession", "NarrationResult", "Purse", "extract", "write"]

_FAILED: Final = {
    "timeout": "the model did not answer in time",
    "unreachable": "the model's service could not be reached",
    "cut off": "the connection broke before the answer was whole",
    "too long": "the answer was longer than any answer can be",
    "broken": "the call to the model failed",
}
_STATUS: Final = {
    400: "400 (the request was not understood)",
    401: "401 (the key was not accepted)",
    402: "402 (the account cannot pay)",
    403: "403 (the key may not use this model)",
    404: "404 (there is no such model, or base_url is wrong)",
    408: "408 (too slow)",
    413: "413 (the request was too large)",
    429: "429 (too many requests)",
    500: "500 (an error of its own)",
    502: "502 (an error on the way)",
    503: "503 (unavailable)",
    504: "504 (too slow)",
    529: "529 (overloaded)",
}
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Answers that another time may not be given; the others stay until a person changes something."""
_STOPPED: Final = {
    "refusal": "the model declined to answer",
    "max_tokens": "the answer did not fit into its limit",
    "model_context_window_exceeded": "the review does not fit into the model's context",
}
_ENDED: Final = ("end_turn", "stop_sequence")
_KINDS_SAID: Final = 4


class Purse(Protocol):
    """Where the money comes from. Each call is a transaction of its own."""

    def reserve(self, request: dict[str, Any], worst: Decimal, prompt: str) -> int | str:
        """A receipt for the most a call can cost, or why it may not be made."""

    def settle(
        self, receipt: int, reply: Reply, usage: Usage | None, cost: Decimal | None, outcome: str
    ) -> None:
        """What it did cost and what came back; without a cost the reservation stays spent."""

    def reusable_answer(self, request: dict[str, Any]) -> tuple[Reply, Decimal] | None:
        """The answer to exactly this request, and its cost, where it was paid for and may be used again."""


@dataclass(frozen=True, slots=True)
class ModelSession:
    """What a call needs besides its subject: the model on its day, the key, the address, the time, the purse.

    `beat` is called while an answer is waited for; what it raises is passed on.
    """

    model: str
    day: date
    key: Secret
    base_url: str | None
    timeout_s: float
    purse: Purse
    beat: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class NarrationResult:
    """Grounded words, or why there are none; `cost` in US dollars is None when nothing was spent.

    `prompt` is the version of what was asked, None while nobody was. `passing`: the service was away or overloaded, and
    the same question may be answered a little later.
    """

    model: str
    words: GroundedWords | None = None
    cost: Decimal | None = None
    why: str | None = None
    prompt: str | None = None
    passing: bool = False


def write(subject: Subject, review: str, desk: ModelSession) -> NarrationResult:
    """Words for a review by at most two calls; whatever goes wrong, an answer with `why` and what was spent."""
    price = price_of(desk.model, desk.day)
    if price is None:
        return NarrationResult(desk.model, why=_no_price(desk.model))
    request = request_of(subject, desk.model, review)
    prompt = prompt_of(subject.kind).version
    done = NarrationResult(desk.model)
    for attempt in (1, 2):
        reply, cost, why = _call(request, price, prompt, desk)
        if reply is None:
            return replace(done, why=why if attempt == 1 else f"{done.why}; then {why}")
        spent = (done.cost or Decimal(0)) + cost if cost is not None else done.cost
        done = replace(done, cost=spent, prompt=prompt)
        reading = _read(subject, reply)
        if not isinstance(reading, _Refusal):
            return replace(done, words=reading, why=None, passing=False)
        done = replace(done, why=reading.why, passing=reading.passing)
        if reading.again is None:
            break
        request = reading.again(request)
        prompt = f"{prompt_of(subject.kind).version}, {prompt_of('repair').version}"
    return done


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a model read out of a text, as it answered, or `why` it did not; `cost` in US dollars."""

    model: str
    answer: str | None = None
    cost: Decimal | None = None
    why: str | None = None


def extract(prompt: str, schema: dict[str, Any], version: str, desk: ModelSession) -> Extracted:
    """A model's reading of a text into a schema: one call, and nothing of its answer is believed here."""
    price = price_of(desk.model, desk.day)
    if price is None:
        return Extracted(desk.model, why=_no_price(desk.model))
    reply, cost, why = _call(extraction_of(prompt, schema, desk.model), price, version, desk)
    if reply is None:
        return Extracted(desk.model, why=why)
    answer = _answer(reply)
    if isinstance(answer, _Refusal):
        return Extracted(desk.model, cost=cost, why=answer.why)
    return Extracted(desk.model, answer, cost)


def _no_price(model: str) -> str:
    return f"no price is known for the model {model}, so it was not asked"


def _call(
    request: dict[str, Any], price: Price, prompt: str, desk: ModelSession
) -> tuple[Reply | None, Decimal | None, str]:
    """One paid call: the reply and what it cost, or why it was not made."""
    answer = desk.purse.reusable_answer(request)
    if answer is not None:
        return answer[0], answer[1], ""
    worst = price.worst(token_bound(request), request["max_tokens"])
    receipt = desk.purse.reserve(request, worst, prompt)
    if isinstance(receipt, str):
        return None, None, receipt
    reply = ask(request, desk.key, desk.base_url, desk.timeout_s, desk.beat)
    usage = usage_of(reply.message.get("usage"))
    cost = price.cost(usage) if usage is not None else Decimal(0) if reply.billed is False else None
    desk.purse.settle(receipt, reply, usage, cost, _outcome(reply))
    return reply, worst if cost is None else cost or None, ""


def _outcome(reply: Reply) -> str:
    stopped = reply.message.get("stop_reason")
    is_expected = isinstance(stopped, str) and stopped in (*_ENDED, *_STOPPED)
    return reply.failure or (str(stopped) if is_expected else "no sound message")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why an answer was not taken, and the request to make instead, if another one is worth it; `passing` as above."""

    why: str
    again: _Again | None = None
    passing: bool = False


class _Again(Protocol):
    def __call__(self, request: dict[str, Any], /) -> dict[str, Any]: ...


def _answer(reply: Reply) -> str | _Refusal:
    """The text of a whole answer."""
    if reply.failure is not None:
        if reply.failure == "refused by the service":
            code = _STATUS.get(reply.status or 0, "an error")
            return _Refusal(f"the model's service answered {code}", passing=reply.status in _PASSING)
        return _Refusal(
            _FAILED[reply.failure], passing=reply.failure in {"timeout", "unreachable", "cut off"}
        )
    stopped = reply.message.get("stop_reason")
    if stopped == "max_tokens":
        return _Refusal(
            _STOPPED["max_tokens"], lambda request: request | {"max_tokens": 2 * request["max_tokens"]}
        )
    if not isinstance(stopped, str) or stopped not in _ENDED:
        return _Refusal(_STOPPED.get(str(stopped), "the model stopped without an answer"))
    return _text(reply.message)


def _read(subject: Subject, reply: Reply) -> GroundedWords | _Refusal:
    text = _answer(reply)
    if isinstance(text, _Refusal):
        return text
    try:
        outcome = check(subject, text)
    except Exception as error:  # noqa: BLE001  # a fault of the checks must not cost a review
        return _Refusal(f"the model's words could not be checked ({type(error).__name__}); please report it")
    if not isinstance(outcome, list):
        return outcome
    return _Refusal(_summary(outcome), lambda request: ask_again(request, text, outcome))


def _text(message: dict[str, Any]) -> str:
    """The text blocks of a message; thinking and whatever else stands before them is not text."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _summary(faults: Sequence[Objection]) -> str:
    """The kinds of faults, in our own words, without anything of the model's."""
    kinds = list(dict.fromkeys(fault.kind for fault in faults))
    remainder = ", and more" if len(kinds) > _KINDS_SAID else ""
    return f"the model's words did not pass the checks: {', '.join(kinds[:_KINDS_SAID])}{remainder}"

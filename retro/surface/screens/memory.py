"""Screens that lead to things by their names, and to what an agent remembers. Nothing here computes, settles or writes."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from retro.app.questions.document import documents_of
from retro.app.questions.experience import Experience
from retro.app.questions.lists.overview import memory_overview
from retro.app.questions.lists.search import find
from retro.app.questions.recall import RecallQuestion
from retro.app.questions.recall import recall as recall_of
from retro.errors import UnknownError, UsageError
from retro.present.json_parts import data_as_json
from retro.present.links import command_of, segment
from retro.present.page.screens.memory import memory_page, recall_page
from retro.present.page.screens.search import search_page
from retro.present.references import AgentReference, MemoryReference
from retro.present.screen import QuestionForm, ScreenPlace
from retro.surface.screens.answer import Answer
from retro.surface.screens.lens import as_of_request

if TYPE_CHECKING:
    from retro.surface.screens.house import House
    from retro.surface.screens.routes import Request

__all__ = ["memory", "recall", "search"]


def memory(house: House, request: Request) -> Answer:
    """How an agent stands, and what it does again and again."""
    name = _remembering(house, request)
    answer = memory_overview(_experience(house), name, as_of_request(house, request), now=house.clock())
    page = memory_page(answer.state, answer.habits, answer.beliefs, answer.markers, answer.plans)
    reference = MemoryReference(name)
    document = data_as_json(answer.document())
    form = _question(name, "")
    return Answer(page, document, _crumbs(name), command_of(reference), question=form)


def recall(house: House, request: Request) -> Answer:
    """What happened in situations like the one that `context` holds as JSON."""
    name = _remembering(house, request)
    if request.names[1] != "recall":
        raise UnknownError("there is no such screen")
    text = request.query.get("context") or "{}"
    hits = recall_of(_experience(house), _recall_question(house, request, name, text))
    crumbs = (*_crumbs(name)[:-1], ScreenPlace("Memory", MemoryReference(name)))
    command = shlex.join(["retro", "recall", "--agent", name, "--context", text])
    form = _question(name, text)
    document = data_as_json(documents_of(hits))
    return Answer(recall_page(name, text, hits), document, crumbs, command, question=form)


def _question(name: str, text: str) -> QuestionForm:
    """Where one asks what a situation recalls."""
    address = f"/memory/{segment(name)}/recall"
    return QuestionForm(address, "context", "A situation as JSON", "Recall", text, '{"regime": "ranging"}')


def _recall_question(house: House, request: Request, name: str, text: str) -> RecallQuestion:
    return RecallQuestion(agent=name, context=_situation(text), as_of=as_of_request(house, request))


def search(house: House, request: Request) -> Answer:
    """Everything whose name holds what is looked for."""
    text = request.query.get("q", "").strip()
    results = find(house.store, text) if text else []
    documents = [row.document() for row in results]
    return Answer(
        search_page(text, results),
        data_as_json(documents),
        command=shlex.join(["retro", "search", text]) if text else "",
        question=QuestionForm("/search", "q", "A name or a part of it", "Search", text),
        rows=documents,
    )


def _experience(house: House) -> Experience:
    return Experience(house.store, house.config)


def _remembering(house: House, request: Request) -> str:
    """An agent that facts or episodes tell of; `UnknownError` of any other."""
    name = request.names[0]
    if name not in _experience(house).agents():
        raise UnknownError("there is no such agent")
    return name


def _situation(text: str) -> dict[str, object]:
    def refuse(name: str) -> object:
        raise ValueError(f"{name} is not a number")

    try:
        situation = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        situation = None
    if not isinstance(situation, dict):
        raise UsageError('context: it takes a JSON object such as {"regime": "ranging"}')
    return situation


def _crumbs(name: str) -> tuple[ScreenPlace, ...]:
    return (
        ScreenPlace(name, AgentReference(name)),
        ScreenPlace("Memory", MemoryReference(name), current=True),
    )

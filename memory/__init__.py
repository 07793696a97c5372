"""What an agent remembers: experience and records, weighted by how things turned out.

Every store function takes a SQLAlchemy `Connection`; the caller opens the database, runs `MIGRATIONS` (component
`memory`) and owns the transaction. Instants are integer microseconds since the Unix epoch, UTC. Reads take `as_of` and
write nothing; times and randomness are arguments. Names load on first use, so importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memory.advice.backtest import Validation, validate
    from memory.advice.kelly import Kelly, kelly
    from memory.advice.suggest import suggest_plans
    from memory.documents import as_document
    from memory.episodic.cache import forget
    from memory.episodic.episode import Episode, EpisodeFault, read_episodes
    from memory.episodic.results import MarkedEquity
    from memory.errors import ConflictError, DamagedError, ExperienceError, MissingError, RefusedError
    from memory.experience.hindsight import (
        FieldAmendment,
        Retrospective,
        amend,
        amendments,
        find_episode,
        known_episodes,
    )
    from memory.experience.lessons import Lesson, lessons
    from memory.experience.markers import Marker, markers
    from memory.experience.remember import Disputed, Remembered, remember
    from memory.health import Health, health
    from memory.insight.belief import Belief, Seed, beliefs, seed_belief
    from memory.insight.habit import Habit, habits
    from memory.insight.state import State, halt, resume, state
    from memory.instants import instant, written
    from memory.planning.plan import (
        Plan,
        PlanCheck,
        PlanStatus,
        cancel_plan,
        check_plans,
        create_plan,
        observe_plans,
        plans,
    )
    from memory.planning.score import score_plan
    from memory.records import (
        ExperimentRecord,
        Hypothesis,
        generate_experiment_id,
        generate_hypothesis_id,
        get_all_hypotheses,
        get_open_hypotheses,
        load_experiments,
        parse_assessment,
        save_experiment,
        save_hypothesis,
        update_hypothesis_status,
    )
    from memory.retrieval.hit import Filters, Hit
    from memory.retrieval.listings import Performance, agents, episodes, performance, told_episodes
    from memory.retrieval.recall import recall
    from memory.settings import Settings
    from memory.situation.context import DEFAULT, Field, Registry, alike
    from memory.store.migrations.runner import MIGRATIONS

_HOME: Final = {
    "insight.belief": ("Belief", "Seed", "beliefs", "seed_belief"),
    "episodic.cache": ("forget",),
    "situation.context": ("DEFAULT", "Field", "Registry", "alike"),
    "documents": ("as_document",),
    "episodic.episode": ("Episode", "EpisodeFault", "read_episodes"),
    "episodic.results": ("MarkedEquity",),
    "errors": ("ConflictError", "DamagedError", "ExperienceError", "RefusedError", "MissingError"),
    "insight.habit": ("Habit", "habits"),
    "health": ("Health", "health"),
    "experience.hindsight": (
        "FieldAmendment",
        "Retrospective",
        "amend",
        "amendments",
        "find_episode",
        "known_episodes",
    ),
    "experience.lessons": ("Lesson", "lessons"),
    "experience.markers": ("Marker", "markers"),
    "retrieval.hit": ("Filters", "Hit"),
    "instants": ("instant", "written"),
    "advice.kelly": ("Kelly", "kelly"),
    "retrieval.listings": ("Performance", "agents", "episodes", "performance", "told_episodes"),
    "planning.plan": (
        "PlanCheck",
        "Plan",
        "PlanStatus",
        "cancel_plan",
        "check_plans",
        "create_plan",
        "observe_plans",
        "plans",
    ),
    "planning.score": ("score_plan",),
    "retrieval.recall": ("recall",),
    "records": (
        "ExperimentRecord",
        "Hypothesis",
        "generate_experiment_id",
        "generate_hypothesis_id",
        "get_all_hypotheses",
        "get_open_hypotheses",
        "load_experiments",
        "parse_assessment",
        "save_experiment",
        "save_hypothesis",
        "update_hypothesis_status",
    ),
    "experience.remember": ("Disputed", "Remembered", "remember"),
    "settings": ("Settings",),
    "insight.state": ("State", "halt", "resume", "state"),
    "store.migrations.runner": ("MIGRATIONS",),
    "advice.suggest": ("suggest_plans",),
    "advice.backtest": ("Validation", "validate"),
}
_WHERE: Final = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "DEFAULT",
    "MIGRATIONS",
    "Belief",
    "ConflictError",
    "DamagedError",
    "Disputed",
    "Episode",
    "EpisodeFault",
    "ExperienceError",
    "ExperimentRecord",
    "Field",
    "FieldAmendment",
    "Filters",
    "Habit",
    "Health",
    "Hit",
    "Hypothesis",
    "Kelly",
    "Lesson",
    "MarkedEquity",
    "Marker",
    "MissingError",
    "Performance",
    "Plan",
    "PlanCheck",
    "PlanStatus",
    "RefusedError",
    "Registry",
    "Remembered",
    "Retrospective",
    "Seed",
    "Settings",
    "State",
    "Validation",
    "agents",
    "alike",
    "amend",
    "amendments",
    "as_document",
    "beliefs",
    "cancel_plan",
    "check_plans",
    "create_plan",
    "episodes",
    "find_episode",
    "forget",
    "generate_experiment_id",
    "generate_hypothesis_id",
    "get_all_hypotheses",
    "get_open_hypotheses",
    "habits",
    "halt",
    "health",
    "instant",
    "kelly",
    "known_episodes",
    "lessons",
    "load_experiments",
    "markers",
    "observe_plans",
    "parse_assessment",
    "performance",
    "plans",
    "read_episodes",
    "recall",
    "remember",
    "resume",
    "save_experiment",
    "save_hypothesis",
    "score_plan",
    "seed_belief",
    "state",
    "suggest_plans",
    "told_episodes",
    "update_hypothesis_status",
    "validate",
    "written",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})

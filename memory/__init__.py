"""What an agent remembers: experience and records, weighted by how things turned out.

Every store function takes a SQLAlchemy `Connection`; the caller opens the database, runs `MIGRATIONS` (component
`memory`) and owns the transaction. Instants are integer microseconds since the Unix epoch, UTC. Reads take `as_of` and
write nothing; times and randomness are arguments. Names load on first use, so importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memory.affect import State, halt, resume, state
    from memory.belief import Belief, Seed, beliefs, seed_belief
    from memory.cache import forget
    from memory.context import DEFAULT, Field, Registry, alike
    from memory.documents import as_document
    from memory.episode import Episode, Fault, read_episodes
    from memory.errors import Conflict, Damaged, ExperienceError, Refused, Unknown
    from memory.habit import Habit, habits
    from memory.hindsight import Amendment, Retrospective, amend, amendments, find_episode, known_episodes
    from memory.hit import Filters, Hit
    from memory.instants import instant, written
    from memory.listing import Performance, agents, episodes, performance, told_episodes
    from memory.marker import Marker, markers
    from memory.plan import (
        Check,
        Plan,
        Standing,
        cancel_plan,
        check_plans,
        create_plan,
        observe_plans,
        plans,
    )
    from memory.recalling import recall
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
    from memory.remembering import Disputed, Remembered, remember
    from memory.scoring import score_plan
    from memory.settings import Settings
    from memory.sizing import Kelly, kelly
    from memory.soundness import Health, health
    from memory.store.migrations.runner import MIGRATIONS
    from memory.suggestions import suggest_plans
    from memory.validation import Validation, validate

_HOME: Final = {
    "belief": ("Belief", "Seed", "beliefs", "seed_belief"),
    "cache": ("forget",),
    "context": ("DEFAULT", "Field", "Registry", "alike"),
    "documents": ("as_document",),
    "episode": ("Episode", "Fault", "read_episodes"),
    "errors": ("Conflict", "Damaged", "ExperienceError", "Refused", "Unknown"),
    "habit": ("Habit", "habits"),
    "soundness": ("Health", "health"),
    "hindsight": ("Amendment", "Retrospective", "amend", "amendments", "find_episode", "known_episodes"),
    "marker": ("Marker", "markers"),
    "hit": ("Filters", "Hit"),
    "instants": ("instant", "written"),
    "sizing": ("Kelly", "kelly"),
    "listing": ("Performance", "agents", "episodes", "performance", "told_episodes"),
    "plan": (
        "Check",
        "Plan",
        "Standing",
        "cancel_plan",
        "check_plans",
        "create_plan",
        "observe_plans",
        "plans",
    ),
    "scoring": ("score_plan",),
    "recalling": ("recall",),
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
    "remembering": ("Disputed", "Remembered", "remember"),
    "settings": ("Settings",),
    "affect": ("State", "halt", "resume", "state"),
    "store.migrations.runner": ("MIGRATIONS",),
    "suggestions": ("suggest_plans",),
    "validation": ("Validation", "validate"),
}
_WHERE: Final = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "DEFAULT",
    "MIGRATIONS",
    "Amendment",
    "Belief",
    "Check",
    "Conflict",
    "Damaged",
    "Disputed",
    "Episode",
    "ExperienceError",
    "ExperimentRecord",
    "Fault",
    "Field",
    "Filters",
    "Habit",
    "Health",
    "Hit",
    "Hypothesis",
    "Kelly",
    "Marker",
    "Performance",
    "Plan",
    "Refused",
    "Registry",
    "Remembered",
    "Retrospective",
    "Seed",
    "Settings",
    "Standing",
    "State",
    "Unknown",
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
    found = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})

"""Is the memory ours, whole and readable: episodes and their cache, rows that belong to nothing, YAML records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, note, ok
from retro.app.doctor.origin import is_ours
from retro.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory import Health
    from memory.records import Hypotheses
    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "experience", "records"]


def experience(house: Installation) -> Iterator[Check]:
    """Counts, cache, orphans and the chain of digests, agent by agent; every row is read."""
    if house.store is None or not is_ours("memory"):
        return  # that another's package has the name is said among the packages
    import memory  # noqa: PLC0415  only now it is known to be ours
    from retro.app.experience.settings import memory_settings  # noqa: PLC0415  as above

    with house.store.read() as conn:
        healths = memory.health(conn, settings=memory_settings(house.config), thorough=True)
    if not healths:
        yield ok("memory", "empty; reviews of `retro run` and `retro remember` fill it")
    for health in healths:
        yield from _health(health)


def _health(health: Health) -> Iterator[Check]:
    for problem in health.problems:
        yield broken("memory", f"{health.agent}: {problem}")
    if health.problems:
        return
    cached = f"{health.blocks} of {health.blocks + health.blocks_missing} blocks of columns"
    yield ok(
        "memory",
        f"{health.agent}: {count(health.episodes, 'episode')}, {count(health.retrospectives, 'retrospective')},"
        f" {count(health.amendments, 'amendment')}, {count(health.plans, 'plan')}, {cached}",
    )
    if health.blocks_missing:
        yield note(
            "memory",
            f"{health.agent}: the cache lacks {count(health.blocks_missing, 'block')}; the next episode told makes them",
        )


def records(house: Installation) -> Iterator[Check]:
    """Experiments and hypotheses: how many, what is damaged, what names an experiment that is not there."""
    if not house.config.memory.records:
        yield note("records", "off: [memory] records is false")
        return
    if not is_ours("memory"):
        return
    from memory.records import read_experiments, read_hypotheses  # noqa: PLC0415  as above

    where = house.config.memory.directory
    experiments, hypotheses = read_experiments(where), read_hypotheses(where)
    for trouble in (*experiments.troubles, *hypotheses.troubles):
        yield broken("records", f"{trouble.path}: {trouble.reason}; it is left as it is until you mend it")
    tried = count(len(experiments.records), "experiment")
    contents = f"{tried}, {count(len(hypotheses.records), 'hypothesis', 'hypotheses')} in {where}"
    has_records = experiments.records or hypotheses.records
    yield ok("records", contents if has_records else "none yet; the first weekly review writes them")
    orphans = _orphans({experiment["id"] for experiment in experiments.records}, hypotheses)
    if orphans:
        who = "1 hypothesis names" if orphans == 1 else f"{orphans} hypotheses name"
        yield note("records", f"{who} an experiment that is not there")


def _orphans(experiments: set[str], hypotheses: Hypotheses) -> int:
    named = (hypothesis.get("source_experiment") for hypothesis in hypotheses.records)
    return sum(isinstance(name, str) and name not in experiments for name in named)


CHECKS: Final = (
    Examination("experience", experience, reads_all=True),
    Examination("records", records),
)
"""In the order in which they are told."""

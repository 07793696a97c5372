"""What a monitoring system watches: what waits and since when, who works, how old sources are, what words cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from retro.app.intake.fingerprints import key_of
from retro.app.reviews.fleet import agent_states
from retro.ingest.registry import ADAPTERS
from retro.kinds import KINDS
from retro.periods import SECOND, day_of, midnight, zone
from retro.report.metrics import MetricFamily, MetricSample
from retro.store import spend
from retro.store.facts import agents
from retro.store.health import server_pressure
from retro.store.jobs import cursors
from retro.store.jobs.backlog import backlog_of
from retro.store.jobs.hosts import hosts_of_database
from retro.store.migrations.engine import engine_schema, engine_state, has_engine
from retro.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from retro.config import Config, SourceTable
    from retro.store.health import ServerPressure
    from retro.store.jobs.backlog import Backlog
    from retro.store.migrations.engine import EngineState

__all__ = ["changed_at", "metrics", "worker_metrics"]

_STATES: Final = ("awake", "dormant", "dead", "new")


def metrics(conn: Connection, config: Config, host: str, now: int) -> list[MetricFamily]:
    """Every family, in one order. `host`: whose sources are looked at; nothing is computed, settled or written."""
    known_agents = agents.agents(conn)
    newest = max((agent.last_at for agent in known_agents if agent.last_at is not None), default=None)
    return [
        _gauge("retro_build", "The version that tells this.", [({"version": __version__}, 1)]),
        *_waiting(backlog_of(conn, now), now),
        _gauge(
            "retro_last_knock_timestamp_seconds",
            "When a machine last worked on the database; noted every five minutes at most.",
            [({"host": row.name}, row.knocked_at / SECOND) for row in hosts_of_database(conn)],
        ),
        _by_state(Counter(agent_states(conn, config, known_agents, now).values())),
        _gauge(
            "retro_newest_event_timestamp_seconds",
            "The newest event of any agent.",
            [] if newest is None else [({}, newest / SECOND)],
        ),
        *_of_sources(conn, config, host, now),
        *_of_words(conn, config, now),
    ]


def worker_metrics(
    conn: Connection,
    now: int,
    knocks: Mapping[str, int],
    seconds: Mapping[str, float],
    outcomes: Mapping[str, int],
) -> list[MetricFamily]:
    """What a worker of a fleet is watched by: what waits, the engine's knocks, and what it did itself since it started.

    None of it costs by the number of agents.
    """
    return [
        _gauge("retro_build", "The version that tells this.", [({"version": __version__}, 1)]),
        *_waiting(backlog_of(conn, now), now),
        *(_of_engine(engine_state(conn)) if has_engine(conn) else ()),
        *_of_server(server_pressure(conn, engine_schema(conn))),
        _gauge(
            "retro_worker_knocks",
            "Knocks that this worker has answered since it started.",
            [({"queue": queue}, number) for queue, number in sorted(knocks.items())],
        ),
        _gauge(
            "retro_worker_seconds",
            "For how long it has held buckets since it started.",
            [({"queue": queue}, spent) for queue, spent in sorted(seconds.items())],
        ),
        _gauge(
            "retro_worker_outcomes",
            "What became of reviews and letters in its hands since it started.",
            [({"outcome": outcome}, number) for outcome, number in sorted(outcomes.items())],
        ),
    ]


def _of_engine(state: EngineState) -> list[MetricFamily]:
    waiting = [({"queue": queue, "state": "waiting"}, n) for queue, n in state.waiting.items()]
    answered = [({"queue": queue, "state": "answered"}, n) for queue, n in state.answered.items()]
    return [
        _gauge("retro_knocks", "Knocks that wait and that are being answered.", [*waiting, *answered]),
        _gauge("retro_stalled_knocks", "Knocks whose worker gives no sign of life.", [({}, state.stalled)]),
        _gauge("retro_workers", "Workers that give signs of life.", [({}, state.workers)]),
    ]


def _of_server(state: ServerPressure) -> list[MetricFamily]:
    return [
        _gauge(
            "retro_oldest_snapshot_seconds",
            "For how long the oldest open transaction keeps dead rows from being cleaned up; 0: none does.",
            [({}, state.oldest_snapshot_s or 0.0)],
        ),
        _gauge("retro_lock_waits", "Sessions that wait for a lock.", [({}, state.lock_waits)]),
        _gauge(
            "retro_standby_lag_seconds",
            "How far the slowest standby is behind, where one shows.",
            [] if state.standby_lag_s is None else [({}, state.standby_lag_s)],
        ),
        _gauge(
            "retro_dead_rows",
            "Rows that wait to be cleaned up.",
            [({"table": table}, number) for table, number in state.dead_rows.items()],
        ),
    ]


def _gauge(
    name: str,
    meaning: str,
    samples: Iterable[tuple[Mapping[str, str], float]],
) -> MetricFamily:
    rows = [MetricSample(labels=dict(labels), value=value) for labels, value in samples]
    return MetricFamily(name=name, help=meaning, samples=rows)


def _waiting(backlog: Backlog, now: int) -> list[MetricFamily]:
    def age(since: int | None) -> float:
        return 0.0 if since is None else max(0.0, (now - since) / SECOND)

    return [
        _gauge(
            "retro_due",
            "Reviews that can be made now.",
            [
                ({"kind": kind}, backlog.due.get(kind, 0))
                for kind in KINDS
                if kind in backlog.due or KINDS[kind].mailed
            ],
        ),
        _gauge("retro_running", "Reviews that are being made.", [({}, backlog.running)]),
        _gauge(
            "retro_lag_seconds",
            "For how long the oldest review that is due has been; 0: none is.",
            [({}, age(backlog.oldest_due_at))],
        ),
        _gauge("retro_parked", "Reviews that failed too often and need a person.", [({}, backlog.parked)]),
        _gauge(
            "retro_letters",
            "Messages that are not sent, by channel and state; those that were are not counted.",
            [({"channel": channel, "state": state}, n) for (channel, state), n in backlog.letters.items()],
        ),
        _gauge(
            "retro_letter_lag_seconds",
            "For how long the oldest message that waits to be sent has; 0: none does.",
            [({}, age(backlog.oldest_letter_at))],
        ),
    ]


def _by_state(states: Counter[str]) -> MetricFamily:
    return _gauge(
        "retro_agents", "Agents by state.", [({"state": state}, states[state]) for state in _STATES]
    )


def _of_sources(conn: Connection, config: Config, host: str, now: int) -> list[MetricFamily]:
    """The age of each configured source's files on this machine, and which cannot be read."""
    alarms = cursors.alarms(conn)
    ages, failed = [], []
    for source in config.source:
        labels = {"kind": source.kind, "path": str(source.path)}
        at = changed_at(source)
        if at is not None:
            ages.append((labels, max(0.0, now / SECOND - at)))
        failed.append((labels, float(key_of(source, host) in alarms)))
    return [
        _gauge("retro_source_age_seconds", "For how long the files of a source have not changed.", ages),
        _gauge("retro_source_failed", "1 where a source could not be read at the last knock.", failed),
    ]


def changed_at(source: SourceTable) -> float | None:
    """When the newest file of a source changed, in seconds since 1970; None where there is none."""
    stamps = []
    for end in ADAPTERS[source.kind].beside:
        path = type(source.path)(f"{source.path}{end}")
        stamps += [at for at in map(_modified_at, [path, *_inside(path)]) if at is not None]
    return max(stamps, default=None)


def _inside(path: Path) -> list[Path]:
    try:
        return list(path.iterdir()) if path.is_dir() else []
    except OSError:
        return []


def _modified_at(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _of_words(conn: Connection, config: Config, now: int) -> list[MetricFamily]:
    """What a model cost today and this month, in the owner's zone, beside the most it may."""
    tz = zone(config.owner.time_zone)
    today = day_of(now, tz)
    since = {"day": midnight(today, tz), "month": midnight(today.replace(day=1), tz)}
    caps = {"day": config.llm.max_usd_per_day, "month": config.llm.max_usd_per_month}
    return [
        _gauge(
            "retro_spend_usd",
            "What words by a model cost since the day or month began.",
            [({"window": window}, float(spend.spent(conn, at).usd)) for window, at in since.items()],
        ),
        _gauge(
            "retro_spend_cap_usd",
            "The most they may.",
            [({"window": window}, float(cap)) for window, cap in caps.items()],
        ),
    ]

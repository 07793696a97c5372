"""A workbench as the configuration wants it."""

from __future__ import annotations

import random
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from retro.app.context import WorkContext, policy_of
from retro.app.engine.delivery import channels_of
from retro.app.experience.layers import stepping
from retro.app.experience.lessons import damaged_records, learning
from retro.app.experience.records import records_channel
from retro.app.experience.wordings import GroupWordings
from retro.app.narration.narrators import is_worded, words_of
from retro.app.proposals.channel import PullRequests
from retro.app.proposals.files import read_playbook
from retro.app.proposals.lifecycle import suggesting
from retro.app.reviews.week_lines import summing_up
from retro.app.settlement.settings import settings_of
from retro.errors import InputError
from retro.kinds import KINDS
from retro.secret import find_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from playbook import Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["bench_of", "settings_reader"]


def bench_of(
    store: Store,
    config: Config,
    env: Mapping[str, str],
    *,
    clock: Callable[[], int],
    owner: str,
    host: str,
    log: Callable[..., None] = lambda *_, **__: None,
    beat: Callable[[], None] = lambda: None,
    stopping: Callable[[], bool] = lambda: False,
    bound: Callable[..., AbstractContextManager[None]] = lambda **_: nullcontext(),
    rng: random.Random | None = None,
) -> WorkContext:
    """Everything a worker needs, as the configuration wants it; the rest is the process's own, as in `WorkContext`."""
    settings_for = settings_reader(config, log)
    channels = {**channels_of(config, env)}
    records = records_channel(config)
    requests = PullRequests(store, config, env, settings_for, clock)
    channels |= {channel.name: channel for channel in (records, requests) if channel.recipients(config)}

    wordings = GroupWordings(store, config, env, clock)
    return WorkContext(
        store=store,
        config=config,
        terms=policy_of(config),
        settings_for=settings_for,
        channels=channels,
        clock=clock,
        words=wordings.beside(words_of(store, config, env, clock, beat)),
        worded_kinds=frozenset(kind for kind in KINDS if is_worded(config, env, kind)),
        owner=owner,
        host=host,
        alone=store.dialect == "sqlite",
        rng=rng or random.Random(),  # noqa: S311  it spreads retries, no more
        secrets=find_secrets(env),
        # in this order, after the deliveries, in the transaction that finishes a review
        consequences=(
            learning(config, settings_for, log),
            stepping(config, log, wordings.take),
            suggesting(settings_for, clock),
            summing_up(),
        ),
        look_back=partial(_look_back, config, requests, log),
        beat=beat,
        stopping=stopping,
        log=log,
        bound=bound,
    )


def settings_reader(
    config: Config, log: Callable[..., None] = lambda *_, **__: None
) -> Callable[[Agent], AgentSettings]:
    """What gives an agent's settings by the configuration and by its playbook as it stands."""
    books = _Playbooks(config, log)

    def settings_for(agent: Agent) -> AgentSettings:
        return settings_of(config, agent, books.of(agent.name))

    return settings_for


def _look_back(config: Config, requests: PullRequests, log: Callable[..., None]) -> int:
    """Say what became of pull requests, and which records are damaged; gives how many things are wrong."""
    outcomes = requests.look_back()
    for agent, branch, state in outcomes.settled:
        log("pull_request_settled", agent=agent, branch=branch, state=state)
    for fault in outcomes.faults:
        log("pull_requests_not_read", level="error", reason=str(fault))
    damaged = damaged_records(config)
    for trouble in damaged:
        log("record_damaged", level="error", path=trouble.path, reason=trouble.reason)
    return len(outcomes.faults) + len(damaged)


class _Playbooks:
    """PLAYBOOK.md files, read again when they change. One that cannot be read is said once; reviews go on without."""

    def __init__(self, config: Config, log: Callable[..., None]) -> None:
        self._config = config
        self._log = log
        self._read: dict[Path, tuple[object, Playbook | None]] = {}

    def of(self, agent: str) -> Playbook | None:
        table = self._config.agent.get(agent)
        if table is None or table.playbook is None:
            return None
        path = Path(table.playbook)
        try:
            status = path.stat()
            stamp: object = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError as error:
            stamp = error.errno
        if path not in self._read or self._read[path][0] != stamp:
            try:
                book = read_playbook(path)
            except InputError as error:
                book = None
                self._log("playbook_not_read", level="error", agent=agent, reason=str(error))
            self._read[path] = (stamp, book)
        return self._read[path][1]

"""The channel `pull_request` of the outbox: a weekly review's proposals, brought to the playbook's repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.proposals.outcomes import Outcomes, read_outcomes
from retro.app.proposals.repository import remote_from
from retro.app.proposals.requests import open_request
from retro.deliver.channel import Rejected, Retry, Sent
from retro.forge.api import ForgeError
from retro.forge.git import GitError
from retro.kinds import KINDS
from retro.periods import SECOND
from retro.store.facts import agents
from retro.store.jobs.grids import calendar_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from playbook import Playbook
    from retro.app.settlement.settings import AgentSettings
    from retro.config import Config
    from retro.deliver.channel import Message, Outcome
    from retro.store.database import Store
    from retro.store.facts.agents import Agent

__all__ = ["PullRequests"]

_EVERY: Final = 600 * SECOND


class PullRequests:
    """The channel, and the look at what became of its requests. It is on as soon as `[playbook]` names a repository."""

    name: Final = "pull_request"

    def __init__(
        self,
        store: Store,
        config: Config,
        env: Mapping[str, str],
        settings_for: Callable[[Agent], AgentSettings],
        clock: Callable[[], int],
    ) -> None:
        self._store = store
        self._config = config
        self._env = env
        self._settings_for = settings_for
        self._clock = clock
        self._next_look = 0

    def recipients(self, config: Config) -> tuple[str, ...]:
        """The repository by its name on the forge, or `patch`; nobody without a repository."""
        table = config.playbook
        if table.repository is None:
            return ()
        return (table.slug or "patch",) if table.channel == "github" else ("patch",)

    def send(self, message: Message) -> Outcome:
        """Bring a weekly review's proposals; a branch that a person has made theirs counts as sent."""
        if not KINDS[message.kind].requests:
            return Sent()
        try:
            agent = self._agent(message.agent)
            open_request(
                self._store,
                agent,
                self._settings_for(agent),
                remote_from(self._store, self._config, self._env),
                now=self._clock(),
                week=calendar_key(message.period_key),
                reviews=(message.review_id,),
            )
        except ForgeError as error:
            return Rejected(str(error)) if error.permanent else Retry(str(error), error.after_s)
        except GitError as error:
            return Rejected(str(error)) if error.permanent else Retry(str(error))
        return Sent()

    def look_back(self) -> Outcomes:
        """What became of the requests since; asks at most every ten minutes, and later where a forge says so."""
        now = self._clock()
        if 0 <= self._next_look - now <= 6 * _EVERY:
            return Outcomes([], [])
        outcomes = read_outcomes(self._store, self._config, self._env, self._book_of, now=now)
        pauses = [
            fault.after_s for fault in outcomes.faults if isinstance(fault, ForgeError) and fault.after_s
        ]
        wait = max([_EVERY, *(round(pause * SECOND) for pause in pauses)])
        self._next_look = now + min(wait, 6 * _EVERY)
        return outcomes

    def _book_of(self, agent: str) -> Playbook | None:
        return self._settings_for(self._agent(agent)).playbook

    def _agent(self, name: str) -> Agent:
        with self._store.read() as conn:
            return agents.existing_agent(conn, name)

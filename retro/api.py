"""The mirror for Python: `retro.open(url)`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from retro.app.experience.door import memory
from retro.app.questions import behaviour, plans, recall, reviews
from retro.app.questions.document import document_of, documents_of
from retro.app.questions.episodes import ReflectionQuestion, reflect, remember
from retro.app.questions.experience import Experience, MemoryQuestion, stated_instant
from retro.claims import ClaimAnswers
from retro.config import Config, load
from retro.errors import UsageError
from retro.estates import Estates
from retro.libraries import LibraryAnswers
from retro.lists import Lists
from retro.periods import DAY
from retro.store.database import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from retro.app.questions.records import RecordsQuestion
    from retro.store.database import Store

__all__ = ["Mirror", "open_mirror"]


def open_mirror(url: str, config: str | Path | None = None) -> Mirror:
    """Open the database at a path or URL; it is made when it is not there. A foreign package `memory` is told of.

    `config` names the config.toml whose `[memory]` and `[agent.NAME]` tables count; without it the defaults do.
    """
    return Mirror(open_store(url), Config() if config is None else load(Path(config), {}))


class Mirror(Lists, ClaimAnswers, LibraryAnswers, Estates):
    """An open database, with the questions an agent or its owner asks of it. A context manager; `close` ends it.

    `agent` may be left out while there is only one. Times are RFC 3339 text or aware datetimes; a read hides what was
    not known at `as_of`.
    """

    def __init__(self, store: Store, config: Config | None = None) -> None:
        self.store = store
        self.experience = Experience(store, config or Config())

    def review(self, id: str) -> dict[str, Any]:  # noqa: A002  the field's name
        """A stored review, as `retro show ID --format json` prints it; `ID@1` names a revision."""
        document: dict[str, Any] = json.loads(reviews.stored(self.store, id).text)
        return document

    # the memory, under the names of the tools of `retro mcp`

    def recall(
        self,
        agent: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        as_of: str | datetime | None = None,
        k: int = 10,
        strategy: str | None = None,
        symbol: str | None = None,
        direction: str | None = None,
        regime: str | None = None,
        types: Sequence[str] = ("episode",),
        losses_first: bool = False,
        loss_floor: bool = False,
    ) -> list[dict[str, Any]]:
        """Past decisions in situations like this one, as `retro recall --json` prints them."""
        question = recall.RecallQuestion(
            agent=self._agent(agent),
            context=context or {},
            as_of=stated_instant(as_of),
            k=k,
            strategy=strategy,
            symbol=symbol,
            direction=direction,
            regime=regime,
            types=types,
            losses_first=losses_first,
            loss_floor=loss_floor,
        )
        return documents_of(recall.recall(self.experience, question))

    recall_memories = recall

    def remember(self, episodes: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Remember one episode or several; the document that `retro remember --json` prints. Idempotent.

        One that knows its outcome more than a day from now is a fault, as everywhere.
        """
        batch = [episodes] if isinstance(episodes, Mapping) else episodes
        return document_of(remember(self.experience, batch, not_after=time.time_ns() // 1000 + DAY))

    remember_trade = remember

    def get_behavioral_analysis(
        self,
        agent: str | None = None,
        *,
        as_of: str | datetime | None = None,
        strategy: str | None = None,
        symbol: str | None = None,
    ) -> dict[str, Any]:
        """Habits, beliefs and somatic markers."""
        question = behaviour.HabitsQuestion(
            agent=self._agent(agent), as_of=stated_instant(as_of), strategy=strategy, symbol=symbol
        )
        return document_of(behaviour.behaviour(self.experience, question))

    def get_agent_state(
        self, agent: str | None = None, *, as_of: str | datetime | None = None
    ) -> dict[str, Any]:
        """How the agent stands."""
        return document_of(behaviour.state(self.experience, self._question(agent, as_of)))

    def get_strategy_performance(
        self, agent: str | None = None, *, as_of: str | datetime | None = None
    ) -> list[dict[str, Any]]:
        """How each of its strategies has done."""
        return documents_of(behaviour.performance(self.experience, self._question(agent, as_of)))

    def get_trade_reflection(
        self,
        id: str,  # noqa: A002  the field's name
        agent: str | None = None,
        *,
        as_of: str | datetime | None = None,
    ) -> dict[str, Any]:
        """One episode as it stands, with what reviews amended."""
        question = ReflectionQuestion(agent=self._agent(agent), as_of=stated_instant(as_of), episode=id)
        return document_of(reflect(self.experience, question))

    def create_trading_plan(
        self,
        trigger: Mapping[str, Any],
        action: Mapping[str, Any],
        reasoning: str,
        *,
        at: str | datetime,
        agent: str | None = None,
        priority: float = 0.5,
        expires_at: str | datetime | None = None,
    ) -> dict[str, Any]:
        """Make a plan at an instant; it lives for 30 days unless `expires_at` says otherwise."""
        draft = plans.PlanDraft(
            agent=self._agent(agent),
            trigger=trigger,
            action=action,
            reasoning=reasoning,
            at=_stated(at),
            priority=priority,
            expires_at=stated_instant(expires_at),
        )
        return document_of(plans.create_plan(self.experience, draft))

    def check_active_plans(
        self,
        context: Mapping[str, Any],
        agent: str | None = None,
        *,
        as_of: str | datetime | None = None,
    ) -> list[dict[str, Any]]:
        """Which plans a situation meets; writes nothing."""
        question = plans.PlanChecksQuestion(
            agent=self._agent(agent), as_of=stated_instant(as_of), context=context
        )
        return [plans.check_document(check) for check in plans.check_plans(self.experience, question)]

    # what has a command and no tool

    def kelly(
        self,
        agent: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        as_of: str | datetime | None = None,
        strategy: str | None = None,
        symbol: str | None = None,
    ) -> dict[str, Any]:
        """What share of equity to put at one R in a situation, as `retro kelly --json` prints it; advisory."""
        question = recall.KellyQuestion(
            agent=self._agent(agent),
            as_of=stated_instant(as_of),
            context=context or {},
            strategy=strategy,
            symbol=symbol,
        )
        return document_of(recall.kelly(self.experience, question))

    def plans(
        self, agent: str | None = None, *, as_of: str | datetime | None = None, alive: bool = False
    ) -> list[dict[str, Any]]:
        """The agent's plans and how they stand; `alive`: those that may still fire at `as_of`."""
        question = plans.PlansQuestion(agent=self._agent(agent), as_of=stated_instant(as_of), alive=alive)
        return documents_of(plans.plans(self.experience, question))

    def markers(
        self,
        agent: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        as_of: str | datetime | None = None,
    ) -> list[dict[str, Any]]:
        """Situations that felt better than they were: those most like `context` first, else the newest."""
        question = behaviour.MarkersQuestion(
            agent=self._agent(agent), as_of=stated_instant(as_of), context=context
        )
        return documents_of(behaviour.markers(self.experience, question))

    # what somebody decides

    def cancel_plan(self, plan: str, reason: str, *, at: str | datetime, agent: str | None = None) -> None:
        """Withdraw a plan from an instant on."""
        plans.cancel_plan(self.experience, self._agent(agent), plan, reason, at=_stated(at))

    def score_plan(
        self,
        plan: str,
        *,
        at: str | datetime,
        pnl_r: float | None = None,
        would_have_made: float | None = None,
        agent: str | None = None,
    ) -> None:
        """Score a plan: the R of a trade that followed it, or what a trade it skipped would have made."""
        score = plans.PlanScore(
            agent=self._agent(agent),
            plan=plan,
            at=_stated(at),
            pnl_r=pnl_r,
            would_have_made=would_have_made,
        )
        plans.score_plan(self.experience, score)

    def seed_belief(
        self,
        id: str,  # noqa: A002  the field's name
        proposition: str,
        conditions: Mapping[str, Any],
        *,
        at: str | datetime,
        agent: str | None = None,
        claim: str = "wins",
        alpha: float = 2.0,
        beta: float = 1.0,
    ) -> None:
        """State a belief with its prior; episodes that meet the conditions from `at` on are its evidence."""
        seed = memory.Seed(
            id=id,
            agent=self._agent(agent),
            at=_stated(at),
            proposition=proposition,
            conditions=dict(conditions),
            claim=cast("Literal['wins', 'loses']", claim),  # any other is refused where it is stored
            alpha=alpha,
            beta=beta,
        )
        behaviour.seed_belief(self.experience, seed)

    def halt(self, reason: str, *, at: str | datetime, agent: str | None = None) -> None:
        """Raise the flag that says stop, from an instant on: the state shows it until `resume`."""
        behaviour.halt(self.experience, self._agent(agent), reason, at=_stated(at))

    def resume(self, reason: str, *, at: str | datetime, agent: str | None = None) -> None:
        """Take the flag down again."""
        behaviour.resume(self.experience, self._agent(agent), reason, at=_stated(at))

    # records

    def list_hypotheses(self, status: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
        """The agent's hypotheses on record; None: whatever their status."""
        from retro.app.questions.records import hypotheses  # noqa: PLC0415  YAML is loaded by who needs it

        question = self._records_question(agent)
        return list(hypotheses(self._directory, question, status).hypotheses.records)

    def experiment_history(
        self, n: int | None = 15, *, as_of: str | datetime | None = None, agent: str | None = None
    ) -> list[dict[str, Any]]:
        """The agent's newest experiments on record."""
        from retro.app.questions.records import experiment_history  # noqa: PLC0415  as above

        question = self._records_question(agent, n, stated_instant(as_of))
        return list(experiment_history(self._directory, question).records)

    def experiment_prompt(
        self,
        n: int = 15,
        *,
        as_of: str | datetime | None = None,
        agent: str | None = None,
        full: bool = False,
    ) -> str:
        """The section for the agent's next prompt, as `retro experiments prompt` prints it."""
        from retro.app.questions.brief import prompt_brief  # noqa: PLC0415  as above
        from retro.app.questions.records import experiment_history  # noqa: PLC0415  as above

        history = experiment_history(self._directory, self._records_question(agent, n, stated_instant(as_of)))
        return (
            history.prompt() if full else prompt_brief(history, self.experience, as_of=stated_instant(as_of))
        )

    def save_assessment(
        self,
        text: str,
        *,
        at: str | datetime,
        strategy: str | None = None,
        experiment: str | None = None,
        context: Mapping[str, Any] | None = None,
        results: Mapping[str, Any] | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]:
        """Save an assessment in prose as a record, as `retro experiments assess` does; a model reads it if there is one."""
        from retro.app.experience.assessments import AssessmentDraft, save_assessment  # noqa: PLC0415  as above
        from retro.app.questions.records import owner_of  # noqa: PLC0415  as above

        draft = AssessmentDraft(
            text=text,
            agent=owner_of(self._directory, self._records_question(agent)),
            at=_stated(at),
            strategy=strategy,
            experiment=experiment,
            context=context or {},
            results=results or {},
        )
        return document_of(save_assessment(lambda: self.store, self.experience.config, os.environ, draft))

    # the audit of the playbook

    def playbook_audit(
        self,
        agent: str | None = None,
        *,
        as_of: str | datetime | None = None,
        history: bool = False,
        where: str = "",
    ) -> list[dict[str, Any]]:
        """The citation audit of a life, as `retro playbook audit --json` prints it; `history`: with every week."""
        from retro.app.questions import audit  # noqa: PLC0415  as above

        agent, at = self._agent(agent), stated_instant(as_of)
        return audit.narrowed_audit_document(self.experience, where, agent=agent, as_of=at, history=history)

    def playbook_ripening(
        self, agent: str | None = None, *, as_of: str | datetime | None = None
    ) -> list[dict[str, Any]]:
        """When each heuristic can be judged, as `retro playbook ripening --json` prints it."""
        from retro.app.questions import audit  # noqa: PLC0415  as above

        return audit.ripening_document(self.experience, self._question(agent, as_of))

    # whom, and as of when

    def _agent(self, name: str | None) -> str:
        return self.experience.agent(name)

    @property
    def _directory(self) -> Path:
        return self.experience.config.memory.directory

    def _records_question(
        self, agent: str | None, n: int | None = None, as_of: int | None = None
    ) -> RecordsQuestion:
        from retro.app.questions.records import RecordsQuestion  # noqa: PLC0415  as above

        return RecordsQuestion(agent=agent, known=self.experience.agents(), n=n, as_of=as_of)

    def _question(self, agent: str | None, as_of: str | datetime | None) -> MemoryQuestion:
        return MemoryQuestion(agent=self._agent(agent), as_of=stated_instant(as_of))

    get_review = review

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stated(at: str | datetime) -> int:
    instant = stated_instant(at)
    if instant is None:
        raise UsageError("at: an instant is needed")
    return instant

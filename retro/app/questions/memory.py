"""The memory as every surface asks it: one agent's episodes, habits, state, plans and beliefs, as JSON-ready documents.

Times are microseconds since the Unix epoch; a read hides everything that was not known at its `as_of`. What the memory
refuses becomes a `UsageError`, what it does not hold an `UnknownError`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from retro.app.experience.imports import import_episodes, import_file, translate_memory_errors
from retro.app.experience.learning import capital_of, memory_settings
from retro.errors import UnknownError, UsageError
from retro.store.facts import agents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    import memory
    from retro.app.experience.imports import ImportResult
    from retro.config import Config
    from retro.store.database import Store

__all__ = ["MemoryQueries"]


@dataclass(frozen=True, slots=True)
class MemoryQueries:
    """The memory in one database, as one configuration sees it."""

    store: Store
    config: Config

    # whose

    def agents(self) -> list[str]:
        """Everybody the database knows: by facts, or by episodes alone."""
        with translate_memory_errors(), self.store.read() as conn:
            import memory  # noqa: PLC0415  numpy comes with it

            return sorted({*memory.agents(conn), *(agent.name for agent in agents.agents(conn))})

    def agent(self, name: str | None) -> str:
        """That agent, or the only one; `UsageError` lists them where one has to be chosen.

        An empty database takes any name: an agent asks before it acts, and there is nobody to mistake it for.
        """
        names = self.agents()
        if name is not None:
            if names and name not in names:
                raise UsageError(f"there is no agent {name!r}; known: {', '.join(names)}")
            return name
        if not names:
            raise UnknownError("nothing is remembered yet; start with `retro remember FILE` or `retro run`")
        if len(names) > 1:
            raise UsageError(f"several agents; choose one with --agent: {', '.join(names)}")
        return names[0]

    def _terms(self, conn: Connection, agent: str) -> memory.Settings:
        return memory_settings(self.config, capital_of(conn, agent, self.config))

    # telling

    def remember_file(self, path: str, *, not_after: int | None = None) -> ImportResult:
        """Store the episodes of a file of JSON Lines (.gz too, - for stdin); what cannot be used is kept as faults."""
        return import_file(self.store, memory_settings(self.config), path, not_after=not_after)

    def remember_all(
        self, episodes: Iterable[Mapping[str, Any]], *, not_after: int | None = None
    ) -> ImportResult:
        """Store episodes, all in one transaction; each is stored, unchanged, a conflict or at fault."""
        return import_episodes(self.store, memory_settings(self.config), episodes, not_after=not_after)

    # asking

    def recall_memories(
        self,
        agent: str,
        context: Mapping[str, Any],
        *,
        as_of: int | None = None,
        k: int = 10,
        strategy: str | None = None,
        symbol: str | None = None,
        direction: str | None = None,
        regime: str | None = None,
        types: Sequence[str] = ("episode",),
        losses_first: bool = False,
        loss_floor: bool = False,
    ) -> list[dict[str, Any]]:
        """The k memories most like a situation, weighted by how they turned out, best first."""
        from memory import Filters, recall  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            hits = recall(
                conn,
                agent,
                dict(context),
                as_of=as_of,
                k=k,
                filters=Filters(strategy, symbol, direction, regime),
                types=types,
                losses_first=losses_first,
                loss_floor=loss_floor,
                settings=self._terms(conn, agent),
            )
            return [hit.document() for hit in hits]

    def unknown_fields(self, context: Mapping[str, Any]) -> list[str]:
        """Fields of a situation that nothing is compared by."""
        registered = {field.name for field in memory_settings(self.config).registry.fields}
        return sorted(set(context) - registered)

    def kelly(
        self,
        agent: str,
        context: Mapping[str, Any],
        *,
        as_of: int | None = None,
        strategy: str | None = None,
        symbol: str | None = None,
    ) -> dict[str, Any]:
        """What share of equity to put at one R in a situation, or why that is not known."""
        from memory import Filters, kelly  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            terms, filters = self._terms(conn, agent), Filters(strategy, symbol)
            return kelly(conn, agent, dict(context), as_of=as_of, filters=filters, settings=terms).document()

    def get_agent_state(self, agent: str, *, as_of: int | None = None) -> dict[str, Any]:
        """Confidence, drawdown, streaks and the halt flag, from the ledger."""
        from memory import as_document, state  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            agent_state = state(conn, agent, as_of=as_of, settings=self._terms(conn, agent))
        return dict(as_document(agent_state))

    def habits(
        self,
        agent: str,
        *,
        as_of: int | None = None,
        strategy: str | None = None,
        symbol: str | None = None,
    ) -> list[dict[str, Any]]:
        """What it does again and again with each strategy and symbol."""
        from memory import as_document, habits  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            terms = self._terms(conn, agent)
            agent_habits = habits(conn, agent, as_of=as_of, strategy=strategy, symbol=symbol, settings=terms)
        return [as_document(habit) for habit in agent_habits]

    def beliefs(self, agent: str, *, as_of: int | None = None) -> list[dict[str, Any]]:
        """Its beliefs, seeded and induced, with their posteriors."""
        from memory import as_document, beliefs  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            agent_beliefs = beliefs(conn, agent, as_of=as_of, settings=self._terms(conn, agent))
        return [as_document(belief) for belief in agent_beliefs]

    def markers(
        self, agent: str, context: Mapping[str, Any] | None = None, *, as_of: int | None = None
    ) -> list[dict[str, Any]]:
        """Situations that felt better than they were, or were left at the wrong moment; nearest or newest first."""
        from memory import as_document, markers  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            terms = self._terms(conn, agent)
            agent_markers = markers(conn, agent, context=context, as_of=as_of, settings=terms)
        return [as_document(marker) for marker in agent_markers]

    def get_behavioral_analysis(
        self,
        agent: str,
        *,
        as_of: int | None = None,
        strategy: str | None = None,
        symbol: str | None = None,
    ) -> dict[str, Any]:
        """Habits, beliefs and somatic markers together."""
        return {
            "habits": self.habits(agent, as_of=as_of, strategy=strategy, symbol=symbol),
            "beliefs": self.beliefs(agent, as_of=as_of),
            "markers": self.markers(agent, as_of=as_of),
        }

    def get_strategy_performance(self, agent: str, *, as_of: int | None = None) -> list[dict[str, Any]]:
        """How each of its strategies has done, the most traded first."""
        from memory import as_document, performance  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            strategies = performance(conn, agent, as_of=as_of, settings=self._terms(conn, agent))
        return [as_document(strategy) for strategy in strategies]

    def get_trade_reflection(self, agent: str, episode: str, *, as_of: int | None = None) -> dict[str, Any]:
        """One episode as it stands, what reviews made of it, and the history of their amendments."""
        from memory import as_document, find_episode  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            return dict(as_document(find_episode(conn, agent, episode, as_of=as_of)))

    # plans

    def plans(self, agent: str, *, as_of: int | None = None, alive: bool = False) -> list[dict[str, Any]]:
        """Its plans and how they stand, highest priority first."""
        from memory import plans  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            return [standing.document() for standing in plans(conn, agent, as_of=as_of, alive=alive)]

    def create_trading_plan(
        self,
        agent: str,
        trigger: Mapping[str, Any],
        action: Mapping[str, Any],
        reasoning: str,
        *,
        at: int,
        priority: float = 0.5,
        expires_at: int | None = None,
    ) -> dict[str, Any]:
        """Make a plan: when `trigger` becomes true, `action`."""
        from memory import create_plan, plans  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.write() as conn:
            plan = create_plan(
                conn,
                agent,
                at=at,
                trigger=trigger,
                action=action,
                reasoning=reasoning,
                priority=priority,
                expires_at=expires_at,
            )
            return next(
                standing.document()
                for standing in plans(conn, agent, as_of=at)
                if standing.plan.id == plan.id
            )

    def check_active_plans(
        self, agent: str, context: Mapping[str, Any], *, as_of: int | None = None
    ) -> list[dict[str, Any]]:
        """Hold the plans that are alive against a situation; nothing is written, nothing re-armed."""
        from memory import check_plans  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.read() as conn:
            checks = check_plans(conn, agent, context, as_of=as_of)
        return [
            {
                "plan": check.standing.document(),
                "met": check.met,
                "fires": check.fires,
                "unevaluable": check.unevaluable,
            }
            for check in checks
        ]

    def cancel_plan(self, agent: str, plan: str, reason: str, *, at: int) -> None:
        """Withdraw a plan from an instant on."""
        from memory import cancel_plan  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.write() as conn:
            cancel_plan(conn, agent, plan, at=at, reason=reason)

    def score_plan(
        self,
        agent: str,
        plan: str,
        *,
        at: int,
        pnl_r: float | None = None,
        would_have_made: float | None = None,
    ) -> None:
        """Score a plan by the R of a trade that followed it, or by what a trade it skipped would have made."""
        from memory import score_plan  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.write() as conn:
            score_plan(conn, agent, plan, at=at, pnl_r=pnl_r, would_have_made=would_have_made)

    # what somebody decides about it

    def seed_belief(self, agent: str, belief: Mapping[str, Any], *, at: int) -> None:
        """State a belief that later episodes are to bear out: id, proposition, conditions, claim, alpha, beta."""
        from memory import Seed, seed_belief  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.write() as conn:
            seed = Seed(agent=agent, at=at, **belief)
            seed_belief(conn, seed, registry=memory_settings(self.config).registry)

    def halt(self, agent: str, reason: str, *, at: int) -> None:
        """Raise the flag that says stop, from an instant on."""
        from memory import halt  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.write() as conn:
            halt(conn, agent, at=at, reason=reason)

    def resume(self, agent: str, reason: str, *, at: int) -> None:
        """Take the flag down again."""
        from memory import resume  # noqa: PLC0415  as above

        with translate_memory_errors(), self.store.write() as conn:
            resume(conn, agent, at=at, reason=reason)

    # records

    def list_hypotheses(self, status: str | None = None) -> list[dict[str, Any]]:
        """The hypotheses that can be read, of one status or of every."""
        from memory.records import read_hypotheses  # noqa: PLC0415  as above

        hypotheses = read_hypotheses(self.config.memory.directory).records
        return [
            hypothesis
            for hypothesis in hypotheses
            if status is None or (hypothesis.get("status") or "untested") == status
        ]

    def experiment_history(self, n: int | None = 15, *, as_of: int | None = None) -> list[dict[str, Any]]:
        """The newest experiments that can be read."""
        from memory.records import read_experiments  # noqa: PLC0415  as above

        return list(read_experiments(self.config.memory.directory, as_of=as_of).records[:n])

    # does it help

    def validate(self, agent: str, split: int) -> dict[str, Any]:
        """Replay the agent's history from `split` on against sizes that remember less; `UsageError` for too little."""
        from memory import as_document, told_episodes, validate  # noqa: PLC0415  as above

        with translate_memory_errors():
            with self.store.read() as conn:
                terms, episodes = self._terms(conn, agent), told_episodes(conn, agent)
            return dict(as_document(validate(episodes, split, settings=replace(terms, sharpe_weight=False))))

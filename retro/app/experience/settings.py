"""The memory as the owner configured it: the fields of a situation, and the capital an agent began with.

Imported only where the memory is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.accounting.wallet import statements
from retro.app.experience.door import memory
from retro.app.settlement.price_lines import MarkReach, load_marks
from retro.app.settlement.settings import settings_of
from retro.model import Equity
from retro.store.facts import agents, events
from retro.store.life import LifeReader

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retro.config import Config

__all__ = ["capital_of", "memory_settings", "registry_of"]


def capital_of(conn: Connection, agent: str, config: Config) -> float | None:
    """What the agent began with: as configured, as its source told, or as it first stated its equity; else None.

    Balances are worth what reviews hold them to be worth: the marks of their instant; one without any leaves it unknown.
    """
    own = config.agent.get(agent)
    row = agents.agent(conn, agent)
    source_capital = None if row is None else row.capital
    capital = source_capital if own is None or own.capital is None else own.capital
    if capital is not None:
        return float(capital)
    stated = events.first_of(conn, agent, Equity)
    if stated is None or row is None:
        return None
    settings = settings_of(config, row, None)
    reach = MarkReach(stated.at, stated.at, row.known_until)
    prices = load_marks(LifeReader(conn, agent), settings, stated.balances or (), reach)
    worth = [statement.value for statement in statements([stated], prices)]
    return worth[0] if worth and worth[0] > 0 else None


def registry_of(config: Config) -> memory.Registry:
    """The context registry: the built-in fields, and the configuration's beside or instead of them."""
    own = {
        name: memory.Field(name, table.kind, table.weight, table.bandwidth, table.unit)
        for name, table in config.memory.fields.items()
    }
    built_in = [own.pop(field.name, field) for field in memory.DEFAULT.fields]
    return memory.Registry((*built_in, *own.values()))


def memory_settings(config: Config, capital: float | None = None) -> memory.Settings:
    """The memory as the owner configured it; `capital` is what the agent began with."""
    return memory.Settings(
        registry=registry_of(config),
        capital=capital,
        usual_outcomes=config.retrospective.heuristic_threshold_unit is None,
    )

"""The month of today, day by day: what the positions closed in it made, by the sums that settling keeps."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING

from retro.app.settlement.settings import base_currency_of
from retro.periods import day_of, zone
from retro.report.today import MonthDay, MonthMoney
from retro.store.books.totals import totals_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from retro.config import Config
    from retro.store.books.totals import DayTotal
    from retro.store.facts.agents import Agent

__all__ = ["month_money"]


def month_money(conn: Connection, config: Config, agents: Sequence[Agent], now: int) -> MonthMoney | None:
    """The month of `now` in the owner's zone up to that day; a day is that of its agent's zone.

    None where nothing was closed in it, or where what was is counted in several currencies: they are never added.
    """
    today = day_of(now, zone(config.owner.time_zone))
    first = today.replace(day=1)
    by_day: dict[int, list[DayTotal]] = defaultdict(list)
    currencies = set()
    for agent in agents:
        totals = [total for total in totals_of(conn, agent.name, first) if total.day <= today.toordinal()]
        for total in totals:
            by_day[total.day].append(total)
        if totals:
            currencies.add(base_currency_of(config, agent))
    if len(currencies) != 1:
        return None
    numbers = range(first.toordinal(), today.toordinal() + 1)
    made = [fsum(total.pnl for total in by_day[day]) for day in numbers]
    every = [total for totals in by_day.values() for total in totals]
    return MonthMoney(
        currency=currencies.pop(),
        closed=sum(total.closed for total in every),
        pnl=fsum(total.pnl for total in every),
        against_nothing=fsum(total.vs_inaction for total in every),
        days=[
            MonthDay(
                date=type(today).fromordinal(day).isoformat(),
                closed=sum(total.closed for total in by_day[day]),
                pnl=pnl,
                so_far=so_far,
            )
            for day, pnl, so_far in zip(numbers, made, accumulate(made), strict=True)
        ],
    )

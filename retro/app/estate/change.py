"""One frame for whatever changes whose an agent's rows are: alone with it, in one transaction, its files after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.app.estate.census import estate_of
from retro.app.estate.folders import run_errands
from retro.errors import BusyError
from retro.store.estate import errands
from retro.store.estate.removal import at_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from retro.app.estate.census import Estate
    from retro.app.estate.folders import EstateFolders
    from retro.store.database import Store
    from retro.store.estate.errands import ErrandKind

__all__ = ["change_estate"]

_PATIENCE: Final = 150
"""How often, a second apart, it is asked whether the service is done with an agent: longer than a lease."""


def change_estate(
    store: Store,
    folders: EstateFolders,
    errand: tuple[ErrandKind, str, str | None],
    change: Callable[[Connection], None],
    *,
    clock: Callable[[], int],
    sleep: Callable[[float], None],
) -> Estate:
    """Make `change` to the rows of an agent, then run the errand to its files; gives what it had before.

    The errand names its kind, the agent and who has its life afterwards. What a process that died still owed to files is
    done first. Nobody makes or sends a review of either meanwhile: whoever did would write a file of it after the change,
    under a name that is gone. `BusyError` where somebody does for longer than a lease.
    """
    kind, name, successor = errand
    run_errands(store, folders)
    estate = estate_of(store, folders, name)
    for _ in range(_PATIENCE):
        with store.write() as conn:
            agents = filter(None, (name, successor))
            busy = next(filter(None, (at_work(conn, agent, clock()) for agent in agents)), None)
            if busy is None:
                change(conn)
                errands.owe(conn, kind, name, successor)
                break
        sleep(1.0)
    else:
        raise BusyError(f"the service is {busy}; try again when it is done, or stop it first")
    run_errands(store, folders)
    return estate

"""Can every stored fact and mark be read: one damaged row keeps its agent from being reviewed."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from retro.app.doctor.check import Examination, broken, ok
from retro.store.facts import damage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.doctor.check import Check, Installation

__all__ = ["CHECKS", "rows"]

_SHOWN: Final = 5


def rows(house: Installation) -> Iterator[Check]:
    """Every row of facts and marks, read once."""
    if house.store is None:
        return
    with house.store.read() as conn:
        damaged = list(islice(chain(damage.facts(conn), damage.blocks(conn)), _SHOWN + 1))
    for error in damaged[:_SHOWN]:
        yield broken("rows", str(error))
    if len(damaged) > _SHOWN:
        yield broken("rows", "and there are more")
    if not damaged:
        yield ok("rows", "every stored fact and mark can be read")


CHECKS: Final = (Examination("rows", rows, reads_all=True),)
"""In the order in which they are told."""

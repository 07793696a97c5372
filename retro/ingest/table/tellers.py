"""What fills of a row become: positions from flat to flat, round trips, states; with what was decided and stated."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from retro.checks import SourceCheck
from retro.ingest.netting import Execution, Netting, write_legs
from retro.ingest.table.executions import Executions, Item, base_of, is_perp, quote_of
from retro.ingest.table.verbs import OpeningVerbs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from retro.ingest.batches import BatchWriter
    from retro.ingest.netting import Leg
    from retro.ingest.table.cells import Cells
    from retro.ingest.table.grammar import TableMap
    from retro.ingest.table.readings import Readings
    from retro.ingest.table.verbs import StatedVerbs

__all__ = ["FillTeller", "LedgerTeller", "Step", "Told"]

ZERO: Final = Decimal(0)

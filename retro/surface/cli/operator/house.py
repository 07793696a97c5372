"""What the screens are read from, whoever shows them: a browser or a terminal."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from retro.surface.cli.context import call

if TYPE_CHECKING:
    from retro.surface.screens.house import House

__all__ = ["house_of_call"]


def house_of_call() -> House:
    """The database and configuration of this call, its clock, and the examination of `retro doctor --quick`."""
    from retro.surface.screens.house import House

    config_path, db = call.config_path, call.db
    call.serves = True

    def clock() -> int:
        return time.time_ns() // 1000

    def findings() -> list[tuple[str, str, str]]:
        from retro.app.doctor.examine import examine

        checks = examine(config_path, db, os.environ, now=clock(), whole=False)
        return [(c.state, c.name, c.detail) for c in checks]

    return House(call.store, call.config, call.settings, clock, findings)

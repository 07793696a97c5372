"""Adding, stepping, archiving and re-indexing, killed at a system call: whole transactions stay, and work goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library_crash_points import WORKS, LibraryStage
from tests.syscalls import CAN_TRACE, MODES


@pytest.mark.skipif(not CAN_TRACE, reason="the tracer is Linux's on x86-64")
@pytest.mark.parametrize("work", WORKS)
def test_a_kill_leaves_no_half_item(work: str, tmp_path: Path) -> None:
    """At a point of each kind; `python tests/library_crash_points.py` goes through every one of them."""
    stage = LibraryStage(tmp_path, work)
    assert len(stage.points) > 8
    assert len(set(map(repr, stage.states))) == len(stage.states) > 2
    third = len(stage.points) // 3
    ends = [stage.disturbed(mode, 1 + third // 2 + third * number) for number, mode in enumerate(MODES)]
    assert min(ends) < 0

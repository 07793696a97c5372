"""What must hold is checked whatever way Python is started, and says what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from retro.errors import InvariantError, RetroError
from retro.invariant import invariant
from tests.worlds.places import ROOT


def test_what_holds_passes_in_silence() -> None:
    invariant(True, "the sun rises")


def test_what_does_not_hold_is_named_and_is_an_error_of_ours() -> None:
    with pytest.raises(
        InvariantError, match=r"withheld: days are contiguous \(day 3 is missing\)$"
    ) as caught:
        invariant(False, "days are contiguous", "day 3 is missing")
    assert caught.value.name == "days are contiguous"
    assert isinstance(caught.value, RetroError)
    with pytest.raises(InvariantError, match=r"withheld: days are contiguous$"):
        invariant(False, "days are contiguous")


def test_optimised_python_checks_it_too() -> None:
    script = "from retro.invariant import invariant; invariant(False, 'two is two')"
    done = subprocess.run(
        [sys.executable, "-O", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "InvariantError" in done.stderr
    assert "two is two" in done.stderr

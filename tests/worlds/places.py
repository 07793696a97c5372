"""Where things lie in the repository, so that no test counts folders upwards."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ROOT / "tests"
DATA: Final = TESTS / "data"
GOLDEN: Final = TESTS / "golden"
SAMPLE: Final = ROOT / "examples" / "sample"
DEPLOY: Final = ROOT / "retro" / "deploy"

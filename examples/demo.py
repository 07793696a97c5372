"""`make demo`: the sample agent's life into a fresh database, its reviews into files, the weekly one to the screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from retro.surface.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path("demo")
CONFIG = Path("examples", "sample", "config.toml")
JOURNAL = Path("examples", "sample", "agent.jsonl")

REVIEWS = {
    "weekly": ["review", "weekly"],
    "daily": ["review", "daily"],
    "position-lp-2": ["review", "position", "lp-2"],
}
FORMATS = ("html", "md", "json")


def retro(*words: str, echo: bool = True) -> None:
    """One call of the command line, as a person would type it; ends the demo where it fails."""
    if echo:
        sys.stdout.write(f"\n$ retro {' '.join(words)}\n\n")
    code = run(["-q", *words])
    if code:
        sys.exit(code)


def main() -> None:
    """Fresh database, two reviews and what the agent's word is worth on the screen, three reviews in files."""
    os.chdir(ROOT)
    os.environ["RETRO_CONFIG"] = str(CONFIG)
    DEMO.mkdir(exist_ok=True)
    for old in DEMO.iterdir():
        if old.is_file():
            old.unlink()
    sys.stdout.write(f"$ export RETRO_CONFIG={CONFIG}\n")
    retro("ingest", "journal", str(JOURNAL))
    files = []
    for name, words in REVIEWS.items():
        for form in FORMATS:
            files.append(DEMO / f"{name}.{form}")
            retro(*words, "--format", form, "-o", str(files[-1]), echo=False)
    retro("review", "position", "lp-2")
    retro("review", "weekly")
    retro("calibration", "of", "--category", "return_4h", "--confidence", "0.8")
    sys.stdout.write("\nThe reviews as files:\n\n")
    for file in files:
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()

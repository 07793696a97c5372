"""`make demo`: the sample agent's life into a fresh database, its reviews to the screen and into files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "demo"
SAMPLE = ROOT / "examples" / "sample"
RETRO = [
    sys.executable,
    "-m",
    "retro",
    "--config",
    str(SAMPLE / "config.toml"),
    "--db",
    str(DEMO / "retro.db"),
    "-q",
]

FILES = [
    ("weekly.html", ["review", "weekly", "--format", "html"]),
    ("weekly.md", ["review", "weekly", "--format", "md"]),
    ("weekly.json", ["review", "weekly", "--format", "json"]),
    ("daily.html", ["review", "daily", "--format", "html"]),
    ("position-lp-2.html", ["review", "position", "lp-2", "--format", "html"]),
    ("position-lp-2.json", ["review", "position", "lp-2", "--format", "json"]),
]


def retro(*words: str) -> None:
    """One call of the command line, as a person would type it."""
    shown = " ".join(word.replace(f"{ROOT}{os.sep}", "") for word in words)
    sys.stdout.write(f"\n$ retro {shown}\n\n")
    sys.stdout.flush()
    subprocess.run([*RETRO, *words], cwd=ROOT, check=True)


def main() -> None:
    """Fresh database, three reviews on the screen, six files."""
    DEMO.mkdir(exist_ok=True)
    for old in DEMO.iterdir():
        if old.is_file():
            old.unlink()
    retro("ingest", "journal", str(SAMPLE / "agent.jsonl"))
    retro("review", "daily")
    retro("review", "position", "lp-2")
    retro("review", "weekly")
    sys.stdout.write("\nThe same reviews as files:\n")
    for name, words in FILES:
        subprocess.run([*RETRO, *words, "-o", str(DEMO / name)], cwd=ROOT, check=True)
        sys.stdout.write(f"{(DEMO / name).relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()

"""`make demo`: the sample agent's life into a fresh database, its reviews into files, the weekly one to the screen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from retro.surface.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path("demo")
SAMPLE = Path("examples", "sample")
CONFIG = DEMO / "config.toml"
JOURNAL = SAMPLE / "agent.jsonl"

REVIEWS = {
    "weekly": ["review", "weekly"],
    "daily": ["review", "daily"],
    "position-lp-2": ["review", "position", "lp-2"],
}
GIT = shutil.which("git") or "git"
FORMATS = ("html", "md", "json")
PAGES = {"calibration": [], "luck": [], "learning": [], "whatif": ["--grid"]}
"""What the evaluators answer, as pages with diagrams."""

RETIRED = "- H-9 [0.50] Buy what has fallen 5 % within a day {since: 2026-01-05; status: active}\n"
"""A rule that the sample agent gave up in February: its playbook's repository remembers it."""


def retro(*words: str, echo: bool = True) -> None:
    """One call of the command line, as a person would type it; ends the demo where it fails."""
    if echo:
        sys.stdout.write(f"\n$ retro {' '.join(words)}\n\n")
    code = run(["-q", *words])
    if code:
        sys.exit(code)


def commit_playbook(folder: Path) -> None:
    """The sample agent's playbook in a repository of its own: as it began, and since its fourth rule was given up."""
    folder.mkdir()
    text = (SAMPLE / "PLAYBOOK.md").read_text(encoding="utf-8")
    first = text.replace("\n## Strategy", f"{RETIRED}\n## Strategy")
    subprocess.run([GIT, "init", "--quiet"], cwd=folder, check=True)
    for day, version, subject in (
        ("2026-01-05", first, "Rules to begin with"),
        ("2026-02-11", text, "Give H-9 up: a fall of 5 % says nothing of the next day"),
    ):
        (folder / "PLAYBOOK.md").write_text(version, encoding="utf-8")
        roles = [f"GIT_{role}" for role in ("AUTHOR", "COMMITTER")]
        who = {f"{role}_{part}": "sample" for role in roles for part in ("NAME", "EMAIL")}
        dates = dict.fromkeys((f"{role}_DATE" for role in roles), f"{day}T08:00:00+00:00")
        plain = ("-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null")
        for words in (("add", "PLAYBOOK.md"), ("commit", "--quiet", f"--message={subject}")):
            subprocess.run([GIT, *plain, *words], cwd=folder, env={**os.environ, **who, **dates}, check=True)


def prepare() -> None:
    """An empty folder with the sample's configuration, whose playbook has a history."""
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    commit_playbook(DEMO / "playbook")
    settings = (SAMPLE / "config.toml").read_text(encoding="utf-8")
    settings = settings.replace("../../demo/", "").replace('"../../demo"', '"."')
    CONFIG.write_text(settings.replace('"PLAYBOOK.md"', '"playbook/PLAYBOOK.md"'), encoding="utf-8")


def main() -> None:
    """Fresh database, two reviews and answers of the evaluators on the screen, reviews and pages in files."""
    os.chdir(ROOT)
    os.environ["RETRO_CONFIG"] = str(CONFIG)
    prepare()
    sys.stdout.write(f"$ export RETRO_CONFIG={CONFIG}\n")
    retro("ingest", "journal", str(JOURNAL))
    files = []
    for name, words in REVIEWS.items():
        for form in FORMATS:
            files.append(DEMO / f"{name}.{form}")
            retro(*words, "--format", form, "-o", str(files[-1]), echo=False)
    retro("review", "position", "lp-2")
    retro("review", "weekly")
    retro("shadows")
    retro("learning")
    retro("calibration", "of", "--category", "return_4h", "--confidence", "0.8")
    sys.stdout.write("\nWhat its claims, moments and rules were worth, with diagrams:\n\n")
    for name, words in PAGES.items():
        page = DEMO / f"{name}.html"
        retro(name, *words, "--format", "html", "-o", str(page), echo=False)
        sys.stdout.write(f"{page}\n")
    sys.stdout.write("\nThe reviews as files:\n\n")
    for file in files:
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()

"""The wheel as people get it: built once, installed beside its locked requirements, without our sources in reach."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from retro.version import __version__
from tests.worlds.places import ROOT


class Installed(NamedTuple):
    """The wheel, and an empty folder from which the environment it is installed in is asked."""

    wheel: Path
    bin: Path
    place: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("RETRO_", "PYTHON"))}
        return subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            cwd=self.place, env=env, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """Nothing of the environment that runs the tests: not its packages, not the sources it points to."""
    place = tmp_path
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (place / "dist").glob("*.whl")
    create = [sys.executable, "-m", "venv", "--without-pip", str(place / "env")]
    subprocess.run(create, check=True, capture_output=True)
    # by our pip, into its environment; compiled is what is imported, as it is imported
    pip = [sys.executable, "-m", "pip", "--python", str(place / "env" / "bin" / "python"), "install"]
    pip += ["--quiet", "--disable-pip-version-check", "--no-compile"]
    for words in (["--require-hashes", "-r", str(ROOT / "requirements.lock")], ["--no-deps", str(wheel)]):
        done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    empty = place / "elsewhere"
    empty.mkdir()
    return Installed(wheel, place / "env" / "bin", empty)


def says_its_version_and_lies_in_the_environment(installed: Installed) -> None:
    done = installed.run("retro", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout
    home = installed.run("python", "-c", "import retro, memory, playbook; print(retro.__file__)").stdout
    assert Path(home.strip()).is_relative_to(installed.bin.parent)


def carries_what_is_no_python_and_nothing_of_the_tests(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert sum(name.endswith(".sql") for name in names) >= 6
    assert sum(name.endswith(".j2") for name in names) >= 4
    assert any(name.endswith("retro.service") for name in names)
    assert [name for name in names if re.match(r"(tests|benchmarks|examples|docs)/", name)] == []


def runs_the_demo(installed: Installed) -> None:
    shutil.copytree(ROOT / "examples", installed.place / "examples")
    done = installed.run("python", "examples/demo.py")
    assert done.returncode == 0, done.stderr
    assert "WEEKLY REVIEW: sample" in done.stdout
    assert {path.suffix for path in (installed.place / "demo").iterdir()} >= {".html", ".md", ".json"}


def is_sound_to_its_doctor(installed: Installed) -> None:
    done = installed.run("retro", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken" not in done.stdout.replace("nothing broken", "")


def test_the_wheel_works_in_an_empty_environment(installed: Installed) -> None:
    """One test, so that several workers do not build and install it several times."""
    says_its_version_and_lies_in_the_environment(installed)
    carries_what_is_no_python_and_nothing_of_the_tests(installed)
    runs_the_demo(installed)
    is_sound_to_its_doctor(installed)

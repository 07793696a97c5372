"""Every place that has to know an adapter knows all of them, and each is what its row says."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from retro.config.sources import SourceTable
from retro.ingest.registry import ADAPTERS
from retro.surface.cli import ingest, main
from tests.worlds.places import ROOT

COMMANDS_OF_NO_SOURCE = {"faults"}


def test_the_configuration_takes_every_adapter_and_no_other() -> None:
    assert set(get_args(SourceTable.model_fields["kind"].annotation)) == set(ADAPTERS)


def test_every_adapter_has_its_command() -> None:
    assert callable(main.run), "its room hangs the commands of the rows beside the others"
    commands = ingest.app.registered_commands
    assert {command.name for command in commands} - COMMANDS_OF_NO_SOURCE == set(ADAPTERS)


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_reader_can_be_loaded_and_takes_its_options(name: str) -> None:
    adapter = ADAPTERS[name]
    assert adapter.name == name
    parameters = inspect.signature(adapter.load()).parameters
    assert {"now", *adapter.options} <= set(parameters)
    assert set(adapter.options) <= set(SourceTable.model_fields)
    source = SourceTable.model_validate({"kind": name, "path": Path("x"), "agent": "bot"})
    assert bool(adapter.sniffer and adapter.summary and adapter.example) == (adapter.growth == "log")
    assert adapter.options_of(source) == {option: getattr(source, option) for option in adapter.options}


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_a_reader_adds_lies_in_the_room_of_adapters(name: str) -> None:
    assert ADAPTERS[name].reader.startswith("retro.ingest.")


def test_the_table_itself_imports_no_reader() -> None:
    """The waiting service asks it which files show that a source has changed."""
    script = "import sys, retro.ingest.registry; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("retro.ingest.")} == {"retro.ingest.registry"}
    assert not {"numpy", "msgspec", "pydantic"} & loaded

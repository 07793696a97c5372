"""What a service hands to itself: every key of every table, so that an option is not lost when it starts anew."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from retro.app.intake.fingerprints import key_of
from retro.config import Config, ServiceTable, SourceTable
from retro.daemon.handover import IdleService, IdleSource, handed_over, needs_of, plain, received, restored

CONFIG = Config.model_validate({
    "store": {"url": "retro.db"},
    "service": {
        "knock_seconds": 7.5, "lease_seconds": 30, "catch_up": "latest", "ping_url": "https://hc.example.org/a",
        "max_attempts": 3,
    },
    "source": [
        {"kind": "freqtrade", "path": "/bot/trades.sqlite", "candles": "/bot/data", "agent": "bot", "capital": "1000.50"},
        {"kind": "journal", "path": "/bot/life.jsonl"},
    ],
})  # fmt: skip


def test_the_idle_tables_have_every_key_of_the_configuration() -> None:
    """A new option of an adapter needs its line in `IdleSource`, or the waiting service would not know of it."""
    for idle, table in ((IdleSource, SourceTable), (IdleService, ServiceTable)):
        assert [field.name for field in dataclasses.fields(idle)] == list(table.model_fields)


def test_every_value_survives_the_hand_over() -> None:
    configuration = received(handed_over(plain(CONFIG)))
    needs = needs_of(configuration)
    assert needs.url == CONFIG.store.url
    for name in ServiceTable.model_fields:
        assert getattr(needs.service, name) == getattr(CONFIG.service, name), name
    for idle, table in zip(needs.sources, CONFIG.source, strict=True):
        for name in SourceTable.model_fields:
            assert getattr(idle, name) == getattr(table, name), name
            assert type(getattr(idle, name)) is type(getattr(table, name)), name
        assert key_of(idle, "host") == key_of(table, "host"), "waiting and working see one source"
    assert restored(configuration) == CONFIG
    assert restored(configuration).file is None


def test_the_place_of_the_file_survives(tmp_path: Path) -> None:
    config = CONFIG.model_copy()
    config._file = tmp_path / "config.toml"
    assert restored(received(handed_over(plain(config)))).file == tmp_path / "config.toml"


@pytest.mark.parametrize("table", ["source", "service"])
def test_a_key_that_waiting_does_not_know_is_loud(table: str) -> None:
    configuration = plain(CONFIG)
    (configuration[table][0] if table == "source" else configuration[table])["option"] = 1
    with pytest.raises(TypeError, match="option"):
        needs_of(configuration)

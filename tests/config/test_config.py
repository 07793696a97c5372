"""The configuration: the example is the documentation, and every fault is said at once, with its place."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from retro.config import Config, example, load, schema, with_database
from retro.errors import ConfigError, UsageError
from tests.worlds.places import ROOT

SPECIFIED = {  # the [retrospective] section of the specification, key by key
    "daily_review_enabled": True,
    "weekly_review_enabled": True,
    "epoch_review_enabled": True,
    "epoch_interval_days": 30,
    "position_close_review": True,
    "loss_review_threshold_pct": 5.0,
    "review_inference_tier": "T1",
    "epoch_inference_tier": "T2",
    "trajectory_checkpoint_intervals": ("1h", "4h", "1d", "3d", "7d", "14d", "30d"),
    "heuristic_min_citations": 3,
    "heuristic_demote_threshold": -1.0,
    "heuristic_investigate_threshold": 0.5,
    "attribution_decay": 0.995,
    "residual_buffer_size": 200,
    "residual_min_samples": 30,
    "conformal_quantile": 0.90,
    "calibration_min_samples": 30,
    "calibration_refit_interval": 50,
    "ece_alarm_threshold": 0.25,
    "tier_comparison_min_samples": 20,
    "tier_switch_threshold": 1.5,
    "meta_learning_enabled": True,
    "meta_negative_weeks_before_hayflick": 2,
    "meta_hayflick_acceleration": 0.10,
    "max_shadow_strategies": 3,
    "shadow_min_duration_days": 7,
    "shadow_promote_threshold": 0.10,
}
OURS = {
    "settle_lag_hours": 1.0,
    "use_highs_lows": False,
    "lot_method": "fifo",
    "entry_outcome": "final_pnl",
    "annualisation_days": 365,
    "heuristic_demote_threshold_r": -0.1,
    "heuristic_investigate_threshold_r": 0.05,
    "heuristic_demote_threshold_bps": -10.0,
    "heuristic_investigate_threshold_bps": 5.0,
    "heuristic_threshold_unit": None,
    "dollars_per_accuracy_point": None,
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, name: str = "my.toml") -> Config:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return load(path, {})


def faults(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return caught.value.faults


# The example


def test_the_specified_keys_have_their_specified_defaults() -> None:
    assert Config().retrospective.model_dump() == SPECIFIED | OURS


def test_the_file_in_the_repository_is_the_example() -> None:
    assert (ROOT / "config.toml").read_text(encoding="utf-8") == example()


def test_the_example_says_what_the_defaults_are() -> None:
    assert read(example()).model_dump() == load(None, {}).model_dump()


def test_the_example_names_every_key_and_explains_it() -> None:
    """Those without a default stand there commented out, each in its own table."""
    _, *tables = re.split(r"^(?=(?:# )?\[+\w+)", example(), flags=re.MULTILINE)
    sections = {re.match(r"(?:# )?\[+(\w+)", table)[1]: table for table in reversed(tables)}
    assert set(sections) == set(Config.model_fields)
    for name, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for key, inner in field.annotation.model_fields.items():
                assert inner.description, key
                if key not in {"fields", "tokens", "beta"}:  # tables of their own
                    assert re.search(rf"^(# )?{key} = ", sections[name], re.MULTILINE), key


def test_every_commented_line_of_the_example_is_accepted_when_it_is_switched_on() -> None:
    on = re.sub(r"^# (?=\[|\w+ = )", "", example(), flags=re.MULTILINE)
    config = read(on)
    assert config.mail.host == "smtp.example.org"
    assert [source.kind for source in config.source] == ["freqtrade", "journal"]
    assert config.agent["my-agent"].capital == 1000
    assert config.memory.fields["funding_rate"].bandwidth == 0.0005
    assert config.playbook.slug == "ada/agent"


def test_the_example_validates_against_the_schema_and_a_typing_error_does_not() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    validator.validate(tomllib.loads(example()))
    wrongs: list[dict[str, Any]] = [
        {"retrospectiv": {}},
        {"mail": {"port": 0}},
        {"retrospective": {"lot_method": "lifo"}},
    ]
    for wrong in wrongs:
        assert not validator.is_valid(wrong), wrong
    assert json.loads(json.dumps(schema())) == schema()


# Where it is read from


def test_a_given_file_comes_before_the_variable_before_the_working_directory() -> None:
    for name in ("given", "variable", "config"):
        Path(f"{name}.toml").write_text(f'[owner]\nname = "{name}"\n')
    env = {"RETRO_CONFIG": "variable.toml"}
    assert load(Path("given.toml"), env).owner.name == "given"
    assert load(None, env).owner.name == "variable"
    assert load(None, {"RETRO_CONFIG": ""}).owner.name == "config"
    path = load(None, {}).file
    assert path == Path.cwd() / "config.toml"


def test_without_any_file_the_defaults_hold() -> None:
    config = load(None, {})
    assert config.file is None
    assert config.store.url == str(Path.cwd() / "memory_data/retro.db")
    assert config.owner.base_currency == "USDC"


def test_a_named_file_that_is_missing_is_an_error_and_not_the_defaults() -> None:
    with pytest.raises(ConfigError, match="no such file") as caught:
        load(Path("nowhere.toml"), {})
    assert caught.value.exit_code == 2
    with pytest.raises(ConfigError, match=r"gone\.toml: there is no such file"):
        load(None, {"RETRO_CONFIG": "gone.toml"})


def test_what_is_no_text_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    cases: dict[str, bytes] = {
        "latin.toml: line 3: is not UTF-8": '[owner]\n\nname = "Zoë"'.encode("latin-1"),
        "wide.toml: line 1: is not UTF-8": "[owner]".encode("utf-16"),
        "null.toml: line 1, column 1: is not TOML": b"\0",
        "big.toml: is larger than 1 MB": b"#" * 1_100_000,
        "deep.toml: is nested too deeply": b"a = " + b"[" * 5000,
        "digits.toml: is not TOML": b"a = " + b"9" * 5000,
    }
    for message, content in cases.items():
        path = Path(message.split(":")[0])
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=re.escape(message)) as caught:
            load(path, {})
        assert len(caught.value.faults) == 1
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"config\.toml: is a directory"):
        load(None, {})
    with pytest.raises(ConfigError, match="cannot be read"):
        load(Path("a\0b"), {})


def test_a_byte_order_mark_does_no_harm() -> None:
    Path("bom.toml").write_bytes(b"\xef\xbb\xbf[owner]\r\nname = 'x'\r\n")
    assert load(Path("bom.toml"), {}).owner.name == "x"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[owner]\nname = \n", "line 2, column 8"),
        ("[owner]\nname = 'x", "line 2"),
        ("[owner]\n\n[owner]\n", "line 3, column 7"),
        ("[owner]\nname\n", "line 2, column 5"),
    ],
)
def test_broken_toml_is_named_by_line(text: str, place: str) -> None:
    (only,) = faults(text)
    assert only.startswith(f"{place}: is not TOML: ")


# Relative paths


def test_relative_paths_begin_at_the_file(tmp_path: Path) -> None:
    Path("conf").mkdir()
    config = read(
        """
        [[source]]
        kind = "journal"
        path = "../logs/agent.jsonl"
        candles = "/candles"
        [agent.a]
        playbook = "PLAYBOOK.md"
        [memory]
        directory = "memories"
        [playbook]
        repository = "repo.git"
        [store]
        reviews = "out"
        """,
        "conf/config.toml",
    )
    conf = tmp_path / "conf"
    assert config.source[0].path == tmp_path / "logs/agent.jsonl"
    assert config.source[0].candles == Path("/candles")
    assert config.agent["a"].playbook == conf / "PLAYBOOK.md"
    assert config.memory.directory == conf / "memories"
    assert config.playbook.repository == str(conf / "repo.git")
    assert config.store.reviews == conf / "out"
    assert config.store.url == str(conf / "memory_data/retro.db")


def test_default_paths_begin_at_the_file_too_when_their_table_is_absent(tmp_path: Path) -> None:
    Path("conf").mkdir()
    config = read("", "conf/config.toml")
    assert config.store.url == str(tmp_path / "conf/memory_data/retro.db")
    assert config.memory.directory == tmp_path / "conf/memory_data"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("retro.db", "{here}/retro.db"),
        ("./a/../retro.db", "{here}/retro.db"),
        ("/data/retro.db", "/data/retro.db"),
        ("sqlite:///retro.db", "{here}/retro.db"),
        ("sqlite:////data/retro.db", "/data/retro.db"),
        (":memory:", ":memory:"),
        ("sqlite://", ":memory:"),
        ("postgresql://retro@db.example.org/retro", "postgresql://retro@db.example.org/retro"),
        ("postgresql+psycopg:///retro?host=/run/pg", "postgresql+psycopg:///retro?host=/run/pg"),
    ],
)
def test_a_database_is_a_url_or_the_path_of_a_file(written: str, meant: str) -> None:
    meant = meant.format(here=Path.cwd())
    assert read(f'[store]\nurl = "{written}"\n').store.url == meant
    assert with_database(load(None, {}), written).store.url == meant


def test_another_database_may_be_named_on_the_command_line_only_if_it_is_one() -> None:
    with pytest.raises(UsageError, match="--db must be the path of an SQLite file or a URL"):
        with_database(load(None, {}), "mysql://x")
    with pytest.raises(UsageError, match="--db must be"):
        with_database(load(None, {}), "")


def test_the_home_directory_may_be_written_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    assert read('[store]\nurl = "~/retro.db"\n').store.url == str(tmp_path / "ada/retro.db")
    Path("ada").mkdir()
    read("", "ada/retro.toml")
    assert load(None, {"RETRO_CONFIG": "~/retro.toml"}).file == tmp_path / "ada/retro.toml"
    assert load(Path("~/retro.toml"), {}).memory.directory == tmp_path / "ada/memory_data"
    with pytest.raises(ConfigError, match="no such file"):
        load(Path("~nobody-here/retro.toml"), {})


# Values


def test_money_keeps_the_digits_that_were_written() -> None:
    config = read(
        "[agent.a]\ncapital = 1000.10\n[agent.b]\ncapital = '0.1000000000000000055511151231257827'\n"
    )
    assert config.agent["a"].capital == Decimal("1000.10")
    assert str(config.agent["b"].capital) == "0.1000000000000000055511151231257827"


def test_context_fields_may_be_written_as_tables_or_as_a_list() -> None:
    tables = read('[memory.fields.funding]\nkind = "absolute"\nweight = 0.1\nbandwidth = 0.01\n')
    listed = read('[[memory.fields]]\nname = "funding"\nkind = "absolute"\nweight = 0.1\nbandwidth = 0.01\n')
    assert tables.memory == listed.memory
    assert read('[memory.fields.a]\nkind = "categorical"\nweight = 1\n').memory.fields["a"].kind == "category"
    assert (
        "names one field twice" in faults("[[memory.fields]]\nname = 'a'\n[[memory.fields]]\nname = 'a'")[0]
    )


def test_mail_fills_in_what_it_can() -> None:
    def mail(text: str) -> tuple[int, str | None]:
        mail_table = read(
            f"[mail]\nhost = 'mail'\nrecipients = ['ada@example.org', 'bob@example.org']\n{text}"
        ).mail
        return mail_table.server_port, mail_table.from_address

    assert mail("") == (587, "ada@example.org")
    assert mail("security = 'tls'\nusername = 'retro'") == (465, "ada@example.org")
    assert mail("security = 'none'\nusername = 'retro@example.org'") == (25, "retro@example.org")
    assert mail("port = 2525\nsender = 'Slow Mirror <m@example.org>'") == (
        2525,
        "Slow Mirror <m@example.org>",
    )


def test_a_git_repository_is_a_url_or_a_path() -> None:
    for url in (
        "git@github.com:ada/agent.git",
        "ssh://git@example.org/a.git",
        "https://github.com/ada/agent",
        "host:a/b",
    ):
        assert read(f"[playbook]\nrepository = '{url}'").playbook.repository == url
    assert read("[playbook]\nrepository = 'a/b:c'").playbook.repository == str(Path.cwd() / "a/b:c")


def test_a_configuration_cannot_be_changed() -> None:
    config = load(None, {})
    with pytest.raises(ValidationError, match="frozen"):
        config.owner.name = "eve"
    moved = with_database(config, "other.db")
    assert moved.store.url != config.store.url


def test_each_unit_has_thresholds_of_its_own() -> None:
    """Those that name no unit are dollars; changed, they count in a unit that is stated, as they did before."""
    usual = read("").retrospective
    assert [usual.heuristic_limits(unit) for unit in ("usd", "r", "bps")] == [
        (-1.0, 0.5),
        (-0.1, 0.05),
        (-10.0, 5.0),
    ]
    stated = "[retrospective]\nheuristic_threshold_unit = 'r'\n"
    assert read(stated).retrospective.heuristic_limits("r") == (-0.1, 0.05)
    changed = read(f"{stated}heuristic_demote_threshold = -0.3").retrospective
    assert changed.heuristic_limits("r") == (-0.3, 0.5)
    own = read(f"{stated}heuristic_demote_threshold = -5\nheuristic_demote_threshold_r = -0.2").retrospective
    assert own.heuristic_limits("r") == (-0.2, 0.05)
    fleet = read("[retrospective]\nheuristic_demote_threshold = -5.0").retrospective
    assert [fleet.heuristic_limits(unit) for unit in ("usd", "r")] == [(-5.0, 0.5), (-0.1, 0.05)]

"""A wrong configuration: every fault at once, each with line, key and what is expected; no secret repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.config import Config, RetrospectiveTable, example, load
from retro.config.sources import SourceKind
from retro.errors import ConfigError

SHADOW = """[[shadow]]
name = "tight"
rule = "stop -3%"
since = 2026-03-01
agent = "b"
"""
law = settings(deadline=None, max_examples=150)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str) -> Config:
    path = Path("my.toml")
    path.write_text(text, encoding="utf-8")
    return load(path, {})


def faults(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return caught.value.faults


def test_all_faults_are_said_at_once_in_the_order_of_the_file() -> None:
    messages = faults(
        """\
[owner]
time_zone = "Europe/Lodon"
nam = "Ada"

[retrospective]
trajectory_checkpoint_intervals = [
    "1h",
    "4x",
]
lot_method = "lifo"

[[source]]
kind = "journal"
path = "a.jsonl"

[[source]]
kind = "jurnal"

[mail]
port = 99999
"""
    )
    *first, last = get_args(SourceKind)
    kinds = ", ".join(map(repr, first))
    assert messages == [
        "line 2: owner.time_zone: there is no time zone 'Europe/Lodon'; did you mean Europe/London?",
        "line 3: owner.nam: unknown key; did you mean name?",
        "line 6: retrospective.trajectory_checkpoint_intervals: '4x' is not a duration such as 1h, 4h, 1d or 30d",
        "line 10: retrospective.lot_method: must be 'fifo' or 'average', not \"lifo\"",
        "line 16: source[2].path: is missing: a journal, a bot's database, a folder of candles, or one file of marks",
        f'line 17: source[2].kind: must be {kinds} or {last!r}, not "jurnal"',
        "line 20: mail.port: must be less than or equal to 65535, not 99999",
    ]


def test_the_error_names_the_file_in_every_line() -> None:
    with pytest.raises(ConfigError) as caught:
        read("[owner]\na = 1\n[mail]\nport = 'x'\n")
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("my.toml: line ") for line in lines)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[retrospective]\nheuristic_min_citation = 3", "did you mean heuristic_min_citations?"),
        ("[retrospektive]\nlot_method = 'fifo'", "retrospektive: unknown table; did you mean retrospective?"),
        ("daily_review_enabled = true", "did you mean retrospective.daily_review_enabled?"),
        ("[owner]\nrecipients = []", "did you mean mail.recipients?"),
        ("[agent.bob]\ncapitol = 5", "agent.bob.capitol: unknown key; did you mean capital?"),
        ("[agent.capital]\ncapitol = 5", "agent.capital.capitol: unknown key; did you mean capital?"),
        ("[[source]]\nkind = 'journal'\npath = 'x'\ncandle = 'y'", "source[1].candle: unknown key; did you mean candles?"),
        ("[service]\nzzz = 1", "the nearest known one is "),
        ("[memory.fields.x]\nkind='ratio'\nweight=1\nbandwith=1", "did you mean bandwidth?"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_answered_with_the_nearest(text: str, hint: str) -> None:
    assert any(hint in fault for fault in faults(text))


RANGES: dict[str, dict[str, list[Any]]] = {
    "retrospective": {
        "epoch_interval_days": [0, 367, 1.5, "30", True],
        "loss_review_threshold_pct": [0, -5, "5", float("nan"), float("inf")],
        "review_inference_tier": ["T3", 1],
        "trajectory_checkpoint_intervals": ["1h", ["0h"], ["1h", "1h"], ["4h", "1h"], ["60m", "1h"], [1]],
        "settle_lag_hours": [-1, 721, "1"],
        "lot_method": ["lifo", ""],
        "entry_outcome": ["pnl"],
        "heuristic_min_citations": [0, -1, 2.0],
        "heuristic_demote_threshold": [float("-inf"), "low"],
        "heuristic_threshold_unit": ["eur"],
        "annualisation_days": [0, 400],
        "attribution_decay": [0, 1.01],
        "residual_buffer_size": [0, 29],
        "conformal_quantile": [0, 1, 1.0],
        "ece_alarm_threshold": [0, 1.5],
        "tier_switch_threshold": [0],
        "dollars_per_accuracy_point": [-0.01, "1"],
        "max_shadow_strategies": [-1],
        "daily_review_enabled": ["yes", 1],
    },
    "owner": {"time_zone": ["Mars/Olympus", "", 1], "base_currency": ["", "US D", "x" * 33], "name": [3, "x" * 101]},
    "store": {"url": ["", "mysql://x", 3], "reviews": ["", 1]},
    "llm": {
        "enabled": ["yes"],
        "base_url": ["ftp://x", "https://", "not a url"],
        "t1_model": ["", "a\nb", 1],
        "max_usd_per_review": [-0.01, float("nan")],
        "timeout_s": [0, -1, 3601],
    },
    "mail": {
        "host": ["", "a b", "a/b"],
        "port": [0, 65536, "25"],
        "security": ["ssl"],
        "sender": ["ada", "ada@", "Ada <ada@x>\nBcc: eve@y"],
        "recipients": [["x@y\r\nBcc: z@w"], "a@b", ["a@b, c@d"]],
        "kinds": [["monthly"], "weekly"],
    },
    "notify": {"urls": [["not a url"], ["json://a b"]], "kinds": [["x"]]},
    "playbook": {
        "channel": ["gitlab"],
        "file": ["/etc/passwd", "../x", "a/../b", "", ".git/config", "a\nb"],
        "base_branch": ["-x", "a b", "a..b", "/a", "a/", "x.lock"],
        "api_url": ["x"],
        "slug": ["ada", "ada/a/b"],
        "repository": ["--upload-pack=x", "a\nb"],
    },
    "memory": {"records": [1], "directory": [""], "fields": [3, {"a b": {}}, {"x": {"kind": "ratio", "weight": 1}}]},
    "service": {"knock_seconds": [0], "lease_seconds": [0], "catch_up": ["none"], "ping_url": ["x"], "max_attempts": [0]},
    "agent": {"x": [{"capital": 0}, {"capital": -1}, {"capital": "x"}, {"capital": True}, {"capital": "NaN"}, 5]},
}  # fmt: skip


def toml(value: Any) -> str:
    """A value as TOML spells it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return str(value)
    return json.dumps(value)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        (table, key, value)
        for table, keys in RANGES.items()
        for key, values in keys.items()
        for value in values
    ],
)
def test_a_value_out_of_range_is_refused_with_its_key_and_line(table: str, key: str, value: Any) -> None:
    messages = faults(f"# a comment\n[{table}]\n{key} = {toml(value)}\n")
    assert any(
        re.match(rf"line [23]: {table}\.(?:{key}|residual_min_samples)\b", fault) for fault in messages
    ), messages
    assert all(len(fault) < 220 for fault in messages)


def test_a_contradiction_is_found_although_only_one_side_was_written() -> None:
    assert faults("[retrospective]\nheuristic_demote_threshold = 3.0") == [
        "line 1: retrospective.heuristic_investigate_threshold: must not lie below heuristic_demote_threshold (3)"
    ]
    assert faults("[retrospective]\nheuristic_investigate_threshold_bps = -20.0") == [
        "line 2: retrospective.heuristic_investigate_threshold_bps: must not lie below heuristic_demote_threshold_bps (-10), not -20.0"
    ]
    assert faults('[mail]\nrecipients = ["ada@example.org"]') == [
        "line 2: mail.recipients: are named, but no host is"
    ]
    assert faults('[mail]\nhost = "mail"') == ["line 1: mail.recipients: must be named when host is"]
    assert faults('[playbook]\nchannel = "github"') == [
        'line 1: playbook.repository: must be named for channel = "github"',
        'line 1: playbook.slug: must be named for channel = "github"',
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "[shadow]\nname = 'x'",
            "line 1: shadow: must be written as [[shadow]], one such table for each shadow",
        ),
        (SHADOW + SHADOW, "line 1: shadow: two of one agent have the same name"),
        (
            "[retrospective]\nmax_shadow_strategies = 1\n" + SHADOW + SHADOW.replace("tight", "late"),
            "line 3: shadow: 2 at once; max_shadow_strategies is 1",
        ),
        (
            SHADOW.replace("2026-03-01", "'soon'"),
            'line 4: shadow[1].since: must be a day such as 2026-03-01, not "soon"',
        ),
        (SHADOW.replace("rule", "rules"), "line 3: shadow[1].rules: unknown key; did you mean rule?"),
    ],
)
def test_a_shadow_that_cannot_run_is_named(text: str, fault: str) -> None:
    assert fault in faults(text)


def test_shadows_of_different_agents_may_share_a_name_and_days_stand_with_quotes_or_without() -> None:
    config = read(SHADOW + SHADOW.replace("2026-03-01", "'2026-03-02'").replace('"b"', '"c"'))
    assert [(table.agent, table.since.isoformat()) for table in config.shadow] == [
        ("b", "2026-03-01"),
        ("c", "2026-03-02"),
    ]


def test_a_single_source_table_is_told_its_double_brackets() -> None:
    (only,) = faults("[source]\nkind = 'journal'")
    assert only == "line 1: source: must be written as [[source]], one such table for each source"


UNSET = {"heuristic_threshold_unit", "dollars_per_accuracy_point"}
"""Keys without a default: comments of the example."""


@pytest.mark.parametrize("key", sorted(set(RetrospectiveTable.model_fields) - UNSET))
def test_a_fault_is_placed_on_the_line_of_its_key(key: str) -> None:
    """In the long example file, whatever stands before it."""
    lines = example().splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith(f"{key} = "))
    lines[place] = f"{key} = {{}}"
    (only,) = faults("\n".join(lines))
    assert only.startswith(f"line {place + 1}: retrospective.{key}: must be ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[mail]\nsender = """\\\n  a@b"""\nport = 0', 4),
        ("mail.security = 'tls'\nmail.port = 0", 2),
        ("mail = {security = 'tls', port = 0}", 1),
        ("[mail]\nkinds = [\n  # weekly\n  'weekly',\n]\n\nport = 0", 7),
        ("[ mail ] # [owner]\n'port' = 0", 2),
        ("[owner]\r\nname = 'x'\r\n[mail]\r\nport = 0\r\n", 4),
    ],
)
def test_lines_are_found_in_every_spelling_of_toml(text: str, line: int) -> None:
    assert faults(text) == [f"line {line}: mail.port: must be greater than or equal to 1, not 0"]


# Secrets


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("[llm]\napi_key = 'hunter2hunter2'", "ANTHROPIC_API_KEY", "hunter2"),
        ("[mail]\npassword = 'hunter2hunter2'", "RETRO_SMTP_PASSWORD", "hunter2"),
        ("[playbook]\ngithub_token = 'hunter2hunter2'", "RETRO_FORGE_TOKEN", "hunter2"),
        ("[playbook]\nrepository = 'https://hunter2@github.com/a/b'", "RETRO_FORGE_TOKEN", "hunter2"),
        ("[playbook]\napi_url = 'https://ada:hunter2@forge.example.org'", "RETRO_FORGE_TOKEN", "hunter2"),
        ("[notify]\nurls = ['json://ada:hunter2@example.org']", "RETRO_NOTIFY_URLS", "hunter2"),
        ("[llm]\nbase_url = 'https://ada:hunter2@proxy.example.org'", "ANTHROPIC_API_KEY", "hunter2"),
        ("[llm]\nt1_model = 'sk-ant-hunter2hunter2'", "ANTHROPIC_API_KEY", "hunter2"),
        ("anthropic_api_key = 'hunter2hunter2'", "NAME", "hunter2"),
        ("[owner]\nretro_forge_token = 'hunter2hunter2'", "NAME", "hunter2"),
    ],
)
def test_a_secret_in_the_file_is_refused_told_its_place_and_not_repeated(
    text: str, name: str, value: str
) -> None:
    messages = faults(text)
    assert len(messages) == 1
    assert "a secret does not belong in this file" in messages[0]
    assert (name == "NAME") or f"give it as ${name}, as a file named by ${name}_FILE" in messages[0]
    assert value not in messages[0]


def test_a_secret_is_named_beside_the_other_faults() -> None:
    messages = faults("[mail]\npassword = 'hunter2hunter2'\nport = 0\n")
    assert [fault.split(":")[0] for fault in messages] == ["line 2", "line 3"]


def test_a_database_password_is_accepted_and_a_context_field_may_speak_of_tokens() -> None:
    read("[store]\nurl = 'postgresql://retro:hunter2@db/retro'\n")
    read("[memory.fields.token_flow]\nkind = 'category'\nweight = 1\n[agent.secret-agent]\ncapital = 1\n")


# Anything at all


@law
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_file_gives_a_configuration_or_one_error(content: str | bytes) -> None:
    path = Path("any.toml")
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    messages = []
    try:
        assert load(path, {}).file
    except ConfigError as error:
        messages = error.faults
    assert all(fault and "\n" not in fault for fault in messages)


scalars = (
    st.none().map(lambda _: False)
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc-", min_size=1), inner, max_size=3)
    ),
)
names = {
    table: list(getattr(Config(), table).__class__.model_fields)
    for table in Config.model_fields
    if table not in ("source", "shadow", "agent")
}


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file whose tables and keys are mostly ours, with any values."""
    lines = []
    for table in draw(st.lists(st.sampled_from([*names, "agent", "strange"]), unique=True, max_size=4)):
        lines.append(f"[{table}]")
        keys = st.lists(st.sampled_from([*names.get(table, []), "unknown"]), unique=True, max_size=4)
        lines += [f"{key} = {toml(draw(values))}" for key in draw(keys)]
    return "\n".join(lines)


@law
@given(documents())
def test_any_values_are_accepted_or_named_by_key_and_line(text: str) -> None:
    messages = []
    Path("any.toml").write_text(text, encoding="utf-8")
    try:
        assert load(Path("any.toml"), {}).file
    except ConfigError as error:
        messages = error.faults
    for fault in messages:
        place = re.match(r"line (\d+)(?:, column \d+)?: ", fault)
        assert place, fault
        assert 1 <= int(place[1]) <= text.count("\n") + 1
